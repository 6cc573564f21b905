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
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/launch/launch.h"

/*
 * Until the guard has mapped our user there is nobody to be, and without a plan nothing to do. A
 * held mount may come with it.
 */
static int receive_plan(struct launch *l)
{
    int r = launch_receive_plan(l, l->alive);
    return r == -EPIPE ? err_set(&l->err, r, "the guard is gone") : r; /* it has said why */
}

/* Root opens the mounts of the bind steps while we build what needs none, and sends them after. */
static int receive_trees(struct launch *l)
{
    int fds[FD_PASSED_MAX];
    int count = fd_receive(l->alive, fds, FD_PASSED_MAX, true), next = 0;
    for (size_t i = 0; i < l->plan.count; i++) {
        if (!plan_needs_tree(&l->plan.steps[i]))
            continue;
        if (next >= count) /* the guard is gone, or we may have no more descriptors */
            return err_set(&l->err, -EPIPE, "not all of what is to be shown has come");
        l->tree[i] = fds[next++];
    }
    return 0;
}

/* L1. Set after the ids, which would clear it; then the pipe tells of a death that came before. */
static int die_with_guard(struct launch *l)
{
    struct pollfd alive = {.fd = l->alive, .events = 0}; /* its end is told unasked */
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
        {"msgqueue", RLIMIT_MSGQUEUE}, {"sigpending", RLIMIT_SIGPENDING},
    };
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (strcmp(limits[i].name, step->text) != 0)
            continue;
        /* Only root may lift a limit that the caller has; below it there is nothing to do. */
        struct rlimit limit;
        if (getrlimit(limits[i].resource, &limit) == 0 && limit.rlim_max < step->number[0])
            return 0;
        limit.rlim_cur = limit.rlim_max = step->number[0];
        if (setrlimit(limits[i].resource, &limit) < 0)
            return err_errno(&l->err, -errno, "cannot limit '%s'", step->text);
        return 0;
    }
    return err_set(&l->err, -EINVAL, "unknown limit '%s'", step->text);
}

/* Only below /proc/sys, whatever the plan says. */
static int set_sysctl(struct launch *l, const struct plan_step *step)
{
    if (strncmp(step->path, "/proc/sys/", 10) != 0)
        return err_set(&l->err, -EINVAL, "'%s' is no setting of the kernel's", step->path);
    FD_CLEANUP int fd = open(step->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, step->text, strlen(step->text)) < 0)
        return err_errno(&l->err, -errno, "cannot set '%s'", step->path);
    return 0;
}

