/*
 * The latest output of a job, as pieces in their order, within a bound: what is older is dropped.
 * Readers hold a position, which stays good whatever is added or dropped.
 */
#ifndef NACRE_JOBS_RING_H
#define NACRE_JOBS_RING_H

#include <stddef.h>
#include <stdint.h>

struct ring {
    char *data;
    size_t size;
    uint64_t first, end; /* positions: of the oldest piece, and behind the newest */
    uint64_t dropped;    /* bytes of output that are gone */
};

/* A position, and how many bytes of output lie before it. */
struct ring_reader {
    uint64_t position, seen;
};

int ring_init(struct ring *r, size_t size);
void ring_release(struct ring *r);
void ring_add(struct ring *r, int stream, const char *bytes, size_t len);

/*
 * Copies the next piece, at most `max` bytes long when it was added; its length, 0: there is none.
 * `ret_lost`: bytes that went before this reader saw them. They are told once.
 */
size_t ring_read(const struct ring *r, struct ring_reader *reader, char *ret, size_t max,
                 int *ret_stream, uint64_t *ret_lost);

#endif
