/*
 * The content of files. One chunk is one message; a larger file is a tree of chunks, so that a hole
 * costs what its place in the tree costs, and not what its length would.
 */
#ifndef NACRE_CHANGES_FS_HASH_CONTENT_H
#define NACRE_CHANGES_FS_HASH_CONTENT_H

#include <stdint.h>

#include "base/sha256.h"
#include "changes/fs_hash_identity.h"

enum {
    CONTENT_CHUNK = 1 << 16,
    CONTENT_FANOUT_BITS = 6,
    CONTENT_FANOUT = 1 << CONTENT_FANOUT_BITS,
    CONTENT_LEVELS = 9, /* 64^8 chunks are more than a file can have */
};

/* Room to work in. Zeroed once before the first use. */
struct content {
    unsigned char chunk[CONTENT_CHUNK];
    unsigned char nodes[CONTENT_LEVELS][CONTENT_FANOUT][SHA256_BYTES]; /* not yet below a parent */
    unsigned count[CONTENT_LEVELS];
    unsigned char zeros[CONTENT_LEVELS][SHA256_BYTES]; /* whole subtrees of zeros, as needed */
    unsigned zeros_known;
};

/* A file, and as what it was read. -EINVAL: not a regular one. -EAGAIN: it changed meanwhile. */
int content_hash_file(struct content *c, int fd, struct identity *ret_identity,
                      unsigned char ret_hash[SHA256_BYTES]);

#endif
