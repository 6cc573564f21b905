/* The supervisor's side of a job: a socket, and a thread that answers on it; see jobs.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "jobs/jobs.h"
#include "jobs/ring.h"

enum {
    CLIENTS_MAX = 32,
    BACKLOG = 16,
    /* How long those who still read are given their rest after the end. */
    FAREWELL_MS = 5000,
};

struct client {
    int fd;             /* -1: the place is free */
    enum job_kind asks; /* JOB_NOTHING: nothing yet, or no more */
    bool follows;
    struct ring_reader reader;
    struct job_message message; /* its input, or an answer that did not fit yet */
    bool unsent;                /* the message is such an answer */
    size_t written;             /* bytes of its input */
};

struct job {
    char id[UUID_TEXT + 1];
    int dir, listener, wake, input, cancel;
    pthread_t thread;
    pthread_mutex_t lock; /* for the ring and `over` */
    struct ring ring;
    bool over;
    bool begun; /* there is a socket, and a thread */
    struct client clients[CLIENTS_MAX];
};

/* --- answers --------------------------------------------------------------------------------- */

static void leave(struct client *c)
{
    fd_close(&c->fd);
    c->asks = JOB_NOTHING;
    c->unsent = false;
}

/* What does not fit now waits in the client's message: there is one at a time. */
static void send_message(struct client *c)
{
    ssize_t n = send(c->fd, &c->message, offsetof(struct job_message, bytes) + c->message.len,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    c->unsent = n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS);
    if (n < 0 && !c->unsent)
        leave(c);
}

static void answer(struct client *c, enum job_kind kind, const char *text)
{
    c->message.kind = kind;
    c->message.stream = 0;
    c->message.count = 0;
    c->message.len = (uint32_t)strlen(text);
    memcpy(c->message.bytes, text, c->message.len);
    send_message(c);
}

/* As much output as it takes; what it asked for is over with the last of it, unless it follows. */
static void send_output(struct job *job, struct client *c)
{
    bool more = true;
    while (more && c->fd >= 0 && !c->unsent) {
        int stream = 0;
        uint64_t lost;
        struct job_message *m = &c->message;
        pthread_mutex_lock(&job->lock);
        size_t len = ring_read(&job->ring, &c->reader, m->bytes, sizeof(m->bytes), &stream, &lost);
        if (lost) /* first this, and the piece with the next turn */
            c->reader = (struct ring_reader){job->ring.first, job->ring.dropped};
        bool over = job->over;
        pthread_mutex_unlock(&job->lock);
        if (lost) {
            m->kind = JOB_LOST;
            m->count = lost;
            m->len = 0;
            send_message(c);
        } else if (len) {
            m->kind = JOB_OUTPUT;
            m->stream = (uint32_t)stream;
            m->len = (uint32_t)len;
            send_message(c);
        } else {
            more = false;
            if (!c->follows && !over) {
                c->asks = JOB_NOTHING;
                answer(c, JOB_DONE, "");
            } else if (over) {
                c->asks = JOB_NOTHING;
                answer(c, JOB_ENDED, "");
            }
        }
    }
}

/* One client's input at a time; the others wait with theirs. */
static struct client *writer(struct job *job)
{
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        if (job->clients[i].fd >= 0 && job->clients[i].asks == JOB_INPUT)
            return &job->clients[i];
    }
    return NULL;
}

static void write_input(struct job *job, struct client *c)
{
    ssize_t n = job->input < 0 ? -EPIPE
                               : fd_write_quietly(job->input, c->message.bytes + c->written,
                                                  c->message.len - c->written);
    if (n == -EAGAIN || n == -EINTR)
        return;
    if (n < 0)
        fd_close(&job->input);
    c->written += n > 0 ? (size_t)n : 0;
    if (n < 0 || c->written == c->message.len) {
        c->asks = JOB_NOTHING;
        answer(c, n < 0 ? JOB_REFUSED : JOB_DONE,
               n < 0 ? "the job's standard input is closed" : "");
    }
}

/* --- questions ------------------------------------------------------------------------------- */

