/* YAML as a tree with places: what is read, and what is refused with file, line and column. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/yaml.h"
#include "tap.h"

static struct arena arena;

static const struct yaml_node *parse(const char *text, struct err *e)
{
    const struct yaml_node *root = NULL;
    *e = (struct err){0};
    return yaml_parse(&arena, "f", text, strlen(text), &root, e) < 0 ? NULL : root;
}

static void check_refused(const char *text, size_t len, const char *message)
{
    const struct yaml_node *root = NULL;
    struct err e = {0};
    int result = yaml_parse(&arena, "f", text, len, &root, &e);
    tap_number(result, -EINVAL, message);
    tap_text(e.message, message, "its message");
}

static void test_tree(void)
{
    struct err e;
    const struct yaml_node *root = parse("a: 1\n"
                                         "b: [x, \"y\"]\n"
                                         "c:\n"
                                         "  - d: e\n"
                                         "    'f': '2'\n"
                                         "n:\n"
                                         "t: |\n"
                                         "  one\n"
                                         "  two\n",
                                         &e);
    if (!tap_check(root && root->kind == YAML_MAP, "a map: %s", e.message))
        return;
    const struct yaml_node *a = yaml_get(root, "a");
    tap_check(a && a->kind == YAML_SCALAR && !a->quoted && a->line == 1 && a->column == 4,
              "a plain scalar and its place");
    tap_text(a ? a->text : NULL, "1", "its text");
    tap_check(a && a->key->line == 1 && a->key->column == 1, "the place of its key");
    const struct yaml_node *b = yaml_get(root, "b");
    tap_check(b && b->kind == YAML_LIST && b->first && b->first->next && !b->first->next->next,
              "a list of two");
    const struct yaml_node *y = b && b->first ? b->first->next : NULL;
    tap_check(y && y->quoted && y->column == 8, "a quoted one");
    const struct yaml_node *c = yaml_get(root, "c");
    const struct yaml_node *f = c && c->first ? yaml_get(c->first, "f") : NULL;
    tap_check(f && f->quoted && f->line == 5 && f->column == 10, "a map in a list");
    const struct yaml_node *n = yaml_get(root, "n");
    tap_check(n && n->kind == YAML_SCALAR && !n->text[0] && !n->quoted && n->line == 6,
              "nothing is an empty plain scalar at its key");
    const struct yaml_node *t = yaml_get(root, "t");
    tap_text(t ? t->text : NULL, "one\ntwo\n", "a text of lines");
    tap_check(yaml_get(root, "z") == NULL, "a key that is not there");
    tap_check(a && yaml_get(a, "a") == NULL, "a scalar has no keys");

    static const char *const empty[] = {"", "\n", "# only a comment\n", "---\n", "\xEF\xBB\xBF"};
    for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++) {
        root = parse(empty[i], &e);
        tap_check(root && root->kind == YAML_MAP && !root->first, "empty document %zu", i);
    }
    root = parse("\xEF\xBB\xBF"
                 "a: b\r\nc: d\r\n",
                 &e);
    tap_check(root && yaml_get(root, "c") && yaml_get(root, "c")->line == 2,
              "a byte order mark, and lines that end in CR LF");
    root = parse("\xC3\xA9: \"\\u00e9\"\n", &e);
    tap_text(root && root->first ? root->first->text : NULL, "\xC3\xA9", "an escape");
    root = parse("a: 'don''t ''''quote'''\n'b''''''''''''c': '\xC3\xA9'\n", &e);
    tap_text(root && root->first ? root->first->text : NULL, "don't ''quote'", "quotes in quotes");
    tap_check(root && yaml_get(root, "b''''''c"), "many of them");
    root = parse("a: ['one\n  two', '''']\n", &e);
    tap_text(root ? root->first->first->text : NULL, "one two", "two lines in single quotes");
    tap_text(root ? root->first->first->next->text : NULL, "'", "one quote");
    root = parse("a: |\nb:\n  - |\n   c\n  - >-\n    d\n    e\n", &e);
    tap_check(root && !root->first->text[0] && yaml_get(root, "b") &&
                  strcmp(yaml_get(root, "b")->first->text, "c\n") == 0 &&
                  strcmp(yaml_get(root, "b")->first->next->text, "d e") == 0,
              "texts behind | and >, also an empty one: %s", e.message);
    root = parse("a:\n- b\nc:\n  d\ne: {f:\n g}\n", &e);
    tap_check(root != NULL, "values in the next line: %s", e.message);
    root = parse("a: what?\nb: \"\\t ? c\"\n", &e);
    tap_text(root && yaml_get(root, "b") ? yaml_get(root, "b")->text : NULL, "\t ? c",
             "question marks and written tabs");
    root = parse("[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", &e);
    tap_check(root != NULL, "nested as deep as is allowed");
}

static void test_refusals(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"a: 1\n\tb: 2\n", "f:2:1: a tab (take blanks, or \\t in double quotes)"},
        {"a:\n\t- b\n", "f:2:1: a tab (take blanks, or \\t in double quotes)"},
        {"a: {b: c,\n  \td: e}\n", "f:2:3: a tab (take blanks, or \\t in double quotes)"},
        {"a: 1\nb: 2\na: 3\n", "f:3:1: 'a' is already given in line 1"},
        {"x: {y: 1, 'y': 2}\n", "f:1:11: 'y' is already given in line 1"},
        {"a:\n  - |\n  - b\n", "f:3:1: no text behind | or > (check the indentation)"},
        {"a:\n  b:\n  c\n", "f:3:3: not deeper than what it belongs to"},
        {"a:\nb\n", "f:2:1: not deeper than what it belongs to"},
        {"a: |\n  b\n   \n  c\n", "f:2:1: a line of blanks only in a text behind | or >"},
        {"a: >\n  b\n    c\n", "f:2:1: a deeper line in a text behind > (take |)"},
        {"a: \"b\\\n  c\"\n",
         "f:1:4: an escape in a quoted text of several lines (write it in one)"},
        {"a:\n  -\n  b\n", "f:3:3: not deeper than what it belongs to"},
        {"[a]: b\n", "f:1:1: a key must be a word"},
        {"- ? a\n", "f:1:3: keys with a ? are not taken"},
        {"a: b\t# c\n", "f:1:5: a tab (take blanks, or \\t in double quotes)"},
        {"a: |\n  b\n\n\n\n\n  c\n", "f:2:1: more than three empty lines in a text"},
        {"a: &x 1\n", "f:1:4: anchors (&name) are not taken"},
        {"a: &x {b: c}\n", "f:1:4: anchors (&name) are not taken"},
        {"a: *x\n", "f:1:4: aliases (*name) are not taken"},
        {"*x : a\n", "f:1:1: aliases (*name) are not taken"},
        {"a: !!str 1\n", "f:1:4: tags (!name) are not taken"},
        {"a: !x [b]\n", "f:1:4: tags (!name) are not taken"},
        {"<<: {a: 1}\n", "f:1:1: merge keys (<<) are not taken"},
        {"a: 1\n...\nb: 2\n", "f:3:1: a second document starts here"},
        {"--- a\n--- b\n", "f:2:5: a second document starts here"},
        {"%YAML 1.1\n---\na: 1\n", "f:1:1: directives are not taken"},
        {"a: \"\\0\"\n", "f:1:4: a NUL in a text"},
        {"a: 'it''s\n  b'\n", "f:1:4: quotes in a text of several lines (put it in double quotes)"},
        {"\"\": a\n", "f:1:1: a key must not be empty"},
        {"? [a]\n: b\n", "f:1:1: keys with a ? are not taken"},
        {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "f:1:17: nested deeper than 16"},
        {"a: \xFF\n", "f:1:4: not UTF-8 (byte 0xFF)"},
        {"a: b\nc: \xC3\n", "f:2:4: not UTF-8 (byte 0xC3)"},
        {"a: \x01\n", "f:1:4: a character that cannot be seen (U+0001)"},
        {"a: b\rc: d\n", "f:1:5: a character that cannot be seen (U+000D)"},
        {"a: \xE2\x80\xAE"
         "b\n",
         "f:1:4: a character that cannot be seen (U+202E)"},
        {"a: b: c\n", "f:1:5: ': ' inside a plain text (put the text in quotes)"},
        {"a: b\n  c: d\n",
         "f:1:4: this text seems to go on in the next line (check the indentation there)"},
        {"a: @b\n", "f:1:4: a text that starts like this needs quotes"},
        {"a:\n  - b\n  c: d\n", "f:3:3: neither '- ' nor the end of the list"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_refused(rows[i].text, strlen(rows[i].text), rows[i].message);
    check_refused("a: b\0c\n", 7, "f:1:5: a NUL byte: this is not a text");

    /* The library's own words, of which only the place is ours to promise. */
    static const char *const broken[] = {"a: [1, 2\n", "{a: 1}}\n", "a: \"x\n", "a: 'x\n",
                                         "a:\n  b: 1\n c: 2\n"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        struct err e;
        const struct yaml_node *root = parse(broken[i], &e);
        tap_check(!root && strncmp(e.message, "f:", 2) == 0 && !strchr(e.message, '\n'),
                  "broken %zu: %s", i, e.message);
    }
    const struct yaml_node *root = NULL;
    tap_number(yaml_parse(&arena, "f", "a: [", 4, &root, NULL), -EINVAL, "no message is wanted");
}

