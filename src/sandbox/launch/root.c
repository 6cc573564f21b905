/*
 * The new root: a tmpfs on which the plan's steps are carried out one by one, then entered, made
 * read-only, and the old root let go.
 *
 * Every path is walked from the new root's descriptor without following a link, so no step can
 * land outside of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/kernel_calls.h"
#include "sandbox/launch/launch.h"

/* Where the new root hangs while it is built: any directory that every system has. */
#define STAGING "/usr"

/* A new file system of `type` with up to two options, as a detached mount. */
static int make_mount(struct launch *l, const char *type, const char *const options[][2],
                      unsigned attributes)
{
    FD_CLEANUP int fs = kernel_fsopen(type, FSOPEN_CLOEXEC);
    if (fs < 0)
        return err_errno(&l->err, -errno, "cannot make a %s", type);
    for (; options && (*options)[0]; options++) {
        if (kernel_fsconfig(fs, FSCONFIG_SET_STRING, (*options)[0], (*options)[1], 0) < 0)
            return err_errno(&l->err, -errno, "cannot set '%s' of a %s", (*options)[0], type);
    }
    if (kernel_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return err_errno(&l->err, -errno, "cannot make a %s", type);
    int mount = kernel_fsmount(fs, FSMOUNT_CLOEXEC, attributes);
    return mount < 0 ? err_errno(&l->err, -errno, "cannot mount a %s", type) : mount;
}

/*
 * What hidden paths are covered with: an empty file and an empty directory that nobody may open.
 * They lie where /proc will be mounted, so that they have no path of their own in the end.
 */
static int make_blanks(struct launch *l)
{
    FD_CLEANUP int dir = -1;
    if (mkdirat(l->root, "proc", 0555) < 0 || mkdirat(l->root, "proc/blank", 0700) < 0 ||
        mkdirat(l->root, "proc/blank/dir", 0) < 0 ||
        mknodat(l->root, "proc/blank/file", S_IFREG, 0) < 0)
        return err_errno(&l->err, -errno, "cannot make what covers hidden files");
    FD_CLEANUP int tree =
        kernel_open_tree(l->root, "proc/blank", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    const struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC};
    if (tree < 0 || kernel_mount_setattr(tree, "", AT_EMPTY_PATH, &read_only) < 0 ||
        kernel_move_mount(tree, "", l->root, "proc/blank", MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_errno(&l->err, -errno, "cannot close what covers hidden files");
    dir = openat(l->root, "proc/blank", O_PATH | O_DIRECTORY | O_CLOEXEC);
    l->blank_dir = openat(dir, "dir", O_PATH | O_CLOEXEC);
    l->blank_file = openat(dir, "file", O_PATH | O_CLOEXEC);
    if (l->blank_dir < 0 || l->blank_file < 0)
        return err_errno(&l->err, -errno, "cannot open what covers hidden files");
    return 0;
}

static int make_root(struct launch *l, const struct plan_step *step)
{
    char size[32], inodes[32];
    snprintf(size, sizeof(size), "%" PRIu64, step->number[0]);
    snprintf(inodes, sizeof(inodes), "%" PRIu64, step->number[1]);
    const char *const options[][2] = {
        {"size", size}, {"nr_inodes", inodes}, {"mode", "0755"}, {NULL, NULL}};
    int root = make_mount(l, "tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (root < 0)
        return root;
    l->root = root;
    if (kernel_move_mount(root, "", AT_FDCWD, STAGING, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_errno(&l->err, -errno, "cannot place the new root");
    return make_blanks(l);
}

/* --- paths below the new root ------------------------------------------------------------- */

/* The component that `*path` starts with, copied to `name`; moves on. Empty at the end. */
static int next_component(const char **path, char name[static NAME_MAX + 1])
{
    while (**path == '/')
        (*path)++;
    size_t len = strcspn(*path, "/");
    if (len > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(name, *path, len);
    name[len] = '\0';
    *path += len;
    return 0;
}

/* Opens the directory that holds the last component of the step's path, making what is missing. */
static int open_parent(struct launch *l, const struct plan_step *step,
                       char ret_name[static NAME_MAX + 1])
{
    const char *path = step->path;
    FD_CLEANUP int dir = fcntl(l->root, F_DUPFD_CLOEXEC, 0);
    int r = dir < 0 ? -errno : next_component(&path, ret_name);
    while (r == 0) {
        char next[NAME_MAX + 1];
        r = next_component(&path, next);
        if (r < 0 || !next[0])
            break;
        const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int below = openat(dir, ret_name, flags);
        bool make = !(step->flags & PLAN_IF_THERE) || step->kind == PLAN_LINK;
        if (below < 0 && errno == ENOENT && make) {
            if (mkdirat(dir, ret_name, 0755) < 0)
                return -errno;
            below = openat(dir, ret_name, flags);
        }
        if (below < 0)
            return -errno;
        fd_close(&dir);
        dir = below;
        memcpy(ret_name, next, sizeof(next));
    }
    return r < 0 ? r : fd_steal(&dir);
}

/* A place for a mount: the directory or empty file at `path`, made if it is missing. */
static int open_place(struct launch *l, const struct plan_step *step, bool directory, unsigned mode)
{
    char name[NAME_MAX + 1];
    FD_CLEANUP int parent = open_parent(l, step, name);
    if (parent < 0)
        return parent;
    int place = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (place >= 0)
        return place;
    if (errno != ENOENT)
        return -errno;
    if (step->flags & PLAN_IF_THERE)
        return -ENOENT;
    if (directory) {
        if (mkdirat(parent, name, (mode_t)mode) < 0)
            return -errno;
    } else {
        FD_CLEANUP int file = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (file < 0)
            return -errno;
    }
    place = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return place < 0 ? -errno : place;
}

/* Hangs a detached mount at the step's path. */
static int place_mount(struct launch *l, const struct plan_step *step, int mount)
{
    struct stat st;
    if (fstat(mount, &st) < 0)
        return err_errno(&l->err, -errno, "cannot look at the mount for '%s'", step->path);
    FD_CLEANUP int place =
        open_place(l, step, S_ISDIR(st.st_mode), S_ISDIR(st.st_mode) ? 0755 : 0644);
    if (place == -ENOENT && step->flags & PLAN_IF_THERE)
        return 0;
    if (place < 0)
        return err_errno(&l->err, place, "cannot make a place for '%s'", step->path);
    if (kernel_move_mount(mount, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) <
        0)
        return err_errno(&l->err, -errno, "cannot mount '%s'", step->path);
    return 0;
}

/* --- one function a kind ------------------------------------------------------------------ */

static int make_dir(struct launch *l, const struct plan_step *step)
{
    FD_CLEANUP int place = open_place(l, step, true, (unsigned)step->number[0]);
    return place < 0 ? err_errno(&l->err, place, "cannot make '%s'", step->path) : 0;
}

static int make_file(struct launch *l, const struct plan_step *step)
{
    char name[NAME_MAX + 1];
    FD_CLEANUP int parent = open_parent(l, step, name);
    FD_CLEANUP int file = parent < 0 ? parent
                                     : openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                              (mode_t)step->number[0]);
    int r = parent < 0 ? parent
            : file < 0 ? -errno
                       : fd_write_all(file, step->text, strlen(step->text));
    return r < 0 ? err_errno(&l->err, r, "cannot make '%s'", step->path) : 0;
}

static int make_link(struct launch *l, const struct plan_step *step)
{
    char name[NAME_MAX + 1];
    FD_CLEANUP int parent = open_parent(l, step, name);
    int r = parent < 0 ? parent : symlinkat(step->text, parent, name) < 0 ? -errno : 0;
    if (r == -EEXIST && step->flags & PLAN_IF_THERE)
        return 0;
    return r < 0 ? err_errno(&l->err, r, "cannot make '%s'", step->path) : 0;
}

/* The root will be read-only; a second mount of the same tmpfs keeps this part of it writable. */
static int make_scratch(struct launch *l, const struct plan_step *step)
{
    FD_CLEANUP int place = open_place(l, step, true, (unsigned)step->number[0]);
    if (place < 0)
        return err_errno(&l->err, place, "cannot make '%s'", step->path);
    FD_CLEANUP int tree =
        kernel_open_tree(place, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    if (tree < 0)
        return err_errno(&l->err, -errno, "cannot set '%s' apart", step->path);
    return place_mount(l, step, tree);
}

static int make_bind(struct launch *l, const struct plan_step *step)
{
    int *tree = &l->tree[step - l->plan.steps];
    int r = place_mount(l, step, *tree);
    fd_close(tree);
    return r;
}

/* A second mount of the same place: the kernel moves and removes no place that is one. */
static int make_pin(struct launch *l, const struct plan_step *step)
{
    FD_CLEANUP int place = open_place(l, step, false, 0);
    if (place == -ENOENT)
        return 0;
    FD_CLEANUP int tree =
        place < 0
            ? place
            : kernel_open_tree(place, "",
                               OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
    if (tree < 0)
        return err_errno(&l->err, place < 0 ? place : -errno, "cannot protect '%s'", step->path);
    const struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    if (step->flags & PLAN_READ_ONLY &&
        kernel_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &read_only) < 0)
        return err_errno(&l->err, -errno, "cannot protect '%s'", step->path);
    return place_mount(l, step, tree);
}

static int make_hidden(struct launch *l, const struct plan_step *step)
{
    struct stat st;
    FD_CLEANUP int place = open_place(l, step, false, 0);
    if (place == -ENOENT)
        return 0;
    if (place < 0 || fstat(place, &st) < 0)
        return err_errno(&l->err, place < 0 ? place : -errno, "cannot hide '%s'", step->path);
    FD_CLEANUP int tree = kernel_open_tree(S_ISDIR(st.st_mode) ? l->blank_dir : l->blank_file, "",
                                           OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    if (tree < 0)
        return err_errno(&l->err, -errno, "cannot hide '%s'", step->path);
    if (kernel_move_mount(tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) <
        0)
        return err_errno(&l->err, -errno, "cannot hide '%s'", step->path);
    return 0;
}

static int make_proc(struct launch *l, const struct plan_step *step)
{
    l->stage = WIRE_STAGE_PROC;
    unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC |
                          (step->flags & PLAN_READ_ONLY ? MOUNT_ATTR_RDONLY : 0);
    FD_CLEANUP int mount = make_mount(l, "proc", NULL, attributes);
    if (mount < 0)
        return mount;
    l->stage = WIRE_STAGE_OTHER;
    return place_mount(l, step, mount);
}

static int make_own(struct launch *l, const struct plan_step *step)
{
    static const char *const terminals[][2] = {
        {"ptmxmode", "0666"}, {"mode", "0620"}, {NULL, NULL}};
    bool devpts = strcmp(step->text, "devpts") == 0;
    if (!devpts && strcmp(step->text, "mqueue") != 0)
        return err_set(&l->err, -EINVAL, "unknown file system '%s'", step->text);
    /* Device nodes are what the one is for. */
    FD_CLEANUP int mount =
        make_mount(l, step->text, devpts ? terminals : NULL,
                   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | (devpts ? 0 : MOUNT_ATTR_NODEV));
    return mount < 0 ? mount : place_mount(l, step, mount);
}

int root_apply(struct launch *l, size_t index)
{
    static int (*const make[PLAN_KINDS])(struct launch * l, const struct plan_step *step) = {
        [PLAN_ROOT] = make_root,   [PLAN_DIR] = make_dir,         [PLAN_FILE] = make_file,
        [PLAN_LINK] = make_link,   [PLAN_SCRATCH] = make_scratch, [PLAN_BIND] = make_bind,
        [PLAN_PROC] = make_proc,   [PLAN_MOUNT] = make_own,       [PLAN_PIN] = make_pin,
        [PLAN_HIDE] = make_hidden,
    };
    const struct plan_step *step = &l->plan.steps[index];
    if (!make[step->kind])
        return 0;
    if (l->root < 0 && step->kind != PLAN_ROOT)
        return err_set(&l->err, -EINVAL, "the plan mounts before it has a root");
    return make[step->kind](l, step);
}

int root_enter(struct launch *l)
{
    if (l->root < 0)
        return err_set(&l->err, -EINVAL, "the plan has no root");
    const struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    /* pivot_root onto the same directory stacks the old root on top, where it is detached. */
    if (kernel_mount_setattr(l->root, "", AT_EMPTY_PATH, &read_only) < 0 || fchdir(l->root) < 0 ||
        kernel_pivot_root(".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return err_errno(&l->err, -errno, "cannot enter the new root");
    fd_close(&l->root);
    fd_close(&l->blank_file);
    fd_close(&l->blank_dir);
    return 0;
}
