/*
 * Dropping old segments. Their hashes stay, as tiles, so that the tree can still be built and every
 * proof holds. Before a segment goes, its tiles are compared with the next segment's start, whose
 * hashes are signed, and are made durable.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/tiles.h"

/* Whether the tiles give the tree with which the segment starts. */
static int check_tiles(struct ledger *l, uint64_t first, struct err *e)
{
    struct segment s;
    struct frame f = {0};
    struct merkle start, tree = {0};
    struct note note = {0};
    struct merkle_hash tile[TILE_WIDTH], is, should;
    segment_init(&s, l->allocator);
    int r = segment_open(&s, l->dir, first, false, e);
    if (r == 0)
        r = segment_start(&s, READ_TAIL, &f, &start, &note, e);
    if (r == 0)
        r = note_check(&note, &l->signer.public, e);
    segment_close(&s);
    while (r == 0 && tree.size < first) {
        if (tree.size % TILE_WIDTH == 0) {
            r = tile_read(l->dir, 0, tree.size / TILE_WIDTH, tile);
            if (r < 0)
                return err_errno(e, r, "the tile with entry %llu", (unsigned long long)tree.size);
        }
        merkle_add(&tree, &tile[tree.size % TILE_WIDTH]);
    }
    if (r < 0)
        return r;
    merkle_root(&tree, &is);
    merkle_root(&start, &should);
    if (!merkle_same(&is, &should))
        return err_set(e, -EBADMSG, "the ledger's tiles are damaged before entry %llu",
                       (unsigned long long)first);
    return 0;
}

/* How many of the oldest segments are to go. */
static size_t count_old(const struct ledger *l, const uint64_t *all, size_t count,
                        uint64_t max_bytes, uint64_t max_age_s)
{
    uint64_t bytes = 0;
    size_t old = 0;
    int64_t now = (int64_t)time(NULL);
    struct stat st;
    char name[SEGMENT_NAME_MAX];
    for (size_t i = count; i-- > 0;) {
        segment_name(all[i], name);
        if (fstatat(l->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return 0;
        bytes += (uint64_t)st.st_size;
        /* A segment was last written when its last record was. */
        if ((max_bytes && bytes > max_bytes) ||
            (max_age_s && now - st.st_mtim.tv_sec > (int64_t)max_age_s)) {
            old = i + 1;
            break;
        }
    }
    return old < count ? old : count - 1;
}

/* Entry bundles are copies of records: those that lie below `first` as a whole go too. */
static void drop_bundles(const struct ledger *l, uint64_t from, uint64_t first)
{
    char name[TILE_NAME_MAX];
    for (uint64_t n = from / TILE_WIDTH; (n + 1) * TILE_WIDTH <= first; n++) {
        tile_name(TILE_ENTRIES, n, TILE_WIDTH, name);
        unlinkat(l->dir, name, 0);
    }
}

static int drop(struct ledger *l, const uint64_t *all, size_t old, struct err *e)
{
    int r = check_tiles(l, all[old], e);
    if (r < 0)
        return r;
    if (syncfs(l->dir) < 0)
        return err_errno(e, -errno, "cannot make the tiles durable");
    drop_bundles(l, all[0], all[old]);
    for (size_t i = 0; i < old; i++) {
        char name[SEGMENT_NAME_MAX];
        segment_name(all[i], name);
        if (unlinkat(l->dir, name, 0) < 0 && errno != ENOENT)
            return err_errno(e, -errno, "cannot remove '%s'", name);
    }
    return 0;
}

int ledger_retain(struct ledger *l, uint64_t max_bytes, uint64_t max_age_s, uint64_t *ret_first,
                  struct err *e)
{
    struct signed_head head = {0};
    uint64_t *all = NULL;
    size_t count = 0, old = 0;
    int r = append_check(l, e);
    if (r == 0)
        r = tiles_lock(l, true, e);
    if (r < 0)
        return r;
    r = head_read(l, &head, e);
    if (r == 0)
        r = tiles_follow_locked(l, head.size, false, e);
    if (r == 0)
        r = segment_list(l->dir, l->allocator, &all, &count, e);
    if (r == 0 && count == 0)
        r = err_set(e, -ENOENT, "the ledger has no segment");
    if (r == 0) {
        old = count_old(l, all, count, max_bytes, max_age_s);
        /* Only where whole tiles reach over the boundary. */
        while (old && (all[old] + TILE_WIDTH - 1) / TILE_WIDTH * TILE_WIDTH > head.size)
            old--;
        if (old)
            r = drop(l, all, old, e);
    }
    if (r == 0 && ret_first)
        *ret_first = all[old];
    alloc_free(l->allocator, all);
    tiles_unlock(l);
    return r;
}
