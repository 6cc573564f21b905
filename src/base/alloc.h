/*
 * Where memory comes from: one function, given by the host, so that the library has no global and
 * a test can make the Nth allocation fail.
 */
#ifndef NACRE_BASE_ALLOC_H
#define NACRE_BASE_ALLOC_H

#include <stddef.h>

struct allocator {
    /* `size` 0 frees `old` and returns NULL; otherwise like realloc. `old` may be NULL. */
    void *(*resize)(void *user, void *old, size_t size);
    void *user;
};

/* The C library's heap. */
extern const struct allocator allocator_libc;

static inline void *alloc_resize(const struct allocator *a, void *old, size_t size)
{
    return a->resize(a->user, old, size);
}

/* Zeroes: from the C library's heap without touching what is large and not used. */
void *alloc_zeroed(const struct allocator *a, size_t size);

static inline void alloc_free(const struct allocator *a, void *old)
{
    if (old)
        a->resize(a->user, old, 0);
}

#endif