static int build_walls(struct launch *l)
{
    int r = 0;
    bool trees_due = l->privileged && l->full;
    for (size_t i = 0; r == 0 && i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        if (step->kind == PLAN_BIND && trees_due) {
            trees_due = false;
            r = receive_trees(l);
        }
        if (r < 0)
            break;
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

/*
 * Starts the program's process, which waits until it is traced. For that it must be one that may be
 * looked into; so is init for the moment, and there is nobody yet who could.
 */
static pid_t start_program(struct launch *l, const struct program *p)
{
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
        return err_errno(&l->err, -errno, "cannot start a process");
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(gate[1]);
        if (read(gate[0], &byte, 1) != 1)
            _exit(125);
        become_program(l, p);
    }
    if (pid < 0)
        return err_errno(&l->err, -errno, "cannot start a process");
    int r = trace_begin(&l->trace, l->budgets.processes, pid);
    if (r < 0)
        return err_errno(&l->err, r, "cannot trace the program");
    if (prctl(PR_SET_DUMPABLE, 0) < 0 || write(gate[1], "", 1) != 1)
        return err_errno(&l->err, -errno, "cannot start the program");
    close(gate[0]);
    close(gate[1]);
    return pid;
}

/*
 * The guard's wish to end it all. The inside may send the signal, too, and is not heard: only from
 * another pid namespace does it come without a sender. No fork escapes a signal to all.
 */
static void end_all(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    /* A queued signal says of its sender what it likes; the kernel speaks for a plain one. */
    if (info->si_code == SI_USER && info->si_pid == 0)
        kill(-1, SIGKILL);
}

static void note_time(int number)
{
    (void)number; /* only wakes waitpid */
}

static int watch_for_end(struct launch *l)
{
    struct sigaction action = {.sa_sigaction = end_all, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction alarm = {.sa_handler = note_time};
    sigemptyset(&action.sa_mask);
    sigemptyset(&alarm.sa_mask);
    if (sigaction(WIRE_END_SIGNAL, &action, NULL) < 0 || sigaction(SIGALRM, &alarm, NULL) < 0)
        return err_errno(&l->err, -errno, "cannot watch for signals");
    return 0;
}

/* Wakes us again and again while somebody waits for room for a process. */
static void keep_patience(const struct trace *t, bool *ticking)
{
    const struct timeval tick = {.tv_usec = TRACE_PATIENCE_MS * 1000L}, none = {0};
    if ((t->waiting_count > 0) == *ticking)
        return;
    *ticking = t->waiting_count > 0;
    const struct itimerval timer = {.it_interval = *ticking ? tick : none,
                                    .it_value = *ticking ? tick : none};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Reaps until nobody is left; when the program ends, the others are killed. */
static _Noreturn void reap(struct launch *l, pid_t program)
{
    struct wire_message ended = {.kind = WIRE_NOTHING};
    bool ticking = false;
    for (;;) {
        int status;
        keep_patience(&l->trace, &ticking);
        pid_t pid = waitpid(-1, &status, __WALL);
        if (pid < 0 && errno == EINTR) {
            trace_refuse_waiting(&l->trace);
            continue;
        }
        if (pid < 0)
            break;
        bool process = trace_handle(&l->trace, pid, status);
        if (pid == program && process) {
            ended = (struct wire_message){.kind = WIRE_ENDED, .code = status};
            kill(-1, SIGKILL);
        } else if (process && ended.kind == WIRE_ENDED) {
            ended.survivors++;
        }
    }
    struct wire_message counted = {
        .kind = WIRE_COUNTED,
        .usage = {.processes_peak = (uint32_t)l->trace.peak, .spawns_refused = l->trace.refused}};
    send(WIRE_CONTROL_FD, &counted, sizeof(counted), MSG_NOSIGNAL);
    if (ended.kind == WIRE_ENDED)
        send(WIRE_CONTROL_FD, &ended, sizeof(ended), MSG_NOSIGNAL);
    _exit(0);
}

/* Should the host run out of memory, the inside goes first. */
static void volunteer(void)
{
    FD_CLEANUP int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "800", 3) < 0)
        return; /* a wish */
}

static int build(struct launch *l, struct program *program)
{
    int r = identity_assume(l);
    if (r == 0)
        r = die_with_guard(l);
    if (r == 0 && l->full && !l->privileged)
        r = tree_open_all(l);
    if (r == 0 && !l->full)
        r = l->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (r >= 0)
        r = build_walls(l);
    if (r == 0 && l->full)
        r = root_enter(l);
    if (r == 0)
        r = landlock_prepare(l);
    if (r == 0)
        r = prepare_program(l, program);
    return r < 0 ? r : privilege_drop(l);
}

_Noreturn void init_main(struct launch *l, bool own_network)
{
    static struct program program;
    l->stage = WIRE_STAGE_OTHER; /* the namespaces are there */
    volunteer();
    int network = own_network ? net_loopback_up(l) : 0;
    const struct err why =
        l->err; /* told when the plan is there: another network needs another init */
    if (receive_plan(l) < 0 && l->err.code == -EPIPE)
        _exit(125);
    if (network < 0)
        l->err = why;
    if (l->err.code < 0 || build(l, &program) < 0)
        launch_give_up(l);
    if (!l->full)
        become_program(l, &program);
    setsid();
    if (watch_for_end(l) < 0)
        launch_give_up(l);
    pid_t pid = start_program(l, &program);
    if (pid < 0)
        launch_give_up(l);
    /* Nothing of what the program was given is ours to hold: a pipe must end when it lets go. */
    close(WIRE_PLAN_FD);
    close(WIRE_HELD_FD);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    fd_close(&l->ruleset);
    reap(l, pid);
}
