/*
 * The tables in tests/cases/facts: texts, and the facts of each.
 *
 *   facts_cases_test [DIRECTORY]     UPDATE=1 writes what is found into the tables, to be looked at
 *
 * A case is a run of lines with an empty line behind it; lines with # are comments:
 *
 *   > timeout 5 rm -r "$x"          the text, line by line
 *     timeout: 5 rm -r ?            an act: its name, its words; ? is not known, 'a*' is a glob
 *     timeout > rm: -r ? (deletes)  an act within: through what, and its effects
 *       delete ?                    a file that it uses
 *     ! name: …                     a finding
 *
 * The workspace is /w, where the shell starts; the home directory is /home/u; no file is there.
 */
#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "facts/facts.h"
#include "tap.h"

enum { FILE_MAX = 8 << 20, FILES_MAX = 64, ARENA_MAX = 256 << 20 };

static void append_word(struct buf *out, const struct fact_word *word)
{
    buf_append_byte(out, ' ');
    if (word->state == WORD_UNKNOWN) {
        buf_append(out, word->text, word->len);
        buf_append_text(out, word->many ? "?..." : "?");
    } else {
        bool quote = word->state == WORD_PATTERN || word->len == 0 ||
                     strpbrk(word->text, " \t\n'\"?") != NULL;
        if (!quote)
            buf_append(out, word->text, word->len);
        else if (word->state == WORD_PATTERN)
            buf_append_format(out, "'%s'", word->text);
        else
            json_append_text(out, word->text);
    }
}

static void append_via(struct buf *out, const struct act *via)
{
    if (!via)
        return;
    append_via(out, via->via);
    buf_append_format(out, "%s > ", via->name ? via->name : "?");
}

static void append_paths(struct buf *out, const struct act *act)
{
    static const char *const modes[] = {"read", "write", "delete", "enter", "run"};
    for (const struct fact_path *path = act->paths; path; path = path->next) {
        if (path->loose)
            continue;
        buf_append_text(out, "    ");
        for (size_t i = 0; i < 5; i++) {
            if (path->mode & (1u << i))
                buf_append_format(out, "%s ", modes[i]);
        }
        if (path->state == WORD_KNOWN)
            buf_append_text(out, path->text);
        else if (path->state == WORD_PATTERN)
            buf_append_format(out, "'%s'", path->text);
        else
            buf_append_format(out, "%s?", path->text ? path->text : "");
        buf_append_byte(out, '\n');
    }
}

static void append_act(struct buf *out, const struct act *act)
{
    buf_append_text(out, "  ");
    append_via(out, act->via);
    if (act->word_count == 0) {
        buf_append_text(out, "(files)\n");
        append_paths(out, act);
        return;
    }
    buf_append_format(out, "%s:", act->name ? act->name : "?");
    for (size_t i = act->name ? 1 : 0; i < act->word_count; i++)
        append_word(out, &act->words[i]);
    bool first = true;
    for (size_t i = 0; effect_names[i]; i++) {
        if (act->effects & (1u << i)) {
            buf_append_format(out, "%s%s", first ? " (" : " ", effect_names[i]);
            first = false;
        }
    }
    buf_append_text(out, first ? "\n" : ")\n");
    append_paths(out, act);
}

static const char *const finding_names[FINDING_COUNT] = {
    [FINDING_NAME] = "name",     [FINDING_CODE] = "code",         [FINDING_VALUE] = "value",
    [FINDING_OPTION] = "option", [FINDING_VARIABLE] = "variable", [FINDING_SETTING] = "setting",
    [FINDING_SHADOW] = "shadow", [FINDING_DIALECT] = "dialect",   [FINDING_NAME_FILE] = "file",
    [FINDING_BOUND] = "bound",   [FINDING_DECODED] = "decoded",   [FINDING_DOWNLOAD] = "download",
};

