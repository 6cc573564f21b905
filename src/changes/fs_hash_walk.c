/* Listing directories and taking in changes; see fs_hash_walk.h. Looking at one name: look.c. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/fs_hash_check.h"
#include "changes/fs_hash_fold.h"
#include "changes/fs_hash_look.h"

enum { FLAPS_MAX = 1000 };

/* Between the functions of this file: something else was done, and nothing is left to do here. */
enum { DONE_OTHERWISE = 1 };

void walk_init(struct walk *w, struct tree *tree)
{
    w->tree = tree;
    w->root_fd = -1;
    for (size_t i = 0; i <= WALK_OPEN_MAX; i++)
        w->open[i] = (struct walk_open){.fd = -1};
}

/* --- open directories ------------------------------------------------------------------------ */

static struct walk_open *place_for(struct walk *w, const struct entry *directory)
{
    return &w->open[directory->depth < WALK_OPEN_MAX ? directory->depth : WALK_OPEN_MAX];
}

void walk_forget(struct walk *w, const struct entry *directory)
{
    struct walk_open *place = place_for(w, directory);
    if (place->entry == directory) {
        fd_close(&place->fd);
        place->entry = NULL;
    }
}

void walk_rest(struct walk *w)
{
    for (size_t i = 0; i <= WALK_OPEN_MAX; i++) {
        fd_close(&w->open[i].fd);
        w->open[i].entry = NULL;
    }
}

/*
 * Opens a directory from the nearest one above it that is open. On failure `ret_failed` is the
 * directory that could not be opened; the one above that is open then.
 */
static int open_directory(struct walk *w, struct entry *directory, struct entry **ret_failed)
{
    size_t steps = 0;
    struct entry *entry = directory;
    for (; entry && place_for(w, entry)->entry != entry; entry = entry->parent)
        w->way[steps++] = entry;
    int fd = entry ? place_for(w, entry)->fd : w->root_fd;
    while (steps > 0) {
        entry = w->way[--steps];
        fd = look_open(fd, entry->parent ? entry->name : ".", O_DIRECTORY);
        if (fd < 0) {
            *ret_failed = entry;
            return fd;
        }
        struct walk_open *place = place_for(w, entry);
        fd_close(&place->fd);
        *place = (struct walk_open){.entry = entry, .fd = fd};
    }
    return fd;
}

/* The directory is there, and its content is not for us. */
static int deny(struct walk *w, struct entry *directory, struct err *e)
{
    struct stat st;
    struct entry *failed = directory;
    int above = directory->parent ? open_directory(w, directory->parent, &failed) : w->root_fd;
    if (above < 0)
        return look_fail(failed->parent, failed->name, above, e);
    int r = fstatat(above, directory->parent ? directory->name : "", &st,
                    AT_SYMLINK_NOFOLLOW | (directory->parent ? 0 : AT_EMPTY_PATH));
    if (r < 0)
        return look_fail(directory->parent, directory->name, -errno, e);
    if (!w->mark_unreadable)
        return look_fail(directory->parent, directory->name, -EACCES, e);
    if (tree_empty(w->tree, directory) < 0)
        return err_set(e, -ENOMEM, "out of memory");
    tree_set_directory(w->tree, directory, st.st_mode, ENTRY_UNREADABLE);
    return 0;
}

/*
 * Returns the descriptor of a directory. If the way there is not what it was, what is there instead
 * is looked at, which also covers everything below: DONE_OTHERWISE.
 */
static int enter(struct walk *w, struct entry *directory, int *ret_fd, struct err *e)
{
    struct entry *failed = directory;
    int fd = open_directory(w, directory, &failed);
    if (fd >= 0) {
        *ret_fd = fd;
        return 0;
    }
    if (look_is_denied(fd)) {
        int r = deny(w, failed, e);
        return r < 0 ? r : DONE_OTHERWISE;
    }
    if (!look_is_gone(fd) || !failed->parent)
        return look_fail(failed->parent, failed->name, fd, e);
    if (++w->flaps > FLAPS_MAX)
        return look_fail(failed->parent, failed->name, -EAGAIN, e);
    /* The entry may not outlive the look. */
    char name[NAME_BYTES_MAX + 1];
    size_t len = failed->name_len;
    memcpy(name, failed->name, len + 1);
    int r = look_at(w, failed->parent, place_for(w, failed->parent)->fd, name, len, false, e);
    return r < 0 ? r : DONE_OTHERWISE;
}

