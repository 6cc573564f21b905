/* Descriptors; see fd.h. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

void fd_close(int *fd)
{
    if (*fd < 0)
        return;
    int saved = errno;
    close(*fd);
    errno = saved;
    *fd = -1;
}

int fd_write_all(int fd, const void *bytes, size_t len)
{
    const char *next = bytes;
    while (len) {
        ssize_t n = write(fd, next, len);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            /* Whoever shares the descriptor may have made it non-blocking: wait ourselves. */
            struct pollfd room = {.fd = fd, .events = POLLOUT};
            if (errno == EAGAIN && (poll(&room, 1, -1) > 0 || errno == EINTR))
                continue;
            return -errno;
        }
        next += n;
        len -= (size_t)n;
    }
    return 0;
}

ssize_t fd_write_quietly(int fd, const void *bytes, size_t len)
{
    sigset_t pipe_signal, before, pending;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);

    ssize_t n = write(fd, bytes, len);
    int failure = n < 0 ? -errno : 0;

    /* Take back the signal that this write raised, but not one that was waiting before. A reader
     * that leaves in the middle raises it with a short count. */
    if ((failure == -EPIPE || (n >= 0 && (size_t)n < len)) && !sigismember(&pending, SIGPIPE)) {
        const struct timespec none = {0};
        while (sigtimedwait(&pipe_signal, NULL, &none) < 0 && errno == EINTR)
            ;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure < 0 ? failure : n;
}

int fd_sealed_memory(const char *name, const void *bytes, size_t len)
{
    FD_CLEANUP int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    int r = fd_write_all(fd, bytes, len);
    if (r < 0)
        return r;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return -errno;
    return fd_steal(&fd);
}

int fd_copy_above(int fd, int least)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, least);
    return copy < 0 ? -errno : copy;
}

/* size_t in glibc, and socklen_t in musl and POSIX. */
typedef __typeof__(((struct msghdr *)0)->msg_controllen) control_length;

union passing {
    struct cmsghdr header;
    char room[CMSG_SPACE(FD_PASSED_MAX * sizeof(int))];
};

int fd_send(int socket, const int *fds, size_t count)
{
    union passing control = {0};
    char byte = 0;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (count > FD_PASSED_MAX)
        return -E2BIG;
    if (count) {
        message.msg_control = &control;
        message.msg_controllen = (control_length)CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = (control_length)CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    }
    ssize_t n;
    do
        n = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == 1 ? 0 : n < 0 ? -errno : -EIO;
}

int fd_receive(int socket, int *ret_fds, size_t max, bool wait)
{
    union passing control;
    char byte;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t n;
    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    while (n < 0 && errno == EINTR);
    if (n != 1)
        return n < 0 && errno == EAGAIN ? -EAGAIN : -EPIPE;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header)
        return message.msg_flags & MSG_CTRUNC ? -EMFILE : 0;
    size_t count =
        header->cmsg_type == SCM_RIGHTS ? (header->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    int all[FD_PASSED_MAX];
    memcpy(all, CMSG_DATA(header), count * sizeof(int));
    if (count > max || message.msg_flags & MSG_CTRUNC) {
        for (size_t i = 0; i < count; i++)
            close(all[i]);
        return message.msg_flags & MSG_CTRUNC ? -EMFILE : -EPIPE;
    }
    memcpy(ret_fds, all, count * sizeof(int));
    return (int)count;
}

static bool is_same_namespace(pid_t pid, const char *name)
{
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    if (stat(path, &own) < 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
    return stat(path, &other) == 0 && own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

bool fd_peer_is_like_us(int socket)
{
    static const char *const namespaces[] = {"user", "pid", "mnt", "net"};
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);
    bool like = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid > 0 &&
                peer.uid == geteuid();
    for (size_t i = 0; like && i < sizeof(namespaces) / sizeof(namespaces[0]); i++)
        like = is_same_namespace(peer.pid, namespaces[i]);
    return like;
}
