/*
 * See stdio.h. The reader is the calling thread; whoever has something to say writes it himself,
 * and gives up on a client that has left.
 */
#include "serve/stdio.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

enum { READ_MAX = 1 << 16, LEAVING_MS = 2000 };

int stdio_init(struct stdio *s, int in_fd, int out_fd, struct err *e)
{
    struct stat st;
    *s = (struct stdio){.in_fd = in_fd, .out_fd = out_fd, .left_ms = LEAVING_MS};
    s->out_is_socket = fstat(out_fd, &st) == 0 && S_ISSOCK(st.st_mode);
    s->gone_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return s->gone_event < 0 ? err_errno(e, -errno, "cannot make an event") : 0;
}

void stdio_release(struct stdio *s)
{
    fd_close(&s->gone_event);
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

/* 0, or negative where it is not to be waited for any longer. */
static int wait_for_room(struct stdio *s)
{
    struct pollfd watched[] = {{.fd = s->out_fd, .events = POLLOUT},
                               {.fd = s->in_fd, .events = POLLRDHUP}};
    uint64_t now = clock_monotonic_ms();
    /* The second is looked at only now and then: it stays as it is. */
    int n = poll(watched, 1, 200);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    if (n > 0)
        return watched[0].revents & POLLOUT ? 0 : -EPIPE;
    if (s->gone)
        return -EPIPE;
    if (s->patient || poll(&watched[1], 1, 0) <= 0 ||
        !(watched[1].revents & (POLLRDHUP | POLLHUP | POLLERR)))
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
        r = wait_for_room(s);
        ssize_t n = r < 0 ? r : write_some(s, bytes, len);
        if (n == -EAGAIN || n == -EINTR)
            continue;
        r = n < 0 ? (int)n : 0;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    if (r < 0 && !s->gone) {
        s->gone = true;
        eventfd_write(s->gone_event, 1);
    }
    return r;
}

/* --- in --------------------------------------------------------------------------------------- */

/* False: it is over. */
static bool turn(const struct stdio *s, const struct stdio_server *server, int stop_fd, bool *ended)
{
    enum { INPUT, STOP, GONE, WAKE, OUTPUT, WATCHED };
    static char bytes[READ_MAX];
    bool reads = !*ended && (!server->takes || server->takes(server->user));
    struct pollfd watched[WATCHED] = {
        [INPUT] = {.fd = reads ? s->in_fd : -1, .events = POLLIN},
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
    if (!watched[INPUT].revents)
        return true;
    ssize_t n = read(s->in_fd, bytes, sizeof(bytes));
    if (n > 0)
        server->feed(server->user, bytes, (size_t)n);
    *ended = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
    return true;
}

void stdio_loop(struct stdio *s, const struct stdio_server *server, int stop_fd)
{
    bool ended = false;
    s->patient = server->rests != NULL;
    while (turn(s, server, stop_fd, &ended))
        ;
    s->gone = true; /* nobody who still says something waits */
}
