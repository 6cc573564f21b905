/* One directory as a sorted list with what stat says of each entry. */
#ifndef NACRE_CHANGES_LISTING_H
#define NACRE_CHANGES_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/arena.h"

struct listed {
    const char *name;
    struct stat st;
};

struct listing {
    struct listed *items;
    size_t count;
};

/* `path` below `base`. Nothing stays open. */
int listing_read(struct arena *arena, int base, const char *path, struct listing *ret);

/* The entry of this name, or NULL. */
const struct listed *listing_find(const struct listing *l, const char *name);

/* `dir`/`name` in the arena; `dir` may be "." */
const char *listing_join(struct arena *arena, const char *dir, const char *name);

#endif
