/*
 * The objects that are hashed. Each message starts with the same words, which name the format and
 * its version, and one byte that says what it is, so no object can be taken for another.
 */
#ifndef NACRE_CHANGES_FS_HASH_OBJECT_H
#define NACRE_CHANGES_FS_HASH_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"

/* Links, FIFOs, sockets and devices have the byte of their type (enum fs_hash_type). */
enum object_tag {
    OBJECT_FILE = 'f',  /* content of at most one chunk */
    OBJECT_LARGE = 'F', /* size and the root of a tree of chunks */
    OBJECT_CHUNK = 'k',
    OBJECT_NODE = 'n',  /* of chunks */
    OBJECT_SHELF = 'd', /* a directory, or a part of a large one: entries */
    OBJECT_SPLIT = 'D', /* the same, as sixteen parts */
    OBJECT_NAME = 'N',  /* which part of a large directory a name belongs to */
    OBJECT_LINK = 'l',
    OBJECT_FIFO = 'p',
    OBJECT_SOCKET = 's',
    OBJECT_CHARACTER = 'c',
    OBJECT_BLOCK = 'b',
    OBJECT_UNREADABLE = 'u',
    OBJECT_KERNEL = 'K', /* a directory of /proc, /sys and the like */
    OBJECT_ROOT = 'r',
};

void object_start(struct sha256 *s, enum object_tag tag);
void object_hash(enum object_tag tag, const void *bytes, size_t len,
                 unsigned char ret_hash[SHA256_BYTES]);

/* Numbers are big-endian. */
void object_put_number(unsigned char *to, size_t len, uint64_t value);

#endif
