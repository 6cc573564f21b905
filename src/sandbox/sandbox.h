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

struct sandbox {
    pid_t launcher;
    int control; /* readable when there is an event */
    int input;   /* write end of the program's stdin, non-blocking; -1: it has /dev/null */
    int output;  /* read ends, non-blocking */
    int errors;
};

/* What became of it. Only sandbox_read_event fills this in. */
struct sandbox_outcome {
    bool failed;    /* a wall could not be built: `err` says which, and the remedy */
    bool ended;     /* the program ended by itself: `wait_status` is its own */
    bool gone;      /* nothing of the tree runs any more */
    bool timed_out; /* the guard killed it at its time limit */
    int wait_status;
    uint32_t survivors; /* processes that outlived the program, and were killed */
    uint64_t cpu_us;
    uint64_t memory_peak_bytes;
    struct err err;
};

#define SANDBOX_NONE                                                                               \
    {                                                                                              \
        .launcher = -1, .control = -1, .input = -1, .output = -1, .errors = -1                     \
    }

/*
 * Starts the launcher (a path) on a plan. With `input`, the program's stdin is a pipe. On failure
 * nothing is left behind.
 */
int sandbox_start(const struct allocator *allocator, const char *launcher, const struct plan *plan,
                  bool input, struct sandbox *ret, struct err *e);

/* Reads one event from `control` without blocking. 0: none was there. 1: outcome updated. */
int sandbox_read_event(struct sandbox *s, struct sandbox_outcome *outcome);

/* Kills the whole tree. The end comes as an event, after the last process is gone. */
void sandbox_kill(struct sandbox *s);

/* Closes everything and collects the launcher; kills what still runs. */
void sandbox_release(struct sandbox *s);

#endif
