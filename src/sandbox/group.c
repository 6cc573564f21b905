/* See group.h. */
#include "sandbox/group.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/fd.h"

size_t group_read_file(int dir, const char *name, char *ret, size_t size)
{
    FD_CLEANUP int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, ret, size - 1);
    ret[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += len) {
        bool starts = at == list || strchr(" ,:", at[-1]);
        if (starts && (strchr(" ,:\n", at[len]) != NULL))
            return true;
    }
    return false;
}

/* Our path in a hierarchy, from /proc/self/cgroup: "N:CONTROLLERS:PATH". Empty for version 2. */
static bool own_path(const char *controller, char ret[static PATH_MAX])
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char line[PATH_MAX + 64];
    bool found = false;
    while (f && !found && fgets(line, sizeof(line), f)) {
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        list++;
        path[strcspn(path, "\n")] = '\0';
        found = controller[0] ? has_word(list, controller) : list[0] == '\0';
        if (found)
            snprintf(ret, PATH_MAX, "%s", path);
    }
    if (f)
        fclose(f);
    /* A path that climbs lies outside of what this namespace shows. */
    return found && ret[0] == '/' && !strstr(ret, "/..");
}

static int open_dir(const char *mount, const char *path)
{
    char full[PATH_MAX + 64];
    snprintf(full, sizeof(full), "%s%s", mount, path);
    return open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * What holds for those in a group would not hold for its neighbours, of whom ours will be one.
 * False: it bounds more than numbers of threads, of which the least bound is kept.
 */
static bool may_leave(int dir, uint64_t *threads)
{
    static const char *const bounds[] = {"memory.max", "memory.high", "cpu.max", "io.max",
                                         "cpuset.cpus"};
    char text[256];
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        if (group_read_file(dir, bounds[i], text, sizeof(text)) && text[0] != '\n' &&
            strncmp(text, "max", strlen("max")) != 0)
            return false;
    }
    if (group_read_file(dir, "pids.max", text, sizeof(text)) && text[0] != 'm') {
        uint64_t bound = strtoull(text, NULL, 10);
        *threads = bound < *threads ? bound : *threads;
    }
    return dir >= 0;
}

int group_open_parent_v2(uint64_t *threads)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char path[PATH_MAX], handed[256];
    struct statfs fs;
    if (!own_path("", path))
        return -1;
    for (size_t m = 0; m < sizeof(mounts) / sizeof(mounts[0]); m++) {
        if (statfs(mounts[m], &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
            continue;
        for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
            FD_CLEANUP int left = threads && slash[1] ? open_dir(mounts[m], path) : -1;
            if (threads && slash[1] && !may_leave(left, threads))
                return -1;
            *slash = '\0';
            FD_CLEANUP int dir = open_dir(mounts[m], path[0] ? path : "/");
            if (dir < 0)
                continue;
            group_read_file(dir, "cgroup.subtree_control", handed, sizeof(handed));
            if (has_word(handed, "memory") && faccessat(dir, "cgroup.procs", W_OK, 0) == 0 &&
                faccessat(dir, ".", W_OK, 0) == 0)
                return fd_steal(&dir);
        }
    }
    return -1;
}

int group_open_parent_v1(const char *controller)
{
    char path[PATH_MAX], mount[64];
    if (!own_path(controller, path))
        return -1;
    snprintf(mount, sizeof(mount), "/sys/fs/cgroup/%s", controller);
    FD_CLEANUP int dir = open_dir(mount, path);
    return dir >= 0 && faccessat(dir, ".", W_OK, 0) == 0 ? fd_steal(&dir) : -1;
}
