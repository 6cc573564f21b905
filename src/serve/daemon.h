/*
 * The daemon: keeps warm sandboxes for one user, and runs texts in them for `nacre run`.
 *
 * In:    requests on a socket in the state directory, of the same user.
 * Out:   what the run prints, as it comes, and its result.
 * Never: needed. Whoever finds nobody on the socket, or one of another version, runs the text by
 *        itself, with the same walls, verdict and record.
 *
 *   STATE/daemon          only its owner gets in; the inside never sees it, as all of STATE
 *   STATE/daemon/socket   the socket; whether somebody answers there, the kernel knows
 *
 * A connection is for one request. Messages are packets of a kind and some bytes; what may be long
 * (a request, a result) comes as a sealed file behind its message.
 *
 *   D1  Nobody but the owner is answered, and only in the same namespaces: who lives in others
 * means other files, another network, or is inside. D2  A client that goes away takes its run with
 * it. D3  A daemon judges everything, or, being built for tests of the walls alone, nothing; who
 * wants it otherwise is not served, nor is who has lower limits than the daemon.
 */
#ifndef NACRE_SERVE_DAEMON_H
#define NACRE_SERVE_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "engine/engine.h"

enum { DAEMON_PIECE_MAX = 32 << 10, DAEMON_RUNS_MAX = 64 };

enum daemon_kind {
    DAEMON_NOTHING,
    /* asked */
    DAEMON_RUN,    /* a request as a file behind it, and standard input if there is one */
    DAEMON_STATUS, /* figures */
    DAEMON_STOP,   /* the daemon ends */
    DAEMON_ANSWER, /* to DAEMON_CONFIRM: count 1 for yes */
    /* answered */
    DAEMON_OUTPUT,  /* bytes of a stream (count) */
    DAEMON_CONFIRM, /* a person must say yes */
    DAEMON_RESULT,  /* as a file behind it */
    DAEMON_FIGURES, /* a struct daemon_figures */
    DAEMON_REFUSED, /* why not: bytes; nothing has happened */
    DAEMON_LOST,    /* it ran, and its result cannot be told */
};

struct daemon_message {
    uint32_t kind;
    uint32_t len;
    uint64_t count;
    char bytes[DAEMON_PIECE_MAX];
};

struct daemon_figures {
    int64_t pid;
    uint64_t runs; /* under way */
    struct pool_figures pool;
};

/* --- serve.c: the daemon ---------------------------------------------------------------------- */

struct daemon_options {
    const char *state;    /* directory */
    const char *launcher; /* as nacre_options has it */
    unsigned pool;        /* warm sandboxes of each kind */
    bool judges;
    int stop_fd;      /* readable: end */
    uint64_t idle_ms; /* ends when nothing was asked for so long; 0: never */
};

/* Returns when it is to end, with nothing of it left. -EADDRINUSE: there is one. */
int daemon_serve(const struct daemon_options *options, struct err *e);

/* --- client.c: `nacre run` ---------------------------------------------------------------------
 */

/* A connection; -ENOENT where nobody answers. */
int daemon_connect(const char *state, struct err *e);

/* Whether a run with these options may be somebody else's: all it needs is in them. */
bool daemon_can_run(const nacre_run_options *options);

/*
 * As nacre_run, with the same calls back. -ENOENT: the daemon did not take it, and nothing has
 * happened. Closes the connection.
 */
int daemon_run(int fd, nacre *n, const char *text, size_t len, const nacre_run_options *options,
               nacre_result **ret, struct err *e);

int daemon_ask_figures(int fd, struct daemon_figures *ret, struct err *e);
int daemon_ask_stop(int fd, struct err *e); /* returns when it is gone */

/* --- message.c ----------------------------------------------------------------------------------
 */

int daemon_say(int fd, enum daemon_kind kind, uint64_t count, const void *bytes, size_t len);
/* 1; 0 at the end of the connection. */
int daemon_hear(int fd, struct daemon_message *ret);
/* A directory for the socket. */
int daemon_open_dir(const char *state, bool make, struct err *e);

/* --- codec.c: requests and results as bytes ------------------------------------------------------
 */

enum { DAEMON_BYTES_MAX = 512 << 20 };

struct daemon_request {
    const char *text;
    size_t len;
    uint64_t limits[RLIM_NLIMITS]; /* of the client, hard */
    nacre_run_options options;     /* without calls back and descriptors */
};

int daemon_encode_request(const char *text, size_t len, const nacre_run_options *options,
                          struct buf *out);
/* Everything is in the arena. -EBADMSG; -EPROTO: of another version. */
int daemon_decode_request(struct arena *arena, const char *bytes, size_t len,
                          struct daemon_request *ret);
int daemon_encode_result(const nacre_result *r, struct buf *out);
/* `ret` is a new result, and empty but for what is decoded. */
int daemon_decode_result(const char *bytes, size_t len, nacre_result *ret);

#endif
