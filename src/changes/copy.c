/* See copy.h. */
#include "changes/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/attributes.h"
#include "changes/beneath.h"
#include "changes/listing.h"

enum { CHUNK = 1 << 20, FILES_MAX = 1000000, LISTING_BYTES_MAX = 1 << 30 };
#define BYTES_MAX (UINT64_C(8) << 30)

/* A file with several names, by the first of them that was copied. */
struct name {
    uint64_t device, inode;
    const char *path;
};

struct copier {
    struct arena arena;
    int from, into;
    const char *except;
    uint64_t files, bytes; /* copied, not shared */
    struct name *names;    /* open addressing */
    size_t name_count, name_room;
    struct err *e;
};

static int fail(const struct copier *c, int code, const char *path)
{
    return err_errno(c->e, code, "cannot copy '%s'", path);
}

/* --- names ----------------------------------------------------------------------------------- */

static struct name *find_name(const struct copier *c, uint64_t device, uint64_t inode)
{
    size_t at = (size_t)((inode * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
    while (c->names[at % c->name_room].path && (c->names[at % c->name_room].inode != inode ||
                                                c->names[at % c->name_room].device != device))
        at++;
    return &c->names[at % c->name_room];
}

/* The first name of a file that was copied before; NULL: this is the first, and is remembered. */
static const char *known_name(struct copier *c, const struct stat *st, const char *path)
{
    if (c->name_count * 2 >= c->name_room) {
        struct copier old = *c;
        c->name_room = old.name_room ? old.name_room * 2 : 256;
        c->names = arena_alloc_array(&c->arena, c->name_room, sizeof(*c->names));
        if (!c->names)
            return NULL;
        for (size_t i = 0; i < old.name_room; i++) {
            if (old.names[i].path)
                *find_name(c, old.names[i].device, old.names[i].inode) = old.names[i];
        }
    }
    struct name *name = find_name(c, st->st_dev, st->st_ino);
    if (name->path)
        return name->path;
    *name = (struct name){st->st_dev, st->st_ino, path};
    c->name_count++;
    return NULL;
}

/* --- one object ------------------------------------------------------------------------------ */

/* Holes stay holes. */
static int copy_bytes(struct copier *c, int from, int to, off_t size)
{
    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    char *bytes = NULL;
    int r = ftruncate(to, size) < 0 ? -errno : 0;
    for (off_t at = 0; r == 0 && at < size;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break;
        at = data < 0 ? at : data;
        off_t hole = data < 0 ? size : lseek(from, at, SEEK_HOLE);
        for (hole = hole < 0 ? size : hole; r == 0 && at < hole;) {
            if (!bytes && !(bytes = malloc(CHUNK))) {
                r = -ENOMEM;
                break;
            }
            ssize_t n = pread(from, bytes, hole - at < CHUNK ? (size_t)(hole - at) : CHUNK, at);
            if (n == 0)
                break;
            if (n < 0 || pwrite(to, bytes, (size_t)n, at) != n) {
                r = n < 0 || errno ? -errno : -ENOSPC;
                break;
            }
            at += n;
            c->bytes += (uint64_t)n;
            if (c->bytes > BYTES_MAX)
                r = -EFBIG;
        }
        if (at < hole)
            break; /* it was cut meanwhile */
    }
    free(bytes);
    return r;
}

/* Owner (for root), mode, attributes and times: in the end everything is as it was. */
static int finish(struct copier *c, int from_dir, int into_dir, const char *name,
                  const struct stat *st)
{
    char path[ATTRIBUTES_PATH];
    const char *bytes;
    size_t len;
    if (geteuid() == 0 && fchownat(into_dir, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    attributes_path(from_dir, name, path);
    int r = attributes_read(&c->arena, path, &bytes, &len);
    attributes_path(into_dir, name, path);
    if (r == 0 && len)
        r = attributes_write(path, bytes, len);
    if (r == -ENOTSUP || r == -EPERM)
        r = 0; /* not there either */
    mode_t mode = st->st_mode & 07777;
    /* What is another's, and not ours to write, does not become so by being copied. */
    if (st->st_uid != geteuid() && geteuid() != 0 &&
        faccessat(from_dir, name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0)
        mode &= ~(mode_t)0222;
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    if (r == 0 && !S_ISLNK(st->st_mode) && fchmodat(into_dir, name, mode, 0) < 0)
        r = -errno;
    if (r == 0 && utimensat(into_dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
        r = -errno;
    return r;
}

static int copy_file(struct copier *c, int from_dir, int into_dir, const char *name,
                     const struct stat *st)
{
    FD_CLEANUP int to =
        openat(into_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0)
        return -errno;
    FD_CLEANUP int from = beneath_open_file(from_dir, name);
    /* What we may not read, nobody like us reads inside: it is there, and empty. */
    if (from == -EACCES)
        return 0;
    return from < 0 ? from : copy_bytes(c, from, to, st->st_size);
}

static int copy_link(int from_dir, int into_dir, const char *name)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(from_dir, name, target, sizeof(target) - 1);
    if (n < 0)
        return -errno;
    target[n] = '\0';
    return symlinkat(target, into_dir, name) < 0 ? -errno : 0;
}

/* --- a directory ----------------------------------------------------------------------------- */

static int copy_entry(struct copier *c, int from_dir, int into_dir, const struct listed *item,
                      const char *path)
{
    const struct stat *st = &item->st;
    if (++c->files > FILES_MAX)
        return -EFBIG;
    const char *other = !S_ISDIR(st->st_mode) && st->st_nlink > 1 ? known_name(c, st, path) : NULL;
    if (other)
        return linkat(c->into, other, into_dir, item->name, 0) < 0 ? -errno : 0;
    int r = 0;
    if (S_ISDIR(st->st_mode))
        return mkdirat(into_dir, item->name, 0700) < 0 ? -errno : 0;
    if (S_ISREG(st->st_mode))
        r = copy_file(c, from_dir, into_dir, item->name, st);
    else if (S_ISLNK(st->st_mode))
        r = copy_link(from_dir, into_dir, item->name);
    else if (S_ISFIFO(st->st_mode))
        r = mkfifoat(into_dir, item->name, 0600) < 0 ? -errno : 0;
    else
        return 0; /* sockets and devices of the host's are none of the inside's */
    return r < 0 ? r : finish(c, from_dir, into_dir, item->name, st);
}

static int copy_directory(struct copier *c, const char *path)
{
    struct listing listing;
    int r = listing_read(&c->arena, c->from, path, &listing);
    if (r == -EACCES)
        return 0;
    if (r == 0) {
        FD_CLEANUP int from_dir = beneath_open(c->from, path, O_PATH | O_DIRECTORY);
        FD_CLEANUP int into_dir = beneath_open(c->into, path, O_PATH | O_DIRECTORY);
        if (from_dir < 0 || into_dir < 0)
            return fail(c, from_dir < 0 ? from_dir : into_dir, path);
        for (size_t i = 0; i < listing.count; i++) {
            const char *below = listing_join(&c->arena, path, listing.items[i].name);
            if (!below)
                return fail(c, -ENOMEM, path);
            if (c->except && strcmp(below, c->except) == 0) {
                listing.items[i].st.st_mode = 0; /* passed over below, too */
                continue;
            }
            r = copy_entry(c, from_dir, into_dir, &listing.items[i], below);
            if (r < 0)
                return fail(c, r, below);
        }
    }
    /* Nothing is open while it goes deeper; the times of a directory are set behind what is in it.
     */
    for (size_t i = 0; r == 0 && i < listing.count; i++) {
        if (!S_ISDIR(listing.items[i].st.st_mode))
            continue;
        const char *below = listing_join(&c->arena, path, listing.items[i].name);
        r = below ? copy_directory(c, below) : -ENOMEM;
        if (r < 0)
            break;
        FD_CLEANUP int from_dir = beneath_open(c->from, path, O_PATH | O_DIRECTORY);
        FD_CLEANUP int into_dir = beneath_open(c->into, path, O_PATH | O_DIRECTORY);
        r = from_dir < 0 || into_dir < 0
                ? -EIO
                : finish(c, from_dir, into_dir, listing.items[i].name, &listing.items[i].st);
        if (r < 0)
            return fail(c, r, below);
    }
    return r;
}

int copy_tree(int root, int into, const char *except, struct err *e)
{
    struct copier c = {.from = root, .into = into, .except = except, .e = e};
    arena_init(&c.arena, &allocator_libc, LISTING_BYTES_MAX);
    int r = copy_directory(&c, ".");
    arena_release(&c.arena);
    return r;
}

/* --- whether it is needed -------------------------------------------------------------------- */

static int has_foreign(struct arena *arena, int root, const char *path, uint32_t uid, uint32_t gid)
{
    struct listing listing;
    int r = listing_read(arena, root, path, &listing);
    if (r == -EACCES || r == -ENOENT)
        return 0;
    for (size_t i = 0; r == 0 && i < listing.count; i++) {
        const struct stat *st = &listing.items[i].st;
        if (st->st_uid != uid || st->st_gid != gid)
            return 1;
    }
    for (size_t i = 0; r == 0 && i < listing.count; i++) {
        if (!S_ISDIR(listing.items[i].st.st_mode))
            continue;
        const char *below = listing_join(arena, path, listing.items[i].name);
        r = below ? has_foreign(arena, root, below, uid, gid) : -ENOMEM;
    }
    return r;
}

int copy_is_needed(int root, uint32_t uid, uint32_t gid)
{
    struct stat st;
    struct arena arena;
    if (fstat(root, &st) < 0)
        return -errno;
    if (st.st_uid != uid || st.st_gid != gid)
        return 1;
    arena_init(&arena, &allocator_libc, LISTING_BYTES_MAX);
    int r = has_foreign(&arena, root, ".", uid, gid);
    arena_release(&arena);
    return r;
}
