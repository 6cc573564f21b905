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

/* A new file system of `type` with these options, as a detached mount. */
static int make_mount(struct launch *l, const char *type, const char *const options[][2],
                      unsigned attributes)
{
    FD_CLEANUP int fs = kernel_fsopen(type, FSOPEN_CLOEXEC);
    if (fs < 0)
        return err_errno(&l->err, -errno, "cannot make a %s", type);
    for (; options && (*options)[0]; options++) {
        unsigned command = (*options)[1] ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;
        if (kernel_fsconfig(fs, command, (*options)[0], (*options)[1], 0) < 0)
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
    if (mkdirat(l->root, "proc", 0555) < 0 || mkdirat(l->root, "proc/hanger", 0700) < 0 ||
        mkdirat(l->root, "proc/blank", 0700) < 0 || mkdirat(l->root, "proc/blank/dir", 0) < 0 ||
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
    l->hanger = open(HANGER, O_PATH | O_DIRECTORY | O_CLOEXEC);
    l->peg = openat(l->root, "proc/hanger", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (l->blank_dir < 0 || l->blank_file < 0 || l->hanger < 0 || l->peg < 0)
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
    /* What is to be shown of there can no longer be found by its path. */
    l->covered = open(STAGING, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (l->covered < 0 ||
        kernel_move_mount(root, "", AT_FDCWD, STAGING, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_errno(&l->err, -errno, "cannot place the new root");
    return make_blanks(l);
}

/* How much there may be in it. */
static int set_space(struct launch *l, const struct plan_step *step)
{
    char size[32], inodes[32];
    snprintf(size, sizeof(size), "%" PRIu64, step->number[0]);
    snprintf(inodes, sizeof(inodes), "%" PRIu64, step->number[1]);
    FD_CLEANUP int fs = kernel_fspick(l->root, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
    if (fs < 0 || kernel_fsconfig(fs, FSCONFIG_SET_STRING, "size", size, 0) < 0 ||
        kernel_fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", inodes, 0) < 0 ||
        kernel_fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
        return err_errno(&l->err, -errno, "cannot set the size of the new root");
    return 0;
}

/* --- paths below the new root ------------------------------------------------------------- */

/* Where a step's path ends: the directory that holds it, and its name there. */
struct place {
    int dir; /* not ours to close */
    const char *name;
};

/* The directory of the last step, which is often that of the next. */
static struct {
    int fd;
    char path[PATH_MAX];
} last_dir = {.fd = -1};

/* A mount hides what was there: whoever comes next must find what it shows. */
static void forget_dir(const char *mounted)
{
    size_t len = strlen(mounted);
    if (strncmp(last_dir.path, mounted, len) == 0)
        fd_close(&last_dir.fd);
}

/* Makes what is missing of a directory; no component may be a link. */
static int make_dirs(struct launch *l, const char *path)
{
    FD_CLEANUP int dir = fcntl(l->root, F_DUPFD_CLOEXEC, 0);
    while (dir >= 0 && *path) {
        char name[NAME_MAX + 1];
        size_t len = strcspn(path, "/");
        if (len > NAME_MAX)
            return -ENAMETOOLONG;
        memcpy(name, path, len);
        name[len] = '\0';
        path += len + strspn(path + len, "/");
        if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
            return -errno;
        int below = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
            return -errno;
        fd_close(&dir);
        dir = below;
    }
    return dir < 0 ? -errno : 0;
}

static int open_dir(struct launch *l, const char *path, bool make)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
    if (!*path)
        return fcntl(l->root, F_DUPFD_CLOEXEC, 0);
    int dir = kernel_openat2(l->root, path, &how);
    if (dir < 0 && errno == ENOENT && make) {
        int r = make_dirs(l, path);
        if (r < 0)
            return r;
        dir = kernel_openat2(l->root, path, &how);
    }
    return dir < 0 ? -errno : dir;
}

/* Finds the place of a step; what is missing above it is made, unless it is only wanted if there.
 */
static int find_place(struct launch *l, const struct plan_step *step, struct place *ret)
{
    const char *slash = strrchr(step->path, '/');
    size_t len = (size_t)(slash - step->path);
    if (len >= sizeof(last_dir.path))
        return -ENAMETOOLONG;
    ret->name = slash + 1;
    if (last_dir.fd < 0 || strncmp(last_dir.path, step->path, len) != 0 || last_dir.path[len]) {
        bool make = !(step->flags & PLAN_IF_THERE) || step->kind == PLAN_LINK;
        fd_close(&last_dir.fd);
        memcpy(last_dir.path, step->path, len);
        last_dir.path[len] = '\0';
        last_dir.fd = open_dir(l, last_dir.path + strspn(last_dir.path, "/"), make);
    }
    ret->dir = last_dir.fd;
    return ret->dir < 0 ? ret->dir : 0;
}

/* Hangs a detached mount at a place that is there. */
static int attach(struct launch *l, const struct plan_step *step, const struct place *place,
                  int mount)
{
    if (kernel_move_mount(mount, "", place->dir, place->name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_errno(&l->err, -errno, "cannot mount '%s'", step->path);
    forget_dir(step->path);
    return 0;
}

/* Hangs a detached mount at the step's path: a directory or an empty file is made for it. */
static int place_mount(struct launch *l, const struct plan_step *step, int mount)
{
    struct stat st;
    struct place place = {.dir = -1, .name = ""};
    int r = fstat(mount, &st) < 0 ? -errno : find_place(l, step, &place);
    if (r == 0 &&
        (S_ISDIR(st.st_mode) ? mkdirat(place.dir, place.name, 0755)
                             : mknodat(place.dir, place.name, S_IFREG | 0644, 0)) < 0 &&
        errno != EEXIST)
        r = -errno;
    if (r < 0)
        return err_errno(&l->err, r, "cannot make a place for '%s'", step->path);
    return attach(l, step, &place, mount);
}

/* --- one function a kind ------------------------------------------------------------------ */

static int make_dir(struct launch *l, const struct plan_step *step)
{
    struct place place = {.dir = -1, .name = ""};
    int r = find_place(l, step, &place);
    if (r == 0 && mkdirat(place.dir, place.name, (mode_t)step->number[0]) < 0 && errno != EEXIST)
        r = -errno;
    return r < 0 ? err_errno(&l->err, r, "cannot make '%s'", step->path) : 0;
}

/* \0 stands for a NUL and \\ for a backslash; nothing else stands behind one. */
static int write_escaped(int fd, const char *text)
{
    char block[4096];
    size_t used = 0;
    int r = 0;
    while (r == 0 && *text) {
        char c = *text++;
        if (c == '\\') {
            c = (char)(*text == '0' ? '\0' : *text);
            if (*text != '0' && *text != '\\')
                return -EINVAL;
            text++;
        }
        block[used++] = c;
        if (used == sizeof(block)) {
            r = fd_write_all(fd, block, used);
            used = 0;
        }
    }
    return r < 0 ? r : fd_write_all(fd, block, used);
}

static int make_file(struct launch *l, const struct plan_step *step)
{
    struct place place = {.dir = -1, .name = ""};
    int r = find_place(l, step, &place);
    FD_CLEANUP int file =
        r < 0 ? r
              : openat(place.dir, place.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       (mode_t)step->number[0]);
    if (r == 0)
        r = file < 0                     ? -errno
            : step->flags & PLAN_ESCAPED ? write_escaped(file, step->text)
                                         : fd_write_all(file, step->text, strlen(step->text));
    return r < 0 ? err_errno(&l->err, r, "cannot make '%s'", step->path) : 0;
}

static int make_link(struct launch *l, const struct plan_step *step)
{
    struct place place = {.dir = -1, .name = ""};
    int r = find_place(l, step, &place);
    if (r == 0 && symlinkat(step->text, place.dir, place.name) < 0)
        r = -errno;
    if (r == -EEXIST && step->flags & PLAN_IF_THERE)
        return 0;
    return r < 0 ? err_errno(&l->err, r, "cannot make '%s'", step->path) : 0;
}

/* The root will be read-only; a second mount of the same tmpfs keeps this part of it writable. */
static int make_scratch(struct launch *l, const struct plan_step *step)
{
    struct place place = {.dir = -1, .name = ""};
    int r = make_dir(l, step);
    if (r < 0 || find_place(l, step, &place) < 0)
        return r;
    FD_CLEANUP int tree = kernel_open_tree(
        place.dir, place.name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
    if (tree < 0)
        return err_errno(&l->err, -errno, "cannot set '%s' apart", step->path);
    return attach(l, step, &place, tree);
}

static int make_bind(struct launch *l, const struct plan_step *step)
{
    int *tree = &l->tree[step - l->plan.steps];
    int r = place_mount(l, step, *tree);
    fd_close(tree);
    return r;
}

/*
 * An overlay over the bind that stands at the path. Its directories are named by descriptors: no
 * character of a path means anything to the overlay, and nothing is looked up twice. Whether the
 * layer is on the disk is the business of whoever commits it, so the overlay need not wait for that
 * when it ends ("volatile"), which would be for all that anybody writes to that disk.
 */
static int make_layer(struct launch *l, const struct plan_step *step)
{
    size_t index = (size_t)(step - l->plan.steps);
    char lower_path[40], upper_path[48], work_path[48];
    struct place place = {.dir = -1, .name = ""};
    int r = find_place(l, step, &place);
    FD_CLEANUP int lower =
        r < 0 ? -1 : openat(place.dir, place.name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* Our own hanger goes as a whole, which it could not with something on top of it. */
    char name[24] = "";
    if (l->keeps)
        snprintf(name, sizeof(name), "%zu", index);
    if (lower < 0 || (l->keeps && mkdirat(l->hanger, name, 0700) < 0) ||
        kernel_move_mount(l->tree[index], "", l->hanger, name,
                          MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return err_errno(&l->err, -errno, "cannot lay a layer over '%s'", step->path);
    snprintf(lower_path, sizeof(lower_path), "/proc/self/fd/%d", lower);
    snprintf(upper_path, sizeof(upper_path), "/proc/self/fd/%d/upper", l->tree[index]);
    snprintf(work_path, sizeof(work_path), "/proc/self/fd/%d/work", l->tree[index]);
    const char *const options[][2] = {{"lowerdir", lower_path}, {"upperdir", upper_path},
                                      {"workdir", work_path},   {"userxattr", NULL},
                                      {"volatile", NULL},       {NULL, NULL}};
    l->stage = WIRE_STAGE_LAYER;
    /* That reading changes no time tells a copy from a new file (rejoin.c). */
    FD_CLEANUP int mount = make_mount(l, "overlay", options,
                                      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME);
    if (mount < 0)
        return mount;
    l->stage = WIRE_STAGE_OTHER;
    /* The overlay has a mount of its own by now: this one goes with the old root. */
    return attach(l, step, &place, mount);
}

/* A second mount of the same place: the kernel moves and removes no place that is one. */
static int make_pin(struct launch *l, const struct plan_step *step)
{
    struct place place = {.dir = -1, .name = ""};
    int r = find_place(l, step, &place);
    FD_CLEANUP int tree = r < 0 ? r
                                : kernel_open_tree(place.dir, place.name,
                                                   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
                                                       AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
    if (r == 0 && tree < 0)
        r = -errno;
    if (r == -ENOENT && step->flags & PLAN_IF_THERE)
        return 0;
    const struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    if (r == 0 && step->flags & PLAN_READ_ONLY &&
        kernel_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &read_only) < 0)
        r = -errno;
    if (r < 0)
        return err_errno(&l->err, r, "cannot protect '%s'", step->path);
    return attach(l, step, &place, tree);
}

/*
 * What lies in a directory that nobody inside can enter is out of reach, for as long as its owner
 * leaves it so. Then that directory is what is covered.
 */
static int find_to_hide(struct launch *l, const struct plan_step *step, char path[static PATH_MAX],
                        struct place *ret, struct stat *ret_st)
{
    struct plan_step shorter = *step;
    shorter.path = path;
    if (snprintf(path, PATH_MAX, "%s", step->path) >= PATH_MAX)
        return -ENAMETOOLONG;
    for (;;) {
        int r = find_place(l, &shorter, ret);
        if (r == 0 && fstatat(ret->dir, ret->name, ret_st, AT_SYMLINK_NOFOLLOW) < 0)
            r = -errno;
        char *slash = strrchr(path, '/');
        if (r != -EACCES || slash == path)
            return r;
        *slash = '\0';
    }
}

static int make_hidden(struct launch *l, const struct plan_step *step)
{
    struct place place = {.dir = -1, .name = ""};
    struct stat st = {0};
    char path[PATH_MAX];
    int r = find_to_hide(l, step, path, &place, &st);
    if (r == -ENOENT && step->flags & PLAN_IF_THERE)
        return 0;
    FD_CLEANUP int tree =
        r < 0 ? r
              : kernel_open_tree(S_ISDIR(st.st_mode) ? l->blank_dir : l->blank_file, "",
                                 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    if (tree < 0)
        return err_errno(&l->err, r < 0 ? r : -errno, "cannot hide '%s'", step->path);
    return attach(l, step, &place, tree);
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
        [PLAN_HIDE] = make_hidden, [PLAN_LAYER] = make_layer,     [PLAN_SPACE] = set_space,
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
    l->old_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    /* Onto the same directory: that stacks the old root on top, where nobody looks who has the new
     * one for a root. */
    if (l->old_root < 0 || fchdir(l->root) < 0 || kernel_pivot_root(".", ".") < 0)
        return err_errno(&l->err, -errno, "cannot enter the new root");
    return 0;
}

/* A mount of a place of the host's, on the hanger. */
static int hang(struct launch *l, int hanger, const char *source, const char *name)
{
    FD_CLEANUP int tree = tree_open(l, source);
    if (tree < 0 || mkdirat(hanger, name, 0700) < 0 ||
        kernel_move_mount(tree, "", hanger, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return err_errno(&l->err, -errno, "cannot keep '%s'", source);
    return 0;
}

/*
 * A sandbox that waits must not hold the host's mounts, or none of them could be ejected. What it
 * needs later hangs on a small file system that lies below /proc, where nobody gets, and goes as a
 * whole before the program begins. Root's guard opens the rest from outside.
 */
int root_keep(struct launch *l)
{
    static const char *const options[][2] = {{"size", "64k"}, {"mode", "0700"}, {NULL, NULL}};
    fd_close(&l->hanger);
    FD_CLEANUP int mount = make_mount(l, "tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (mount < 0)
        return mount;
    if (kernel_move_mount(mount, "", l->peg, "",
                          MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return err_errno(&l->err, -errno, "cannot make a place for what is shown later");
    l->hanger = fd_steal(&mount);
    for (size_t i = 0; i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        if (step->kind == PLAN_DIR && step->flags & PLAN_OWNED)
            l->kept = step->path;
        else if (step->kind == PLAN_STORE)
            l->store = step->text;
    }
    int r = l->privileged || !l->kept ? 0 : hang(l, l->hanger, l->kept, "workspace");
    if (r == 0 && !l->privileged && l->store)
        r = hang(l, l->hanger, l->store, "store");
    l->keeps = r == 0;
    return r;
}

int root_let_go(struct launch *l)
{
    if (fchdir(l->root) < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return err_errno(&l->err, -errno, "cannot let go of the old root");
    fd_close(&l->old_root);
    fd_close(&l->covered);
    return 0;
}

/* By a mount of its own, which nobody else has: the root's could not become read-only with it. */
int root_open_text(struct launch *l)
{
    const struct plan_step step = {.kind = PLAN_FILE, .path = PLAN_TEXT_PATH};
    struct place place = {.dir = -1, .name = ""};
    int r = find_place(l, &step, &place);
    FD_CLEANUP int own =
        r < 0
            ? r
            : kernel_open_tree(place.dir, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    l->text = own < 0 ? -1
                      : openat(own, place.name,
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
    return l->text < 0 ? err_errno(&l->err, r < 0 ? r : -errno, "cannot make '%s'", step.path) : 0;
}

int root_write_text(struct launch *l)
{
    int r = 0;
    for (size_t i = l->done; r == 0 && i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        if (step->kind == PLAN_BUDGET)
            continue; /* the guard's */
        if (step->kind != PLAN_FILE || strcmp(step->path, PLAN_TEXT_PATH) != 0)
            return err_set(&l->err, -EBADMSG, "the plan builds when everything is closed");
        r = fd_write_all(l->text, step->text, strlen(step->text));
    }
    fd_close(&l->text);
    return r < 0 ? err_errno(&l->err, r, "cannot write the text") : 0;
}

int root_close(struct launch *l)
{
    const struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    char hanger[40];
    snprintf(hanger, sizeof(hanger), "/proc/self/fd/%d", l->hanger);
    if (kernel_mount_setattr(l->root, "", AT_EMPTY_PATH, &read_only) < 0 ||
        (l->keeps && umount2(hanger, MNT_DETACH) < 0))
        return err_errno(&l->err, -errno, "cannot close the new root");
    fd_close(&l->root);
    fd_close(&last_dir.fd);
    fd_close(&l->blank_file);
    fd_close(&l->blank_dir);
    fd_close(&l->peg);
    fd_close(&l->hanger);
    return 0;
}
