/* Objects by the hash of their content; see object.h. */
#include "history/object.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fd.h"
#include "base/uuid.h"

enum {
    FAN = 2,   /* digits of a name that are its directory */
    LEVEL = 1, /* a caller waits: of ordinary output more makes hardly anything smaller */
    NAME_SIZE = SHA256_HEX + 8, /* ab/cdef….zst and a NUL */
    UNFINISHED_S = 3600,        /* who writes longer than this is dead */
};
#define SUFFIX     ".zst"
#define UNFINISHED ".new-"

static bool is_name(const char *name)
{
    return strlen(name) == SHA256_HEX && strspn(name, "0123456789abcdef") == SHA256_HEX;
}

static void make_path(const char *name, char ret[NAME_SIZE])
{
    snprintf(ret, NAME_SIZE, "%.*s/%s" SUFFIX, FAN, name, name + FAN);
}

static void name_content(const void *bytes, size_t len, char ret_name[SHA256_HEX + 1])
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    sha256_start(&hash);
    sha256_add(&hash, bytes, len);
    sha256_end(&hash, digest);
    sha256_hex(digest, ret_name);
}

static int open_directory(const char *dir, bool make, int *ret, struct err *e)
{
    if (make && mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_errno(e, -errno, "cannot make '%s'", dir);
    *ret = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret >= 0)
        return 0;
    return errno == ENOENT ? -ENOENT : err_errno(e, -errno, "cannot open '%s'", dir);
}

/* --- reading --------------------------------------------------------------------------------- */

static int read_file(int dir, const char *path, struct buf *out)
{
    FD_CLEANUP int fd =
        openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return errno == ELOOP ? -EBADMSG : -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > ZSTD_compressBound(OBJECT_BYTES_MAX))
        return -EBADMSG;
    int r = buf_reserve(out, (size_t)st.st_size);
    ssize_t n = 1;
    while (r == 0 && out->len < (size_t)st.st_size) {
        n = read(fd, out->data + out->len, (size_t)st.st_size - out->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EBADMSG;
        out->len += (size_t)n;
    }
    return r;
}

/* One frame that says how large its content is, and nothing behind it. */
static int expand(const struct buf *file, struct buf *out)
{
    unsigned long long size = ZSTD_getFrameContentSize(file->data, file->len);
    size_t frame = ZSTD_findFrameCompressedSize(file->data, file->len);
    if (size > OBJECT_BYTES_MAX || ZSTD_isError(frame) || frame != file->len)
        return -EBADMSG;
    int r = buf_reserve(out, (size_t)size);
    if (r < 0)
        return r;
    if (size) {
        size_t len = ZSTD_decompress(out->data, (size_t)size, file->data, file->len);
        if (ZSTD_isError(len) || len != size)
            return -EBADMSG;
        out->len = len;
        out->data[len] = '\0';
    }
    return 0;
}

static int get(int dir, const char *name, struct buf *out)
{
    char path[NAME_SIZE], is[SHA256_HEX + 1];
    struct buf file;
    make_path(name, path);
    buf_clear(out);
    buf_init(&file, &allocator_libc, ZSTD_COMPRESSBOUND(OBJECT_BYTES_MAX));
    int r = read_file(dir, path, &file);
    if (r == 0)
        r = expand(&file, out);
    buf_release(&file);
    if (r == 0) {
        name_content(out->data, out->len, is);
        r = strcmp(is, name) == 0 ? 0 : -EBADMSG;
    }
    if (r < 0)
        buf_clear(out);
    return r;
}

int object_get(const char *dir, const char *name, struct buf *out, struct err *e)
{
    FD_CLEANUP int fd = -1;
    if (!is_name(name))
        return err_set(e, -EBADMSG, "'%s' is no object's name", name);
    int r = open_directory(dir, false, &fd, e);
    if (r < 0 && r != -ENOENT)
        return r;
    if (r == 0)
        r = get(fd, name, out);
    if (r == -ENOENT)
        return err_set(e, r, "object %s is not kept any more", name);
    if (r == -EBADMSG)
        return err_set(e, r, "object %s is damaged", name);
    return r < 0 ? err_errno(e, r, "cannot read object %s", name) : 0;
}

/* --- writing --------------------------------------------------------------------------------- */

