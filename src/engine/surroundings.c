/* What the pieces of surroundings.h share. */
#include "engine/surroundings.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

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

bool surroundings_resolve(const char *path, size_t known, const char *workspace,
                          char ret[static PATH_MAX], struct stat *ret_st)
{
    char rest[2 * PATH_MAX];
    size_t len = known, path_len = strlen(path);
    if (path[0] != '/' || path_len >= PATH_MAX)
        return false;
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
            return false;
        bool up = part_len == 2 && part[0] == '.' && part[1] == '.';
        bool here = part_len == 1 && part[0] == '.';
        if (up) {
            len = without_last(ret, len);
        } else if (!here) {
            if (len + part_len + 1 >= PATH_MAX)
                return false;
            ret[len++] = '/';
            memcpy(ret + len, part, part_len);
            len += part_len;
        }
        ret[len] = '\0';
        memmove(rest, part + part_len, strlen(part + part_len) + 1);
        if (here)
            continue;
        if (lstat(len ? ret : "/", ret_st) < 0)
            return false;
        looked = true;
        if (!S_ISLNK(ret_st->st_mode))
            continue;
        if ((workspace && path_is_below(ret, workspace)) || ++links > LINKS_MAX ||
            !follow(ret, rest, sizeof(rest)))
            return false;
        len = rest[0] == '/' ? 0 : without_last(ret, len);
        ret[len] = '\0';
        looked = false;
    }
    if (len == 0)
        memcpy(ret, "/", 2);
    return looked || lstat(ret, ret_st) == 0;
}
