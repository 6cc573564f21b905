/*
 * System calls that the filter does not decide: the guard is asked, and the caller waits. Only
 * what is in registers is looked at, so letting a call go on is as safe as a rule of the filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/kernel_calls.h"
#include "sandbox/launch/guard.h"

/* Newer kernels may have larger structs than these headers. */
union request {
    struct seccomp_notif notice;
    char room[512];
};
union response {
    struct seccomp_notif_resp answer;
    char room[512];
};

/* --- memory that no process shows --------------------------------------------------------- */

/*
 * Shared memory that is attached nowhere is not resident either, and semaphores and messages are
 * the kernel's own: the wish itself is counted, once and for all.
 */
static int answer_shared(struct notices *n, const struct seccomp_data *call)
{
    enum { SEMAPHORES = 32000, QUEUES = 16 };
    const uint64_t memory = n->launch->budgets.memory_bytes;
    const struct {
        int call, amount; /* amount: index of the argument; flags follow it */
        uint64_t limit;
    } kinds[NOTICES_KINDS] = {
        {SYS_shmget, 1, memory ? memory / 2 : UINT64_MAX},
        {SYS_semget, 1, SEMAPHORES},
        {SYS_msgget, 0, QUEUES},
        {SYS_mmap, 1, memory ? 2 * memory : UINT64_MAX}, /* what is touched is seen */
    };
    for (size_t i = 0; i < NOTICES_KINDS; i++) {
        if (kinds[i].call != call->nr)
            continue;
        uint64_t amount = kinds[i].amount ? (uint64_t)call->args[kinds[i].amount] : 1;
        if (call->nr != SYS_mmap && !(call->args[kinds[i].amount + 1] & IPC_CREAT) &&
            (int)call->args[0] != IPC_PRIVATE)
            return 0; /* it only finds one */
        if (amount > kinds[i].limit || n->shared[i] > kinds[i].limit - amount)
            return call->nr == SYS_mmap ? -ENOMEM : -ENOSPC;
        n->shared[i] += amount;
        return 0;
    }
    return -ENOSYS;
}

/*
 * A file in memory is made by the guard: one without a name on the inside's own tmpfs, where it
 * counts. Started by root, we are nobody there, and take on the inside's user for the moment.
 */
static int make_memory_file(const struct notices *n)
{
    const struct identity *id = &n->launch->identity;
    if (n->launch->privileged) {
        setfsgid(id->outer_gid);
        setfsuid(id->outer_uid);
    }
    int fd = openat(n->scratch, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
    int error = errno;
    if (n->launch->privileged) {
        setfsuid(0);
        setfsgid(0);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* which a change of user takes away */
    }
    return fd < 0 ? -error : fd;
}

/* Gives the file to the caller. Returns whether that answered the call. */
static bool answer_memory_file(struct notices *n, const struct seccomp_notif *notice, int *ret)
{
    unsigned flags = (unsigned)notice->data.args[1];
    if (flags & ~(unsigned)(MFD_CLOEXEC | 0x0008 /* MFD_NOEXEC_SEAL */ | 0x0010 /* MFD_EXEC */)) {
        *ret = -EINVAL; /* sealing, huge pages: as a kernel that has none */
        return false;
    }
    FD_CLEANUP int fd = make_memory_file(n);
    if (fd < 0) {
        *ret = fd;
        return false;
    }
    struct seccomp_notif_addfd add = {
        .id = notice->id,
        .flags = SECCOMP_ADDFD_FLAG_SEND,
        .srcfd = (unsigned)fd,
        .newfd_flags = flags & MFD_CLOEXEC ? O_CLOEXEC : 0,
    };
    if (kernel_ioctl(n->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0)
        return true;
    *ret = errno == EMFILE ? -EMFILE : -ENOMEM;
    return false;
}

/* --- all of them -------------------------------------------------------------------------- */

static void send_answer(const struct notices *n, uint64_t id, int r)
{
    union response response = {.answer = {.id = id, .error = r}};
    response.answer.flags = r == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    kernel_ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

void notices_answer(struct notices *n)
{
    union request request = {0};
    if (kernel_ioctl(n->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
        return; /* the caller was killed meanwhile */
    const struct seccomp_notif *notice = &request.notice;
    int r;
    if (notice->data.nr == SYS_fallocate) {
        n->allocated_bytes += (uint64_t)notice->data.args[3];
        r = 0;
    } else if (notice->data.nr != SYS_memfd_create)
        r = answer_shared(n, &notice->data);
    else if (answer_memory_file(n, notice, &r))
        return;
    send_answer(n, notice->id, r);
}
