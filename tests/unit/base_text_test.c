/* Text in the base room: UTF-8, JSON and what a terminal may see, edge cases first. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tap.h"

/* Repeatable random bytes (xorshift). */
static uint64_t random_state = 0x9E3779B97F4A7C15U;

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Half of them from bytes that matter to UTF-8, so that sequences come whole, cut and wrong. */
static size_t random_bytes(char *ret, size_t max)
{
    static const char pieces[] =
        "\xE2\x80\xA8\xF0\x9F\x98\x80\xC3\xA9\xED\xA0\xC2\x9B\x1B\\\"\n\x7F";
    size_t len = random_next() % (max + 1);
    for (size_t i = 0; i < len; i++) {
        uint64_t r = random_next();
        char byte = (char)(r >> 8);
        if (r & 1)
            byte = pieces[(r >> 1) % (sizeof(pieces) - 1)];
        ret[i] = byte;
    }
    return len;
}

static void encode(uint32_t c, char ret[5])
{
    if (c < 0x80)
        snprintf(ret, 5, "%c", (char)c);
    else if (c < 0x800)
        snprintf(ret, 5, "%c%c", (char)(0xC0 | c >> 6), (char)(0x80 | (c & 0x3F)));
    else if (c < 0x10000)
        snprintf(ret, 5, "%c%c%c", (char)(0xE0 | c >> 12), (char)(0x80 | (c >> 6 & 0x3F)),
                 (char)(0x80 | (c & 0x3F)));
    else
        snprintf(ret, 5, "%c%c%c%c", (char)(0xF0 | c >> 18), (char)(0x80 | (c >> 12 & 0x3F)),
                 (char)(0x80 | (c >> 6 & 0x3F)), (char)(0x80 | (c & 0x3F)));
}

static void test_utf8(void)
{
    static const char *const wrong[] = {
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC3",
        "\xC3(",
        "\xE0\x80\x80",
        "\xE0\x9F\xBF",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xE2\x82",
        "\xE2(\xA1",
        "\xF0\x80\x80\x80",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xF0\x9F\x98",
        "\xFE",
        "\xFF",
        "a\xFF",
        "\xC3\xA9\xC3",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        tap_check(!utf8_valid(wrong[i], strlen(wrong[i])), "utf8: wrong %zu is refused", i);
    tap_check(utf8_valid("", 0) && utf8_valid(NULL, 0), "utf8: nothing is valid");
    tap_check(utf8_valid("a\0b", 3), "utf8: NUL is a character");

    uint32_t bad = 0;
    for (uint32_t c = 1; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c <= 0xDFFF)
            continue;
        char text[5];
        encode(c, text);
        size_t len = strlen(text);
        uint32_t is = 0;
        bool more = true;
        if (utf8_decode(text, len, &is, &more) != len || is != c || more)
            bad = bad ? bad : c;
        for (size_t cut = 1; cut < len; cut++) {
            if (utf8_decode(text, cut, &is, &more) != 0 || !more || utf8_cut_before(text, cut) != 0)
                bad = bad ? bad : c;
        }
        if (utf8_cut_before(text, len) != len)
            bad = bad ? bad : c;
    }
    tap_number(bad, 0, "utf8: every character is read whole, and known when cut");

    bool more = true;
    uint32_t c = 99;
    tap_check(utf8_decode("", 0, &c, &more) == 0 && !more && c == 99, "utf8: nothing to read");
    tap_check(utf8_decode("\xE2(", 2, &c, &more) == 0 && !more, "utf8: wrong is not cut");
    tap_check(utf8_decode("\xED\xA0", 2, &c, &more) == 0 && !more, "utf8: nor is half a surrogate");
    tap_number((long long)utf8_cut_before("ab\xF0\x9F\x98", 5), 2, "utf8: three of four are cut");
    tap_number((long long)utf8_cut_before("\x80\x80\x80\x80", 4), 4, "utf8: strays are not cut");
    tap_number((long long)utf8_cut_before("", 0), 0, "utf8: nothing to cut");
}

static void json_is(const char *bytes, size_t len, const char *should, const char *name)
{
    struct buf b;
    struct json j;
    buf_init(&b, &allocator_libc, 1 << 20);
    json_init_buf(&j, &b);
    json_bytes(&j, bytes, len);
    tap_check(json_finish(&j) == 0 && strcmp(b.data, should) == 0, "json: %s", name);
    if (strcmp(b.data, should) != 0)
        printf("#   is:     %s\n#   should: %s\n", b.data, should);
    buf_release(&b);
}

