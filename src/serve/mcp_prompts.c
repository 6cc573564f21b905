/* Prompts, and what the shell can do here in words for a model. */
#include <string.h>

#include "serve/mcp_internal.h"
#include "serve/prompt.h"

struct prompt {
    const char *name, *title, *description;
    const char *argument, *argument_description; /* NULL: none */
    void (*write)(struct mcp *m, const char *argument, struct buf *out);
};

/* By the tools that there are; `ask` too says how to go about it. */
static void tell(struct mcp *m, bool ask, struct buf *out)
{
    struct past_place place;
    struct err e = {0};
    if (mcp_place_open(m, &place, &e) < 0) {
        buf_append_text(out, "nacre runs shell commands in a sandbox.\n"
                             "The policy does not load, and nothing runs: ");
        mcp_show_line(e.message, strlen(e.message), MCP_REASON_MAX, out);
        buf_append_byte(out, '\n');
        return;
    }
    const struct policy *policy = place.setting.decider.policy;
    const char *run = mcp_tool_name(policy, "run_command");
    bool undoes = mcp_tool_name(policy, "undo");
    buf_append_format(
        out,
        "nacre runs shell commands in a sandbox. %s takes a text of bash and answers with its "
        "output, exit code and what it changed%s. A command is judged before it runs%s. The home "
        "directory and other projects are not there.\n",
        run, undoes ? "; undo takes any of that back" : "",
        mcp_tool_name(policy, "test_command") ? ": test_command tells the verdict beforehand" : "");
    prompt_append(&place.setting, NULL, out);
    if (ask)
        buf_append_format(out,
                          "\nUse %s for what has to be done, one step at a time, and look at "
                          "`changes` in its answer. Say what you did%s.\n",
                          run, undoes ? ", and which run to undo if it was wrong" : "");
    past_place_close(&place);
}

void mcp_instructions(struct mcp *m, struct buf *out)
{
    tell(m, false, out);
}

/* --- the prompts ---------------------------------------------------------------------------------
 */

static void write_shell(struct mcp *m, const char *argument, struct buf *out)
{
    (void)argument;
    tell(m, true, out);
}

static void write_review(struct mcp *m, const char *argument, struct buf *out)
{
    (void)m;
    buf_append_text(out, "Look at run ");
    mcp_show_line(argument, strlen(argument), 80, out);
    buf_append_text(out,
                    ": its record with the tool history and what it changed with the tool diff. "
                    "Say in a few sentences what the command did, whether it did what it was meant "
                    "to, what else it touched (files that run later by themselves above all: "
                    "hooks, scripts, configuration), and whether it should be undone.\n");
}

static void write_explain(struct mcp *m, const char *argument, struct buf *out)
{
    (void)m;
    buf_append_text(out, "Judge this command with the tool test_command, without running it:\n\n");
    mcp_show_line(argument, strlen(argument), 4096, out);
    buf_append_text(out, "\n\nThen explain the verdict: which part of it is denied or has to be "
                         "confirmed, by which rule, and how the same could be reached with "
                         "commands that are allowed.\n");
}

static const struct prompt prompts[] = {
    {"shell", "Work in this shell", "what the shell can do here, and how to use it", NULL, NULL,
     write_shell},
    {"review", "Review a run", "what a run did, and whether to undo it", "id",
     "correlation_id of the run", write_review},
    {"explain", "Explain a verdict", "why a command is allowed, asked about or denied", "command",
     "the text of the command", write_explain},
};
enum { PROMPTS = sizeof(prompts) / sizeof(prompts[0]) };

bool mcp_prompt_has(const char *name, const char *argument)
{
    for (size_t i = 0; i < PROMPTS; i++) {
        if (strcmp(prompts[i].name, name) == 0)
            return prompts[i].argument && strcmp(prompts[i].argument, argument) == 0;
    }
    return false;
}

void mcp_prompts_list(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    struct json j;
    mcp_result_begin(&j, reply, call, true);
    json_key(&j, "prompts");
    json_array_begin(&j);
    for (size_t i = 0; i < PROMPTS; i++) {
        const struct prompt *p = &prompts[i];
        json_object_begin(&j);
        json_key(&j, "name");
        json_text(&j, p->name);
        json_key(&j, "title");
        json_text(&j, p->title);
        json_key(&j, "description");
        json_text(&j, p->description);
        json_key(&j, "arguments");
        json_array_begin(&j);
        if (p->argument) {
            json_object_begin(&j);
            json_key(&j, "name");
            json_text(&j, p->argument);
            json_key(&j, "description");
            json_text(&j, p->argument_description);
            json_key(&j, "required");
            json_bool(&j, true);
            json_object_end(&j);
        }
        json_array_end(&j);
        json_object_end(&j);
    }
    json_array_end(&j);
    mcp_result_end(&j, reply);
}

void mcp_prompts_get(struct mcp_call *call, struct jsonrpc_reply *reply)
{
    const char *name = json_string_value(json_object_get(call->params, "name"));
    const json_t *arguments = json_object_get(call->params, "arguments");
    const struct prompt *p = NULL;
    struct buf text;
    struct json j;
    for (size_t i = 0; name && i < PROMPTS; i++)
        p = strcmp(prompts[i].name, name) == 0 ? &prompts[i] : p;
    if (!p) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "there is no prompt '%.80s'",
                           name ? name : "");
        return;
    }
    const char *argument =
        p->argument ? json_string_value(json_object_get(arguments, p->argument)) : NULL;
    if (p->argument && !argument) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "the argument '%s' is missing",
                           p->argument);
        return;
    }
    buf_init(&text, &allocator_libc, MCP_SHOWN_MAX);
    p->write(call->m, argument, &text);
    mcp_result_begin(&j, reply, call, false);
    json_key(&j, "description");
    json_text(&j, p->description);
    json_key(&j, "messages");
    json_array_begin(&j);
    json_object_begin(&j);
    json_key(&j, "role");
    json_text(&j, "user");
    json_key(&j, "content");
    json_object_begin(&j);
    json_key(&j, "type");
    json_text(&j, "text");
    json_key(&j, "text");
    json_bytes(&j, text.data, text.len);
    json_object_end(&j);
    json_object_end(&j);
    json_array_end(&j);
    mcp_result_end(&j, reply);
    buf_release(&text);
}
