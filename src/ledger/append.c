/*
 * Appending, and making durable together.
 *
 * A record is written under the append lock, which is held for a few microseconds. Then its writer
 * tries for the sync lock. Who gets it leads: it writes one signed checkpoint for all records so
 * far and calls fdatasync once, while others go on appending. Who does not get it sleeps until the
 * durable size has moved, and finds itself durable, or tries for the lead again. Both locks belong
 * to the kernel and die with their holder; sleepers look for themselves now and then (G5).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/internal.h"

/* --- the append lock ------------------------------------------------------------------------- */

int append_open_segment(struct ledger *l, uint64_t first, struct err *e)
{
    if (l->segment.fd >= 0 && l->segment.fd == l->syncing) {
        l->segment.fd = -1;
        l->syncing_is_last = true;
    }
    return segment_open(&l->segment, l->dir, first, true, e);
}

/*
 * Somebody's fdatasync failed. The kernel may have forgotten that pages were not written, so that
 * the next fdatasync would succeed without them: write them once more first.
 */
static int write_again(struct ledger *l, struct err *e)
{
    struct lockfile_state *s = l->state.shared;
    char *part = alloc_resize(l->allocator, NULL, READ_MUCH);
    int r = part ? 0 : -ENOMEM;
    for (uint64_t at = 0; r == 0 && at < s->end;) {
        size_t want = s->end - at < READ_MUCH ? (size_t)(s->end - at) : READ_MUCH;
        ssize_t n = pread(l->segment.fd, part, want, (off_t)at);
        if (n > 0)
            n = pwrite(l->segment.fd, part, (size_t)n, (off_t)at);
        if (n <= 0)
            r = n < 0 ? -errno : -EIO;
        else
            at += (uint64_t)n;
    }
    alloc_free(l->allocator, part);
    if (r < 0)
        return err_errno(e, r, "cannot write the ledger again after a failed sync");
    s->sync_failed = 0;
    return 0;
}

int append_check(const struct ledger *l, struct err *e)
{
    if (l->read_only)
        return err_set(e, -EROFS, "the ledger was opened for reading only");
    if (getpid() != l->owner)
        return err_set(e, -EPERM, "the ledger was opened by another process: open it again");
    return 0;
}

int append_lock(struct ledger *l, struct err *e)
{
    struct lockfile_state *s = l->state.shared;
    pthread_mutex_lock(&l->append_mutex);
    int r = lockfile_lock(&l->state, LOCKFILE_APPEND);
    if (r < 0) {
        pthread_mutex_unlock(&l->append_mutex);
        return err_errno(e, r, "cannot lock the ledger");
    }
    if (l->failed)
        r = err_errno(e, l->failed, "the ledger gave up after a failed sync");
    else if (!lockfile_is_current(&l->state))
        r = err_set(e, -ESTALE, "the ledger's lock file was removed while it was open");
    if (r == 0 && (!l->attached || s->dirty)) {
        r = recover_end(l, e);
        l->attached = r == 0;
    }
    if (r == 0 && l->segment.first != s->segment) {
        r = append_open_segment(l, s->segment, e);
        if (r == -ENOENT)
            r = err_errno(e, r, "the ledger's last segment");
        /* Looked at again the next time, for the descriptor is gone. */
        l->attached = r == 0;
    }
    if (r == 0 && s->sync_failed)
        r = write_again(l, e);
    if (r < 0)
        append_unlock(l);
    return r;
}

void append_unlock(struct ledger *l)
{
    lockfile_unlock(&l->state, LOCKFILE_APPEND);
    pthread_mutex_unlock(&l->append_mutex);
}

void notices_tell(struct ledger *l)
{
    pthread_mutex_lock(&l->append_mutex);
    struct ledger_notice cut = l->cut;
    l->cut.kind = LEDGER_NOTICE_NONE;
    pthread_mutex_unlock(&l->append_mutex);
    if (cut.kind != LEDGER_NOTICE_NONE && l->notice)
        l->notice(l->user, &cut);
}

/* --- writing frames: the append lock is held ------------------------------------------------- */

/* Frames that are being put together in l->out, and what the state will be with them. */
struct batch {
    struct frame_chain chain;
    struct merkle tree;
    uint64_t signed_offset;
    bool is_signed; /* a checkpoint is among them, behind all records */
};

static void batch_start(struct ledger *l, struct batch *b)
{
    const struct lockfile_state *s = l->state.shared;
    buf_clear(&l->out);
    b->chain = s->chain;
    b->tree = s->tree;
    b->is_signed = false;
}

static void batch_record(struct ledger *l, struct batch *b, const void *bytes, size_t len,
                         const struct merkle_hash *leaf)
{
    frame_write(&l->out, &b->chain, FRAME_RECORD, b->tree.size, bytes, len);
    merkle_add(&b->tree, leaf);
}

