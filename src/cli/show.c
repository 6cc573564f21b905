/* Output from inside, shown as it comes; see show.h. */
#include "cli/show.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"

void show_init(struct show *s, int fd, int stop_fd)
{
    *s = (struct show){.fd = fd, .stop_fd = stop_fd, .escape = isatty(fd)};
    s->state.ascii_only = s->screen.ascii_only = !cli_terminal_is_utf8();
}

/*
 * Writes as long as there is room and nobody wants to stop: a reader that does not read must not
 * keep a signal from ending the run. What poll calls room takes PIPE_BUF bytes without waiting.
 */
static int write_patiently(const struct show *s, const char *bytes, size_t len)
{
    while (len) {
        struct pollfd watched[] = {{.fd = s->fd, .events = POLLOUT},
                                   {.fd = s->stop_fd, .events = POLLIN}};
        if (poll(watched, 2, -1) < 0 && errno != EINTR)
            return -errno;
        if (watched[1].revents)
            return -EINTR;
        if (!watched[0].revents)
            continue;
        /* Quietly: whoever reads may leave, but what was done is still to become real. */
        ssize_t n = fd_write_quietly(s->fd, bytes, len < PIPE_BUF ? len : PIPE_BUF);
        if (n < 0 && n != -EINTR && n != -EAGAIN)
            return (int)n;
        bytes += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int show_safely(struct show *s, const char *bytes, size_t len, bool last)
{
    enum { PIECE = 1 << 16, ESCAPED_MAX = 12 * PIECE };
    struct buf safe;
    buf_init(&safe, &allocator_libc, ESCAPED_MAX);
    int r = 0;
    do {
        size_t part = len < PIECE ? len : PIECE;
        buf_clear(&safe);
        r = s->draws ? screen_append(&s->screen, bytes, part, &safe)
                     : escape_append(&s->state, bytes, part, &safe);
        bytes += part;
        len -= part;
        if (r == 0 && last && len == 0)
            r = s->draws ? screen_finish(&s->screen, &safe) : escape_finish(&s->state, &safe);
        if (r == 0)
            r = write_patiently(s, safe.data, safe.len);
    } while (r == 0 && len);
    buf_release(&safe);
    return r;
}

int show_bytes(struct show *s, const char *bytes, size_t len, bool last)
{
    s->bytes += len;
    if (s->escape)
        s->failure = show_safely(s, bytes, len, last);
    else
        s->failure = write_patiently(s, bytes, len);
    return s->failure;
}
