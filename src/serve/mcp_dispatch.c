/*
 * Which message is permitted when, and who answers it. A method that stands in no row, or not for
 * the era of its request, is refused before anything of it is looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "engine/version.h"
#include "serve/mcp_internal.h"

#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

const char *const mcp_modern_version = "2026-07-28";

/* The newest first: it is the answer to a client that names one that is not known. */
static const char *const legacy_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26"};
enum { LEGACY_VERSIONS = sizeof(legacy_versions) / sizeof(legacy_versions[0]) };

/* --- the beginning of a connection ------------------------------------------------------------ */

/* Whether it can show a form; one that only opens addresses cannot. */
static bool can_elicit(const json_t *capabilities)
{
    const json_t *elicitation = json_object_get(capabilities, "elicitation");
    return json_is_object(elicitation) && (json_object_size(elicitation) == 0 ||
                                           json_is_object(json_object_get(elicitation, "form")));
}

static void put_capabilities(struct json *j)
{
    static const char *const names[] = {"tools", "resources", "prompts", "completions"};
    json_key(j, "capabilities");
    json_object_begin(j);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_key(j, names[i]);
        json_object_begin(j);
        json_object_end(j);
    }
    json_object_end(j);
}

static void put_instructions(struct json *j, struct mcp *m)
{
    struct buf text;
    buf_init(&text, &allocator_libc, MCP_SHOWN_MAX);
    mcp_instructions(m, &text);
    json_key(j, "instructions");
    json_bytes(j, text.data, text.len);
    buf_release(&text);
}

static void answer_initialize(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    struct mcp *m = call->m;
    const json_t *version = json_object_get(call->params, "protocolVersion");
    const json_t *capabilities = json_object_get(call->params, "capabilities");
    struct json j;
    if (!json_is_string(version)) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "protocolVersion is not a text");
        return;
    }
    if (capabilities && !json_is_object(capabilities)) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "capabilities are not an object");
        return;
    }
    m->version = legacy_versions[0];
    for (size_t i = 0; i < LEGACY_VERSIONS; i++) {
        if (strcmp(legacy_versions[i], json_string_value(version)) == 0)
            m->version = legacy_versions[i];
    }
    m->era = MCP_ERA_LEGACY;
    /* The first revision had no questions. */
    m->client_elicits =
        can_elicit(capabilities) && m->version != legacy_versions[LEGACY_VERSIONS - 1];
    mcp_result_begin(&j, reply, call, false);
    json_key(&j, "protocolVersion");
    json_text(&j, m->version);
    put_capabilities(&j);
    json_key(&j, "serverInfo");
    json_object_begin(&j);
    json_key(&j, "name");
    json_text(&j, "nacre");
    json_key(&j, "title");
    json_text(&j, "nacre: a shell in a sandbox");
    json_key(&j, "version");
    json_text(&j, NACRE_VERSION);
    json_object_end(&j);
    put_instructions(&j, m);
    mcp_result_end(&j, reply);
}

static void answer_discover(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    struct json j;
    mcp_result_begin(&j, reply, call, true);
    json_key(&j, "supportedVersions");
    json_array_begin(&j);
    json_text(&j, mcp_modern_version);
    json_array_end(&j);
    put_capabilities(&j);
    put_instructions(&j, call->m);
    mcp_result_end(&j, reply);
}

static void answer_ping(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    struct json j;
    mcp_result_begin(&j, reply, call, false);
    mcp_result_end(&j, reply);
}

/* --- the table -------------------------------------------------------------------------------- */

enum { ALWAYS = MCP_WHEN_LEGACY | MCP_WHEN_MODERN };

static const struct mcp_method methods[] = {
    {"initialize", MCP_WHEN_FIRST, false, answer_initialize},
    {"ping", MCP_WHEN_FIRST | MCP_WHEN_LEGACY, false, answer_ping},
    {"server/discover", MCP_WHEN_MODERN, false, answer_discover},
    {"tools/list", ALWAYS, false, mcp_tools_list},
    {"tools/call", ALWAYS, true, mcp_tools_call},
    {"resources/list", ALWAYS, true, mcp_resources_list},
    {"resources/templates/list", ALWAYS, false, mcp_resources_templates},
    {"resources/read", ALWAYS, true, mcp_resources_read},
    {"prompts/list", ALWAYS, false, mcp_prompts_list},
    {"prompts/get", ALWAYS, false, mcp_prompts_get},
    {"completion/complete", ALWAYS, true, mcp_complete},
    {0},
};

