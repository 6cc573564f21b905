/*
 * What the host shows to the inside: each bind's source, cut loose as a detached mount with its
 * restrictions already on it, before anything else is mounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/path.h"
#include "sandbox/kernel_calls.h"
#include "sandbox/launch/launch.h"

/* The plan was made for one directory; another may have been put in its place since. */
static int check_same(struct launch *l, const struct plan_step *step, const struct stat *st)
{
    if (step->number[1] == 0 || (st->st_dev == step->number[0] && st->st_ino == step->number[1]))
        return 0;
    return err_set(&l->err, -ESTALE, "'%s' was replaced while the sandbox was built", step->text);
}

/* Most have the same owner; a namespace for each would cost more than all the mounts. */
static int owner_map(struct launch *l, const struct stat *st)
{
    static int last = -1;
    static uid_t owner;
    static gid_t group;
    if (last < 0 || owner != st->st_uid || group != st->st_gid) {
        fd_close(&last);
        last = identity_owner_map(l, st->st_uid, st->st_gid);
        owner = st->st_uid;
        group = st->st_gid;
    }
    return last;
}

/* What was kept for later, where nothing else of the host's is there any more. */
static int open_kept(const struct launch *l, const char *path, unsigned flags)
{
    char name[PATH_MAX];
    const char *root = l->store && path_is_below(path, l->store) ? l->store : l->kept;
    const char *kept = root == l->store ? "store" : "workspace";
    int len = -1;
    if (root && path_is_below(path, root))
        len = snprintf(name, sizeof(name), "%s%s", kept, path + strlen(root));
    if (len < 0 || len >= (int)sizeof(name)) {
        errno = ESTALE;
        return -1;
    }
    return kernel_open_tree(l->hanger, name, flags);
}

/* Sources have no links in their paths; one that lies where the new root hangs is found below it.
 */
int tree_open(const struct launch *l, const char *path)
{
    unsigned flags =
        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;
    bool covered = l->covered >= 0 && path_is_below(path, STAGING);
    if (l->keeps)
        return open_kept(l, path, flags);
    if (!covered && l->old_root >= 0)
        return kernel_open_tree(l->old_root, path + strspn(path, "/"), flags);
    if (!covered)
        return kernel_open_tree(AT_FDCWD, path, flags);
    path += strlen(STAGING);
    return kernel_open_tree(l->covered, path + strspn(path, "/"), flags);
}

static int open_source(struct launch *l, const struct plan_step *step)
{
    FD_CLEANUP int tree = step->flags & PLAN_HELD ? fcntl(WIRE_HELD_FD, F_DUPFD_CLOEXEC, 0)
                                                  : tree_open(l, step->text);
    struct stat st;
    if (tree < 0 || fstat(tree, &st) < 0)
        return err_errno(&l->err, -errno, "cannot show '%s'", step->text);
    int r = check_same(l, step, &st);
    if (r < 0)
        return r;

    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID, .propagation = MS_PRIVATE};
    if (step->flags & PLAN_READ_ONLY)
        attributes.attr_set |= MOUNT_ATTR_RDONLY;
    if (step->flags & PLAN_DEVICES)
        attributes.attr_set |= MOUNT_ATTR_NOEXEC;
    else
        attributes.attr_set |= MOUNT_ATTR_NODEV;
    if (l->privileged && step->flags & PLAN_OWNED) {
        l->stage = WIRE_STAGE_IDMAP;
        int map = owner_map(l, &st);
        if (map < 0)
            return map;
        attributes.attr_set |= MOUNT_ATTR_IDMAP;
        attributes.userns_fd = (unsigned)map;
    }
    if (kernel_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes) < 0)
        return err_errno(&l->err, -errno, "cannot restrict '%s'", step->text);
    l->stage = WIRE_STAGE_OTHER;
    return fd_steal(&tree);
}

/* The owner of what is shown later, known ahead; a wish: if it is another then, it costs time. */
void tree_expect(struct launch *l)
{
    struct stat st;
    for (size_t i = 0; i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        if (step->kind == PLAN_DIR && step->flags & PLAN_OWNED && stat(step->path, &st) == 0)
            owner_map(l, &st);
    }
    l->err = (struct err){0};
}

int tree_open_all(struct launch *l)
{
    for (size_t i = l->done; i < l->plan.count; i++) {
        if (!plan_needs_tree(&l->plan.steps[i]))
            continue;
        int tree = open_source(l, &l->plan.steps[i]);
        if (tree < 0)
            return tree;
        l->tree[i] = tree;
    }
    return 0;
}
