/*
 * The server on two descriptors. The reader is the calling thread; whoever has something to say
 * writes it himself, and gives up on a client that has left.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "serve/mcp.h"

enum { READ_MAX = 1 << 16, LEAVING_MS = 2000 };

struct stdio {
    int in_fd, out_fd;
    bool out_is_socket;
    uint64_t left_ms; /* for who has closed its end and does not read */
    bool gone;
    int gone_event; /* written to when the client cannot be written to any more */
};

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
    if (poll(&watched[1], 1, 0) <= 0 || !(watched[1].revents & (POLLRDHUP | POLLHUP | POLLERR)))
        return 0;
    /* Who has closed its end and does not read is not waited for. */
    uint64_t passed = clock_monotonic_ms() - now;
    if (passed >= s->left_ms)
        return -EPIPE;
    s->left_ms -= passed;
    return 0;
}

static int write_line(void *user, const char *line, size_t len)
{
    struct stdio *s = user;
    int r = s->gone ? -EPIPE : 0;
    while (len && r == 0) {
        r = wait_for_room(s);
        ssize_t n = r < 0 ? r : write_some(s, line, len);
        if (n == -EAGAIN || n == -EINTR)
            continue;
        r = n < 0 ? (int)n : 0;
        line += n > 0 ? n : 0;
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
static bool turn(const struct stdio *s, struct mcp *m, int stop_fd)
{
    enum { INPUT, STOP, GONE, WATCHED };
    static char bytes[READ_MAX];
    struct pollfd watched[WATCHED] = {
        [INPUT] = {.fd = s->in_fd, .events = POLLIN},
        [STOP] = {.fd = stop_fd, .events = POLLIN},
        [GONE] = {.fd = s->gone_event, .events = POLLIN},
    };
    if (poll(watched, WATCHED, mcp_tick(m)) < 0)
        return errno == EINTR;
    if (watched[STOP].revents || watched[GONE].revents)
        return false;
    if (!watched[INPUT].revents)
        return true;
    ssize_t n = read(s->in_fd, bytes, sizeof(bytes));
    if (n > 0)
        mcp_feed(m, bytes, (size_t)n);
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

int mcp_serve(const struct mcp_stdio_options *options, struct err *e)
{
    struct stat st;
    struct stdio s = {.in_fd = options->in_fd, .out_fd = options->out_fd, .left_ms = LEAVING_MS};
    struct mcp_options mcp = options->mcp;
    nacre_options open = NACRE_OPTIONS_INIT;
    nacre_error error;
    nacre *handle = NULL;
    struct mcp *m = NULL;
    s.out_is_socket = fstat(s.out_fd, &st) == 0 && S_ISSOCK(st.st_mode);
    FD_CLEANUP int gone = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (gone < 0)
        return err_errno(e, -errno, "cannot make an event");
    s.gone_event = gone;
    mcp.write = write_line;
    mcp.user = &s;
    open.launcher = options->launcher;
    open.warm = options->pool;
    if (nacre_open(&open, &handle, &error) < 0)
        return err_set(e, error.code, "%s", error.message);
    int r = mcp_new(&mcp, handle, &m, e);
    while (r == 0 && turn(&s, m, options->stop_fd))
        ;
    mcp_free(m);
    nacre_close(handle);
    return r;
}
