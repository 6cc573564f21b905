/* What benchmarks share that are C programs: a clock, a median, a bare command, one sync. */
#ifndef NACRE_BENCH_TIMING_H
#define NACRE_BENCH_TIMING_H

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static inline int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof(*times), compare);
    return times[count / 2];
}

/* A bare command with its output read, as a caller without a sandbox has it. */
static inline double spawn_once(const char *text)
{
    char buffer[4096];
    int out[2];
    double start = now_ms();
    if (pipe2(out, O_CLOEXEC) < 0)
        exit(1);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    char bash[] = "bash", c[] = "-c";
    char *argv[] = {bash, c, (char *)text, NULL};
    pid_t pid;
    if (posix_spawn(&pid, "/bin/bash", &actions, NULL, argv, environ) != 0)
        exit(1);
    close(out[1]);
    while (read(out[0], buffer, sizeof(buffer)) > 0)
        ;
    close(out[0]);
    waitpid(pid, NULL, 0);
    posix_spawn_file_actions_destroy(&actions);
    return now_ms() - start;
}

static inline double sync_once(int fd)
{
    double start = now_ms();
    if (write(fd, "a record of about the same size as an entry of the ledger\n", 58) != 58 ||
        fdatasync(fd) < 0)
        exit(1);
    return now_ms() - start;
}

#endif
