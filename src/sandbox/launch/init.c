/* Process 1 of the inside: builds the walls, starts the program, reaps; see launch.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/kernel_calls.h"
#include "sandbox/launch/launch.h"

/* Root opens the mounts of the bind steps while we build what needs none, and sends them after. */
static int receive_trees(struct launch *l)
{
    int fds[FD_PASSED_MAX];
    int count = fd_receive(l->alive, fds, FD_PASSED_MAX, true), next = 0;
    for (size_t i = l->done; i < l->plan.count; i++) {
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

/* All steps of the plan that are not done. */
static int build_walls(struct launch *l)
{
    bool trees_due = l->privileged && l->full;
    int r = l->full && !l->privileged ? tree_open_all(l) : 0;
    for (size_t i = l->done; r == 0 && i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        if (plan_needs_tree(step) && trees_due) {
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
    if (r == 0)
        l->done = l->plan.count;
    return r;
}

/* What the program starts with, from the plan. */
struct program {
    const char *path;
    const char *argv[PLAN_STEPS_MAX + 1];
    const char *words[PLAN_STEPS_MAX + 1]; /* of a plain command, to be executed if it is found */
    const char *envp[PLAN_STEPS_MAX + 1];
    size_t variables;
    const char *cwd;
    bool combined; /* both outputs are one */
};

/* Not through a link: what was a directory when the plan was made may be one now. */
static int go_to(struct launch *l, const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS};
    FD_CLEANUP int dir = kernel_openat2(AT_FDCWD, path, &how);
    if (dir < 0 || fchdir(dir) < 0)
        return err_errno(&l->err, -errno, "cannot go to '%s'", path);
    return 0;
}

static int prepare_program(struct launch *l, struct program *p)
{
    size_t args = 0, words = 0;
    for (size_t i = 0; i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        int r = 0;
        if (step->kind == PLAN_ARG)
            p->argv[args++] = step->text;
        else if (step->kind == PLAN_ENV)
            p->envp[p->variables++] = step->text;
        else if (step->kind == PLAN_WORD)
            p->words[words++] = step->text;
        else if (step->kind == PLAN_PROGRAM)
            p->path = step->path;
        else if (step->kind == PLAN_LIMIT)
            r = set_limit(l, step);
        else if (step->kind == PLAN_UMASK)
            umask((mode_t)step->number[0]);
        else if (step->kind == PLAN_STEADY && personality(ADDR_NO_RANDOMIZE) < 0)
            r = err_errno(&l->err, -errno, "cannot fix addresses");
        else if (step->kind == PLAN_FD && strcmp(step->text, PLAN_COMBINED) == 0)
            p->combined = true;
        else if (step->kind == PLAN_CWD)
            r = go_to(l, p->cwd = step->path);
        if (r < 0)
            return r;
    }
    return p->path && args ? 0 : err_set(&l->err, -EINVAL, "the plan has no program");
}

static const char *variable(const struct program *p, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < p->variables; i++) {
        if (strncmp(p->envp[i], name, len) == 0 && p->envp[i][len] == '=')
            return p->envp[i] + len + 1;
    }
    return "";
}

static void set_variable(struct program *p, const char *assignment)
{
    size_t len = strcspn(assignment, "=") + 1, i = 0;
    while (i < p->variables && strncmp(p->envp[i], assignment, len) != 0)
        i++;
    p->variables += i == p->variables;
    p->envp[i] = assignment;
}

/* Where bash would find it: the first in PATH that is a file and may be executed. */
static bool find_program(const struct program *p, char ret[static PATH_MAX])
{
    const char *name = p->words[0], *dir = variable(p, "PATH");
    struct stat st;
    if (strchr(name, '/'))
        return snprintf(ret, PATH_MAX, "%s", name) < PATH_MAX;
    for (size_t len; *dir; dir += len + (dir[len] == ':')) {
        len = strcspn(dir, ":");
        if (len && snprintf(ret, PATH_MAX, "%.*s/%s", (int)len, dir, name) < PATH_MAX &&
            stat(ret, &st) == 0 && S_ISREG(st.st_mode) && access(ret, X_OK) == 0)
            return true;
    }
    return false;
}

/*
 * A plain command is executed as bash would do it in its own place, with what bash sets in its
 * environment. Where that fails for any reason, bash is asked, and has its say.
 */
static void execute_words(struct program *p)
{
    static char path[PATH_MAX], last[PATH_MAX + 2], directory[PATH_MAX + 4];
    if (!p->words[0] || !p->cwd || !find_program(p, path))
        return;
    snprintf(last, sizeof(last), "_=%s", path);
    snprintf(directory, sizeof(directory), "PWD=%s", p->cwd);
    set_variable(p, directory);
    set_variable(p, last);
    execve(path, (char *const *)p->words, (char *const *)p->envp);
    /* bash sets the two by itself, and believes nobody in that. */
}

/*
 * The last steps, in the process that becomes the program. Init itself has neither Landlock's rules
 * nor the filter on it: being outside of the one, it gets no signals from the inside.
 */
static _Noreturn void become_program(struct launch *l, struct program *p, int gate)
{
    setsid();
    /* It is a terminal only where the run was given one of its own. */
    ioctl(STDIN_FILENO, TIOCSCTTY, 0);
    /* Where there is no room for it, the session's state is not kept, and that is told. */
    if (l->session && dup3(WIRE_HELD_FD, WIRE_SESSION_FD, 0) < 0)
        l->session = false;
    /* In the order in which it is written, for it is written to one place. */
    if (p->combined && dup2(STDOUT_FILENO, STDERR_FILENO) < 0) {
        err_errno(&l->err, -errno, "cannot put the outputs together");
        launch_give_up(l);
    }
    int listener = landlock_restrict(l) < 0 ? -1 : filter_install(l);
    /* Who waits has not all that the guard wants: init tells it, later. */
    int r = listener < 0 ? listener
            : l->waits   ? fd_send(gate, &listener, 1)
                         : handover_send(l, listener);
    if (r == 0 && l->waits)
        r = dup2(gate, PLAN_GATE_FD) < 0 ? -errno : 0;
    if (r == 0) {
        execute_words(p);
        execve(p->path, (char *const *)p->argv, (char *const *)p->envp);
        err_errno(&l->err, -errno, "cannot execute '%s'", p->path);
    }
    launch_give_up(l);
}

/*
 * Starts the program's process, which waits until it is traced. For that it must be one that may be
 * looked into; so is init for the moment, and there is nobody yet who could.
 */
static pid_t start_program(struct launch *l, struct program *p, int *ret_gate)
{
    int gate[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gate) < 0 ||
        prctl(PR_SET_DUMPABLE, 1) < 0)
        return err_errno(&l->err, -errno, "cannot start a process");
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(gate[1]);
        if (read(gate[0], &byte, 1) != 1)
            _exit(125);
        if (l->waits && privilege_drop(l) < 0)
            launch_give_up(l);
        become_program(l, p, gate[0]);
    }
    if (pid < 0)
        return err_errno(&l->err, -errno, "cannot start a process");
    int r = trace_begin(&l->trace, l->budgets.processes, pid);
    if (r < 0)
        return err_errno(&l->err, r, "cannot trace the program");
    if (prctl(PR_SET_DUMPABLE, 0) < 0 || write(gate[1], "", 1) != 1)
        return err_errno(&l->err, -errno, "cannot start the program");
    close(gate[0]);
    *ret_gate = gate[1];
    return pid;
}

