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

/* The sum of one column of a list of the kernel's, which begins with a line of names; column 0: the
 * number of lines. */
static uint64_t sum_column(int list, unsigned column)
{
    char bytes[4096];
    uint64_t sum = 0, number = 0;
    unsigned at = 0;
    bool names = true, in_word = false;
    ssize_t n;
    if (lseek(list, 0, SEEK_SET) < 0)
        return 0;
    while ((n = read(list, bytes, sizeof(bytes))) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            char c = bytes[i];
            bool blank = c == ' ' || c == '\n';
            if (!blank && !in_word) {
                at++;
                number = 0;
            }
            if (!blank && c >= '0' && c <= '9')
                number = number * 10 + (uint64_t)(c - '0');
            if (blank && in_word && !names && at == column)
                sum += number;
            in_word = !blank;
            if (c != '\n')
                continue;
            sum += !names && column == 0;
            names = false;
            at = 0;
        }
    }
    return sum;
}

/*
 * Shared memory that is attached nowhere is not resident either, and semaphores and messages are
 * the kernel's own: what there is of them is looked up.
 */
static int answer_ipc(const struct notices *n, const struct seccomp_data *call)
{
    enum { SEMAPHORES = 32000, QUEUES = 16, HUGE = 04000 };
    const uint64_t memory = n->launch->budgets.memory_bytes;
    const struct {
        int call;
        unsigned amount; /* index of the argument, behind which flags follow; 0: one */
        unsigned column; /* of the list */
        uint64_t limit;
    } kinds[HANDOVER_IPC] = {
        {SYS_shmget, 1, 4, memory ? memory / 2 : UINT64_MAX},
        {SYS_semget, 1, 4, SEMAPHORES},
        {SYS_msgget, 0, 0, QUEUES},
    };
    for (size_t i = 0; i < HANDOVER_IPC; i++) {
        if (kinds[i].call != call->nr)
            continue;
        uint64_t flags = call->args[kinds[i].amount + 1];
        uint64_t amount = kinds[i].amount ? (uint64_t)call->args[kinds[i].amount] : 1;
        if (!(flags & IPC_CREAT) && (int)call->args[0] != IPC_PRIVATE)
            return 0; /* it only finds one */
        if (call->nr == SYS_shmget && flags & HUGE)
            return -EPERM;
        uint64_t used = sum_column(n->ipc[i], kinds[i].column);
        return amount > kinds[i].limit || used > kinds[i].limit - amount ? -ENOSPC : 0;
    }
    return -ENOSYS;
}

/*
 * Memory that is shared and has no file: pages that nobody has mapped at the moment are resident
 * with nobody, but belong to a mapping that somebody has. So what is mapped is bounded; it is added
 * up from the wishes, and counted anew when these come to the bound, since most were given back.
 */
static int answer_shared(struct notices *n, const struct seccomp_data *call)
{
    const uint64_t memory = n->launch->budgets.memory_bytes, amount = call->args[1];
    const uint64_t limit = memory ? 2 * memory : UINT64_MAX; /* what is touched is seen */
    if (amount > limit)
        return -ENOMEM;
    if (n->shared_bytes > limit - amount && n->census->proc >= 0) {
        census_take(n->census);
        n->shared_bytes = census_shared_mapped(n->census);
    }
    if (n->shared_bytes > limit - amount)
        return -ENOMEM;
    n->shared_bytes += amount;
    return 0;
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
        privilege_override(false);        /* which a change back to root raises */
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
    } else if (notice->data.nr == SYS_mmap)
        r = answer_shared(n, &notice->data);
    else if (notice->data.nr != SYS_memfd_create)
        r = answer_ipc(n, &notice->data);
    else if (answer_memory_file(n, notice, &r))
        return;
    send_answer(n, notice->id, r);
}
