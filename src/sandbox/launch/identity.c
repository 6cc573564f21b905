/*
 * Who the inside is.
 *
 * Started by an ordinary user, it is that user to the kernel. Started by root, it is an id that
 * nothing else uses, one for each run; the workspace's owner then appears as that id through an
 * idmapped mount. Host uid 0 is mapped in neither case (L5).
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/launch/launch.h"

enum {
    /* In the range that systemd's registry of ids leaves to containers. */
    FIRST_ID = 0x68000000,
    ID_COUNT = 0x07000000,
    NOBODY = 65534,
};

/* Whether the lines of a map (first inside, first outside, how many) have `id` on the inside. */
static bool is_mapped(const char *map, uint32_t id)
{
    uint32_t inside, outside, count;
    int used;
    for (; sscanf(map, "%" SCNu32 " %" SCNu32 " %" SCNu32 "%n", &inside, &outside, &count, &used) ==
           3;
         map += used) {
        if (id >= inside && id - inside < count)
            return true;
    }
    return false;
}

/* An id that no other run is likely to have, and nobody else has; `map_file` is that of our own
 * namespace. */
static int unused_id(const char *map_file, uint32_t *ret)
{
    char map[4096];
    uint32_t random;
    FD_CLEANUP int fd = open(map_file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, map, sizeof(map) - 1);
    if (n < 0 || getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    map[n] = '\0';
    *ret = FIRST_ID + random % ID_COUNT;
    if (!is_mapped(map, *ret))
        *ret = NOBODY; /* in a container with few ids of its own */
    return is_mapped(map, *ret) ? 0 : -EPERM;
}

int identity_choose(struct launch *l)
{
    /* Before there is a plan: as nearly every plan has it. */
    bool found = l->plan.count == 0;
    if (found) {
        l->identity.inner_uid = PLAN_UID;
        l->identity.inner_gid = PLAN_GID;
    }
    for (size_t i = 0; i < l->plan.count; i++) {
        if (l->plan.steps[i].kind == PLAN_IDENTITY) {
            bool same =
                l->plan.steps[i].number[0] == PLAN_UID && l->plan.steps[i].number[1] == PLAN_GID;
            if (l->full && same)
                return 0; /* chosen already */
            l->identity.inner_uid = (uid_t)l->plan.steps[i].number[0];
            l->identity.inner_gid = (gid_t)l->plan.steps[i].number[1];
            found = true;
        }
    }
    if (!found)
        return err_set(&l->err, -EINVAL, "the plan names no identity");

    if (!l->full) {
        l->identity.outer_uid = l->identity.inner_uid;
        l->identity.outer_gid = l->identity.inner_gid;
        if (l->identity.inner_uid == 0 || (!l->privileged && l->identity.inner_uid != geteuid()))
            return err_set(&l->err, -EPERM,
                           "in landlock strength nothing runs as root: run nacre as the owner of "
                           "the workspace");
        if (l->privileged && setgroups(0, NULL) < 0)
            return err_errno(&l->err, -errno, "cannot give up root's groups");
        return 0;
    }
    if (!l->privileged) {
        l->identity.outer_uid = geteuid();
        l->identity.outer_gid = getegid();
        return 0;
    }
    if (unused_id("/proc/self/uid_map", &l->identity.outer_uid) < 0 ||
        unused_id("/proc/self/gid_map", &l->identity.outer_gid) < 0)
        return err_set(&l->err, -EPERM,
                       "started by the root of a user namespace that has no unprivileged id; run "
                       "nacre outside of it, or as another user");
    if (setgroups(0, NULL) < 0)
        return err_errno(&l->err, -errno, "cannot give up root's groups");
    return 0;
}

static int write_proc(pid_t pid, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* A map is taken in one write or not at all. */
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int write_map(pid_t pid, const char *name, uint32_t inside, uint32_t outside)
{
    char line[64];
    snprintf(line, sizeof(line), "%" PRIu32 " %" PRIu32 " 1\n", inside, outside);
    return write_proc(pid, name, line);
}

int identity_write_maps(struct launch *l, pid_t child)
{
    const struct identity *id = &l->identity;
    int r = write_map(child, "uid_map", id->inner_uid, id->outer_uid);
    if (r == 0)
        r = write_proc(child, "setgroups", "deny");
    if (r == 0)
        r = write_map(child, "gid_map", id->inner_gid, id->outer_gid);
    return r < 0 ? err_errno(&l->err, r, "cannot map the user into its namespace") : 0;
}

int identity_assume(struct launch *l)
{
    const struct identity *id = &l->identity;
    if (!l->full && !l->privileged)
        return 0;
    if (setresgid(id->inner_gid, id->inner_gid, id->inner_gid) < 0 ||
        setresuid(id->inner_uid, id->inner_uid, id->inner_uid) < 0)
        return err_errno(&l->err, -errno, "cannot become the inside's user");
    return 0;
}

/* --- owners, for root --------------------------------------------------------------------- */

/* `parent` may have died before the first line. */
__attribute__((noreturn)) static int wait_to_be_killed(void *parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != *(const pid_t *)parent)
        _exit(0);
    for (;;)
        pause();
}

/* Every id stands for itself, but `a` and `b` stand for each other. */
static int write_swap(pid_t pid, const char *name, uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    char text[256];
    int used = 0;
    struct {
        uint32_t inside, outside, count;
    } extents[] = {
        {0, 0, low},
        {low, high, 1},
        {low + 1, low + 1, high - low - 1},
        {high, low, 1},
        {high + 1, high + 1, UINT32_MAX - high - 1},
    };
    for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++) {
        if (extents[i].count)
            used += snprintf(text + used, sizeof(text) - (size_t)used,
                             "%" PRIu32 " %" PRIu32 " %" PRIu32 "\n", extents[i].inside,
                             extents[i].outside, extents[i].count);
    }
    return write_proc(pid, name, text);
}

/* The whole range where this namespace has it; inside a container's, the one id that matters. */
static int write_owner(pid_t pid, const char *name, uint32_t owner, uint32_t outer)
{
    if (owner == outer)
        return write_map(pid, name, owner, outer);
    int r = write_swap(pid, name, owner, outer);
    return r == -EPERM ? write_map(pid, name, owner, outer) : r;
}

static pid_t holder = -1;

void identity_reap(void)
{
    while (holder > 0 && waitpid(holder, NULL, 0) < 0 && errno == EINTR)
        ;
    holder = -1;
}

int identity_owner_map(struct launch *l, uid_t owner, gid_t group)
{
    /* The namespace needs a process to be made; it shares our memory and only waits. */
    static _Alignas(16) char stack[16384];
    static pid_t parent;
    parent = getpid();
    identity_reap(); /* which had the same stack */
    holder = clone(wait_to_be_killed, stack + sizeof(stack), CLONE_NEWUSER | CLONE_VM | SIGCHLD,
                   &parent);
    if (holder < 0) {
        l->stage = WIRE_STAGE_NAMESPACES;
        return err_errno(&l->err, -errno, "cannot make a user namespace");
    }

    int r = write_owner(holder, "uid_map", owner, l->identity.outer_uid);
    if (r == 0)
        r = write_owner(holder, "gid_map", group, l->identity.outer_gid);
    int fd = -1;
    if (r == 0) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)holder);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        r = fd < 0 ? -errno : 0;
    }
    kill(holder, SIGKILL); /* reaped when nobody waits for us */
    return r < 0 ? err_errno(&l->err, r, "cannot map the workspace's owner") : fd;
}
