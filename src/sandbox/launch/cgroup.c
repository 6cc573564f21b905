/*
 * Control groups: a harder wall for memory, where they can be had without asking anybody: version 2
 * where a part of the tree is ours to divide (systemd delegates it to a user's session), version 1
 * for root.
 *
 * Moving a process into a group can take the kernel many milliseconds, so a short run is never
 * moved: it is watched, as everybody is, and moved when it has lasted a while.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/group.h"
#include "sandbox/launch/guard.h"

enum { GROUPS = 3, ROUNDS = 16, THREADS_A_PROCESS = 32, THREADS_LEAST = 512 };

#define PREFIX "nacre-"

/* The hierarchies of version 1 that we use, in the order of `dirs`. */
static const char *const controllers[GROUPS] = {"memory", "pids", "cpuacct"};

static bool write_file(int dir, const char *name, const char *text)
{
    FD_CLEANUP int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);
    return fd >= 0 && write(fd, text, len) == (ssize_t)len;
}

static bool write_number(int dir, const char *name, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64, number);
    return write_file(dir, name, text);
}

/* --- a group of our own -------------------------------------------------------------------- */

static int make_dir(int parent, const char *name)
{
    privilege_override(true);
    int r = mkdirat(parent, name, 0755) < 0 ? -errno : 0;
    privilege_override(false);
    return r;
}

static int remove_dir(int parent, const char *name)
{
    privilege_override(true);
    int r = unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
    privilege_override(false);
    return r;
}

static int make_group(int parent, const char *name)
{
    if (parent < 0)
        return -1;
    int r = make_dir(parent, name);
    /* One of this name was left by a guard that had our number, if it is empty. */
    if (r == -EEXIST && remove_dir(parent, name) == 0)
        r = make_dir(parent, name);
    if (r < 0)
        return -1;
    int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        remove_dir(parent, name);
    return dir;
}

static bool make_v2(struct cgroup *g, const struct budgets *budgets)
{
    uint64_t threads = UINT64_MAX;
    if (budgets->processes)
        threads = budgets->processes * THREADS_A_PROCESS + THREADS_LEAST;
    g->parents[0] = group_open_parent_v2(&threads);
    g->dirs[0] = make_group(g->parents[0], g->name);
    if (g->dirs[0] < 0)
        return false;
    g->means = WIRE_BY_CGROUP_V2;
    write_file(g->dirs[0], "memory.swap.max", "0"); /* not there without swap */
    if (threads != UINT64_MAX)
        write_number(g->dirs[0], "pids.max", threads);
    return !budgets->memory_bytes || write_number(g->dirs[0], "memory.max", budgets->memory_bytes);
}

static bool make_v1(struct cgroup *g, const struct budgets *budgets)
{
    for (size_t i = 0; i < GROUPS; i++) {
        g->parents[i] = group_open_parent_v1(controllers[i]);
        g->dirs[i] = make_group(g->parents[i], g->name);
    }
    if (g->dirs[0] < 0)
        return false;
    g->means = WIRE_BY_CGROUP_V1;
    if (g->dirs[1] >= 0 && budgets->processes)
        write_number(g->dirs[1], "pids.max",
                     budgets->processes * THREADS_A_PROCESS + THREADS_LEAST);
    return !budgets->memory_bytes ||
           write_number(g->dirs[0], "memory.limit_in_bytes", budgets->memory_bytes);
}

static bool move_one(const struct cgroup *g, pid_t pid)
{
    bool moved = false;
    for (size_t k = 0; k < GROUPS; k++) {
        if (g->dirs[k] >= 0 && write_number(g->dirs[k], "cgroup.procs", (uint64_t)pid))
            moved |= k == 0;
    }
    return moved;
}

static bool was_there(const struct census *c, pid_t pid)
{
    for (size_t i = 0; i < c->read_count; i++) {
        if (c->read_pids[i] == pid)
            return true;
    }
    return false;
}

/*
 * Those who are born while we look are born where their parents are: look until nobody is new. How
 * many there are says nothing, for others end meanwhile. False: nobody could be moved.
 */
