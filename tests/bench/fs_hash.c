/*
 * fs_hash DIR: what the hash of a directory costs. Makes 50,000 files in DIR, in 500 directories
 * and then all in one, and prints the time from scratch, with a cache, and of updates after known
 * changes, each with its ratio to from scratch: best of several rounds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/fs_hash.h"

enum { FILES = 50000, CHANGES_MAX = 1000, PATH_ROOM = 64, ROUNDS = 5 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void name_file(unsigned number, unsigned in_each, char ret[static PATH_ROOM])
{
    snprintf(ret, PATH_ROOM, "dir%03u/file-%05u.txt", number / in_each, number);
}

static void put(int dir, const char *path, unsigned text)
{
    char content[1024];
    FD_CLEANUP int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    memset(content, 'x', sizeof(content));
    snprintf(content, sizeof(content), "%u", text);
    if (fd < 0 || fd_write_all(fd, content, sizeof(content)) < 0) {
        fprintf(stderr, "fs_hash: cannot write '%s'\n", path);
        exit(1);
    }
}

static struct fs_hash *must_open(int root, const char *cache)
{
    struct fs_hash *f;
    struct err e;
    const struct fs_hash_options options = {
        .root_fd = root, .cache_path = cache, .allocator = &allocator_libc};
    if (fs_hash_open(&options, &f, &e) < 0) {
        fprintf(stderr, "fs_hash: %s\n", e.message);
        exit(1);
    }
    return f;
}

static double best_open(int root, const char *cache)
{
    double least = 1e9;
    for (unsigned i = 0; i < ROUNDS; i++) {
        double start = seconds();
        struct fs_hash *f = must_open(root, cache);
        double time = seconds() - start;
        least = time < least ? time : least;
        fs_hash_close(f);
    }
    return least;
}

/* As a run does it that changes one file: opened, updated, saved. */
static void live(int root, const char *cache, unsigned in_each, double *ret_open, double *ret_save)
{
    *ret_open = *ret_save = 1e9;
    for (unsigned i = 0; i < ROUNDS; i++) {
        char path[PATH_ROOM];
        struct err e;
        double start = seconds();
        struct fs_hash *f = must_open(root, cache);
        double time = seconds() - start;
        if (i > 0) /* after the first change */
            *ret_open = time < *ret_open ? time : *ret_open;
        name_file(i * 7919 % FILES, in_each, path);
        put(root, path, i);
        start = seconds();
        if (fs_hash_update(f, (const char *[]){path}, (size_t[]){strlen(path)}, 1, &e) < 0 ||
            fs_hash_save(f, &e) < 0) {
            fprintf(stderr, "fs_hash: %s\n", e.message);
            exit(1);
        }
        time = seconds() - start;
        *ret_save = time < *ret_save ? time : *ret_save;
        fs_hash_close(f);
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
}

static double best_update(struct fs_hash *f, int root, unsigned in_each, unsigned count)
{
    static char names[CHANGES_MAX][PATH_ROOM];
    const char *paths[CHANGES_MAX];
    size_t lengths[CHANGES_MAX];
    double least = 1e9;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < count; i++) {
            name_file((i * 7919 + round * 31 + count) % FILES, in_each, names[i]);
            paths[i] = names[i];
            lengths[i] = strlen(names[i]);
            put(root, names[i], i + round);
        }
        struct err e;
        double start = seconds();
        if (fs_hash_update(f, paths, lengths, count, &e) < 0) {
            fprintf(stderr, "fs_hash: %s\n", e.message);
            exit(1);
        }
        double time = seconds() - start;
        least = time < least ? time : least;
    }
    return least;
}

static void print(const char *what, double time, double scratch)
{
    printf("  %-36s %10.3f ms   1/%.1f\n", what, time * 1e3, scratch / time);
}

static void measure(const char *dir, const char *name, unsigned in_each)
{
    char path[4096], cache[4096];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    snprintf(cache, sizeof(cache), "%s/%s.cache", dir, name);
    mkdir(path, 0755);
    FD_CLEANUP int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned i = 0; i < FILES; i++) {
        char file[PATH_ROOM], below[PATH_ROOM];
        name_file(i, in_each, file);
        snprintf(below, sizeof(below), "%.6s", file);
        if (i % in_each == 0)
            mkdirat(root, below, 0755);
        put(root, file, i);
    }
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    printf("%d files of 1 kB, %u in each directory\n", FILES, in_each);
    double scratch = best_open(root, NULL);
    print("from scratch", scratch, scratch);
    fs_hash_close(must_open(root, cache));
    print("with a cache, nothing changed", best_open(root, cache), scratch);
    double open_time, save_time;
    live(root, cache, in_each, &open_time, &save_time);
    print("with a cache, 1 file changed", open_time, scratch);
    print("update after that, and the cache", save_time, scratch);
    struct fs_hash *f = must_open(root, cache);
    static const unsigned counts[] = {1, 10, 100, 1000};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char what[64];
        snprintf(what, sizeof(what), "update after %u known changes", counts[i]);
        print(what, best_update(f, root, in_each, counts[i]), scratch);
    }
    char updated[SHA256_HEX + 1], again[SHA256_HEX + 1];
    fs_hash_root(f, updated);
    fs_hash_close(f);
    f = must_open(root, NULL);
    fs_hash_root(f, again);
    fs_hash_close(f);
    if (strcmp(updated, again) != 0) {
        fprintf(stderr, "fs_hash: the update is wrong\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "fs_hash: which directory?\n");
        return 1;
    }
    measure(argv[1], "many", 100);
    measure(argv[1], "one", FILES);
    return 0;
}
