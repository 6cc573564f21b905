/*
 * What is remembered between two lives of a handle: identities and hashes, in a file.
 *
 *   header    "nacre fs cache 1", and a number that shows the byte order
 *   parts     for each directory, the root first and then in the order in which they come, the
 *             number of its records and the records, each followed by its name
 *   checksum  SHA-256 of all this
 *
 * Only what may be believed is written. Files are read by the user and the machine that wrote them,
 * so numbers are in the machine's own order; everything else is refused, and then there is no
 * cache.
 */
#ifndef NACRE_CHANGES_FS_HASH_CACHE_H
#define NACRE_CHANGES_FS_HASH_CACHE_H

#include "base/buf.h"
#include "changes/fs_hash_tree.h"

/* Reads a file into an empty tree; -ENOMEM and -EBADMSG leave one that can only be released. */
int cache_load(struct tree *t, const char *path);
int cache_save(const struct tree *t, const char *path, struct err *e);

/* The file's bytes but for the checksum, which cache_load and cache_save care for. */
int cache_decode(struct tree *t, const char *bytes, size_t len);
int cache_encode(const struct tree *t, struct buf *out);

#endif
