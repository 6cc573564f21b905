/*
 * A private directory of the host for a run in landlock strength: its /tmp and its home. It goes
 * with the run; what a run that was killed has left goes with the next.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/engine.h"

enum { DEPTH_MAX = 1024 };

/* Removes everything in `dir`, which was the inside's: links are removed, never followed. */
static void empty(int dir, unsigned depth)
{
    DIR *stream = depth < DEPTH_MAX ? fdopendir(dir) : NULL;
    if (!stream) {
        close(dir);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(stream))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            unlinkat(dirfd(stream), name, 0) == 0)
            continue;
        int below = openat(dirfd(stream), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0 && errno == EACCES && fchmodat(dirfd(stream), name, 0700, 0) == 0)
            below = openat(dirfd(stream), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0) {
            fchmod(below, 0700);
            empty(below, depth + 1);
        }
        unlinkat(dirfd(stream), name, AT_REMOVEDIR);
    }
    closedir(stream);
}

static void remove_below(int parent, const char *name)
{
    int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir >= 0)
        empty(dir, 0);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* Names start with the number of the process that made them. */
static void sweep(int parent)
{
    int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
            remove_below(parent, entry->d_name);
    }
    if (stream)
        closedir(stream);
}

int scratch_make(struct arena *arena, uint32_t uid, uint32_t gid, const char **ret, struct err *e)
{
    struct stat st;
    char *parent = arena_format(arena, "/tmp/nacre-%u", (unsigned)geteuid());
    char *path = arena_format(arena, "/tmp/nacre-%u/%d-XXXXXX", (unsigned)geteuid(), (int)getpid());
    if (!parent || !path)
        return err_set(e, -ENOMEM, "out of memory");
    if (mkdir(parent, 0711) < 0 && errno != EEXIST)
        return err_errno(e, -errno, "cannot make '%s'", parent);
    FD_CLEANUP int dir = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0)
        return err_errno(e, -errno, "cannot open '%s'", parent);
    if (st.st_uid != geteuid() || st.st_mode & 0022)
        return err_set(e, -EPERM, "'%s' is somebody else's, or open to others; remove it", parent);
    sweep(dir);
    if (!mkdtemp(path))
        return err_errno(e, -errno, "cannot make '%s'", path);
    if (geteuid() == 0 && chown(path, uid, gid) < 0) {
        int r = err_errno(e, -errno, "cannot give '%s' to the workspace's owner", path);
        rmdir(path);
        return r;
    }
    *ret = path;
    return 0;
}

void scratch_remove(const char *path)
{
    remove_below(AT_FDCWD, path);
    char parent[64];
    snprintf(parent, sizeof(parent), "/tmp/nacre-%u", (unsigned)geteuid());
    rmdir(parent); /* if this was the last */
}
