/* A diff as git and diff -u write it; see text_diff.h. */
#include <string.h>

#include "changes/text_diff.h"

enum { CONTEXT = 3 };

/* The start of the line that is `lines` before the one at `at`, but not before `least`. */
static size_t lines_back(const char *text, size_t at, size_t least, size_t lines, size_t *ret_count)
{
    *ret_count = 0;
    while (*ret_count < lines && at > least) {
        at--;
        while (at > least && text[at - 1] != '\n')
            at--;
        (*ret_count)++;
    }
    return at;
}

static size_t lines_on(const char *text, size_t at, size_t len, size_t lines, size_t *ret_count)
{
    *ret_count = 0;
    while (*ret_count < lines && at < len) {
        const char *end = memchr(text + at, '\n', len - at);
        at = end ? (size_t)(end - text) + 1 : len;
        (*ret_count)++;
    }
    return at;
}

static void append_lines(char mark, const char *text, size_t from, size_t to, struct buf *out)
{
    while (from < to) {
        const char *end = memchr(text + from, '\n', to - from);
        size_t next = end ? (size_t)(end - text) + 1 : to;
        buf_append_byte(out, mark);
        buf_append(out, text + from, next - from);
        if (!end)
            buf_append_text(out, "\n\\ No newline at end of file\n");
        from = next;
    }
}

/* Where nothing is, the line before it is named. */
static void append_span(char mark, size_t before, size_t count, struct buf *out)
{
    buf_append_format(out, "%c%zu", mark, count ? before + 1 : before);
    if (count != 1)
        buf_append_format(out, ",%zu", count);
}

/* Edits that share their context are one hunk. */
static size_t hunk_end(const struct text_diff *diff, size_t first)
{
    size_t i = first + 1;
    while (i < diff->count) {
        const struct text_range *last = &diff->edits[i - 1].old, *next = &diff->edits[i].old;
        if (next->before - (last->before + last->count) > (size_t)2 * CONTEXT)
            break;
        i++;
    }
    return i;
}

static void append_hunk(const struct text_diff *diff, size_t first, size_t end, struct buf *out)
{
    const struct text_edit *head = &diff->edits[first], *last = &diff->edits[end - 1];
    size_t above, below, old_end = last->old.at + last->old.len;
    size_t from = lines_back(diff->a, head->old.at, 0, CONTEXT, &above);
    size_t to = lines_on(diff->a, old_end, diff->a_len, CONTEXT, &below);
    const size_t around = above + below;
    buf_append_text(out, "@@ ");
    append_span('-', head->old.before - above,
                last->old.before + last->old.count - head->old.before + around, out);
    buf_append_byte(out, ' ');
    append_span('+', head->new.before - above,
                last->new.before + last->new.count - head->new.before + around, out);
    buf_append_text(out, " @@\n");
    for (size_t i = first; i < end; i++) {
        const struct text_range *old = &diff->edits[i].old, *new = &diff->edits[i].new;
        append_lines(' ', diff->a, from, old->at, out);
        append_lines('-', diff->a, old->at, old->at + old->len, out);
        append_lines('+', diff->b, new->at, new->at + new->len, out);
        from = old->at + old->len;
    }
    append_lines(' ', diff->a, from, to, out);
}

int text_diff_append(const struct text_diff *diff, struct buf *out)
{
    for (size_t i = 0, end; i < diff->count; i = end) {
        end = hunk_end(diff, i);
        append_hunk(diff, i, end, out);
    }
    return out->failed;
}

/* --- names ----------------------------------------------------------------------------------- */

static bool is_odd(const char *name)
{
    for (; *name; name++) {
        if ((unsigned char)*name < 0x20 || (unsigned char)*name >= 0x7f || *name == '"' ||
            *name == '\\')
            return true;
    }
    return false;
}

static void append_quoted(const char *name, struct buf *out)
{
    static const char named[] = "\a\b\t\n\v\f\r\"\\", letters[] = "abtnvfr\"\\";
    for (; *name; name++) {
        const char *found = strchr(named, *name);
        if (found)
            buf_append_format(out, "\\%c", letters[found - named]);
        else if ((unsigned char)*name < 0x20 || (unsigned char)*name >= 0x7f)
            buf_append_format(out, "\\%03o", (unsigned)(unsigned char)*name);
        else
            buf_append_byte(out, *name);
    }
}

int text_append_name(const char *prefix, const char *name, struct buf *out)
{
    if (!is_odd(name)) {
        buf_append_text(out, prefix);
        return buf_append_text(out, name);
    }
    buf_append_byte(out, '"');
    append_quoted(prefix, out);
    append_quoted(name, out);
    return buf_append_byte(out, '"');
}

int text_append_file(const char *mark, const char *prefix, const char *name, struct buf *out)
{
    buf_append_format(out, "%s ", mark);
    if (name)
        text_append_name(prefix, name, out);
    else
        buf_append_text(out, "/dev/null");
    /* patch takes a name with a blank up to a tab. */
    if (name && strchr(name, ' ') && !is_odd(name))
        buf_append_byte(out, '\t');
    return buf_append_byte(out, '\n');
}
