/*
 * A door to a session (service.h): pieces of input that are whole wait in a queue, and one thread
 * answers them in their order, while the reader goes on and sees that the client has left.
 *
 * In:    pieces: a line of JSON-RPC, a form of S-expressions.
 * Out:   what `answer` writes.
 * Never: holds more than DOOR_BYTES_MAX; what is more waits in the client's pipe.
 *
 *   Y1  Whatever comes in is answered, or passed over where the protocol says so; only the end of
 *       the input, a client that is gone, or the word to stop ends it.
 *   Y2  At the end of the input what was asked before is still answered, as long as somebody reads.
 *   Y3  A client that is gone takes everything with it that runs.
 */
#ifndef NACRE_SERVE_DOOR_H
#define NACRE_SERVE_DOOR_H

#include <pthread.h>

#include "serve/service.h"

enum { DOOR_BYTES_MAX = 16 << 20, DOOR_PIECES_MAX = 1024 };

struct door_piece;

struct door {
    struct service *service;
    int (*write)(void *user, const char *bytes, size_t len); /* not 0: the client is gone */
    void *user;
    /* What a piece says is done and told; from the worker. */
    void (*answer)(struct door *d, const char *bytes, size_t len, const char *note);
    bool inline_; /* for tests: on the reader's thread */

    pthread_t thread;
    bool started;
    pthread_mutex_t out_lock;
    pthread_mutex_t lock; /* all below */
    pthread_cond_t work;
    struct door_piece *first, **last;
    size_t count, bytes;
    bool busy, ends;
    char running[JSONRPC_ID_MAX]; /* the id of what is under way; empty: none */
    int wake_fd;
};

int door_init(struct door *d, struct err *e);
/* Everything under way is killed, and waited for. */
void door_release(struct door *d);

/* `bytes` NULL: a piece that could not be read, and `note` says why. */
void door_take(struct door *d, const char *bytes, size_t len, const char *note);
bool door_takes(void *door); /* as stdio_server has them */
bool door_rests(void *door);

/* The call that the worker is at; from the worker. */
void door_begin(struct door *d, const char *id);
void door_end(struct door *d);
/* Kills the call with this id, if it is under way; true: it was. From any thread. */
bool door_cancel(struct door *d, const char *id);

/* Says something to the client. */
void door_say(struct door *d, const char *bytes, size_t len);

/* --- on two descriptors ---------------------------------------------------------------------- */

struct door_options {
    struct service_options service;
    int in_fd, out_fd;
    int stop_fd; /* readable: end; -1: none */
};

/* Both return when it is over, with nothing of it left. */
int rpc_serve(const struct door_options *options, struct err *e);
int sexp_serve(const struct door_options *options, struct err *e);

/* What the two share. */
struct door_server {
    struct door *door;
    void *user;
    void (*feed)(void *user, const char *bytes, size_t len);
    void (*finish)(void *user); /* the input has ended; NULL: nothing is to be done */
};
int door_serve(const struct door_options *options, const struct door_server *server, struct err *e);

#endif
