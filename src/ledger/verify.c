/*
 * Verification: every byte of the segments is read, every record hashed, every checkpoint compared
 * with the tree that comes out. Nothing is written, nothing is locked; a ledger that is being
 * written to can be verified.
 *
 * One signature is enough for everything before it, since it signs a tree of all entries. So the
 * signatures that are checked are those of each segment's first and last checkpoint and those that
 * came from elsewhere; roots, sizes and names are checked in all.
 */
#include "ledger/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

enum { TELL_BYTES = 8 << 20 };

void verify_damage(struct verifier *v, uint64_t index, uint64_t offset, const char *format, ...)
{
    struct ledger_report *report = v->report;
    report->good = false;
    if (report->damage_count++ >= LEDGER_DAMAGES_MAX)
        return;
    struct ledger_damage *d = &report->damages[report->damage_count - 1];
    va_list arguments;
    *d = (struct ledger_damage){.index = index};
    if (offset) {
        d->located = true;
        d->segment = v->segment.first;
        d->offset = offset;
    }
    va_start(arguments, format);
    vsnprintf(d->text, sizeof(d->text), format, arguments);
    va_end(arguments);
}

/* --- checkpoints ----------------------------------------------------------------------------- */

static void check_last_signature(struct verifier *v)
{
    struct note note = {0};
    struct err why = {0};
    if (v->last_note_len == 0)
        return;
    if (note_read(v->last_note, v->last_note_len, &note, &why) < 0 ||
        note_check(&note, &v->key, &why) < 0)
        verify_damage(v, v->signed_size, v->last_note_offset, "%s", why.message);
    v->last_note_len = 0;
    v->report->signatures++;
}

/* The note of a checkpoint or start frame, whose tree is what the records came to. */
static void check_note(struct verifier *v, const char *text, size_t len, uint64_t index,
                       bool signature)
{
    struct note note = {0};
    struct err why = {0};
    struct merkle_hash root;
    int r = note_read(text, len, &note, &why);
    if (r == 0 && (note.len != len || len > sizeof(v->last_note)))
        r = err_set(&why, -EBADMSG, "more than a checkpoint stands in its frame");
    if (r == 0)
        r = note_check_name(&note, &v->key, &why);
    if (r == 0 && note.size != index)
        r = err_set(&why, -EBADMSG, "the checkpoint is for another number of entries");
    v->report->checkpoints++;
    if (r < 0) {
        verify_damage(v, v->tree.size, v->offset, "%s", why.message);
        return;
    }
    if (v->broken)
        return;
    merkle_root(&v->tree, &root);
    if (!merkle_same(&root, &note.root)) {
        verify_damage(v, v->signed_size, v->offset,
                      "the entries from %llu to here are not those that were signed: the "
                      "checkpoint for %llu has another root",
                      (unsigned long long)v->signed_size, (unsigned long long)index);
        v->broken = true;
        return;
    }
    v->signed_size = index;
    v->signed_root = root;
    memcpy(v->last_note, text, len);
    v->last_note_len = len;
    v->last_note_offset = v->offset;
    if (signature || v->options->all_signatures)
        check_last_signature(v);
}

/* --- one segment ----------------------------------------------------------------------------- */

/* Goes on behind something that is no frame. False: nothing follows. */
static int find_next(struct verifier *v, uint64_t end, uint64_t *ret_missing)
{
    struct frame f = {0};
    uint64_t at;
    int r = segment_find_frame(&v->segment, v->offset + 1, end,
                               1 << FRAME_RECORD | 1 << FRAME_CHECKPOINT, v->tree.size, &f, &at);
    if (r <= 0)
        return r;
    *ret_missing = f.index - v->tree.size;
    v->offset = at;
    v->chain = (struct frame_chain){.sum = f.before, .bytes = f.back};
    v->tree.size = f.index;
    v->broken = true;
    return 1;
}

/* Whether a checkpoint that is signed stands behind this place: then it is no unfinished write. */
static int signed_behind(struct verifier *v, uint64_t end, bool *ret)
{
    struct frame f = {0};
    struct note note = {0};
    uint64_t from = v->offset + 1, at;
    *ret = false;
    for (;;) {
        int r = segment_find_frame(&v->segment, from, end, 1 << FRAME_CHECKPOINT, v->tree.size, &f,
                                   &at);
        if (r <= 0)
            return r;
        /* An old one may be a part of a record that was not finished. */
        if (note_read((const char *)f.payload, f.length, &note, NULL) == 0 &&
            note.size > v->tree.size && note_check(&note, &v->key, NULL) == 0) {
            *ret = true;
            return 0;
        }
        from = at + 1;
    }
}

/* The frame at the offset; a bad one is read again, for a writer may have been writing it. */
static int read_frame(struct verifier *v, struct frame *ret)
{
    int found = segment_frame(&v->segment, v->offset, READ_MUCH, ret);
    if (found >= 0 && (found != FRAME_FOUND_WHOLE || !frame_follows(ret, &v->chain))) {
        segment_forget(&v->segment);
        found = segment_frame(&v->segment, v->offset, READ_MUCH, ret);
    }
    return found;
}