static void test_messages(void)
{
    struct yaml_node at = {.line = 7, .column = 9};
    struct err e = {0};
    tap_number(yaml_error(&e, "dir/f.yaml", &at, "bad %s", "a\nb\033"), -EINVAL, "yaml_error");
    tap_text(e.message, "dir/f.yaml:7:9: bad a?b?", "one line, whatever is quoted");
}

static void test_files(void)
{
    char directory[] = "/tmp/nacre-yaml-XXXXXX";
    if (!tap_check(mkdtemp(directory) != NULL, "a directory"))
        return;
    char path[128];
    const struct yaml_node *root = NULL;
    struct err e = {0};

    snprintf(path, sizeof(path), "%s/a.yaml", directory);
    tap_number(yaml_load(&arena, path, &root, &e), -ENOENT, "a file that is not there");
    tap_check(strstr(e.message, path) != NULL, "is named: %s", e.message);

    FILE *f = fopen(path, "we");
    if (f) {
        fputs("a: b\n", f);
        fclose(f);
    }
    tap_number(yaml_load(&arena, path, &root, &e), 0, "a file");
    tap_check(root && yaml_get(root, "a") != NULL, "is read");
    tap_check(truncate(path, YAML_BYTES_MAX + 1) == 0, "made too long");
    tap_number(yaml_load(&arena, path, &root, &e), -EINVAL, "is refused");
    tap_check(strstr(e.message, "longer than 1048576 bytes") != NULL, "with: %s", e.message);
    tap_check(truncate(path, 6) == 0, "made to end in NUL");
    tap_number(yaml_load(&arena, path, &root, &e), -EINVAL, "is refused");
    unlink(path);

    tap_number(yaml_load(&arena, directory, &root, &e), -EINVAL, "a directory is refused");
    tap_check(mkfifo(path, 0600) == 0, "a fifo");
    tap_number(yaml_load(&arena, path, &root, &e), -EINVAL, "is refused and not waited for");
    tap_check(strstr(e.message, "not a regular file") != NULL, "with: %s", e.message);
    unlink(path);
    rmdir(directory);

    tap_number(yaml_parse(&arena, "f", "", YAML_BYTES_MAX + (size_t)1, &root, &e), -EINVAL,
               "too many bytes are refused before they are looked at");
}

