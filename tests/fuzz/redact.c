/*
 * Any bytes as a text, any chunks, any value: what comes out of a stream is what comes out at once
 * (R1), the value is in it in none of the encodings (R2), and what was redacted is not found again.
 *
 * The input: a byte for the chunks, one for the value's length, one for where it is planted and
 * how, the value, the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "redact/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_MAX = 64 << 20, VALUE_MAX = 64 };

/* No value has this byte, so none can lie across a replacement. */
static const char mark[] = "\x01";

static const struct redact_rule rules[] = {
    {"corp", "CORP-[0-9]{4,}"},
    {"wide", "[a-z]{2}[0-9]{2}(?:x|yz)([^ !]{1,})!"},
};

static int append(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

static void put_base64(const char *bytes, size_t len, struct buf *out)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    for (size_t i = 0; i < len; i += 3) {
        unsigned char b[3] = {0};
        memcpy(b, bytes + i, len - i < 3 ? len - i : 3);
        buf_append_byte(out, digits[b[0] >> 2]);
        buf_append_byte(out, digits[(b[0] & 3) << 4 | b[1] >> 4]);
        buf_append_byte(out, digits[len - i > 1 ? (b[1] & 15) << 2 | b[2] >> 6 : 64]);
        buf_append_byte(out, digits[len - i > 2 ? b[2] & 63 : 64]);
    }
}

static void put_hex(const char *bytes, size_t len, struct buf *out)
{
    for (size_t i = 0; i < len; i++)
        buf_append_format(out, "%02x", (unsigned)(unsigned char)bytes[i]);
}

static void plant(const char *value, size_t len, unsigned how, struct buf *out)
{
    switch (how % 3) {
    case 0:
        buf_append(out, value, len);
        break;
    case 1:
        put_base64(value, len, out);
        break;
    default:
        put_hex(value, len, out);
    }
}

static void must(bool good)
{
    if (!good)
        abort();
}

static void redact_cut(const struct redactor *r, const struct buf *text, uint8_t seed,
                       struct buf *out)
{
    struct redact_stream *s;
    uint32_t state = seed + 1u;
    must(redact_stream_new(r, append, out, &s, NULL) == 0);
    for (size_t at = 0; at < text->len;) {
        state = state * 1664525 + 1013904223;
        size_t n = 1 + (state >> 16) % (1u + seed);
        n = n < text->len - at ? n : text->len - at;
        must(redact_stream_feed(s, text->data + at, n, NULL) == 0);
        at += n;
    }
    must(redact_stream_finish(s, NULL) == 0);
    redact_stream_free(s);
}

static bool contains(const struct buf *out, const struct buf *what)
{
    return what->len > 0 && memmem(out->data, out->len, what->data, what->len) != NULL;
}

static void check_value(const char *value, size_t len, const struct buf *out)
{
    struct buf form;
    buf_init(&form, &allocator_libc, 4096);
    for (unsigned how = 0; how < 3; how++) {
        buf_clear(&form);
        plant(value, len, how, &form);
        /* The last digit of base64 may have bits of what comes behind the value. */
        if (how == 1)
            form.len = len * 8 / 6;
        must(!contains(out, &form));
    }
    buf_release(&form);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    uint8_t seed = data[0], where = data[2];
    size_t len = data[1] % VALUE_MAX;
    data += 3;
    size -= 3;
    len = len < size ? len : size;
    char value[VALUE_MAX];
    memcpy(value, data, len);
    const char *text_bytes = (const char *)data + len;
    size_t text_len = size - len, at = text_len ? where * text_len / 256 : 0;
    bool usable = redact_value_is_usable(value, len) && !memchr(value, mark[0], len) && len > 8 &&
                  value[0] > ' ' && value[len - 1] > ' ';
    const struct redact_value v = {"V", value, len};
    const struct redact_options options = {
        .values = &v, .value_count = usable, .rules = rules, .rule_count = 2, .replacement = mark};
    struct redactor *r;
    struct buf text, whole, pieces;
    must(redactor_new(&options, &r, NULL) == 0);
    buf_init(&text, &allocator_libc, OUT_MAX);
    buf_init(&whole, &allocator_libc, OUT_MAX);
    buf_init(&pieces, &allocator_libc, OUT_MAX);
    buf_append(&text, text_bytes, at);
    if (usable)
        plant(value, len, where, &text);
    buf_append(&text, text_bytes + at, text_len - at);

    size_t count = 0;
    struct redact_found found;
    must(redact_text(r, text.data, text.len, &whole, &count, NULL) == 0);
    redact_cut(r, &text, seed, &pieces);
    must(whole.len == pieces.len && memcmp(whole.data, pieces.data, whole.len) == 0);
    must(redact_find(r, text.data, text.len, &found, NULL) == (count > 0));
    must(count > 0 || (whole.len == text.len && memcmp(whole.data, text.data, text.len) == 0));
    if (usable)
        check_value(value, len, &whole);

    buf_release(&text);
    buf_release(&whole);
    buf_release(&pieces);
    redactor_free(r);
    return 0;
}
