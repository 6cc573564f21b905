/*
 * What a change is to git, for the verdict on effects: a repository is one by what is in it, under
 * whatever name; and some of what git obeys is harmless, by what it says.
 */
#ifndef NACRE_ENGINE_GIT_EFFECTS_H
#define NACRE_ENGINE_GIT_EFFECTS_H

#include "base/arena.h"
#include "base/path_index.h"
#include "changes/changes.h"

struct git_effects {
    struct arena *arena;
    const struct change_set *set; /* none of it is real yet */
    struct path_index index;      /* of its changes, made when it is needed */
};

/*
 * `ret_inside`: the path below a repository that is not called `.git`, such as "hooks/update"; NULL
 * where it is in none, or nothing there that git obeys. `ret_harmless`: it was looked at, and makes
 * nobody run anything.
 */
void git_effects_look(struct git_effects *g, const struct change *c, const char **ret_inside,
                      bool *ret_harmless);

#endif
