/*
 * Arena: everything that one request makes is taken from here and goes away in one call.
 *
 * Allocation failure is sticky and returns NULL; nothing in an arena is freed by itself.
 */
#ifndef NACRE_BASE_ARENA_H
#define NACRE_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

struct arena_block;

struct arena {
    const struct allocator *allocator;
    struct arena_block *last;  /* newest block; each points to the one before */
    unsigned char *next, *end; /* what is left of the newest block */
    size_t total;              /* bytes held in all blocks */
    size_t max;                /* `total` never passes this */
    bool failed;
};

void arena_init(struct arena *a, const struct allocator *allocator, size_t max_bytes);
void arena_release(struct arena *a);

/* Zeroed memory, aligned for pointers and numbers of 64 bits. NULL when out of memory or past the
 * maximum. */
void *arena_alloc(struct arena *a, size_t size);

/* The same, for small sizes that are known where it is called: a few instructions mostly. */
static inline void *arena_take(struct arena *a, size_t size)
{
    enum { ALIGNMENT = _Alignof(uint64_t) };
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded > (size_t)(a->end - a->next) || a->failed)
        return arena_alloc(a, size);
    void *memory = a->next;
    a->next += rounded;
    return memset(memory, 0, size);
}
void *arena_alloc_array(struct arena *a, size_t count, size_t size);

/* A copy of `len` bytes with a NUL behind them. */
char *arena_copy(struct arena *a, const char *bytes, size_t len);
char *arena_format(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* dir/name, in less time than it takes to read a format. */
char *arena_path(struct arena *a, const char *dir, const char *name);

#endif
