/*
 * Trying a feature in a child; see probe_rows.h.
 *
 * Children come from the raw clone call, so that they can be born inside a pid namespace as direct
 * children of the caller: there is then no grandchild to lose.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/probe_rows.h"

enum { HANGS_AFTER_MS = 2000, BRIEF_SECONDS = 1 };

int probe_step(struct probe_report *report, const char *step, int result)
{
    if (result >= 0)
        return result;
    int code = -errno;
    report->step = step;
    return code;
}

int probe_wrong(struct probe_report *report, const char *step)
{
    report->step = step;
    return -EPROTO;
}

static pid_t clone_process(unsigned long namespaces)
{
    return (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, 0, 0, 0, 0);
}

pid_t probe_fork(unsigned long namespaces)
{
    pid_t pid = clone_process(namespaces);
    if (pid != 0)
        return pid;
    sigset_t none;
    sigemptyset(&none);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(BRIEF_SECONDS);
    return 0;
}

static int write_file(const char *path, const char *text)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    return write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

/*
 * Root inside, the caller outside. chroot shows that the namespace gives capabilities as well:
 * Ubuntu's AppArmor lets a program have the namespace and takes its capabilities away.
 */
static int become_root(struct probe_report *report, uid_t uid, gid_t gid)
{
    char map[32];
    int r = probe_step(report, "setgroups", write_file("/proc/self/setgroups", "deny"));
    snprintf(map, sizeof(map), "0 %u 1", (unsigned)uid);
    if (r >= 0)
        r = probe_step(report, "uid map", write_file("/proc/self/uid_map", map));
    snprintf(map, sizeof(map), "0 %u 1", (unsigned)gid);
    if (r >= 0)
        r = probe_step(report, "gid map", write_file("/proc/self/gid_map", map));
    if (r >= 0)
        r = probe_step(report, "capabilities inside", chroot("/"));
    return r;
}

/*
 * The pipe's other end is closed when the child ends, or when an attempt closes it; so the child is
 * asked for as well, until the time is up.
 */
static int await(pid_t pid, int pipe_end, int *ret_status)
{
    uint64_t until = clock_monotonic_ms() + HANGS_AFTER_MS, now;
    struct pollfd end = {.fd = pipe_end, .events = POLLIN};
    while ((now = clock_monotonic_ms()) < until && poll(&end, 1, (int)(until - now)) < 0 &&
           errno == EINTR)
        ;

    for (;;) {
        pid_t done = waitpid(pid, ret_status, WNOHANG);
        if (done == pid)
            return 0;
        if (done < 0 && errno != EINTR)
            return -errno;
        if (clock_monotonic_ms() >= until)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    kill(pid, SIGKILL);
    while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        ;
    return -ETIMEDOUT;
}

static int try_once(unsigned long namespaces, int (*attempt)(struct probe_report *report),
                    struct probe_report *shared)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return probe_step(shared, "pipe", -1);
    FD_CLEANUP int read_end = ends[0];
    FD_CLEANUP int write_end = ends[1];

    uid_t uid = geteuid();
    gid_t gid = getegid();
    shared->code = -ECHILD;
    pid_t pid = clone_process(namespaces);
    if (pid < 0) {
        shared->first = PROBE_NAMESPACES;
        return probe_step(shared, "clone", -1);
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGCHLD, SIG_DFL); /* ignored, it would take the attempt's own children away */
        int r = namespaces & CLONE_NEWUSER ? become_root(shared, uid, gid) : 0;
        if (r >= 0 && attempt)
            r = attempt(shared);
        shared->code = r < 0 ? r : 0;
        _exit(0);
    }
    fd_close(&write_end);

    int status = 0;
    int r = await(pid, read_end, &status);
    if (r == -ETIMEDOUT)
        return r;
    /* Another reaper (SIGCHLD ignored, say) leaves no status; the report is what counts. */
    if (r == 0 && WIFSIGNALED(status)) {
        shared->signal = WTERMSIG(status);
        return -EINTR;
    }
    return shared->code;
}

int probe_try(unsigned long namespaces, int (*attempt)(struct probe_report *report),
              struct probe_report *ret)
{
    *ret = (struct probe_report){0};
    struct probe_report *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return ret->code = probe_step(ret, "mmap", -1);
    int code = try_once(namespaces, attempt, shared);
    *ret = *shared;
    ret->code = code;
    munmap(shared, sizeof(*shared));

    if (code < 0 && namespaces & CLONE_NEWUSER && attempt) {
        struct probe_report bare;
        if (probe_try(CLONE_NEWUSER, NULL, &bare) < 0)
            ret->first = PROBE_USER_NAMESPACE;
    }
    return code;
}

int probe_hold_userns(struct probe_report *report, pid_t *ret_holder)
{
    pid_t holder = probe_fork(CLONE_NEWUSER);
    if (holder == 0)
        for (;;)
            pause();
    int r = probe_step(report, "clone", holder);
    if (r < 0) {
        report->first = PROBE_USER_NAMESPACE;
        return r;
    }
    *ret_holder = holder;
    return 0;
}
