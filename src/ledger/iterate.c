/*
 * Reading records. Only what is signed is given. Each frame must stand behind the one that it was
 * written for; whether the tree is right is verify's question.
 */
#include "ledger/iterate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

enum { READ_BACK = 256 << 10 };

void offsets_encode(uint64_t segment, uint64_t offset, unsigned char ret[OFFSETS_ENTRY])
{
    for (unsigned i = 0; i < 8; i++) {
        ret[i] = (unsigned char)(segment >> (8 * i));
        ret[8 + i] = (unsigned char)(offset >> (8 * i));
    }
}

/* What the offsets file says of the nearest record before `index`; a hint. */
static bool hint(const struct ledger *l, uint64_t index, uint64_t *ret_segment,
                 uint64_t *ret_offset)
{
    unsigned char entry[OFFSETS_ENTRY];
    FD_CLEANUP int fd = openat(l->dir, OFFSETS_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || pread(fd, entry, sizeof(entry), (off_t)(index / OFFSETS_EVERY * OFFSETS_ENTRY)) !=
                      sizeof(entry))
        return false;
    *ret_segment = *ret_offset = 0;
    for (unsigned i = 0; i < 8; i++) {
        *ret_segment |= (uint64_t)entry[i] << (8 * i);
        *ret_offset |= (uint64_t)entry[8 + i] << (8 * i);
    }
    return *ret_offset >= SEGMENT_HEADER;
}

static int gone(uint64_t index, struct err *e)
{
    return err_set(e, -ERANGE, "entry %llu is not in the ledger any more",
                   (unsigned long long)index);
}

static int damaged(const struct ledger_iterator *i, struct err *e)
{
    return err_set(e, -EBADMSG, "the ledger is damaged at entry %llu: segment %llu, byte %llu",
                   (unsigned long long)i->index, (unsigned long long)i->segment.first,
                   (unsigned long long)i->offset);
}

/* Opens the segment that holds `index`, or with `before` the last one that starts before it. */
static int open_segment_of(struct ledger_iterator *i, uint64_t index, bool before, struct err *e)
{
    uint64_t *all = NULL;
    size_t count;
    int r = segment_list(i->l->dir, i->l->allocator, &all, &count, e);
    if (r < 0)
        return r;
    while (count && (all[count - 1] > index || (before && all[count - 1] == index)))
        count--;
    uint64_t first = count ? all[count - 1] : 0;
    alloc_free(i->l->allocator, all);
    r = count ? segment_open(&i->segment, i->l->dir, first, false, e) : -ENOENT;
    return r == -ENOENT ? gone(index, e) : r;
}

/* Stands before the frame of record `index`, in the open segment; or at its end. */
static int walk_to(struct ledger_iterator *i, uint64_t index, struct err *e)
{
    uint64_t segment, offset;
    struct frame f = {0};
    int found = FRAME_FOUND_BAD;
    i->offset = SEGMENT_HEADER;
    i->chain = (struct frame_chain){0};
    i->index = i->segment.first;
    if (hint(i->l, index, &segment, &offset) && segment == i->segment.first) {
        found = segment_frame(&i->segment, offset, READ_MUCH, &f);
        if (found == FRAME_FOUND_WHOLE && f.type == FRAME_RECORD &&
            f.index == index / OFFSETS_EVERY * OFFSETS_EVERY) {
            i->offset = offset;
            i->chain = (struct frame_chain){.sum = f.before, .bytes = f.back};
            i->index = f.index;
        }
    }
    for (;;) {
        found = segment_frame(&i->segment, i->offset, READ_MUCH, &f);
        if (found < 0)
            return err_errno(e, found, "cannot read the ledger");
        if (found != FRAME_FOUND_WHOLE || !frame_follows(&f, &i->chain))
            return i->index == index ? 0 : damaged(i, e);
        if (f.type == FRAME_RECORD) {
            if (f.index != i->index)
                return damaged(i, e);
            if (f.index == index)
                return 0;
            i->index = f.index + 1;
        }
        frame_pass(&i->chain, &f);
        i->offset += frame_bytes(&f);
    }
}

int ledger_iterate(struct ledger *l, uint64_t index, struct ledger_iterator **ret, struct err *e)
{
    struct signed_head head = {0};
    int r = head_read(l, &head, e);
    if (r < 0)
        return r;
    if (index > head.size)
        return err_set(e, -ERANGE, "the ledger has no entry %llu", (unsigned long long)index);
    struct ledger_iterator *i = alloc_resize(l->allocator, NULL, sizeof(*i));
    if (!i)
        return err_set(e, -ENOMEM, "out of memory");
    *i = (struct ledger_iterator){.l = l, .limit = head.size};
    segment_init(&i->segment, l->allocator);
    r = open_segment_of(i, index, false, e);
    if (r == 0)
        r = walk_to(i, index, e);
    if (r < 0) {
        ledger_iterator_free(i);
        return r;
    }
    *ret = i;
    return 0;
}

