/* Which directory a run may change, and where in it the run starts; see engine.h. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "engine/engine.h"

/* Whether `dir` has a marker that its owner, who must be `owner`, put there. */
static bool is_project(const char *dir, uid_t owner)
{
    static const char *const markers[] = {".nacre", ".git"};
    struct stat st;
    if (stat(dir, &st) < 0 || st.st_uid != owner || st.st_mode & S_IWOTH)
        return false;
    for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++) {
        char path[PATH_MAX + 8];
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, markers[i]) < sizeof(path) &&
            lstat(path, &st) == 0 && st.st_uid == owner)
            return true;
    }
    return false;
}

/*
 * The nearest parent with a marker. Not everything with a .git in it counts, since what is found
 * becomes visible and writable: nothing of another owner or that others may write to, and neither
 * the home directory nor what lies above it, unless that is where we are.
 */
static void find_project(const char *home, char path[static PATH_MAX])
{
    char candidate[PATH_MAX], home_path[PATH_MAX];
    struct stat start;
    if (stat(path, &start) < 0)
        return;
    bool has_home = home && home[0] == '/' && realpath(home, home_path);
    memcpy(candidate, path, PATH_MAX);
    for (;;) {
        if (has_home && path_is_below(home_path, candidate))
            return;
        if (plan_check_workspace(candidate, NULL) == 0 && is_project(candidate, start.st_uid)) {
            memcpy(path, candidate, PATH_MAX);
            return;
        }
        char *slash = strrchr(candidate, '/');
        if (!slash || slash == candidate)
            return;
        *slash = '\0';
    }
}

static int resolve_root(const char *root, const char *home, char ret[static PATH_MAX],
                        struct err *e)
{
    if (root) {
        if (!root[0])
            return err_set(e, -EINVAL, "workspace: the name is empty");
        if (!realpath(root, ret))
            return err_errno(e, -errno, "workspace '%s'", root);
    } else {
        if (!getcwd(ret, PATH_MAX))
            return err_errno(e, -errno, "the current directory");
        /* Unreachable directories are told by a prefix instead of a path. */
        if (ret[0] != '/')
            return err_set(e, -ENOENT, "the current directory is out of reach");
        find_project(home, ret);
    }
    return plan_check_workspace(ret, e);
}

static int resolve_cwd(const char *root, const char *cwd, char ret[static PATH_MAX], struct err *e)
{
    char joined[2 * PATH_MAX];
    const char *path = cwd;
    if (cwd[0] != '/') {
        if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", root, cwd) >= sizeof(joined))
            return err_errno(e, -ENAMETOOLONG, "directory '%.64s…'", cwd);
        path = joined;
    }
    struct stat st;
    if (!realpath(path, ret) || stat(ret, &st) < 0)
        return err_errno(e, -errno, "directory '%s'", cwd);
    if (!S_ISDIR(st.st_mode))
        return err_errno(e, -ENOTDIR, "directory '%s'", cwd);
    if (!path_is_below(ret, root))
        return err_set(e, -EINVAL, "directory '%s': not in the workspace '%s'", cwd, root);
    return 0;
}

/* What directories it has is known only inside. */
static int resolve_memory(struct arena *arena, const char *cwd, struct workspace *ret,
                          struct err *e)
{
    const char *path = WORKSPACE_MEMORY_PATH;
    if (cwd)
        path = cwd[0] == '/' ? arena_copy(arena, cwd, strlen(cwd))
                             : arena_format(arena, "%s/%s", WORKSPACE_MEMORY_PATH, cwd);
    if (!path)
        return err_set(e, -ENOMEM, "out of memory");
    if (!path_is_below(path, WORKSPACE_MEMORY_PATH) || strstr(path, "/.."))
        return err_set(e, -EINVAL, "directory '%s': not in the workspace '%s'", cwd,
                       WORKSPACE_MEMORY_PATH);
    *ret = (struct workspace){.root = WORKSPACE_MEMORY_PATH, .cwd = path, .in_memory = true};
    return 0;
}

int workspace_resolve(struct arena *arena, const char *root, const char *cwd, const char *home,
                      struct workspace *ret, struct err *e)
{
    char path[PATH_MAX], below[PATH_MAX], home_path[PATH_MAX];
    if (root && strcmp(root, WORKSPACE_IN_MEMORY) == 0)
        return resolve_memory(arena, cwd, ret, e);
    int r = resolve_root(root, home, path, e);
    if (r < 0)
        return r;
    struct stat st;
    if (stat(path, &st) < 0)
        return err_errno(e, -errno, "workspace '%s'", path);
    if (!S_ISDIR(st.st_mode))
        return err_errno(e, -ENOTDIR, "workspace '%s'", path);
    if (cwd && (r = resolve_cwd(path, cwd, below, e)) < 0)
        return r;

    struct workspace w = {
        .root = arena_copy(arena, path, strlen(path)),
        .cwd = cwd ? arena_copy(arena, below, strlen(below)) : NULL,
        .device = st.st_dev,
        .inode = st.st_ino,
        .uid = st.st_uid,
        .gid = st.st_gid,
        .is_home =
            home && home[0] == '/' && realpath(home, home_path) && path_is_below(home_path, path),
    };
    if (!cwd)
        w.cwd = w.root;
    if (arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    *ret = w;
    return 0;
}
