/* Packets on the daemon's socket, and where that is; see daemon.h. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "serve/daemon.h"

int daemon_say(int fd, enum daemon_kind kind, uint64_t count, const void *bytes, size_t len)
{
    struct daemon_message message;
    if (len > DAEMON_PIECE_MAX)
        return -EMSGSIZE;
    message.kind = kind;
    message.len = (uint32_t)len;
    message.count = count;
    if (len)
        memcpy(message.bytes, bytes, len);
    ssize_t n;
    do
        n = send(fd, &message, offsetof(struct daemon_message, bytes) + len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

int daemon_hear(int fd, struct daemon_message *ret)
{
    ssize_t n;
    do
        n = recv(fd, ret, sizeof(*ret), 0);
    while (n < 0 && errno == EINTR);
    if (n == 0 || (n < 0 && errno == ECONNRESET))
        return 0;
    if (n < 0)
        return -errno;
    const size_t head = offsetof(struct daemon_message, bytes);
    return (size_t)n >= head && (size_t)n - head == ret->len ? 1 : -EPROTO;
}

int daemon_open_dir(const char *state, bool make, struct err *e)
{
    return store_open_private(state, "daemon", make, e);
}
