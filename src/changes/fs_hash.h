/*
 * Changes: what a directory holds, as one hash, and what became different.
 *
 * In: a directory by its descriptor. Out: the fs_hash, a SHA-256 over types, modes, names, contents
 * and link targets; docs/fs-hash.md has the format. Times, owners and inode numbers are no part of
 * it. The room never follows a link, never opens what is neither file nor directory, and never
 * guesses: what cannot be read is an error, or a marker if the caller asks for it.
 *
 * The life of a handle: fs_hash_open walks the directory, with a cache from an earlier time reading
 * only what changed since; fs_hash_update takes in changes that are known, at their own cost alone;
 * fs_hash_root tells the hash; fs_hash_close ends it. A handle is for one thread at a time.
 *
 * Invariants:
 *   H1  After a success the hash is that of a new walk without a cache, whatever happened before.
 *   H2  A cache that is damaged, of another version or of another owner counts as none.
 *   H3  A stored hash is believed only for the same device, inode, size, mode and times, and only
 *       if these times were past when the content was read, so that a later write shows in them.
 *       The same is true of a directory and its names.
 *   H4  No depth of the tree uses up the stack, and no number of entries the descriptors.
 */
#ifndef NACRE_CHANGES_FS_HASH_H
#define NACRE_CHANGES_FS_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/sha256.h"

struct fs_hash;

/* Deeper directories are an error: their paths would be longer than PATH_MAX. */
enum { FS_HASH_DEPTH_MAX = 2048 };

struct fs_hash_options {
    int root_fd;            /* the directory, O_PATH is enough; not kept after the call's end */
    const char *cache_path; /* NULL: none */
    const char *const
        *exclude;         /* relative paths that count as absent, ends with NULL; may be NULL */
    bool mark_unreadable; /* what we may not read counts as a marker and is no error */
    const struct allocator *allocator;
};

/* Also the bytes of the format. */
enum fs_hash_type {
    FS_HASH_FILE = 'f',
    FS_HASH_DIRECTORY = 'd',
    FS_HASH_LINK = 'l',
    FS_HASH_FIFO = 'p',
    FS_HASH_SOCKET = 's',
    FS_HASH_CHARACTER = 'c',
    FS_HASH_BLOCK = 'b',
};

struct fs_hash_entry {
    enum fs_hash_type type;
    unsigned mode;                    /* 07777; 0 for links */
    uint64_t size_bytes;              /* of files */
    bool unread;                      /* a marker stands for the content */
    unsigned char hash[SHA256_BYTES]; /* of the content: name and mode are no part of it */
};

struct fs_hash_sums {
    uint64_t files; /* regular ones, by their names */
    uint64_t bytes; /* in these */
};

/*
 * Walks the directory. A cache at `cache_path` is used, and replaced if it could know more; that it
 * cannot be written is no failure. -EBUSY: something changed each time it was looked at.
 * -EACCES: unreadable. -ENAMETOOLONG: too deep. -EINVAL: an excluded path that can be none.
 */
int fs_hash_open(const struct fs_hash_options *options, struct fs_hash **ret, struct err *e);
void fs_hash_close(struct fs_hash *f);

/*
 * Takes in that something happened at these paths: relative, raw bytes, without empty parts, `.`
 * and `..`; an empty path is the whole directory. What is there now may be new, different, gone or
 * of another type. A directory stands for everything below it, which is looked at (files whose
 * identity is the same are not read). Paths that are excluded are passed over.
 *
 * After a failure fs_hash_root still tells the hash of before, and the next call walks everything.
 * -EINVAL for a path that can be none, and then nothing was done.
 */
int fs_hash_update(struct fs_hash *f, const char *const *paths, const size_t *lengths, size_t count,
                   struct err *e);

/* Lower-case hexadecimal. */
void fs_hash_root(const struct fs_hash *f, char ret_hex[SHA256_HEX + 1]);
void fs_hash_sum(const struct fs_hash *f, struct fs_hash_sums *ret);

/* -ENOENT: there is none (or it is excluded). -ESTALE: the last update failed. -ENOMEM. */
int fs_hash_find(struct fs_hash *f, const char *path, size_t len, struct fs_hash_entry *ret);

/* Writes the cache now, at the path that was given, if it could know more than it does. -EINVAL
 * without a path, -ESTALE as above. */
int fs_hash_save(struct fs_hash *f, struct err *e);

/*
 * One file's content, the same hash as that of its entry in a directory. Moves the descriptor's
 * offset. -EINVAL: not a regular file. -EBUSY: it changed while it was read.
 */
int fs_hash_file(int fd, unsigned char ret_hash[SHA256_BYTES], struct err *e);

#endif