/* --- listing --------------------------------------------------------------------------------- */

/* File systems that are windows into the kernel: no content of theirs is a file's. */
static bool is_kernel(int fd)
{
    static const uint32_t types[] = {
        PROC_SUPER_MAGIC,   SYSFS_MAGIC,  CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
        TRACEFS_MAGIC,      BPF_FS_MAGIC, SECURITYFS_MAGIC,   PSTOREFS_MAGIC,      EFIVARFS_MAGIC,
        DEVPTS_SUPER_MAGIC, NSFS_MAGIC,   BINFMTFS_MAGIC,     SELINUX_MAGIC,
    };
    struct statfs fs;
    if (fstatfs(fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if ((uint32_t)fs.f_type == types[i])
            return true;
    }
    return false;
}

static int look_at_all(struct walk *w, struct entry *directory, int fd, struct err *e)
{
    /* A descriptor that was listed before stands at its end. */
    if (lseek(fd, 0, SEEK_SET) < 0)
        return look_fail(directory->parent, directory->name, -errno, e);
    for (;;) {
        ssize_t bytes = getdents64(fd, w->list, sizeof(w->list));
        if (bytes == 0)
            return 0;
        if (bytes < 0)
            return look_is_gone(-errno) ? -EAGAIN
                                        : look_fail(directory->parent, directory->name, -errno, e);
        for (ssize_t at = 0; at < bytes;) {
            const struct dirent64 *item = (const void *)(w->list + at);
            const char *name = item->d_name;
            at += item->d_reclen;
            if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
                continue;
            int r = look_at(w, directory, fd, name, strlen(name), false, e);
            if (r < 0)
                return r;
        }
    }
}

static int remove_unseen(struct walk *w, struct entry *directory)
{
    struct entry *next;
    for (struct entry *entry = tree_list(directory); entry; entry = next) {
        next = entry->next;
        /* What is left of the list shares nothing with what is taken away. */
        if (entry->seen != w->listing && tree_remove(w->tree, entry) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int unfold(struct walk *w, struct entry *directory, struct err *e)
{
    int r = fold_open(w->tree, directory);
    return r < 0 ? err_errno(e, r, "cannot use the cache") : 0;
}

/* -EAGAIN without a message: the directory changed meanwhile. */
static int list_once(struct walk *w, struct entry *directory, int fd, struct err *e)
{
    struct stat before, after;
    int64_t now_ns = identity_now_ns();
    /* By name, since that fails in a directory that can be read but not searched. */
    if (fstatat(fd, ".", &before, 0) < 0) {
        if (look_is_denied(-errno))
            return deny(w, directory, e);
        return look_fail(directory->parent, directory->name, -errno, e);
    }
    struct identity identity = identity_of(&before);
    bool crossed = !directory->parent || directory->parent->identity.device != identity.device;
    tree_set_listed(w->tree, directory, &identity,
                    identity_is_settled(&identity, now_ns) && check_is_stamped(fd));
    if (crossed && is_kernel(fd)) {
        if (!directory->parent)
            return err_set(e, -EOPNOTSUPP, "the directory belongs to the kernel");
        if (tree_empty(w->tree, directory) < 0)
            return err_set(e, -ENOMEM, "out of memory");
        tree_set_directory(w->tree, directory, before.st_mode, ENTRY_KERNEL);
        return 0;
    }
    tree_set_directory(w->tree, directory, before.st_mode, ENTRY_READ);
    w->listing++;
    int r = unfold(w, directory, e);
    if (r == 0)
        r = look_at_all(w, directory, fd, e);
    if (r < 0)
        return r;
    if (remove_unseen(w, directory) < 0)
        return err_set(e, -ENOMEM, "out of memory");
    if (fstatat(fd, ".", &after, 0) < 0)
        return -EAGAIN;
    struct identity last = identity_of(&after);
    return identity_is_same(&identity, &last) ? 0 : -EAGAIN;
}

static int list_directory(struct walk *w, struct entry *directory, struct err *e)
{
    for (unsigned tries = 0; tries < IDENTITY_TRIES; tries++) {
        identity_pause(tries);
        int fd = -1, r = enter(w, directory, &fd, e);
        if (r == 0)
            r = list_once(w, directory, fd, e);
        if (r != -EAGAIN)
            return r < 0 ? r : 0;
        /* The name may stand for another directory by now. */
        walk_forget(w, directory);
    }
    return look_fail(directory->parent, directory->name, -EAGAIN, e);
}

static int list_waiting(struct walk *w, struct err *e)
{
    struct entry *directory;
    while ((directory = tree_next_waiting(w->tree))) {
        int r = list_directory(w, directory, e);
        if (r < 0)
            return r;
    }
    return 0;
}

int walk_all(struct walk *w, struct err *e)
{
    w->flaps = 0;
    tree_wait(w->tree, w->tree->root);
    return list_waiting(w, e);
}

int walk_parts(struct walk *w, const unsigned char *same, struct err *e)
{
    w->flaps = 0;
    /* The last one that is put in comes out first: upper ones, which may be without the lower. */
    for (uint32_t i = w->tree->cache->part_count; i-- > 0;) {
        struct entry *directory;
        if (same[i])
            continue;
        int r = fold_find(w->tree, i, &directory);
        if (r < 0)
            return err_errno(e, r, "cannot use the cache");
        tree_wait(w->tree, directory);
    }
    w->same = same;
    int r = list_waiting(w, e);
    w->same = NULL;
    return r;
}

/* --- known changes --------------------------------------------------------------------------- */

bool walk_check_path(const char *path, size_t len)
{
    const char *rest = path;
    const char *end = path + len;
    while (rest && len) {
        const char *part = rest;
        size_t part_len = walk_part(part, (size_t)(end - part), &rest);
        if (part_len == 0 || memchr(part, '\0', part_len) || (part_len == 1 && part[0] == '.') ||
            (part_len == 2 && part[0] == '.' && part[1] == '.'))
            return false;
    }
    return true;
}

size_t walk_part(const char *path, size_t len, const char **ret_rest)
{
    const char *slash = memchr(path, '/', len);
    *ret_rest = slash ? slash + 1 : NULL;
    return slash ? (size_t)(slash - path) : len;
}

/* Goes down by what is known, as far as that are directories; `ret_name` is the next name in
 * `*ret`, which is NULL where nothing is to be looked at. */
static int go_down(struct walk *w, const char *path, size_t len, struct entry **ret,
                   char ret_name[static NAME_BYTES_MAX + 1], size_t *ret_len, struct err *e)
{
    *ret = NULL;
    struct entry *at = w->tree->root;
    const char *end = path + len;
    for (const char *rest = path, *part = path; rest; part = rest) {
        size_t part_len = walk_part(part, (size_t)(end - part), &rest);
        /* No file system has longer names. */
        if (part_len > NAME_BYTES_MAX || look_is_excluded(w, at, part, part_len))
            return 0;
        int r = unfold(w, at, e);
        if (r < 0)
            return r;
        struct entry *below = tree_find(at, part, part_len);
        if (!rest || !below || !below->directory || below->state == ENTRY_UNREADABLE ||
            below->state == ENTRY_KERNEL) {
            memcpy(ret_name, part, part_len);
            ret_name[part_len] = '\0';
            *ret_len = part_len;
            *ret = at;
            return 0;
        }
        at = below;
    }
    return 0;
}

static int change(struct walk *w, const char *path, size_t len, struct err *e)
{
    if (len == 0) {
        tree_wait(w->tree, w->tree->root);
        return 0;
    }
    char name[NAME_BYTES_MAX + 1];
    size_t name_len = 0;
    struct entry *at;
    int fd = -1, r = go_down(w, path, len, &at, name, &name_len, e);
    if (r < 0 || !at)
        return r;
    r = enter(w, at, &fd, e);
    if (r == 0)
        r = look_at(w, at, fd, name, name_len, true, e);
    /* A file would have its marker: the directory itself may not be searched. */
    if (r == -EACCES && w->mark_unreadable)
        r = deny(w, at, e);
    return r < 0 ? r : 0;
}

int walk_changes(struct walk *w, const char *const *paths, const size_t *lengths, size_t count,
                 struct err *e)
{
    w->flaps = 0;
    for (size_t i = 0; i < count; i++) {
        int r = change(w, paths[i], lengths[i], e);
        if (r < 0)
            return r;
    }
    return list_waiting(w, e);
}