static const struct mcp_method *find_method(const char *name)
{
    for (const struct mcp_method *method = methods; method->name; method++) {
        if (strcmp(method->name, name) == 0)
            return method;
    }
    return NULL;
}

/* --- one request ------------------------------------------------------------------------------ */

static void put_versions(struct jsonrpc_reply *reply, const char *requested)
{
    struct json j;
    json_init_buf(&j, &reply->data);
    json_object_begin(&j);
    json_key(&j, "supported");
    json_array_begin(&j);
    json_text(&j, mcp_modern_version);
    for (size_t i = 0; i < LEGACY_VERSIONS; i++)
        json_text(&j, legacy_versions[i]);
    json_array_end(&j);
    json_key(&j, "requested");
    json_text(&j, requested);
    json_object_end(&j);
}

/* The era of a request is what itself says; false: it says it wrongly. */
static bool read_meta(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    const json_t *meta = json_object_get(call->params, "_meta");
    const json_t *version = json_object_get(meta, META_VERSION);
    const json_t *capabilities = json_object_get(meta, META_CAPABILITIES);
    const json_t *token = json_object_get(meta, "progressToken");
    call->era = MCP_ERA_LEGACY;
    call->elicits = call->m->client_elicits;
    if (meta && !json_is_object(meta))
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "_meta is not an object");
    else if (token && !jsonrpc_id_text(token, call->token, sizeof(call->token)))
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS,
                           "progressToken is neither a text nor an integer");
    else if (version && !json_is_string(version))
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "%s is not a text", META_VERSION);
    if (reply->code || !version)
        return !reply->code;
    call->era = MCP_ERA_MODERN;
    if (strcmp(json_string_value(version), mcp_modern_version) != 0) {
        jsonrpc_reply_fail(reply, MCP_UNSUPPORTED_VERSION,
                           "protocol version '%.40s' is not supported", json_string_value(version));
        put_versions(reply, json_string_value(version));
    } else if (!json_is_object(capabilities)) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "_meta has no %s", META_CAPABILITIES);
    }
    call->elicits = can_elicit(capabilities);
    return !reply->code;
}

static bool is_permitted(const struct mcp_call *call, const char *name, struct jsonrpc_reply *reply)
{
    const struct mcp_method *method = call->method;
    unsigned now = call->era == MCP_ERA_MODERN ? MCP_WHEN_MODERN
                   : call->m->era              ? MCP_WHEN_LEGACY
                                               : MCP_WHEN_FIRST;
    if (!method)
        jsonrpc_reply_fail(reply, JSONRPC_NO_METHOD, "there is no method '%.80s'", name);
    else if (method->when & now)
        return true;
    else if (now == MCP_WHEN_MODERN)
        jsonrpc_reply_fail(reply, JSONRPC_NO_METHOD, "there is no method '%.80s' in revision %s",
                           name, mcp_modern_version);
    else if (method->when == MCP_WHEN_MODERN)
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "'%.80s' needs _meta with %s and %s",
                           name, META_VERSION, META_CAPABILITIES);
    else if (now == MCP_WHEN_FIRST)
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_REQUEST,
                           "'%.80s' comes after initialize, or with the version in its _meta",
                           name);
    else
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_REQUEST, "it is initialized already");
    return false;
}

static bool is_in_flight(struct mcp *m, const char *id)
{
    pthread_mutex_lock(&m->lock);
    bool found = mcp_call_find(m, id) != NULL;
    pthread_mutex_unlock(&m->lock);
    return found;
}

