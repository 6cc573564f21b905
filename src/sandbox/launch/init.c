/* Process 1 of the inside: builds the walls, starts the program, reaps; see launch.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/launch/launch.h"

/* Until the guard has mapped our user there is nobody to be. */
static int wait_for_maps(struct launch *l)
{
    char byte;
    ssize_t n;
    do
        n = read(l->alive, &byte, 1);
    while (n < 0 && errno == EINTR);
    /* The guard has said why. */
    return n == 1 ? 0 : err_set(&l->err, -EPIPE, "the guard is gone");
}

/* L1. Set after the ids, which would clear it; then the pipe tells of a death that came before. */
static int die_with_guard(struct launch *l)
{
    struct pollfd alive = {.fd = l->alive, .events = POLLIN};
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || poll(&alive, 1, 0) != 0)
        return err_set(&l->err, -EPIPE, "the guard is gone");
    return 0;
}

static int set_limit(struct launch *l, const struct plan_step *step)
{
    static const struct {
        const char *name;
        int resource;
    } limits[] = {
        {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
        {"fsize", RLIMIT_FSIZE},       {"as", RLIMIT_AS},
        {"nproc", RLIMIT_NPROC},       {"nofile", RLIMIT_NOFILE},
        {"msgqueue", RLIMIT_MSGQUEUE},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (strcmp(limits[i].name, step->text) != 0)
            continue;
        /* Only root may lift a limit that the caller has; below it there is nothing to do. */
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)limits[i].resource, &limit) == 0 &&
            limit.rlim_max < step->number[0])
            return 0;
        limit.rlim_cur = limit.rlim_max = step->number[0];
        if (setrlimit((__rlimit_resource_t)limits[i].resource, &limit) < 0)
            return err_errno(&l->err, -errno, "cannot limit '%s'", step->text);
        return 0;
    }
    return err_set(&l->err, -EINVAL, "unknown limit '%s'", step->text);
}

static int set_sysctl(struct launch *l, const struct plan_step *step)
{
    char path[128], value[32];
    snprintf(path, sizeof(path), "/proc/sys/%s", step->text);
    int len = snprintf(value, sizeof(value), "%" PRIu64 "\n", step->number[0]);
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, value, (size_t)len) < 0)
        return err_errno(&l->err, -errno, "cannot set '%s'", step->text);
    return 0;
}

static int build_walls(struct launch *l)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        if (step->kind == PLAN_SYSCTL)
            r = set_sysctl(l, step);
        else if (step->kind == PLAN_HOSTNAME && sethostname(step->text, strlen(step->text)) < 0)
            r = err_errno(&l->err, -errno, "cannot set the host name");
        else
            r = root_apply(l, i);
    }
    return r;
}

/* What the program starts with, from the plan. */
struct program {
    const char *path;
    const char *argv[PLAN_STEPS_MAX + 1];
    const char *envp[PLAN_STEPS_MAX + 1];
};

static int prepare_program(struct launch *l, struct program *p)
{
    size_t args = 0, variables = 0;
    for (size_t i = 0; i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        int r = 0;
        if (step->kind == PLAN_ARG)
            p->argv[args++] = step->text;
        else if (step->kind == PLAN_ENV)
            p->envp[variables++] = step->text;
        else if (step->kind == PLAN_PROGRAM)
            p->path = step->path;
        else if (step->kind == PLAN_LIMIT)
            r = set_limit(l, step);
        else if (step->kind == PLAN_UMASK)
            umask((mode_t)step->number[0]);
        else if (step->kind == PLAN_CWD && chdir(step->path) < 0)
            r = err_errno(&l->err, -errno, "cannot go to '%s'", step->path);
        if (r < 0)
            return r;
    }
    return p->path && args ? 0 : err_set(&l->err, -EINVAL, "the plan has no program");
}

/*
 * The last steps, in the process that becomes the program. Init itself has neither Landlock's rules
 * nor the filter on it: being outside of the one, it gets no signals from the inside.
 */
static _Noreturn void become_program(struct launch *l, const struct program *p)
{
    setsid();
    int listener = landlock_restrict(l) < 0 ? -1 : filter_install(l);
    if (listener >= 0 && handover_send(l, listener) == 0) {
        execve(p->path, (char *const *)p->argv, (char *const *)p->envp);
        err_errno(&l->err, -errno, "cannot execute '%s'", p->path);
    }
    launch_give_up(l);
}

