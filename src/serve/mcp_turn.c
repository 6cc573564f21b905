/* undo, commit, discard: what is said of them; see past.h for what is done. */
#include <errno.h>
#include <string.h>

#include "serve/mcp_internal.h"

enum { PATHS_SAID = 20 };

static void say_conflicts(const struct past_turning *t, struct buf *out)
{
    for (size_t i = 0; i < t->conflicts.count && i < PATHS_SAID; i++) {
        const struct conflict *c = &t->conflicts.items[i];
        buf_append_text(out, "\n  ");
        mcp_show_line(c->path, strlen(c->path), MCP_REASON_MAX, out);
        buf_append_byte(out, ' ');
        mcp_show_line(c->why, strlen(c->why), MCP_REASON_MAX, out);
    }
    for (size_t i = 0; i < t->later_count && i < PATHS_SAID; i++)
        buf_append_format(out,
                          "\n  run %s came later and changed the same: undo it first, or say "
                          "with_later",
                          t->later[i]);
}

static void say(const struct past_turning *t, enum past_turn turn, const struct err *e,
                struct mcp_said *said)
{
    const struct mcp_showing showing = {.limit = 4096, .keep = MCP_KEEP_HEAD};
    struct buf whole;
    struct json j;
    if (e->code < 0 && !t->open) {
        mcp_said_error(said, "id", "%s", e->message);
        return;
    }
    said->is_error = e->code < 0;
    if (e->code < 0) {
        buf_append_format(&said->text, "error: %s: ", past_turn_names[turn]);
        mcp_show_line(e->message, strlen(e->message), MCP_REASON_MAX, &said->text);
        say_conflicts(t, &said->text);
    } else {
        buf_append_format(&said->text, "run %s is %s", t->transaction.journal.id,
                          past_turn_done[turn]);
        if (t->also)
            buf_append_format(&said->text, ", and %zu later ones", t->also);
    }
    buf_init(&whole, &allocator_libc, JSONRPC_REPLY_MAX);
    json_init_buf(&j, &whole);
    past_turning_write(t, turn, e, &j);
    if (mcp_show_json_text(&showing, whole.data, whole.len, &said->structured) < 0)
        mcp_said_error(said, NULL, "what came of it cannot be told");
    buf_release(&whole);
}

static void turn_and_say(struct mcp_call *call, enum past_turn turn, struct mcp_said *said)
{
    struct past_turning t = {.handle = call->m->handle, .run = call->m->options.run};
    struct err e = {0};
    past_turn(&t, mcp_text(call, "id", NULL), turn, mcp_flag(call, "with_later"), &e);
    say(&t, turn, &e, said);
    past_turning_close(&t);
}

void mcp_undo(struct mcp_call *call, struct mcp_said *said)
{
    turn_and_say(call, PAST_UNDO, said);
}

void mcp_commit(struct mcp_call *call, struct mcp_said *said)
{
    turn_and_say(call, PAST_COMMIT, said);
}

void mcp_discard(struct mcp_call *call, struct mcp_said *said)
{
    turn_and_say(call, PAST_DISCARD, said);
}
