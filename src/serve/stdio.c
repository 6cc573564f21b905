/*
 * See stdio.h. The reader is the calling thread; whoever has something to say writes it himself,
 * and gives up on a client that has left.
 */
#include "serve/stdio.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

enum { READ_MAX = 1 << 16, AHEAD_MAX = 1 << 20, LEAVING_MS = 2000 };

int stdio_init(struct stdio *s, int in_fd, int out_fd, struct err *e)
{
    struct stat st;
    *s = (struct stdio){.in_fd = in_fd, .out_fd = out_fd, .stop_fd = -1, .left_ms = LEAVING_MS};
    s->out_is_socket = fstat(out_fd, &st) == 0 && S_ISSOCK(st.st_mode);
    s->gone_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->ahead_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&s->in_lock, NULL);
    buf_init(&s->ahead, &allocator_libc, AHEAD_MAX + READ_MAX);
    if (s->gone_event < 0 || s->ahead_event < 0) {
        int r = err_errno(e, -errno, "cannot make an event");
        stdio_release(s);
        return r;
    }
    return 0;
}

void stdio_release(struct stdio *s)
{
    fd_close(&s->gone_event);
    fd_close(&s->ahead_event);
    buf_release(&s->ahead);
    pthread_mutex_destroy(&s->in_lock);
}

/* --- out -------------------------------------------------------------------------------------- */

/* What goes without waiting: a pipe that is ready has room for so much. */
static ssize_t write_some(const struct stdio *s, const char *bytes, size_t len)
{
    if (!s->out_is_socket)
        return fd_write_quietly(s->out_fd, bytes, len < PIPE_BUF ? len : PIPE_BUF);
    ssize_t n = send(s->out_fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n < 0 ? -errno : n;
}

/* A client whose own writes block cannot close its end, nor begin to read. The lock is held. */
static ssize_t read_now(struct stdio *s, char *bytes, size_t len)
{
    struct pollfd input = {.fd = s->in_fd, .events = POLLIN};
    int n = poll(&input, 1, 0);
    if (n <= 0)
        return n < 0 ? -errno : -EAGAIN;
    ssize_t got = read(s->in_fd, bytes, len);
    return got < 0 ? -errno : got;
}

static void read_ahead(struct stdio *s)
{
    char bytes[1 << 14];
    pthread_mutex_lock(&s->in_lock);
    while (s->ahead.len < AHEAD_MAX && !s->ahead.failed) {
        ssize_t n = read_now(s, bytes, sizeof(bytes));
        if (n <= 0)
            break;
        /* What is lost would be noticed only as nonsense later: it is over instead. */
        if (buf_append(&s->ahead, bytes, (size_t)n) < 0)
            s->gone = true;
    }
    if (s->ahead.len)
        eventfd_write(s->ahead_event, 1);
    pthread_mutex_unlock(&s->in_lock);
}

/* 1: there is room, 0: not yet, negative: it is not to be waited for any longer. */
static int wait_for_room(struct stdio *s)
{
    struct pollfd watched[] = {{.fd = s->out_fd, .events = POLLOUT},
                               {.fd = s->stop_fd, .events = POLLIN},
                               {.fd = s->in_fd, .events = POLLRDHUP}};
    uint64_t now = clock_monotonic_ms();
    /* The last is looked at only now and then: it stays as it is. */
    int n = poll(watched, 2, 200);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    if (n > 0)
        return watched[0].revents & POLLOUT ? 1 : -EPIPE;
    read_ahead(s);
    if (s->gone)
        return -EPIPE;
    if (s->patient || poll(&watched[2], 1, 0) <= 0 ||
        !(watched[2].revents & (POLLRDHUP | POLLHUP | POLLERR)))
        return 0;
    /* Who has closed its end and does not read is not waited for. */
    uint64_t passed = clock_monotonic_ms() - now;
    if (passed >= s->left_ms)
        return -EPIPE;
    s->left_ms -= passed;
    return 0;
}

int stdio_write(void *stdio, const char *bytes, size_t len)
{
    struct stdio *s = stdio;
    int r = s->gone ? -EPIPE : 0;
    while (len && r == 0) {
        ssize_t n = wait_for_room(s);
        if (n > 0)
            n = write_some(s, bytes, len);
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        } else if (n != -EAGAIN && n != -EINTR) {
            r = (int)n;
        }
    }
    if (r < 0 && !s->gone) {
        s->gone = true;
        eventfd_write(s->gone_event, 1);
    }
    return r;
}

/* --- in --------------------------------------------------------------------------------------- */

/* What was read ahead, else what there is now; 0: the end, -EAGAIN: nothing. */
static ssize_t take(struct stdio *s, char bytes[READ_MAX])
{
    pthread_mutex_lock(&s->in_lock);
    ssize_t n;
    if (s->ahead.len) {
        size_t len = s->ahead.len < READ_MAX ? s->ahead.len : READ_MAX;
        memcpy(bytes, s->ahead.data, len);
        memmove(s->ahead.data, s->ahead.data + len, s->ahead.len - len);
        s->ahead.len -= len;
        n = (ssize_t)len;
    } else {
        eventfd_read(s->ahead_event, &(eventfd_t){0});
        n = read_now(s, bytes, READ_MAX);
    }
    pthread_mutex_unlock(&s->in_lock);
    return n;
}

/* False: it is over. */
static bool turn(struct stdio *s, const struct stdio_server *server, int stop_fd, bool *ended)
{
    enum { INPUT, AHEAD, STOP, GONE, WAKE, OUTPUT, WATCHED };
    static char bytes[READ_MAX];
    bool reads = !*ended && (!server->takes || server->takes(server->user));
    struct pollfd watched[WATCHED] = {
        [INPUT] = {.fd = reads ? s->in_fd : -1, .events = POLLIN},
        [AHEAD] = {.fd = reads ? s->ahead_event : -1, .events = POLLIN},
        [STOP] = {.fd = stop_fd, .events = POLLIN},
        [GONE] = {.fd = s->gone_event, .events = POLLIN},
        [WAKE] = {.fd = server->wake_fd, .events = POLLIN},
        [OUTPUT] = {.fd = s->out_fd},
    };
    if (*ended && (!server->rests || server->rests(server->user)))
        return false;
    if (poll(watched, WATCHED, server->tick ? server->tick(server->user) : -1) < 0)
        return errno == EINTR;
    /* Nobody reads: whoever asked is gone. */
    if (watched[STOP].revents || watched[GONE].revents ||
        watched[OUTPUT].revents & (POLLERR | POLLNVAL))
        return false;
    if (watched[WAKE].revents)
        eventfd_read(server->wake_fd, &(eventfd_t){0});
    if (!watched[INPUT].revents && !watched[AHEAD].revents)
        return true;
    ssize_t n = take(s, bytes);
    if (n > 0)
        server->feed(server->user, bytes, (size_t)n);
    *ended = n == 0 || (n < 0 && n != -EINTR && n != -EAGAIN);
    return true;
}

void stdio_loop(struct stdio *s, const struct stdio_server *server, int stop_fd)
{
    bool ended = false;
    s->patient = server->rests != NULL;
    s->stop_fd = stop_fd;
    while (turn(s, server, stop_fd, &ended))
        ;
    s->gone = true; /* nobody who still says something waits */
}
