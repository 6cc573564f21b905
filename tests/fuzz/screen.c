/*
 * Anything that a program may draw: what is passed on is the same however it was cut, passes once
 * more unchanged, and has in it nothing that a terminal would answer or act on.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/screen.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void draw(const char *bytes, size_t len, size_t piece, bool ascii, struct buf *out)
{
    struct screen s = {.ascii_only = ascii};
    buf_init(out, &allocator_libc, 64 << 20);
    for (size_t at = 0; at < len; at += piece)
        require(screen_append(&s, bytes + at, len - at < piece ? len - at : piece, out) == 0);
    require(screen_finish(&s, out) == 0);
}

/* Strings, questions, resets and what an eye would miss: none of it is there. */
static void check_harmless(const struct buf *out, bool ascii)
{
    require(utf8_valid(out->data, out->len));
    for (size_t i = 0; i < out->len; i++) {
        unsigned char c = (unsigned char)out->data[i];
        require(c != 0 && c != 0x7F && (!ascii || c < 0x80));
        if (c == 0xC2 && i + 1 < out->len)
            require((unsigned char)out->data[i + 1] >= 0xA0); /* C1 */
        if (c != 0x1B)
            continue;
        require(i + 1 < out->len);
        require(!strchr("]P_^XcZ", out->data[i + 1]));
        if (out->data[i + 1] != '[')
            continue;
        size_t end = i + 2;
        while (end < out->len && (unsigned char)out->data[end] < 0x40)
            end++;
        require(end < out->len && !strchr("cntpx", out->data[end]));
        require(out->data[end] != 'q' || out->data[end - 1] == ' '); /* the cursor's shape alone */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int ascii = 0; ascii < 2; ascii++) {
        struct buf whole, pieces, again;
        draw((const char *)data, size, size ? size : 1, ascii, &whole);
        draw((const char *)data, size, 1 + size % 3, ascii, &pieces);
        require(whole.len == pieces.len && memcmp(whole.data, pieces.data, whole.len) == 0);
        check_harmless(&whole, ascii);
        draw(whole.data, whole.len, 7, ascii, &again);
        require(again.len >= whole.len && memcmp(again.data, whole.data, whole.len) == 0);
        buf_release(&whole);
        buf_release(&pieces);
        buf_release(&again);
    }
    return 0;
}