/*
 * The guard's wish to end it all. The inside may send the signal, too, and is not heard: only from
 * another pid namespace does it come without a sender. No fork escapes a signal to all.
 */
static volatile sig_atomic_t asked;

static void end_all(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    /* A queued signal says of its sender what it likes; the kernel speaks for a plain one. */
    if (info->si_code == SI_USER && info->si_pid == 0) {
        asked = 1;
        kill(-1, SIGKILL);
    }
}

static volatile sig_atomic_t ticked;

static void note_time(int number)
{
    (void)number;
    ticked = 1; /* and wakes whoever waits */
}

static void note_child(int number)
{
    (void)number; /* only wakes ppoll */
}

static int watch_for_end(struct launch *l)
{
    struct sigaction action = {.sa_sigaction = end_all, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction alarm = {.sa_handler = note_time}, child = {.sa_handler = note_child};
    sigemptyset(&action.sa_mask);
    sigemptyset(&alarm.sa_mask);
    sigemptyset(&child.sa_mask);
    if (sigaction(WIRE_END_SIGNAL, &action, NULL) < 0 || sigaction(SIGALRM, &alarm, NULL) < 0 ||
        sigaction(SIGCHLD, &child, NULL) < 0)
        return err_errno(&l->err, -errno, "cannot watch for signals");
    return 0;
}

/* Who ends or stops is told by waitpid; by the signal, too, only where ppoll lets it in. */
static void hold_back_children(void)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
}

