/* See work.h. */
#include "work/work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "changes/beneath.h"

enum { JOBS_MAX = 100000, SHORTEST = 4 };

bool work_is_id(const char *id)
{
    const size_t prefix = sizeof(WORK_PREFIX) - 1;
    if (strlen(id) != WORK_ID || strncmp(id, WORK_PREFIX, prefix) != 0)
        return false;
    for (size_t i = 0; i < UUID_TEXT; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        char c = id[prefix + i];
        if (dash ? c != '-' : !strchr("0123456789abcdef", c))
            return false;
    }
    return true;
}

/* --- the root -------------------------------------------------------------------------------- */

/* Part by part below `top`, each made if need be; a link is followed only where `follow` says so.
 */
static int walk(int top, const char *path, bool make, bool follow)
{
    char name[NAME_MAX + 1];
    int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
    FD_CLEANUP int here = top;
    while (*(path += strspn(path, "/"))) {
        size_t len = strcspn(path, "/");
        if (len >= sizeof(name))
            return -ENAMETOOLONG;
        memcpy(name, path, len);
        name[len] = '\0';
        path += len;
        int next = openat(here, name, flags);
        if (next < 0 && errno == ENOENT && make &&
            (mkdirat(here, name, 0700) == 0 || errno == EEXIST))
            next = openat(here, name, flags);
        if (next < 0)
            return -errno;
        fd_close(&here);
        here = next;
    }
    return fd_steal(&here);
}

