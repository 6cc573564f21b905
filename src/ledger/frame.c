/* Frames; see frame.h. */
#include "ledger/frame.h"

#include <string.h>

#include "ledger/crc32c.h"

static void put(unsigned char *at, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t get(const unsigned char *at, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t)at[i] << (8 * i);
    return number;
}

int frame_write(struct buf *out, struct frame_chain *chain, enum frame_type type, uint64_t index,
                const void *payload, size_t len)
{
    unsigned char header[FRAME_HEADER];
    put(header, len, 4);
    put(header + 8, chain->sum, 4);
    put(header + 12, chain->bytes, 4);
    put(header + 16, index, 7);
    header[23] = (unsigned char)type;
    uint32_t sum = crc32c(crc32c(0, header + 8, sizeof(header) - 8), payload, len);
    put(header + 4, sum, 4);
    buf_append(out, header, sizeof(header));
    buf_append(out, payload, len);
    chain->sum = sum;
    chain->bytes = (uint32_t)(sizeof(header) + len);
    return out->failed;
}

enum frame_found frame_peek(const unsigned char *bytes, size_t len, struct frame *ret)
{
    static const unsigned char nothing[FRAME_HEADER];
    size_t seen = len < FRAME_HEADER ? len : FRAME_HEADER;
    if (memcmp(bytes, nothing, seen) == 0)
        return FRAME_FOUND_NONE;
    if (len < FRAME_HEADER)
        return FRAME_FOUND_SHORT;
    struct frame f = {
        .length = (uint32_t)get(bytes, 4),
        .sum = (uint32_t)get(bytes + 4, 4),
        .before = (uint32_t)get(bytes + 8, 4),
        .back = (uint32_t)get(bytes + 12, 4),
        .index = get(bytes + 16, 7),
        .type = bytes[23] < FRAME_TYPES ? (enum frame_type)bytes[23] : FRAME_NONE,
        .payload = bytes + FRAME_HEADER,
    };
    if (f.type == FRAME_NONE || f.length > FRAME_PAYLOAD_MAX)
        return FRAME_FOUND_BAD;
    *ret = f;
    return frame_bytes(&f) > len ? FRAME_FOUND_SHORT : FRAME_FOUND_WHOLE;
}

enum frame_found frame_read(const unsigned char *bytes, size_t len, struct frame *ret)
{
    struct frame f = {0};
    enum frame_found found = frame_peek(bytes, len, &f);
    if (found == FRAME_FOUND_WHOLE && crc32c(0, bytes + 8, frame_bytes(&f) - 8) != f.sum)
        return FRAME_FOUND_BAD;
    *ret = f;
    return found;
}
