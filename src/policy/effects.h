/*
 * The verdict on effects: what a run has done to the workspace is known before it is real, and is
 * judged by the same policy as its text was. No file is looked at here.
 */
#ifndef NACRE_POLICY_EFFECTS_H
#define NACRE_POLICY_EFFECTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "policy/policy.h"

enum policy_effect_kind { EFFECT_CREATED, EFFECT_MODIFIED, EFFECT_DELETED };

struct policy_effect {
    enum policy_effect_kind kind;
    const char *path;   /* absolute and canonical */
    const char *root;   /* the directory that could be written to, in which it is */
    uint64_t bytes;     /* of new content */
    const char *target; /* of a link that is new; NULL */
    bool is_directory;
    bool harmless; /* looked at, and found to make nobody run anything */
    /* Where in a git repository that is not called `.git` it is; NULL: in none. */
    const char *in_repository;
    const char *secret; /* the rule by which it holds one, in a file that git tracks; NULL */
};

struct policy_effect_reason {
    enum decision decision;
    const char *rule, *reason;
    const char *path; /* NULL: all of them */
};

struct policy_effect_verdict {
    enum decision decision;
    struct policy_effect_reason reasons[16]; /* the first of them; the strictest is among them */
    size_t count;
    const char *review[16]; /* allowed, but run by people or their tools later: worth a look */
    size_t review_count;
};

/* `home` may be NULL. 0 or -ENOMEM. */
int policy_judge_effects(struct arena *arena, const struct policy *policy, const char *workspace,
                         const char *home, const struct policy_effect *effects, size_t count,
                         struct policy_effect_verdict *ret);

#endif
