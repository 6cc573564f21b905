/*
 * Finding the end of the ledger. Every handle does this once, before its first append, and again
 * whenever a writer died in the middle: from the last checkpoint on, whose place the lock file
 * tells, all frames are read and hashed. Where the lock file tells nothing of use, the last segment
 * is read from its start.
 *
 * What stands behind the last whole frame was never acknowledged and is cut (G3): unless a
 * checkpoint shows that it was durable.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/internal.h"

#define MAGIC "nacrels1"

enum { OFFSET_BITS = 48 }; /* more has no file */

/* Where the reading has come to. */
struct end {
    uint64_t offset;
    struct frame_chain chain;
    struct merkle tree;
    uint64_t signed_offset;
    struct merkle signed_tree;
    bool torn; /* something stands behind that is no frame */
};

static int damaged(const struct ledger *l, uint64_t offset, const char *what, struct err *e)
{
    return err_set(e, -EBADMSG, "the ledger is damaged: %s, in segment %llu at byte %llu", what,
                   (unsigned long long)l->segment.first, (unsigned long long)offset);
}

/* Reads frames from the checkpoint on that `end` stands behind, to the last whole one. */
static int read_on(struct ledger *l, struct end *end, size_t ahead, struct err *e)
{
    struct frame f = {0};
    for (;;) {
        int found = segment_frame(&l->segment, end->offset, ahead, &f);
        if (found < 0)
            return err_errno(e, found, "cannot read the ledger");
        if (found != FRAME_FOUND_WHOLE || !frame_follows(&f, &end->chain)) {
            end->torn = found != FRAME_FOUND_NONE;
            return 0;
        }
        if (f.index != end->tree.size || f.type == FRAME_START)
            return damaged(l, end->offset, "an entry out of order", e);
        if (f.type == FRAME_RECORD) {
            struct merkle_hash leaf;
            merkle_leaf(f.payload, f.length, &leaf);
            merkle_add(&end->tree, &leaf);
        } else {
            struct note note = {0};
            struct merkle_hash root;
            merkle_root(&end->tree, &root);
            int r = note_read((const char *)f.payload, f.length, &note, e);
            if (r == 0)
                r = note_check_name(&note, &l->signer.public, e);
            if (r < 0)
                return err_context(e, r, "the ledger's last checkpoint");
            if (note.size != f.index || !merkle_same(&root, &note.root))
                return damaged(l, end->offset, "a checkpoint that disagrees with the entries", e);
            end->signed_offset = end->offset;
            end->signed_tree = end->tree;
        }
        frame_pass(&end->chain, &f);
        end->offset += frame_bytes(&f);
    }
}

/* From the checkpoint that the lock file names: 1 if it is one and fits, 0 if not. */
static int from_state(struct ledger *l, struct end *ret, struct err *e)
{
    const struct lockfile_state *s = l->state.shared;
    struct end end = {.signed_offset = s->signed_offset, .signed_tree = s->signed_tree};
    struct frame f = {0};
    struct note note = {0};
    struct merkle_hash root;
    if (memcmp(s->magic, MAGIC, sizeof(s->magic)) != 0 || end.signed_offset < SEGMENT_HEADER ||
        end.signed_offset >> OFFSET_BITS || end.signed_tree.size >> MERKLE_LEVELS)
        return 0;
    if (l->segment.fd < 0 || l->segment.first != s->segment) {
        int r = append_open_segment(l, s->segment, e);
        if (r < 0)
            return r == -ENOENT ? 0 : r;
    }
    segment_forget(&l->segment);
    int found = segment_frame(&l->segment, end.signed_offset, READ_TAIL, &f);
    if (found < 0)
        return err_errno(e, found, "cannot read the ledger");
    if (found != FRAME_FOUND_WHOLE || f.type == FRAME_RECORD || f.index != end.signed_tree.size)
        return 0;
    size_t edge = f.type == FRAME_START ? merkle_edge_count(f.index) * SHA256_BYTES : 0;
    if (f.length < edge ||
        note_read((const char *)f.payload + edge, f.length - edge, &note, NULL) < 0)
        return 0;
    merkle_root(&end.signed_tree, &root);
    if (note.size != f.index || !merkle_same(&root, &note.root))
        return 0;
    int r = note_check_name(&note, &l->signer.public, e);
    if (r < 0)
        return err_context(e, r, "the ledger's last checkpoint");
    frame_pass(&end.chain, &f);
    end.offset = end.signed_offset + frame_bytes(&f);
    end.tree = end.signed_tree;
    r = read_on(l, &end, READ_TAIL, e);
    if (r < 0)
        return r;
    /* A lock file from before a power failure may name a segment that was followed by another. */
    char next[SEGMENT_NAME_MAX];
    segment_name(end.tree.size, next);
    if (end.tree.size != l->segment.first && faccessat(l->dir, next, F_OK, 0) == 0)
        return 0;
    *ret = end;
    return 1;
}

