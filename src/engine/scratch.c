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

/* What lies deep is moved up: so no depth of a tree is too much for our descriptors. */
enum { LEVELS = 32 };

static int open_to_empty(int parent, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int dir = openat(parent, name, flags);
    if (dir < 0 && errno == EACCES && fchmodat(parent, name, 0700, 0) == 0)
        dir = openat(parent, name, flags);
    if (dir >= 0)
        fchmod(dir, 0700);
    return dir;
}

/* Removes everything in `dir`, which was the inside's: links are removed, never followed. */
static void empty(int top, int dir, unsigned level, unsigned long *moved)
{
    DIR *stream = fdopendir(dir);
    if (!stream) {
        close(dir);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(stream))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            unlinkat(dirfd(stream), name, 0) == 0 ||
            unlinkat(dirfd(stream), name, AT_REMOVEDIR) == 0)
            continue;
        int below = open_to_empty(dirfd(stream), name);
        if (below >= 0 && level == LEVELS) {
            char above[40];
            snprintf(above, sizeof(above), ".nacre-%lu", *moved);
            if (renameat(dirfd(stream), name, top, above) == 0)
                (*moved)++;
            close(below);
        } else if (below >= 0) {
            empty(top, below, level + 1, moved);
            unlinkat(dirfd(stream), name, AT_REMOVEDIR);
        }
    }
    closedir(stream);
}

static void remove_below(int parent, const char *name)
{
    unsigned long moved = 0, before;
    do { /* as long as something was moved up, there is more to do */
        before = moved;
        int dir = open_to_empty(parent, name);
        FD_CLEANUP int top = dir < 0 ? -1 : fcntl(dir, F_DUPFD_CLOEXEC, 0);
        if (dir >= 0)
            empty(top, dir, 0, &moved);
    } while (moved != before);
    unlinkat(parent, name, AT_REMOVEDIR);
}

#define PREFIX ".nacre-scratch-"

/*
 * What earlier runs have left in /tmp, by the number of the process in its name. Only what belongs
 * to those for whom we make such directories.
 */
static void sweep(uint32_t uid)
{
    DIR *stream = opendir("/tmp");
    const struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        struct stat st;
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        long pid = strtol(entry->d_name + strlen(PREFIX), NULL, 10);
        if (pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH &&
            fstatat(dirfd(stream), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(st.st_mode) && st.st_uid == uid)
            remove_below(dirfd(stream), entry->d_name);
    }
    if (stream)
        closedir(stream);
}

int scratch_make(struct arena *arena, uint32_t uid, uint32_t gid, const char **ret, struct err *e)
{
    char *path = arena_format(arena, "/tmp/" PREFIX "%d-XXXXXX", (int)getpid());
    if (!path)
        return err_set(e, -ENOMEM, "out of memory");
    sweep(uid);
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
}