/* The facts of a text as a table has them. */
static void describe(const char *text, size_t len, struct buf *out)
{
    static const struct facts_host host = {
        .knowledge = &knowledge_builtin, .home = "/home/u", .workspace = "/w", .cwd = "/w"};
    struct arena arena;
    struct shell_error error;
    const struct shell_tree *tree;
    const struct facts *facts;
    struct err e;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    if (shell_parse(&arena, text, len, &tree, &error) < 0) {
        buf_append_format(out, "  unread: %s\n", error.message);
    } else if (facts_gather(&arena, &host, tree, &facts, &e) < 0) {
        buf_append_format(out, "  failed: %s\n", e.message);
    } else {
        for (const struct act *act = facts->acts; act; act = act->next)
            append_act(out, act);
        for (const struct finding *f = facts->findings; f; f = f->next)
            buf_append_format(out, "  ! %s: %s\n", finding_names[f->kind], f->what);
    }
    arena_release(&arena);
}

/* --- the tables ------------------------------------------------------------------------------- */

static bool read_file(const char *path, struct buf *out)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        return false;
    char chunk[4096];
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), file)) > 0;)
        buf_append(out, chunk, n);
    fclose(file);
    return !out->failed;
}

/* One case: the text's lines, then what is expected up to an empty line. */
static const char *run_case(const char *at, const char *name, unsigned line, struct buf *updated)
{
    struct buf text, expected, got;
    buf_init(&text, &allocator_libc, FILE_MAX);
    buf_init(&expected, &allocator_libc, FILE_MAX);
    buf_init(&got, &allocator_libc, FILE_MAX);
    bool first = true;
    while (*at == '>') {
        const char *end = strchrnul(at, '\n');
        const char *from = at + 1 + (at[1] == ' ');
        if (!first)
            buf_append_byte(&text, '\n');
        buf_append(&text, from, (size_t)(end - from));
        buf_append(updated, at, (size_t)(end - at) + 1);
        first = false;
        at = *end ? end + 1 : end;
    }
    while (*at && *at != '\n' && *at != '>') {
        const char *end = strchrnul(at, '\n');
        buf_append(&expected, at, (size_t)(end - at) + 1);
        at = *end ? end + 1 : end;
    }
    describe(text.data, text.len, &got);
    buf_append(updated, got.data, got.len);
    char title[PATH_MAX];
    snprintf(title, sizeof(title), "%s:%u", name, line);
    tap_text(got.data, expected.data, title);
    buf_release(&text);
    buf_release(&expected);
    buf_release(&got);
    return at;
}

static void run_table(const char *path)
{
    struct buf table, updated;
    buf_init(&table, &allocator_libc, FILE_MAX);
    buf_init(&updated, &allocator_libc, FILE_MAX);
    char copy[PATH_MAX + 300];
    snprintf(copy, sizeof(copy), "%s", path);
    const char *name = basename(copy);
    if (!tap_check(read_file(path, &table), "%s can be read", name))
        return;
    unsigned line = 1;
    for (const char *at = table.data; *at;) {
        const char *next;
        if (*at == '>') {
            next = run_case(at, name, line, &updated);
        } else {
            const char *end = strchrnul(at, '\n');
            next = *end ? end + 1 : end;
            buf_append(&updated, at, (size_t)(next - at));
        }
        for (; at < next; at++)
            line += *at == '\n';
    }
    if (getenv("UPDATE")) {
        FILE *file = fopen(path, "wbe");
        tap_check(file && fwrite(updated.data, 1, updated.len, file) == updated.len &&
                      fclose(file) == 0,
                  "%s is written", name);
    }
    buf_release(&table);
    buf_release(&updated);
}

static int is_table(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 4 && strcmp(entry->d_name + len - 4, ".txt") == 0;
}

int main(int argc, char **argv)
{
    char directory[PATH_MAX] = "";
    if (argc > 1) {
        snprintf(directory, sizeof(directory), "%s", argv[1]);
    } else { /* build/VARIANT/unit/ of a tree that has tests/ */
        char self[PATH_MAX];
        ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
        if (len > 0) {
            self[len] = '\0';
            snprintf(directory, sizeof(directory), "%.3000s/../../../tests/cases/facts",
                     dirname(self));
        }
    }
    struct dirent **entries;
    int count = scandir(directory, &entries, is_table, alphasort);
    tap_check(count > 0, "there are tables in %s", "tests/cases/facts");
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX + 300];
        snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
        run_table(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return tap_done();
}
