/*
 * Any bytes as output from inside: JSON strings are valid UTF-8 and close, terminal text holds no
 * control character, and where a stream is split changes nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(const char *bytes, size_t len)
{
    struct buf out;
    struct json j;
    buf_init(&out, &allocator_libc, 64 << 20);
    json_init_buf(&j, &out);
    json_bytes(&j, bytes, len);
    if (json_finish(&j) < 0 || !utf8_valid(out.data, out.len) || out.data[0] != '"' ||
        out.data[out.len - 1] != '"')
        abort();
    for (size_t i = 1; i + 1 < out.len; i++) {
        unsigned char c = (unsigned char)out.data[i];
        if (c < 0x20 || c == '"')
            abort();
        if (c == '\\')
            i++;
    }
    buf_release(&out);
}

static void check_escape(const char *bytes, size_t len)
{
    struct buf whole, pieces;
    struct escape one = {0}, many = {0};
    buf_init(&whole, &allocator_libc, 64 << 20);
    buf_init(&pieces, &allocator_libc, 64 << 20);
    escape_append(&one, bytes, len, &whole);
    escape_finish(&one, &whole);
    for (size_t i = 0; i < len; i++)
        escape_append(&many, bytes + i, 1, &pieces);
    escape_finish(&many, &pieces);
    if (whole.len != pieces.len || memcmp(whole.data, pieces.data, whole.len) != 0 ||
        !utf8_valid(whole.data, whole.len))
        abort();
    for (size_t at = 0; at < whole.len;) {
        uint32_t c;
        at += utf8_decode(whole.data + at, whole.len - at, &c, NULL);
        if (!escape_is_plain(c))
            abort();
    }
    buf_release(&whole);
    buf_release(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_json((const char *)data, size);
    check_escape((const char *)data, size);
    return 0;
}
