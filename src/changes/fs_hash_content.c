/* Files as trees of chunks; see fs_hash_content.h. */
#include "changes/fs_hash_content.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/fs_hash.h"
#include "changes/fs_hash_object.h"

static int read_all(int fd, unsigned char *to, size_t len, uint64_t offset)
{
    while (len) {
        ssize_t n = pread(fd, to, len, (off_t)offset);
        if (n == 0)
            return -EAGAIN;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            to += n;
            len -= (size_t)n;
            offset += (uint64_t)n;
        }
    }
    return 0;
}

static void hash_node(unsigned level, const unsigned char (*children)[SHA256_BYTES], size_t count,
                      unsigned char ret_hash[SHA256_BYTES])
{
    unsigned char number = (unsigned char)level;
    struct sha256 s;
    object_start(&s, OBJECT_NODE);
    sha256_add(&s, &number, 1);
    sha256_add(&s, children, count * SHA256_BYTES);
    sha256_end(&s, ret_hash);
}

/* A parent takes its children as soon as it has all of them, or at the end. */
static void close_node(struct content *c, unsigned level)
{
    hash_node(level + 1, (const unsigned char(*)[SHA256_BYTES])c->nodes[level], c->count[level],
              c->nodes[level + 1][c->count[level + 1]]);
    c->count[level] = 0;
    c->count[level + 1]++;
}

static void add_node(struct content *c, unsigned level, const unsigned char hash[SHA256_BYTES])
{
    memcpy(c->nodes[level][c->count[level]++], hash, SHA256_BYTES);
    for (; c->count[level] == CONTENT_FANOUT && level + 1 < CONTENT_LEVELS; level++)
        close_node(c, level);
}

static const unsigned char *zero_hash(struct content *c, unsigned level)
{
    for (; c->zeros_known <= level; c->zeros_known++) {
        unsigned next = c->zeros_known;
        if (next == 0) {
            memset(c->chunk, 0, sizeof(c->chunk));
            object_hash(OBJECT_CHUNK, c->chunk, sizeof(c->chunk), c->zeros[0]);
        } else {
            unsigned char same[CONTENT_FANOUT][SHA256_BYTES];
            for (size_t i = 0; i < CONTENT_FANOUT; i++)
                memcpy(same[i], c->zeros[next - 1], SHA256_BYTES);
            hash_node(next, (const unsigned char(*)[SHA256_BYTES])same, CONTENT_FANOUT,
                      c->zeros[next]);
        }
    }
    return c->zeros[level];
}

/* `count` chunks of zeros from chunk `index` on, in the largest subtrees that lie among them. */
static void add_zeros(struct content *c, uint64_t index, uint64_t count)
{
    for (uint64_t end = index + count; index < end;) {
        unsigned level = 0;
        uint64_t span = 1;
        for (uint64_t next = CONTENT_FANOUT;
             level + 1 < CONTENT_LEVELS && (index & (next - 1)) == 0 && end - index >= next;
             next <<= CONTENT_FANOUT_BITS) {
            level++;
            span = next;
        }
        add_node(c, level, zero_hash(c, level));
        index += span;
    }
}

/* Where data, or a hole, begins at or behind `offset`. A file system that cannot tell has no holes.
 */
static uint64_t seek(int fd, uint64_t offset, int what, uint64_t size)
{
    off_t found = lseek(fd, (off_t)offset, what);
    if (found >= 0)
        return (uint64_t)found < size ? (uint64_t)found : size;
    return what == SEEK_DATA && errno != ENXIO ? offset : size;
}

static int add_chunks(struct content *c, int fd, uint64_t size)
{
    uint64_t offset = 0;
    while (offset < size) {
        uint64_t zeros = (seek(fd, offset, SEEK_DATA, size) - offset) / CONTENT_CHUNK;
        add_zeros(c, offset / CONTENT_CHUNK, zeros);
        offset += zeros * CONTENT_CHUNK;
        /* At least one chunk: what is left of the hole is less than that. */
        uint64_t hole = offset < size ? seek(fd, offset, SEEK_HOLE, size) : size;
        do {
            uint64_t left = size - offset;
            size_t len = left < CONTENT_CHUNK ? (size_t)left : CONTENT_CHUNK;
            if (len == 0)
                break;
            int r = read_all(fd, c->chunk, len, offset);
            if (r < 0)
                return r;
            unsigned char hash[SHA256_BYTES];
            object_hash(OBJECT_CHUNK, c->chunk, len, hash);
            add_node(c, 0, hash);
            offset += len;
        } while (offset < hole);
    }
    return 0;
}

static int hash_large(struct content *c, int fd, uint64_t size,
                      unsigned char ret_hash[SHA256_BYTES])
{
    memset(c->count, 0, sizeof(c->count));
    int r = add_chunks(c, fd, size);
    if (r < 0)
        return r;
    unsigned top = 0;
    for (uint64_t chunks = (size - 1) / CONTENT_CHUNK + 1, reach = 1; reach < chunks; top++)
        reach *= CONTENT_FANOUT;
    for (unsigned level = 0; level < top; level++) {
        if (c->count[level])
            close_node(c, level);
    }
    unsigned char message[8 + SHA256_BYTES];
    object_put_number(message, 8, size);
    memcpy(message + 8, c->nodes[top][0], SHA256_BYTES);
    object_hash(OBJECT_LARGE, message, sizeof(message), ret_hash);
    return 0;
}

/* The first `size` bytes. -EAGAIN: there are fewer. */
static int hash_bytes(struct content *c, int fd, uint64_t size,
                      unsigned char ret_hash[SHA256_BYTES])
{
    if (size > CONTENT_CHUNK)
        return hash_large(c, fd, size, ret_hash);
    int r = read_all(fd, c->chunk, (size_t)size, 0);
    if (r == 0)
        object_hash(OBJECT_FILE, c->chunk, (size_t)size, ret_hash);
    return r;
}

int content_hash_file(struct content *c, int fd, struct identity *ret_identity,
                      unsigned char ret_hash[SHA256_BYTES])
{
    struct stat before, after;
    unsigned char hash[SHA256_BYTES];
    if (fstat(fd, &before) < 0)
        return -errno;
    if (!S_ISREG(before.st_mode))
        return -EINVAL;
    int r = hash_bytes(c, fd, (uint64_t)before.st_size, hash);
    if (r < 0)
        return r;
    if (fstat(fd, &after) < 0)
        return -errno;
    struct identity first = identity_of(&before), last = identity_of(&after);
    if (!identity_is_same(&first, &last))
        return -EAGAIN;
    *ret_identity = last;
    memcpy(ret_hash, hash, SHA256_BYTES);
    return 0;
}

int fs_hash_file(int fd, unsigned char ret_hash[SHA256_BYTES], struct err *e)
{
    struct content c;
    struct identity identity;
    c.zeros_known = 0;
    int r = -EAGAIN;
    for (unsigned tries = 0; r == -EAGAIN && tries < IDENTITY_TRIES; tries++) {
        identity_pause(tries);
        r = content_hash_file(&c, fd, &identity, ret_hash);
    }
    if (r == -EAGAIN)
        return err_set(e, -EBUSY, "the file changes while it is read");
    if (r == -EINVAL)
        return err_set(e, -EINVAL, "not a regular file");
    return r < 0 ? err_errno(e, r, "cannot read the file") : 0;
}
