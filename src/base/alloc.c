/* The default allocator; see alloc.h. */
#include "base/alloc.h"

#include <stdlib.h>

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
