/* A verdict for people; see verdict_show.h. */
#include "cli/verdict_show.h"

#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

static const char *const titles[] = {"DENY", "CONFIRM", "ALLOW"};
static const char *const colours[] = {"\033[1;31m", "\033[1;33m", "\033[1;32m"};

enum { LINE_MAX_SHOWN = 100, CONTEXT = 40 };

static void append_safe(struct buf *out, const char *bytes, size_t len, bool ascii_only)
{
    struct escape state = {.ascii_only = ascii_only, .blanks = true};
    size_t from = out->len;
    escape_append(&state, bytes, len, out);
    escape_finish(&state, out);
    for (size_t i = from; i < out->len; i++) { /* a tab would move the marks below */
        if (out->data[i] == '\t')
            out->data[i] = ' ';
    }
}

/* Columns that safe text takes: one a character, which is near enough for a line below it. */
static size_t columns(const char *bytes, size_t len, bool ascii_only)
{
    struct buf safe;
    buf_init(&safe, &allocator_libc, SHOWN_VERDICT_MAX);
    append_safe(&safe, bytes, len, ascii_only);
    size_t count = 0;
    for (size_t i = 0; i < safe.len; i++)
        count += ((unsigned char)safe.data[i] & 0xc0) != 0x80;
    buf_release(&safe);
    return count;
}

static size_t on_boundary(const char *text, size_t at)
{
    while (at && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

/* The line of the span, cut around it, and a mark below. */
static void append_place(struct buf *out, const char *text, size_t len, struct shell_span span,
                         bool ascii_only)
{
    if (span.from > len || len == 0 || (span.from == 0 && span.to == 0))
        return;
    size_t from = span.from, to = span.to > len ? len : span.to;
    size_t start = from, end = from;
    while (start && text[start - 1] != '\n')
        start--;
    while (end < len && text[end] != '\n')
        end++;
    if (to > end)
        to = end;
    if (to <= from)
        to = from + 1 > end ? end : from + 1;
    bool cut_left = false, cut_right = false;
    if (end - start > LINE_MAX_SHOWN && from - start > CONTEXT) {
        start = on_boundary(text, from - CONTEXT);
        cut_left = true;
    }
    if (end - start > LINE_MAX_SHOWN) {
        end = on_boundary(text, start + LINE_MAX_SHOWN);
        cut_right = true;
        if (to > end)
            to = end;
    }
    buf_append_text(out, cut_left ? "    ..." : "    ");
    append_safe(out, text + start, end - start, ascii_only);
    buf_append_text(out, cut_right ? "...\n    " : "\n    ");
    size_t before = columns(text + start, from - start, ascii_only) + (cut_left ? 3 : 0);
    size_t under = columns(text + from, to > from ? to - from : 0, ascii_only);
    for (size_t i = 0; i < before; i++)
        buf_append_byte(out, ' ');
    for (size_t i = 0; i < (under ? under : 1); i++)
        buf_append_byte(out, i ? '~' : '^');
    buf_append_byte(out, '\n');
}

void verdict_show(const struct verdict *verdict, const char *text, size_t len, bool colour,
                  bool ascii_only, struct buf *out)
{
    if (colour)
        buf_append_text(out, colours[verdict->decision]);
    buf_append_text(out, titles[verdict->decision]);
    if (colour)
        buf_append_text(out, "\033[0m");
    buf_append_text(out, "  ");
    append_safe(out, verdict->rule, strlen(verdict->rule), ascii_only);
    buf_append_byte(out, '\n');
    for (const struct verdict_reason *r = verdict->reasons; r; r = r->next) {
        buf_append_format(out, "  %-7s ", titles[r->decision]);
        append_safe(out, r->reason, strlen(r->reason), ascii_only);
        buf_append_text(out, " [");
        append_safe(out, r->rule, strlen(r->rule), ascii_only);
        buf_append_text(out, "]\n");
        append_place(out, text, len, r->span, ascii_only);
    }
}
