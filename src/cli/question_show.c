/* See question_show.h. */
#include "cli/question_show.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/verdict_read.h"

enum {
    BLANKS_SHOWN = 16, /* more of them in a row are told by their number */
    LINES_SHOWN = 2,   /* empty ones, likewise */
    WIDTH = 100,       /* characters of a line before it is broken */
    PIECE_MAX = 1 << 20,
};

static void append_safe(const char *bytes, size_t len, bool ascii_only, struct buf *out)
{
    struct escape state = {.ascii_only = ascii_only, .blanks = true};
    escape_append(&state, bytes, len, out);
    escape_finish(&state, out);
}

static void append_text(const char *text, bool ascii_only, struct buf *out)
{
    append_safe(text, strlen(text), ascii_only, out);
}

/* --- lines ----------------------------------------------------------------------------------- */

static size_t count_lines(const char *text, size_t len)
{
    size_t lines = len > 0 && text[len - 1] != '\n';
    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    return lines;
}

void question_show_oddities(const char *text, size_t len, struct buf *out)
{
    struct oddities found = escape_oddities(text, len);
    if (found.hidden)
        buf_append_format(
            out,
            "           ! %zu character%s in it cannot be seen, or would move or hide "
            "what is shown: each stands below as an escape\n",
            found.hidden, found.hidden == 1 ? "" : "s");
    if (found.foreign)
        buf_append_format(out,
                          "           ! %zu character%s in it %s not ASCII, and may look like "
                          "others\n",
                          found.foreign, found.foreign == 1 ? "" : "s",
                          found.foreign == 1 ? "is" : "are");
    if (found.blanks > BLANKS_SHOWN)
        buf_append_format(out, "           ! up to %zu blanks in a row, told by their number\n",
                          found.blanks);
    if (found.lines > LINES_SHOWN)
        buf_append_format(out,
                          "           ! up to %zu empty lines in a row, told by their number\n",
                          found.lines);
}

/* Characters of safe text. */
static size_t columns_of(const char *bytes, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)bytes[i] & 0xc0) != 0x80;
    return count;
}

/* One character of a text, or a row of blanks: how many bytes of it. */
static size_t append_one(const char *text, size_t len, bool ascii_only, struct buf *out)
{
    size_t blanks = 0;
    while (blanks < len && (text[blanks] == ' ' || text[blanks] == '\t'))
        blanks++;
    if (blanks > BLANKS_SHOWN) {
        buf_append_format(out, "<%zu blanks>", blanks);
        return blanks;
    }
    if (text[0] == '\t' || text[0] == '\n') {
        buf_append_text(out, text[0] == '\t' ? "\\t" : "\\n");
        return 1;
    }
    uint32_t ignored;
    size_t n = utf8_decode(text, len, &ignored, NULL);
    n = n ? n : 1;
    append_safe(text, n, ascii_only, out);
    return n;
}

void question_append_safe(const char *text, size_t len, bool ascii_only, struct buf *out)
{
    for (size_t at = 0; at < len && !out->failed;)
        at += append_one(text + at, len - at, ascii_only, out);
}

/* One line of the text: blanks folded, tabs visible, broken where it is too long. */
static void append_line(const char *line, size_t len, bool ascii_only, struct buf *out)
{
    struct buf safe;
    buf_init(&safe, &allocator_libc, SHOWN_QUESTION_MAX);
    size_t used = 0;
    for (size_t at = 0; at < len && !out->failed;) {
        buf_clear(&safe);
        at += append_one(line + at, len - at, ascii_only, &safe);
        size_t columns = columns_of(safe.data, safe.len);
        if (used && used + columns > WIDTH) {
            buf_append_text(out, "\n       > ");
            used = 0;
        }
        buf_append(out, safe.data, safe.len);
        used += columns;
    }
    buf_append_byte(out, '\n');
    buf_release(&safe);
}

void question_show_text(const char *text, size_t len, bool ascii_only, struct buf *out)
{
    size_t number = 0, empty = 0;
    for (size_t at = 0; at < len && !out->failed;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line = end ? (size_t)(end - text) - at : len - at;
        number++;
        size_t blanks = 0;
        while (blanks < line && (text[at + blanks] == ' ' || text[at + blanks] == '\t'))
            blanks++;
        bool bare = blanks == line;
        empty = bare ? empty + 1 : 0;
        if (!bare || empty <= LINES_SHOWN) {
            buf_append_format(out, "%6zu | ", number);
            append_line(text + at, line, ascii_only, out);
        } else {
            /* The rest of them at once. */
            size_t from = number;
            size_t next = at + line + (end != NULL);
            while (next < len) {
                const char *stop = memchr(text + next, '\n', len - next);
                size_t more = stop ? (size_t)(stop - text) - next : len - next;
                size_t only = 0;
                while (only < more && (text[next + only] == ' ' || text[next + only] == '\t'))
                    only++;
                if (only < more)
                    break;
                number++;
                next += more + (stop != NULL);
            }
            buf_append_format(out, "       : <%zu empty lines>\n", number - from + 1);
            at = next;
            continue;
        }
        at += line + (end != NULL);
    }
    if (!len)
        buf_append_text(out, "       (nothing)\n");
}

