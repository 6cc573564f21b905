/* A ledger in a directory of its own, for the tests of this room. */
#ifndef NACRE_TESTS_LEDGER_PLACE_H
#define NACRE_TESTS_LEDGER_PLACE_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/ledger.h"

static char place_dir[64];

static int place_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

__attribute__((unused)) static void place_remove(void)
{
    if (place_dir[0])
        nftw(place_dir, place_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    place_dir[0] = '\0';
}

/* A new one in each call; the one before is removed. */
__attribute__((unused)) static const char *place_new(void)
{
    place_remove();
    snprintf(place_dir, sizeof(place_dir), "/tmp/nacre-ledger.XXXXXX");
    if (!mkdtemp(place_dir))
        abort();
    return place_dir;
}

__attribute__((unused)) static const char *place_file(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", place_dir, name);
    return path;
}

/* A whole file in memory; its length in `ret_len`. */
__attribute__((unused)) static unsigned char *place_load(const char *path, size_t *ret_len)
{
    FILE *f = fopen(path, "re");
    unsigned char *bytes = calloc(1, 1 << 22);
    if (!f || !bytes)
        abort();
    *ret_len = fread(bytes, 1, 1 << 22, f);
    fclose(f);
    return bytes;
}

__attribute__((unused)) static void place_store(const char *path, const void *bytes, size_t len)
{
    FILE *f = fopen(path, "we");
    if (!f || fwrite(bytes, 1, len, f) != len || fclose(f) != 0)
        abort();
}

/* One byte, in place: the file stays the same file. */
__attribute__((unused)) static void place_poke(const char *path, size_t offset, unsigned char byte)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || pwrite(fd, &byte, 1, (off_t)offset) != 1)
        abort();
    close(fd);
}

__attribute__((unused)) static bool place_good(void)
{
    static struct ledger_report report;
    return ledger_verify(place_dir, NULL, &report, NULL) == 0 && report.good;
}

#endif
