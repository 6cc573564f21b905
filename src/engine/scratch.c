/*
 * A private directory of the host for a run in landlock strength: its /tmp and its home. It goes
 * with the run; what a run that was killed has left goes with the next.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/beneath.h"
#include "engine/engine.h"

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
            beneath_remove(dirfd(stream), entry->d_name);
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
    beneath_remove(AT_FDCWD, path);
}