/* Every list is one page, so nobody was ever given a cursor. */
static bool has_page(const struct mcp_call *call, const char *name, struct jsonrpc_reply *reply)
{
    static const char list[] = "/list";
    const json_t *cursor = json_object_get(call->params, "cursor");
    size_t len = strlen(name);
    if (!cursor || len < sizeof(list) || strcmp(name + len - (sizeof(list) - 1), list) != 0)
        return true;
    jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS,
                       "cursor: there is no such page; '%.80s' answers with all of it", name);
    return false;
}

/* The value goes to the call: who works on it is another thread, and shares it with nobody. */
static void dispatch_request(struct mcp *m, json_t *value, const struct jsonrpc_message *message,
                             size_t bytes)
{
    struct jsonrpc_reply reply;
    if (is_in_flight(m, message->id)) {
        mcp_send_error(m, message->id, JSONRPC_INVALID_REQUEST,
                       "a request with this id is under way");
        json_decref(value);
        return;
    }
    struct mcp_call *call = calloc(1, sizeof(*call));
    if (!call) {
        mcp_send_error(m, message->id, JSONRPC_INTERNAL_ERROR, "out of memory");
        json_decref(value);
        return;
    }
    call->m = m;
    call->message = value;
    call->params = message->params;
    call->method = find_method(message->method);
    call->bytes = bytes;
    call->cancel_fd = -1;
    call->begun_ms = call->progressed_ms = clock_monotonic_ms();
    memcpy(call->id, message->id, sizeof(call->id));
    jsonrpc_reply_init(&reply);
    bool good = read_meta(call, &reply) && is_permitted(call, message->method, &reply) &&
                has_page(call, message->method, &reply);
    if (good && call->method->answer == mcp_tools_call)
        good = mcp_tools_resolve(call, &reply);
    if (good && call->method->works) {
        mcp_call_begin(m, call);
    } else {
        if (good)
            call->method->answer(call, &reply);
        mcp_send_reply(m, call->id, &reply);
        mcp_call_free(call);
    }
    jsonrpc_reply_release(&reply);
}

/* --- the rest --------------------------------------------------------------------------------- */

static void dispatch_notification(struct mcp *m, const struct jsonrpc_message *message)
{
    char id[JSONRPC_ID_MAX];
    /* All others are passed over: nothing here depends on them. */
    if (strcmp(message->method, "notifications/cancelled") == 0 &&
        jsonrpc_id_text(json_object_get(message->params, "requestId"), id, sizeof(id)))
        mcp_call_cancel(m, id);
}

/* Takes the value over. */
static void dispatch_one(struct mcp *m, json_t *value, size_t bytes)
{
    struct jsonrpc_message message;
    struct err e = {0};
    int code = jsonrpc_read(value, &message, &e);
    if (code) {
        if (message.kind != JSONRPC_NOTIFICATION)
            mcp_send_error(m, message.id, code, e.message);
        json_decref(value);
        return;
    }
    switch (message.kind) {
    case JSONRPC_REQUEST:
        dispatch_request(m, value, &message, bytes);
        return;
    case JSONRPC_NOTIFICATION:
        dispatch_notification(m, &message);
        break;
    default:
        mcp_answered(m, &message);
    }
    json_decref(value);
}

void mcp_dispatch(struct mcp *m, json_t *value, size_t bytes)
{
    size_t count = json_array_size(value);
    if (!json_is_array(value)) {
        dispatch_one(m, value, bytes);
        return;
    }
    if (m->version != legacy_versions[LEGACY_VERSIONS - 1]) {
        mcp_send_error(m, NULL, JSONRPC_INVALID_REQUEST, "this revision has no batches");
    } else if (!count || count > JSONRPC_BATCH_MAX) {
        mcp_send_error(m, NULL, JSONRPC_INVALID_REQUEST, "a batch has 1 to 256 messages");
    } else {
        for (size_t i = 0; i < count; i++) {
            json_t *one = json_deep_copy(json_array_get(value, i));
            if (one)
                dispatch_one(m, one, bytes / count + 1);
            else
                mcp_send_error(m, NULL, JSONRPC_INTERNAL_ERROR, "out of memory");
        }
    }
    json_decref(value);
}
