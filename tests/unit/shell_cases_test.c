/*
 * The tables in tests/cases/shell: texts, and what is made of each.
 *
 *   shell_cases_test [DIRECTORY]     UPDATE=1 writes what is made into the tables, to be looked at
 *
 * A case is a run of lines, with an empty line or a comment (#) around it:
 *
 *   > echo "$x"                  the text, line by line; the last line has no newline behind it
 *   = echo "${x}"                its canonical form, likewise
 *     simple                     its tree, by two spaces
 *   ! 1:5: no " closes this      or instead of both the refusal: line, column, message
 *
 * In a line that begins with >\ or =\ the escapes \n, \t, \\ and \xHH stand for bytes.
 *
 * Every accepted text must also have right spans, and its canonical form must be accepted, have the
 * same tree and be its own canonical form.
 */
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "shell_check.h"
#include "tap.h"

enum { FILE_MAX = 8 << 20, FILES_MAX = 200 };

/* --- the tables' escapes ---------------------------------------------------------------------- */

static int hex_digit(char c)
{
    static const char DIGITS[] = "0123456789abcdef";
    const char *digit = c ? strchr(DIGITS, c) : NULL;
    return digit ? (int)(digit - DIGITS) : -1;
}

/* One line of a text, without its mark; false when an escape is none. */
static bool decode_line(const char *line, size_t len, bool escapes, struct buf *out)
{
    for (size_t i = 0; i < len; i++) {
        char c = line[i];
        if (escapes && c == '\\') {
            char kind = '\0';
            if (i + 1 < len)
                kind = line[++i];
            int high = kind == 'x' && i + 2 < len ? hex_digit(line[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(line[i + 2]) : -1;
            if (low >= 0) {
                c = (char)(high * 16 + low);
                i += 2;
            } else if (kind == 'n') {
                c = '\n';
            } else if (kind == 't') {
                c = '\t';
            } else if (kind != '\\') {
                return false;
            }
        }
        buf_append_byte(out, c);
    }
    return true;
}

/* Whether an editor, a terminal and git leave such a line alone. */
static bool is_showable(const char *line, size_t len)
{
    if (len && (line[len - 1] == ' ' || line[0] == '\\'))
        return false;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)line[i] < ' ' || (unsigned char)line[i] > '~')
            return false;
    }
    return true;
}

static void encode_line(const char *line, size_t len, char mark, struct buf *out)
{
    buf_append_byte(out, mark);
    if (is_showable(line, len)) {
        if (len)
            buf_append_byte(out, ' ');
        buf_append(out, line, len);
    } else {
        buf_append_text(out, "\\ ");
        for (size_t i = 0; i < len; i++) {
            unsigned char c = (unsigned char)line[i];
            if (c == '\t')
                buf_append_text(out, "\\t");
            else if (c == '\\')
                buf_append_text(out, "\\\\");
            else if (c < ' ' || c > '~' || (c == ' ' && i + 1 == len))
                buf_append_format(out, "\\x%02x", c);
            else
                buf_append_byte(out, (char)c);
        }
    }
    buf_append_byte(out, '\n');
}

static void encode(const char *bytes, size_t len, char mark, struct buf *out)
{
    const char *end = bytes + len;
    for (;;) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        encode_line(bytes, (size_t)((newline ? newline : end) - bytes), mark, out);
        if (!newline)
            return;
        bytes = newline + 1;
    }
}

/* --- one case --------------------------------------------------------------------------------- */

struct table_case {
    unsigned line; /* of the file */
    struct buf text, expected, made;
    char why[256]; /* what is wrong apart from the expectation */
};