void ledger_iterator_free(struct ledger_iterator *i)
{
    if (!i)
        return;
    const struct allocator *allocator = i->l->allocator;
    segment_close(&i->segment);
    alloc_free(allocator, i);
}

static void give(struct ledger_iterator *i, const struct frame *f, struct ledger_record *ret)
{
    i->record_offset = i->offset;
    ret->index = f->index;
    ret->bytes = f->payload;
    ret->len = f->length;
}

int ledger_iterator_next(struct ledger_iterator *i, struct ledger_record *ret, struct err *e)
{
    if (i->index >= i->limit) {
        struct signed_head head = {0};
        int r = head_read(i->l, &head, e);
        if (r < 0)
            return r;
        i->limit = head.size;
        if (i->index >= i->limit)
            return 0;
        segment_forget(&i->segment);
    }
    for (;;) {
        struct frame f = {0};
        int found = segment_frame(&i->segment, i->offset, READ_MUCH, &f);
        if (found < 0)
            return err_errno(e, found, "cannot read the ledger");
        if (found == FRAME_FOUND_WHOLE && frame_follows(&f, &i->chain)) {
            if (f.type == FRAME_RECORD) {
                if (f.index != i->index)
                    return damaged(i, e);
                give(i, &f, ret);
                i->index++;
            }
            frame_pass(&i->chain, &f);
            i->offset += frame_bytes(&f);
            if (f.type == FRAME_RECORD)
                return 1;
            continue;
        }
        /* The record is signed, so it is in the next segment. */
        if (i->index == i->segment.first)
            return damaged(i, e);
        int r = segment_open(&i->segment, i->l->dir, i->index, false, e);
        if (r < 0)
            return r == -ENOENT ? damaged(i, e) : r;
        i->offset = SEGMENT_HEADER;
        i->chain = (struct frame_chain){0};
    }
}

int ledger_iterator_previous(struct ledger_iterator *i, struct ledger_record *ret, struct err *e)
{
    for (;;) {
        struct frame f = {0};
        if (i->chain.bytes == 0) {
            /* At a segment's start: its first record is the next; go to the one before. */
            if (i->index == 0)
                return 0;
            int r = open_segment_of(i, i->index, true, NULL);
            if (r == -ERANGE)
                return 0;
            if (r < 0)
                return err_errno(e, r, "cannot open the segment before");
            uint64_t last = i->index - 1;
            r = walk_to(i, last, e);
            if (r < 0)
                return r;
            i->index = last;
            /* Stands before the record itself: give it, and stay there. */
            int found = segment_frame(&i->segment, i->offset, READ_MUCH, &f);
            if (found != FRAME_FOUND_WHOLE || f.type != FRAME_RECORD)
                return found < 0 ? err_errno(e, found, "cannot read the ledger") : damaged(i, e);
            give(i, &f, ret);
            return 1;
        }
        i->offset -= i->chain.bytes;
        if (i->offset < i->segment.at || i->segment.len == 0) {
            uint64_t from = i->offset > READ_BACK ? i->offset - READ_BACK : 0;
            int r = segment_load(&i->segment, from, (size_t)(i->offset - from) + i->chain.bytes);
            if (r < 0)
                return err_errno(e, r, "cannot read the ledger");
        }
        int found = segment_frame(&i->segment, i->offset, READ_MUCH, &f);
        if (found < 0)
            return err_errno(e, found, "cannot read the ledger");
        if (found != FRAME_FOUND_WHOLE || f.sum != i->chain.sum)
            return damaged(i, e);
        i->chain = (struct frame_chain){.sum = f.before, .bytes = f.back};
        if (f.type == FRAME_RECORD) {
            if (f.index != i->index - 1)
                return damaged(i, e);
            i->index--;
            give(i, &f, ret);
            return 1;
        }
    }
}

int ledger_read(struct ledger *l, uint64_t index, struct buf *out, struct err *e)
{
    struct ledger_iterator *i = NULL;
    struct ledger_record record = {0};
    buf_clear(out);
    int r = ledger_iterate(l, index, &i, e);
    if (r < 0 || !i)
        return r;
    r = ledger_iterator_next(i, &record, e);
    if (r == 0)
        r = err_set(e, -ERANGE, "the ledger has no entry %llu", (unsigned long long)index);
    else if (r == 1)
        r = buf_append(out, record.bytes, record.len) < 0 ? err_errno(e, out->failed, "the record")
                                                          : 0;
    ledger_iterator_free(i);
    return r;
}