/* Whether the bytes are one JSON string that is also harmless: quotes, UTF-8, no raw control. */
static bool is_json_string(const char *s, size_t len)
{
    if (len < 2 || s[0] != '"' || s[len - 1] != '"' || !utf8_valid(s, len))
        return false;
    for (size_t i = 1; i < len - 1; i++) {
        if (s[i] == '\\') {
            size_t hex = s[i + 1] == 'u' ? strspn(s + i + 2, "0123456789abcdef") : 4;
            if (!strchr("bfnrt\"\\u", s[i + 1]) || hex < 4)
                return false;
            i += s[i + 1] == 'u' ? 5 : 1;
        } else if ((unsigned char)s[i] < 0x20 || s[i] == '"' || s[i] == 0x7F) {
            return false;
        }
        if (i >= len - 1)
            return false;
    }
    return true;
}

static int json_misuse(void (*use)(struct json *j))
{
    struct buf b;
    struct json j;
    buf_init(&b, &allocator_libc, 1 << 20);
    json_init_buf(&j, &b);
    use(&j);
    int r = json_finish(&j);
    buf_release(&b);
    return r;
}

static void use_nothing(struct json *j)
{
    (void)j;
}

static void use_two(struct json *j)
{
    json_nothing(j);
    json_nothing(j);
}

static void use_no_key(struct json *j)
{
    json_object_begin(j);
    json_nothing(j);
    json_object_end(j);
}

static void use_key_in_array(struct json *j)
{
    json_array_begin(j);
    json_key(j, "k");
    json_array_end(j);
}

static void use_key_outside(struct json *j)
{
    json_key(j, "k");
    json_nothing(j);
}

static void use_two_keys(struct json *j)
{
    json_object_begin(j);
    json_key(j, "k");
    json_key(j, "l");
    json_nothing(j);
    json_object_end(j);
}

static void use_lone_key(struct json *j)
{
    json_object_begin(j);
    json_key(j, "k");
    json_object_end(j);
    json_nothing(j);
}

static void use_open(struct json *j)
{
    json_array_begin(j);
}

static void use_wrong_end(struct json *j)
{
    json_array_begin(j);
    json_object_end(j);
}

static void use_end_first(struct json *j)
{
    json_array_end(j);
    json_nothing(j);
}

static void use_too_deep(struct json *j)
{
    for (int i = 0; i < 2 * JSON_DEPTH_MAX; i++)
        json_array_begin(j);
    for (int i = 0; i < 2 * JSON_DEPTH_MAX; i++)
        json_array_end(j);
}

static void use_rightly(struct json *j)
{
    for (int i = 0; i < JSON_DEPTH_MAX - 1; i++)
        json_array_begin(j);
    for (int i = 0; i < JSON_DEPTH_MAX - 1; i++)
        json_array_end(j);
}

static int sink_calls;

static int full_sink(void *user, const char *bytes, size_t len)
{
    (void)bytes, (void)len;
    return sink_calls++ < *(int *)user ? 0 : -ENOSPC;
}

