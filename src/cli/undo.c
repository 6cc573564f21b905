/* nacre undo, redo, commit, discard: what became of a run's changes, turned another way. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/kept.h"

struct turn_options {
    const char *state;
    bool json;
    bool with_later;
};

#define SHARED_OPTIONS                                                                             \
    {                                                                                              \
        .name = "json", .kind = OPTION_FLAG, .help = "print one JSON object for each run",         \
        .offset = offsetof(struct turn_options, json)                                              \
    }

static const struct option plain_options[] = {SHARED_OPTIONS, {0}};

static const struct option undo_options[] = {
    SHARED_OPTIONS,
    {.name = "with-later",
     .kind = OPTION_FLAG,
     .help = "first undo the later runs that changed the same paths",
     .offset = offsetof(struct turn_options, with_later)},
    {0},
};

enum turn { TURN_UNDO, TURN_REDO, TURN_COMMIT, TURN_DISCARD };

static const struct {
    const char *name, *done;
    enum entry_kind entry;
} turns[] = {
    [TURN_UNDO] = {"undo", "undone", ENTRY_UNDO},
    [TURN_REDO] = {"redo", "redone", ENTRY_REDO},
    [TURN_COMMIT] = {"commit", "committed", ENTRY_COMMIT},
    [TURN_DISCARD] = {"discard", "discarded", ENTRY_DISCARD},
};

static int do_turn(struct transaction *t, enum turn turn, struct conflicts *conflicts,
                   struct err *e)
{
    enum journal_state state = t->journal.state;
    switch (turn) {
    case TURN_UNDO:
        return transaction_undo(t, conflicts, e);
    case TURN_REDO:
        return transaction_redo(t, conflicts, e);
    case TURN_COMMIT:
        return state == JOURNAL_HELD ? transaction_commit(t, conflicts, e)
                                     : err_set(e, -EALREADY, "run '%s' is %s", t->journal.id,
                                               journal_state_names[state]);
    case TURN_DISCARD:
        return state == JOURNAL_HELD || state == JOURNAL_UNDONE || state == JOURNAL_STRANDED
                   ? transaction_discard(t, e)
                   : err_set(e, -EALREADY, "run '%s' is %s: `nacre undo` takes it back",
                             t->journal.id, journal_state_names[state]);
    }
    return -EINVAL;
}

/* What can be done with a run that is in another state than was thought. */
static void complain_remedy(const struct transaction *t, enum turn turn)
{
    const char *id = t->journal.id;
    switch (t->journal.state) {
    case JOURNAL_UNDONE:
        if (turn != TURN_REDO)
            cli_complain("  `nacre redo %.8s` puts it back", id);
        break;
    case JOURNAL_APPLIED:
        if (turn == TURN_REDO)
            cli_complain("  `nacre undo %.8s` takes it back", id);
        break;
    case JOURNAL_HELD:
        cli_complain("  nothing of it is real yet: `nacre diff %.8s` shows it, `nacre discard "
                     "%.8s` throws it away",
                     id, id);
        break;
    default:
        break;
    }
}

static void tell(const struct transaction *t, enum turn turn, const struct conflicts *conflicts,
                 const char *const *later, size_t later_count, bool json, const struct err *e)
{
    const char *id = t->journal.id;
    if (json) {
        struct json j;
        json_init(&j, cli_print_json, NULL);
        json_object_begin(&j);
        json_key(&j, "correlation_id");
        json_text(&j, id);
        json_key(&j, "status");
        json_text(&j, e->code < 0 ? "error" : turns[turn].done);
        if (e->code < 0) {
            json_key(&j, "error");
            json_text(&j, e->message);
        }
        json_key(&j, "conflicts");
        conflicts_write_json(conflicts, &j);
        json_key(&j, "later");
        json_array_begin(&j);
        for (size_t i = 0; i < later_count; i++)
            json_text(&j, later[i]);
        json_array_end(&j);
        json_key(&j, "changes");
        changes_write_json(&t->journal.set, &j);
        json_object_end(&j);
        if (json_finish(&j) == 0)
            cli_print("\n", 1);
        return;
    }
    if (e->code == 0) {
        kept_print_summary(t, turns[turn].done);
        return;
    }
    cli_complain("%s %.8s: %s", turns[turn].name, id, e->message);
    if (e->code == -EALREADY)
        complain_remedy(t, turn);
    for (size_t i = 0; i < conflicts->count && i < KEPT_SHOWN_MAX; i++)
        kept_complain_path(conflicts->items[i].root, conflicts->items[i].path,
                           conflicts->items[i].why);
    if (conflicts->count > KEPT_SHOWN_MAX)
        cli_complain("  … and %zu more", conflicts->count - KEPT_SHOWN_MAX);
    for (size_t i = 0; i < later_count; i++)
        cli_complain("  run %.8s came later and changed the same: undo it first, or say "
                     "--with-later",
                     later[i]);
}

/* What is asked for is in the ledger before it is done, and what came of it after. */
static int do_recorded(const char *state, struct transaction *t, enum turn turn,
                       struct conflicts *conflicts, struct err *e)
{
    nacre *n = cli_open();
    char id[UUID_TEXT + 1];
    memcpy(id, t->journal.id, sizeof(id));
    int r = n ? recording_note(n, state, turns[turn].entry, id, "asked for", e)
              : err_set(e, -ENOMEM, "the library cannot be opened");
    if (r == 0) {
        r = do_turn(t, turn, conflicts, e);
        if (r == 0 && turn == TURN_DISCARD)
            approve_withdraw(state, id); /* nobody needs to say anything any more */
        struct err why = {0};
        int noted =
            recording_note(n, state, turns[turn].entry, id, r < 0 ? e->message : "done", &why);
        if (noted < 0 && r == 0)
            r = err_set(e, noted, "it is %s, but that is not in the ledger: %s", turns[turn].done,
                        why.message);
    }
    nacre_close(n);
    return r;
}

