/*
 * The second way, where no overlay can be had: the run works on a copy of the root, and what
 * differs afterwards is what it did. The promises are the same; the cost is that of the root's
 * size, or of its number of files where the file system shares blocks.
 */
#ifndef NACRE_CHANGES_COPY_H
#define NACRE_CHANGES_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* Copies what is below `root` into the empty directory `into`, but for `except`, a path below it or
 * NULL. -EFBIG: there is too much of it. */
int copy_tree(int root, int into, const char *except, struct err *e);

/*
 * Whether a root has files whose owner or group has no name inside: an overlay cannot copy them up.
 * `uid` and `gid` are those that have. 1, 0, or a negative errno.
 */
int copy_is_needed(int root, uint32_t uid, uint32_t gid);

#endif