/* From the start of the last segment. */
static int from_segment(struct ledger *l, struct end *ret, struct err *e)
{
    uint64_t *all = NULL;
    size_t count;
    struct end end = {.signed_offset = SEGMENT_HEADER};
    struct frame f = {0};
    struct note note = {0};
    int r = segment_list(l->dir, l->allocator, &all, &count, e);
    if (r == 0 && count == 0)
        r = err_set(e, -ENOENT, "the ledger has no segment");
    if (r == 0) {
        r = append_open_segment(l, all[count - 1], e);
        if (r == -ENOENT)
            r = err_errno(e, r, "the ledger's last segment");
    }
    alloc_free(l->allocator, all);
    if (r == 0)
        r = segment_start(&l->segment, READ_MUCH, &f, &end.tree, &note, e);
    if (r == 0)
        r = note_check(&note, &l->signer.public, e);
    if (r < 0)
        return r;
    end.signed_tree = end.tree;
    end.offset = SEGMENT_HEADER + frame_bytes(&f);
    frame_pass(&end.chain, &f);
    r = read_on(l, &end, READ_MUCH, e);
    if (r == 0)
        *ret = end;
    return r;
}

/*
 * Checkpoints behind the end. One may be there: blocks reach the disk in any order, and the power
 * may have failed in the middle of the last batch. It covers what was never acknowledged, and
 * nobody was told of it. With two, or when the lock file knows better, what is missing had been
 * durable.
 */
static int look_behind(struct ledger *l, const struct end *end, uint64_t bytes, uint64_t durable,
                       uint64_t *ret_signed, struct err *e)
{
    uint64_t offset = end->offset, at;
    struct frame f = {0};
    struct note note = {0};
    unsigned count = 0;
    *ret_signed = 0;
    for (;;) {
        int r = segment_find_frame(&l->segment, offset, bytes, 1 << FRAME_CHECKPOINT,
                                   end->tree.size, &f, &at);
        if (r < 0)
            return err_errno(e, r, "cannot read the ledger");
        if (r == 0)
            return 0;
        offset = at + 1;
        /* An old one may stand in a record that was not finished: whoever wrote it can have had
         * none for more records than there are. */
        if (note_read((const char *)f.payload, f.length, &note, NULL) < 0 ||
            note.size <= end->tree.size || note_check(&note, &l->signer.public, NULL) < 0)
            continue;
        *ret_signed = note.size;
        if (++count > 1 || durable >= note.size)
            return damaged(l, end->offset, "entries that were signed are not whole", e);
    }
}

