/* What the tests of the hash of a directory have in common: a directory to play in, and changes. */
#ifndef NACRE_TESTS_FS_HASH_PLAY_H
#define NACRE_TESTS_FS_HASH_PLAY_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/fs_hash.h"
#include "tap.h"

enum { NEVER = -1, PATH_ROOM = 512, CACHE_ROOM = 1 << 20 };

/* --- a directory to play in ------------------------------------------------------------------ */

static uint64_t random_state = 88172645463325252U;

static inline unsigned pick(unsigned below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % below;
}

static inline void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
}

static inline void remove_all(const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", path, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
}

static inline void put(const char *path, const char *content)
{
    FD_CLEANUP int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    if (fd >= 0)
        fd_write_all(fd, content, strlen(content));
}

static inline int open_with(const struct fs_hash_options *given, const char *dir,
                            struct fs_hash **ret, struct err *e)
{
    FD_CLEANUP int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct fs_hash_options options = *given;
    options.root_fd = fd;
    if (!options.allocator)
        options.allocator = &allocator_libc;
    return fs_hash_open(&options, ret, e);
}

/* The hash by a walk with these options; "" and the message when it fails. */
static inline const char *hash_with(const struct fs_hash_options *options, const char *dir)
{
    static char hex[2][SHA256_HEX + 1];
    static int turn;
    char *ret = hex[turn++ % 2];
    struct fs_hash *f;
    struct err e;
    ret[0] = '\0';
    if (open_with(options, dir, &f, &e) == 0) {
        fs_hash_root(f, ret);
        fs_hash_close(f);
    } else {
        printf("# %s\n", e.message);
    }
    return ret;
}

static inline const char *scratch_hash(const char *dir)
{
    return hash_with(&(struct fs_hash_options){0}, dir);
}

static inline int update_one(struct fs_hash *f, const char *path, struct err *e)
{
    size_t len = strlen(path);
    return fs_hash_update(f, &path, &len, 1, e);
}

static inline bool is_scratch(const struct fs_hash *f, const char *dir)
{
    char hex[SHA256_HEX + 1];
    fs_hash_root(f, hex);
    return strcmp(hex, scratch_hash(dir)) == 0;
}

/* --- updates --------------------------------------------------------------------------------- */

enum { CHANGES_MAX = 8 };

struct changes {
    char paths[2 * CHANGES_MAX][PATH_ROOM];
    size_t count;
};

/* Below d; what changed is told by the path without it. */
__attribute__((format(printf, 2, 3))) static inline const char *changed(struct changes *c,
                                                                        const char *format, ...)
{
    static char full[2][PATH_ROOM + 2];
    static int turn;
    char *ret = full[turn++ % 2];
    va_list args;
    va_start(args, format);
    vsnprintf(c->paths[c->count], PATH_ROOM, format, args);
    va_end(args);
    snprintf(ret, PATH_ROOM + 2, "d/%s", c->paths[c->count++]);
    return ret;
}

static inline const char *random_place(void)
{
    static const char *const places[] = {"",     "x/",   "x/y/", "x/y/z/",
                                         "big/", "big/", "big/", "t/u/"};
    return places[pick(sizeof(places) / sizeof(places[0]))];
}

static inline unsigned random_number(const char *place)
{
    return pick(strcmp(place, "big/") == 0 ? 130 : 6);
}

static inline void change_something(struct changes *c)
{
    const char *place = random_place();
    const char *path = changed(c, "%sn%u", place, random_number(place));
    char content[16];
    snprintf(content, sizeof(content), "%u", pick(10));
    switch (pick(14)) {
    case 0:
        remove_all(path);
        break;
    case 1:
    case 2:
        unlink(path);
        break;
    case 3:
        mkdir(path, 0755);
        break;
    case 4:
        if (symlink(content, path) < 0)
            unlink(path);
        break;
    case 5:
        chmod(path, pick(2) ? 0755 : 0700); /* also of directories, which must stay readable */
        break;
    case 6: {
        const char *other = random_place();
        const char *to = changed(c, "%sn%u", other, random_number(other));
        rename(path, to);
        break;
    }
    case 7:
        path = changed(c, "%s", "x/y");
        rename(path, "d/t/u");
        changed(c, "%s", "t");
        break;
    case 8:
        mkdir("d/x", 0755);
        mkdir("d/x/y", 0755);
        mkdir("d/x/y/z", 0755);
        put("d/x/y/z/n1", content);
        changed(c, "%s", "x/y/z/n1");
        break;
    case 9:
        unlink(path);
        mkfifo(path, 0600);
        break;
    default:
        put(path, content);
    }
}

static inline void make_tree(unsigned files)
{
    mkdir("d", 0755);
    mkdir("d/sub", 0755);
    mkdir("d/sub/deeper", 0755);
    put("d/sub/deeper/a", "a");
    if (symlink("a", "d/sub/deeper/b") < 0)
        printf("# no link\n");
    for (unsigned i = 0; i < files; i++) {
        char path[PATH_ROOM], content[16];
        snprintf(path, sizeof(path), "d/sub/n%u", i);
        snprintf(content, sizeof(content), "%u", i);
        put(path, content);
    }
}

/* Runs the tests of one program in a directory of their own. */
static inline int play(void (*const *tests)(void))
{
    char base[] = "/tmp/nacre-fs-hash.XXXXXX";
    umask(022);
    if (!mkdtemp(base) || chmod(base, 0755) < 0 || chdir(base) < 0)
        return 1;
    int lowest = dup(0);
    close(lowest);
    for (; *tests; tests++)
        (*tests)();
    int after = dup(0);
    tap_number(after, lowest, "no descriptor is left open");
    remove_all(base);
    return tap_done();
}

#endif
