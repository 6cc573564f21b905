/* Tiles; see tiles.h. */
#include "ledger/tiles.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/iterate.h"

/* --- files ----------------------------------------------------------------------------------- */

void tile_name(int level, uint64_t number, unsigned width, char ret[TILE_NAME_MAX])
{
    char path[48];
    size_t at = 0;
    uint64_t scale = 1;
    while (number / scale >= 1000)
        scale *= 1000;
    for (; scale > 1; scale /= 1000)
        at += (size_t)snprintf(path + at, sizeof(path) - at, "x%03u/",
                               (unsigned)(number / scale % 1000));
    snprintf(path + at, sizeof(path) - at, "%03u", (unsigned)(number % 1000));
    int len = level == TILE_ENTRIES ? snprintf(ret, TILE_NAME_MAX, "tile/entries/%s", path)
                                    : snprintf(ret, TILE_NAME_MAX, "tile/%d/%s", level, path);
    if (width != TILE_WIDTH)
        snprintf(ret + len, (size_t)(TILE_NAME_MAX - len), ".p/%u", width);
}

int tile_read(int dir, unsigned level, uint64_t number, struct merkle_hash ret[TILE_WIDTH])
{
    char name[TILE_NAME_MAX];
    tile_name((int)level, number, TILE_WIDTH, name);
    FD_CLEANUP int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct merkle_hash hashes[TILE_WIDTH + 1];
    ssize_t n = read(fd, hashes, sizeof(hashes));
    if (n != TILE_BYTES)
        return n < 0 ? -errno : -EBADMSG;
    memcpy(ret, hashes, TILE_BYTES);
    return 0;
}

int tile_write(int dir, const char *name, const void *bytes, size_t len)
{
    char path[TILE_NAME_MAX + 8];
    int fd = -1, r = 0;
    for (int again = 0; again < 2; again++) {
        snprintf(path, sizeof(path), "%s.new", name);
        fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != ENOENT)
            break;
        for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
            *slash = '\0';
            if (mkdirat(dir, path, 0700) < 0 && errno != EEXIST)
                return -errno;
            *slash = '/';
        }
    }
    if (fd < 0)
        return -errno;
    r = fd_write_all(fd, bytes, len);
    close(fd);
    if (r == 0 && renameat(dir, path, dir, name) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(dir, path, 0);
    return r;
}

/* --- tiles that have become full ------------------------------------------------------------- */

