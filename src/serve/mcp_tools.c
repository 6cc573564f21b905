/* tools/list and tools/call; see mcp_schema.c for what there is. */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "serve/mcp_internal.h"
#include "serve/prompt.h"

/* --- the list --------------------------------------------------------------------------------- */

static const char *const type_names[] = {
    [MCP_TEXT] = "string", [MCP_COUNT] = "integer", [MCP_BOOL] = "boolean",
    [MCP_LIST] = "array",  [MCP_MAP] = "object",
};

static void put_field(struct json *j, const char *name, enum mcp_type type)
{
    json_key(j, name);
    json_object_begin(j);
    json_key(j, "type");
    json_text(j, type_names[type]);
    json_object_end(j);
}

static void put_output_schema(struct json *j, const struct mcp_tool *tool)
{
    json_key(j, "outputSchema");
    json_object_begin(j);
    json_key(j, "type");
    json_text(j, "object");
    json_key(j, "properties");
    json_object_begin(j);
    put_field(j, "status", MCP_TEXT);
    put_field(j, "error", MCP_TEXT);
    put_field(j, "argument", MCP_TEXT);
    for (const struct mcp_field *field = tool->output; field->name; field++)
        put_field(j, field->name, field->type);
    json_object_end(j);
    json_key(j, "required");
    json_array_begin(j);
    json_text(j, "status");
    json_array_end(j);
    json_object_end(j);
}

/* The text of run_command's only argument, where it has one alone (`messages.tool_command`). */
static const char *only_argument(const struct policy *policy, const struct mcp_tool *tool)
{
    return tool == mcp_tools ? policy->messages.tool_command : NULL;
}

static void put_input_schema(struct json *j, const struct policy *policy,
                             const struct mcp_tool *tool)
{
    const char *only = only_argument(policy, tool);
    json_object_begin(j);
    json_key(j, "type");
    json_text(j, "object");
    json_key(j, "properties");
    json_object_begin(j);
    for (const struct mcp_argument *a = tool->arguments; a->name && !(only && !a->required); a++) {
        json_key(j, a->name);
        json_object_begin(j);
        json_key(j, "type");
        json_text(j, type_names[a->type]);
        if (a->type == MCP_LIST)
            put_field(j, "items", MCP_TEXT);
        if (a->type == MCP_COUNT) {
            json_key(j, "minimum");
            json_unsigned(j, 0);
        }
        json_key(j, "description");
        json_text(j, only ? only : a->description);
        json_object_end(j);
    }
    json_object_end(j);
    json_key(j, "required");
    json_array_begin(j);
    for (const struct mcp_argument *a = tool->arguments; a->name; a++) {
        if (a->required)
            json_text(j, a->name);
    }
    json_array_end(j);
    json_key(j, "additionalProperties");
    json_bool(j, false);
    json_object_end(j);
}

static void put_annotations(struct json *j, const struct mcp_tool *tool)
{
    json_key(j, "annotations");
    json_object_begin(j);
    json_key(j, "title");
    json_text(j, tool->title);
    json_key(j, "readOnlyHint");
    json_bool(j, tool->reads_only);
    json_key(j, "destructiveHint");
    json_bool(j, tool->destructive);
    json_key(j, "idempotentHint");
    json_bool(j, tool->idempotent);
    json_key(j, "openWorldHint");
    json_bool(j, false);
    json_object_end(j);
}

/* run_command may be called otherwise (`messages.tool`). */
static const char *const *other_name(const struct policy *policy, const struct mcp_tool *tool)
{
    const char *const *fixed = policy->messages.tool;
    return tool == mcp_tools && fixed[TOOL_NAME] ? fixed : NULL;
}

