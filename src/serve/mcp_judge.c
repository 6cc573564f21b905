/* test_command: the verdict alone. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "serve/mcp_internal.h"

enum { JUDGEMENT_BYTES_MAX = 1 << 30 };

/* The verdict as JSON. */
static int judge(struct mcp_call *call, struct buf *out, struct err *e)
{
    struct mcp *m = call->m;
    nacre_run_options o = *m->options.run;
    struct arena arena;
    struct setting setting = {0};
    struct verdict verdict;
    const struct shell_tree *tree;
    struct json j;
    size_t len;
    const char *text = mcp_text(call, "command", &len), *cwd = mcp_text(call, "cwd", NULL);
    o.cwd = cwd ? cwd : o.cwd;
    if (len > NACRE_TEXT_MAX)
        return err_set(e, -E2BIG, "the text has more than %d bytes", NACRE_TEXT_MAX);
    arena_init(&arena, &allocator_libc, JUDGEMENT_BYTES_MAX);
    int r = engine_open_setting(&arena, &m->handle->policies, &o, &setting, e);
    if (r == 0)
        r = engine_decide(&setting.decider, &arena, text, len, NULL, &verdict, &tree, e);
    if (r == 0) {
        json_init_buf(&j, out);
        verdict_write_json(&verdict, &j);
        r = json_finish(&j);
        if (r < 0)
            err_set(e, r, "the verdict is too long");
    }
    if (setting.cached)
        policy_cache_release(&m->handle->policies, setting.cached);
    arena_release(&arena);
    return r;
}

static void say_reasons(const json_t *verdict, struct buf *out)
{
    const json_t *reasons = json_object_get(verdict, "reasons");
    const char *decision = json_string_value(json_object_get(verdict, "decision"));
    buf_append_format(out, "%s\n", decision ? decision : "deny");
    for (size_t i = 0; i < json_array_size(reasons) && i < MCP_ITEMS_MAX; i++) {
        const json_t *reason = json_array_get(reasons, i);
        const char *rule = json_string_value(json_object_get(reason, "rule"));
        const char *why = json_string_value(json_object_get(reason, "reason"));
        buf_append_text(out, "  ");
        mcp_show_line(rule ? rule : "", rule ? strlen(rule) : 0, MCP_REASON_MAX, out);
        buf_append_text(out, ": ");
        mcp_show_line(why ? why : "", why ? strlen(why) : 0, MCP_REASON_MAX, out);
        buf_append_byte(out, '\n');
    }
}

void mcp_test_command(struct mcp_call *call, struct mcp_said *said)
{
    struct buf text;
    struct err e = {0};
    struct json j;
    const char *key;
    json_t *item;
    buf_init(&text, &allocator_libc, MCP_SHOWN_MAX);
    if (judge(call, &text, &e) < 0) {
        const bool place = mcp_text(call, "cwd", NULL) != NULL;
        mcp_said_error(said, place ? "cwd" : NULL, "%s", e.message);
        buf_release(&text);
        return;
    }
    const struct mcp_showing showing = {.limit = MCP_REASON_MAX, .keep = MCP_KEEP_HEAD};
    json_t *verdict = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
    say_reasons(verdict, &said->text);
    json_init_buf(&j, &said->structured);
    json_object_begin(&j);
    json_key(&j, "status");
    json_text(&j, verdict ? "ok" : "error");
    json_object_foreach(verdict, key, item)
    {
        json_key(&j, key);
        mcp_show_json(&showing, item, &j);
    }
    json_object_end(&j);
    json_decref(verdict);
    buf_release(&text);
}
