/*
 * What others read: the tiles that are not full yet, entry bundles, and the `checkpoint` file, all
 * for the latest checkpoint. None of it is needed to write, to prove or to verify.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ledger/iterate.h"
#include "ledger/tiles.h"

enum { BUNDLE_MAX = TILE_WIDTH * (2 + LEDGER_RECORD_MAX) };

static int write_partial_tiles(struct ledger *l, uint64_t size, struct tile_view *view,
                               struct err *e)
{
    for (unsigned level = 0; level < TILE_LEVELS; level++) {
        struct merkle_hash hashes[TILE_WIDTH];
        char name[TILE_NAME_MAX];
        uint64_t count = size >> (8 * level);
        unsigned width = (unsigned)(count % TILE_WIDTH);
        int r = 0;
        if (width == 0)
            continue;
        for (unsigned i = 0; i < width && r == 0; i++)
            r = tile_view_node(view, 8 * level, count - width + i, &hashes[i]);
        tile_name((int)level, count / TILE_WIDTH, width, name);
        if (r == 0)
            r = tile_write(l->dir, name, hashes, (size_t)width * SHA256_BYTES);
        if (r < 0)
            return err_errno(e, r, "cannot write '%s'", name);
    }
    return 0;
}

/* Bundles of the records from `from` on, a multiple of 256; those that are there stay. */
static int write_bundles(struct ledger *l, uint64_t from, uint64_t size, bool anew, struct err *e)
{
    struct ledger_iterator *i = NULL;
    struct buf bundle;
    int r = ledger_iterate(l, from, &i, e);
    if (r < 0)
        return r;
    buf_init(&bundle, l->allocator, BUNDLE_MAX + 1);
    while (r == 0 && from < size) {
        unsigned width = size - from < TILE_WIDTH ? (unsigned)(size - from) : TILE_WIDTH;
        char name[TILE_NAME_MAX];
        buf_clear(&bundle);
        tile_name(TILE_ENTRIES, from / TILE_WIDTH, width, name);
        bool there = !anew && faccessat(l->dir, name, F_OK, 0) == 0;
        for (unsigned k = 0; k < width && r == 0; k++) {
            struct ledger_record record = {0};
            r = ledger_iterator_next(i, &record, e);
            if (r < 1) {
                r = r < 0 ? r : err_set(e, -EBADMSG, "records are missing for '%s'", name);
                break;
            }
            r = 0;
            if (there)
                continue;
            buf_append_byte(&bundle, (char)(record.len >> 8));
            buf_append_byte(&bundle, (char)(record.len & 0xFF));
            buf_append(&bundle, record.bytes, record.len);
        }
        if (r == 0 && !there) {
            r = bundle.failed ? bundle.failed : tile_write(l->dir, name, bundle.data, bundle.len);
            if (r < 0)
                r = err_errno(e, r, "cannot write '%s'", name);
        }
        from += width;
    }
    buf_release(&bundle);
    ledger_iterator_free(i);
    return r;
}

int ledger_publish(struct ledger *l, unsigned flags, struct err *e)
{
    struct signed_head head = {0};
    struct tile_view *view = NULL;
    uint64_t first;
    bool anew = flags & LEDGER_PUBLISH_ANEW;
    int r = append_check(l, e);
    if (r == 0)
        r = tiles_lock(l, true, e);
    if (r < 0)
        return r;
    r = head_read(l, &head, e);
    if (r == 0)
        r = tiles_follow_locked(l, head.size, anew, e);
    if (r == 0)
        r = tile_view_open(l, head.size, &view, e);
    if (r == 0)
        r = write_partial_tiles(l, head.size, view, e);
    tile_view_free(view);
    if (r == 0 && flags & LEDGER_PUBLISH_ENTRIES) {
        r = ledger_first(l, &first, e);
        first = r == 0 ? (first + TILE_WIDTH - 1) / TILE_WIDTH * TILE_WIDTH : 0;
        if (r == 0 && first < head.size)
            r = write_bundles(l, first, head.size, anew, e);
    }
    if (r == 0) {
        r = tile_write(l->dir, CHECKPOINT_FILE, head.text, head.len);
        if (r < 0)
            r = err_errno(e, r, "cannot write '" CHECKPOINT_FILE "'");
    }
    tiles_unlock(l);
    return r;
}