static bool move_all(const struct cgroup *g, pid_t init)
{
    struct census *c = malloc(sizeof(*c));
    if (!c)
        return false;
    *c = (struct census){.proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), .root = init};
    bool fresh = true, moved = false;
    for (int round = 0; c->proc >= 0 && fresh && round < ROUNDS; round++) {
        memcpy(c->read_pids, c->pids, c->count * sizeof(c->pids[0]));
        c->read_count = c->count;
        census_take(c);
        fresh = false;
        for (size_t i = 0; i < c->count; i++) {
            if (was_there(c, c->pids[i]))
                continue;
            fresh = true;
            moved |= move_one(g, c->pids[i]);
        }
    }
    fd_close(&c->proc);
    free(c);
    return moved;
}

/*
 * A group of version 2 lies beside ours, and filters of the network may hang on ours (systemd's
 * IPAddressDeny=): whoever has the network stays. One of version 1 lies below.
 */
void cgroup_join(struct cgroup *g, const struct launch *l, pid_t init)
{
    const struct budgets *budgets = &l->budgets;
    snprintf(g->name, sizeof(g->name), PREFIX "%d", (int)getpid());
    if (!l->networked && make_v2(g, budgets) && move_all(g, init))
        return;
    cgroup_leave(g);
    if (make_v1(g, budgets) && move_all(g, init))
        return;
    cgroup_leave(g);
}

/* The number in the line "NAME NUMBER". */
static uint64_t number_of(const char *text, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += len) {
        if ((at == text || at[-1] == '\n') && at[len] == ' ')
            return strtoull(at + len, NULL, 10);
    }
    return 0;
}

/* Those whom the kernel killed for the memory of a group above ours, or for everybody's, are among
 * the killed as well; version 2 tells whether it was for ours. */
bool cgroup_ran_out(const struct cgroup *g)
{
    char text[1024];
    bool v2 = g->means == WIRE_BY_CGROUP_V2;
    const char *file = v2 ? "memory.events" : "memory.oom_control";
    if (g->dirs[0] < 0 || !group_read_file(g->dirs[0], file, text, sizeof(text)))
        return false;
    return number_of(text, "oom_kill") > 0 && (!v2 || number_of(text, "oom") > 0);
}

/* Version 2 counts it in every group; of version 1 it is a hierarchy of its own. */
uint64_t cgroup_cpu_ms(const struct cgroup *g)
{
    char text[1024];
    if (g->means == WIRE_BY_CGROUP_V2) {
        group_read_file(g->dirs[0], "cpu.stat", text, sizeof(text));
        return number_of(text, "usage_usec") / 1000;
    }
    if (g->dirs[2] < 0 || !group_read_file(g->dirs[2], "cpuacct.usage", text, sizeof(text)))
        return 0;
    return strtoull(text, NULL, 10) / 1000000;
}

void cgroup_leave(struct cgroup *g)
{
    for (size_t i = 0; i < GROUPS; i++) {
        if (g->dirs[i] >= 0)
            remove_dir(g->parents[i], g->name);
        fd_close(&g->dirs[i]);
        fd_close(&g->parents[i]);
    }
    g->means = WIRE_BY_WATCHING;
}

/* Whether the process of this number is a guard that lives; numbers are used again. */
static bool is_guard(long pid)
{
    static const char name[] = "(nacre-launch) ";
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    group_read_file(AT_FDCWD, path, text, sizeof(text));
    const char *state = strstr(text, name);
    return state && !strchr("ZX", state[strlen(name)]);
}

/* A guard's number is in its group's name. One that lives among other numbers is not empty. */
static void sweep_below(int parent)
{
    DIR *stream = parent < 0 ? NULL : fdopendir(parent);
    const struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        long pid = strtol(entry->d_name + strlen(PREFIX), NULL, 10);
        if (pid > 0 && !is_guard(pid))
            remove_dir(dirfd(stream), entry->d_name);
    }
    if (stream)
        closedir(stream);
    else if (parent >= 0)
        close(parent);
}

/* A look at our own group tells whether it has any below it; the usual answer costs next to
 * nothing. */
void cgroup_sweep(void)
{
    int parent = group_open_parent_v1(controllers[0]);
    struct stat st;
    bool any = parent >= 0 && fstat(parent, &st) == 0 && st.st_nlink > 2;
    if (!any) {
        fd_close(&parent);
        sweep_below(group_open_parent_v2(NULL));
        return;
    }
    sweep_below(parent);
    for (size_t i = 1; i < GROUPS; i++)
        sweep_below(group_open_parent_v1(controllers[i]));
}