static void take(struct job *job, struct client *c)
{
    static const uint64_t one = 1;
    struct job_message *m = &c->message;
    switch (m->kind) {
    case JOB_LOGS:
        c->follows = m->count == 1;
        c->asks = JOB_LOGS;
        c->reader = (struct ring_reader){0};
        send_output(job, c);
        break;
    case JOB_INPUT:
        c->asks = JOB_INPUT;
        c->written = 0;
        write_input(job, c);
        break;
    case JOB_CLOSE:
        fd_close(&job->input);
        answer(c, JOB_DONE, "");
        break;
    case JOB_KILL:
        c->asks = JOB_WATCH;
        if (write(job->cancel, &one, sizeof(one)) < 0) {
            c->asks = JOB_NOTHING;
            answer(c, JOB_REFUSED, "the job's supervisor cannot be told");
        }
        break;
    case JOB_WATCH:
        c->asks = JOB_WATCH;
        break;
    default:
        leave(c);
    }
}

static void hear(struct job *job, struct client *c)
{
    /* One who waits for an answer has nothing more to say: it leaves. */
    if (c->asks != JOB_NOTHING) {
        leave(c);
        return;
    }
    ssize_t n = recv(c->fd, &c->message, sizeof(c->message), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < (ssize_t)offsetof(struct job_message, bytes) ||
        (size_t)n != offsetof(struct job_message, bytes) + c->message.len)
        leave(c);
    else
        take(job, c);
}

/* J1: the directory keeps others out already. */
static bool may_ask(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    /* One of the owner's who lives in other namespaces may be inside of a box. */
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == 0 || fd_peer_is_like_us(fd));
}

static void welcome(struct job *job)
{
    FD_CLEANUP int fd = accept4(job->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct client *c = job->clients;
    if (fd < 0 || !may_ask(fd))
        return;
    while (c < job->clients + CLIENTS_MAX && c->fd >= 0)
        c++;
    if (c == job->clients + CLIENTS_MAX)
        return; /* too many: this one is not answered */
    c->fd = fd_steal(&fd);
    c->asks = JOB_NOTHING;
    c->unsent = false;
}

/* --- the thread ------------------------------------------------------------------------------ */

/* Whether somebody is still to be told something. */
static bool is_owed(struct job *job)
{
    bool owed = false;
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        owed |= job->clients[i].fd >= 0 && (job->clients[i].unsent || job->clients[i].asks);
    return owed;
}

static short wanted_events(struct job *job, const struct client *c)
{
    if (c->unsent)
        return POLLOUT;
    /* With more input than can be written, its sender waits. */
    return c->asks == JOB_NOTHING && !writer(job) ? POLLIN : 0;
}

static void turn(struct job *job, int timeout_ms)
{
    enum { WAKE, LISTENER, INPUT, CLIENTS, WATCHED = CLIENTS + CLIENTS_MAX };
    struct pollfd watched[WATCHED];
    uint64_t count;
    watched[WAKE] = (struct pollfd){.fd = job->wake, .events = POLLIN};
    watched[LISTENER] = (struct pollfd){.fd = job->listener, .events = POLLIN};
    watched[INPUT] = (struct pollfd){.fd = writer(job) ? job->input : -1, .events = POLLOUT};
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        watched[CLIENTS + i] = (struct pollfd){.fd = job->clients[i].fd,
                                               .events = wanted_events(job, &job->clients[i])};
    if (poll(watched, WATCHED, timeout_ms) < 0)
        return;
    if (watched[WAKE].revents && read(job->wake, &count, sizeof(count)) < 0)
        return;
    if (watched[INPUT].revents)
        write_input(job, writer(job));
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        struct client *c = &job->clients[i];
        short events = watched[CLIENTS + i].revents;
        if (c->fd >= 0 && c->unsent && (events & POLLOUT))
            send_message(c);
        else if (c->fd >= 0 && (events & (POLLIN | POLLHUP | POLLERR)))
            hear(job, c);
        if (c->fd >= 0 && !c->unsent && c->asks == JOB_LOGS)
            send_output(job, c);
    }
    if (watched[LISTENER].revents)
        welcome(job);
}

static bool is_over(struct job *job)
{
    pthread_mutex_lock(&job->lock);
    bool over = job->over;
    pthread_mutex_unlock(&job->lock);
    return over;
}