/* Puts what is cut aside, if it was signed: an auditor may want to see it. */
static int keep_cut(struct ledger *l, uint64_t from, uint64_t bytes)
{
    char name[64];
    char *part = alloc_resize(l->allocator, NULL, READ_MUCH);
    if (!part)
        return -ENOMEM;
    snprintf(name, sizeof(name), "cut-%llu-%llu", (unsigned long long)l->segment.first,
             (unsigned long long)from);
    FD_CLEANUP int fd =
        openat(l->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : 0;
    while (r == 0 && from < bytes) {
        ssize_t n = pread(l->segment.fd, part, READ_MUCH, (off_t)from);
        if (n <= 0) {
            r = n < 0 ? -errno : 0;
            break;
        }
        r = fd_write_all(fd, part, (size_t)n);
        from += (uint64_t)n;
    }
    alloc_free(l->allocator, part);
    return r;
}

static int cut(struct ledger *l, const struct end *end, uint64_t bytes, uint64_t signed_size,
               struct err *e)
{
    if (signed_size) {
        int r = keep_cut(l, end->offset, bytes);
        if (r < 0)
            return err_errno(e, r, "cannot keep what must be cut from the ledger");
    }
    if (ftruncate(l->segment.fd, (off_t)end->offset) < 0)
        return err_errno(e, -errno, "cannot cut an unfinished write from the ledger");
    segment_forget(&l->segment);
    l->cut = (struct ledger_notice){
        .kind = LEDGER_NOTICE_CUT,
        .index = end->tree.size,
        .bytes = bytes - end->offset,
        .signed_size = signed_size,
        .text = "an unfinished write was cut from the end of the ledger",
    };
    return 0;
}

/* Whether there are only zeros from `offset` on: allocated ahead, and never written. */
static int only_zeros(struct ledger *l, uint64_t offset, bool *ret)
{
    unsigned char part[READ_TAIL];
    *ret = true;
    for (;;) {
        ssize_t n = pread(l->segment.fd, part, sizeof(part), (off_t)offset);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        if (part[0] || memcmp(part, part + 1, (size_t)n - 1) != 0) {
            *ret = false;
            return 0;
        }
        offset += (uint64_t)n;
    }
}

int recover_end(struct ledger *l, struct err *e)
{
    struct lockfile_state *s = l->state.shared;
    struct end end = {0};
    struct stat st;
    uint64_t signed_size = 0, durable = lockfile_get_size(&s->durable);
    bool known = memcmp(s->magic, MAGIC, sizeof(s->magic)) == 0;
    if (!known)
        durable = 0;
    int r = from_state(l, &end, e);
    bool fast = r == 1;
    if (r == 0)
        r = from_segment(l, &end, e);
    if (r < 0)
        return r;
    uint64_t bytes = s->room;
    if (!fast || end.torn) {
        if (fstat(l->segment.fd, &st) < 0)
            return err_errno(e, -errno, "cannot look at the ledger");
        bytes = (uint64_t)st.st_size;
    }
    if (!fast && !end.torn && bytes > end.offset) {
        bool zeros;
        r = only_zeros(l, end.offset, &zeros);
        if (r < 0)
            return err_errno(e, r, "cannot read the ledger");
        end.torn = !zeros;
    }
    if (end.torn) {
        r = look_behind(l, &end, bytes, durable, &signed_size, e);
        if (r < 0)
            return r;
    }
    if (durable > end.signed_tree.size)
        return err_set(e, -EBADMSG,
                       "the ledger is damaged: %llu entries were durable and signed, now %llu are",
                       (unsigned long long)durable, (unsigned long long)end.signed_tree.size);
    s->dirty = 1;
    if (end.torn) {
        r = cut(l, &end, bytes, signed_size, e);
        if (r < 0)
            return r;
        bytes = end.offset;
    }
    if (!known) {
        memset(s, 0, sizeof(*s));
        s->dirty = 1;
    }
    s->segment = l->segment.first;
    s->end = end.offset;
    s->room = bytes;
    s->chain = end.chain;
    s->tree = end.tree;
    s->signed_offset = end.signed_offset;
    s->signed_tree = end.signed_tree;
    /* A size whose check does not fit counts as 0 to every reader; make it so. */
    if (durable == 0)
        lockfile_set_size(&s->durable, 0);
    memcpy(s->magic, MAGIC, sizeof(s->magic));
    __atomic_store_n(&s->dirty, 0, __ATOMIC_RELEASE);
    return 0;
}
