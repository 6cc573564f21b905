/* See ring.h. */
#include "jobs/ring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/jobs.h"

struct head {
    uint32_t stream, len;
};

int ring_init(struct ring *r, size_t size)
{
    enum { LEAST = 4 * JOB_PIECE_MAX };
    *r = (struct ring){.size = size < LEAST ? LEAST : size};
    r->data = malloc(r->size);
    return r->data ? 0 : -ENOMEM;
}

void ring_release(struct ring *r)
{
    free(r->data);
    r->data = NULL;
}

static void put(struct ring *r, uint64_t position, const void *bytes, size_t len)
{
    size_t at = position % r->size, first = r->size - at < len ? r->size - at : len;
    memcpy(r->data + at, bytes, first);
    memcpy(r->data, (const char *)bytes + first, len - first);
}

static void get(const struct ring *r, uint64_t position, void *ret, size_t len)
{
    size_t at = position % r->size, first = r->size - at < len ? r->size - at : len;
    memcpy(ret, r->data + at, first);
    memcpy((char *)ret + first, r->data, len - first);
}

static void add_piece(struct ring *r, int stream, const char *bytes, size_t len)
{
    struct head head = {.stream = (uint32_t)stream, .len = (uint32_t)len};
    while (r->end + sizeof(head) + len - r->first > r->size) {
        struct head oldest;
        get(r, r->first, &oldest, sizeof(oldest));
        r->first += sizeof(oldest) + oldest.len;
        r->dropped += oldest.len;
    }
    put(r, r->end, &head, sizeof(head));
    put(r, r->end + sizeof(head), bytes, len);
    r->end += sizeof(head) + len;
}

void ring_add(struct ring *r, int stream, const char *bytes, size_t len)
{
    while (len) {
        size_t part = len < JOB_PIECE_MAX ? len : JOB_PIECE_MAX;
        add_piece(r, stream, bytes, part);
        bytes += part;
        len -= part;
    }
}

size_t ring_read(const struct ring *r, struct ring_reader *reader, char *ret, size_t max,
                 int *ret_stream, uint64_t *ret_lost)
{
    struct head head;
    *ret_lost = 0;
    if (reader->position < r->first) {
        *ret_lost = r->dropped - reader->seen;
        reader->position = r->first;
        reader->seen = r->dropped;
    }
    if (reader->position == r->end)
        return 0;
    get(r, reader->position, &head, sizeof(head));
    if (head.len > max)
        return 0;
    get(r, reader->position + sizeof(head), ret, head.len);
    *ret_stream = (int)head.stream;
    reader->position += sizeof(head) + head.len;
    reader->seen += head.len;
    return head.len;
}