/* Many keys in one map are compared in good time; each allocation may fail. */
static void *limited(void *user, void *old, size_t size)
{
    int *left = user;
    if (size == 0) {
        free(old);
        return NULL;
    }
    return (*left)-- > 0 ? realloc(old, size) : NULL;
}

static void test_limits(void)
{
    struct buf text;
    buf_init(&text, &allocator_libc, YAML_BYTES_MAX);
    for (int i = 0; i < 50000; i++)
        buf_append_format(&text, "k%d: v\n", i);
    const struct yaml_node *root = NULL;
    struct err e = {0};
    tap_number(yaml_parse(&arena, "f", text.data, text.len, &root, &e), 0, "50000 keys");
    buf_append_text(&text, "k7: again\n");
    tap_number(yaml_parse(&arena, "f", text.data, text.len, &root, &e), -EINVAL, "and one again");
    tap_text(e.message, "f:50001:1: 'k7' is already given in line 8", "is found");
    buf_release(&text);

    bool all = true, done = false;
    for (int n = 0; n < 8 && !done; n++) {
        int left = n;
        const struct allocator few = {limited, &left};
        struct arena small;
        arena_init(&small, &few, 1 << 20);
        int result = yaml_parse(&small, "f", "a: [b, {c: d, e: f}]\n", 21, &root, &e);
        done = result == 0;
        all = all && (result == 0 || result == -ENOMEM);
        arena_release(&small);
    }
    tap_check(all && done, "without memory it says so");
}

int main(void)
{
    arena_init(&arena, &allocator_libc, 256 << 20);
    test_tree();
    test_refusals();
    test_messages();
    test_files();
    test_limits();
    arena_release(&arena);
    return tap_done();
}
