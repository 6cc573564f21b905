/*
 * The guard: outlives everything inside, keeps the limits, and tells the end. The limits are kept
 * here, and not by the supervisor, which may be held up by its own caller.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/kernel_calls.h"
#include "sandbox/launch/guard.h"

enum {
    ASK_MS = 1000, /* how long init may take to end everything, which tells us what was used */
    JOIN_MS = 100, /* after this a control group is worth its time */
    DISK_MS = 20,  /* between two looks at the free space */
};

enum { AGAIN_MS = 20 }; /* between two kills of all, where one may not be enough */

enum phase { RUNNING, ASKED, KILLED };

struct guard {
    struct launch *launch;
    pid_t init;
    int pidfd, alive;
    bool handed_over; /* what comes on `alive` from then on is init's account */
    uint64_t start_ms, asked_ms, disk_ms, patience_ms;
    enum phase phase;
    enum wire_limit limit;
    enum wire_means means;
    bool joined, counted; /* counted: init has said that nobody is left, and what was used */
    struct wire_usage usage;
    struct wire_message ended; /* landlock strength: there is no init to say so */
    struct handover handover;
    struct census census;
    struct notices notices;
    struct watch watch;
    struct disk disk;
    struct cgroup cgroup;
};

static void note_child(int number)
{
    (void)number; /* only wakes poll */
}

/* What the guard still holds is only what it needs. */
static void shed(struct guard *g)
{
    struct launch *l = g->launch;
    /* The program's descriptors are init's to pass on: a pipe must end when the inside lets go. */
    kernel_close_range(STDIN_FILENO, STDERR_FILENO, 0);
    close(WIRE_PLAN_FD);
    if (l->full)
        close(WIRE_PROGRAMS_FD); /* init's */
    if (l->held)
        g->watch.held = WIRE_HELD_FD;
    else
        close(WIRE_HELD_FD);
    for (size_t i = 0; i < l->plan.count; i++)
        fd_close(&l->tree[i]);
    if (l->privileged)
        privilege_shed(l);
    struct sigaction child = {.sa_handler = note_child};
    sigemptyset(&child.sa_mask);
    sigaction(SIGCHLD, &child, NULL);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* again: a change of user takes it away */
}

/* --- the end -------------------------------------------------------------------------------- */

/* In landlock strength there is no process 1 whose death ends all: all become our children. */
static void kill_all(struct guard *g)
{
    if (g->census.proc < 0)
        kill(g->init, SIGKILL);
    else
        census_take(&g->census);
    for (size_t i = 0; g->census.proc >= 0 && i < g->census.count; i++)
        kill(g->census.pids[i], SIGKILL);
}

static void end(struct guard *g, enum wire_limit limit)
{
    if (g->phase != RUNNING)
        return;
    g->phase = ASKED;
    g->limit = limit;
    g->asked_ms = clock_monotonic_ms();
    g->means = g->cgroup.means;
    if (g->launch->full)
        kernel_pidfd_send_signal(g->pidfd, WIRE_END_SIGNAL, NULL, 0);
    else
        kill_all(g);
}

/* --- the account ---------------------------------------------------------------------------- */

void guard_add_usage(struct wire_usage *usage, const struct rusage *r)
{
    usage->cpu_us += (uint64_t)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) * 1000000 +
                     (uint64_t)(r->ru_utime.tv_usec + r->ru_stime.tv_usec);
    usage->bytes_written += (uint64_t)r->ru_oublock * 512;
    if ((uint64_t)r->ru_maxrss * 1024 > usage->memory_peak_bytes)
        usage->memory_peak_bytes = (uint64_t)r->ru_maxrss * 1024;
}

/*
 * Landlock strength: the guard is the one that traces and reaps. True: nobody is left. Whoever ends
 * after the program, which takes all others with it, is a survivor.
 */
static bool reap(struct guard *g)
{
    for (;;) {
        struct rusage r;
        int status;
        pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &r);
        if (pid <= 0)
            return pid < 0 && errno == ECHILD;
        if (pid == g->disk.walker)
            continue; /* its pipe tells */
        /* Somebody may be born while all are killed, and its birth never told. */
        if (WIFSTOPPED(status) && (g->ended.kind == WIRE_ENDED || g->phase != RUNNING)) {
            kill(pid, SIGKILL);
            continue;
        }
        if (!trace_handle(&g->launch->trace, pid, status))
            continue;
        if (pid == g->init) {
            g->ended = (struct wire_message){.kind = WIRE_ENDED, .code = status};
            guard_add_usage(&g->usage, &r);
            kill_all(g);
        } else if (g->ended.kind == WIRE_ENDED) {
            g->ended.survivors++;
        }
    }
}

/* --- one turn ------------------------------------------------------------------------------- */