/* Until somebody ends or stops, or the supervisor has said something of a program. */
static void wait_for_either(struct trace *t)
{
    struct pollfd socket = {.fd = t->programs.socket, .events = programs_events(&t->programs)};
    int wait_ms = programs_patience_ms(&t->programs);
    struct timespec wait = {.tv_nsec = wait_ms * 1000000L};
    sigset_t none;
    sigemptyset(&none);
    ppoll(&socket, 1, wait_ms < 0 ? NULL : &wait, &none);
    trace_serve_programs(t);
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

/* What all of them have used. */
static bool count_usage(struct wire_usage *usage)
{
    struct rusage r;
    static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    bool known = true;
    for (size_t i = 0; i < sizeof(whose) / sizeof(whose[0]); i++) {
        known = known && getrusage(whose[i], &r) == 0;
        if (known)
            guard_add_usage(usage, &r);
    }
    return known;
}

/*
 * Nobody is left, and who was has been accounted for: neither the supervisor nor the guard need
 * wait until we are gone.
 */
static void tell_end(const struct launch *l, const struct wire_message *ended)
{
    struct wire_message counted = {.kind = WIRE_COUNTED};
    bool known = count_usage(&counted.usage);
    struct wire_usage usage = counted.usage; /* the guard adds up, and knows of no processes */
    counted.code = asked || !known ? WIRE_ASKED : WIRE_BY_ITSELF;
    counted.usage.processes_peak = (uint32_t)l->trace.peak;
    counted.usage.spawns_refused = l->trace.refused;
    send(WIRE_CONTROL_FD, &counted, sizeof(counted), MSG_NOSIGNAL);
    if (ended->kind == WIRE_ENDED)
        send(WIRE_CONTROL_FD, ended, sizeof(*ended), MSG_NOSIGNAL);
    if (known)
        send(l->alive, &usage, sizeof(usage), MSG_NOSIGNAL);
}

/* Reaps until nobody is left; when the program ends, the others are killed. */
static _Noreturn void reap(struct launch *l, pid_t program)
{
    struct wire_message ended = {.kind = WIRE_NOTHING};
    const struct programs *programs = &l->trace.programs;
    bool ticking = false;
    for (;;) {
        int status;
        keep_patience(&l->trace, &ticking);
        if (ticked) {
            ticked = 0;
            trace_refuse_waiting(&l->trace);
        }
        bool both = programs->asked_count || programs->waiting_count;
        pid_t pid = waitpid(-1, &status, __WALL | (both ? WNOHANG : 0));
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid == 0) {
            wait_for_either(&l->trace);
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
    programs_finish(&l->trace.programs);
    tell_end(l, &ended);
    _exit(0);
}

/* Should the host run out of memory, the inside goes first. */
static void volunteer(void)
{
    FD_CLEANUP int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "800", 3) < 0)
        return; /* a wish */
}

/* Until the guard has mapped our user there is nobody to be. */
static int become_somebody(struct launch *l)
{
    int r = identity_assume(l);
    return r < 0 ? r : die_with_guard(l);
}

/* The first steps, which every plan has that is given to us. */
static int build_head(struct launch *l)
{
    int r = l->err.code < 0 ? l->err.code : become_somebody(l);
    return r < 0 ? r : build_walls(l);
}

