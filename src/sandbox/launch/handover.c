/* What the guard needs of the inside, passed to it before the program starts; see launch.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "sandbox/launch/launch.h"

/* In landlock strength only the first two. */
enum { FEW = 2, FIXED = 3 + HANDOVER_IPC, FDS_MAX = FIXED + HANDOVER_DISKS };

/* They show the namespace of whoever opened them. */
static const char *const ipc_lists[HANDOVER_IPC] = {"/proc/sysvipc/shm", "/proc/sysvipc/sem",
                                                    "/proc/sysvipc/msg"};

static bool is_counted(const struct launch *l, const struct plan_step *step)
{
    if (l->full)
        return plan_needs_tree(step) && step->flags & PLAN_WATCHED;
    return step->kind == PLAN_ACCESS && strcmp(step->text, "write") == 0 &&
           strncmp(step->path, "/dev/", 5) != 0;
}

int handover_send(struct launch *l, int listener)
{
    int fds[FDS_MAX];
    size_t count = 0;
    fds[count++] = listener;
    fds[count++] = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (l->full) {
        fds[count++] = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; i < HANDOVER_IPC; i++) {
            /* A kernel without such objects has no list of them: anything else will do. */
            int fd = open(ipc_lists[i], O_RDONLY | O_CLOEXEC);
            fds[count++] = fd < 0 && errno == ENOENT ? open("/proc", O_PATH | O_CLOEXEC) : fd;
        }
    }
    /* The workspace is the last of them in every plan. */
    for (size_t i = l->plan.count; i-- && count < FDS_MAX;) {
        if (is_counted(l, &l->plan.steps[i]))
            fds[count++] = l->tree[i] >= 0 ? openat(l->tree[i], "upper", O_PATH | O_CLOEXEC)
                                           : open(l->plan.steps[i].path, O_PATH | O_CLOEXEC);
    }
    /* All of them close by themselves when the program is executed. */
    int r = fd_send(l->alive, fds, count);
    return r < 0 ? err_errno(&l->err, r, "cannot reach the guard") : 0;
}

int handover_receive(int socket, bool full, struct handover *ret)
{
    int fds[FDS_MAX];
    int count = fd_receive(socket, fds, FDS_MAX, false), next = 0;
    if (count < (full ? FIXED : FEW))
        return count < 0 ? count : -EPIPE;
    ret->listener = fds[next++];
    ret->proc = fds[next++];
    ret->scratch = full ? fds[next++] : -1;
    for (size_t i = 0; i < HANDOVER_IPC; i++)
        ret->ipc[i] = full ? fds[next++] : -1;
    ret->disk_count = 0;
    while (next < count)
        ret->disks[ret->disk_count++] = fds[next++];
    return 0;
}
