/*
 * Whether all is as the cache knows it, without a tree: for each directory its own identity and
 * those of its files. Nothing is listed or read. A name that came or went shows in the times of its
 * directory, which are believed as those of files are (H3), and only on file systems of which it is
 * known that they stamp directories.
 */
#ifndef NACRE_CHANGES_FS_HASH_CHECK_H
#define NACRE_CHANGES_FS_HASH_CHECK_H

#include "changes/fs_hash_cache.h"

/*
 * For each part of the cache, whether the directory holds what it held, those below it not counted.
 * What cannot be looked at is not the same. 1: all are; 0: not all; -ENOMEM. The caller frees.
 */
int check_parts(const struct cache *c, const struct allocator *allocator, int root_fd,
                unsigned char **ret_same);

/* Whether a directory's times tell when its names changed. Some file systems make up such times. */
bool check_is_stamped(int fd);

#endif