static bool same(const struct buf *a, const struct buf *b)
{
    return !a->failed && !b->failed && a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static void check_steady(struct table_case *c, const struct reading_result *first)
{
    struct reading_result again;
    if (!read_text(&again, first->rendering.data, first->rendering.len))
        snprintf(c->why, sizeof(c->why), "the canonical form is refused: %u:%u: %s",
                 again.error.line, again.error.column, again.error.message);
    else if (!same(&first->dump, &again.dump))
        snprintf(c->why, sizeof(c->why), "the canonical form has another tree");
    else if (!same(&first->rendering, &again.rendering))
        snprintf(c->why, sizeof(c->why), "the canonical form has another canonical form");
    release_reading(&again);
}

static void read_case(struct table_case *c)
{
    struct reading_result reading;
    if (read_text(&reading, c->text.data, c->text.len)) {
        encode(reading.rendering.data, reading.rendering.len, '=', &c->made);
        for (const char *line = reading.dump.data, *end; *line; line = end + 1) {
            end = strchr(line, '\n');
            buf_append_text(&c->made, "  ");
            buf_append(&c->made, line, (size_t)(end + 1 - line));
        }
        check_steady(c, &reading);
        struct span_walk spans;
        if (!spans_are_right(&spans, reading.tree))
            snprintf(c->why, sizeof(c->why), "spans: %s", spans.message);
    } else {
        buf_append_format(&c->made, "! %u:%u: %s\n", reading.error.line, reading.error.column,
                          reading.error.message);
        if (!place_is_right(&reading.error, c->text.data, c->text.len))
            snprintf(c->why, sizeof(c->why), "line and column are not those of offset %u",
                     reading.error.offset);
    }
    release_reading(&reading);
}

static void show_lines(const char *title, const char *text)
{
    printf("#   %s\n", title);
    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        printf("#     %.*s\n", (int)(end - text), text);
}

static void check_case(struct table_case *c, const char *file, bool update)
{
    struct buf shown;
    buf_init(&shown, &allocator_libc, FILE_MAX);
    encode(c->text.data, c->text.len < 60 ? c->text.len : 60, ' ', &shown);
    for (char *newline; (newline = strchr(shown.data, '\n'));)
        *newline = newline[1] ? '/' : '\0';
    read_case(c);
    bool as_expected = update || same(&c->made, &c->expected);
    /* Where a text has a #, TAP would take what follows for a directive. */
    for (char *hash; (hash = strchr(shown.data, '#'));)
        *hash = '.';
    if (!tap_check(as_expected && !c->why[0], "%s:%u:%s", file, c->line, shown.data)) {
        if (c->why[0])
            printf("#   %s\n", c->why);
        if (!as_expected) {
            show_lines("is:", c->made.data);
            show_lines("should be:", c->expected.data);
        }
    }
    buf_release(&shown);
}

/* --- one table -------------------------------------------------------------------------------- */

static bool read_file(const char *path, struct buf *out)
{
    char block[4096];
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    for (size_t n; (n = fread(block, 1, sizeof(block), f)) > 0;)
        buf_append(out, block, n);
    bool read = !ferror(f) && !out->failed;
    fclose(f);
    return read;
}

static bool write_file(const char *path, const struct buf *bytes)
{
    FILE *f = fopen(path, "we");
    if (!f)
        return false;
    bool written = !bytes->failed && fwrite(bytes->data, 1, bytes->len, f) == bytes->len;
    return fclose(f) == 0 && written;
}

static const char *line_end(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline + 1 : end;
}

/* Reads the case at `at`, checks it and returns what follows it; `out` is the table as it will be.
 */
static const char *run_case(const char *at, const char *end, unsigned *line, const char *file,
                            struct buf *out, bool update)
{
    struct table_case c = {.line = *line};
    buf_init(&c.text, &allocator_libc, FILE_MAX);
    buf_init(&c.expected, &allocator_libc, FILE_MAX);
    buf_init(&c.made, &allocator_libc, FILE_MAX);
    const char *next;
    bool first = true, readable = true;
    for (; at < end && *at == '>'; at = next, first = false, ++*line) {
        next = line_end(at, end);
        buf_append(out, at, (size_t)(next - at));
        size_t len = (size_t)(next - at) - (next[-1] == '\n');
        bool escapes = len > 1 && at[1] == '\\';
        size_t mark = escapes ? 3 : 2;
        readable &= len == 1 || (len >= mark && at[mark - 1] == ' ');
        if (!first)
            buf_append_byte(&c.text, '\n');
        if (len > mark)
            readable &= decode_line(at + mark, len - mark, escapes, &c.text);
    }
    for (; at < end && *at != '>' && *at != '#' && *at != '\n'; at = next, ++*line) {
        next = line_end(at, end);
        buf_append(&c.expected, at, (size_t)(next - at));
    }
    if (readable)
        check_case(&c, file, update);
    else
        tap_check(false, "%s:%u is not of the tables' form", file, c.line);
    buf_append(out, c.made.data, c.made.len);
    buf_release(&c.text);
    buf_release(&c.expected);
    buf_release(&c.made);
    return at;
}

static void run_table(const char *directory, const char *file, bool update)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct buf table, out;
    buf_init(&table, &allocator_libc, FILE_MAX);
    buf_init(&out, &allocator_libc, FILE_MAX);
    snprintf(path, sizeof(path), "%.*s/%.*s", PATH_MAX, directory, NAME_MAX, file);
    if (!read_file(path, &table))
        tap_check(false, "%s can be read", path);
    const char *at = table.data, *end = at + table.len;
    for (unsigned line = 1; at < end;) {
        if (*at == '>') {
            at = run_case(at, end, &line, file, &out, update);
            continue;
        }
        const char *next = line_end(at, end);
        if (*at != '#' && *at != '\n')
            tap_check(false, "%s:%u belongs to a case", file, line);
        buf_append(&out, at, (size_t)(next - at));
        at = next;
        line++;
    }
    if (update && !same(&table, &out) && !write_file(path, &out))
        tap_check(false, "%s can be written", path);
    buf_release(&table);
    buf_release(&out);
}

/* build/VARIANT/unit/shell_cases_test → tests/cases/shell, wherever all that lies. */
static bool find_tables(char *ret, size_t size)
{
    char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (len < 0)
        return false;
    program[len] = '\0';
    return snprintf(ret, size, "%s/../../../tests/cases/shell", dirname(program)) < (int)size;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

int main(int argc, char **argv)
{
    static char names[FILES_MAX][NAME_MAX + 1];
    char found[PATH_MAX];
    const char *path = argc > 1 ? argv[1] : find_tables(found, sizeof(found)) ? found : ".";
    const char *update = getenv("UPDATE");
    DIR *directory = opendir(path);
    size_t count = 0;
    if (!directory) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 2;
    }
    for (const struct dirent *entry; (entry = readdir(directory)) && count < FILES_MAX;) {
        size_t len = strlen(entry->d_name);
        if (len > 4 && strcmp(entry->d_name + len - 4, ".txt") == 0)
            snprintf(names[count++], sizeof(names[0]), "%s", entry->d_name);
    }
    closedir(directory);
    qsort(names, count, sizeof(names[0]), by_name);
    for (size_t i = 0; i < count; i++)
        run_table(path, names[i], update && strcmp(update, "1") == 0);
    tap_check(tap_count > 500, "there are hundreds of cases");
    return tap_done();
}
