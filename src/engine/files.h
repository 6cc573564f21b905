/*
 * Which file is which program: the files that names of a policy's rules mean inside, and what else
 * must be known again under any name. A file is known by its inode, or by its bytes: copying,
 * linking or renaming a program does not make another one of it.
 */
#ifndef NACRE_ENGINE_FILES_H
#define NACRE_ENGINE_FILES_H

#include <pthread.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/sha256.h"
#include "policy/policy.h"

enum files_kind {
    FILES_NAMED,   /* by a rule */
    FILES_SEVERAL, /* one file for many commands, which its name or first argument chooses */
    FILES_LOADER,  /* runs the program that it is given */
};

struct files_entry {
    enum files_kind kind;
    const char *name;
    const char *path; /* on the host, where the inside has the same file */
    bool link;        /* by a symbolic link */
    dev_t dev;
    ino_t ino;
    off_t size;
};

enum { FILES_DIRS_MAX = 64, FILES_LOOKUPS_MAX = 1 << 15 };

/*
 * What is remembered of the last search, by a handle and in the state directory: which names are in
 * which directories. It holds for the same policy and the same directories, if none of them has
 * changed since; a file that was found is looked at again each time.
 */
struct files_known {
    unsigned char key[SHA256_BYTES];            /* of the policy, and the directories' identities */
    unsigned char found[FILES_LOOKUPS_MAX / 8]; /* a bit for each name in each directory */
};
struct files_memory {
    pthread_mutex_t lock;
    bool known;
    struct files_known last;
};

struct files {
    int *dirs; /* of the search path, each once */
    size_t dir_count;
    struct files_entry *entries;
    size_t count, room;
    size_t lookups; /* so far */
    bool known;     /* `found` is what was found before; else what is found now */
    unsigned char *found;
};

/* Everything is in the arena, but for the descriptors. `search_path` is the inside's,
 * `state` a directory or NULL. */
int files_open(struct arena *arena, const struct policy *policy, const char *search_path,
               struct files_memory *memory, const char *state, struct files *ret);
void files_close(struct files *f);

/* The next entry behind `at` that this file is; NULL: no more. `exact`: it is the same inode. */
const struct files_entry *files_match(const struct files *f, int fd, const struct stat *st,
                                      size_t *at, bool *exact);

/* Whether the search path finds this very file by the name; `ret_link`: by a symbolic link. */
bool files_is_found(const struct files *f, const char *name, const struct stat *st, bool *ret_link);

/* Whether a file of this name serves many commands; `ret_argument`: its first argument chooses. */
bool files_is_several(const char *name, bool *ret_argument);

/* Such names; NULL: no more. */
const char *files_several(size_t index);

#endif
