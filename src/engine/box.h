/*
 * What a box is to have, before it is a plan: the policy's paths, limits and variables, resolved
 * against the file system, with what the caller's surroundings add to them.
 */
#ifndef NACRE_ENGINE_BOX_H
#define NACRE_ENGINE_BOX_H

#include "engine/looks.h"
#include "engine/surroundings.h"
#include "nacre.h"
#include "plan/plan.h"
#include "policy/policy.h"

/* The directories of one run, canonical. */
struct workspace {
    const char *root;
    const char *cwd; /* the root or below it */
    uint64_t device, inode;
    uint32_t uid, gid; /* its owner */
    bool is_home;      /* it is, or holds, the caller's home directory */
    bool in_memory;    /* no path of the host is behind it */
};

/* Where a workspace in memory lies inside. */
#define WORKSPACE_IN_MEMORY   ":memory:"
#define WORKSPACE_MEMORY_PATH "/workspace"

/* What is found once for a setting, and looked at by the verdict as well as by the plan. */
struct box {
    struct toolchains toolchains;
    struct git_worktree tree;
    /* What a command can write, and earlier ones could: the workspace, listed paths and the
     * worktree's repository, canonical; ends with NULL. No link in it says what is shown. */
    const char *const *writable;
    struct plan_texts variables; /* NAME=VALUE, besides what every box has */
    struct looks *looks;         /* NULL: nothing is remembered */
};

/* Things worth a warning; those past the end are left out. */
struct notes {
    struct arena *arena;
    const char *items[16];
    size_t count;
};
__attribute__((format(printf, 2, 3))) void note(struct notes *notes, const char *format, ...);

/* git_guard.c: what of a repository is kept from the inside, since it runs outside later. */
enum { GIT_GUARD_MAX = 1024 };
struct git_guard {
    const char **paths; /* to be protected; GIT_GUARD_MAX at most */
    size_t count;
    const char **absent; /* must not be there after the run */
    size_t absent_count;
};
/*
 * Of the repositories that are in what is `writable` (canonical paths that end with NULL), or are
 * that themselves. `home` may be NULL. -E2BIG or -EPERM where not all of it can be protected.
 */
int git_guard_find(struct arena *arena, const char *const *writable, const char *home,
                   struct git_guard *ret, struct err *e);
void git_guard_finish(const struct git_guard *g, struct notes *notes);

/* `home` is canonical or NULL. */
int box_look(struct arena *arena, const struct policy *policy, const struct workspace *workspace,
             const char *home, const char *const *environment, struct box *ret, struct err *e);

/*
 * The request for a plan, but for the text and what the call itself asks for. -EINVAL or -EPERM
 * with the reason where a listed path cannot be had.
 */
int box_request(struct arena *arena, const struct box *box, const struct policy *policy,
                const struct workspace *workspace, const char *home, const char *const *environment,
                enum plan_strength strength, struct plan_request *ret, struct git_guard *guard,
                struct notes *notes, struct err *e);

/* The value of a variable in an environment, which may be NULL; NULL: it has none. */
const char *box_variable(const char *const *environment, const char *name);

#endif
