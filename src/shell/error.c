/* A refusal for people: the line and a caret below its place. */
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"
#include "shell/shell.h"

/* Columns that a terminal gives to a character: none to combining ones, two to wide ones. */
static unsigned width(uint32_t c)
{
    static const struct {
        uint32_t from, to;
        unsigned width;
    } RANGES[] = {
        {0x300, 0x36f, 0},     {0x1100, 0x115f, 2},   {0x2e80, 0xa4cf, 2}, {0xac00, 0xd7a3, 2},
        {0xf900, 0xfaff, 2},   {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2},
        {0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
    };
    for (size_t i = 0; i < sizeof(RANGES) / sizeof(*RANGES); i++) {
        if (c >= RANGES[i].from && c <= RANGES[i].to)
            return RANGES[i].width;
    }
    return 1;
}

static void append_safe(struct buf *out, const char *bytes, size_t len, bool ascii_only)
{
    struct escape escape = {.ascii_only = ascii_only};
    escape_append(&escape, bytes, len, out);
    escape_finish(&escape, out);
}

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

void shell_error_show(const struct shell_error *error, const char *text, size_t len,
                      bool ascii_only, struct buf *out)
{
    enum { BEFORE = 60, AFTER = 40 }; /* bytes of a long line around the place */
    size_t at = error->offset < len ? error->offset : len;
    size_t from = at, to = at;
    while (from > 0 && text[from - 1] != '\n' && (at - from < BEFORE || continues(text[from])))
        from--;
    while (to < len && text[to] != '\n' && (to - at < AFTER || continues(text[to])))
        to++;
    const char *cut = ascii_only ? "..." : "…";
    bool begins = from == 0 || text[from - 1] == '\n', ends = to == len || text[to] == '\n';

    size_t start = out->len;
    buf_append_text(out, "  ");
    if (!begins)
        buf_append_text(out, cut);
    append_safe(out, text + from, at - from, ascii_only);
    size_t place = out->len;
    append_safe(out, text + at, to - at, ascii_only);
    if (!ends)
        buf_append_text(out, cut);
    buf_append_byte(out, '\n');

    /* What stands before the place, as blanks of the same width. */
    for (size_t i = start; i < place && !out->failed;) {
        uint32_t c = 0;
        size_t size = utf8_decode(out->data + i, place - i, &c, NULL);
        for (unsigned n = size ? width(c) : 1; n; n--)
            buf_append_byte(out, c == '\t' ? '\t' : ' ');
        i += size ? size : 1;
    }
    buf_append_text(out, "^\n");
}
