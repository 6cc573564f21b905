/* The cache as a file: whole, ours and with its checksum, or none; see fs_hash_cache.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/fs_hash_cache.h"
#include "ledger/crc32c.h"

/* Some ten million entries. */
#define CACHE_BYTES_MAX ((size_t)1 << 30)

/* Against damage alone: who may write the file may also write any sum. */
enum { CHECKSUM_BYTES = sizeof(uint32_t) };

static int read_bytes(int fd, char *bytes, size_t len)
{
    while (len) {
        ssize_t n = read(fd, bytes, len);
        if (n == 0)
            return -EBADMSG;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

int cache_load(struct cache *c, const struct allocator *allocator, const char *path)
{
    struct stat st;
    FD_CLEANUP int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    /* Who can write it can say what the hash is. */
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH) ||
        st.st_size < CHECKSUM_BYTES || (uint64_t)st.st_size > CACHE_BYTES_MAX)
        return -EBADMSG;
    size_t size = (size_t)st.st_size, len = size - CHECKSUM_BYTES;
    char *bytes = alloc_resize(allocator, NULL, size);
    if (!bytes)
        return -ENOMEM;
    /* Not mapped: a file that somebody cuts short would end the host. */
    int r = read_bytes(fd, bytes, size);
    if (r == 0) {
        uint32_t sum = crc32c(0, bytes, len);
        r = memcmp(bytes + len, &sum, CHECKSUM_BYTES) ? -EBADMSG : cache_read(c, bytes, len);
    }
    if (r < 0)
        alloc_free(allocator, bytes);
    return r;
}

void cache_release(struct cache *c, const struct allocator *allocator)
{
    alloc_free(allocator, c->bytes);
    *c = (struct cache){0};
}

/*
 * Takes the old one's place at once. They change places, for a file system that replaces a file by
 * a new one may first write that to the disk; after a power cut that tore it there is no cache.
 */
static int take_place(const char *name, const char *path)
{
    if (renameat2(AT_FDCWD, name, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
        return unlink(name) < 0 ? -errno : 0;
    return rename(name, path) < 0 ? -errno : 0;
}

static int replace_file(const struct allocator *allocator, const char *path, const char *bytes,
                        size_t len, struct err *e)
{
    struct buf name;
    buf_init(&name, allocator, strlen(path) + sizeof(".XXXXXX") + 1);
    buf_append_format(&name, "%s.XXXXXX", path);
    int r = name.failed;
    if (r == 0) {
        FD_CLEANUP int fd = mkostemp(name.data, O_CLOEXEC); /* 0600 */
        r = fd < 0 ? -errno : fd_write_all(fd, bytes, len);
        if (r == 0)
            r = take_place(name.data, path);
        if (r < 0 && fd >= 0)
            unlink(name.data);
    }
    buf_release(&name);
    return r < 0 ? err_errno(e, r, "cannot write the cache '%s'", path) : 0;
}

int cache_save(const struct tree *t, const unsigned char root[SHA256_BYTES],
               const unsigned char asked[SHA256_BYTES], const char *path, struct err *e)
{
    struct buf out;
    uint32_t sum = 0;
    buf_init(&out, t->allocator, CACHE_BYTES_MAX);
    cache_encode(t, root, asked, &out);
    if (!out.failed)
        sum = crc32c(0, out.data, out.len);
    buf_append(&out, &sum, CHECKSUM_BYTES);
    int r = out.failed ? err_errno(e, out.failed, "cannot write the cache '%s'", path)
                       : replace_file(t->allocator, path, out.data, out.len, e);
    buf_release(&out);
    return r;
}
