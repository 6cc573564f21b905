/*
 * Landlock: what the mounts already say, said once more in another part of the kernel; and where
 * there are no mounts, the wall itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/kernel_calls.h"
#include "sandbox/launch/launch.h"

#define EXECUTE   (UINT64_C(1) << 0)
#define READ_FILE (UINT64_C(1) << 2)
#define READ_DIR  (UINT64_C(1) << 3)

/* What a rule for a file, not a directory, may speak of. */
#define FILE_RIGHTS                                                                                \
    (EXECUTE | (UINT64_C(1) << 1) | READ_FILE | KERNEL_LANDLOCK_FS_TRUNC | KERNEL_LANDLOCK_FS_IOCTL)

/* Every right that this version of the interface knows: what no rule leaves open is closed. */
static uint64_t rights_of(uint64_t abi)
{
    static const struct {
        uint64_t since, rights;
    } steps[] = {
        {1, KERNEL_LANDLOCK_FS_ABI_1},
        {2, KERNEL_LANDLOCK_FS_REFER},
        {3, KERNEL_LANDLOCK_FS_TRUNC},
        {5, KERNEL_LANDLOCK_FS_IOCTL},
    };
    uint64_t rights = 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        rights |= abi >= steps[i].since ? steps[i].rights : 0;
    return rights;
}

static uint64_t scopes_of(const struct plan *plan, uint64_t abi)
{
    uint64_t scopes = 0;
    for (size_t i = 0; abi >= 6 && i < plan->count; i++) {
        if (plan->steps[i].kind == PLAN_SCOPE)
            scopes |= strcmp(plan->steps[i].text, "signals") == 0 ? KERNEL_LANDLOCK_SCOPE_SIG
                                                                  : KERNEL_LANDLOCK_SCOPE_UNIX;
    }
    return scopes;
}

static bool has_filter(const struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].kind == PLAN_FILTER && strcmp(plan->steps[i].text, name) == 0)
            return true;
    }
    return false;
}

static int add_rule(struct launch *l, const struct plan_step *step, uint64_t rights)
{
    struct stat st;
    FD_CLEANUP int place = open(step->path, O_PATH | O_CLOEXEC);
    if (place < 0 || fstat(place, &st) < 0)
        return err_errno(&l->err, -errno, "cannot leave '%s' open", step->path);
    if (strcmp(step->text, "read") == 0)
        rights &= EXECUTE | READ_FILE | READ_DIR;
    if (!S_ISDIR(st.st_mode))
        rights &= FILE_RIGHTS;
    const struct kernel_landlock_path_beneath_attr rule = {.allowed_access = rights,
                                                           .parent_fd = place};
    if (kernel_landlock_add_rule(l->ruleset, KERNEL_LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
        return err_errno(&l->err, -errno, "Landlock: cannot leave '%s' open", step->path);
    return 0;
}

int landlock_prepare(struct launch *l)
{
    uint64_t abi = 0;
    for (size_t i = 0; i < l->plan.count; i++) {
        if (l->plan.steps[i].kind == PLAN_LANDLOCK)
            abi = l->plan.steps[i].number[0];
    }
    if (!abi)
        return l->full ? 0 : err_set(&l->err, -EINVAL, "the plan has no wall at all");
    const uint64_t rights = rights_of(abi);
    const struct kernel_landlock_ruleset_attr attributes = {
        .handled_access_fs = rights,
        /* A namespace of its own has a loopback that is to be used; the host's network has not. */
        .handled_access_net = abi >= 4 && !l->full && !has_filter(&l->plan, "sockets inet")
                                  ? KERNEL_LANDLOCK_NET_BIND | KERNEL_LANDLOCK_NET_CONN
                                  : 0,
        .scoped = scopes_of(&l->plan, abi),
    };
    l->ruleset = kernel_landlock_create_ruleset(&attributes, sizeof(attributes), 0);
    if (l->ruleset < 0)
        return err_errno(&l->err, -errno, "Landlock refuses its rules");
    int r = 0;
    for (size_t i = 0; r == 0 && i < l->plan.count; i++) {
        if (l->plan.steps[i].kind == PLAN_ACCESS)
            r = add_rule(l, &l->plan.steps[i], rights);
    }
    return r;
}

int landlock_restrict(struct launch *l)
{
    if (l->ruleset >= 0 && kernel_landlock_restrict_self(l->ruleset, 0) < 0)
        return err_errno(&l->err, -errno, "Landlock cannot be put on");
    return 0;
}
