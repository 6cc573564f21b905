/*
 * A directory to try things in: a home, a workspace in it, and short ways to make files. For tests
 * of what the engine knows of the caller's surroundings.
 */
#ifndef NACRE_TESTS_ENGINE_PLACE_H
#define NACRE_TESTS_ENGINE_PLACE_H

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "tap.h"

static char top[128]; /* everything lies below this */
static char home[256];
static char workspace[512];
static struct arena arena;

/* A path below the top, in one of some buffers that take turns. */
__attribute__((format(printf, 1, 2))) static const char *at(const char *format, ...)
{
    static char texts[32][PATH_MAX];
    static size_t turn;
    char *text = texts[turn++ % 32];
    int used = snprintf(text, PATH_MAX, "%s/", top);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, PATH_MAX - (size_t)used, format, args);
    va_end(args);
    return text;
}

static void make_parents(const char *path)
{
    char text[PATH_MAX];
    snprintf(text, sizeof(text), "%s", path);
    for (char *p = text + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(text, 0755);
        *p = '/';
    }
}

static void make_dir(const char *path)
{
    make_parents(path);
    mkdir(path, 0755);
}

static void make_bytes(const char *path, const char *bytes, size_t len)
{
    make_parents(path);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
        printf("# cannot write %s\n", path);
    close(fd);
}

static void make_file(const char *path, const char *text)
{
    make_bytes(path, text, strlen(text));
}

static void make_link(const char *path, const char *target)
{
    make_parents(path);
    unlink(path);
    if (symlink(target, path) < 0)
        printf("# cannot link %s\n", path);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st, (void)type, (void)walk;
    return remove(path);
}

static void remove_all(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool place_open(void)
{
    char name[] = "/tmp/nacre-surroundings.XXXXXX", real[PATH_MAX];
    umask(022);
    if (!mkdtemp(name) || !realpath(name, real) || strlen(real) >= sizeof(top))
        return false;
    memcpy(top, real, strlen(real) + 1);
    snprintf(home, sizeof(home), "%s/home", top);
    snprintf(workspace, sizeof(workspace), "%s/home/project", top);
    make_dir(workspace);
    arena_init(&arena, &allocator_libc, (size_t)256 << 20);
    return true;
}

static void place_close(void)
{
    arena_release(&arena);
    remove_all(top);
}

#endif
