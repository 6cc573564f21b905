/* The launcher's main program, and the guard that it becomes; see launch.h. */
#include "sandbox/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/kernel_calls.h"

/* How long init may take to end everything by itself, which tells us what it all used. */
enum { ASK_MS = 1000 };

static const struct {
    const char *name;
    uint64_t flag;
} namespaces[] = {
    {"user", CLONE_NEWUSER},     {"mount", CLONE_NEWNS}, {"pid", CLONE_NEWPID},
    {"net", CLONE_NEWNET},       {"ipc", CLONE_NEWIPC},  {"uts", CLONE_NEWUTS},
    {"cgroup", CLONE_NEWCGROUP},
};

void launch_report(enum wire_kind kind, const struct launch *l, int code)
{
    struct wire_message message = {.kind = kind, .code = code};
    if (kind == WIRE_FAILED) {
        message.stage = l->stage;
        snprintf(message.text, sizeof(message.text), "%s", l->err.message);
    }
    send(WIRE_CONTROL_FD, &message, sizeof(message), MSG_NOSIGNAL);
}

_Noreturn void launch_give_up(const struct launch *l)
{
    launch_report(WIRE_FAILED, l, l->err.code);
    _exit(125);
}

/* L1: the supervisor's death is ours, also if it came before this call. */
static int die_with_supervisor(struct launch *l)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return err_errno(&l->err, -errno, "cannot tie the sandbox's life to its supervisor's");
    struct pollfd control = {.fd = WIRE_CONTROL_FD, .events = POLLIN};
    if (poll(&control, 1, 0) != 0)
        return err_set(&l->err, -EPIPE, "the supervisor is gone");
    return 0;
}

/* Leaves standard input, output and error, the control socket and the plan. */
static int close_descriptors(struct launch *l)
{
    if (kernel_close_range(WIRE_PLAN_FD + 1, ~0U, 0) < 0 ||
        kernel_close_range(WIRE_CONTROL_FD, WIRE_PLAN_FD, CLOSE_RANGE_CLOEXEC) < 0)
        return err_errno(&l->err, -errno, "cannot close descriptors");
    return 0;
}

static int read_plan(struct launch *l)
{
    static struct plan_step steps[PLAN_STEPS_MAX];
    struct stat st;
    if (fstat(WIRE_PLAN_FD, &st) < 0)
        return err_errno(&l->err, -errno, "cannot read the plan");
    if (st.st_size <= 0 || st.st_size > PLAN_BYTES_MAX)
        return err_set(&l->err, -EBADMSG, "plan: %lld bytes", (long long)st.st_size);
    size_t size = (size_t)st.st_size;
    const char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, WIRE_PLAN_FD, 0);
    if (bytes == MAP_FAILED)
        return err_errno(&l->err, -errno, "cannot map the plan");
    return plan_decode(bytes, size, steps, PLAN_STEPS_MAX, &l->plan, &l->err);
}

static int namespace_flags(struct launch *l, uint64_t *ret)
{
    uint64_t flags = 0;
    for (size_t i = 0; i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        if (step->kind != PLAN_UNSHARE)
            continue;
        size_t n = 0;
        while (n < sizeof(namespaces) / sizeof(namespaces[0]) &&
               strcmp(namespaces[n].name, step->text) != 0)
            n++;
        if (n == sizeof(namespaces) / sizeof(namespaces[0]))
            return err_set(&l->err, -EINVAL, "unknown namespace '%s'", step->text);
        flags |= namespaces[n].flag;
    }
    /* Without these the rest of this program would act on the host. */
    const uint64_t least = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID;
    if ((flags & least) != least)
        return err_set(&l->err, -EINVAL, "the plan lacks a user, mount or pid namespace");
    *ret = flags;
    return 0;
}

/* Starts init in its namespaces. In the child this does not return. */
static int start_init(struct launch *l, pid_t *ret_pid, int *ret_pidfd)
{
    uint64_t flags = 0;
    int r = namespace_flags(l, &flags);
    if (r < 0)
        return r;
    int alive[2];
    if (pipe2(alive, O_CLOEXEC) < 0)
        return err_errno(&l->err, -errno, "cannot make a pipe");

    l->stage = WIRE_STAGE_NAMESPACES;
    int pidfd = -1;
    long pid = syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, &pidfd, NULL, NULL);
    if (pid < 0)
        return err_errno(&l->err, -errno, "cannot make namespaces");
    if (pid == 0) {
        close(alive[1]);
        l->alive = alive[0];
        init_main(l);
    }
    close(alive[0]);
    *ret_pid = (pid_t)pid;
    *ret_pidfd = pidfd;

    r = identity_write_maps(l, (pid_t)pid);
    if (r < 0)
        return r;
    l->stage = WIRE_STAGE_OTHER;
    /* The other end stays open for as long as the guard lives (L1). */
    if (fd_write_quietly(alive[1], "", 1) != 1)
        return err_set(&l->err, -EPIPE, "process 1 died before it began");
    return 0;
}

