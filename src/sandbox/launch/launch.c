/* The launcher's main program; see launch.h. */
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
    struct pollfd control = {.fd = WIRE_CONTROL_FD, .events = 0}; /* its end is told unasked */
    if (poll(&control, 1, 0) != 0)
        return err_set(&l->err, -EPIPE, "the supervisor is gone");
    return 0;
}

/* Leaves standard input, output and error, and the control socket. */
static int close_descriptors(struct launch *l)
{
    if (kernel_close_range(WIRE_CONTROL_FD + 1, ~0U, 0) < 0 ||
        kernel_close_range(WIRE_CONTROL_FD, WIRE_CONTROL_FD, CLOSE_RANGE_CLOEXEC) < 0)
        return err_errno(&l->err, -errno, "cannot close descriptors");
    return 0;
}

static int map_plan(struct launch *l, struct plan_step steps[static PLAN_STEPS_MAX],
                    struct plan *ret)
{
    struct stat st;
    if (fstat(WIRE_PLAN_FD, &st) < 0)
        return err_errno(&l->err, -errno, "cannot read the plan");
    if (st.st_size <= 0 || st.st_size > PLAN_BYTES_MAX)
        return err_set(&l->err, -EBADMSG, "plan: %lld bytes", (long long)st.st_size);
    size_t size = (size_t)st.st_size;
    const char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, WIRE_PLAN_FD, 0);
    if (bytes == MAP_FAILED)
        return err_errno(&l->err, -errno, "cannot map the plan");
    return plan_decode(bytes, size, steps, PLAN_STEPS_MAX, ret, &l->err);
}

/* Strength and budgets. A plan without a strength is none. */
static int read_frame(struct launch *l)
{
    const struct {
        const char *name;
        uint64_t *value;
    } budgets[] = {
        {"wall_ms", &l->budgets.wall_ms},           {"cpu_ms", &l->budgets.cpu_ms},
        {"memory_bytes", &l->budgets.memory_bytes}, {"processes", &l->budgets.processes},
        {"disk_bytes", &l->budgets.disk_bytes},     {"disk_inodes", &l->budgets.disk_inodes},
    };
    bool has_strength = false;
    for (size_t i = 0; i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        if (step->kind == PLAN_STRENGTH) {
            l->full = strcmp(step->text, "landlock") != 0;
            has_strength = true;
        }
        if (step->kind != PLAN_BUDGET)
            continue;
        size_t n = 0;
        while (n < sizeof(budgets) / sizeof(budgets[0]) && strcmp(budgets[n].name, step->text) != 0)
            n++;
        if (n == sizeof(budgets) / sizeof(budgets[0]))
            return err_set(&l->err, -EINVAL, "unknown budget '%s'", step->text);
        *budgets[n].value = step->number[0];
    }
    return has_strength ? 0 : err_set(&l->err, -EINVAL, "the plan has no strength");
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
    if (l->full ? (flags & least) != least : flags != 0)
        return err_set(&l->err, -EINVAL, "the plan's namespaces are not those of its strength");
    l->networked = !(flags & CLONE_NEWNET);
    *ret = flags;
    return 0;
}

/* Init, from its making on: without a plan until it gets one. */
struct start {
    uint64_t flags;
    pid_t pid;
    int pidfd, alive;
};

/* Starts init in its namespaces. In the child this does not return. */
static int start_init(struct launch *l, uint64_t flags, struct start *ret)
{
    int alive[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, alive) < 0)
        return err_errno(&l->err, -errno, "cannot make a socket");
    if (flags)
        l->stage = WIRE_STAGE_NAMESPACES;
    int pidfd = -1;
    long pid = syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, &pidfd, NULL, NULL);
    if (pid < 0)
        return err_errno(&l->err, -errno, "cannot make namespaces");
    if (pid == 0) {
        close(alive[1]);
        l->alive = alive[0];
        init_main(l, flags & CLONE_NEWNET);
    }
    close(alive[0]);
    *ret = (struct start){.flags = flags, .pid = (pid_t)pid, .pidfd = pidfd, .alive = alive[1]};
    int r = flags ? identity_write_maps(l, (pid_t)pid) : 0;
    if (r < 0)
        return r;
    l->stage = WIRE_STAGE_OTHER;
    return 0;
}

/* It has done nothing yet. */
static void stop_init(struct start *s)
{
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    fd_close(&s->pidfd);
    fd_close(&s->alive);
    s->pid = -1;
}

/* Init gets the plan, the pipe for a session, and a held mount if it is the one to open it. */
static int hand_over_plan(struct launch *l, const struct start *s)
{
    const int fds[] = {WIRE_PLAN_FD,  STDIN_FILENO,     STDOUT_FILENO,
                       STDERR_FILENO, WIRE_PROGRAMS_FD, WIRE_HELD_FD};
    int r = fd_send(s->alive, fds, l->session || (!l->privileged && l->held) ? 6 : 5);
    return r < 0 ? err_set(&l->err, -EPIPE, "process 1 died before it began") : 0;
}

