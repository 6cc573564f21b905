/* undo, commit, discard: what became of a run's changes, turned another way. */
#include <errno.h>
#include <string.h>

#include "changes/transaction.h"
#include "history/history.h"
#include "serve/mcp_internal.h"

enum turn { TURN_UNDO, TURN_COMMIT, TURN_DISCARD };
enum { LATER_MAX = 64, PATHS_SAID = 20 };

static const struct {
    const char *name, *done;
    enum entry_kind entry;
} turns[] = {
    [TURN_UNDO] = {"undo", "undone", ENTRY_UNDO},
    [TURN_COMMIT] = {"commit", "committed", ENTRY_COMMIT},
    [TURN_DISCARD] = {"discard", "discarded", ENTRY_DISCARD},
};

struct turning {
    struct mcp *m;
    struct mcp_record record;
    struct transaction transaction;
    struct conflicts conflicts;
    const char *const *later;
    size_t later_count, also;
};

static int do_turn(struct turning *t, enum turn turn, struct err *e)
{
    struct transaction *transaction = &t->transaction;
    enum journal_state state = transaction->journal.state;
    switch (turn) {
    case TURN_UNDO:
        return transaction_undo(transaction, &t->conflicts, e);
    case TURN_COMMIT:
        if (state != JOURNAL_HELD)
            return err_set(e, -EALREADY, "run '%s' is %s", transaction->journal.id,
                           journal_state_names[state]);
        return transaction_commit(transaction, &t->conflicts, e); /* M7 is its own */
    default:
        /* What was there before is kept in it, and nowhere else: for a person to give up. */
        if (state == JOURNAL_STRANDED)
            return err_set(e, -EPERM,
                           "run '%s' is %s: only a person can give up what is kept of it",
                           transaction->journal.id, journal_state_names[state]);
        return state == JOURNAL_HELD || state == JOURNAL_UNDONE
                   ? transaction_discard(transaction, e)
                   : err_set(e, -EALREADY, "run '%s' is %s: the tool undo takes it back",
                             transaction->journal.id, journal_state_names[state]);
    }
}

/* What is asked for is in the ledger before it is done, and what came of it after. */
static int do_recorded(struct turning *t, enum turn turn, struct err *e)
{
    const char *state = t->record.place.setting.state_dir;
    char id[UUID_TEXT + 1];
    memcpy(id, t->transaction.journal.id, sizeof(id));
    int r = recording_note(t->m->handle, state, turns[turn].entry, id, "asked for", e);
    if (r < 0)
        return r;
    r = do_turn(t, turn, e);
    if (r == 0 && turn == TURN_DISCARD)
        approve_withdraw(state, id); /* nobody needs to say anything any more */
    struct err why = {0};
    int noted = recording_note(t->m->handle, state, turns[turn].entry, id,
                               r < 0 ? e->message : "done", &why);
    if (noted < 0 && r == 0)
        r = err_set(e, noted, "it is %s, but that is not in the ledger: %s", turns[turn].done,
                    why.message);
    return r;
}

static int turn_one(struct mcp *m, const char *id, enum turn turn, bool with_later, unsigned depth,
                    struct turning *t, struct err *e);

/* The newest first. */
static int undo_later(struct turning *t, unsigned depth, struct err *e)
{
    int r = depth < LATER_MAX ? 0 : err_set(e, -ELOOP, "too many later runs");
    for (size_t i = t->later_count; r == 0 && i-- > 0;) {
        struct transaction other = TRANSACTION_NONE;
        bool real =
            transaction_open(&t->record.place.arena, t->record.place.setting.state_dir, t->later[i],
                             &other, NULL) == 0 &&
            (other.journal.state == JOURNAL_APPLIED || other.journal.state == JOURNAL_STRANDED);
        transaction_close(&other);
        if (!real)
            continue;
        struct turning one;
        r = turn_one(t->m, t->later[i], TURN_UNDO, true, depth + 1, &one, e);
        if (r == 0) {
            t->also += 1 + one.also;
            transaction_close(&one.transaction);
            mcp_record_close(&one.record);
        }
    }
    return r;
}

