/* What the files of this room share that deal with files; see approve.h. */
#ifndef NACRE_APPROVE_FOLDER_H
#define NACRE_APPROVE_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"

/*
 * A file of that name, whole: for its owner alone, who is the directory's, regular, at most so
 * long, never through a link. `ret_stat` may be NULL. 0 or a negative errno.
 */
int folder_read(int dir, const char *name, size_t max, struct buf *out, struct stat *ret_stat);

/*
 * Writes one, which is there whole or not at all. -EEXIST unless it may `replace` another.
 * `ret_lock` may be NULL; else it has the file, locked before anybody could see it.
 */
int folder_write(int dir, const char *name, const char *bytes, size_t len, bool replace,
                 int *ret_lock);

#endif
