/*
 * Frames: what a segment is made of. A header of 24 bytes, little-endian, and a payload:
 *
 *    0  length   4   of the payload
 *    4  sum      4   CRC-32C of everything behind it, payload included
 *    8  before   4   the sum of the frame before; 0 for the first of a segment
 *   12  back     4   bytes of the frame before, header included; 0 for the first
 *   16  index    7   a record's index; else the size of the tree
 *   23  type     1
 *
 * A frame counts only behind the frame that it was written for (`before`), so what is left of an
 * earlier, unfinished write can never become a part of the ledger again.
 */
#ifndef NACRE_LEDGER_FRAME_H
#define NACRE_LEDGER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum frame_type {
    FRAME_NONE,
    FRAME_RECORD,     /* the record */
    FRAME_CHECKPOINT, /* a signed note for the tree of all records so far */
    FRAME_START,      /* first of a segment: the tree's right edge, then a signed note */
    FRAME_TYPES,
};

enum { FRAME_HEADER = 24, FRAME_PAYLOAD_MAX = 65535, FRAME_MAX = FRAME_HEADER + FRAME_PAYLOAD_MAX };

struct frame {
    enum frame_type type;
    uint64_t index;
    uint32_t length, sum, before, back;
    const unsigned char *payload;
};

static inline size_t frame_bytes(const struct frame *f)
{
    return FRAME_HEADER + (size_t)f->length;
}

/* Where in the chain the next frame stands. Zeroed: at the start of a segment. */
struct frame_chain {
    uint32_t sum, bytes; /* of the frame before */
};

/* Appends a frame and moves the chain on. The payload has at most FRAME_PAYLOAD_MAX bytes. */
int frame_write(struct buf *out, struct frame_chain *chain, enum frame_type type, uint64_t index,
                const void *payload, size_t len);

enum frame_found {
    FRAME_FOUND_NONE,  /* nothing was written here: zeros, or no byte at all */
    FRAME_FOUND_SHORT, /* not whole within these bytes */
    FRAME_FOUND_BAD,   /* not a frame */
    FRAME_FOUND_WHOLE,
};

/* Reads the header alone, for jumping from frame to frame; the sum is not looked at. */
enum frame_found frame_peek(const unsigned char *bytes, size_t len, struct frame *ret);

/* Reads the frame at the start of `bytes`. With SHORT, `ret` has the header if that is there. */
enum frame_found frame_read(const unsigned char *bytes, size_t len, struct frame *ret);

/* Whether the frame stands where the chain has come to. */
static inline bool frame_follows(const struct frame *f, const struct frame_chain *chain)
{
    return f->before == chain->sum && f->back == chain->bytes;
}

static inline void frame_pass(struct frame_chain *chain, const struct frame *f)
{
    chain->sum = f->sum;
    chain->bytes = (uint32_t)frame_bytes(f);
}

#endif
