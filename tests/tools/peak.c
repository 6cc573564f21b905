/*
 * peak FILE COMMAND…: runs the command, writes the peak of its own resident memory in KB to FILE,
 * and ends as it did.
 *
 * The peak is VmHWM of that one process, not ru_maxrss, which counts the children that it waited
 * for too. It is looked at until the end, so only the growth of the last milliseconds is missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long read_peak(pid_t pid)
{
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "re");
    long peak = -1;
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "VmHWM: %ld", &peak) == 1)
            break;
    }
    if (f)
        fclose(f);
    return peak;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: peak FILE COMMAND...\n");
        return 2;
    }
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    if (pid < 0) {
        perror("fork");
        return 2;
    }
    long peak = -1;
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        long now = read_peak(pid);
        if (now > peak)
            peak = now;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    FILE *f = fopen(argv[1], "we");
    if (!f || fprintf(f, "%ld\n", peak) < 0 || fclose(f) != 0) {
        perror(argv[1]);
        return 2;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
