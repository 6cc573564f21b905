/* See beneath.h. */
#include "changes/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/kernel_calls.h"

int beneath_open(int dir, const char *path, int flags)
{
    const struct open_how how = {.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    int fd;
    do
        fd = kernel_openat2(dir, path, &how);
    while (fd < 0 && (errno == EINTR || errno == EAGAIN));
    return fd < 0 ? -errno : fd;
}

int beneath_open_file(int dir, const char *path)
{
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    int fd = beneath_open(dir, path, flags | O_NOATIME);
    return fd == -EPERM ? beneath_open(dir, path, flags) : fd; /* another's file */
}

int beneath_parent(struct beneath *b, const char *path, int *ret_parent, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    *ret_name = slash ? slash + 1 : path;
    if (b->parent >= 0 && b->known && strlen(b->known) == len && memcmp(b->known, path, len) == 0) {
        *ret_parent = b->parent;
        return 0;
    }
    beneath_release(b);
    b->known = strndup(path, len);
    if (!b->known)
        return -ENOMEM;
    int fd = beneath_open(b->root, len ? b->known : ".", O_PATH | O_DIRECTORY);
    if (fd < 0) {
        beneath_release(b);
        return fd;
    }
    *ret_parent = b->parent = fd;
    return 0;
}

int beneath_stat(struct beneath *b, const char *path, struct stat *ret)
{
    int parent;
    const char *name;
    int r = beneath_parent(b, path, &parent, &name);
    if (r == 0 && fstatat(parent, name, ret, AT_SYMLINK_NOFOLLOW) < 0)
        r = -errno;
    return r;
}

void beneath_release(struct beneath *b)
{
    fd_close(&b->parent);
    free(b->known);
    b->known = NULL;
}

int names_open(struct names *n, int dir)
{
    n->stream = NULL;
    FD_CLEANUP int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0)
        return -errno;
    n->stream = fdopendir(copy);
    if (!n->stream)
        return -errno;
    fd_steal(&copy);
    return 0;
}

const char *names_next(struct names *n)
{
    const struct dirent *entry;
    while (n->stream && (entry = readdir(n->stream))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        n->type = entry->d_type;
        n->inode = entry->d_ino;
        return entry->d_name;
    }
    return NULL;
}

void names_close(struct names *n)
{
    if (n->stream)
        closedir(n->stream);
    n->stream = NULL;
}

/* Opens a directory for emptying; one that does not let itself be opened is opened up first. */
static int open_to_empty(int dir, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir, name, flags);
    struct stat st;
    if (fd < 0 && errno == EACCES && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(st.st_mode) && fchmodat(dir, name, 0700, 0) == 0)
        fd = openat(dir, name, flags);
    /* Where that is refused, removing what is in it will be. */
    if (fd >= 0 && fchmod(fd, 0700) < 0)
        return fd;
    return fd < 0 ? -errno : fd;
}

/* What lies deep is moved up, so that no more descriptors are open than levels are here. */
enum { LEVELS = 32 };

static int empty(int top, int dir, unsigned level, unsigned long *moved)
{
    struct names names;
    int r = names_open(&names, dir);
    if (r < 0)
        return r;
    for (const char *name; r == 0 && (name = names_next(&names));) {
        if (names.type != DT_DIR && unlinkat(dir, name, 0) == 0)
            continue;
        if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            continue;
        if (level == LEVELS) {
            char above[32];
            snprintf(above, sizeof(above), ".nacre-%lu", (*moved)++);
            /* To be moved, a directory must be writable. */
            r = fchmodat(dir, name, 0700, 0) < 0 || renameat(dir, name, top, above) < 0 ? -errno
                                                                                        : 0;
            continue;
        }
        FD_CLEANUP int below = open_to_empty(dir, name);
        r = below < 0 ? below : empty(top, below, level + 1, moved);
        if (r == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0)
            r = -errno;
    }
    names_close(&names);
    return r;
}

int beneath_remove(int dir, const char *name)
{
    if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    FD_CLEANUP int top = open_to_empty(dir, name);
    if (top < 0)
        return top == -ENOENT ? 0 : top;
    unsigned long moved = 0, before;
    int r;
    do { /* as long as something was moved up, there is more to do */
        before = moved;
        r = empty(top, top, 0, &moved);
    } while (r == 0 && moved != before);
    return r < 0 ? r : unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
