/* The cache as a file: whole, ours and with its checksum, or none; see fs_hash_cache.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/fs_hash_cache.h"

/* Some ten million entries. */
#define CACHE_BYTES_MAX ((size_t)1 << 30)

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

static void hash_bytes(const char *bytes, size_t len, unsigned char ret_hash[SHA256_BYTES])
{
    struct sha256 s;
    sha256_start(&s);
    sha256_add(&s, bytes, len);
    sha256_end(&s, ret_hash);
}

int cache_load(struct tree *t, const char *path)
{
    struct stat st;
    FD_CLEANUP int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    /* Who can write it can say what the hash is. */
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH) ||
        st.st_size < SHA256_BYTES || (uint64_t)st.st_size > CACHE_BYTES_MAX)
        return -EBADMSG;
    size_t size = (size_t)st.st_size, len = size - SHA256_BYTES;
    char *bytes = alloc_resize(t->allocator, NULL, size);
    if (!bytes)
        return -ENOMEM;
    unsigned char hash[SHA256_BYTES];
    int r = read_bytes(fd, bytes, size);
    if (r == 0) {
        hash_bytes(bytes, len, hash);
        r = memcmp(bytes + len, hash, SHA256_BYTES) ? -EBADMSG : cache_decode(t, bytes, len);
    }
    alloc_free(t->allocator, bytes);
    return r;
}

/* A new file that takes the place of the old one at once. */
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
        if (r == 0 && rename(name.data, path) < 0)
            r = -errno;
        if (r < 0 && fd >= 0)
            unlink(name.data);
    }
    buf_release(&name);
    return r < 0 ? err_errno(e, r, "cannot write the cache '%s'", path) : 0;
}

int cache_save(const struct tree *t, const char *path, struct err *e)
{
    struct buf out;
    unsigned char hash[SHA256_BYTES] = {0};
    buf_init(&out, t->allocator, CACHE_BYTES_MAX);
    cache_encode(t, &out);
    if (!out.failed)
        hash_bytes(out.data, out.len, hash);
    buf_append(&out, hash, sizeof(hash));
    int r = out.failed ? err_errno(e, out.failed, "cannot write the cache '%s'", path)
                       : replace_file(t->allocator, path, out.data, out.len, e);
    buf_release(&out);
    return r;
}
