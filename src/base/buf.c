/* Bounded growable bytes; see buf.h. */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What `data` points to before the first append; only ever read. */
static char empty[1];

void buf_init(struct buf *b, const struct allocator *allocator, size_t max_bytes)
{
    *b = (struct buf){.allocator = allocator, .data = empty, .max = max_bytes};
}

void buf_release(struct buf *b)
{
    if (b->capacity)
        alloc_free(b->allocator, b->data);
    buf_init(b, b->allocator, b->max);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = 0;
    if (b->capacity)
        b->data[0] = '\0';
}

int buf_reserve(struct buf *b, size_t more)
{
    if (b->failed)
        return b->failed;
    if (more > b->max - b->len || b->max == SIZE_MAX)
        return b->failed = -E2BIG;

    size_t needed = b->len + more + 1;
    if (needed <= b->capacity)
        return 0;

    size_t capacity = b->capacity ? b->capacity : 256;
    while (capacity < needed)
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    if (capacity > b->max + 1)
        capacity = b->max + 1;

    char *data = alloc_resize(b->allocator, b->capacity ? b->data : NULL, capacity);
    if (!data)
        return b->failed = -ENOMEM;
    b->data = data;
    b->capacity = capacity;
    b->data[b->len] = '\0';
    return 0;
}

int buf_append(struct buf *b, const void *bytes, size_t len)
{
    int r = buf_reserve(b, len);
    if (r < 0 || len == 0)
        return r;
    memcpy(b->data + b->len, bytes, len);
    b->len += len;
    b->data[b->len] = '\0';
    return 0;
}

int buf_append_text(struct buf *b, const char *text)
{
    return buf_append(b, text, strlen(text));
}

int buf_append_byte(struct buf *b, char byte)
{
    return buf_append(b, &byte, 1);
}

int buf_append_format(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0 && !b->failed)
        b->failed = -EINVAL;
    if (b->failed)
        return b->failed;

    int r = buf_reserve(b, (size_t)len);
    if (r < 0)
        return r;
    va_start(args, format);
    vsnprintf(b->data + b->len, (size_t)len + 1, format, args);
    va_end(args);
    b->len += (size_t)len;
    return 0;
}
