/*
 * shell [FILE]: what reading a text costs. Prints the speed over FILE (or a text of its own), the
 * time for a line of some 50 bytes, and how time grows with length and depth: best of several
 * rounds each, since other programs only ever add to it.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shell/shell.h"

enum { BYTES_MAX = 1 << 30 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void read_once(const char *text, size_t len, bool render)
{
    struct arena arena;
    struct shell_error error;
    const struct shell_tree *tree;
    arena_init(&arena, &allocator_libc, BYTES_MAX);
    if (shell_parse(&arena, text, len, &tree, &error) < 0) {
        fprintf(stderr, "shell: line %u, column %u: %s\n", error.line, error.column, error.message);
        exit(1);
    }
    if (render) {
        struct buf out;
        buf_init(&out, &allocator_libc, BYTES_MAX);
        shell_render(tree, &out);
        buf_release(&out);
    }
    arena_release(&arena);
}

/* Seconds for one reading: the best of `rounds`, each of `times` readings. */
static double best(const char *text, size_t len, bool render, int rounds, int times)
{
    double least = 1e9;
    for (int round = 0; round < rounds; round++) {
        double start = seconds();
        for (int i = 0; i < times; i++)
            read_once(text, len, render);
        double each = (seconds() - start) / times;
        if (each < least)
            least = each;
    }
    return least;
}

static char *repeated(const char *text, size_t times, size_t *ret_len)
{
    size_t len = strlen(text);
    char *all = malloc(len * times + 1);
    for (size_t i = 0; i < times; i++)
        memcpy(all + i * len, text, len);
    all[ *ret_len = len * times] = 0;
    return all;
}

static char *nested(const char *open, const char *middle, const char *close, size_t depth,
                    size_t *ret_len)
{
    size_t from, to;
    char *head = repeated(open, depth, &from), *tail = repeated(close, depth, &to);
    size_t room = from + strlen(middle) + to + 1;
    char *all = malloc(room);
    *ret_len = (size_t)snprintf(all, room, "%s%s%s", head, middle, tail);
    free(head);
    free(tail);
    return all;
}

static void show_growth(const char *name, const char *unit)
{
    printf("%-28s", name);
    double first = 0;
    for (size_t times = 100; times <= 100000; times *= 10) {
        size_t len;
        char *text = repeated(unit, times, &len);
        double each = best(text, len, true, 5, 1);
        if (times == 100)
            first = each;
        printf("  ×%-6zu %8.1f", times / 100, each / first);
        free(text);
    }
    putchar('\n');
}

static void show_depth(const char *name, const char *open, const char *close)
{
    printf("%-28s", name);
    double first = 0;
    for (size_t depth = 6; depth <= 60; depth *= depth == 6 ? 5 : 2) {
        size_t len;
        char *text = nested(open, "a", close, depth, &len);
        double each = best(text, len, true, 20, 100);
        if (depth == 6)
            first = each;
        printf("  ×%-6zu %8.1f", depth / 6, each / first);
        free(text);
    }
    putchar('\n');
}

static char *read_file(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    size_t len = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(len + 1);
    *ret_len = fread(text, 1, len, file);
    text[*ret_len] = 0;
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    /* Memory that was given back stays with the process: its first touch is the kernel's time. */
    mallopt(M_MMAP_THRESHOLD, BYTES_MAX);
    mallopt(M_TRIM_THRESHOLD, BYTES_MAX);
    static const char LINE[] = "find . -name '*.c' -type f | xargs grep -n \"$TODO\"";
    if (argc > 1) {
        size_t len;
        char *text = read_file(argv[1], &len);
        double cold = best(text, len, false, 1, 1);
        double parse = best(text, len, false, 30, 1), both = best(text, len, true, 30, 1);
        printf(
            "%zu bytes of scripts: parsed at %.0f MB/s (%.0f in fresh memory), parsed and rendered "
            "at %.0f MB/s\n",
            len, (double)len / parse / 1e6, (double)len / cold / 1e6, (double)len / both / 1e6);
        free(text);
    }
    printf("a line of %zu bytes: parsed in %.2f µs, parsed and rendered in %.2f µs\n", strlen(LINE),
           best(LINE, strlen(LINE), false, 50, 10000) * 1e6,
           best(LINE, strlen(LINE), true, 50, 10000) * 1e6);
    puts("time to parse and render, as a multiple of the first column's");
    show_growth("longer: words", "word ");
    show_growth("longer: lines", "ls -l \"$x\" | wc\n");
    show_growth("longer: blocks", "{\nif a\nthen b\nfi\n}\n");
    show_growth("longer: substitutions", "echo $(a `b` ${c:-d})\n");
    show_growth("longer: here-documents", "cat <<E\n$x text\nE\n");
    show_growth("longer: one long word", "x'y'\"z\"");
    show_depth("deeper: $( )", "$(", ")");
    show_depth("deeper: ( )", "( ", " )");
    show_depth("deeper: \"$( )\"", "\"$(", ")\"");
    show_depth("deeper: ${ : - }", "${x:-", "}");
    show_depth("deeper: { }", "{ ", "; }");
    return 0;
}