/* Where root opened them: the mounts of the bind steps, in their order. */
static int hand_over_trees(struct launch *l, const struct start *s)
{
    int fds[FD_PASSED_MAX];
    size_t count = 0;
    for (size_t i = l->done; i < l->plan.count; i++) {
        if (l->tree[i] < 0)
            continue;
        if (count == FD_PASSED_MAX)
            return err_set(&l->err, -E2BIG, "the plan has too many mounts");
        fds[count++] = l->tree[i];
        l->tree[i] = -1;
    }
    int r = count ? fd_send(s->alive, fds, count) : 0;
    /* They are init's now. */
    while (count)
        close(fds[--count]);
    return r < 0 ? err_set(&l->err, -EPIPE, "process 1 died while it built") : 0;
}

static bool has_session(const struct plan *plan)
{
    bool found = false;
    for (size_t i = 0; i < plan->count; i++)
        found |= plan->steps[i].kind == PLAN_FD && strcmp(plan->steps[i].text, PLAN_SESSION) == 0;
    return found;
}

/* The steps behind those that the plan has. */
static int append_steps(struct launch *l)
{
    static struct plan_step more[PLAN_STEPS_MAX];
    struct plan rest = {0};
    int r = map_plan(l, more, &rest);
    if (r == 0 && rest.count > PLAN_STEPS_MAX - l->plan.count)
        r = err_set(&l->err, -E2BIG, "the plan has too many steps");
    if (r < 0)
        return r;
    if (rest.count)
        memcpy(l->plan.steps + l->plan.count, rest.steps, rest.count * sizeof(rest.steps[0]));
    l->plan.count += rest.count;
    return 0;
}

int launch_receive_plan(struct launch *l, int socket, int on)
{
    static struct plan_step head_steps[PLAN_STEPS_MAX], steps[PLAN_STEPS_MAX];
    static const int numbers[] = {WIRE_PLAN_FD,  STDIN_FILENO,     STDOUT_FILENO,
                                  STDERR_FILENO, WIRE_PROGRAMS_FD, WIRE_HELD_FD};
    enum { HEAD = 1, WITHOUT_HELD = 5, ALL = 6 };
    int fds[ALL];
    int count = fd_receive(socket, fds, ALL, true);
    if (count == -EMFILE)
        return err_errno(&l->err, count, "cannot take the plan");
    if (count <= 0)
        return -EPIPE;
    bool rest = count == HEAD && l->waits, head = count == HEAD && !rest;
    if (rest ? l->done != l->plan.count : head ? l->plan.count > 0 : count < WITHOUT_HELD)
        return err_set(&l->err, -EBADMSG, "the plan came without descriptors");
    if (on >= 0 && fd_send(on, fds, (size_t)count) < 0)
        return err_set(&l->err, -ESRCH, "process 1 died while it waited");
    /* Their numbers are reserved, so they come under others. */
    for (int i = 0; i < count; i++) {
        if (dup3(fds[i], numbers[i], numbers[i] > STDERR_FILENO ? O_CLOEXEC : 0) < 0)
            return err_errno(&l->err, -errno, "cannot keep the plan");
        close(fds[i]);
    }
    struct plan plan = {0};
    int r = rest ? append_steps(l) : map_plan(l, head ? head_steps : steps, &plan);
    if (r < 0)
        return r;
    if (!rest) {
        l->session = count == ALL && has_session(&plan);
        l->held = count == ALL && !l->session;
        /* What was built for another plan is of no use: the guard begins anew. */
        if (!head && !plan_begins_with(&plan, &l->plan))
            l->done = 0;
        l->plan = plan;
    }
    l->waits = l->plan.count && l->plan.steps[l->plan.count - 1].kind == PLAN_WAIT;
    return head ? 1 : read_frame(l);
}

