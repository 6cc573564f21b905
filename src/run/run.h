/*
 * The run: a confined process becomes a captured result.
 *
 * In: a started sandbox. Out: what it printed, within limits, and how it ended. Whatever the inside
 * does (floods, holds pipes open, never ends), this returns soon after the time limit, and when it
 * does nothing of the tree is alive. It never interprets output.
 */
#ifndef NACRE_RUN_RUN_H
#define NACRE_RUN_RUN_H

#include <stdint.h>

#include "run/capture.h"
#include "sandbox/sandbox.h"

enum run_end {
    RUN_BROKEN,    /* the sandbox could not be built, or broke: `outcome.err` */
    RUN_TIMEOUT,   /* killed at the time limit */
    RUN_LIMIT,     /* killed at another limit: `outcome.limit` */
    RUN_CANCELLED, /* killed on the caller's wish */
    RUN_KILLED,    /* the program died without an exit status of its own */
    RUN_ENDED,     /* it ended by itself: `outcome.wait_status` */
};

enum run_stream { RUN_STDOUT, RUN_STDERR, RUN_STREAMS };

struct run_options {
    uint64_t timeout_ms;
    int stdin_fd;  /* read and passed on; -1: none */
    int cancel_fd; /* readable: kill everything; -1: none */
    /* Given the head of each stream while it comes in; not 0: kill everything. May be NULL. */
    int (*on_output)(void *user, enum run_stream stream, const char *bytes, size_t len);
    void *user;
};

struct run_result {
    enum run_end end;
    struct sandbox_outcome outcome;
    uint64_t duration_ms;
};

/*
 * Returns 0, or a negative errno when the supervisor itself failed; the tree is dead then too, but
 * for -ETIMEDOUT: the kernel did not end it within 10 s of its kill.
 */
int run_supervise(struct sandbox *sandbox, const struct run_options *options,
                  struct capture captures[RUN_STREAMS], struct run_result *ret, struct err *e);

#endif
