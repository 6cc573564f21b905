/*
 * The sandbox, seen from outside: a plan becomes a confined process with pipes.
 *
 * In: a plan. Out: a running tree that can be watched and killed as one. This room never reads
 * policy. Its launcher (launch.h) is a program of its own.
 */
#ifndef NACRE_SANDBOX_SANDBOX_H
#define NACRE_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "base/err.h"
#include "plan/plan.h"
#include "sandbox/wire.h"

struct sandbox {
    pid_t launcher;
    int control; /* readable when there is an event */
    int input;   /* write end of the program's stdin, non-blocking; -1: it has /dev/null */
    int output;  /* read ends, non-blocking */
    int errors;
};

/* What became of it, as sandbox_read_event hears it. */
struct sandbox_outcome {
    bool failed;        /* a wall could not be built: `err` says which, and the remedy */
    bool no_namespaces; /* failed, since there are no namespaces to be had */
    bool no_layer;      /* failed, since an overlay is not to be had */
    bool built;         /* the walls stand; not told where the end comes first */
    bool ended;         /* the program ended by itself: `wait_status` is its own */
    bool gone;          /* nothing of the tree runs any more */
    int wait_status;
    uint32_t survivors;    /* processes that outlived the program, and were killed */
    enum wire_limit limit; /* at which the guard ended it all */
    enum wire_means means; /* by which the limit was kept */
    struct wire_usage usage;
    struct err err;
};

#define SANDBOX_NONE                                                                               \
    {                                                                                              \
        .launcher = -1, .control = -1, .input = -1, .output = -1, .errors = -1                     \
    }

/*
 * Executes the launcher (a path), which makes namespaces and waits. With `input`, the program's
 * stdin is a pipe. On failure nothing is left behind.
 */
int sandbox_open(const char *launcher, bool input, struct sandbox *ret, struct err *e);

/* Gives it the plan; `held` is the mount that the plan's held step means, or -1. */
int sandbox_start(struct sandbox *s, const struct allocator *allocator, const struct plan *plan,
                  int held, struct err *e);

/* Reads one event from `control` without blocking. 0: none was there. 1: outcome updated. */
int sandbox_read_event(struct sandbox *s, struct sandbox_outcome *outcome);

/* Kills the whole tree. The end comes as an event, after the last process is gone. */
void sandbox_kill(struct sandbox *s);

/* Closes everything and collects the launcher; kills what still runs. */
void sandbox_release(struct sandbox *s);
/* The same for one that does not end, whatever is done: nobody waits for it. */
void sandbox_abandon(struct sandbox *s);

/* --- keep.c: a file system in memory, kept for a session ------------------------------------- */

struct keeper {
    pid_t pid;
    int control;
};
#define KEEPER_NONE                                                                                \
    {                                                                                              \
        .pid = -1, .control = -1                                                                   \
    }

int keeper_start(const char *launcher, uint64_t bytes, struct keeper *ret, struct err *e);
/* A mount of it, for one sandbox: a descriptor, or negative. */
int keeper_mount(const struct keeper *k, struct err *e);
void keeper_end(struct keeper *k);

/* sandbox.c: executes the launcher; theirs[i] becomes its descriptor i, those below 0 are left out.
 */
int sandbox_spawn(const char *launcher, const char *argument, const int *theirs, size_t count,
                  pid_t *ret);
/* What a launcher said that it could not do, with the remedy. */
void sandbox_explain(const struct wire_message *message, struct err *e);

#endif