static void check_frame(struct verifier *v, const struct frame *f)
{
    if (f->type == FRAME_START || f->index != v->tree.size) {
        verify_damage(v, v->tree.size, v->offset, "an entry out of order: %llu instead of %llu",
                      (unsigned long long)f->index, (unsigned long long)v->tree.size);
        v->broken = true;
        v->tree.size = f->index;
    }
    if (f->type == FRAME_RECORD) {
        struct merkle_hash leaf;
        expected_compare(v);
        merkle_leaf(f->payload, f->length, &leaf);
        if (v->broken)
            v->tree.size++;
        else
            verify_leaf(v, &leaf);
    } else if (f->type == FRAME_CHECKPOINT) {
        check_note(v, (const char *)f->payload, f->length, f->index, false);
    }
}

/*
 * Whether the segment may end here, though the file does not. The last segment ends where a writer
 * is at work or died, unless something signed follows. One that was followed by another may have
 * space behind it that was allocated and never used.
 */
static int may_end(struct verifier *v, int found, uint64_t end, bool last, bool *ret)
{
    struct frame f = {0};
    uint64_t at;
    if (last) {
        bool is_signed;
        int r = signed_behind(v, end, &is_signed);
        *ret = !is_signed;
        return r;
    }
    int r = segment_find_frame(&v->segment, v->offset + 1, end,
                               1 << FRAME_RECORD | 1 << FRAME_CHECKPOINT, 0, &f, &at);
    *ret = r == 0 && found == FRAME_FOUND_NONE;
    return r < 0 ? r : 0;
}

/* What is no frame, before the end of the file. 0: the segment ends here; 1: go on. */
static int bad_place(struct verifier *v, int found, uint64_t end, bool last, struct err *e)
{
    bool ends = false;
    struct frame again = {0};
    uint64_t index = v->tree.size, offset = v->offset, missing = 0;
    int r = may_end(v, found, end, last, &ends);
    if (r == 0 && ends) {
        if (last && found != FRAME_FOUND_NONE)
            v->report->torn_bytes = end - offset;
        return 0;
    }
    if (r == 0) {
        /* By now it is whole, if it was only being written. */
        r = read_frame(v, &again);
        if (r == FRAME_FOUND_WHOLE && frame_follows(&again, &v->chain))
            return 1;
    }
    if (r >= 0)
        r = find_next(v, end, &missing);
    if (r < 0)
        return err_errno(e, r, "cannot read the ledger");
    v->broken = true;
    if (missing)
        verify_damage(v, index, offset, "entries %llu to %llu are damaged or missing",
                      (unsigned long long)index, (unsigned long long)(index + missing - 1));
    else
        verify_damage(v, index, offset,
                      r ? "damaged: what stands before the next whole frame"
                        : "damaged from here to the segment's end");
    return r;
}

static int tell_progress(struct verifier *v, uint64_t done)
{
    if (!v->options->progress || done - v->bytes_told < TELL_BYTES)
        return 0;
    v->bytes_told = done;
    return v->options->progress(v->options->user, done, v->bytes_all);
}

/* The segment's first frame, which must say what the segments before came to. */
static int check_start(struct verifier *v, bool begin, struct err *e)
{
    struct frame f = {0};
    struct merkle tree;
    struct note note = {0};
    struct err why = {0};
    struct merkle_hash is, should;
    v->offset = SEGMENT_HEADER;
    int r = segment_start(&v->segment, READ_MUCH, &f, &tree, &note, &why);
    if (r < 0 && r != -EBADMSG)
        return err_set(e, r, "%s", why.message);
    if (r < 0) {
        verify_damage(v, v->segment.first, SEGMENT_HEADER, "%s", why.message);
        v->broken = true;
        /* The records behind it may still be whole. */
        v->chain = (struct frame_chain){0};
        v->tree.size = v->segment.first;
        return 0;
    }
    v->chain = (struct frame_chain){0};
    frame_pass(&v->chain, &f);
    if (begin)
        v->tree = tree;
    merkle_root(&tree, &is);
    merkle_root(&v->tree, &should);
    if (!v->broken && (v->tree.size != tree.size || !merkle_same(&is, &should))) {
        verify_damage(v, v->signed_size, SEGMENT_HEADER,
                      "the segment starts with another tree than the entries before it give");
        v->broken = true;
    }
    v->tree.size = tree.size;
    check_note(v, note.text, note.len, f.index, true);
    v->offset += frame_bytes(&f);
    return 0;
}