/* Init's last word. It alone holds the other end. */
static void receive_account(struct guard *g)
{
    struct wire_usage usage;
    ssize_t n = recv(g->alive, &usage, sizeof(usage), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    g->alive = -1;
    g->counted = n == (ssize_t)sizeof(usage);
    if (g->counted)
        g->usage = usage;
}

static void receive_handover(struct guard *g)
{
    int r = handover_receive(g->alive, g->launch->full, &g->handover);
    if (r == -EAGAIN)
        return;
    g->handed_over = true;
    if (r < 0 || !g->launch->full)
        g->alive = -1; /* no longer polled; its end stays open for as long as we live (L1) */
    if (r < 0)
        return; /* init died while it built, and said why */
    launch_report(WIRE_BUILT, g->launch, 0);
    guard_sweep(g->launch); /* while the program starts there is time */
    g->census.proc = g->handover.proc;
    g->notices.listener = g->handover.listener;
    g->notices.scratch = g->watch.scratch = g->handover.scratch;
    memcpy(g->notices.ipc, g->handover.ipc, sizeof(g->notices.ipc));
    if (g->launch->budgets.disk_bytes)
        disk_begin(&g->disk, &g->handover);
    g->watch.next_ms = g->start_ms + WIRE_FIRST_LOOK_MS;
}

static void look(struct guard *g, uint64_t now_ms)
{
    const struct budgets *budgets = &g->launch->budgets;
    census_take(&g->census);
    enum wire_limit limit =
        watch_look(&g->watch, budgets, &g->census, cgroup_cpu_ms(&g->cgroup), now_ms);
    if (limit == WIRE_LIMIT_NONE && cgroup_ran_out(&g->cgroup))
        limit = WIRE_LIMIT_MEMORY;
    if (limit != WIRE_LIMIT_NONE) {
        end(g, limit);
        return;
    }
    if (now_ms - g->disk_ms >= DISK_MS) {
        g->disk_ms = now_ms;
        disk_look(&g->disk, budgets, &g->census);
        g->census.ours = g->launch->full ? 0 : g->disk.walker;
    }
    if (!g->joined && now_ms - g->start_ms >= JOIN_MS && g->launch->full) {
        g->joined = true;
        g->watch.joined_cpu_ms = g->watch.cpu_ms;
        cgroup_join(&g->cgroup, g->launch, g->init);
    }
}

/* Milliseconds until something is due; -1: nothing is. */
static int until_next(const struct guard *g, uint64_t now_ms)
{
    uint64_t due = UINT64_MAX;
    if (!g->launch->full && (g->phase != RUNNING || g->ended.kind == WIRE_ENDED))
        due = now_ms + AGAIN_MS;
    else if (g->phase == ASKED)
        due = g->asked_ms + ASK_MS;
    else if (g->phase == RUNNING && g->launch->budgets.wall_ms)
        due = g->start_ms + g->launch->budgets.wall_ms;
    if (g->phase == RUNNING && g->census.proc >= 0 && g->watch.next_ms < due)
        due = g->watch.next_ms;
    if (g->launch->trace.waiting_count && g->patience_ms < due)
        due = g->patience_ms;
    int again_ms = programs_patience_ms(&g->launch->trace.programs);
    if (again_ms >= 0 && now_ms + (uint64_t)again_ms < due)
        due = now_ms + (uint64_t)again_ms;
    if (due == UINT64_MAX)
        return -1;
    return due <= now_ms ? 0 : due - now_ms > INT_MAX ? INT_MAX : (int)(due - now_ms);
}

static void keep_time(struct guard *g, uint64_t now_ms)
{
    const uint64_t wall = g->launch->budgets.wall_ms;
    if (!g->launch->full && (g->phase != RUNNING || g->ended.kind == WIRE_ENDED))
        kill_all(g); /* until nobody is left */
    if (g->phase == RUNNING && wall && now_ms - g->start_ms >= wall)
        end(g, WIRE_LIMIT_WALL);
    if (g->phase == RUNNING && g->census.proc >= 0 && now_ms >= g->watch.next_ms)
        look(g, now_ms);
    if (g->phase == ASKED && now_ms >= g->asked_ms + ASK_MS && g->launch->full) {
        kernel_pidfd_send_signal(g->pidfd, SIGKILL, NULL, 0);
        g->phase = KILLED;
    }
}

/* Waits until something happens and does it. False: everybody has ended, but for init perhaps. */
static bool turn(struct guard *g)
{
    enum { INIT, CONTROL, ALIVE, NOTICES, DISK, PROGRAMS, WATCHED };
    const struct programs *programs = &g->launch->trace.programs;
    const short programs_wanted = (short)(g->launch->full ? 0 : programs_events(programs));
    struct pollfd watched[WATCHED] = {
        [INIT] = {.fd = g->launch->full ? g->pidfd : -1, .events = POLLIN},
        [CONTROL] = {.fd = g->phase == RUNNING ? WIRE_CONTROL_FD : -1, .events = POLLIN},
        [ALIVE] = {.fd = g->alive, .events = POLLIN},
        [NOTICES] = {.fd = g->notices.listener, .events = POLLIN},
        [DISK] = {.fd = g->disk.result, .events = POLLIN},
        [PROGRAMS] = {.fd = programs_wanted ? programs->socket : -1, .events = programs_wanted},
    };
    /* In landlock strength whoever stops or ends wakes us, and only here. */
    sigset_t none;
    sigemptyset(&none);
    int wait_ms = until_next(g, clock_monotonic_ms());
    struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L};
    int r = ppoll(watched, WATCHED, wait_ms < 0 ? NULL : &wait, &none);
    if (!g->launch->full && reap(g))
        return false;
    if (!g->launch->full && (programs->asked_count || programs->waiting_count))
        trace_serve_programs(&g->launch->trace);
    uint64_t now_ms = clock_monotonic_ms();
    if (!g->launch->trace.waiting_count)
        g->patience_ms = now_ms + TRACE_PATIENCE_MS;
    else if (now_ms >= g->patience_ms) {
        trace_refuse_waiting(&g->launch->trace);
        g->patience_ms = now_ms + TRACE_PATIENCE_MS;
    }
    if (r > 0) {
        if (watched[INIT].revents & POLLIN)
            return false;
        if (watched[ALIVE].revents && g->handed_over)
            receive_account(g);
        else if (watched[ALIVE].revents)
            receive_handover(g);
        if (g->counted)
            return false;
        if (watched[NOTICES].revents & POLLIN)
            notices_answer(&g->notices);
        else if (watched[NOTICES].revents)
            g->notices.listener = -1; /* nobody is left who could ask */
        if (watched[DISK].revents &&
            disk_is_over(&g->disk, &g->launch->budgets, &g->census, g->notices.allocated_bytes))
            end(g, WIRE_LIMIT_DISK);
        if (watched[CONTROL].revents)
            end(g, WIRE_LIMIT_NONE);
    }
    keep_time(g, now_ms);
    return true;
}

