/* Forms of exact values; see values.h. */
#include "redact/values.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "redact/judge.h"
#include "redact/rules.h"

enum { USABLE_MIN = 6, MIXED_BELOW = 8, FORM_MIN = 6, FORMS_FACTOR = 100 };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void trim(const char **bytes, size_t *len)
{
    while (*len > 0 && is_blank((*bytes)[*len - 1]))
        --*len;
    while (*len > 0 && is_blank(**bytes)) {
        ++*bytes;
        --*len;
    }
}

bool redact_value_is_usable(const char *bytes, size_t len)
{
    trim(&bytes, &len);
    if (len < USABLE_MIN || judge_is_common(bytes, len))
        return false;
    size_t letters = 0, digits = 0, same = 0, names = 0;
    for (size_t i = 0; i < len; i++) {
        letters += is_letter(bytes[i]);
        digits += is_digit(bytes[i]);
        same += bytes[i] == bytes[0];
        names += is_letter(bytes[i]) || strchr("/._-~", bytes[i]) != NULL;
    }
    if (same == len || (len < MIXED_BELOW && (letters == len || digits == len)))
        return false;
    /* A path is where a secret lies. */
    bool path = bytes[0] == '/' || bytes[0] == '~' || bytes[0] == '.';
    return !(path && names == len);
}

/* --- writing forms --------------------------------------------------------------------------- */

struct forms {
    struct buf *texts;
    int (*visit)(void *user, const struct value_form *form);
    void *user;
    struct value_form made[VALUE_FORMS_MAX]; /* of this part, so that none is there twice */
    size_t count, start;
};

static int end_form(struct forms *f, uint8_t flags)
{
    struct value_form form = {f->start, f->texts->len - f->start, flags};
    if (f->texts->failed)
        return f->texts->failed;
    bool known = form.len < FORM_MIN;
    /* What is found in any case is found in this one. */
    for (size_t i = 0; i < f->count && !known; i++)
        known =
            f->made[i].len == form.len &&
            (f->made[i].flags == flags || f->made[i].flags == (flags | TEXT_FOLDED)) &&
            memcmp(f->texts->data + f->made[i].offset, f->texts->data + form.offset, form.len) == 0;
    if (known) {
        f->texts->len = f->start;
        return 0;
    }
    if (f->count == VALUE_FORMS_MAX)
        return -E2BIG;
    f->made[f->count++] = form;
    f->start = f->texts->len;
    return f->visit(f->user, &form);
}

/* The digits of base64 that `bytes` alone decide when `shift` bytes stand before them. */
static int add_base64(struct forms *f, const char *bytes, size_t len, unsigned shift, bool url)
{
    static const char *const alphabets[] = {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};
    const char *digits = alphabets[url];
    uint32_t bits = 0;
    unsigned count = 0, skip = shift == 0 ? 0 : 6 - shift * 8 % 6;
    for (size_t i = 0; i < len; i++) {
        bits = bits << 8 | (unsigned char)bytes[i];
        count += 8;
        if (skip > 0) {
            count -= skip;
            skip = 0;
        }
        while (count >= 6) {
            unsigned digit = bits >> (count - 6) & 63;
            buf_append_byte(f->texts, digits[digit]);
            count -= 6;
        }
    }
    unsigned flags = TEXT_WRAPPED;
    flags |= shift > 0 ? (unsigned)TEXT_LEFT : 0;
    flags |= count > 0 ? (unsigned)TEXT_RIGHT : 0;
    return end_form(f, (uint8_t)flags);
}

static int add_hex(struct forms *f, const char *bytes, size_t len, const char *before)
{
    for (size_t i = 0; i < len; i++)
        buf_append_format(f->texts, "%s%02x", before, (unsigned)(unsigned char)bytes[i]);
    return end_form(f, TEXT_FOLDED | TEXT_WRAPPED);
}

/* `kept` stand for themselves besides letters and digits. */
static int add_url(struct forms *f, const char *bytes, size_t len, const char *kept, bool plus)
{
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];
        if (plus && c == ' ')
            buf_append_byte(f->texts, '+');
        else if (is_letter(c) || is_digit(c) || (c && strchr(kept, c)))
            buf_append_byte(f->texts, c);
        else
            buf_append_format(f->texts, "%%%02x", (unsigned)(unsigned char)c);
    }
    return end_form(f, TEXT_FOLDED);
}

static void put_control(struct buf *texts, unsigned char c)
{
    static const char names[] = "\n\r\t\b\f", letters[] = "nrtbf";
    const char *at = c ? strchr(names, c) : NULL;
    if (at)
        buf_append_format(texts, "\\%c", letters[at - names]);
    else
        buf_append_format(texts, "\\u%04x", (unsigned)c);
}

static int add_json(struct forms *f, const char *bytes, size_t len, bool slash, bool ascii)
{
    for (size_t i = 0; i < len;) {
        unsigned char c = (unsigned char)bytes[i];
        uint32_t point = c;
        size_t step = 1;
        bool valid = false;
        if (ascii && c >= 0x80) {
            step = utf8_decode(bytes + i, len - i, &point, NULL);
            valid = step > 0;
            step += !valid;
        }
        if (valid && point >= 0x10000)
            buf_append_format(f->texts, "\\u%04x\\u%04x",
                              (unsigned)(0xD800 + ((point - 0x10000) >> 10)),
                              (unsigned)(0xDC00 + (point & 0x3FF)));
        else if (valid)
            buf_append_format(f->texts, "\\u%04x", (unsigned)point);
        else if (c < 0x20)
            put_control(f->texts, c);
        else if (c == '"' || c == '\\' || (slash && c == '/'))
            buf_append_format(f->texts, "\\%c", (char)c);
        else
            buf_append(f->texts, bytes + i, step);
        i += step;
    }
    return end_form(f, ascii ? TEXT_FOLDED : 0);
}

