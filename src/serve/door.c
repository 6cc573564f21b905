/* See door.h. */
#include "serve/door.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/fd.h"
#include "serve/stdio.h"

enum { PIECE_NOTE_MAX = 512 };

struct door_piece {
    struct door_piece *next;
    size_t len;
    bool broken;
    char note[PIECE_NOTE_MAX]; /* empty: none */
    char bytes[];
};

/* --- the worker ------------------------------------------------------------------------------ */

static struct door_piece *take_first(struct door *d)
{
    pthread_mutex_lock(&d->lock);
    while (!d->first && !d->ends)
        pthread_cond_wait(&d->work, &d->lock);
    struct door_piece *piece = d->ends ? NULL : d->first;
    if (piece) {
        d->first = piece->next;
        if (!d->first)
            d->last = &d->first;
        d->count--;
        d->bytes -= piece->len;
        d->busy = true;
    }
    pthread_mutex_unlock(&d->lock);
    return piece;
}

static void do_piece(struct door *d, const struct door_piece *piece)
{
    d->answer(d, piece->broken ? NULL : piece->bytes, piece->len,
              piece->note[0] ? piece->note : NULL);
}

static void *work(void *user)
{
    struct door *d = user;
    struct door_piece *piece;
    while ((piece = take_first(d))) {
        do_piece(d, piece);
        free(piece);
        pthread_mutex_lock(&d->lock);
        d->busy = false;
        pthread_mutex_unlock(&d->lock);
        eventfd_write(d->wake_fd, 1);
    }
    return NULL;
}

int door_init(struct door *d, struct err *e)
{
    d->last = &d->first;
    d->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (d->wake_fd < 0)
        return err_errno(e, -errno, "cannot make an event");
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->out_lock, NULL);
    pthread_cond_init(&d->work, NULL);
    if (d->inline_)
        return 0;
    int r = -pthread_create(&d->thread, NULL, work, d);
    d->started = r == 0;
    if (r < 0) {
        door_release(d);
        return err_errno(e, r, "cannot start a thread");
    }
    return 0;
}

void door_release(struct door *d)
{
    pthread_mutex_lock(&d->lock);
    d->ends = true;
    pthread_cond_broadcast(&d->work);
    pthread_mutex_unlock(&d->lock);
    if (d->service)
        service_cancel(d->service, true);
    if (d->started)
        pthread_join(d->thread, NULL);
    while (d->first) {
        struct door_piece *piece = d->first;
        d->first = piece->next;
        free(piece);
    }
    pthread_cond_destroy(&d->work);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->out_lock);
    fd_close(&d->wake_fd);
}

/* --- the reader ------------------------------------------------------------------------------ */

void door_take(struct door *d, const char *bytes, size_t len, const char *note)
{
    len = bytes ? len : 0;
    struct door_piece *piece = malloc(sizeof(*piece) + len + 1);
    if (!piece) {
        d->answer(d, NULL, 0, NULL); /* nobody can be told which it was */
        return;
    }
    *piece = (struct door_piece){.len = len, .broken = !bytes};
    if (len)
        memcpy(piece->bytes, bytes, len);
    piece->bytes[len] = '\0';
    snprintf(piece->note, sizeof(piece->note), "%s", note ? note : "");
    if (d->inline_) {
        do_piece(d, piece);
        free(piece);
        return;
    }
    pthread_mutex_lock(&d->lock);
    *d->last = piece;
    d->last = &piece->next;
    d->count++;
    d->bytes += len;
    pthread_cond_signal(&d->work);
    pthread_mutex_unlock(&d->lock);
}

bool door_takes(void *door)
{
    struct door *d = door;
    pthread_mutex_lock(&d->lock);
    bool takes = d->count < DOOR_PIECES_MAX && d->bytes < DOOR_BYTES_MAX;
    pthread_mutex_unlock(&d->lock);
    return takes;
}

bool door_rests(void *door)
{
    struct door *d = door;
    pthread_mutex_lock(&d->lock);
    bool rests = !d->count && !d->busy;
    pthread_mutex_unlock(&d->lock);
    return rests;
}

void door_begin(struct door *d, const char *id)
{
    pthread_mutex_lock(&d->lock);
    snprintf(d->running, sizeof(d->running), "%s", id);
    service_arm(d->service);
    pthread_mutex_unlock(&d->lock);
}

void door_end(struct door *d)
{
    pthread_mutex_lock(&d->lock);
    d->running[0] = '\0';
    pthread_mutex_unlock(&d->lock);
}

bool door_cancel(struct door *d, const char *id)
{
    pthread_mutex_lock(&d->lock);
    bool found = id[0] && strcmp(d->running, id) == 0;
    if (found)
        service_cancel(d->service, false);
    pthread_mutex_unlock(&d->lock);
    return found;
}

void door_say(struct door *d, const char *bytes, size_t len)
{
    pthread_mutex_lock(&d->out_lock);
    int r = d->write(d->user, bytes, len);
    pthread_mutex_unlock(&d->out_lock);
    if (r != 0)
        service_cancel(d->service, true);
}

/* --- on two descriptors ---------------------------------------------------------------------- */

/* The end of the input is told to the reader once. */
struct serving {
    const struct door_server *server;
    bool finished;
};

static void feed(void *user, const char *bytes, size_t len)
{
    const struct serving *s = user;
    s->server->feed(s->server->user, bytes, len);
}

static bool takes(void *user)
{
    const struct serving *s = user;
    return door_takes(s->server->door);
}

static bool rests(void *user)
{
    struct serving *s = user;
    if (!s->finished && s->server->finish)
        s->server->finish(s->server->user);
    s->finished = true;
    return door_rests(s->server->door);
}

int door_serve(const struct door_options *options, const struct door_server *server, struct err *e)
{
    struct door *d = server->door;
    struct stdio s;
    struct serving serving = {.server = server};
    int r = stdio_init(&s, options->in_fd, options->out_fd, e);
    if (r < 0)
        return r;
    d->write = stdio_write;
    d->user = &s;
    r = service_new(&options->service, &d->service, e);
    if (r == 0)
        r = door_init(d, e);
    if (r == 0) {
        const struct stdio_server loop = {
            .user = &serving, .feed = feed, .takes = takes, .rests = rests, .wake_fd = d->wake_fd};
        stdio_loop(&s, &loop, options->stop_fd);
        door_release(d);
    }
    service_free(d->service);
    stdio_release(&s);
    return r;
}
