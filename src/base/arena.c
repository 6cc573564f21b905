/* Arena of growing blocks; see arena.h. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_MIN = 4096, ALIGNMENT = _Alignof(uint64_t) };

struct arena_block {
    struct arena_block *before;
    size_t size; /* of `data` */
    _Alignas(uint64_t) unsigned char data[];
};

void arena_init(struct arena *a, const struct allocator *allocator, size_t max_bytes)
{
    *a = (struct arena){.allocator = allocator, .max = max_bytes};
}

void arena_release(struct arena *a)
{
    while (a->last) {
        struct arena_block *before = a->last->before;
        alloc_free(a->allocator, a->last);
        a->last = before;
    }
    *a = (struct arena){.allocator = a->allocator, .max = a->max};
}

/* A block with room for `size`; blocks double, so that their number stays small. */
static struct arena_block *add_block(struct arena *a, size_t size)
{
    size_t room = a->last ? a->last->size * 2 : BLOCK_MIN;
    if (room < size)
        room = size;
    if (size > a->max - a->total)
        return NULL;
    if (room > a->max - a->total)
        room = a->max - a->total;
    if (room > SIZE_MAX - sizeof(struct arena_block))
        return NULL;

    struct arena_block *block = alloc_resize(a->allocator, NULL, sizeof(*block) + room);
    if (!block)
        return NULL;
    block->before = a->last;
    block->size = room;
    a->last = block;
    a->next = block->data;
    a->end = block->data + room;
    a->total += room;
    return block;
}

void *arena_alloc(struct arena *a, size_t size)
{
    if (a->failed || size > SIZE_MAX - ALIGNMENT) {
        a->failed = true;
        return NULL;
    }
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    if ((size_t)(a->end - a->next) < size && !add_block(a, size)) {
        a->failed = true;
        return NULL;
    }
    void *memory = a->next;
    a->next += size;
    return memset(memory, 0, size);
}

void *arena_alloc_array(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        a->failed = true;
        return NULL;
    }
    return arena_alloc(a, bytes);
}

char *arena_copy(struct arena *a, const char *bytes, size_t len)
{
    if (len == SIZE_MAX) {
        a->failed = true;
        return NULL;
    }
    char *copy = arena_alloc(a, len + 1);
    if (copy && len)
        memcpy(copy, bytes, len);
    return copy;
}

char *arena_format(struct arena *a, const char *format, ...)
{
    char usual[256]; /* long enough for most, which are then formatted once */
    va_list args;
    va_start(args, format);
    int len = vsnprintf(usual, sizeof(usual), format, args);
    va_end(args);

    if (len < 0) {
        a->failed = true;
        return NULL;
    }
    char *text = arena_alloc(a, (size_t)len + 1);
    if (text && (size_t)len < sizeof(usual)) {
        memcpy(text, usual, (size_t)len + 1);
    } else if (text) {
        va_start(args, format);
        vsnprintf(text, (size_t)len + 1, format, args);
        va_end(args);
    }
    return text;
}

char *arena_path(struct arena *a, const char *dir, const char *name)
{
    size_t dir_len = strlen(dir), name_len = strlen(name);
    char *text = arena_alloc(a, dir_len + name_len + 2);
    if (text) {
        memcpy(text, dir, dir_len);
        text[dir_len] = '/';
        memcpy(text + dir_len + 1, name, name_len);
        text[dir_len + 1 + name_len] = '\0';
    }
    return text;
}
