/*
 * What it costs to start a program: `exec [ROUNDS]` starts /bin/true so often, one after the other,
 * and prints the median of the microseconds from the start to the end of each. Run outside and
 * inside, it tells what the sandbox adds, where every program is seen before it begins.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    double *times = rounds > 0 ? calloc((size_t)rounds, sizeof(*times)) : NULL;
    char name[] = "true", *words[] = {name, NULL};
    if (!times)
        return 1;
    for (long i = 0; i < rounds; i++) {
        struct timespec from, to;
        pid_t pid;
        clock_gettime(CLOCK_MONOTONIC, &from);
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ) != 0 ||
            waitpid(pid, NULL, 0) != pid)
            return 1;
        clock_gettime(CLOCK_MONOTONIC, &to);
        times[i] =
            (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3;
    }
    qsort(times, (size_t)rounds, sizeof(*times), by_size);
    printf("%.0f\n", times[rounds / 2]);
    free(times);
    return 0;
}
