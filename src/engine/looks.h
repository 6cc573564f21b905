/*
 * What is not there, remembered. Of the many paths that are looked for before each run (secrets to
 * be hidden, files whose values must not be written down) hardly any exists. That a name was not
 * in a directory holds as long as the directory has not changed; so one look at each directory
 * takes the place of one at each name.
 *
 * A directory's times tell whether it has, as finely as its file system keeps them: what was seen
 * while they were younger than that is not remembered (K1).
 */
#ifndef NACRE_ENGINE_LOOKS_H
#define NACRE_ENGINE_LOOKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

struct looks_memory {
    const struct allocator *allocator;
    pthread_mutex_t lock;
    struct looks_dir *dirs; /* the last one that was used first */
};
void looks_init(struct looks_memory *m, const struct allocator *allocator);
void looks_clear(struct looks_memory *m);

/* Of one run: each directory is looked at once. Not for two threads. */
enum { LOOKS_DIRS = 24 };
struct looks {
    struct looks_memory *memory; /* NULL: each name is looked for */
    struct looks_dir *same[LOOKS_DIRS];
    size_t count;
};
void looks_end(struct looks *l);

/* Whether nothing is at this path, not even a link that leads nowhere. */
bool looks_missing(struct looks *l, const char *path);

#endif
