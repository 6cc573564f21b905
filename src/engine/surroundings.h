/*
 * What the engine knows of the caller's surroundings: toolchains below the home directory, the
 * identity for commits, the repository behind a linked worktree, and sockets of the host that lie
 * where the box would show them.
 *
 * In: canonical paths and the caller's environment. Out: plain data for the plan, in the arena.
 * Nothing here writes, starts a program or reads more than it has a bound for; and what the inside
 * could have written is believed only where something that it cannot write says the same.
 */
#ifndef NACRE_ENGINE_SURROUNDINGS_H
#define NACRE_ENGINE_SURROUNDINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"

/* --- surroundings.c: what the pieces share ------------------------------------------------ */

/* The value of a variable, or NULL; so too without an environment. */
const char *surroundings_variable(const char *const *environment, const char *name);

/* Whether a canonical path is one of some roots or below it. They end with NULL, or are NULL. */
bool surroundings_is_below(const char *path, const char *const *roots);

/*
 * The canonical form of an absolute path that exists, and what is there. No link that lies in what
 * is `writable` (canonical paths that end with NULL, or NULL) is followed: an earlier run could
 * have put it there, to have shown what it leads to. The first `known` bytes of the path are
 * canonical already and not looked at part by part. 0, -EPERM for such a link, or what the look
 * failed with.
 */
int surroundings_resolve(const char *path, size_t known, const char *const *writable,
                         char ret[static PATH_MAX], struct stat *ret_st);

/*
 * Opens a canonical path, and what is there: a link that has taken the place of a part since is
 * not followed. A descriptor or a negative errno; whether there is something else than a link.
 */
int surroundings_open(const char *path, int flags);
bool surroundings_stat(const char *path, struct stat *ret_st);

/* --- toolchains.c ------------------------------------------------------------------------- */

enum { TOOLCHAINS_PATH_MAX = 64, TOOLCHAINS_SHOWN_MAX = 64 };

/* A symbolic link to make inside, since the place where people look for a toolchain is one. */
struct toolchain_link {
    const char *path;   /* below home, below nothing that is shown and below no other link */
    const char *target; /* canonical; shown, or holding what is shown, or a system directory */
};

struct toolchains {
    /* Canonical absolute paths of the host, to be shown read-only where they are; none below
     * another. Directories, and a few single files. */
    const char *const *shown;
    size_t shown_count;
    const struct toolchain_link *links;
    size_t link_count;
    const char *path; /* the value of PATH inside, never NULL */
    /* NAME=VALUE; every value is below what is shown, or the top of a toolchain, or the system's.
     */
    const char *const *variables;
    size_t variable_count;
};

/*
 * Which of the caller's toolchains the box shows: those that PATH or their own variable lead to.
 * `home` and `workspace` are canonical; without a home or an environment, or when not enabled,
 * there are none and PATH has system directories alone. Only places of the caller's or of root's
 * that others cannot write to are shown, never home itself, what holds the workspace or lies in
 * it, nor where secrets are known to be, nor where a link in what is `writable` leads (as above).
 * Past the bounds above the rest is left out.
 *
 * 0 or -ENOMEM.
 */
int toolchains_find(struct arena *arena, bool enabled, const char *home, const char *workspace,
                    const char *const *writable, const char *const *environment,
                    struct toolchains *ret, struct err *e);

/* --- git.c -------------------------------------------------------------------------------- */

/* Who commits; NULL where it is not configured. Without control characters, but for tabs. */
struct git_identity {
    const char *name, *email;
};

/*
 * user.name and user.email of the caller's own configuration, with its includes but not the
 * conditional ones. A file that cannot be read is as if absent. `home` and `environment` may be
 * NULL. 0 or -ENOMEM.
 */
int git_identity_read(struct arena *arena, const char *home, const char *const *environment,
                      struct git_identity *ret);

/* A git configuration that says the same; *ret_text is NULL when there is nothing to say. */
int git_identity_write(struct arena *arena, const struct git_identity *identity,
                       const char **ret_text);

/* Where the repository of a workspace is, if it is not in it. Both canonical, or both NULL. */
struct git_worktree {
    const char *common; /* the directory with objects and refs, in which `admin` lies */
    const char *admin;  /* the directory of this worktree; of a submodule, the same as `common` */
    uint64_t common_device, common_inode;
};

/*
 * Follows the file .git of a linked worktree or of a submodule. The inside can write that file, so
 * it is believed only if the repository names this workspace in turn, belongs to the workspace's
 * owner, is not open to others, and neither lies in the workspace, nor holds it, nor is or holds
 * `home` (which may be NULL). No link in what is `writable` is followed for it. What is not
 * believed is no error. 0 or -ENOMEM.
 */
int git_worktree_find(struct arena *arena, const char *workspace, const char *home,
                      const char *const *writable, struct git_worktree *ret);

/* --- sockets.c ---------------------------------------------------------------------------- */

/*
 * Path sockets to which processes of the host are bound, at or below one of the `roots`, which are
 * canonical. Through a bind mount the inside could connect to them. Canonical paths, each once;
 * it may list a socket too many, where the kernel does not tell to which directory a name belongs.
 *
 * 0; 1 when a search of the roots ended at its bounds, so that one could be missing; or a negative
 * errno: -ENOMEM, or what opening the kernel's list failed with.
 *
 * Sockets that belong to another network namespace are not in that list and are not found.
 */
int host_sockets_find(struct arena *arena, const char *const *roots, size_t count,
                      const char *const **ret, size_t *ret_count, struct err *e);

/* The same by /proc/net/unix alone, as it is done where netlink is closed; for tests. */
int host_sockets_find_by_text(struct arena *arena, const char *const *roots, size_t count,
                              const char *const **ret, size_t *ret_count, struct err *e);

#endif
