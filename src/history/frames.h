/* The frames of a run's output; object.h has their form. */
#ifndef NACRE_HISTORY_FRAMES_H
#define NACRE_HISTORY_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct frame {
    int stream;    /* 1 or 2 */
    bool left_out; /* something was, here */
    uint64_t ms;
    const char *bytes;
    size_t len;
};

/* The frame at `*at`, which is moved behind it: 1; 0 at the end; -EBADMSG: there is none. */
int frames_next(const char **at, const char *end, struct frame *ret);

/* Appends one. `bytes` NULL: something was left out here. Returns what buf_append does. */
int frames_append(struct buf *out, int stream, uint64_t ms, const char *bytes, size_t len);

#endif