int launch_begin_programs(struct launch *l, uid_t uid, gid_t gid)
{
    bool words = false; /* a command in place of the shell: its file is not in the text */
    for (size_t i = 0; i < l->plan.count; i++)
        words |= l->plan.steps[i].kind == PLAN_WORD;
    int r = programs_begin(&l->trace.programs, words, uid, gid);
    return r < 0 ? err_errno(&l->err, r, "cannot look at programs") : 0;
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

/* The namespaces that nearly every plan has. */
static const uint64_t usual = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                              CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

/* Numbers that the plan and a held mount will have, so that nothing else gets them. */
static int reserve_numbers(struct launch *l)
{
    for (int fd = WIRE_PLAN_FD; fd <= WIRE_HELD_FD; fd++) {
        if (dup3(WIRE_CONTROL_FD, fd, O_CLOEXEC) < 0)
            return err_errno(&l->err, -errno, "cannot reserve a descriptor");
    }
    return 0;
}

/* Root opens what the inside's user could not reach; a user does so from within. */
static int send_trees(struct launch *l, const struct start *s)
{
    if (!l->privileged || !l->full)
        return 0;
    int r = tree_open_all(l);
    return r < 0 ? r : hand_over_trees(l, s);
}

/* Init builds what nearly every plan begins with. If it dies over that, it says why. */
static void hand_over_head(struct launch *l, const struct start *s)
{
    const int plan = WIRE_PLAN_FD;
    if (fd_send(s->alive, &plan, 1) == 0 && send_trees(l, s) < 0)
        launch_give_up(l);
    l->done = l->plan.count;
}

/* The rest of a plan that waits, part by part; its program has been started. */
static int hand_over_rest(struct launch *l, const struct start *s)
{
    int r = 0;
    if (l->privileged)
        tree_expect(l);
    identity_reap();
    guard_sweep(l);
    while (r == 0 && l->waits) {
        l->done = l->plan.count;
        r = launch_receive_plan(l, WIRE_CONTROL_FD, s->alive);
        if (r == -EPIPE)
            _exit(125); /* it is not wanted any more */
        if (r == 0)
            r = send_trees(l, s);
    }
    return r;
}

/* What the plan wants, made anew if it is not what was made before it was there. */
static int finish_start(struct launch *l, struct start *s, int early, bool built)
{
    uint64_t flags = 0;
    int r = namespace_flags(l, &flags);
    if (r == 0)
        r = identity_choose(l);
    if (r < 0 || (early == 0 && flags == s->flags && (!built || l->done)))
        return r;
    if (early < 0 && flags)
        return early; /* l->err still says why */
    if (s->pid > 0)
        stop_init(s);
    for (size_t i = 0; i < PLAN_STEPS_MAX; i++)
        fd_close(&l->tree[i]);
    l->done = 0;
    l->err = (struct err){0};
    r = start_init(l, flags, s);
    if (r == 0 && !l->full)
        r = launch_begin_programs(l, l->identity.outer_uid, l->identity.outer_gid);
    if (r == 0 && !l->full)
        r = trace_begin(&l->trace, l->budgets.processes, s->pid);
    return r < 0 && l->err.code == 0 ? err_errno(&l->err, r, "cannot trace the program") : r;
}

int main(int argc, char **argv)
{
    static struct launch launch;
    struct launch *l = &launch;
    for (size_t i = 0; i < PLAN_STEPS_MAX; i++)
        l->tree[i] = -1;
    l->root = l->covered = l->alive = l->blank_file = l->blank_dir = l->peg = l->hanger =
        l->ruleset = l->text = l->old_root = -1;
    l->privileged = geteuid() == 0;

    /* Everything here is made with the modes that the plan says. */
    umask(0);
    /* A session of our own: the terminal's keys reach the supervisor alone. EPERM: it is one. */
    setsid();

    if (argc == 2 && strcmp(argv[1], WIRE_KEEP) == 0)
        keep_main(l); /* which ends with its socket, not with the thread that started it */
    if (die_with_supervisor(l) < 0 || close_descriptors(l) < 0 || reserve_numbers(l) < 0)
        launch_give_up(l);

    struct start start = {.pid = -1, .pidfd = -1, .alive = -1};
    l->full = true;
    int early = identity_choose(l);
    if (early == 0)
        early = start_init(l, usual, &start);
    struct err why = l->err;
    enum wire_stage stage = l->stage;
    int r = launch_receive_plan(l, WIRE_CONTROL_FD, -1);
    bool built = r == 1 && early == 0;
    if (built)
        hand_over_head(l, &start);
    if (r == 1)
        r = launch_receive_plan(l, WIRE_CONTROL_FD, -1);
    if (r == -EPIPE)
        _exit(125); /* the supervisor's wish that nothing be done */
    if (r < 0)
        launch_give_up(l);
    if (early < 0) {
        l->err = why;
        l->stage = stage;
    }
    /* Without a process 1 of its own, those whose parents die are to become ours. */
    if (!l->full)
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (finish_start(l, &start, early, built) < 0)
        launch_give_up(l); /* init ends with us (L1) */

    if (l->privileged)
        hand_over_pipes(l);
    if (hand_over_plan(l, &start) < 0 || send_trees(l, &start) < 0)
        launch_give_up(l);
    if (l->waits && hand_over_rest(l, &start) < 0)
        launch_give_up(l);
    identity_reap();
    guard_main(l, start.pid, start.pidfd, start.alive);
    return 0;
}
