/*
 * What git.c and git_guard.c share: small files of git's, and the syntax of its configuration.
 *
 * Files are read through one descriptor that was found to be regular and small; a FIFO or a huge
 * file in the place of one is as if absent.
 */
#ifndef NACRE_ENGINE_GIT_CONFIG_H
#define NACRE_ENGINE_GIT_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"

enum {
    GIT_CONFIG_BYTES_MAX = 1 << 20,
    GIT_POINTER_BYTES_MAX = PATH_MAX + 64, /* a path, a word before it and a newline */
    GIT_CONFIG_KEY_MAX = 64,
};

/*
 * A small regular file in the arena, with a NUL behind it. NULL when it cannot be had. `ret_st` may
 * be NULL.
 */
char *git_read_file(struct arena *arena, int dir, const char *name, int flags, size_t max,
                    size_t *ret_len, struct stat *ret_st);

/* The same by a canonical path: a link that took the place of a part since is not followed. */
char *git_read_canonical(struct arena *arena, const char *path, size_t max, size_t *ret_len);

struct git_config {
    const char *next, *end;
    char section[GIT_CONFIG_KEY_MAX]; /* in lower case; empty if it is too long */
    bool has_subsection;
    struct buf subsection; /* without its quotes; in lower case for an old [section.subsection] */
    char key[GIT_CONFIG_KEY_MAX];
    struct buf value;
};

void git_config_init(struct git_config *c, struct arena *arena, const char *text, size_t len);
void git_config_release(struct git_config *c);

/*
 * The next variable that has a value: 1, and section, key and value are in `c`. 0 at the end, and
 * at what git would refuse: what stands before that counts.
 */
int git_config_next(struct git_config *c);

/* Whether it is this variable of a section without a subsection, or of one with any. */
bool git_config_is(const struct git_config *c, const char *section, const char *key);
bool git_config_is_of_some(const struct git_config *c, const char *section, const char *key);

/* Whether a configuration, by descriptor, has nothing in it that makes git run a program. */
bool git_config_is_plain(struct arena *arena, int fd);

/* The value as a path: below `base` where it is relative, with ~/ below home, which may be NULL. */
const char *git_config_path(struct arena *arena, const struct git_config *c, const char *base,
                            const char *home);

#endif
