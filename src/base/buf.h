/*
 * Growable bytes with a maximum that is fixed at the start.
 *
 * A failure (out of memory, or past the maximum) is returned and also remembered, so that a row of
 * appends may be checked once at its end. The bytes always have a NUL behind them.
 */
#ifndef NACRE_BASE_BUF_H
#define NACRE_BASE_BUF_H

#include <stddef.h>

#include "base/alloc.h"

struct buf {
    const struct allocator *allocator;
    char *data; /* never NULL after init: an empty text before the first append */
    size_t len;
    size_t capacity;
    size_t max;
    int failed; /* first failure: -ENOMEM, -E2BIG, or -EINVAL for a format */
};

void buf_init(struct buf *b, const struct allocator *allocator, size_t max_bytes);
void buf_release(struct buf *b);
void buf_clear(struct buf *b); /* empty, memory kept, failure forgotten */

int buf_reserve(struct buf *b, size_t more);
int buf_append(struct buf *b, const void *bytes, size_t len);
int buf_append_text(struct buf *b, const char *text);
int buf_append_byte(struct buf *b, char byte);
int buf_append_format(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