static int write_file(int dir, const char *name, const void *bytes, size_t len)
{
    char path[NAME_SIZE], fan[FAN + 1] = {name[0], name[1]};
    char temporary[sizeof(UNFINISHED) + UUID_TEXT + 1] = UNFINISHED;
    int r = uuid_new(temporary + strlen(UNFINISHED));
    if (r < 0)
        return r;
    if (mkdirat(dir, fan, 0700) < 0 && errno != EEXIST)
        return -errno;
    FD_CLEANUP int fd =
        openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    make_path(name, path);
    r = fd_write_all(fd, bytes, len);
    if (r == 0 && renameat(dir, temporary, dir, path) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(dir, temporary, 0);
    return r;
}

static int compress(const void *bytes, size_t len, struct buf *out)
{
    int r = buf_reserve(out, ZSTD_compressBound(len));
    if (r < 0)
        return r;
    size_t n = ZSTD_compress(out->data, ZSTD_compressBound(len), bytes, len, LEVEL);
    if (ZSTD_isError(n))
        return -ENOMEM;
    out->len = n;
    return 0;
}

/*
 * Whether it is there and whole. One that a crash left torn is written again. What is used again
 * counts as new, so that it is not among the first to be dropped.
 */
static bool is_there(int dir, const char *name)
{
    char path[NAME_SIZE];
    struct buf content;
    make_path(name, path);
    if (utimensat(dir, path, NULL, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    buf_init(&content, &allocator_libc, OBJECT_BYTES_MAX);
    int r = get(dir, name, &content);
    buf_release(&content);
    return r == 0;
}

int object_put(const char *dir, const void *bytes, size_t len, char ret_name[SHA256_HEX + 1],
               struct err *e)
{
    FD_CLEANUP int fd = -1;
    char name[SHA256_HEX + 1];
    if (len > OBJECT_BYTES_MAX)
        return err_set(e, -E2BIG, "an object of %zu bytes is too large", len);
    int r = open_directory(dir, true, &fd, e);
    if (r < 0)
        return r == -ENOENT ? err_errno(e, r, "cannot open '%s'", dir) : r;
    name_content(bytes, len, name);
    if (!is_there(fd, name)) {
        struct buf file;
        buf_init(&file, &allocator_libc, ZSTD_COMPRESSBOUND(OBJECT_BYTES_MAX));
        r = compress(bytes, len, &file);
        if (r == 0)
            r = write_file(fd, name, file.data, file.len);
        buf_release(&file);
    }
    if (r < 0)
        return err_errno(e, r, "cannot write an object to '%s'", dir);
    memcpy(ret_name, name, sizeof(name));
    return 0;
}

/* --- dropping -------------------------------------------------------------------------------- */

struct kept {
    char path[NAME_SIZE];
    uint64_t bytes;
    struct timespec time;
};

struct kept_list {
    struct kept *items;
    size_t count, room;
    uint64_t bytes;
};

static int keep(struct kept_list *list, const char *fan, const char *name, const struct stat *st)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 256;
        struct kept *items = alloc_resize(&allocator_libc, list->items, room * sizeof(*items));
        if (!items)
            return -ENOMEM;
        list->items = items;
        list->room = room;
    }
    struct kept *item = &list->items[list->count++];
    snprintf(item->path, sizeof(item->path), "%.*s/%.*s", FAN, fan,
             (int)(SHA256_HEX - FAN + strlen(SUFFIX)), name);
    item->bytes = (uint64_t)st->st_size;
    item->time = st->st_mtim;
    list->bytes += item->bytes;
    return 0;
}

static bool is_file_name(const char *name)
{
    const size_t digits = SHA256_HEX - FAN;
    return strspn(name, "0123456789abcdef") == digits && strcmp(name + digits, SUFFIX) == 0;
}

static void close_listing(DIR **listing)
{
    if (*listing)
        closedir(*listing);
}

static int list_fan(int dir, const char *fan, struct kept_list *list)
{
    FD_CLEANUP int fd = openat(dir, fan, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    __attribute__((cleanup(close_listing))) DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (!listing)
        return errno == ENOENT ? 0 : -errno;
    fd_steal(&fd);
    int r = 0;
    for (const struct dirent *item; r == 0 && (item = readdir(listing));) {
        struct stat st;
        if (is_file_name(item->d_name) &&
            fstatat(dirfd(listing), item->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            r = keep(list, fan, item->d_name, &st);
    }
    return r;
}

/* What a writer that was killed has left. */
static void drop_unfinished(int dir, const char *name)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        st.st_mtim.tv_sec + UNFINISHED_S < time(NULL))
        unlinkat(dir, name, 0);
}

static int list_all(int dir, struct kept_list *list)
{
    FD_CLEANUP int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    __attribute__((cleanup(close_listing))) DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (!listing)
        return -errno;
    fd_steal(&fd);
    int r = 0;
    for (const struct dirent *item; r == 0 && (item = readdir(listing));) {
        if (strncmp(item->d_name, UNFINISHED, strlen(UNFINISHED)) == 0)
            drop_unfinished(dir, item->d_name);
        else if (strlen(item->d_name) == FAN && strspn(item->d_name, "0123456789abcdef") == FAN)
            r = list_fan(dir, item->d_name, list);
    }
    return r;
}

static int compare_age(const void *a, const void *b)
{
    const struct kept *left = a, *right = b;
    if (left->time.tv_sec != right->time.tv_sec)
        return left->time.tv_sec < right->time.tv_sec ? -1 : 1;
    if (left->time.tv_nsec != right->time.tv_nsec)
        return left->time.tv_nsec < right->time.tv_nsec ? -1 : 1;
    return strcmp(left->path, right->path);
}

int object_retain(const char *dir, uint64_t max_bytes, uint64_t *ret_dropped, struct err *e)
{
    FD_CLEANUP int fd = -1;
    struct kept_list list = {0};
    uint64_t dropped = 0;
    int r = open_directory(dir, false, &fd, e);
    if (r < 0 && r != -ENOENT)
        return r;
    if (r == 0)
        r = list_all(fd, &list);
    else
        r = 0; /* none were ever written */
    if (r == 0 && list.bytes > max_bytes) {
        qsort(list.items, list.count, sizeof(*list.items), compare_age);
        for (size_t i = 0; r == 0 && i < list.count && list.bytes > max_bytes; i++) {
            if (unlinkat(fd, list.items[i].path, 0) < 0 && errno != ENOENT)
                r = -errno;
            list.bytes -= list.items[i].bytes;
            dropped += r == 0;
        }
    }
    alloc_free(&allocator_libc, list.items);
    if (r < 0)
        return err_errno(e, r, "cannot drop objects of '%s'", dir);
    if (ret_dropped)
        *ret_dropped = dropped;
    return 0;
}
