/*
 * The history: what the ledger's entries say, run by run.
 *
 * In:    the ledger and the objects of a state directory.
 * Out:   runs by filter, newest first; one run with everything that is known of it; figures.
 * Never: writes to the ledger, or believes the index where the ledger says otherwise.
 *
 *   STATE/ledger       the ledger: the truth
 *   STATE/objects      what was too large for an entry (object.h)
 *   STATE/history.db   the index (SQLite): made from the ledger, and made again whenever it does
 * not fit it; nothing is lost with it STATE/history.lock held while the index is brought up to date
 *   STATE/running      locked, at the index of their intent, by runs that are under way (running.h)
 */
#ifndef NACRE_HISTORY_HISTORY_H
#define NACRE_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "history/entry.h"
#include "ledger/ledger.h"

struct history;

struct history_options {
    /* Called now and then while the index is brought up to date; other than 0 ends it with that. */
    int (*progress)(void *user, uint64_t done, uint64_t all);
    void *user;
};

/*
 * Opens the history of a state directory and brings the index up to date. `options` may be NULL.
 * -ENOENT: nothing was ever recorded there.
 */
int history_open(const char *state, const struct history_options *options, struct history **ret,
                 struct err *e);
void history_close(struct history *h);

/* Takes in what was recorded since. */
int history_update(struct history *h, struct err *e);

/* The ledger under it, opened for reading; it belongs to the history. */
struct ledger *history_ledger(struct history *h);

/* How the status of a run without a result is told. */
#define HISTORY_RUNNING "running"
#define HISTORY_CUT_OFF "cut off"

/* Absent filters are NULL or 0. */
struct history_filter {
    const char *agent, *job, *status, *verdict;
    const char *text;      /* stands in the command */
    const char *path;      /* was changed; with a slash behind it, anything below it */
    const char *workspace; /* ran there */
    int64_t since_ms;      /* UTC */
    int64_t until_ms;
    uint64_t since_result; /* its result, or else its intent, has at least this index */
    bool oldest_first;
    uint64_t limit;  /* 0: none */
    uint64_t from;   /* only runs whose place is at least this index */
    uint64_t before; /* only runs whose place is before this index; 0: all */
};

/* One run as the index has it. Texts live until the call returns. */
struct history_row {
    uint64_t index;  /* by which it is ordered: its intent, else its result */
    uint64_t result; /* index of what became of it; HISTORY_NONE: nothing did */
    const char *id, *agent, *job, *status, *verdict, *rule, *workspace;
    int64_t time_ms;
    bool has_exit_code;
    int exit_code;
    bool has_duration;
    uint64_t duration_ms;
    uint64_t changes; /* paths */
    const char *command;
    size_t command_len;
};
#define HISTORY_NONE UINT64_MAX

/* Newest first. A `row` that returns other than 0 ends the list, which then returns that. */
int history_list(struct history *h, const struct history_filter *filter,
                 int (*row)(void *user, const struct history_row *row), void *user, struct err *e);

/*
 * The run with this id, or the start of one, or the index of one of its entries. -ENOENT: there is
 * none; -ENOTUNIQ: there are several.
 */
int history_find(struct history *h, const char *id, uint64_t *ret_index, struct err *e);

/* One entry of the ledger, and its record as it stands there. */
struct history_entry {
    uint64_t index;
    char hash[SHA256_HEX + 1]; /* RFC 6962: of a byte 0x00 and the record */
    struct entry entry;
    const char *record;
    size_t record_len;
};

struct history_run {
    uint64_t index;
    bool has_result, has_intent;
    struct history_entry result, intent;
    const struct history_entry *main; /* the result, else the intent */
    const char *status;
    const struct history_entry *later; /* commits, undos … in their order */
    size_t later_count;
    const char *frames; /* of its output, see object.h; NULL: none */
    size_t frames_len;
    const char *script; /* its bytes, redacted; NULL: none */
    size_t script_len;
    const char *script_missing; /* why they are not there; else NULL */
    const char *frames_missing; /* why they are not there though there were some; else NULL */
};

/* Everything about the run that history_find gave. */
int history_read(struct history *h, struct arena *arena, uint64_t index, struct history_run *ret,
                 struct err *e);

/*
 * Questions and what became of them: every entry about one, in the ledger's order. An `entry` that
 * returns other than 0 ends the list, which then returns that.
 */
int history_questions(struct history *h,
                      int (*entry)(void *user, const struct history_entry *entry), void *user,
                      struct err *e);

/* --- figures --------------------------------------------------------------------------------- */

struct history_count {
    const char *name;
    uint64_t count;
};

enum history_counted {
    HISTORY_BY_STATUS,
    HISTORY_BY_VERDICT,
    HISTORY_BY_DENIED_RULE,
    HISTORY_BY_LIMIT,
    HISTORY_BY_AGENT,
    HISTORY_COUNTED
};

enum { HISTORY_QUANTILES = 3 };
extern const unsigned history_quantiles[HISTORY_QUANTILES]; /* in per cent */

struct history_figures {
    uint64_t entries, runs;
    struct history_counts {
        struct history_count *items; /* most first */
        size_t count;
    } by[HISTORY_COUNTED];
    uint64_t timed; /* runs with a duration */
    uint64_t duration_sum_ms, duration_max_ms;
    uint64_t duration_ms[HISTORY_QUANTILES];
    uint64_t changes;
};

/* Of the runs since then; 0: of all. Names are in the arena. */
int history_sum(struct history *h, struct arena *arena, int64_t since_ms,
                struct history_figures *ret, struct err *e);

/*
 * Whether every object that an entry names is, where it is kept, what its name says. `bad` is told
 * of each that is not. The index is not asked. `ret_checked` and `ret_missing` are objects.
 */
int history_verify_objects(const char *state,
                           int (*progress)(void *user, uint64_t done, uint64_t all),
                           void (*bad)(void *user, uint64_t index, const char *name,
                                       const char *why),
                           void *user, uint64_t *ret_checked, uint64_t *ret_missing, struct err *e);

#endif
