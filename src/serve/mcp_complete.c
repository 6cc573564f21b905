/* completion/complete: ids of this workspace's runs, for resources and prompts. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "serve/mcp_internal.h"

enum { VALUES_MAX = 100, SEEN_MAX = 1000 };

struct completing {
    const struct past_place *place;
    const char *start;
    bool indexes;
    struct json *json;
    size_t count, seen;
};

static int add_row(void *user, const struct history_row *row)
{
    struct completing *c = user;
    char index[24];
    if (!past_is_here(c->place, row->workspace))
        return 0;
    snprintf(index, sizeof(index), "%" PRIu64,
             row->result == HISTORY_NONE ? row->index : row->result);
    const char *value = c->indexes ? index : row->id;
    if (strncmp(value, c->start, strlen(c->start)) == 0 && c->count++ < VALUES_MAX)
        json_text(c->json, value);
    return ++c->seen >= SEEN_MAX || c->count > VALUES_MAX;
}

/* What is completed: ids, indexes, or nothing that is known. */
static bool wants_values(const json_t *ref, const char *name, bool *ret_indexes)
{
    const char *type = json_string_value(json_object_get(ref, "type"));
    const char *prompt = json_string_value(json_object_get(ref, "name"));
    const char *uri = json_string_value(json_object_get(ref, "uri"));
    *ret_indexes = strcmp(name, "index") == 0;
    if (type && strcmp(type, "ref/prompt") == 0)
        return prompt && mcp_prompt_has(prompt, name) && strcmp(name, "id") == 0;
    return uri && strncmp(uri, "nacre://", 8) == 0 &&
           (strcmp(name, "id") == 0 || strcmp(name, "index") == 0);
}

void mcp_complete(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    const json_t *ref = json_object_get(call->params, "ref");
    const json_t *argument = json_object_get(call->params, "argument");
    const char *type = json_string_value(json_object_get(ref, "type"));
    const char *name = json_string_value(json_object_get(argument, "name"));
    const char *value = json_string_value(json_object_get(argument, "value"));
    struct past_place place;
    struct history *h = NULL;
    struct err e = {0};
    struct json j;
    if (!type || (strcmp(type, "ref/prompt") != 0 && strcmp(type, "ref/resource") != 0)) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "ref is neither a prompt nor a resource");
        return;
    }
    if (!name || !value) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "argument has no name and value");
        return;
    }
    if (mcp_place_open(call->m, &place, &e) < 0) {
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
        return;
    }
    const struct history_filter filter = {.workspace = place.setting.workspace.root};
    struct completing c = {.place = &place, .start = value, .json = &j};
    bool wants = wants_values(ref, name, &c.indexes);
    mcp_result_begin(&j, reply, call, false);
    json_key(&j, "completion");
    json_object_begin(&j);
    json_key(&j, "values");
    json_array_begin(&j);
    if (wants && past_history_open(&place, &h, &e) == 0)
        history_list(h, &filter, add_row, &c, &e);
    json_array_end(&j);
    json_key(&j, "hasMore");
    json_bool(&j, c.count > VALUES_MAX);
    json_object_end(&j);
    mcp_result_end(&j, reply);
    history_close(h);
    past_place_close(&place);
}
