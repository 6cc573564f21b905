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
    RUN_STARVED,   /* it waited for input that cannot come: killed */
    RUN_CANCELLED, /* killed on the caller's wish */
    RUN_KILLED,    /* the program died without an exit status of its own */
    RUN_ENDED,     /* it ended by itself: `outcome.wait_status` */
};

enum run_stream { RUN_STDOUT, RUN_STDERR, RUN_STREAMS };

struct run_options {
    uint64_t timeout_ms;
    int stdin_fd;  /* read and passed on; -1: none */
    int cancel_fd; /* readable: kill everything; -1: none */
    bool terminal; /* the sandbox has one: its input ends with the character for that */
    int size_fd;   /* a terminal whose size that one has; -1: none */
    /* How long it may wait for input when none came yet; 0: for ever. Where none can come any more,
     * RUN_STARVED_MS. */
    uint64_t input_timeout_ms;
    /* Given the head of each stream while it comes in; not 0: kill everything. May be NULL. */
    int (*on_output)(void *user, enum run_stream stream, const char *bytes, size_t len);
    /* Called at once: while the walls are built there is time for a while. Negative: kill
     * everything. May be NULL. */
    int (*on_start)(void *user);
    /* Called when it has lasted for RUN_LASTS_MS: what a short run need not wait for. Likewise. */
    int (*on_lasting)(void *user);
    /* Called when the walls stand and the program starts. Negative: kill everything. May be
     * NULL. */
    int (*on_built)(void *user);
    /* Given all that comes in, in its order, to keep it in `captures`; at a stream's end no bytes.
     * Negative: kill everything. NULL: it is kept as it is. */
    int (*on_read)(void *user, enum run_stream stream, const char *bytes, size_t len);
    void *user;
    /* What comes from a session's pipe; past its maximum it is failed, and the rest thrown away.
     * NULL: there is none. */
    struct buf *session;
};

enum { RUN_STARVED_MS = 5000, RUN_LASTS_MS = 20 };

struct run_result {
    enum run_end end;
    struct sandbox_outcome outcome;
    uint64_t duration_ms;
    bool waits; /* at its kill it waited for input */
};

/*
 * Returns 0, or a negative errno when the supervisor itself failed; the tree is dead then too, but
 * for -ETIMEDOUT: the kernel did not end it within 10 s of its kill.
 */
int run_supervise(struct sandbox *sandbox, const struct run_options *options,
                  struct capture captures[RUN_STREAMS], struct run_result *ret, struct err *e);

#endif
