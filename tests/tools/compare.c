/*
 * Times commands against each other, interleaved so that a noisy machine is noisy for all of them.
 *
 *     compare ROUNDS -- NAME COMMAND… -- NAME COMMAND… …
 *
 * Prints each one's median and its ratio to the first. Output of the commands is thrown away; a
 * command that fails ends the comparison: a fast failure is no result. Descriptor 9, if it is a
 * file, is read from its start by each.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CONTESTANTS_MAX = 16 };

struct contestant {
    const char *name;
    char **argv;
    double *ms;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double time_one(const struct contestant *c)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    lseek(9, 0, SEEK_SET);
    double start = now_ms();
    pid_t pid;
    int status = -1, r = posix_spawnp(&pid, c->argv[0], &actions, NULL, c->argv, environ);
    if (r == 0)
        waitpid(pid, &status, 0);
    double end = now_ms();
    posix_spawn_file_actions_destroy(&actions);
    if (r != 0 || status != 0) {
        fprintf(stderr, "compare: %s failed (%s, status %d)\n", c->name, strerror(r), status);
        exit(1);
    }
    return end - start;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct contestant contestants[CONTESTANTS_MAX];
    int count = 0, rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    for (int i = 2; i + 2 < argc && count < CONTESTANTS_MAX; i++) {
        if (strcmp(argv[i], "--") != 0)
            continue;
        argv[i] = NULL;
        contestants[count].name = argv[i + 1];
        contestants[count].argv = argv + i + 2;
        contestants[count++].ms = calloc((size_t)(rounds > 0 ? rounds : 1), sizeof(double));
    }
    if (rounds <= 0 || count == 0) {
        fprintf(stderr, "usage: compare ROUNDS -- NAME COMMAND... [-- NAME COMMAND...]...\n");
        return 2;
    }
    for (int c = 0; c < count; c++)
        time_one(&contestants[c]);
    for (int round = 0; round < rounds; round++) {
        for (int c = 0; c < count; c++)
            contestants[c].ms[round] = time_one(&contestants[c]);
    }
    for (int c = 0; c < count; c++)
        qsort(contestants[c].ms, (size_t)rounds, sizeof(double), by_size);
    double base = contestants[0].ms[rounds / 2];
    for (int c = 0; c < count; c++)
        printf("%-28s %8.3f ms  %6.2f x\n", contestants[c].name, contestants[c].ms[rounds / 2],
               contestants[c].ms[rounds / 2] / base);
    return 0;
}
