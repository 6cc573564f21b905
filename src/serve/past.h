/*
 * What is kept of the runs of one workspace: looked at, and turned another way.
 *
 * In:    the options that say which workspace and which policy; the id of a run.
 * Out:   its record, its changes as a patch, its changes undone, committed or thrown away.
 * Never: shows or touches a run of another workspace.
 */
#ifndef NACRE_SERVE_PAST_H
#define NACRE_SERVE_PAST_H

#include "base/json.h"
#include "changes/transaction.h"
#include "engine/engine.h"
#include "history/history.h"

/* --- past.c ---------------------------------------------------------------------------------- */

/* The workspace and the policy as they are now. */
struct past_place {
    struct arena arena;
    struct setting setting;
    nacre *handle;
};

int past_place_open(nacre *handle, const nacre_run_options *run, struct past_place *ret,
                    struct err *e);
void past_place_close(struct past_place *p);

/* The history, and one run of this workspace's; -ENOENT for any other. */
struct past_record {
    struct past_place place;
    struct history *history;
    struct history_run run;
};
int past_history_open(const struct past_place *place, struct history **ret, struct err *e);
int past_record_open(nacre *handle, const nacre_run_options *run, const char *id,
                     struct past_record *ret, struct err *e);
void past_record_close(struct past_record *r);
bool past_is_here(const struct past_place *place, const char *workspace);

/* The patch of a run, within so many bytes; true in `ret_more` where there is more. */
int past_patch(const struct transaction *t, size_t max, struct buf *out, bool *ret_more,
               struct err *e);

/* --- past_turn.c ----------------------------------------------------------------------------- */

enum past_turn { PAST_UNDO, PAST_COMMIT, PAST_DISCARD };
extern const char *const past_turn_names[], *const past_turn_done[];

struct past_turning {
    nacre *handle;
    const nacre_run_options *run;
    bool open; /* what follows is there, and is to be closed */
    struct past_record record;
    struct transaction transaction;
    struct conflicts conflicts;
    const char *const *later; /* that changed the same, and stand in the way */
    size_t later_count;
    size_t also; /* later ones that were undone with it */
};

/* Does it, and puts it in the ledger. `t` says which workspace, and what came of it, also where it
 * fails; it is closed by the caller. */
int past_turn(struct past_turning *t, const char *id, enum past_turn turn, bool with_later,
              struct err *e);
void past_turning_close(struct past_turning *t);

/* An object: status, error, correlation_id, conflicts, later, changes. */
void past_turning_write(const struct past_turning *t, enum past_turn turn, const struct err *e,
                        struct json *j);

#endif
