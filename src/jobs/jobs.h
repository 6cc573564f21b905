/*
 * Jobs: runs that go on when the command that started them has returned.
 *
 * In:    a run that is under way in this process, which is the job's supervisor.
 * Out:   a socket on which others see its output, send it input, wait for its end and end it; and,
 *        for them, the way to it.
 * Never: writes what a job prints to a disk, or believes that a job lives because a file or a pid
 *        is there.
 *
 *   STATE/jobs            only its owner gets in; the inside never sees it, as all of STATE
 *   STATE/jobs/ID         the socket: whoever can connect to it knows that the job is under way,
 *                         for the kernel refuses it as soon as the supervisor is gone
 *   STATE/jobs/ID.ended   empty: it is over, and the ledger has what became of it
 *
 * J1  Nobody but the owner, or root, is answered.
 * J2  Whatever a client does or does not do, the job is not held up: output that is not fetched is
 *     dropped from its front, and a client that does not read is left alone.
 * J3  The name of the socket goes when the result is in the ledger, and not before.
 */
#ifndef NACRE_JOBS_JOBS_H
#define NACRE_JOBS_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/uuid.h"

/* --- serve.c: the supervisor's side ---------------------------------------------------------- */

struct job;

struct job_options {
    const char *state;   /* directory */
    size_t output_bytes; /* of output that are kept for those who ask */
    int input_fd;        /* where input is written to, non-blocking; the job closes it */
    int cancel_fd;       /* an eventfd that ends the run */
};

/* Takes over the descriptor for input. */
int job_new(const struct job_options *options, struct job **ret, struct err *e);

/* Makes the socket and answers on it from a thread of its own. */
int job_begin(struct job *job, const char *id, struct err *e);

/* What was printed; stream 1 or 2. It may come before the run is seen to begin. */
void job_add_output(struct job *job, int stream, const char *bytes, size_t len);

/* After the result is recorded: tells everybody, within bounds, and frees the job; accepts NULL. */
void job_end(struct job *job);

/* --- client.c: everybody else's -------------------------------------------------------------- */

enum { JOB_PIECE_MAX = 32 << 10 };

enum job_kind {
    JOB_NOTHING,
    /* asked */
    JOB_LOGS,  /* the output so far; count 1: and all that follows */
    JOB_INPUT, /* bytes for standard input */
    JOB_CLOSE, /* no more of them */
    JOB_KILL,  /* the end of it all, and then as JOB_WATCH */
    JOB_WATCH, /* an answer at the job's end */
    /* answered */
    JOB_OUTPUT,  /* bytes of a stream */
    JOB_LOST,    /* count bytes were dropped before they could be told */
    JOB_DONE,    /* what was asked is done */
    JOB_REFUSED, /* why not: bytes */
    JOB_ENDED,   /* the job is over, and its result recorded */
};

struct job_message {
    uint32_t kind;
    uint32_t stream; /* 1 or 2 */
    uint64_t count;
    uint32_t len;
    char bytes[JOB_PIECE_MAX];
};

/*
 * The id of the job that begins so; a whole id need not be a job's. -ENOENT: none does; -ENOTUNIQ:
 * several do.
 */
int job_find(const char *state, const char *start, char ret_id[UUID_TEXT + 1], struct err *e);

/* A connection, or -ENOENT where it is not under way (any more). */
int job_connect(const char *state, const char *id, struct err *e);
int job_ask(int fd, enum job_kind kind, uint64_t count, const char *bytes, size_t len,
            struct err *e);
/* 1; 0 at the end of the connection, which before JOB_ENDED means that the supervisor died. */
int job_hear(int fd, struct job_message *ret, struct err *e);

/* --- list.c ---------------------------------------------------------------------------------- */

struct job_listed {
    char id[UUID_TEXT + 1];
    bool alive;
};

/* Those under way and those that ended not long ago, in no order; drops what is older. */
int job_list(struct arena *arena, const char *state, struct job_listed **ret, size_t *ret_count,
             struct err *e);

/* --- place.c: the directory, for all of them ------------------------------------------------- */

enum { JOB_NAME_MAX = UUID_TEXT + 8 };

/* O_PATH; -ENOENT where there is none and it is not to be made. */
int job_open_dir(const char *state, bool make, struct err *e);
bool job_is_id(const char *name);
/* Connects within the directory; -ECONNREFUSED: nobody is there any more. */
int job_connect_at(int dir, const char *id);

#endif