/* On success, or with conflicts, `t` is open: `*ret_open`. */
static int open_and_turn(struct turning *t, const char *id, enum turn turn, bool with_later,
                         unsigned depth, bool *ret_open, struct err *e)
{
    *ret_open = false;
    int r = mcp_record_open(t->m, id, &t->record, e);
    if (r < 0)
        return r;
    *ret_open = true;
    t->conflicts.arena = &t->record.place.arena;
    r = transaction_open(&t->record.place.arena, t->record.place.setting.state_dir,
                         t->record.run.main->entry.id, &t->transaction, e);
    if (r == 0 && turn == TURN_UNDO && t->transaction.journal.state == JOURNAL_APPLIED)
        r = transaction_later(&t->transaction, &t->later, &t->later_count, e);
    if (r == 0 && with_later && t->later_count) {
        r = undo_later(t, depth, e);
        t->later_count = 0;
    }
    return r < 0 ? r : do_recorded(t, turn, e);
}

static int turn_one(struct mcp *m, const char *id, enum turn turn, bool with_later, unsigned depth,
                    struct turning *t, struct err *e)
{
    bool open;
    *t = (struct turning){.m = m, .transaction = TRANSACTION_NONE};
    int r = open_and_turn(t, id, turn, with_later, depth, &open, e);
    if (r < 0 && open) {
        transaction_close(&t->transaction);
        mcp_record_close(&t->record);
    }
    return r;
}

/* --- what is said of it -------------------------------------------------------------------------
 */

static void put_details(struct json *j, const struct turning *t)
{
    json_key(j, "correlation_id");
    json_text(j, t->transaction.journal.id);
    json_key(j, "conflicts");
    conflicts_write_json(&t->conflicts, j);
    json_key(j, "later");
    json_array_begin(j);
    for (size_t i = 0; i < t->later_count; i++)
        json_text(j, t->later[i]);
    json_array_end(j);
    json_key(j, "changes");
    changes_write_json(&t->transaction.journal.set, j);
}

static void say_conflicts(const struct turning *t, struct buf *out)
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

static void say(const struct turning *t, enum turn turn, bool open, const struct err *e,
                struct mcp_said *said)
{
    const struct mcp_showing showing = {.limit = 4096, .keep = MCP_KEEP_HEAD};
    struct buf whole;
    struct json j;
    if (e->code < 0 && !open) {
        mcp_said_error(said, "id", "%s", e->message);
        return;
    }
    said->is_error = e->code < 0;
    if (e->code < 0) {
        buf_append_format(&said->text, "error: %s: ", turns[turn].name);
        mcp_show_line(e->message, strlen(e->message), MCP_REASON_MAX, &said->text);
        say_conflicts(t, &said->text);
    } else {
        buf_append_format(&said->text, "run %s is %s", t->transaction.journal.id, turns[turn].done);
        if (t->also)
            buf_append_format(&said->text, ", and %zu later ones", t->also);
    }
    buf_init(&whole, &allocator_libc, MCP_REPLY_MAX);
    json_init_buf(&j, &whole);
    json_object_begin(&j);
    json_key(&j, "status");
    json_text(&j, e->code < 0 ? "error" : turns[turn].done);
    if (e->code < 0) {
        json_key(&j, "error");
        json_text(&j, e->message);
    }
    put_details(&j, t);
    json_object_end(&j);
    if (mcp_show_json_text(&showing, whole.data, whole.len, &said->structured) < 0)
        mcp_said_error(said, NULL, "what came of it cannot be told");
    buf_release(&whole);
}

static void turn_and_say(struct mcp_call *call, enum turn turn, struct mcp_said *said)
{
    struct turning t = {.m = call->m, .transaction = TRANSACTION_NONE};
    struct err e = {0};
    bool open;
    open_and_turn(&t, mcp_text(call, "id", NULL), turn, mcp_flag(call, "with_later"), 0, &open, &e);
    say(&t, turn, open, &e, said);
    if (open) {
        transaction_close(&t.transaction);
        mcp_record_close(&t.record);
    }
}

void mcp_undo(struct mcp_call *call, struct mcp_said *said)
{
    turn_and_say(call, TURN_UNDO, said);
}

void mcp_commit(struct mcp_call *call, struct mcp_said *said)
{
    turn_and_say(call, TURN_COMMIT, said);
}

void mcp_discard(struct mcp_call *call, struct mcp_said *said)
{
    turn_and_say(call, TURN_DISCARD, said);
}
