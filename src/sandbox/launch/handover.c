/* What the guard needs of the inside, passed to it before the program starts; see launch.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/launch/launch.h"

enum { FIXED = 3, FDS_MAX = FIXED + HANDOVER_DISKS };

int handover_send(struct launch *l, int listener)
{
    int fds[FDS_MAX];
    size_t count = 0;
    char has_scratch = (char)l->full;
    fds[count++] = listener;
    fds[count++] = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (l->full)
        fds[count++] = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < l->plan.count && count < FDS_MAX; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        bool counted = l->full ? step->kind == PLAN_BIND && step->flags & PLAN_WATCHED
                               : step->kind == PLAN_ACCESS && strcmp(step->text, "write") == 0 &&
                                     strncmp(step->path, "/dev/", 5) != 0;
        if (counted)
            fds[count++] = open(step->path, O_PATH | O_CLOEXEC);
    }

    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(fds))];
    } control = {0};
    struct iovec byte = {.iov_base = &has_scratch, .iov_len = 1};
    struct msghdr message = {.msg_iov = &byte,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    ssize_t n = sendmsg(l->alive, &message, MSG_NOSIGNAL);
    /* All of them close by themselves when the program is executed. */
    return n == 1 ? 0 : err_errno(&l->err, n < 0 ? -errno : -EIO, "cannot reach the guard");
}

int handover_receive(int socket, struct handover *ret)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control;
    char has_scratch = 0;
    struct iovec byte = {.iov_base = &has_scratch, .iov_len = 1};
    struct msghdr message = {.msg_iov = &byte,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    struct cmsghdr *header = n == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_type != SCM_RIGHTS || message.msg_flags & MSG_CTRUNC)
        return n < 0 && errno == EAGAIN ? -EAGAIN : -EPIPE;
    int fds[FDS_MAX];
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int), next = 0;
    memcpy(fds, CMSG_DATA(header), count * sizeof(int));
    ret->listener = fds[next++];
    ret->proc = next < count ? fds[next++] : -1;
    ret->scratch = has_scratch && next < count ? fds[next++] : -1;
    ret->disk_count = 0;
    while (next < count)
        ret->disks[ret->disk_count++] = fds[next++];
    return 0;
}
