/*
 * The last checkpoint, for readers: found without a lock, by the hint of the lock file or else from
 * the start of the last segment. What is read here was never half written: a frame that is not
 * whole ends the reading.
 */
#include <errno.h>
#include <string.h>

#include "ledger/internal.h"

/* Takes the note of a checkpoint or start frame. */
static int take(const struct frame *f, struct signed_head *ret)
{
    size_t edge = f->type == FRAME_START ? merkle_edge_count(f->index) * SHA256_BYTES : 0;
    struct note note = {0};
    if (f->length < edge || f->length - edge > sizeof(ret->text) ||
        note_read((const char *)f->payload + edge, f->length - edge, &note, NULL) < 0 ||
        note.size != f->index || note.len != f->length - edge)
        return -EBADMSG;
    ret->len = note.len;
    ret->size = note.size;
    memcpy(ret->text, note.text, note.len);
    return 0;
}

/* From a checkpoint or start frame at `offset` to the last checkpoint of the segment. */
static int last_of_segment(struct segment *s, uint64_t offset, size_t ahead,
                           struct signed_head *ret)
{
    struct frame f = {0};
    struct frame_chain chain;
    int found = segment_frame(s, offset, ahead, &f);
    if (found < 0)
        return found;
    if (found != FRAME_FOUND_WHOLE || f.type == FRAME_RECORD)
        return -EBADMSG;
    do {
        if (f.type != FRAME_RECORD) {
            int r = take(&f, ret);
            if (r < 0)
                return r;
        }
        frame_pass(&chain, &f);
        offset += frame_bytes(&f);
        found = segment_frame(s, offset, ahead, &f);
        if (found < 0)
            return found;
    } while (found == FRAME_FOUND_WHOLE && frame_follows(&f, &chain));
    return 0;
}

int head_read(struct ledger *l, struct signed_head *ret, struct err *e)
{
    struct segment s;
    int r = -ENOENT;
    segment_init(&s, l->allocator);
    if (l->state.shared) {
        uint64_t first = __atomic_load_n(&l->state.shared->segment, __ATOMIC_ACQUIRE);
        uint64_t offset = __atomic_load_n(&l->state.shared->signed_offset, __ATOMIC_ACQUIRE);
        if (offset >= SEGMENT_HEADER && offset >> 48 == 0)
            r = segment_open(&s, l->dir, first, false, NULL);
        if (r == 0)
            r = last_of_segment(&s, offset, READ_TAIL, ret);
        /* The hint may be older than the segments, or from a place that was never whole. */
        if (r == 0 && ret->size < lockfile_get_size(&l->state.shared->durable))
            r = -EBADMSG;
    }
    for (int tries = 0; r < 0 && tries < 2; tries++) {
        uint64_t *all = NULL;
        size_t count;
        r = segment_list(l->dir, l->allocator, &all, &count, e);
        if (r < 0)
            break;
        r = count ? segment_open(&s, l->dir, all[count - 1], false, e) : -ENOENT;
        alloc_free(l->allocator, all);
        if (r == 0)
            r = last_of_segment(&s, SEGMENT_HEADER, READ_MUCH, ret);
        if (r < 0)
            r = err_errno(e, r, "cannot find the ledger's last checkpoint");
    }
    segment_close(&s);
    return r;
}

int ledger_size(struct ledger *l, uint64_t *ret, struct err *e)
{
    struct signed_head head = {0};
    int r = head_read(l, &head, e);
    if (r == 0)
        *ret = head.size;
    return r;
}

int ledger_first(struct ledger *l, uint64_t *ret, struct err *e)
{
    uint64_t *all = NULL;
    size_t count;
    int r = segment_list(l->dir, l->allocator, &all, &count, e);
    if (r == 0 && count == 0)
        r = err_set(e, -ENOENT, "the ledger has no segment");
    if (r == 0)
        *ret = all[0];
    alloc_free(l->allocator, all);
    return r;
}

int ledger_checkpoint(struct ledger *l, struct buf *out, struct err *e)
{
    struct signed_head head = {0};
    int r = head_read(l, &head, e);
    if (r == 0 && buf_append(out, head.text, head.len) < 0)
        r = err_errno(e, out->failed, "the checkpoint");
    return r;
}
