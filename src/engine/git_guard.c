/*
 * What of a repository runs programs when somebody outside uses it later: settings and hooks, its
 * own and those of its submodules and worktrees. Those that are there are protected; one that git
 * follows and that was not there is taken away after the run.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/box.h"
#include "sandbox/kernel_calls.h"

enum { DEPTH_MAX = 6 };

/* In every directory of a repository, a submodule's or a worktree's. */
static const char *const parts[] = {"config", "config.worktree", "hooks", "commondir", "gitdir"};

/* A file that makes git take settings and hooks from elsewhere. */
#define ELSEWHERE "commondir"

static void add_parts(struct arena *arena, const char *dir, struct git_guard *g)
{
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct stat st;
        const char *path = arena_format(arena, "%s/%s", dir, parts[i]);
        if (path && g->count < GIT_GUARD_MAX && lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
            g->paths[g->count++] = path;
    }
}

/* Submodules may have slashes in their names, and submodules of their own. */
static void add_below(struct arena *arena, const char *dir, int depth, struct git_guard *g)
{
    DIR *stream = depth < DEPTH_MAX ? opendir(dir) : NULL;
    const struct dirent *entry;
    while (stream && !arena->failed && (entry = readdir(stream))) {
        struct stat st;
        if (entry->d_name[0] == '.')
            continue;
        const char *path = arena_format(arena, "%s/%s", dir, entry->d_name);
        if (!path || lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
            continue;
        add_parts(arena, path, g);
        const char *head = arena_format(arena, "%s/HEAD", path);
        bool is_repository = head && lstat(head, &st) == 0;
        add_below(arena, is_repository ? arena_format(arena, "%s/modules", path) : path, depth + 1,
                  g);
    }
    if (stream)
        closedir(stream);
}

void git_guard_find(struct arena *arena, const char *workspace, const char *common,
                    struct git_guard *ret)
{
    const char *const dirs[] = {arena_format(arena, "%s/.git", workspace), common};
    *ret = (struct git_guard){0};
    for (size_t i = 0; i < 2; i++) {
        struct stat st;
        if (!dirs[i] || lstat(dirs[i], &st) < 0 || !S_ISDIR(st.st_mode))
            continue;
        add_parts(arena, dirs[i], ret);
        const char *modules = arena_format(arena, "%s/modules", dirs[i]);
        const char *worktrees = arena_format(arena, "%s/worktrees", dirs[i]);
        const char *elsewhere = arena_format(arena, "%s/" ELSEWHERE, dirs[i]);
        if (modules && worktrees) {
            add_below(arena, modules, 0, ret);
            add_below(arena, worktrees, DEPTH_MAX - 1, ret);
        }
        if (elsewhere && lstat(elsewhere, &st) < 0 && errno == ENOENT)
            ret->absent[ret->absent_count++] = elsewhere;
    }
}

/* The inside may have put links where the repository was: none is followed. */
static int open_dir_of(const char *path, const char **ret_name)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS};
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = (size_t)(slash - path);
    if (len >= sizeof(dir))
        return -ENAMETOOLONG;
    memcpy(dir, path, len);
    dir[len] = '\0';
    *ret_name = slash + 1;
    return kernel_openat2(AT_FDCWD, dir, &how);
}

void git_guard_finish(const struct git_guard *g, struct notes *notes)
{
    for (size_t i = 0; i < g->absent_count; i++) {
        struct stat st;
        const char *name = NULL;
        FD_CLEANUP int dir = open_dir_of(g->absent[i], &name);
        if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (unlinkat(dir, name, 0) == 0)
            note(notes, "'%s' was made, which would let git run programs of the inside's: removed",
                 g->absent[i]);
        else
            note(notes,
                 "'%s' was made and lets git run programs of the inside's: remove it before you "
                 "use git there",
                 g->absent[i]);
    }
}
