/*
 * The work room: jobs. A job is a directory of its own for one task of an agent's.
 *
 * In:    a root directory and a job's name.
 * Out:   ROOT/job_UUID, made, found, listed and removed.
 * Never: follows a link below the root, or takes a name that is not one.
 *
 * W1  The root belongs to the caller or to root, and others cannot write to it.
 * W2  A job's directory is the caller's, made with mode 0700, and lies directly in the root.
 * W3  What is removed is renamed first, so that nobody finds half of it by its name.
 */
#ifndef NACRE_WORK_WORK_H
#define NACRE_WORK_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/uuid.h"

#define WORK_PREFIX "job_"
enum { WORK_ID = sizeof(WORK_PREFIX) - 1 + UUID_TEXT };

/* Whether it is job_ and a UUID, in small letters. */
bool work_is_id(const char *id);

/*
 * Where jobs lie. `root` is the policy's: NULL, absolute, below ~, or relative to `workspace`, in
 * which no link is followed. NULL: $XDG_DATA_HOME/nacre/jobs, else ~/.local/share/nacre/jobs.
 * `data` and `home` are these two variables; each may be NULL.
 */
struct work_root {
    int dir;          /* -1: it is not there, and was not to be made */
    const char *path; /* canonical where it is there */
};
int work_open(struct arena *arena, const char *root, const char *workspace, const char *data,
              const char *home, bool make, struct work_root *ret, struct err *e);
void work_close(struct work_root *root);

int work_new(const struct work_root *root, char ret_id[WORK_ID + 1], struct err *e);

/*
 * The job whose id is `word`, or begins with it (job_ may be left out; four digits at the least),
 * and the path of its directory. -ENOENT, -EINVAL or -EPERM with the reason.
 */
int work_find(struct arena *arena, const struct work_root *root, const char *word,
              char ret_id[WORK_ID + 1], const char **ret_path, struct err *e);

struct work_listed {
    char id[WORK_ID + 1];
    const char *path;
    int64_t made_ms; /* when its directory was last changed */
};
/* By their times, the oldest first. */
int work_list(struct arena *arena, const struct work_root *root, struct work_listed **ret,
              size_t *ret_count, struct err *e);

/* The directory and all that is in it. */
int work_remove(const struct work_root *root, const char *id, struct err *e);

#endif
