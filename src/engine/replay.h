/*
 * Replay: runs again what the ledger has of one workspace, from the same start, in fresh sandboxes,
 * and compares exit codes, what was printed, and the hash of the files after every step.
 *
 * In:    a range of entries, and a directory to start from. Out: one answer for each run.
 * Never: touches the workspace itself, its store or its ledger: everything happens in a copy, with
 *        a state of its own, and without network.
 */
#ifndef NACRE_ENGINE_REPLAY_H
#define NACRE_ENGINE_REPLAY_H

#include "base/arena.h"
#include "base/err.h"
#include "nacre.h"

struct replay_request {
    const char *state_dir; /* whose ledger */
    const char *workspace; /* whose runs: canonical */
    const char *start; /* directory with the state before the first; NULL: the workspace as it is
                          now, or an empty one, whichever has the hash */
    const char *from, *to; /* ids, or starts of them, or indexes; NULL: the first, the last */
    const char *const *environment;
    const char *config_dir;
    bool deterministic;
};

enum replay_outcome {
    REPLAY_SAME,
    REPLAY_DIFFERS, /* `what`, `expected`, `actual` */
    REPLAY_SKIPPED, /* never ran, or nothing came of it */
    REPLAY_CANNOT,  /* `what` says why */
};

struct replay_step {
    uint64_t index; /* in the ledger */
    const char *id, *command;
    enum replay_outcome outcome;
    const char *what, *expected, *actual;
};

/*
 * Calls `tell` for each step until one differs. 1: all are the same; 0: one differs, or cannot be
 * replayed; or a negative errno.
 */
int replay_run(nacre *n, const struct replay_request *request,
               void (*tell)(void *user, const struct replay_step *step), void *user, struct err *e);

#endif
