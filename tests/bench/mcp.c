/*
 * What a call of a server costs an agent: a bare `bash -c` and a call of run_command over MCP, or
 * of exec over JSON-RPC, in turns, end to end; then a long session over one process, and what it
 * has grown by.
 *
 *   mcp NACRE DIRECTORY [ROUNDS [CALLS [mcp|rpc]]]
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

enum { ROUNDS_MAX = 5000, WARM_UP = 20, SETTLED = 1000 };

struct server {
    pid_t pid;
    bool rpc;
    int in;
    FILE *out;
    unsigned long calls;
    char *line;
    size_t room;
};

static const char *ask(struct server *s, const char *message, size_t len)
{
    if (write(s->in, message, len) != (ssize_t)len || getline(&s->line, &s->room, s->out) < 0) {
        fprintf(stderr, "mcp: the server is gone\n");
        exit(1);
    }
    return s->line;
}

static double call_once(struct server *s, const char *text)
{
    char message[512];
    int len =
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"%s\",\"params\":{"
                 "%s\"command\":\"%s\"}%s}\n",
                 ++s->calls, s->rpc ? "exec" : "tools/call",
                 s->rpc ? "" : "\"name\":\"run_command\",\"arguments\":{", text, s->rpc ? "" : "}");
    double start = now_ms();
    const char *said = ask(s, message, (size_t)len);
    double took = now_ms() - start;
    if (!strstr(said, "\"status\":\"ok\"")) {
        fprintf(stderr, "mcp: '%s' did not run: %s\n", text, said);
        exit(1);
    }
    return took;
}

static void start(struct server *s, char *nacre, char *workspace)
{
    static const char hello[] =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}"
        "}\n";
    int in[2], out[2];
    char serve[] = "serve", mcp[] = "--mcp", rpc[] = "--rpc", option[] = "--workspace";
    char *argv[] = {nacre, serve, s->rpc ? rpc : mcp, option, workspace, NULL};
    posix_spawn_file_actions_t actions;
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        exit(1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    if (posix_spawn(&s->pid, nacre, &actions, NULL, argv, environ) != 0)
        exit(1);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    s->in = in[1];
    s->out = fdopen(out[0], "r");
    if (!s->rpc)
        ask(s, hello, sizeof(hello) - 1);
}

static int stop(struct server *s)
{
    int status = 0;
    close(s->in);
    waitpid(s->pid, &status, 0);
    fclose(s->out);
    free(s->line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static long resident_kb(pid_t pid)
{
    char path[64], line[256];
    long kb = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    }
    if (f)
        fclose(f);
    return kb;
}

static long descriptors(pid_t pid)
{
    char path[64];
    long count = -2; /* . and .. */
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    static double bare[ROUNDS_MAX], call[ROUNDS_MAX], memory[ROUNDS_MAX];
    static char in_memory[] = ":memory:";
    static const char *const texts[] = {"echo hi", "git --version"};
    struct server s = {0}, m = {0};
    char work[4096], state[4096];
    if (argc < 3)
        return 2;
    int rounds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 200;
    long calls = argc > 4 ? strtol(argv[4], NULL, 10) : 10000;
    s.rpc = m.rpc = argc > 5 && strcmp(argv[5], "rpc") == 0;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        return 2;
    snprintf(work, sizeof(work), "%s/work", argv[2]);
    snprintf(state, sizeof(state), "%s/state", argv[2]);
    if (mkdir(work, 0700) < 0 || setenv("XDG_STATE_HOME", state, 1) < 0)
        return 1;
    start(&s, argv[1], work);
    start(&m, argv[1], in_memory);
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
        for (int i = -WARM_UP; i < rounds; i++) {
            /* A model thinks between two calls. */
            usleep(12000);
            double a = spawn_once(texts[t]);
            usleep(12000);
            double b = call_once(&s, texts[t]);
            usleep(12000);
            double c = call_once(&m, texts[t]);
            if (i >= 0) {
                bare[i] = a;
                call[i] = b;
                memory[i] = c;
            }
        }
        double base = median(bare, rounds), over = median(call, rounds);
        double free_of_disk = median(memory, rounds);
        printf("%-14s bare bash -c %.3f ms; a warm call %.3f ms, %.2f x; with the workspace in "
               "memory %.3f ms, %.2f x\n",
               texts[t], base, over, over / base, free_of_disk, free_of_disk / base);
    }
    if (calls > SETTLED) {
        long kb = 0, fds = 0;
        double begun = now_ms();
        for (long i = 0; i < calls; i++) {
            call_once(&s, "echo hi");
            if (i == SETTLED) {
                kb = resident_kb(s.pid);
                fds = descriptors(s.pid);
            }
        }
        double each = (now_ms() - begun) / (double)calls;
        printf("%ld calls, %.2f ms each: memory %ld kB after %d, %ld kB at the end; descriptors "
               "%ld, %ld\n",
               calls, each, kb, SETTLED, resident_kb(s.pid), fds, descriptors(s.pid));
    }
    return stop(&m) | stop(&s);
}