static void batch_checkpoint(struct ledger *l, struct batch *b)
{
    char note[NOTE_MAX];
    struct merkle_hash root;
    merkle_root(&b->tree, &root);
    size_t len = note_write(&l->signer, b->tree.size, &root, note);
    b->signed_offset = l->state.shared->end + l->out.len;
    b->is_signed = true;
    frame_write(&l->out, &b->chain, FRAME_CHECKPOINT, b->tree.size, note, len);
}

static int write_at(int fd, const char *bytes, size_t len, uint64_t offset)
{
    while (len) {
        ssize_t n = pwrite(fd, bytes, len, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        bytes += n;
        len -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

static int batch_write(struct ledger *l, const struct batch *b, struct err *e)
{
    struct lockfile_state *s = l->state.shared;
    if (l->out.failed)
        return err_errno(e, l->out.failed, "cannot append to the ledger");
    /* Space that is allocated already makes fdatasync a third cheaper: the file's size need not be
     * written. Where that cannot be had, the file just grows. */
    if (s->end + l->out.len > s->room &&
        fallocate(l->segment.fd, 0, (off_t)s->end, (off_t)l->out.len + ROOM_BYTES) == 0)
        s->room = s->end + l->out.len + ROOM_BYTES;
    __atomic_store_n(&s->dirty, 1, __ATOMIC_RELEASE);
    int r = write_at(l->segment.fd, l->out.data, l->out.len, s->end);
    if (r < 0) {
        /* What was written of it goes; if even that fails, the next writer will see to it. */
        if (ftruncate(l->segment.fd, (off_t)s->end) == 0) {
            s->room = s->end;
            __atomic_store_n(&s->dirty, 0, __ATOMIC_RELEASE);
        }
        return err_errno(e, r, "cannot append to the ledger");
    }
    s->end += l->out.len;
    s->chain = b->chain;
    s->tree = b->tree;
    if (b->is_signed) {
        __atomic_store_n(&s->signed_offset, b->signed_offset, __ATOMIC_RELEASE);
        s->signed_tree = b->tree;
    }
    __atomic_store_n(&s->dirty, 0, __ATOMIC_RELEASE);
    return 0;
}

int append_checkpoint(struct ledger *l, struct err *e)
{
    const struct lockfile_state *s = l->state.shared;
    struct batch b;
    if (s->signed_tree.size == s->tree.size)
        return 0;
    batch_start(l, &b);
    batch_checkpoint(l, &b);
    return batch_write(l, &b, e);
}

/* A segment that is large enough is followed by another, before the record. */
static int rotate_if_full(struct ledger *l, size_t len, struct err *e)
{
    const struct lockfile_state *s = l->state.shared;
    if (s->end + FRAME_HEADER + len <= l->segment_bytes || s->tree.size == s->segment)
        return 0;
    int r = append_checkpoint(l, e);
    if (r < 0)
        return r;
    /* What was allocated ahead and not used goes; that it may fail harms nothing. */
    if (ftruncate(l->segment.fd, (off_t)s->end) < 0 && errno == EIO)
        return err_errno(e, -EIO, "cannot end the segment");
    if (fdatasync(l->segment.fd) < 0)
        return append_give_up(l, -errno, e);
    append_publish_durable(l, s->tree.size);
    struct merkle tree = s->tree;
    return segment_begin(l, &tree, e);
}

/* --- the sync lock --------------------------------------------------------------------------- */

int append_give_up(struct ledger *l, int code, struct err *e)
{
    __atomic_store_n(&l->failed, code, __ATOMIC_RELEASE);
    __atomic_store_n(&l->state.shared->sync_failed, 1, __ATOMIC_RELEASE);
    return err_errno(e, code, "cannot make the ledger durable");
}

void append_publish_durable(struct ledger *l, uint64_t size)
{
    lockfile_raise_size(&l->state.shared->durable, size);
    lockfile_wake(&l->state);
}

static bool sync_try(struct ledger *l)
{
    if (pthread_mutex_trylock(&l->sync_mutex) != 0)
        return false;
    if (lockfile_try_lock(&l->state, LOCKFILE_SYNC) == 0)
        return true;
    pthread_mutex_unlock(&l->sync_mutex);
    return false;
}

static void sync_release(struct ledger *l)
{
    lockfile_unlock(&l->state, LOCKFILE_SYNC);
    pthread_mutex_unlock(&l->sync_mutex);
}

/* What a leader syncs, taken with the append lock held. */
struct lead {
    int fd;
    uint64_t size;
    char note[NOTE_MAX];
    size_t note_len;
};

static void lead_take(struct ledger *l, struct lead *lead)
{
    const struct lockfile_state *s = l->state.shared;
    struct merkle_hash root;
    lead->fd = l->segment.fd;
    lead->size = s->signed_tree.size;
    lead->note_len = 0;
    l->syncing = lead->fd;
    l->syncing_is_last = false;
    if (l->hook_count) {
        merkle_root(&s->signed_tree, &root);
        lead->note_len = note_write(&l->signer, lead->size, &root, lead->note);
    }
}

/* The sync lock is held, the append lock is not any more. */
static int lead_sync(struct ledger *l, const struct lead *lead, struct err *e)
{
    int r = fdatasync(lead->fd) < 0 ? -errno : 0;
    pthread_mutex_lock(&l->append_mutex);
    if (l->syncing_is_last)
        close(lead->fd);
    l->syncing = -1;
    l->syncing_is_last = false;
    if (r < 0)
        r = append_give_up(l, r, e);
    pthread_mutex_unlock(&l->append_mutex);
    if (r == 0)
        append_publish_durable(l, lead->size);
    else
        lockfile_wake(&l->state);
    return r;
}

/* What comes after a batch is durable: none of it can fail the append. */
static void follow_up(struct ledger *l, const struct lead *lead)
{
    struct err e = {0};
    if (tiles_follow(l, lead->size, &e) < 0 && l->notice) {
        struct ledger_notice notice = {.kind = LEDGER_NOTICE_TILES, .text = e.message};
        l->notice(l->user, &notice);
    }
    if (lead->note_len)
        send_checkpoint(l, lead->note, lead->note_len, false);
}

int ledger_sync(struct ledger *l, uint64_t index, struct err *e)
{
    int checked = append_check(l, e);
    if (checked < 0)
        return checked;
    for (;;) {
        uint32_t epoch = __atomic_load_n(&l->state.shared->epoch, __ATOMIC_ACQUIRE);
        if (lockfile_get_size(&l->state.shared->durable) > index)
            return 0;
        int failed = __atomic_load_n(&l->failed, __ATOMIC_ACQUIRE);
        if (failed)
            return err_errno(e, failed, "the ledger gave up after a failed sync");
        if (!sync_try(l)) {
            lockfile_wait(&l->state, epoch);
            continue;
        }
        struct lead lead = {.fd = -1};
        int r = 0;
        bool done = lockfile_get_size(&l->state.shared->durable) > index;
        if (!done) {
            r = append_lock(l, e);
            if (r == 0) {
                r = index < l->state.shared->tree.size
                        ? append_checkpoint(l, e)
                        : err_set(e, -ERANGE, "the ledger has no entry %llu to make durable",
                                  (unsigned long long)index);
                if (r == 0)
                    lead_take(l, &lead);
                append_unlock(l);
            }
            if (r == 0)
                r = lead_sync(l, &lead, e);
        }
        sync_release(l);
        notices_tell(l);
        if (r == 0 && !done)
            follow_up(l, &lead);
        if (r < 0 || done)
            return r;
    }
}

/* --- appending ------------------------------------------------------------------------------- */

static int check_record(const struct ledger *l, size_t len, struct err *e)
{
    if (len > LEDGER_RECORD_MAX)
        return err_set(e, -E2BIG, "a record of %zu bytes: the ledger takes at most %d", len,
                       LEDGER_RECORD_MAX);
    return append_check(l, e);
}

/* Appends the record, and with it a checkpoint if `lead` is not NULL. */
static int append_one(struct ledger *l, const void *bytes, size_t len, struct lead *lead,
                      struct ledger_place *ret, struct err *e)
{
    struct merkle_hash leaf;
    struct batch b;
    merkle_leaf(bytes, len, &leaf);
    int r = append_lock(l, e);
    if (r < 0)
        return r;
    r = rotate_if_full(l, len, e);
    if (r == 0) {
        batch_start(l, &b);
        ret->index = b.tree.size;
        batch_record(l, &b, bytes, len, &leaf);
        if (lead)
            batch_checkpoint(l, &b);
        r = batch_write(l, &b, e);
    }
    if (r == 0 && lead)
        lead_take(l, lead);
    append_unlock(l);
    memcpy(ret->leaf, leaf.bytes, sizeof(ret->leaf));
    return r;
}

int ledger_append_later(struct ledger *l, const void *bytes, size_t len, struct ledger_place *ret,
                        struct err *e)
{
    struct ledger_place place;
    int r = check_record(l, len, e);
    if (r < 0)
        return r;
    r = append_one(l, bytes, len, NULL, &place, e);
    notices_tell(l);
    if (r == 0 && ret)
        *ret = place;
    return r;
}

int ledger_append(struct ledger *l, const void *bytes, size_t len, struct ledger_place *ret,
                  struct err *e)
{
    struct ledger_place place;
    struct lead lead;
    int r = check_record(l, len, e);
    if (r < 0)
        return r;
    if (sync_try(l)) {
        /* Nobody else is at it: record and checkpoint in one write. */
        r = append_one(l, bytes, len, &lead, &place, e);
        if (r == 0)
            r = lead_sync(l, &lead, e);
        sync_release(l);
        notices_tell(l);
        if (r == 0)
            follow_up(l, &lead);
    } else {
        r = append_one(l, bytes, len, NULL, &place, e);
        notices_tell(l);
        if (r == 0)
            r = ledger_sync(l, place.index, e);
    }
    if (r == 0 && ret)
        *ret = place;
    return r;
}
