/* undo, commit, discard: what became of a run's changes, turned another way; see past.h. */
#include <errno.h>
#include <string.h>

#include "serve/past.h"

enum { LATER_MAX = 64 };

const char *const past_turn_names[] = {
    [PAST_UNDO] = "undo", [PAST_COMMIT] = "commit", [PAST_DISCARD] = "discard"};
const char *const past_turn_done[] = {
    [PAST_UNDO] = "undone", [PAST_COMMIT] = "committed", [PAST_DISCARD] = "discarded"};
static const enum entry_kind entries[] = {
    [PAST_UNDO] = ENTRY_UNDO, [PAST_COMMIT] = ENTRY_COMMIT, [PAST_DISCARD] = ENTRY_DISCARD};

static int do_turn(struct past_turning *t, enum past_turn turn, struct err *e)
{
    struct transaction *transaction = &t->transaction;
    enum journal_state state = transaction->journal.state;
    switch (turn) {
    case PAST_UNDO:
        return transaction_undo(transaction, &t->conflicts, e);
    case PAST_COMMIT:
        if (state != JOURNAL_HELD)
            return err_set(e, -EALREADY, "run '%s' is %s", transaction->journal.id,
                           journal_state_names[state]);
        return transaction_commit(transaction, &t->conflicts,
                                  e); /* whether it may is its own to say */
    default:
        /* What was there before is kept in it, and nowhere else: for a person to give up. */
        if (state == JOURNAL_STRANDED)
            return err_set(e, -EPERM,
                           "run '%s' is %s: only a person can give up what is kept of it",
                           transaction->journal.id, journal_state_names[state]);
        return state == JOURNAL_HELD || state == JOURNAL_UNDONE
                   ? transaction_discard(transaction, e)
                   : err_set(e, -EALREADY, "run '%s' is %s: `undo` takes it back",
                             transaction->journal.id, journal_state_names[state]);
    }
}

/* What is asked for is in the ledger before it is done, and what came of it after. */
static int do_recorded(struct past_turning *t, enum past_turn turn, struct err *e)
{
    const char *state = t->record.place.setting.state_dir;
    char id[UUID_TEXT + 1];
    memcpy(id, t->transaction.journal.id, sizeof(id));
    int r = recording_note(t->handle, state, entries[turn], id, "asked for", e);
    if (r < 0)
        return r;
    r = do_turn(t, turn, e);
    if (r == 0 && turn == PAST_DISCARD)
        approve_withdraw(state, id); /* nobody needs to say anything any more */
    struct err why = {0};
    int noted =
        recording_note(t->handle, state, entries[turn], id, r < 0 ? e->message : "done", &why);
    if (noted < 0 && r == 0)
        r = err_set(e, noted, "it is %s, but that is not in the ledger: %s", past_turn_done[turn],
                    why.message);
    return r;
}

static int open_and_turn(struct past_turning *t, const char *id, enum past_turn turn,
                         bool with_later, unsigned depth, struct err *e);

/* The newest first. */
static int undo_later(struct past_turning *t, unsigned depth, struct err *e)
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
        struct past_turning one = {.handle = t->handle, .run = t->run};
        r = open_and_turn(&one, t->later[i], PAST_UNDO, true, depth + 1, e);
        t->also += r == 0 ? 1 + one.also : 0;
        past_turning_close(&one);
    }
    return r;
}

static int open_and_turn(struct past_turning *t, const char *id, enum past_turn turn,
                         bool with_later, unsigned depth, struct err *e)
{
    t->transaction = (struct transaction)TRANSACTION_NONE;
    int r = past_record_open(t->handle, t->run, id, &t->record, e);
    if (r < 0)
        return r;
    t->open = true;
    t->conflicts.arena = &t->record.place.arena;
    r = transaction_open(&t->record.place.arena, t->record.place.setting.state_dir,
                         t->record.run.main->entry.id, &t->transaction, e);
    if (r == 0 && turn == PAST_UNDO && t->transaction.journal.state == JOURNAL_APPLIED)
        r = transaction_later(&t->transaction, &t->later, &t->later_count, e);
    if (r == 0 && with_later && t->later_count) {
        r = undo_later(t, depth, e);
        t->later_count = 0;
    }
    return r < 0 ? r : do_recorded(t, turn, e);
}

int past_turn(struct past_turning *t, const char *id, enum past_turn turn, bool with_later,
              struct err *e)
{
    return open_and_turn(t, id, turn, with_later, 0, e);
}

void past_turning_close(struct past_turning *t)
{
    if (!t->open)
        return;
    transaction_close(&t->transaction);
    past_record_close(&t->record);
    t->open = false;
}

void past_turning_write(const struct past_turning *t, enum past_turn turn, const struct err *e,
                        struct json *j)
{
    json_object_begin(j);
    json_key(j, "status");
    json_text(j, e->code < 0 ? "error" : past_turn_done[turn]);
    if (e->code < 0) {
        json_key(j, "error");
        json_text(j, e->message);
    }
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
    json_object_end(j);
}
