/*
 * What is remembered between two lives of a handle: identities and hashes, in a file.
 *
 *   header    "nacre fs cache 2", a number that shows the byte order, the hash of the whole and of
 *             what was asked for
 *   records   of one directory after the other, the root first and then in the order in which they
 *             come; within one the directories first; each is followed by its name and a NUL, and
 *             zeros up to a multiple of eight
 *   parts     a table with one row for each directory, in the same order
 *   checksum  CRC-32C of all this
 *
 * Only what may be believed is written; a directory says whether that is all of it. Since
 * directories stand in the order of their depth, those that are right below a directory have
 * numbers without a gap, and so have all that are N levels below it.
 *
 * The bytes are used where they lie: to see whether all is as it was no tree is needed, and of a
 * tree only the directories that something happened to. Files are read by the user and the machine
 * that wrote them, so numbers are in the machine's own order; everything else is refused, and then
 * there is no cache.
 */
#ifndef NACRE_CHANGES_FS_HASH_CACHE_H
#define NACRE_CHANGES_FS_HASH_CACHE_H

#include "base/buf.h"
#include "changes/fs_hash_tree.h"

enum cache_flag {
    CACHE_SETTLED = 1 << 0, /* the directory's own identity may be believed */
    CACHE_WHOLE = 1 << 1,   /* all its entries are here */
};

/* No gaps here and below, so that no byte is left to chance. */
struct cache_part {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
    uint32_t mode;
    uint16_t flags;
    uint16_t depth;
    unsigned char hash[SHA256_BYTES];
    uint64_t at;        /* of its records */
    uint64_t others_at; /* of the first that is no directory */
    uint64_t name_at;   /* of its own record, among those of the directory above; 0: the root */
    uint64_t bytes;     /* in its files */
    uint32_t files;
    uint32_t directories, others; /* records */
    uint32_t first, parent;       /* numbers of parts: the first one below, the one above */
    uint32_t zero;
};

struct cache_record {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
    uint32_t mode;
    uint16_t name_len;
    uint8_t type;
    uint8_t zero;
    unsigned char hash[SHA256_BYTES];
    char name[];
};

struct cache {
    char *bytes; /* NULL: there is none */
    size_t len;
    const struct cache_part *parts;
    uint32_t part_count;
    const unsigned char *root;  /* the fs_hash */
    const unsigned char *asked; /* what decides the hash besides the directory */
};

/* The file; -ENOMEM, or that there is no good one. */
int cache_load(struct cache *c, const struct allocator *allocator, const char *path);
void cache_release(struct cache *c, const struct allocator *allocator);
int cache_save(const struct tree *t, const unsigned char root[SHA256_BYTES],
               const unsigned char asked[SHA256_BYTES], const char *path, struct err *e);

/* The file's bytes but for the checksum, which cache_load and cache_save care for. Takes `bytes`,
 * which are aligned as memory from an allocator, only on success. */
int cache_read(struct cache *c, char *bytes, size_t len);
int cache_encode(const struct tree *t, const unsigned char root[SHA256_BYTES],
                 const unsigned char asked[SHA256_BYTES], struct buf *out);

static inline const struct cache_record *cache_record(const struct cache *c, uint64_t at)
{
    return (const void *)(c->bytes + at);
}

/* Where the next one is. */
uint64_t cache_next(const struct cache *c, uint64_t at);

struct identity cache_part_identity(const struct cache_part *part);
struct identity cache_record_identity(const struct cache_record *record);

/* The files in a directory and everything below it. */
struct fs_hash_sums cache_sum(const struct cache *c, uint32_t part);

#endif