/* Whole tiles of higher levels, when the last of their 256 lower ones is there. */
static int write_above(int dir, uint64_t number)
{
    for (unsigned level = 1; level < TILE_LEVELS && (number + 1) % TILE_WIDTH == 0; level++) {
        struct merkle_hash hashes[TILE_WIDTH], lower[TILE_WIDTH];
        char name[TILE_NAME_MAX];
        for (uint64_t i = 0; i < TILE_WIDTH; i++) {
            int r = tile_read(dir, level - 1, number + 1 - TILE_WIDTH + i, lower);
            if (r < 0)
                return r;
            merkle_fold(lower, TILE_WIDTH, &hashes[i]);
        }
        number /= TILE_WIDTH;
        tile_name((int)level, number, TILE_WIDTH, name);
        int r = tile_write(dir, name, hashes, TILE_BYTES);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Writes whole tiles from number `next` up to `durable` records; the offsets file grows with them.
 */
static int write_full(struct ledger *l, int offsets, uint64_t next, uint64_t durable, struct err *e)
{
    struct ledger_iterator *i = NULL;
    struct merkle_hash hashes[TILE_WIDTH];
    int r = ledger_iterate(l, next * TILE_WIDTH, &i, e);
    if (r < 0)
        return r;
    for (; (next + 1) * TILE_WIDTH <= durable && r == 0; next++) {
        unsigned char entry[OFFSETS_ENTRY];
        char name[TILE_NAME_MAX];
        for (unsigned k = 0; k < TILE_WIDTH && r == 0; k++) {
            struct ledger_record record = {0};
            r = ledger_iterator_next(i, &record, e);
            if (r < 1) {
                r = r < 0 ? r : err_set(e, -EAGAIN, "records are missing for a tile");
                break;
            }
            r = 0;
            merkle_leaf(record.bytes, record.len, &hashes[k]);
            if (k == 0)
                offsets_encode(i->segment.first, i->record_offset, entry);
        }
        if (r < 0)
            break;
        tile_name(0, next, TILE_WIDTH, name);
        r = tile_write(l->dir, name, hashes, TILE_BYTES);
        if (r == 0)
            r = write_above(l->dir, next);
        if (r == 0 &&
            pwrite(offsets, entry, sizeof(entry), (off_t)(next * OFFSETS_ENTRY)) != sizeof(entry))
            r = -EIO;
        if (r < 0)
            r = err_errno(e, r, "cannot write '%s'", name);
    }
    ledger_iterator_free(i);
    return r;
}

/* The tiles lock is held, between threads and processes. */
static int follow_locked(struct ledger *l, uint64_t durable, struct err *e)
{
    struct stat st;
    uint64_t first;
    FD_CLEANUP int offsets =
        openat(l->dir, OFFSETS_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (offsets < 0 || fstat(offsets, &st) < 0)
        return err_errno(e, -errno, "cannot open '" OFFSETS_FILE "'");
    uint64_t next = (uint64_t)st.st_size / OFFSETS_ENTRY;
    int r = 0;
    if (next == 0) {
        /* Made anew: what was dropped has its tiles already, and no offsets. */
        r = ledger_first(l, &first, e);
        next = r == 0 ? (first + TILE_WIDTH - 1) / TILE_WIDTH : 0;
    }
    if (r == 0 && (next + 1) * TILE_WIDTH <= durable)
        r = write_full(l, offsets, next, durable, e);
    if (r == 0)
        lockfile_raise_size(&l->state.shared->tiled, durable / TILE_WIDTH * TILE_WIDTH);
    return r;
}

int tiles_lock(struct ledger *l, bool wait, struct err *e)
{
    int r = wait ? pthread_mutex_lock(&l->tiles_mutex) : pthread_mutex_trylock(&l->tiles_mutex);
    if (r != 0)
        return -EAGAIN;
    r = wait ? lockfile_lock(&l->state, LOCKFILE_TILES)
             : lockfile_try_lock(&l->state, LOCKFILE_TILES);
    if (r < 0)
        pthread_mutex_unlock(&l->tiles_mutex);
    return r < 0 && r != -EAGAIN ? err_errno(e, r, "cannot lock the tiles") : r;
}

void tiles_unlock(struct ledger *l)
{
    lockfile_unlock(&l->state, LOCKFILE_TILES);
    pthread_mutex_unlock(&l->tiles_mutex);
}

int tiles_follow(struct ledger *l, uint64_t durable, struct err *e)
{
    uint64_t full = durable / TILE_WIDTH * TILE_WIDTH;
    if (full == 0 || lockfile_get_size(&l->state.shared->tiled) >= full)
        return 0;
    int r = tiles_lock(l, false, e);
    if (r < 0)
        return r == -EAGAIN ? 0 : r; /* somebody is at it, or the next writer will be */
    r = follow_locked(l, durable, e);
    tiles_unlock(l);
    return r;
}

int tiles_follow_locked(struct ledger *l, uint64_t durable, bool anew, struct err *e)
{
    if (anew && unlinkat(l->dir, OFFSETS_FILE, 0) < 0 && errno != ENOENT)
        return err_errno(e, -errno, "cannot remove '" OFFSETS_FILE "'");
    return follow_locked(l, durable, e);
}

/* --- a view of the tree ---------------------------------------------------------------------- */

int tile_view_open(struct ledger *l, uint64_t size, struct tile_view **ret, struct err *e)
{
    struct tile_view *v = alloc_resize(l->allocator, NULL, sizeof(*v));
    struct ledger_iterator *i = NULL;
    if (!v)
        return err_set(e, -ENOMEM, "out of memory");
    *v = (struct tile_view){.l = l, .size = size, .base = size / TILE_WIDTH * TILE_WIDTH};
    v->leaves = alloc_resize(l->allocator, NULL, TILE_WIDTH * sizeof(*v->leaves));
    int r = v->leaves ? 0 : err_set(e, -ENOMEM, "out of memory");
    if (r == 0 && v->base < size)
        r = ledger_iterate(l, v->base, &i, e);
    for (uint64_t at = v->base; r == 0 && at < size; at++) {
        struct ledger_record record = {0};
        r = ledger_iterator_next(i, &record, e);
        if (r == 1) {
            merkle_leaf(record.bytes, record.len, &v->leaves[at - v->base]);
            r = 0;
        } else if (r == 0) {
            r = err_set(e, -EBADMSG, "entry %llu is missing", (unsigned long long)at);
        }
    }
    ledger_iterator_free(i);
    if (r < 0) {
        tile_view_free(v);
        return r;
    }
    *ret = v;
    return 0;
}

void tile_view_free(struct tile_view *v)
{
    if (!v)
        return;
    const struct allocator *allocator = v->l->allocator;
    alloc_free(allocator, v->leaves);
    alloc_free(allocator, v);
}

/* A leaf whose tile is not there: from the record. */
static int leaf_of_record(struct tile_view *v, uint64_t number, struct merkle_hash *ret)
{
    struct buf record;
    buf_init(&record, v->l->allocator, LEDGER_RECORD_MAX + 1);
    int r = ledger_read(v->l, number, &record, NULL);
    if (r == 0)
        merkle_leaf(record.data, record.len, ret);
    buf_release(&record);
    return r;
}

static int load_tile(struct tile_view *v, unsigned level, uint64_t number)
{
    if (v->cached && v->cached_level == level && v->cached_number == number)
        return 0;
    int r = tile_read(v->l->dir, level, number, v->cache);
    v->cached = r == 0;
    v->cached_level = level;
    v->cached_number = number;
    return r;
}

/* The depth is at most MERKLE_LEVELS. */
/* NOLINTNEXTLINE(misc-no-recursion) */
int tile_view_node(void *user, unsigned level, uint64_t number, struct merkle_hash *ret)
{
    struct tile_view *v = user;
    unsigned tile_level = level / 8, within = level % 8;
    uint64_t from = number << within; /* the first of the hashes of the tile's level */
    uint64_t leaves_of_tile_end = (from / TILE_WIDTH + 1) << (8 * (tile_level + 1));
    if (level == 0 && number >= v->base) {
        if (number >= v->size)
            return -ERANGE;
        *ret = v->leaves[number - v->base];
        return 0;
    }
    if (leaves_of_tile_end <= v->size && load_tile(v, tile_level, from / TILE_WIDTH) == 0) {
        merkle_fold(v->cache + from % TILE_WIDTH, (size_t)1 << within, ret);
        return 0;
    }
    if (level == 0)
        return leaf_of_record(v, number, ret);
    struct merkle_hash left, right;
    int r = tile_view_node(v, level - 1, 2 * number, &left);
    if (r == 0)
        r = tile_view_node(v, level - 1, 2 * number + 1, &right);
    if (r == 0)
        merkle_node(&left, &right, ret);
    return r;
}