static int turn_one(const char *state, const char *id, enum turn turn,
                    const struct turn_options *wanted, unsigned depth)
{
    enum { LATER_MAX = 64 };
    struct err e = {0};
    struct arena arena;
    struct transaction t = TRANSACTION_NONE;
    const char *const *later = NULL;
    size_t later_count = 0;
    int status = 0;
    arena_init(&arena, &allocator_libc, KEPT_BYTES_MAX);
    struct conflicts conflicts = {.arena = &arena};
    int r = transaction_open(&arena, state, id, &t, &e);
    if (r < 0) {
        cli_complain("%s: %s", turns[turn].name, e.message);
        status = 1;
    } else {
        if (turn == TURN_UNDO && t.journal.state == JOURNAL_APPLIED)
            r = transaction_later(&t, &later, &later_count, &e);
        /* The newest first. */
        if (wanted->with_later && depth < LATER_MAX) {
            for (size_t i = later_count; status == 0 && i-- > 0;) {
                struct transaction other = TRANSACTION_NONE;
                bool open = transaction_open(&arena, state, later[i], &other, NULL) == 0 &&
                            (other.journal.state == JOURNAL_APPLIED ||
                             other.journal.state == JOURNAL_STRANDED);
                transaction_close(&other);
                if (open)
                    status = turn_one(state, later[i], turn, wanted, depth + 1);
            }
            later_count = 0;
        }
        if (status == 0 && r == 0)
            r = do_recorded(state, &t, turn, &conflicts, &e);
        if (status == 0)
            tell(&t, turn, &conflicts, later, later_count, wanted->json, &e);
        status = status || r < 0;
    }
    transaction_close(&t);
    arena_release(&arena);
    return status;
}

static int run_turn(enum turn turn, const void *options, const struct options_parsed *words)
{
    const struct turn_options *wanted = options;
    const char *state = kept_state_dir();
    if (!state) {
        cli_complain("%s: HOME is not set, so there is no state directory", turns[turn].name);
        return 1;
    }
    if (words->count == 0) {
        cli_complain("%s: which run? `nacre run --json` tells its correlation_id",
                     turns[turn].name);
        return 2;
    }
    int status = 0;
    for (int i = 0; status == 0 && i < words->count; i++)
        status = turn_one(state, words->operands[i], turn, wanted, 0);
    return cli_finish(status, 1);
}

static int run_undo(const void *options, const struct options_parsed *words)
{
    return run_turn(TURN_UNDO, options, words);
}

static int run_redo(const void *options, const struct options_parsed *words)
{
    return run_turn(TURN_REDO, options, words);
}

static int run_commit(const void *options, const struct options_parsed *words)
{
    return run_turn(TURN_COMMIT, options, words);
}

static int run_discard(const void *options, const struct options_parsed *words)
{
    return run_turn(TURN_DISCARD, options, words);
}

const struct command command_undo = {
    .name = "undo",
    .summary = "take back what runs have changed",
    .synopsis = "ID...",
    .description =
        "Restores exactly what was there before the run: contents, modes, links, attributes and "
        "times. ID is the run's correlation_id or the start of it.\n"
        "\n"
        "What somebody else has changed since is never overwritten: then nothing is done, and the "
        "paths are listed. Where a later run changed the same paths, it is named.\n"
        "\n"
        "    nacre undo 616df709\n"
        "\n"
        "Exit status: 0; 1 when it cannot be done; 2 for a wrong call.",
    .options = undo_options,
    .options_size = sizeof(struct turn_options),
    .wrong_call = 2,
    .run = run_undo,
};

const struct command command_redo = {
    .name = "redo",
    .summary = "put back what was undone",
    .synopsis = "ID...",
    .description = "The opposite of `nacre undo`, under the same conditions.\n"
                   "\n"
                   "    nacre redo 616df709",
    .options = plain_options,
    .options_size = sizeof(struct turn_options),
    .wrong_call = 2,
    .run = run_redo,
};

const struct command command_commit = {
    .name = "commit",
    .summary = "make the changes of a staged run real",
    .synopsis = "ID...",
    .description = "For runs that were staged (`nacre run --stage`) and whose changes the policy "
                   "allows. A run whose changes are held for a person's word needs `nacre "
                   "approve`; one whose changes met a conflict while it ran can only be looked at "
                   "and discarded.\n"
                   "\n"
                   "    nacre commit 616df709",
    .options = plain_options,
    .options_size = sizeof(struct turn_options),
    .wrong_call = 2,
    .run = run_commit,
};

const struct command command_discard = {
    .name = "discard",
    .summary = "throw the changes of a held run away",
    .synopsis = "ID...",
    .description = "For runs that are staged or held, and those that were undone: nothing of them "
                   "is kept.\n"
                   "\n"
                   "    nacre discard 616df709",
    .options = plain_options,
    .options_size = sizeof(struct turn_options),
    .wrong_call = 2,
    .run = run_discard,
};