static void put_tool(struct json *j, const struct policy *policy, const struct mcp_tool *tool,
                     enum prompt_form form)
{
    static const char *const schemas[] = {[PROMPT_MCP] = "inputSchema",
                                          [PROMPT_OPENAI] = "parameters",
                                          [PROMPT_ANTHROPIC] = "input_schema"};
    const char *const *fixed = other_name(policy, tool);
    json_object_begin(j);
    if (form == PROMPT_OPENAI) {
        json_key(j, "type");
        json_text(j, "function");
        json_key(j, "function");
        json_object_begin(j);
    }
    json_key(j, "name");
    json_text(j, fixed ? fixed[TOOL_NAME] : tool->name);
    if (form == PROMPT_MCP) {
        json_key(j, "title");
        json_text(j, tool->title);
    }
    json_key(j, "description");
    json_text(j, fixed ? fixed[TOOL_DESCRIPTION] : tool->description);
    json_key(j, schemas[form]);
    put_input_schema(j, policy, tool);
    if (form == PROMPT_MCP) {
        put_output_schema(j, tool);
        put_annotations(j, tool);
    }
    if (form == PROMPT_OPENAI)
        json_object_end(j);
    json_object_end(j);
}

static bool is_given(const struct policy *policy, const struct mcp_tool *tool)
{
    if (policy->messages.tool_command && tool != mcp_tools &&
        strcmp(tool->needs, mcp_tools->needs) == 0)
        return false;
    for (size_t i = 0; i < policy->tools.count; i++) {
        if (strcmp(policy->tools.items[i].text, tool->needs) == 0)
            return true;
    }
    return false;
}

const char *mcp_tool_name(const struct policy *policy, const char *name)
{
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++) {
        if (strcmp(tool->name, name) != 0 || !is_given(policy, tool))
            continue;
        const char *const *fixed = other_name(policy, tool);
        return fixed ? fixed[TOOL_NAME] : tool->name;
    }
    return NULL;
}

void prompt_write_tools(const struct policy *policy, enum prompt_form form, struct json *out)
{
    json_array_begin(out);
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++) {
        if (is_given(policy, tool))
            put_tool(out, policy, tool, form);
    }
    json_array_end(out);
}

void mcp_tools_list(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    struct past_place place;
    struct err e = {0};
    struct json j;
    if (mcp_place_open(call->m, &place, &e) < 0) {
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
        return;
    }
    mcp_result_begin(&j, reply, call, true);
    json_key(&j, "tools");
    prompt_write_tools(place.setting.decider.policy, PROMPT_MCP, &j);
    mcp_result_end(&j, reply);
    past_place_close(&place);
}

/* --- arguments -------------------------------------------------------------------------------- */

const char *mcp_text(const struct mcp_call *call, const char *name, size_t *ret_len)
{
    const json_t *value = json_object_get(call->arguments, name);
    if (ret_len)
        *ret_len = json_string_length(value);
    return json_string_value(value);
}

uint64_t mcp_count(const struct mcp_call *call, const char *name, uint64_t otherwise)
{
    const json_t *value = json_object_get(call->arguments, name);
    return value ? (uint64_t)json_integer_value(value) : otherwise;
}

bool mcp_flag(const struct mcp_call *call, const char *name)
{
    return json_is_true(json_object_get(call->arguments, name));
}

/* Some clients send whole numbers as 5.0. */
static bool is_count(json_t *value)
{
    if (json_is_real(value)) {
        double number = json_real_value(value);
        if (number < 0 || number > 9e15 || (double)(int64_t)number != number)
            return false;
        return true;
    }
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool is_list(const struct mcp_argument *a, const json_t *value, struct mcp_said *said)
{
    size_t count = json_array_size(value);
    if (!json_is_array(value) || count > (size_t)a->max)
        mcp_said_error(said, a->name, "is not a list of up to %" PRId64 " texts", a->max);
    for (size_t i = 0; !said->is_error && i < count; i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_string(item) || strlen(json_string_value(item)) != json_string_length(item))
            mcp_said_error(said, a->name, "has something in it that is not a text without NUL");
    }
    return !said->is_error;
}

