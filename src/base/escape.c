/* Terminal-safe text; see escape.h. */
#include "base/escape.h"

#include <string.h>

#include "base/utf8.h"

/* Ranges of characters that are invisible, reorder text or have no agreed look. Sorted. */
static const struct range {
    uint32_t from, to;
} hidden[] = {
    {0x0000, 0x0008},   {0x000B, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},
    {0x034F, 0x034F},   {0x061C, 0x061C},   {0x115F, 0x1160},   {0x17B4, 0x17B5},
    {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
    {0x2800, 0x2800},   {0x3164, 0x3164},   {0xE000, 0xF8FF},   {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},
    {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0x10FFFF},
};

bool escape_is_plain(uint32_t c)
{
    size_t low = 0, high = sizeof(hidden) / sizeof(hidden[0]);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c < hidden[middle].from)
            high = middle;
        else if (c > hidden[middle].to)
            low = middle + 1;
        else
            return false;
    }
    return true;
}

bool escape_is_blank(uint32_t c)
{
    return c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

static bool passes(const struct escape *e, uint32_t c)
{
    return escape_is_plain(c) &&
           (c < 0x80 || (!e->ascii_only && !(e->blanks && escape_is_blank(c))));
}

static void append_escaped(uint32_t c, struct buf *out)
{
    if (c == '\r')
        buf_append_text(out, "\\r");
    else if (c < 0x100)
        buf_append_format(out, "\\x%02x", (unsigned)c);
    else
        buf_append_format(out, "\\u{%x}", (unsigned)c);
}

int escape_append(struct escape *e, const char *bytes, size_t len, struct buf *out)
{
    /* Complete the held character one byte at a time: at most three turns. */
    while (e->held_len && len) {
        e->held[e->held_len++] = *bytes++;
        len--;
        uint32_t c;
        bool more;
        size_t n = utf8_decode(e->held, e->held_len, &c, &more);
        if (n == 0 && more)
            continue;
        if (n) {
            if (passes(e, c))
                buf_append(out, e->held, n);
            else
                append_escaped(c, out);
            e->held_len = 0;
        } else {
            /* The newest byte does not belong: it is looked at again on its own. */
            bytes--;
            len++;
            e->held_len--;
            escape_finish(e, out);
        }
    }

    size_t plain = 0, at = 0;
    while (at < len) {
        uint32_t c = 0;
        bool more;
        size_t n = utf8_decode(bytes + at, len - at, &c, &more);
        if (n && passes(e, c)) {
            at += n;
            continue;
        }
        buf_append(out, bytes + plain, at - plain);
        if (n == 0 && more) {
            e->held_len = len - at;
            memcpy(e->held, bytes + at, e->held_len);
            return out->failed;
        }
        append_escaped(n ? c : (unsigned char)bytes[at], out);
        at += n ? n : 1;
        plain = at;
    }
    return at > plain ? buf_append(out, bytes + plain, at - plain) : out->failed;
}

int escape_finish(struct escape *e, struct buf *out)
{
    for (size_t i = 0; i < e->held_len; i++)
        append_escaped((unsigned char)e->held[i], out);
    e->held_len = 0;
    return out->failed;
}

struct oddities escape_oddities(const char *text, size_t len)
{
    struct oddities found = {0};
    size_t blanks = 0, empty = 0;
    bool bare = true; /* nothing on this line yet */
    for (size_t at = 0; at < len;) {
        uint32_t c = 0;
        size_t n = utf8_decode(text + at, len - at, &c, NULL);
        if (c == '\n') {
            empty = bare ? empty + 1 : 0;
            bare = true;
        } else {
            bare &= c == ' ' || c == '\t';
        }
        blanks = c == ' ' || c == '\t' ? blanks + 1 : 0;
        if (blanks > found.blanks)
            found.blanks = blanks;
        if (empty > found.lines)
            found.lines = empty;
        if (!n || (c != '\n' && c != '\t' && (!escape_is_plain(c) || escape_is_blank(c))))
            found.hidden++;
        else if (c > 0x7E)
            found.foreign++;
        at += n ? n : 1;
    }
    return found;
}
