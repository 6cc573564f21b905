/* The latest output of a job: nothing is mixed up, whatever its pieces, and what is gone is told.
 */
#include <stdlib.h>

#include "jobs/jobs.h"
#include "jobs/ring.h"
#include "tap.h"

enum { SIZE = 4 * JOB_PIECE_MAX };

static void test_order(void)
{
    struct ring r;
    struct ring_reader reader = {0};
    char piece[JOB_PIECE_MAX];
    int stream = 0;
    uint64_t lost = 0;
    ring_init(&r, SIZE);
    tap_number((long)ring_read(&r, &reader, piece, sizeof(piece), &stream, &lost), 0, "empty");
    ring_add(&r, 1, "out", 3);
    ring_add(&r, 2, "err!", 4);
    tap_number((long)ring_read(&r, &reader, piece, sizeof(piece), &stream, &lost), 3, "a piece");
    tap_check(stream == 1 && memcmp(piece, "out", 3) == 0, "of its stream, as it came");
    tap_number((long)ring_read(&r, &reader, piece, sizeof(piece), &stream, &lost), 4, "the next");
    tap_check(stream == 2 && memcmp(piece, "err!", 4) == 0 && lost == 0, "likewise");
    tap_number((long)ring_read(&r, &reader, piece, sizeof(piece), &stream, &lost), 0, "no more");
    ring_release(&r);
}

/* Every reader sees each byte, or is told how many it did not see. */
static void test_sums(void)
{
    struct ring r;
    struct ring_reader quick = {0}, slow = {0};
    static char piece[JOB_PIECE_MAX], chunk[3 * JOB_PIECE_MAX];
    uint64_t added = 0, quick_bytes = 0, slow_bytes = 0, slow_lost = 0, lost;
    bool right = true;
    int stream;
    size_t n;
    uint32_t random = 1;
    ring_init(&r, SIZE);
    for (int i = 0; i < 3000; i++) {
        random = random * UINT32_C(1664525) + UINT32_C(1013904223);
        size_t len = (random >> 8) % (i % 3 ? 100 : sizeof(chunk));
        for (size_t k = 0; k < len; k++)
            chunk[k] = (char)((added + k) % 251);
        ring_add(&r, 1 + i % 2, chunk, len);
        added += len;
        while ((n = ring_read(&r, &quick, piece, sizeof(piece), &stream, &lost)) > 0) {
            right &= lost == 0;
            for (size_t k = 0; k < n; k++)
                right &= piece[k] == (char)((quick_bytes + k) % 251);
            quick_bytes += n;
        }
        if (i % 10 == 9) {
            n = ring_read(&r, &slow, piece, sizeof(piece), &stream, &lost);
            slow_lost += lost;
            for (size_t k = 0; k < n; k++)
                right &= piece[k] == (char)((slow_bytes + slow_lost + k) % 251);
            slow_bytes += n;
        }
    }
    tap_check(right, "bytes are where they belong");
    tap_check(quick_bytes == added, "one who keeps up misses nothing");
    do {
        n = ring_read(&r, &slow, piece, sizeof(piece), &stream, &lost);
        slow_lost += lost;
        slow_bytes += n;
    } while (n);
    tap_check(slow_bytes + slow_lost == added && slow_lost > 0, "one who does not knows how much");
    ring_release(&r);
}

int main(void)
{
    test_order();
    test_sums();
    return tap_done();
}
