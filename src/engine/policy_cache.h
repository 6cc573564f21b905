/*
 * Policies that a handle has loaded, ready to judge. Loading takes longer than judging, and most
 * calls of a long-lived host come with the same words.
 *
 * One is used again only if the request is the same, word for word, and every file and directory
 * that loading looks at has the identity that it had; files that were just written are never
 * believed to be unchanged. What is in use stays alive until the last user lets go of it.
 */
#ifndef NACRE_ENGINE_POLICY_CACHE_H
#define NACRE_ENGINE_POLICY_CACHE_H

#include <pthread.h>

#include "base/arena.h"
#include "base/sha256.h"
#include "policy/policy.h"
#include "policy/verdict.h"

enum { POLICY_CACHE_MAX = 16 };

struct cached_policy {
    unsigned users; /* the cache itself counts as one */
    unsigned char key[SHA256_BYTES];
    struct arena arena;
    const struct policy *policy;
    const struct judge *judge;
};

struct policy_cache {
    const struct allocator *allocator;
    pthread_mutex_t lock;
    struct cached_policy *entries[POLICY_CACHE_MAX]; /* the last one used first */
};

void policy_cache_init(struct policy_cache *c, const struct allocator *allocator);
void policy_cache_clear(struct policy_cache *c);

/* The caller lets go of it with policy_cache_release. */
int policy_cache_get(struct policy_cache *c, const struct policy_request *request, const char *home,
                     const char *workspace, struct cached_policy **ret, struct err *e);
void policy_cache_release(struct policy_cache *c, struct cached_policy *entry);

#endif
