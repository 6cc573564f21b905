/*
 * A result as it is said: the object has what `nacre run --json` has, the text what a model needs
 * of it. Clients show one or the other, so each has the output, the reason of a refusal and the id.
 */
#include <inttypes.h>
#include <string.h>

#include "serve/mcp_internal.h"

struct streams {
    struct buf shown[2];
    bool cut[2];
};

static int append(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

static void show_streams(const nacre_result *r, const struct mcp_showing *showing,
                         struct streams *ret)
{
    for (int i = 0; i < 2; i++) {
        size_t len;
        const char *text = nacre_result_output(r, i ? NACRE_STDERR : NACRE_STDOUT, &len);
        buf_init(&ret->shown[i], &allocator_libc, MCP_SHOWN_MAX);
        ret->cut[i] = mcp_show_text(showing, text, len, &ret->shown[i]);
    }
}

/* --- the object --------------------------------------------------------------------------------
 */

static void put_value(const struct mcp_showing *showing, const struct streams *s, const char *key,
                      const json_t *value, struct json *j)
{
    static const char *const names[] = {"stdout", "stderr"};
    static const char *const cuts[] = {"stdout_truncated", "stderr_truncated"};
    for (int i = 0; i < 2; i++) {
        if (strcmp(key, names[i]) == 0) {
            json_bytes(j, s->shown[i].data, s->shown[i].len);
            return;
        }
        if (strcmp(key, cuts[i]) == 0) {
            json_bool(j, json_is_true(value) || s->cut[i]);
            return;
        }
    }
    mcp_show_json(showing, value, j);
}

static void put_object(const nacre_result *r, const struct mcp_showing *showing,
                       const struct streams *s, const char *pending, struct buf *out)
{
    struct buf whole;
    struct json j;
    const char *key;
    json_t *item;
    buf_init(&whole, &allocator_libc, JSONRPC_REPLY_MAX);
    json_t *value = nacre_result_write_json(r, append, &whole) == 0
                        ? json_loadb(whole.data, whole.len, JSON_ALLOW_NUL, NULL)
                        : NULL;
    json_init_buf(&j, out);
    json_object_begin(&j);
    json_object_foreach(value, key, item)
    {
        json_key(&j, key);
        put_value(showing, s, key, item, &j);
    }
    if (!value) {
        json_key(&j, "status");
        json_text(&j, nacre_result_status_name(r));
        json_key(&j, "error");
        json_text(&j, "the result is too long to be told; the tool history has it");
    }
    if (pending[0] && nacre_result_status(r) == NACRE_STATUS_NEEDS_CONFIRMATION) {
        json_key(&j, "pending");
        json_text(&j, pending);
    }
    json_object_end(&j);
    json_decref(value);
    buf_release(&whole);
}

/* --- the text ----------------------------------------------------------------------------------
 */

static void say_line(struct buf *out, const char *before, const char *text)
{
    buf_append_text(out, before);
    mcp_show_line(text, strlen(text), MCP_REASON_MAX, out);
    buf_append_byte(out, '\n');
}

static void say_stream(struct buf *out, const char *name, const struct buf *shown)
{
    if (!shown->len)
        return;
    buf_append_format(out, "%s:\n", name);
    buf_append(out, shown->data, shown->len);
    if (shown->data[shown->len - 1] != '\n')
        buf_append_byte(out, '\n');
}

static void say_changes(const nacre_result *r, struct buf *out)
{
    enum { SHOWN = 30 };
    const struct change_set *set = &r->changes;
    struct arena arena;
    size_t said = 0, all = 0;
    arena_init(&arena, &allocator_libc, MCP_SHOWN_MAX);
    for (size_t i = 0; r->changes_known && i < set->change_count; i++) {
        const struct change *c = &set->changes[i];
        if (c->kind == CHANGE_KEPT || c->to || c->kind == CHANGE_TOUCHED)
            continue;
        all++;
        if (said == SHOWN)
            continue;
        const char *path = changes_show_path(set, c->root, c->path, &arena);
        const char *from = c->from ? changes_show_path(set, c->root, c->from, &arena) : NULL;
        if (!path || (c->from && !from))
            break;
        buf_append_text(out, said++ ? "" : "changes:\n");
        if (from) {
            say_line(out, "  renamed ", from);
            say_line(out, "       to ", path);
        } else {
            buf_append_format(out, "  %s ", change_kind_names[c->kind]);
            say_line(out, "", path);
        }
    }
    if (all > said)
        buf_append_format(out, "  and %zu more\n", all - said);
    arena_release(&arena);
}

static void say_refusal(const nacre_result *r, const char *pending, struct buf *out)
{
    if (r->judged && !r->ran) {
        enum { SHOWN = 20 };
        const struct verdict_reason *reason = r->verdict.reasons;
        for (size_t i = 0; reason && i < SHOWN; i++, reason = reason->next) {
            buf_append_text(out, "  ");
            mcp_show_line(reason->rule, strlen(reason->rule), MCP_REASON_MAX, out);
            say_line(out, ": ", reason->reason);
        }
    }
    if (pending[0] && r->status == NACRE_STATUS_NEEDS_CONFIRMATION)
        buf_append_format(out,
                          "a person has to say yes: `nacre approve %.8s` in a terminal (`nacre "
                          "pending` shows what is asked); then the same call goes through\n",
                          pending);
}

static void say_text(const nacre_result *r, const struct streams *s, const char *pending,
                     struct buf *out)
{
    const char *warning;
    buf_append_format(out, "%s", nacre_result_status_name(r));
    if (r->ran)
        buf_append_format(out, ", exit code %d, %" PRIu64 " ms", r->exit_code, r->duration_ms);
    buf_append_format(out, ", run %s\n", r->correlation_id);
    if (nacre_result_error(r)[0])
        say_line(out, "", nacre_result_error(r));
    say_refusal(r, pending, out);
    if (r->answer)
        say_line(out, "answer: ", r->answer);
    say_stream(out, "stdout", &s->shown[0]);
    say_stream(out, "stderr", &s->shown[1]);
    for (int i = 0; i < 2; i++) {
        if (s->cut[i])
            buf_append_format(out, "[all of it that is kept: resource nacre://run/%s/%s]\n",
                              r->correlation_id, i ? "stderr" : "stdout");
    }
    if (r->analysis && r->exit_code != 0)
        buf_append_text(out, "the script failed: mend it from what stands on stderr, and run it "
                             "again\n");
    for (size_t i = 0; (warning = nacre_result_warning(r, i)); i++)
        say_line(out, "warning: ", warning);
    say_changes(r, out);
}

void mcp_say_result(const nacre_result *r, const struct mcp_showing *showing, const char *pending,
                    struct mcp_said *said)
{
    struct streams s;
    show_streams(r, showing, &s);
    said->is_error = r->status != NACRE_STATUS_OK && r->status != NACRE_STATUS_FAILED;
    say_text(r, &s, pending, &said->text);
    put_object(r, showing, &s, pending, &said->structured);
    buf_release(&s.shown[0]);
    buf_release(&s.shown[1]);
}