/* --- the whole ------------------------------------------------------------------------------ */

static void bury(const struct guard *g, struct rusage *ret)
{
    while (wait4(g->init, NULL, 0, ret) < 0 && errno == EINTR)
        ;
}

static void report(struct guard *g)
{
    struct wire_message message = {.kind = WIRE_GONE, .limit = g->limit, .means = g->means};
    struct rusage r = {0};
    if (g->launch->full && !g->counted) {
        bury(g, &r);
        guard_add_usage(&g->usage, &r);
    } else if (!g->launch->full) {
        programs_finish(&g->launch->trace.programs);
        g->usage.processes_peak = (uint32_t)g->launch->trace.peak;
        g->usage.spawns_refused = g->launch->trace.refused;
        if (g->phase == RUNNING)
            send(WIRE_CONTROL_FD, &g->ended, sizeof(g->ended), MSG_NOSIGNAL);
    }
    /* The kernel may have been faster than we were. */
    if (g->phase == RUNNING && cgroup_ran_out(&g->cgroup)) {
        message.limit = WIRE_LIMIT_MEMORY;
        message.means = g->cgroup.means;
    }
    message.usage = g->usage;
    if (g->watch.memory_peak > message.usage.memory_peak_bytes)
        message.usage.memory_peak_bytes = g->watch.memory_peak;
    watch_raise_cpu(&g->watch, cgroup_cpu_ms(&g->cgroup));
    if (g->watch.cpu_ms * 1000 > message.usage.cpu_us)
        message.usage.cpu_us = g->watch.cpu_ms * 1000;
    /* With init go mounts and namespaces, in which nobody is any more: that takes longer than many
     * commands, and is for us alone to wait for. */
    send(WIRE_CONTROL_FD, &message, sizeof(message), MSG_NOSIGNAL);
    if (g->launch->full && g->counted)
        bury(g, &r);
    disk_end(&g->disk);
    cgroup_leave(&g->cgroup);
}

void guard_sweep(struct launch *l)
{
    if (!l->swept)
        cgroup_sweep();
    l->swept = true;
}

void guard_main(struct launch *l, pid_t init, int pidfd, int alive)
{
    static struct guard guard = {.disk = DISK_NONE, .cgroup = CGROUP_NONE};
    struct guard *g = &guard;
    g->launch = l;
    g->init = init;
    g->pidfd = pidfd;
    g->alive = alive;
    g->start_ms = clock_monotonic_ms();
    g->census.proc = g->notices.listener = g->notices.scratch = g->watch.scratch = g->watch.held =
        -1;
    g->census.root = l->full ? 0 : getpid();
    g->notices.launch = l;
    g->notices.census = &g->census;
    g->watch.last_ms = g->start_ms;
    shed(g);
    while (turn(g))
        ;
    report(g);
}