static void test_json(void)
{
    json_is(NULL, 0, "\"\"", "nothing");
    json_is("a\"\\\b\f\n\r\t", 8, "\"a\\\"\\\\\\b\\f\\n\\r\\t\"", "letters for escapes");
    json_is("\0\x01\x1F\x7F", 4, "\"\\u0000\\u0001\\u001f\\u007f\"", "C0 controls");
    json_is("\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0", 8, "\"\\u0080\\u009b\\u009f\xC2\xA0\"",
            "C1 controls");
    json_is("\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAE", 9, "\"\\u2028\\u2029\\u202e\"",
            "separators and what turns text around");
    json_is("\xF3\xA0\x81\x81", 4, "\"\\udb40\\udc41\"", "a tag, as a pair");
    json_is("\xF0\x9F\x98\x80\xC3\xA9/", 7, "\"\xF0\x9F\x98\x80\xC3\xA9/\"", "characters");
    json_is("a\xFF\xC3z", 4, "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\"", "bytes that are none");
    json_is("\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"", "a surrogate");

    struct buf b;
    struct json j;
    buf_init(&b, &allocator_libc, 1 << 20);
    json_init_buf(&j, &b);
    json_object_begin(&j);
    json_key(&j, "a\n");
    json_array_begin(&j);
    json_signed(&j, INT64_MIN);
    json_unsigned(&j, UINT64_MAX);
    json_bool(&j, true);
    json_bool(&j, false);
    json_nothing(&j);
    json_text(&j, NULL);
    json_text(&j, "x");
    json_object_begin(&j);
    json_object_end(&j);
    json_array_end(&j);
    json_key(&j, "b");
    json_array_begin(&j);
    json_array_end(&j);
    json_object_end(&j);
    tap_number(json_finish(&j), 0, "json: a whole value");
    tap_text(b.data,
             "{\"a\\n\":[-9223372036854775808,18446744073709551615,true,false,null,null,\"x\",{}],"
             "\"b\":[]}",
             "json: commas, colons and words");

    bool valid = true;
    for (int i = 0; i < 20000 && valid; i++) {
        char bytes[64];
        size_t len = random_bytes(bytes, sizeof(bytes));
        buf_clear(&b);
        json_init_buf(&j, &b);
        json_bytes(&j, bytes, len);
        valid = json_finish(&j) == 0 && is_json_string(b.data, b.len);
    }
    tap_check(valid, "json: random bytes give a string of valid UTF-8");
    if (!valid)
        printf("#   is: %s\n", b.data);
    buf_release(&b);

    static const struct {
        void (*use)(struct json *j);
        const char *name;
    } misuses[] = {
        {use_nothing, "no value"},
        {use_two, "two values"},
        {use_no_key, "a value without a key"},
        {use_key_in_array, "a key in an array"},
        {use_key_outside, "a key in nothing"},
        {use_two_keys, "two keys in a row"},
        {use_lone_key, "a key without a value"},
        {use_open, "an open array"},
        {use_wrong_end, "the wrong end"},
        {use_end_first, "an end first"},
        {use_too_deep, "too deep"},
    };
    for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++)
        tap_check(json_misuse(misuses[i].use) == -EINVAL, "json: %s is misuse", misuses[i].name);
    tap_number(json_misuse(use_rightly), 0, "json: just not too deep");

    int calls = 2;
    json_init(&j, full_sink, &calls);
    json_array_begin(&j);
    for (int i = 0; i < 10; i++)
        json_nothing(&j);
    json_object_end(&j);
    tap_number(json_finish(&j), -ENOSPC, "json: the sink's failure comes first");
    tap_number(sink_calls, 3, "json: a failed sink is left alone");
}

/* The safe form of pieces of `step` bytes, the first of them `first` bytes long. */
static void escape_pieces(const char *bytes, size_t len, size_t first, size_t step, struct buf *out)
{
    struct escape e = {0};
    buf_clear(out);
    for (size_t at = 0, n = first; at < len; at += n, n = step) {
        if (n > len - at)
            n = len - at;
        escape_append(&e, bytes + at, n, out);
    }
    escape_finish(&e, out);
}

static bool escape_splits_alike(const char *bytes, size_t len, struct buf *whole, struct buf *out)
{
    escape_pieces(bytes, len, len, len, whole);
    for (size_t first = 0; first <= len; first++) {
        escape_pieces(bytes, len, first, len, out);
        if (strcmp(whole->data, out->data) != 0)
            return false;
        for (size_t step = 1; step <= 3; step++) {
            escape_pieces(bytes, len, first, step, out);
            if (strcmp(whole->data, out->data) != 0)
                return false;
        }
    }
    return true;
}

static bool only_plain(const char *text)
{
    for (size_t n; *text; text += n) {
        uint32_t c;
        n = utf8_decode(text, strlen(text), &c, NULL);
        if (n == 0 || !escape_is_plain(c))
            return false;
    }
    return true;
}