static void *serve(void *user)
{
    struct job *job = user;
    while (!is_over(job))
        turn(job, -1);
    uint64_t until = clock_monotonic_ms() + FAREWELL_MS, now;
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        struct client *c = &job->clients[i];
        /* Followers get theirs behind the last of the output, all others now. */
        if (c->fd >= 0 && c->asks != JOB_LOGS && !c->unsent) {
            c->asks = JOB_NOTHING;
            answer(c, JOB_ENDED, "");
        } else if (c->fd >= 0 && c->asks == JOB_LOGS && !c->unsent) {
            send_output(job, c);
        }
    }
    while (is_owed(job) && (now = clock_monotonic_ms()) < until)
        turn(job, (int)(until - now));
    return NULL;
}

/* --- the life of one ------------------------------------------------------------------------- */

/* Named when it listens: before, it would look like one whose supervisor died. */
static int make_listener(struct job *job)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[JOB_NAME_MAX];
    snprintf(name, sizeof(name), "%s.new", job->id);
    job->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (job->listener < 0)
        return -errno;
    /* By its path, as the kernel lists it then; unless an address has no room for that. */
    char way[40], dir[sizeof(address.sun_path)];
    snprintf(way, sizeof(way), "/proc/self/fd/%d", job->dir);
    ssize_t len = readlink(way, dir, sizeof(dir) - 1);
    dir[len < 0 ? 0 : len] = '\0';
    if (len <= 0 || snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", dir, name) >=
                        (int)sizeof(address.sun_path))
        snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", way, name);
    if (bind(job->listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        fchmodat(job->dir, name, 0600, 0) < 0 || listen(job->listener, BACKLOG) < 0 ||
        renameat(job->dir, name, job->dir, job->id) < 0) {
        int r = -errno;
        unlinkat(job->dir, name, 0);
        return r;
    }
    return 0;
}

static void release(struct job *job)
{
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        leave(&job->clients[i]);
    fd_close(&job->listener);
    fd_close(&job->wake);
    fd_close(&job->input);
    fd_close(&job->dir);
    ring_release(&job->ring);
    pthread_mutex_destroy(&job->lock);
    free(job);
}

/* Signals are for the thread that runs the job. */
static int start_thread(struct job *job)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = -pthread_create(&job->thread, NULL, serve, job);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

int job_new(const struct job_options *options, struct job **ret, struct err *e)
{
    struct job *job = calloc(1, sizeof(*job));
    if (!job)
        return err_set(e, -ENOMEM, "out of memory");
    job->listener = job->wake = -1;
    job->input = options->input_fd;
    job->cancel = options->cancel_fd;
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        job->clients[i].fd = -1;
    pthread_mutex_init(&job->lock, NULL);
    int r = job->dir = job_open_dir(options->state, true, e);
    if (r >= 0 && (r = ring_init(&job->ring, options->output_bytes)) < 0)
        err_set(e, r, "out of memory");
    if (r >= 0 && (r = job->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        r = err_errno(e, -errno, "cannot serve the job");
    if (r < 0) {
        job->input = -1; /* the caller's still */
        release(job);
        return r;
    }
    *ret = job;
    return 0;
}

int job_begin(struct job *job, const char *id, struct err *e)
{
    snprintf(job->id, sizeof(job->id), "%s", id);
    int r = make_listener(job);
    if (r < 0)
        return err_errno(e, r, "cannot make the job's socket");
    r = start_thread(job);
    if (r < 0) {
        unlinkat(job->dir, job->id, 0);
        return err_errno(e, r, "cannot serve the job");
    }
    job->begun = true;
    return 0;
}

static void wake(struct job *job)
{
    static const uint64_t one = 1;
    ssize_t ignored = write(job->wake, &one, sizeof(one));
    (void)ignored;
}

void job_add_output(struct job *job, int stream, const char *bytes, size_t len)
{
    pthread_mutex_lock(&job->lock);
    ring_add(&job->ring, stream, bytes, len);
    pthread_mutex_unlock(&job->lock);
    wake(job);
}

/* Says so, and lets the thread come to its end. */
static void finish(struct job *job)
{
    char name[JOB_NAME_MAX];
    snprintf(name, sizeof(name), "%s.ended", job->id);
    int mark = openat(job->dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    fd_close(&mark);
    unlinkat(job->dir, job->id, 0);
    pthread_mutex_lock(&job->lock);
    job->over = true;
    pthread_mutex_unlock(&job->lock);
    wake(job);
    pthread_join(job->thread, NULL);
}

void job_end(struct job *job)
{
    if (!job)
        return;
    if (job->begun)
        finish(job);
    release(job);
}