/* Each of `which` becomes what `as` says. */
static int add_replaced(struct forms *f, const char *bytes, size_t len, const char *which,
                        const char *const *as)
{
    for (size_t i = 0; i < len; i++) {
        const char *at = bytes[i] ? strchr(which, bytes[i]) : NULL;
        if (at)
            buf_append_text(f->texts, as[at - which]);
        else
            buf_append_byte(f->texts, bytes[i]);
    }
    return end_form(f, 0);
}

static int add_escaped(struct forms *f, const char *bytes, size_t len, const char *which)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] && strchr(which, bytes[i]))
            buf_append_byte(f->texts, '\\');
        buf_append_byte(f->texts, bytes[i]);
    }
    return end_form(f, 0);
}

static int add_shell(struct forms *f, const char *bytes, size_t len)
{
    static const char *const closed[] = {"'\\''"}, *const joined[] = {"'\"'\"'"},
                             *const words[] = {"\\'", "\\\\", "\\n", "\\t", "\\r", "\\E"};
    int r = add_replaced(f, bytes, len, "'", closed);
    if (r == 0)
        r = add_replaced(f, bytes, len, "'", joined);
    if (r == 0)
        r = add_replaced(f, bytes, len, "'\\\n\t\r\033", words);
    if (r == 0)
        r = add_escaped(f, bytes, len, "\"$`\\");
    /* As `printf %q` has it. */
    if (r == 0)
        r = add_escaped(f, bytes, len, " \t!\"#$&'()*,;<>?[\\]^`{|}~");
    return r;
}

static int add_xml(struct forms *f, const char *bytes, size_t len)
{
    static const char *const ways[][5] = {{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"},
                                          {"&amp;", "&lt;", "&gt;", "&quot;", "&#x27;"},
                                          {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"},
                                          {"&amp;", "&lt;", "&gt;", "\"", "'"}};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(ways) / sizeof(ways[0]); i++)
        r = add_replaced(f, bytes, len, "&<>\"'", ways[i]);
    return r;
}

/* Whether JSON has it as it is, where escapes have letters of either case: then so has the value.
 */
static bool is_plain(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] < ' ' || bytes[i] > '~' || bytes[i] == '"' || bytes[i] == '\\')
            return false;
    }
    return true;
}

static int add_part(struct forms *f, const char *bytes, size_t len)
{
    f->count = 0;
    f->start = f->texts->len;
    buf_append(f->texts, bytes, len);
    int r = end_form(f, is_plain(bytes, len) ? TEXT_FOLDED : 0);
    for (unsigned shift = 0; r == 0 && shift < 3; shift++) {
        r = add_base64(f, bytes, len, shift, false);
        if (r == 0)
            r = add_base64(f, bytes, len, shift, true);
    }
    if (r == 0)
        r = add_hex(f, bytes, len, "");
    if (r == 0)
        r = add_hex(f, bytes, len, "\\x");
    if (r == 0)
        r = add_url(f, bytes, len, "-_.~", false);
    if (r == 0)
        r = add_url(f, bytes, len, "-_.!~*'()", false);
    if (r == 0)
        r = add_url(f, bytes, len, "-_.*", true);
    if (r == 0)
        r = add_hex(f, bytes, len, "%");
    for (unsigned i = 0; r == 0 && i < 4; i++)
        r = add_json(f, bytes, len, i & 1, i & 2);
    if (r == 0)
        r = add_shell(f, bytes, len);
    return r < 0 ? r : add_xml(f, bytes, len);
}

static int add_parts(struct forms *f, const char *bytes, size_t len)
{
    int r = 0;
    if (len <= VALUE_PART_MAX)
        return add_part(f, bytes, len);
    for (size_t at = 0; r == 0 && at < len; at += VALUE_PART_MAX) {
        /* The last is as long as the others and overlaps. */
        size_t from = len - at < VALUE_PART_MAX ? len - VALUE_PART_MAX : at;
        r = add_part(f, bytes + from, VALUE_PART_MAX);
    }
    return r;
}

size_t value_forms_room(size_t len)
{
    return (len + VALUE_PART_MAX) * FORMS_FACTOR * 2;
}

int value_each_form(const char *bytes, size_t len, struct buf *texts,
                    int (*visit)(void *user, const struct value_form *form), void *user)
{
    struct forms f = {.texts = texts, .visit = visit, .user = user};
    trim(&bytes, &len);
    int r = add_parts(&f, bytes, len);
    if (r < 0 || !memchr(bytes, '\n', len))
        return r;
    /* Its lines by themselves: whoever shows it may indent them. */
    for (size_t at = 0; r == 0 && at < len;) {
        const char *end = memchr(bytes + at, '\n', len - at);
        size_t next = end ? (size_t)(end - bytes) : len;
        const char *line = bytes + at;
        size_t line_len = next - at;
        trim(&line, &line_len);
        if (line_len >= VALUE_LINE_MIN && redact_value_is_usable(line, line_len) &&
            strncmp(line, "-----", 5) != 0)
            r = add_parts(&f, line, line_len);
        at = next + 1;
    }
    return r;
}