static int place(struct arena *arena, const char *root, const char *workspace, const char *data,
                 const char *home, const char **ret, struct err *e)
{
    bool at_home = root ? root[0] == '~' : !(data && data[0] == '/');
    if (at_home && !(home && home[0] == '/'))
        return err_set(e, -ENOENT, "jobs: HOME is not set, so there is no place for them");
    if (!root)
        *ret = at_home ? arena_format(arena, "%s/.local/share/nacre/jobs", home)
                       : arena_format(arena, "%s/nacre/jobs", data);
    else if (at_home)
        *ret = arena_format(arena, "%s%s", home, root + 1);
    else if (root[0] == '/')
        *ret = arena_copy(arena, root, strlen(root));
    else
        *ret = arena_format(arena, "%s/%s", workspace, root);
    return *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* W1 */
static int check_root(int dir, const char *path, struct err *e)
{
    struct stat st;
    if (fstat(dir, &st) < 0)
        return err_errno(e, -errno, "%s", path);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return err_set(e, -EPERM, "%s: belongs to another user", path);
    if (st.st_mode & S_IWOTH || (st.st_mode & S_IWGRP && st.st_gid != 0 && st.st_gid != st.st_uid))
        return err_set(e, -EPERM, "%s: others can write to it (chmod go-w takes that away)", path);
    return 0;
}

int work_open(struct arena *arena, const char *root, const char *workspace, const char *data,
              const char *home, bool make, struct work_root *ret, struct err *e)
{
    const char *path = NULL;
    bool inside = root && root[0] != '/' && root[0] != '~';
    int r = place(arena, root, workspace, data, home, &path, e);
    if (r < 0 || !path)
        return r;
    int top = open(inside ? workspace : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    FD_CLEANUP int dir = top < 0 ? -errno : walk(top, inside ? root : path, make, !inside);
    if (dir == -ENOENT && !make) {
        *ret = (struct work_root){.dir = -1, .path = path};
        return 0;
    }
    if (dir == -ENOTDIR || dir == -ELOOP)
        return err_set(e, dir, "%s: %s", path,
                       inside ? "is no directory, or reached by a link, which is not followed here"
                              : "is no directory");
    if (dir < 0)
        return err_errno(e, dir, "%s", path);
    if ((r = check_root(dir, path, e)) < 0)
        return r;
    char link[64], real[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
    ssize_t len = readlink(link, real, sizeof(real) - 1);
    if (len <= 0 || real[0] != '/')
        return err_errno(e, len < 0 ? -errno : -ENOENT, "%s", path);
    path = arena_copy(arena, real, (size_t)len);
    if (!path)
        return err_set(e, -ENOMEM, "out of memory");
    *ret = (struct work_root){.dir = fd_steal(&dir), .path = path};
    return 0;
}

void work_close(struct work_root *root)
{
    fd_close(&root->dir);
}

/* --- jobs ------------------------------------------------------------------------------------ */

int work_new(const struct work_root *root, char ret_id[WORK_ID + 1], struct err *e)
{
    char uuid[UUID_TEXT + 1];
    int r = uuid_new(uuid);
    if (r < 0)
        return err_errno(e, r, "cannot name a job");
    snprintf(ret_id, WORK_ID + 1, WORK_PREFIX "%s", uuid);
    if (mkdirat(root->dir, ret_id, 0700) < 0)
        return err_errno(e, -errno, "cannot make '%s/%s'", root->path, ret_id);
    /* Whatever the umask takes away, the owner has all. */
    if (fchmodat(root->dir, ret_id, 0700, 0) < 0)
        return err_errno(e, -errno, "%s/%s", root->path, ret_id);
    return 0;
}

/* W2. `st` of a name in the root. */
static bool is_own(const struct stat *st)
{
    return S_ISDIR(st->st_mode) && st->st_uid == geteuid();
}

static int list_names(const struct work_root *root, DIR **ret, struct err *e)
{
    int fd = root->dir < 0 ? -1 : openat(root->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *ret = fd < 0 ? NULL : fdopendir(fd);
    if (*ret || root->dir < 0)
        return 0;
    int r = -errno;
    fd_close(&fd);
    return err_errno(e, r, "%s", root->path);
}

/* The one whose name begins with it. */
static int find_start(const struct work_root *root, const char *word, char ret_id[WORK_ID + 1],
                      struct err *e)
{
    const char *start =
        strncmp(word, WORK_PREFIX, strlen(WORK_PREFIX)) == 0 ? word + strlen(WORK_PREFIX) : word;
    size_t len = strlen(start), found = 0;
    const struct dirent *entry;
    DIR *stream;
    if (len < SHORTEST || len > UUID_TEXT || strspn(start, "0123456789abcdef-") != len)
        return err_set(e, -EINVAL, "'%.80s' is no job: " WORK_PREFIX "UUID, or the start of one",
                       word);
    int r = list_names(root, &stream, e);
    if (r < 0)
        return r;
    while (stream && (entry = readdir(stream))) {
        if (!work_is_id(entry->d_name) ||
            strncmp(entry->d_name + strlen(WORK_PREFIX), start, len) != 0)
            continue;
        memcpy(ret_id, entry->d_name, WORK_ID + 1);
        found++;
    }
    if (stream)
        closedir(stream);
    if (found == 1)
        return 0;
    return found ? err_set(e, -EINVAL, "more than one job begins with '%s'", word)
                 : err_set(e, -ENOENT, "there is no job '%s' in %s (`nacre job list` has them)",
                           word, root->path);
}

int work_find(struct arena *arena, const struct work_root *root, const char *word,
              char ret_id[WORK_ID + 1], const char **ret_path, struct err *e)
{
    struct stat st;
    int r = find_start(root, word, ret_id, e);
    if (r < 0)
        return r;
    if (fstatat(root->dir, ret_id, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_errno(e, -errno, "%s/%s", root->path, ret_id);
    if (!is_own(&st))
        return err_set(e, -EPERM, "%s/%s: is no directory of yours", root->path, ret_id);
    *ret_path = arena_format(arena, "%s/%s", root->path, ret_id);
    return *ret_path ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static int by_time(const void *a, const void *b)
{
    const struct work_listed *x = a, *y = b;
    if (x->made_ms != y->made_ms)
        return x->made_ms < y->made_ms ? -1 : 1;
    return strcmp(x->id, y->id);
}

int work_list(struct arena *arena, const struct work_root *root, struct work_listed **ret,
              size_t *ret_count, struct err *e)
{
    struct work_listed *items = NULL;
    size_t count = 0, room = 0;
    const struct dirent *entry;
    struct stat st;
    DIR *stream;
    int r = list_names(root, &stream, e);
    if (r < 0)
        return r;
    while (stream && r == 0 && (entry = readdir(stream)) && count < JOBS_MAX) {
        if (!work_is_id(entry->d_name) ||
            fstatat(root->dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_own(&st))
            continue;
        if (count == room) {
            struct work_listed *more =
                arena_alloc_array(arena, room = 2 * room + 16, sizeof(*more));
            if (more && count)
                memcpy(more, items, count * sizeof(*more));
            items = more;
        }
        const char *path = arena_format(arena, "%s/%s", root->path, entry->d_name);
        if (!items || !path) {
            r = err_set(e, -ENOMEM, "out of memory");
            break;
        }
        items[count] = (struct work_listed){.path = path,
                                            .made_ms = (int64_t)st.st_mtim.tv_sec * 1000 +
                                                       st.st_mtim.tv_nsec / 1000000};
        memcpy(items[count++].id, entry->d_name, WORK_ID + 1);
    }
    if (stream)
        closedir(stream);
    if (r < 0)
        return r;
    if (count)
        qsort(items, count, sizeof(*items), by_time);
    *ret = items;
    *ret_count = count;
    return 0;
}

int work_remove(const struct work_root *root, const char *id, struct err *e)
{
    char gone[WORK_ID + 16];
    struct stat st;
    snprintf(gone, sizeof(gone), ".gone-%s", id);
    if (!work_is_id(id))
        return err_set(e, -EINVAL, "'%.80s' is no job", id);
    if (fstatat(root->dir, id, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_errno(e, -errno, "%s/%s", root->path, id);
    if (!is_own(&st))
        return err_set(e, -EPERM, "%s/%s: is no directory of yours", root->path, id);
    if (renameat2(root->dir, id, root->dir, gone, RENAME_NOREPLACE) < 0)
        return err_errno(e, -errno, "cannot remove '%s/%s'", root->path, id);
    int r = beneath_remove(root->dir, gone);
    return r < 0 ? err_errno(e, r, "not all of '%s/%s' could be removed", root->path, gone) : 0;
}
