/* What the pieces of surroundings.h share. */
#include "engine/surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "sandbox/kernel_calls.h"

enum { LINKS_MAX = 40 }; /* as the kernel has it */

const char *surroundings_variable(const char *const *environment, const char *name)
{
    size_t len = strlen(name);
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return *environment + len + 1;
    }
    return NULL;
}

/* Takes the last part off a path that is walked; the root is the empty text. */
static size_t without_last(const char *path, size_t len)
{
    while (len && path[--len] != '/')
        ;
    return len;
}

/* Puts where the link at `path` leads in front of the `rest`; the number of its bytes, or 0. */
static size_t follow(const char *path, char *rest, size_t size)
{
    char target[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof(target));
    size_t len = n > 0 ? (size_t)n : 0, behind = strlen(rest);
    if (len == 0 || len >= sizeof(target) || len + 1 + behind >= size)
        return 0;
    memmove(rest + len + 1, rest, behind + 1);
    memcpy(rest, target, len);
    rest[len] = '/';
    return len;
}

bool surroundings_is_below(const char *path, const char *const *roots)
{
    for (; roots && *roots; roots++) {
        if (path_is_below(path, *roots))
            return true;
    }
    return false;
}

int surroundings_open(const char *path, int flags)
{
    const struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_NO_SYMLINKS};
    int fd = kernel_openat2(AT_FDCWD, path, &how);
    /* An older kernel can be told so of the last part alone. */
    if (fd < 0 && errno == ENOSYS)
        fd = open(path, flags | O_NOFOLLOW);
    return fd < 0 ? -errno : fd;
}

bool surroundings_stat(const char *path, struct stat *ret_st)
{
    FD_CLEANUP int fd = surroundings_open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && fstat(fd, ret_st) == 0 && !S_ISLNK(ret_st->st_mode);
}

/*
 * Nearly every path has no links in it, and the kernel can say so at once. 1: it is its own real
 * path; 0: that has to be found out part by part.
 */
static int look_at_once(const char *path, size_t len, struct stat *ret_st)
{
    /* As it stands, it is to be what is returned. */
    if (len < 2 || path[len - 1] == '/' || path[len - 1] == '.' || strstr(path, "//") ||
        strstr(path, "/./") || strstr(path, "/../"))
        return 0;
    const struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS};
    FD_CLEANUP int fd = kernel_openat2(AT_FDCWD, path, &how);
    if (fd < 0)
        return errno == ENOENT ? -ENOENT : 0;
    return fstat(fd, ret_st) == 0 && !S_ISLNK(ret_st->st_mode);
}

int surroundings_resolve(const char *path, size_t known, const char *const *writable,
                         char ret[static PATH_MAX], struct stat *ret_st)
{
    char rest[2 * PATH_MAX];
    size_t len = known, path_len = strlen(path);
    if (path[0] != '/')
        return -EINVAL;
    if (path_len >= PATH_MAX)
        return -ENAMETOOLONG;
    int at_once = look_at_once(path, path_len, ret_st);
    if (at_once != 0) {
        memcpy(ret, path, path_len + 1);
        return at_once < 0 ? at_once : 0;
    }
    memcpy(ret, path, len);
    ret[len] = '\0';
    memcpy(rest, path + known, path_len - known + 1);
    /* What a part is looked up in, is a directory, or the look fails. */
    bool looked = false;
    for (int links = 0;;) {
        char *part = rest + strspn(rest, "/");
        size_t part_len = strcspn(part, "/");
        if (part_len == 0)
            break;
        if (looked && !S_ISDIR(ret_st->st_mode))
            return -ENOTDIR;
        bool up = part_len == 2 && part[0] == '.' && part[1] == '.';
        bool here = part_len == 1 && part[0] == '.';
        if (up) {
            len = without_last(ret, len);
        } else if (!here) {
            if (len + part_len + 1 >= PATH_MAX)
                return -ENAMETOOLONG;
            ret[len++] = '/';
            memcpy(ret + len, part, part_len);
            len += part_len;
        }
        ret[len] = '\0';
        memmove(rest, part + part_len, strlen(part + part_len) + 1);
        if (here)
            continue;
        if (lstat(len ? ret : "/", ret_st) < 0)
            return -errno;
        looked = true;
        if (!S_ISLNK(ret_st->st_mode))
            continue;
        if (surroundings_is_below(ret, writable))
            return -EPERM;
        if (++links > LINKS_MAX || !follow(ret, rest, sizeof(rest)))
            return -ELOOP;
        len = rest[0] == '/' ? 0 : without_last(ret, len);
        ret[len] = '\0';
        looked = false;
    }
    if (len == 0)
        memcpy(ret, "/", 2);
    return looked || lstat(ret, ret_st) == 0 ? 0 : -errno;
}