/* What root's guard still holds is only what it needs to kill init. */
static void shed(struct launch *l)
{
    /* The program's descriptors are init's to pass on: a pipe must end when the inside lets go. */
    kernel_close_range(STDIN_FILENO, STDERR_FILENO, 0);
    close(WIRE_PLAN_FD);
    for (size_t i = 0; i < PLAN_STEPS_MAX; i++)
        fd_close(&l->tree[i]);
    if (l->privileged)
        privilege_keep_kill();
}

/* The time limit; forever when the plan has none. */
static int milliseconds_left(const struct launch *l, uint64_t start_ms)
{
    for (size_t i = 0; i < l->plan.count; i++) {
        if (l->plan.steps[i].kind != PLAN_TIMEOUT)
            continue;
        uint64_t limit = l->plan.steps[i].number[0], gone = clock_monotonic_ms() - start_ms;
        return gone >= limit ? 0 : limit - gone > INT_MAX ? INT_MAX : (int)(limit - gone);
    }
    return -1;
}

/*
 * L2: waits for init's end, or for the time limit or the supervisor's word to bring it about, and
 * reports it. The limit is kept here, too, since the supervisor may be held up by its own caller.
 */
static void guard(struct launch *l, pid_t init, int pidfd)
{
    shed(l);
    uint64_t start_ms = clock_monotonic_ms();
    struct pollfd watched[] = {{.fd = pidfd, .events = POLLIN},
                               {.fd = WIRE_CONTROL_FD, .events = POLLIN}};
    bool timed_out = false;
    enum { NOT_YET, ASKED, KILLED } end = NOT_YET;
    while (!(watched[0].revents & POLLIN)) {
        int wait_ms = end == NOT_YET ? milliseconds_left(l, start_ms) : end == ASKED ? ASK_MS : -1;
        int r = poll(watched, 2, wait_ms);
        if (r < 0 && errno != EINTR)
            break;
        if (end == ASKED && r == 0) {
            kernel_pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
            end = KILLED;
        } else if (end == NOT_YET && (r == 0 || watched[1].revents)) {
            timed_out = r == 0;
            kernel_pidfd_send_signal(pidfd, WIRE_END_SIGNAL, NULL, 0);
            watched[1].fd = -1;
            end = ASKED;
        }
    }

    struct rusage usage = {0};
    int status = 0;
    while (wait4(init, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    struct wire_message message = {
        .kind = WIRE_GONE,
        .code = status,
        .timed_out = timed_out,
        .cpu_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
        .memory_peak_bytes = (uint64_t)usage.ru_maxrss * 1024,
    };
    send(WIRE_CONTROL_FD, &message, sizeof(message), MSG_NOSIGNAL);
}

/*
 * The pipes are root's, and /dev/stdout opens them anew: give them to the inside's user. Only
 * pipes: standard input may be the host's own /dev/null.
 */
static void hand_over_pipes(const struct launch *l)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat st;
        if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) &&
            fchown(fd, l->identity.outer_uid, l->identity.outer_gid) < 0)
            continue; /* then only opening them by name fails */
    }
}

int main(void)
{
    static struct launch launch;
    struct launch *l = &launch;
    for (size_t i = 0; i < PLAN_STEPS_MAX; i++)
        l->tree[i] = -1;
    l->root = l->alive = -1;
    l->privileged = geteuid() == 0;

    /* Everything here is made with the modes that the plan says. */
    umask(0);
    /* A session of our own: the terminal's keys reach the supervisor alone. EPERM: it is one. */
    setsid();

    if (die_with_supervisor(l) < 0 || read_plan(l) < 0 || close_descriptors(l) < 0 ||
        identity_choose(l) < 0)
        launch_give_up(l);

    /* Root opens what the inside's user could not reach; a user does so from within. */
    if (l->privileged) {
        hand_over_pipes(l);
        if (tree_open_all(l) < 0)
            launch_give_up(l);
    }

    pid_t init = -1;
    int pidfd = -1;
    if (start_init(l, &init, &pidfd) < 0)
        launch_give_up(l); /* init dies with us (L1) */
    guard(l, init, pidfd);
    return 0;
}