/* Shares init's memory until it executes. */
static pid_t start_program(struct launch *l, const struct program *p)
{
    pid_t pid = vfork();
    if (pid == 0)
        become_program(l, p);
    if (pid < 0)
        err_errno(&l->err, -errno, "cannot start a process");
    return pid;
}

/*
 * The guard's wish to end it all. The inside may send the signal, too, and is not heard: only from
 * another pid namespace does it come without a sender.
 */
static volatile sig_atomic_t end_wanted;

static void note_child(int number)
{
    (void)number; /* only wakes sigsuspend */
}

static void want_end(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    /* A queued signal says of its sender what it likes; the kernel speaks for a plain one. */
    if (info->si_code == SI_USER && info->si_pid == 0)
        end_wanted = 1;
}

static int watch_for_end(struct launch *l)
{
    struct sigaction action = {.sa_sigaction = want_end, .sa_flags = SA_SIGINFO};
    sigset_t blocked;
    sigemptyset(&action.sa_mask);
    sigemptyset(&blocked);
    sigaddset(&blocked, WIRE_END_SIGNAL);
    sigaddset(&blocked, SIGCHLD);
    if (sigaction(WIRE_END_SIGNAL, &action, NULL) < 0 || signal(SIGCHLD, note_child) == SIG_ERR ||
        sigprocmask(SIG_BLOCK, &blocked, NULL) < 0)
        return err_errno(&l->err, -errno, "cannot watch for signals");
    return 0;
}

/*
 * Kills and reaps whatever is left, so that it is counted and its resources are known. No fork
 * escapes a signal to all. Should init be killed instead, the kernel does the rest.
 */
static uint32_t end_everything(void)
{
    uint32_t count = 0;
    kill(-1, SIGKILL);
    for (;;) {
        if (waitpid(-1, NULL, 0) > 0)
            count++;
        else if (errno != EINTR)
            return count;
    }
}

/* Reaps until the program ends, or the guard wants everything to end. */
static _Noreturn void reap_until(pid_t program)
{
    sigset_t none;
    sigemptyset(&none);
    for (;;) {
        int status;
        pid_t pid;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            if (pid != program)
                continue;
            struct wire_message message = {
                .kind = WIRE_ENDED, .code = status, .survivors = end_everything()};
            send(WIRE_CONTROL_FD, &message, sizeof(message), MSG_NOSIGNAL);
            _exit(0);
        }
        if (end_wanted || (pid < 0 && errno == ECHILD)) {
            end_everything();
            _exit(0);
        }
        sigsuspend(&none);
    }
}

/* Should the host run out of memory, the inside goes first. */
static void volunteer(void)
{
    FD_CLEANUP int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "800", 3) < 0)
        return; /* a wish */
}

static bool has_own_network(const struct launch *l)
{
    for (size_t i = 0; i < l->plan.count; i++) {
        if (l->plan.steps[i].kind == PLAN_UNSHARE && strcmp(l->plan.steps[i].text, "net") == 0)
            return true;
    }
    return false;
}

static int build(struct launch *l, struct program *program)
{
    int r = identity_assume(l);
    if (r == 0)
        r = die_with_guard(l);
    if (r == 0 && l->full && !l->privileged)
        r = tree_open_all(l);
    if (r == 0 && has_own_network(l))
        r = net_loopback_up(l);
    if (r == 0)
        r = build_walls(l);
    if (r == 0 && l->full)
        r = root_enter(l);
    if (r == 0)
        r = landlock_prepare(l);
    if (r == 0)
        r = prepare_program(l, program);
    return r < 0 ? r : privilege_drop(l);
}

_Noreturn void init_main(struct launch *l)
{
    static struct program program;
    if (wait_for_maps(l) < 0)
        _exit(125);
    volunteer();
    if (build(l, &program) < 0)
        launch_give_up(l);
    if (!l->full)
        become_program(l, &program);
    setsid();
    pid_t pid = start_program(l, &program);
    if (pid < 0 || watch_for_end(l) < 0)
        launch_give_up(l);
    /* Nothing of what the program was given is ours to hold: a pipe must end when it lets go. */
    close(WIRE_PLAN_FD);
    close(WIRE_HELD_FD);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    fd_close(&l->ruleset);
    reap_until(pid);
}
