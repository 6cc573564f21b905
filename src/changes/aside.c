/*
 * Removing directories takes longer than making them, and longer than many commands run. So what a
 * run is done with is moved aside, and removed while the next one waits for its command. A layer
 * that nobody wrote to is not even removed: emptied of what the overlay left, it is the next run's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/beneath.h"
#include "changes/store.h"

#define ASIDE "aside"
#define SPARE "spare"

int store_put_aside(const struct store *s, int dir, const char *name, const char *as)
{
    char place[NAME_MAX + 1];
    snprintf(place, sizeof(place), ASIDE "/%s", as);
    if (!s->temporary) {
        if (renameat(dir, name, s->dir, place) == 0)
            return 0;
        if (errno == ENOENT && mkdirat(s->dir, ASIDE, 0700) == 0 &&
            renameat(dir, name, s->dir, place) == 0)
            return 0;
    }
    return beneath_remove(dir, name);
}

/* Of everything in a directory; deeper than anything of ours is, it is not looked. */
static uint64_t bytes_in(int dir, unsigned levels)
{
    struct names names;
    struct stat st;
    uint64_t bytes = 0;
    if (names_open(&names, dir) < 0)
        return 0;
    for (const char *name; (name = names_next(&names));) {
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISREG(st.st_mode))
            bytes += (uint64_t)st.st_size;
        FD_CLEANUP int below =
            S_ISDIR(st.st_mode) && levels
                ? openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                : -1;
        if (below >= 0)
            bytes += bytes_in(below, levels - 1);
    }
    names_close(&names);
    return bytes;
}

uint64_t store_aside_bytes(const struct store *s)
{
    enum { LEVELS = 8 };
    FD_CLEANUP int aside = openat(s->dir, ASIDE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return aside < 0 ? 0 : bytes_in(aside, LEVELS);
}

bool store_take_spare(const struct store *s, const char *name)
{
    return !s->temporary && renameat(s->dir, SPARE, s->dir, name) == 0;
}

static bool is_empty(int dir)
{
    struct names names;
    bool empty = names_open(&names, dir) == 0 && !names_next(&names);
    names_close(&names);
    return empty;
}

/* Whether it has attributes, but for those that security modules give to everything, and the number
 * that the overlay gives to an upper directory when it is mounted. */
static bool is_marked(int dir)
{
    char list[1024];
    ssize_t len = flistxattr(dir, list, sizeof(list));
    for (ssize_t at = 0; at < len; at += (ssize_t)strlen(list + at) + 1) {
        if (strncmp(list + at, "security.", 9) != 0 && strcmp(list + at, "user.overlay.uuid") != 0)
            return true;
    }
    return len < 0 && errno != ENOTSUP;
}

/* Flags of a directory (chattr): what is made in it later would have them, too. */
static bool has_flags_of(int dir, int other)
{
    int a = 0, b = 0; /* where the file system has none, neither has any */
    bool known = ioctl(dir, FS_IOC_GETFLAGS, &a) == 0;
    return known == (ioctl(other, FS_IOC_GETFLAGS, &b) == 0) && a == b;
}

/* A run's directory with nothing but one layer, in which nothing was ever written or marked. */
static bool is_unused(int run)
{
    struct names names;
    size_t count = 0;
    FD_CLEANUP int upper = beneath_open(run, "layer0/upper", O_RDONLY | O_DIRECTORY);
    if (upper < 0 || !is_empty(upper) || names_open(&names, run) < 0)
        return false;
    while (names_next(&names))
        count++;
    names_close(&names);
    return count == 1 && !is_marked(upper) && has_flags_of(upper, run);
}

/*
 * Where the overlay worked, as it was before. Now and then it is made anew: a new directory lies
 * elsewhere on the disk (store_spread), which takes a while to be decided.
 */
static bool clear_work(int layer, const char *run)
{
    bool anew = run[0] == '0'; /* of a random name */
    FD_CLEANUP int work = anew ? -1 : beneath_open(layer, "work", O_RDONLY | O_DIRECTORY);
    if (work >= 0)
        return beneath_remove(work, "work") == 0 && is_empty(work);
    return beneath_remove(layer, "work") == 0 && mkdirat(layer, "work", 0700) == 0;
}

static bool become_spare(const struct store *s, int aside, const char *name)
{
    FD_CLEANUP int run = beneath_open(aside, name, O_RDONLY | O_DIRECTORY);
    /* Whose it was may still hold it, and the next could not. */
    if (run < 0 || flock(run, LOCK_EX | LOCK_NB) < 0 ||
        faccessat(s->dir, SPARE, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || !is_unused(run))
        return false;
    FD_CLEANUP int layer = beneath_open(run, "layer0", O_RDONLY | O_DIRECTORY);
    bool made = layer >= 0 && clear_work(layer, name);
    fd_close(&run);
    return made && renameat2(aside, name, s->dir, SPARE, RENAME_NOREPLACE) == 0;
}

/* Layers that were made ahead by somebody who is not there any more. */
static void tidy_ahead(const struct store *s)
{
    struct names names;
    FD_CLEANUP int ahead =
        openat(s->dir, STORE_AHEAD, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (ahead < 0 || names_open(&names, ahead) < 0)
        return;
    for (const char *name; (name = names_next(&names));) {
        FD_CLEANUP int dir = beneath_open(ahead, name, O_RDONLY | O_DIRECTORY);
        if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0)
            store_put_aside(s, ahead, name, name);
    }
    names_close(&names);
}

void store_tidy(const struct store *s)
{
    FD_CLEANUP int aside =
        s->temporary || s->dir < 0
            ? -1
            : openat(s->dir, ASIDE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct names names;
    /* Somebody else may be at it. */
    if (aside < 0 || flock(aside, LOCK_EX | LOCK_NB) < 0 || names_open(&names, aside) < 0)
        return;
    tidy_ahead(s);
    for (const char *name; (name = names_next(&names));) {
        if (!become_spare(s, aside, name))
            beneath_remove(aside, name);
    }
    names_close(&names);
}
