/*
 * System calls that the filter does not decide: the guard is asked, and the caller waits. Only
 * what is in registers is looked at, so letting a call go on is as safe as a rule of the filter.
 *
 * Processes are counted here, and not by RLIMIT_NPROC or a control group, since these count
 * threads: a limit of five would not even start node.
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

enum {
    /* A fork that was agreed to has happened, or failed, after this time. */
    PENDING_MS = 15,
    /* So long one who asks waits for somebody else's end before it is told no. */
    PATIENCE_MS = 25,
    /* For the peak alone it is not looked more often than this. */
    LOOK_MS = 1,
};

/* Newer kernels may have larger structs than these headers. */
union request {
    struct seccomp_notif notice;
    char room[512];
};
union response {
    struct seccomp_notif_resp answer;
    char room[512];
};

/* --- processes ---------------------------------------------------------------------------- */

/*
 * A fork that was agreed to takes a moment to happen, and nothing tells when it has. Until then the
 * thread that makes it stands for its child: until a child that was not there before is seen, or
 * the thread asks for something else, or so much time has passed that the fork is over or failed.
 */
static size_t count_pending(struct notices *n, size_t born, uint64_t now_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->pending_count; i++) {
        bool over = now_ms - n->pending[i].since_ms > PENDING_MS;
        if (over || born) {
            born -= born ? 1 : 0;
            n->unseen++;
            continue;
        }
        n->pending[kept++] = n->pending[i];
    }
    return n->pending_count = kept;
}

/* The thread's last fork is over: its child, if it lives, is seen at the next look. */
static void settle(struct notices *n, uint32_t thread)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->pending_count; i++) {
        if (n->pending[i].thread != thread)
            n->pending[kept++] = n->pending[i];
    }
    n->unseen += n->pending_count - kept;
    n->pending_count = kept;
}

/* Both lists are sorted but for landlock strength, where it does no harm to take all for new. */
static size_t count_new(const struct notices *n)
{
    const struct census *c = n->census;
    size_t found = 0, k = 0;
    for (size_t i = 0; i < c->count; i++) {
        while (k < n->known_count && n->known[k] < c->pids[i])
            k++;
        found += k == n->known_count || n->known[k] != c->pids[i];
    }
    return found;
}

void notices_seen(struct notices *n, size_t count, uint64_t now_ms)
{
    count_pending(n, count_new(n), now_ms);
    n->seen = count;
    n->unseen = 0;
    n->seen_ms = now_ms;
    memcpy(n->known, n->census->pids, n->census->count * sizeof(n->known[0]));
    n->known_count = n->census->count;
    if (count > n->peak)
        n->peak = count;
}

/* The program itself is there, too, and is not one of its children. */
static bool has_room(struct notices *n, uint64_t now_ms)
{
    size_t most = n->seen + count_pending(n, 0, now_ms) + n->unseen;
    bool full = n->limit && most >= n->limit + 1;
    if (full || (most >= n->peak && now_ms - n->seen_ms >= LOOK_MS)) {
        notices_seen(n, census_take(n->census), now_ms);
        most = n->seen + n->pending_count;
    }
    return !n->limit || most < n->limit + 1;
}

static int answer_spawn(struct notices *n, uint32_t thread, uint64_t now_ms)
{
    settle(n, thread);
    if (n->ending || n->pending_count == NOTICES_PENDING)
        return -EAGAIN;
    if (!has_room(n, now_ms))
        return -EBUSY;
    n->pending[n->pending_count].thread = thread;
    n->pending[n->pending_count++].since_ms = now_ms;
    if (n->peak < 2)
        n->peak = 2; /* the program and its child */
    return 0;
}

/* --- memory that no process shows --------------------------------------------------------- */

/* What is not attached anywhere is not resident either, so the wish itself is counted. */
static int answer_shared(struct notices *n, const struct seccomp_data *call)
{
    uint64_t size = call->args[1], limit = n->launch->budgets.memory_bytes / 2;
    if (!(call->args[2] & IPC_CREAT) && (int)call->args[0] != IPC_PRIVATE)
        return 0;
    if (limit && (size > limit || n->shared_bytes > limit - size))
        return -ENOSPC;
    n->shared_bytes += size;
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
        prctl(PR_SET_PDEATHSIG, GUARD_DEATH(n->launch)); /* which a change of user takes away */
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
    if (ioctl(n->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0)
        return true;
    *ret = errno == EMFILE ? -EMFILE : -ENOMEM;
    return false;
}

/* --- all of them -------------------------------------------------------------------------- */

static void send_answer(const struct notices *n, uint64_t id, int r)
{
    union response response = {.answer = {.id = id, .error = r}};
    response.answer.flags = r == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

void notices_retry(struct notices *n, uint64_t now_ms)
{
    int r = answer_spawn(n, n->waiting_thread, now_ms);
    if (r == -EBUSY && now_ms - n->waiting_since_ms < PATIENCE_MS)
        return;
    if (r < 0) {
        n->refused++;
        r = -EAGAIN;
    }
    send_answer(n, n->waiting, r);
    n->is_waiting = false;
}

void notices_answer(struct notices *n, uint64_t now_ms)
{
    union request request = {0};
    if (ioctl(n->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
        return; /* the caller was killed meanwhile */
    const struct seccomp_notif *notice = &request.notice;
    int r;
    switch (notice->data.nr) {
    case SYS_memfd_create:
        if (answer_memory_file(n, notice, &r))
            return;
        break;
    case SYS_shmget:
        r = answer_shared(n, &notice->data);
        break;
    default:
        r = answer_spawn(n, notice->pid, now_ms);
        if (r != -EBUSY)
            break;
        n->is_waiting = true;
        n->waiting = notice->id;
        n->waiting_thread = notice->pid;
        n->waiting_since_ms = now_ms;
        return;
    }
    send_answer(n, notice->id, r);
}
