/* See verdict_read.h. */
#include "cli/verdict_read.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/question_show.h"

enum { LINES_MAX = 64 << 20 };

static void append_json_text(const json_t *value, bool ascii_only, struct buf *out)
{
    if (json_is_string(value))
        question_append_safe(json_string_value(value), json_string_length(value), ascii_only, out);
    else
        buf_append_text(out, "?");
}

static void show_reasons(const json_t *reasons, bool ascii_only, struct buf *out)
{
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        const json_t *reason = json_array_get(reasons, i);
        buf_append_text(out, "    ");
        if (json_is_string(json_object_get(reason, "path"))) {
            append_json_text(json_object_get(reason, "path"), ascii_only, out);
            buf_append_text(out, ": ");
        }
        append_json_text(json_object_get(reason, "reason"), ascii_only, out);
        buf_append_text(out, " [");
        append_json_text(json_object_get(reason, "rule"), ascii_only, out);
        buf_append_text(out, "]\n");
    }
}

/* --- commands -------------------------------------------------------------------------------- */

struct line {
    char *text;
    size_t count, first;
    bool asks;
};

static int by_text(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = x->asks != y->asks ? (x->asks ? -1 : 1) : strcmp(x->text, y->text);
    return order ? order : x->first < y->first ? -1 : 1;
}

static int by_place(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->asks != y->asks ? (x->asks ? -1 : 1) : x->first < y->first ? -1 : 1;
}

/* A word in quotes where it would be taken for several, or for none. */
static void append_word(const json_t *word, bool ascii_only, struct buf *out)
{
    if (!json_is_string(word)) {
        buf_append_text(out, "(unknown)");
        return;
    }
    const char *text = json_string_value(word);
    size_t len = json_string_length(word);
    bool quoted = !len || strpbrk(text, " \t\n'\"()") != NULL;
    if (quoted)
        buf_append_byte(out, '\'');
    question_append_safe(text, len, ascii_only, out);
    if (quoted)
        buf_append_byte(out, '\'');
}

static bool is_asked(const json_t *act, const json_t *reasons)
{
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        if (json_equal(json_object_get(json_array_get(reasons, i), "span"),
                       json_object_get(act, "span")))
            return true;
    }
    return false;
}

static char *describe(const json_t *act, bool ascii_only)
{
    const json_t *argv = json_object_get(act, "argv"), *via = json_object_get(act, "via");
    const json_t *effects = json_object_get(act, "effects");
    struct buf text;
    buf_init(&text, &allocator_libc, LINES_MAX);
    for (size_t i = 0; i < json_array_size(argv); i++) {
        if (i)
            buf_append_byte(&text, ' ');
        append_word(json_array_get(argv, i), ascii_only, &text);
    }
    for (size_t i = 0; i < json_array_size(via); i++) {
        buf_append_text(&text, i ? " " : "  (through ");
        append_json_text(json_array_get(via, i), ascii_only, &text);
    }
    if (json_array_size(via))
        buf_append_byte(&text, ')');
    for (size_t i = 0; i < json_array_size(effects); i++) {
        buf_append_text(&text, i ? ", " : "  [");
        append_json_text(json_array_get(effects, i), ascii_only, &text);
    }
    if (json_array_size(effects))
        buf_append_byte(&text, ']');
    char *copy = text.failed ? NULL : strdup(text.data);
    buf_release(&text);
    return copy;
}

static void show_commands(const json_t *acts, const json_t *reasons, const char *bold,
                          const char *plain, bool ascii_only, struct buf *out)
{
    size_t count = json_array_size(acts), kinds = 0, asking = 0;
    struct line *lines = count ? calloc(count, sizeof(*lines)) : NULL;
    if (!lines)
        return;
    bool whole = true;
    for (size_t i = 0; i < count; i++) {
        const json_t *act = json_array_get(acts, i);
        lines[i] = (struct line){.text = describe(act, ascii_only),
                                 .count = 1,
                                 .first = i,
                                 .asks = is_asked(act, reasons)};
        asking += lines[i].asks;
        whole &= lines[i].text != NULL;
    }
    if (whole) {
        qsort(lines, count, sizeof(*lines), by_text);
        for (size_t i = 0; i < count; i++) {
            if (kinds && lines[kinds - 1].asks == lines[i].asks &&
                strcmp(lines[kinds - 1].text, lines[i].text) == 0) {
                lines[kinds - 1].count++;
                free(lines[i].text);
            } else {
                lines[kinds++] = lines[i];
            }
        }
        qsort(lines, kinds, sizeof(*lines), by_place);
        buf_append_format(out, "%s%-10s%s %zu, of which %zu ask%s\n", bold, "commands", plain,
                          count, asking, asking == 1 ? "s" : "");
        for (size_t i = 0; i < kinds; i++) {
            buf_append_format(out, "  %s ", lines[i].asks ? "?" : " ");
            if (lines[i].count > 1)
                buf_append_format(out, "%zu times: ", lines[i].count);
            buf_append_format(out, "%s\n", lines[i].text);
        }
        count = kinds;
    } else {
        out->failed = out->failed ? out->failed : -1; /* what cannot be shown whole is not asked */
    }
    for (size_t i = 0; i < count; i++)
        free(lines[i].text);
    free(lines);
}

/* --- changes --------------------------------------------------------------------------------- */

static void append_name(const json_t *name, bool ascii_only, struct buf *out)
{
    if (json_is_object(name)) { /* one that is no UTF-8 */
        buf_append_text(out, "base64:");
        name = json_object_get(name, "base64");
    }
    append_json_text(name, ascii_only, out);
}

static void show_changes(const json_t *changes, const char *bold, const char *plain,
                         bool ascii_only, struct buf *out)
{
    static const char *const kinds[] = {"deleted", "created", "modified", "renamed", "touched"};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const json_t *list = json_object_get(changes, kinds[k]);
        if (!json_array_size(list))
            continue;
        buf_append_format(out, "%s%-10s%s %zu\n", bold, kinds[k], plain, json_array_size(list));
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *item = json_array_get(list, i);
            const json_t *from = json_object_get(item, "from");
            buf_append_text(out, "    ");
            append_name(from ? from : item, ascii_only, out);
            if (from) {
                buf_append_text(out, " -> ");
                append_name(json_object_get(item, "to"), ascii_only, out);
            }
            buf_append_byte(out, '\n');
        }
    }
}

void verdict_read_show(const char *json, size_t len, const char *bold, const char *plain,
                       bool ascii_only, struct buf *out)
{
    json_error_t ignored;
    json_t *verdict = json && len ? json_loadb(json, len, 0, &ignored) : NULL;
    const json_t *reasons = json_object_get(verdict, "reasons");
    if (json_array_size(reasons)) {
        buf_append_format(out, "%s%-10s%s\n", bold, "why", plain);
        show_reasons(reasons, ascii_only, out);
    }
    show_commands(json_object_get(verdict, "acts"), reasons, bold, plain, ascii_only, out);
    show_changes(json_object_get(verdict, "changes"), bold, plain, ascii_only, out);
    json_decref(verdict);
}
