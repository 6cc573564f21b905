/*
 * Any stream in any pieces: within the limit nothing is lost; past it what is kept is a prefix and
 * a suffix, the omitted range is told, and what was shown live is the start of what is kept. The
 * first bytes choose limit, mode and piece sizes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "run/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check(const struct captured *kept, const char *stream, size_t len, size_t limit,
                  enum capture_keep keep)
{
    require(kept->truncated == (len > limit));
    if (!kept->truncated) {
        require(kept->len == len && memcmp(kept->text, stream, len) == 0);
        return;
    }
    size_t head = (size_t)kept->omitted_from, tail = len - (size_t)kept->omitted_to;
    require(head <= limit && tail <= limit && head + tail <= limit);
    require(kept->omitted_from <= kept->omitted_to && kept->omitted_to <= len);
    require(keep != CAPTURE_HEAD || tail == 0);
    require(keep != CAPTURE_TAIL || head == 0);
    require(kept->len >= head + tail && memcmp(kept->text, stream, head) == 0);
    require(memcmp(kept->text + kept->len - tail, stream + len - tail, tail) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    size_t limit = data[0], piece_max = (size_t)data[2] + 1;
    enum capture_keep keep = (enum capture_keep)(data[1] % 3);
    bool live = data[3] & 1;
    const char *stream = (const char *)data + 4;
    size_t len = size - 4, shown = 0;
    char *seen = malloc(len + 1);
    require(seen != NULL);

    struct capture c;
    capture_init(&c, &allocator_libc, keep, limit);
    for (size_t at = 0, part; at < len || (at == 0 && len == 0); at += part) {
        part = 1 + (at * 7 + data[3]) % piece_max;
        if (part > len - at)
            part = len - at;
        require(capture_add(&c, stream + at, part) == 0);
        if (live) {
            size_t n;
            const char *bytes = capture_take_live(&c, false, &n);
            memcpy(seen + shown, bytes, n);
            shown += n;
        }
        if (len == 0)
            break;
    }
    if (live) {
        size_t n;
        const char *bytes = capture_take_live(&c, true, &n);
        memcpy(seen + shown, bytes, n);
        shown += n;
    }
    struct captured kept;
    require(capture_finish(&c, &kept) == 0);
    check(&kept, stream, len, limit, keep);
    require(shown <= kept.len && memcmp(seen, kept.text, shown) == 0);
    capture_release(&c);
    free(seen);
    return 0;
}