/* --- the whole ------------------------------------------------------------------------------- */

static void field(const char *name, const char *value, bool ascii_only, struct buf *out)
{
    if (!value)
        return;
    buf_append_format(out, "%-10s ", name);
    append_text(value, ascii_only, out);
    buf_append_byte(out, '\n');
}

static void show_times(const struct question *q, struct buf *out)
{
    char time[CLOCK_RFC3339 + 1], left[UNITS_TEXT];
    int64_t now = clock_utc_ms();
    clock_format_rfc3339(q->asked_ms, time);
    buf_append_format(out, "%-10s %s", "asked", time);
    if (q->expires_ms > now) {
        units_format_duration((uint64_t)(q->expires_ms - now) / 1000 * 1000 + 1000, left);
        buf_append_format(out, ", open for %s", left);
    } else if (q->expires_ms) {
        buf_append_text(out, ", too late");
    }
    buf_append_text(out, q->waits ? ", and its run waits\n" : "\n");
}

static void show_input(const struct question *q, struct buf *out)
{
    if (strcmp(q->input, "none") == 0)
        return;
    if (strcmp(q->input, "unknown") == 0)
        buf_append_format(
            out, "%-10s a stream: what comes on it is not known, and may be anything\n", "stdin");
    else
        buf_append_format(out, "%-10s with the SHA-256 %s\n", "stdin", q->input);
}

void question_show(const struct question *q, bool colour, bool ascii_only, struct buf *out)
{
    const char *bold = colour ? "\033[1m" : "", *plain = colour ? "\033[0m" : "";
    bool changes = q->kind == QUESTION_CHANGES;
    buf_append_format(out, "%s%-10s %s%s\n", bold, "question", q->id, plain);
    buf_append_format(out, "%-10s %s\n", "about",
                      changes ? "whether what this run changed becomes real"
                              : "whether this text runs");
    show_times(q, out);
    field("agent", q->agent, ascii_only, out);
    field("workspace", q->workspace, ascii_only, out);
    if (q->workspace && q->directory && strcmp(q->workspace, q->directory) != 0)
        field("directory", q->directory, ascii_only, out);
    field("session", q->session, ascii_only, out);
    field("profile", q->profile, ascii_only, out);
    field("config", q->config, ascii_only, out);
    show_input(q, out);
    field("policy", q->mandate_hash, ascii_only, out);
    field("asked by", q->user, ascii_only, out);
    verdict_read_show(q->verdict, q->verdict_len, bold, plain, ascii_only, out);
    if (q->language) {
        size_t lines = count_lines(q->script, q->script_len);
        buf_append_format(out, "%s%-10s%s ", bold, "script", plain);
        append_text(q->language, ascii_only, out);
        buf_append_format(out, ", %zu line%s, %zu bytes\n", lines, lines == 1 ? "" : "s",
                          q->script_len);
        question_show_oddities(q->script, q->script_len, out);
        question_show_text(q->script, q->script_len, ascii_only, out);
    }
    buf_append_format(out, "%s%-10s%s %zu line%s, %zu bytes\n", bold, "text", plain,
                      count_lines(q->text, q->text_len),
                      count_lines(q->text, q->text_len) == 1 ? "" : "s", q->text_len);
    question_show_oddities(q->text, q->text_len, out);
    question_show_text(q->text, q->text_len, ascii_only, out);
    /* A newline at the end says nothing. */
    size_t text_len = q->text_len - (q->text_len && q->text[q->text_len - 1] == '\n');
    if (!changes &&
        (q->canonical_len != text_len || memcmp(q->canonical, q->text, text_len) != 0)) {
        buf_append_format(out, "%s%-10s%s as nacre has read it, %zu line%s\n", bold, "runs", plain,
                          count_lines(q->canonical, q->canonical_len),
                          count_lines(q->canonical, q->canonical_len) == 1 ? "" : "s");
        question_show_text(q->canonical, q->canonical_len, ascii_only, out);
    }
}

void question_show_head(const struct question *q, size_t columns, bool ascii_only, struct buf *out)
{
    struct buf safe;
    size_t first = 0;
    buf_init(&safe, &allocator_libc, PIECE_MAX);
    while (first < q->text_len && q->text[first] != '\n')
        first++;
    append_line(q->text, first > 4 * columns ? 4 * columns : first, ascii_only, &safe);
    size_t shown = 0, used = 0;
    while (shown < safe.len && safe.data[shown] != '\n') {
        used += ((unsigned char)safe.data[shown] & 0xc0) != 0x80;
        if (used > columns)
            break;
        shown++;
    }
    buf_append(out, safe.data, shown);
    if (used > columns || first < q->text_len || first > 4 * columns)
        buf_append_text(out, " ...");
    buf_release(&safe);
}
