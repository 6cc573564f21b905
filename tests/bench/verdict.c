/*
 * verdict DIR: what a verdict costs, reading included, by the policy of the profile dev with DIR as
 * the workspace. Prints the time for ordinary one-liners and for reading them alone, and how time
 * grows with length: best of several rounds each, since other programs only ever add to it.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/engine.h"

enum { BYTES_MAX = 1 << 30 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* With a decider: the verdict; without: the reading alone. */
static void once(const struct decider *d, const char *text, size_t len)
{
    struct arena arena;
    const struct shell_tree *tree;
    struct shell_error error;
    struct verdict verdict;
    struct err e;
    arena_init(&arena, &allocator_libc, BYTES_MAX);
    int failure = d ? engine_decide(d, &arena, text, len, NULL, &verdict, &tree, &e)
                    : shell_parse(&arena, text, len, &tree, &error);
    if (failure < 0) {
        fprintf(stderr, "verdict: failed\n");
        exit(1);
    }
    arena_release(&arena);
}

static double best(const struct decider *d, const char *text, size_t len, int rounds, int times)
{
    double least = 1e9;
    for (int round = 0; round < rounds; round++) {
        double start = seconds();
        for (int i = 0; i < times; i++)
            once(d, text, len);
        double each = (seconds() - start) / times;
        if (each < least)
            least = each;
    }
    return least;
}

static const char *const lines[] = {
    "git status",
    "ls -la src | head -20",
    "find . -name '*.c' -type f | xargs grep -n \"$TODO\"",
    "cd src && grep -rn 'struct walk' . | sort | uniq -c | sort -rn | head",
    "for f in a.txt b.txt; do wc -l \"$f\"; done",
    "sed -n '1,40p' src/main.c > out.txt 2>&1",
    "awk -F: '{ sum += $3 } END { print sum }' data.txt",
    "timeout 30 npm test -- --watch=false 2>&1 | tail -50",
};

static const char *const growing[] = {
    "ls -l $x;\n",
    "x=1; if test $x; then y=2; else y=3; fi\n",
    "for f in *.c; do cat \"$f\"; done\n",
    "echo \"$(git log)\" > out.txt\n",
};

int main(int argc, char **argv)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    struct arena arena;
    struct workspace workspace;
    static const struct box box;
    const struct policy *policy;
    struct decider d;
    struct err e = {0};
    arena_init(&arena, &allocator_libc, BYTES_MAX);
    if (argc != 2 || workspace_resolve(&arena, argv[1], NULL, NULL, &workspace, &e) < 0 ||
        policy_load(&arena,
                    &(struct policy_request){.profile = "dev",
                                             .workspace = workspace.root,
                                             .system_dir = "/nonexistent"},
                    &policy, &e) < 0 ||
        engine_decider(&arena, policy, NULL, &workspace, "/home/user", &box, &d, &e) < 0) {
        fprintf(stderr, "verdict: %s\n", argc == 2 ? e.message : "which directory?");
        return 1;
    }
    printf("%-72s %10s %10s\n", "one text, µs", "read", "judged");
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        size_t len = strlen(lines[i]);
        printf("%-72s %10.2f %10.2f\n", lines[i], best(NULL, lines[i], len, 20, 500) * 1e6,
               best(&d, lines[i], len, 20, 500) * 1e6);
    }
    printf("\n%-48s%s\n", "many lines of", "time for 10, 100 and 1000 times as many");
    for (size_t i = 0; i < sizeof(growing) / sizeof(*growing); i++) {
        printf("%-48.*s", (int)strlen(growing[i]) - 1, growing[i]);
        double first = 0;
        for (size_t times = 100; times <= 100000; times *= 10) {
            size_t unit = strlen(growing[i]);
            char *text = malloc(unit * times + 1);
            for (size_t k = 0; k < times; k++)
                memcpy(text + k * unit, growing[i], unit);
            double each = best(&d, text, unit * times, 3, 1);
            if (times == 100)
                first = each;
            else
                printf("  ×%-8.1f", each / first);
            free(text);
        }
        putchar('\n');
    }
    arena_release(&arena);
    return 0;
}