static int check_segment(struct verifier *v, size_t number, bool begin, struct err *e)
{
    bool last = number + 1 == v->segment_count;
    uint64_t before = v->report->bytes;
    struct stat st;
    int r = segment_open(&v->segment, v->dir, v->segments[number], false, e);
    if (r < 0)
        return r == -ENOENT ? err_errno(e, r, "a segment") : r;
    if (fstat(v->segment.fd, &st) < 0)
        return err_errno(e, -errno, "cannot look at a segment");
    r = check_start(v, begin, e);
    if (r < 0)
        return r;
    for (;;) {
        struct frame f = {0};
        int found = read_frame(v, &f);
        if (found < 0)
            return err_errno(e, found, "cannot read the ledger");
        if (found != FRAME_FOUND_WHOLE || !frame_follows(&f, &v->chain)) {
            if (fstat(v->segment.fd, &st) < 0)
                return err_errno(e, -errno, "cannot look at a segment");
            if (v->offset >= (uint64_t)st.st_size)
                break;
            r = bad_place(v, found, (uint64_t)st.st_size, last, e);
            if (r < 0)
                return r;
            if (r == 0)
                break;
            continue;
        }
        check_frame(v, &f);
        frame_pass(&v->chain, &f);
        v->offset += frame_bytes(&f);
        v->report->bytes = before + v->offset;
        r = tell_progress(v, v->report->bytes);
        if (r != 0)
            return r < 0 ? err_errno(e, r, "the verification was ended") : r;
    }
    check_last_signature(v);
    v->report->segments++;
    if (!last && !v->broken &&
        (v->tree.size != v->segments[number + 1] || v->signed_size != v->tree.size)) {
        verify_damage(v, v->tree.size, v->offset,
                      "the segment ends before the next one starts, at entry %llu",
                      (unsigned long long)v->segments[number + 1]);
        v->broken = true;
    }
    return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

static int load_key(struct verifier *v, struct err *e)
{
    const struct ledger_verify_options *o = v->options;
    struct note_key own = {0};
    struct err why = {0};
    int r = key_load_public(v->dir, &own, &why);
    if (!o->key) {
        if (r < 0 && r != -EBADMSG && r != -ENOENT)
            return err_set(e, r, "%s", why.message);
        if (r < 0)
            return err_set(e, r, "%s; without it hand the public key in", why.message);
        v->key = own;
        return 0;
    }
    v->report->key_was_given = true;
    if (note_key_read(o->key, o->key_len, &v->key, e) < 0)
        return err_context(e, -EINVAL, "the key that was handed in");
    if (r < 0 || strcmp(own.name, v->key.name) != 0 ||
        memcmp(own.key, v->key.key, sizeof(own.key)) != 0)
        verify_damage(v, 0, 0, "'" KEY_PUBLIC_FILE "' is not the key that was handed in");
    return 0;
}

/* The segment to begin with. */
static size_t first_segment(const struct verifier *v)
{
    size_t number = 0;
    uint64_t size = v->expected_count ? v->expected[v->expected_count - 1].size : 0;
    if (v->options->since) {
        while (number + 1 < v->segment_count && v->segments[number + 1] <= size)
            number++;
    }
    return number;
}

static int verify(struct verifier *v, struct err *e)
{
    struct ledger_report *report = v->report;
    struct stat st;
    int r = load_key(v, e);
    if (r == 0)
        r = expected_gather(v, e);
    if (r == 0)
        r = segment_list(v->dir, v->allocator, &v->segments, &v->segment_count, e);
    if (r < 0)
        return r;
    snprintf(report->origin, sizeof(report->origin), "%s", v->key.name);
    if (v->segment_count == 0) {
        verify_damage(v, 0, 0, "there is no segment");
        return 0;
    }
    size_t begin = first_segment(v);
    for (size_t i = begin; i < v->segment_count; i++) {
        char name[SEGMENT_NAME_MAX];
        segment_name(v->segments[i], name);
        if (fstatat(v->dir, name, &st, 0) == 0)
            v->bytes_all += (uint64_t)st.st_size;
    }
    report->first = v->segments[0];
    report->since = v->segments[begin];
    if (begin == 0 && v->segments[0])
        r = verify_dropped(v, v->segments[0], e);
    for (size_t i = begin; i < v->segment_count && r == 0; i++)
        r = check_segment(v, i, i == begin && i > 0, e);
    if (r != 0)
        return r;
    expected_compare(v);
    report->size = v->signed_size;
    if (!v->broken)
        report->unsigned_records = v->tree.size - v->signed_size;
    expected_finish(v);
    memcpy(report->root, v->signed_root.bytes, sizeof(report->root));
    return 0;
}

int ledger_verify(const char *dir, const struct ledger_verify_options *options,
                  struct ledger_report *ret, struct err *e)
{
    static const struct ledger_verify_options none;
    const struct ledger_verify_options *o = options ? options : &none;
    const struct allocator *allocator = o->allocator ? o->allocator : &allocator_libc;
    struct verifier *v = alloc_resize(allocator, NULL, sizeof(*v));
    if (!v)
        return err_set(e, -ENOMEM, "out of memory");
    memset(v, 0, sizeof(*v));
    memset(ret, 0, sizeof(*ret));
    ret->good = true;
    v->allocator = allocator;
    v->options = o;
    v->report = ret;
    segment_init(&v->segment, allocator);
    v->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = v->dir < 0 ? err_errno(e, -errno, "cannot open the directory") : verify(v, e);
    segment_close(&v->segment);
    fd_close(&v->dir);
    alloc_free(allocator, v->segments);
    alloc_free(allocator, v->expected);
    alloc_free(allocator, v);
    if (r != 0)
        ret->good = false;
    return r < 0 ? err_context(e, r, "ledger '%s'", dir) : r;
}
