/* Any two texts, parted by the first byte 0xFF: the diff applies, and comes to the second. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/apply_patch.h"
#include "changes/text_diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *a = (const char *)data;
    const char *middle = size ? memchr(a, 0xFF, size) : NULL;
    if (!middle)
        return 0;
    const char *b = middle + 1;
    size_t a_len = (size_t)(middle - a), b_len = size - a_len - 1;
    struct arena arena;
    struct text_diff diff;
    struct buf shown, result;
    arena_init(&arena, &allocator_libc, 256 << 20);
    buf_init(&shown, &allocator_libc, 64 << 20);
    buf_init(&result, &allocator_libc, 64 << 20);
    if (text_diff_make(&arena, a, a_len, b, b_len, &diff) < 0 ||
        text_diff_append(&diff, &shown) < 0 ||
        !apply_patch(a, a_len, shown.data, shown.len, &result) || result.len != b_len ||
        memcmp(result.data, b, b_len) != 0)
        abort();
    buf_release(&shown);
    buf_release(&result);
    arena_release(&arena);
    return 0;
}