static bool is_argument(const struct mcp_argument *a, json_t *value, struct mcp_said *said)
{
    size_t len = json_string_length(value);
    switch (a->type) {
    case MCP_LIST:
        is_list(a, value, said);
        break;
    case MCP_BOOL:
        if (!json_is_boolean(value))
            mcp_said_error(said, a->name, "is not true or false");
        break;
    case MCP_COUNT:
        if (!is_count(value))
            mcp_said_error(said, a->name, "is not a whole number from 0 on");
        else if (json_number_value(value) > (double)a->max)
            mcp_said_error(said, a->name, "is more than %" PRId64, a->max);
        break;
    default:
        if (!json_is_string(value))
            mcp_said_error(said, a->name, "is not a text");
        else if (len > (size_t)a->max)
            mcp_said_error(said, a->name, "has more than %" PRId64 " bytes", a->max);
        /* What a command and its input hold is looked at by those who read them. */
        else if (strlen(json_string_value(value)) != len && strcmp(a->name, "command") != 0 &&
                 strcmp(a->name, "stdin") != 0 && strcmp(a->name, "script") != 0 &&
                 strcmp(a->name, "text") != 0)
            mcp_said_error(said, a->name, "has a NUL in it");
    }
    return !said->is_error;
}

static bool check_arguments(struct mcp_call *call, struct mcp_said *said)
{
    const char *key;
    json_t *value;
    json_object_foreach(call->arguments, key, value)
    {
        const struct mcp_argument *a = call->tool->arguments;
        while (a->name && strcmp(a->name, key) != 0)
            a++;
        if (!a->name || (call->alone && !a->required)) {
            struct buf shown;
            buf_init(&shown, &allocator_libc, MCP_SHOWN_MAX);
            mcp_show_line(key, strlen(key), 80, &shown);
            mcp_said_error(said, shown.data, "there is no such argument");
            buf_release(&shown);
            return false;
        }
        if (!is_argument(a, value, said))
            return false;
        if (json_is_real(value))
            json_object_set_new(call->arguments, key,
                                json_integer((json_int_t)json_real_value(value)));
    }
    for (const struct mcp_argument *a = call->tool->arguments; a->name; a++) {
        if (a->required && !json_object_get(call->arguments, a->name)) {
            mcp_said_error(said, a->name, "is missing");
            return false;
        }
    }
    return true;
}

/* --- a call ----------------------------------------------------------------------------------- */

/* The tool that the policy calls otherwise, by that name. */
static const struct mcp_tool *find_other(struct mcp *m, const char *name, bool *ret_alone)
{
    struct past_place place;
    struct err ignored = {0};
    if (mcp_place_open(m, &place, &ignored) < 0)
        return NULL;
    const struct policy *policy = place.setting.decider.policy;
    const char *const *fixed = other_name(policy, mcp_tools);
    bool found = fixed && strcmp(fixed[TOOL_NAME], name) == 0;
    *ret_alone = found && only_argument(policy, mcp_tools);
    past_place_close(&place);
    return found ? mcp_tools : NULL;
}

bool mcp_tools_resolve(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    const json_t *name = json_object_get(call->params, "name");
    json_t *arguments = json_object_get(call->params, "arguments");
    if (!json_is_string(name)) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "name is not a text");
        return false;
    }
    if (arguments && !json_is_object(arguments)) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "arguments are not an object");
        return false;
    }
    for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++) {
        if (strcmp(tool->name, json_string_value(name)) == 0)
            call->tool = tool;
    }
    call->arguments = arguments;
    if (!call->tool)
        call->tool = find_other(call->m, json_string_value(name), &call->alone);
    if (!call->tool)
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "there is no tool '%.80s'",
                           json_string_value(name));
    return call->tool != NULL;
}

/* Everybody has run_command; the others are the policy's to give. */
static bool is_permitted(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    struct past_place place;
    struct err e = {0};
    if (strcmp(call->tool->needs, "run_command") == 0)
        return true;
    if (mcp_place_open(call->m, &place, &e) < 0) {
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
        return false;
    }
    bool given = is_given(place.setting.decider.policy, call->tool);
    if (!given)
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS,
                           "there is no tool '%s': the policy does not give "
                           "it to this agent",
                           call->tool->name);
    past_place_close(&place);
    return given;
}

void mcp_tools_call(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    struct mcp_said said;
    if (call->m->options.instead) {
        call->m->options.instead(call->m->options.user, call, reply);
        return;
    }
    if (!is_permitted(call, reply))
        return;
    mcp_said_init(&said);
    call->reply = reply;
    if (check_arguments(call, &said))
        call->tool->run(call, &said);
    if (!call->replied && !reply->code)
        mcp_reply_said(reply, call, &said);
    mcp_said_release(&said);
}