static void test_escape(void)
{
    static const struct {
        const char *bytes, *should;
    } cases[] = {
        {"", ""},
        {"plain text\n\tand tab", "plain text\n\tand tab"},
        {"\x1B[31mred\x07", "\\x1b[31mred\\x07"},
        {"a\rb", "a\\rb"},
        {"\x7F", "\\x7f"},
        {"\xC2\x9B"
         "31m",
         "\\x9b31m"},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
        {"x\xE2\x80\xAEy", "x\\u{202e}y"},
        {"x\xE2\x80\x8By", "x\\u{200b}y"},
        {"\xEF\xBB\xBF", "\\u{feff}"},
        {"\xEF\xB8\x8F", "\\u{fe0f}"},
        {"\xF3\xA0\x81\x81", "\\u{e0041}"},
        {"\xE2\x80\xA8", "\\u{2028}"},
        {"\xC2\xAD", "\\xad"},
        {"\xFF\xFE", "\\xff\\xfe"},
        {"\xE2\x82(", "\\xe2\\x82("},
        {"\xE2\x82", "\\xe2\\x82"},
        {"\xF0\x9F\x98", "\\xf0\\x9f\\x98"},
        {"\xF0\x9F\xF0\x9F\x98\x80", "\\xf0\\x9f\xF0\x9F\x98\x80"},
        {"\xE2\xE2\x82\xAC", "\\xe2\xE2\x82\xAC"},
        {"\xE2\x82\x1B[0m", "\\xe2\\x82\\x1b[0m"},
        {"\xED\xA0\x80", "\\xed\\xa0\\x80"},
        {"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
    };
    struct buf whole, out;
    buf_init(&whole, &allocator_libc, 1 << 20);
    buf_init(&out, &allocator_libc, 1 << 20);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len = strlen(cases[i].bytes);
        bool alike = escape_splits_alike(cases[i].bytes, len, &whole, &out);
        tap_check(alike && strcmp(whole.data, cases[i].should) == 0,
                  "escape: case %zu, however cut", i);
        if (strcmp(whole.data, cases[i].should) != 0)
            printf("#   should: %s\n#   is:     %s\n", cases[i].should, whole.data);
    }

    bool alike = true, plain = true;
    for (int i = 0; i < 3000; i++) {
        char bytes[24];
        size_t len = random_bytes(bytes, sizeof(bytes));
        alike = alike && escape_splits_alike(bytes, len, &whole, &out);
        plain = plain && only_plain(whole.data) && strlen(whole.data) == whole.len;
    }
    tap_check(alike, "escape: random bytes, however cut");
    tap_check(plain, "escape: nothing but plain characters comes out");

    struct escape e = {0};
    buf_clear(&out);
    tap_check(escape_append(&e, NULL, 0, &out) == 0 && escape_finish(&e, &out) == 0 && out.len == 0,
              "escape: nothing");
    escape_append(&e, "\0", 1, &out);
    tap_text(out.data, "\\x00", "escape: NUL");
    buf_release(&out);
    buf_init(&out, &allocator_libc, 3);
    tap_number(escape_append(&e, "\x1B", 1, &out), -E2BIG, "escape: what does not fit is reported");
    tap_number(escape_append(&e, "", 0, &out), -E2BIG, "escape: and stays so");
    buf_release(&out);
    buf_release(&whole);

    /* Everything that reorders or hides is refused; its neighbours are not. */
    static const uint32_t hidden[] = {
        0,      8,      0xB,    0x1F,   0x7F,    0x80,    0x9F,    0xAD,    0x61C,   0x200B, 0x200F,
        0x2028, 0x202A, 0x202E, 0x2060, 0x2066,  0x2069,  0xFE00,  0xFE0F,  0xFEFF,  0xE000, 0xFFFE,
        0xFFFF, 0x3164, 0x180E, 0x115F, 0x1D173, 0xE0001, 0xE007F, 0xE0100, 0x10FFFF};
    static const uint32_t shown[] = {'\t',   '\n',   ' ',     '~',    0xA0,   0xAC,   0xAE,
                                     0x200A, 0x2010, 0x2027,  0x202F, 0x205F, 0x2070, 0xFDFF,
                                     0xFE10, 0xFFFD, 0x1F600, 0x4E2D, 0xDFFFF};
    bool right = true;
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        right = right && !escape_is_plain(hidden[i]);
    tap_check(right, "escape: hidden characters are not plain");
    right = true;
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        right = right && escape_is_plain(shown[i]);
    tap_check(right, "escape: their neighbours are");
}

int main(void)
{
    test_utf8();
    test_json();
    test_escape();
    return tap_done();
}
