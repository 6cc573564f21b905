/*
 * One output stream, kept within a limit whatever its length: its head, its tail, or both.
 *
 * In: pieces of bytes. Out: the kept text, cut at line ends and never inside a UTF-8 character, and
 * the range that was left out. Memory is bounded by the limit; nothing here interprets the bytes.
 */
#ifndef NACRE_RUN_CAPTURE_H
#define NACRE_RUN_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum capture_keep { CAPTURE_HEAD, CAPTURE_TAIL, CAPTURE_BOTH };

struct capture {
    uint64_t total;   /* bytes seen */
    struct buf head;  /* the first bytes, up to its maximum */
    struct buf tail;  /* a ring of the last bytes behind the head, up to its maximum */
    size_t tail_next; /* where the next byte of a full ring goes */
    char evicted;     /* the byte that left the ring last: what stands before the tail */
    size_t shown;     /* bytes of the head that the live reader was given */
};

/* What is kept at the end. */
struct captured {
    const char *text; /* `len` bytes and a NUL */
    size_t len;
    bool truncated;
    uint64_t omitted_from, omitted_to; /* byte range of the stream that is not in `text` */
};

void capture_init(struct capture *c, const struct allocator *allocator, enum capture_keep keep,
                  size_t limit_bytes);
void capture_release(struct capture *c);

int capture_add(struct capture *c, const char *bytes, size_t len);

/*
 * The part of the head that a live reader can be given now and has not been given: everything, but
 * at the limit only up to the last line end or whole character. `finished` is for the last call.
 */
const char *capture_take_live(struct capture *c, bool finished, size_t *ret_len);

/* Ends the stream. The text belongs to `c`. Returns 0 or -ENOMEM. */
int capture_finish(struct capture *c, struct captured *ret);

#endif
