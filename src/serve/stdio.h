/*
 * A server on two descriptors: what comes in is handed to it, what it says goes out.
 *
 * In:    bytes of a client, and the word to stop.
 * Out:   bytes to it.
 * Never: knows what they mean, or waits for a client that is gone.
 */
#ifndef NACRE_SERVE_STDIO_H
#define NACRE_SERVE_STDIO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct stdio {
    int in_fd, out_fd;
    int stop_fd; /* readable: nobody is waited for; -1: none */
    bool out_is_socket;
    bool patient;     /* who has closed its end may still read what it asked for */
    uint64_t left_ms; /* otherwise: for who has closed its end and does not read */
    atomic_bool gone;
    int gone_event; /* written to when the client cannot be written to any more */

    /* What came while somebody waited for room: a client may want to say all before it reads. */
    pthread_mutex_t in_lock;
    struct buf ahead;
    int ahead_event;
};

struct stdio_server {
    void *user;
    void (*feed)(void *user, const char *bytes, size_t len);
    /* In how many milliseconds it wants to be called again; -1: not by itself. NULL: never. */
    int (*tick)(void *user);
    /* Whether more is to be read now. NULL: always. */
    bool (*takes)(void *user);
    /* The input has ended: whether everything is answered. NULL: it is over with its input. */
    bool (*rests)(void *user);
    int wake_fd; /* an event: `takes` and `rests` may say something else; -1: none */
};

int stdio_init(struct stdio *s, int in_fd, int out_fd, struct err *e);
void stdio_release(struct stdio *s);

/* All of it; from any thread, one at a time. Other than 0: the client is gone. */
int stdio_write(void *stdio, const char *bytes, size_t len);

/* Until the input has ended, the client is gone or `stop_fd` (-1: none) is readable. */
void stdio_loop(struct stdio *s, const struct stdio_server *server, int stop_fd);

#endif
