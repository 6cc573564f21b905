/*
 * What the record costs: the same command through the library with and without it, in turns, and
 * one fdatasync of a file beside the ledger. The promise: at most a tenth more, and one sync. Both
 * sides make the fs_hash, which is no part of the ledger; the last row is in a tree of 50,000
 * files, where that is most of the time.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre.h"
#include "timing.h"

enum { ROUNDS = 200, WARM = 10, TREE_DIRECTORIES = 500, TREE_FILES = 100 };

static double run_once(nacre *n, nacre_run_options *o, const char *text, int unrecorded)
{
    nacre_result *r;
    nacre_error error;
    o->unrecorded = unrecorded;
    double start = now_ms();
    if (nacre_run(n, text, strlen(text), o, &r, &error) < 0 ||
        nacre_result_status(r) != NACRE_STATUS_OK) {
        fprintf(stderr, "recording: the command did not run\n");
        exit(1);
    }
    double took = now_ms() - start;
    nacre_result_free(r);
    return took;
}

static void make_tree(const char *dir)
{
    char path[4096];
    if (mkdir(dir, 0700) < 0)
        exit(1);
    for (int i = 0; i < TREE_DIRECTORIES * TREE_FILES; i++) {
        int len = snprintf(path, sizeof(path), "%s/d%d", dir, i / TREE_FILES);
        if (i % TREE_FILES == 0 && mkdir(path, 0700) < 0)
            exit(1);
        snprintf(path + len, sizeof(path) - (size_t)len, "/f%d", i);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, path, (size_t)len) != len)
            exit(1);
        close(fd);
    }
}

static void measure(nacre *n, nacre_run_options *o, const char *text, const char *name, int sync_fd)
{
    static double with[ROUNDS], without[ROUNDS], sync[ROUNDS];
    for (int i = -WARM; i < ROUNDS; i++) {
        double a = run_once(n, o, text, 1), b = run_once(n, o, text, 0), c = sync_once(sync_fd);
        if (i < 0)
            continue;
        without[i] = a;
        with[i] = b;
        sync[i] = c;
    }
    double plain = median(without, ROUNDS), full = median(with, ROUNDS), one = median(sync, ROUNDS);
    printf("%-20s without %7.3f ms   with %7.3f ms   one fdatasync %6.3f ms   %.2f x without "
           "and one sync\n",
           name, plain, full, one, (full - one) / plain);
}

int main(int argc, char **argv)
{
    static const char *const texts[] = {"true", "git --version", "seq 20000"};
    if (argc != 3)
        return 2;
    char path[4096], work[4096], large[4096], state[4096];
    snprintf(path, sizeof(path), "%s/sync", argv[2]);
    snprintf(work, sizeof(work), "%s/work", argv[2]);
    snprintf(large, sizeof(large), "%s/large", argv[2]);
    snprintf(state, sizeof(state), "%s/state", argv[2]);
    if (mkdir(work, 0700) < 0 || mkdir(state, 0700) < 0)
        return 1;
    make_tree(large);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    nacre_options options = NACRE_OPTIONS_INIT;
    options.launcher = argv[1];
    nacre *n;
    if (fd < 0 || nacre_open(&options, &n, NULL) < 0)
        return 1;
    nacre_run_options o = NACRE_RUN_OPTIONS_INIT;
    o.workspace = work;
    o.state_dir = state;
    o.unjudged = 1;
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++)
        measure(n, &o, texts[t], texts[t], fd);
    o.workspace = large;
    measure(n, &o, "true", "true, 50,000 files", fd);
    nacre_close(n);
    close(fd);
    return 0;
}