static int build(struct launch *l, struct program *program)
{
    int r = l->done ? 0 : become_somebody(l);
    if (r == 0 && !l->full)
        r = l->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (r >= 0)
        r = build_walls(l);
    if (r == 0 && l->full)
        r = root_enter(l);
    if (r == 0 && l->full && l->waits)
        r = root_keep(l);
    if (r == 0 && l->full)
        r = root_let_go(l);
    if (r == 0 && l->full && !l->waits)
        r = root_close(l);
    if (r == 0)
        r = landlock_prepare(l);
    if (r == 0)
        r = prepare_program(l, program);
    if (r == 0)
        r = privilege_bound(l);
    return r < 0 || l->waits ? r : privilege_drop(l);
}

/* It is executed meanwhile, which is told like any other program's start. */
static void wait_for_rest(struct launch *l)
{
    struct pollfd rest = {.fd = l->alive, .events = POLLIN};
    sigset_t none;
    sigemptyset(&none);
    do {
        int status;
        pid_t pid;
        while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
            if (trace_handle(&l->trace, pid, status))
                _exit(125); /* it died, and there is no other */
        }
        trace_serve_programs(&l->trace);
    } while (ppoll(&rest, 1, NULL, &none) < 0);
}

static int receive_rest(struct launch *l)
{
    wait_for_rest(l);
    int r = launch_receive_plan(l, l->alive, -1);
    if (r == -EPIPE)
        _exit(125);
    return r;
}

/*
 * The program stands behind its walls and waits. What is still to be shown to it comes with the
 * rest of the plan; then our own rights go, and it may begin. Its text may come with that, or last
 * of all, when everything else is done.
 */
static int build_rest(struct launch *l, int gate)
{
    int listener = -1;
    l->done = l->plan.count;
    umask(0);
    hold_back_children();
    if (fd_receive(gate, &listener, 1, true) != 1)
        _exit(125); /* it could not be started, and said why */
    launch_report(WIRE_WAITS, l, 0);
    int r = receive_rest(l);
    if (r == 0)
        r = build_walls(l);
    if (r == 0 && l->waits)
        r = root_open_text(l);
    if (r == 0)
        r = root_close(l);
    if (r == 0)
        r = privilege_drop(l);
    if (r == 0)
        r = handover_send(l, listener);
    close(listener);
    if (r == 0 && l->waits) {
        r = receive_rest(l);
        if (r == 0)
            r = root_write_text(l);
    }
    if (r == 0 && write(gate, "\n", 1) != 1)
        r = err_errno(&l->err, -errno, "cannot start the program");
    return r;
}

_Noreturn void init_main(struct launch *l, bool own_network)
{
    static struct program program;
    l->stage = WIRE_STAGE_OTHER; /* the namespaces are there */
    volunteer();
    if (own_network)
        net_loopback_up(l);
    /* What fails before the plan is there is told with it: another plan has another init. */
    int r = launch_receive_plan(l, l->alive, -1);
    if (r == 1)
        build_head(l);
    const struct err why = l->err;
    enum wire_stage stage = l->stage;
    if (r == 1)
        r = launch_receive_plan(l, l->alive, -1);
    if (r == -EPIPE)
        _exit(125); /* the guard is gone, and has said why */
    if (why.code < 0) {
        l->err = why;
        l->stage = stage;
    }
    if (l->err.code < 0 || build(l, &program) < 0)
        launch_give_up(l);
    if (!l->full)
        become_program(l, &program, -1);
    setsid();
    if (watch_for_end(l) < 0 || launch_begin_programs(l, geteuid(), getegid()) < 0)
        launch_give_up(l);
    int gate = -1;
    pid_t pid = start_program(l, &program, &gate);
    if (pid < 0 || (l->waits && build_rest(l, gate) < 0))
        launch_give_up(l);
    close(gate);
    hold_back_children();
    /* Nothing of what the program was given is ours to hold: a pipe must end when it lets go. */
    close(WIRE_PLAN_FD);
    close(WIRE_HELD_FD);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    fd_close(&l->ruleset);
    for (size_t i = 0; i < l->plan.count; i++)
        fd_close(&l->tree[i]);
    reap(l, pid);
}
