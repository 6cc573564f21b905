/* The default allocator; see alloc.h. */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void *libc_resize(void *user, void *old, size_t size)
{
    (void)user;
    if (size == 0) {
        free(old);
        return NULL;
    }
    return realloc(old, size);
}

const struct allocator allocator_libc = {.resize = libc_resize, .user = NULL};

void *alloc_zeroed(const struct allocator *a, size_t size)
{
    if (a->resize == libc_resize)
        return calloc(1, size);
    void *memory = alloc_resize(a, NULL, size);
    return memory ? memset(memory, 0, size) : NULL;
}
