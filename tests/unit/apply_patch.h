/*
 * Applies the hunks of a unified diff as strictly as can be: every line that is kept or removed
 * must be there, every number must be right, nothing may be left over.
 */
#ifndef NACRE_TESTS_APPLY_PATCH_H
#define NACRE_TESTS_APPLY_PATCH_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

struct apply_text {
    const char *at, *end;
};

static size_t apply_line(const struct apply_text *t)
{
    const char *end = t->at < t->end ? memchr(t->at, '\n', (size_t)(t->end - t->at)) : NULL;
    return (size_t)((end ? end + 1 : t->end) - t->at);
}

/* "-12,3" or "-12"; 0 lines are after the line that is named. */
static bool apply_span(struct apply_text *diff, char mark, size_t *ret_before, size_t *ret_count)
{
    if (diff->at == diff->end || *diff->at++ != mark)
        return false;
    char *end;
    size_t line = strtoul(diff->at, &end, 10), count = 1;
    if (*end == ',')
        count = strtoul(end + 1, &end, 10);
    diff->at = end;
    if (count && !line)
        return false;
    *ret_before = count ? line - 1 : line;
    *ret_count = count;
    return true;
}

static bool apply_skip(struct apply_text *diff, const char *text)
{
    size_t len = strlen(text);
    if ((size_t)(diff->end - diff->at) < len || memcmp(diff->at, text, len) != 0)
        return false;
    diff->at += len;
    return true;
}

static bool apply_hunk(struct apply_text *diff, struct apply_text *old, size_t *old_lines,
                       size_t *new_lines, struct buf *ret)
{
    size_t old_before, old_count, new_before, new_count;
    if (!apply_skip(diff, "@@ ") || !apply_span(diff, '-', &old_before, &old_count) ||
        !apply_skip(diff, " ") || !apply_span(diff, '+', &new_before, &new_count) ||
        !apply_skip(diff, " @@\n"))
        return false;
    for (; *old_lines < old_before; (*old_lines)++, (*new_lines)++) {
        size_t len = apply_line(old);
        if (!len)
            return false;
        buf_append(ret, old->at, len);
        old->at += len;
    }
    if (*new_lines != new_before)
        return false;
    while (old_count || new_count) {
        if (diff->at == diff->end)
            return false;
        char mark = *diff->at++;
        const char *line = diff->at;
        size_t len = apply_line(diff);
        diff->at += len;
        if (apply_skip(diff, "\\ No newline at end of file\n"))
            len--;
        if (mark == ' ' || mark == '-') {
            if (!old_count-- || apply_line(old) != len || memcmp(old->at, line, len) != 0)
                return false;
            old->at += len;
            (*old_lines)++;
        }
        if (mark == ' ' || mark == '+') {
            if (!new_count--)
                return false;
            buf_append(ret, line, len);
            (*new_lines)++;
        }
        if (!strchr(" +-", mark))
            return false;
    }
    return true;
}

/* False: it does not fit. `ret` must be empty. */
static bool apply_patch(const char *old, size_t old_len, const char *diff, size_t diff_len,
                        struct buf *ret)
{
    struct apply_text rest = {diff, diff + diff_len}, text = {old, old + old_len};
    size_t old_lines = 0, new_lines = 0;
    while (rest.at < rest.end) {
        if (!apply_hunk(&rest, &text, &old_lines, &new_lines, ret))
            return false;
    }
    return buf_append(ret, text.at, (size_t)(text.end - text.at)) == 0;
}

#endif
