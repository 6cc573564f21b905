/*
 * The journal of a transaction: everything that is needed to do it, to finish it after a crash, and
 * to take it back. Written once, before the first step; whole or not at all, by the hash behind it.
 *
 *   "nacre journal 1\n", then numbers (64 bits, little-endian) and texts (length, bytes), then the
 *   SHA-256 of all that.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "changes/changes.h"

#define MAGIC "nacre journal 1\n"
#define NAME  "journal"

enum { JOURNAL_MAX = 1 << 30 };
/* An older journal has no word on what is allowed, and so it is not. */
enum { MET_CONFLICTS = 1 << 0, ALLOWED = 1 << 1 };

const char *const journal_state_names[JOURNAL_STATES] = {
    [JOURNAL_NONE] = "none",         [JOURNAL_HELD] = "held",       [JOURNAL_APPLYING] = "applying",
    [JOURNAL_APPLIED] = "applied",   [JOURNAL_UNDOING] = "undoing", [JOURNAL_UNDONE] = "undone",
    [JOURNAL_STRANDED] = "stranded",
};

/* --- writing --------------------------------------------------------------------------------- */

static void put_number(struct buf *b, uint64_t number)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    buf_append(b, bytes, sizeof(bytes));
}

static void put_bytes(struct buf *b, const char *bytes, size_t len)
{
    put_number(b, len);
    buf_append(b, bytes, len);
}

/* NULL is written as a text that no text can be: one byte, NUL. */
static void put_text(struct buf *b, const char *text)
{
    put_bytes(b, text ? text : "", text ? strlen(text) : 1);
}

static void put_side(struct buf *b, const struct change_side *side)
{
    put_number(b, side->mode);
    if (!side->mode)
        return;
    put_number(b, side->size);
    put_number(b, (uint64_t)side->mtime_ns);
    put_number(b, side->inode);
    put_number(b, (uint64_t)side->ctime_ns);
    put_number(b, side->attributes);
    put_number(b, side->hashed);
    if (side->hashed)
        buf_append(b, side->hash, sizeof(side->hash));
}

static void put_set(struct buf *b, const struct change_set *set)
{
    put_number(b, set->root_count);
    for (size_t i = 0; i < set->root_count; i++) {
        put_text(b, set->roots[i].path);
        put_number(b, set->roots[i].device);
        put_number(b, set->roots[i].inode);
        put_text(b, set->roots[i].layer);
    }
    put_number(b, set->bytes);
    put_number(b, set->change_count);
    for (size_t i = 0; i < set->change_count; i++) {
        const struct change *c = &set->changes[i];
        put_number(b, c->kind);
        put_number(b, c->root);
        put_text(b, c->path);
        put_text(b, c->from);
        put_text(b, c->to);
        put_number(b, c->step);
        put_side(b, &c->before);
        put_side(b, &c->after);
    }
    put_number(b, set->step_count);
    for (size_t i = 0; i < set->step_count; i++) {
        const struct step *s = &set->steps[i];
        put_number(b, s->kind);
        put_number(b, s->root);
        put_text(b, s->path);
        put_text(b, s->slot);
        put_side(b, &s->before);
        put_side(b, &s->after);
        put_bytes(b, s->attributes_before, s->attributes_before_len);
        put_bytes(b, s->attributes_after, s->attributes_after_len);
    }
}

int journal_write(int dir, const struct journal *journal, bool durable, struct err *e)
{
    struct buf b;
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    buf_init(&b, &allocator_libc, JOURNAL_MAX);
    buf_append_text(&b, MAGIC);
    put_text(&b, journal->id);
    put_number(&b, journal->state);
    put_number(&b, journal->sequence);
    put_number(&b, (uint64_t)journal->start_ns);
    put_number(&b, (journal->met_conflicts ? MET_CONFLICTS : 0) | (journal->allowed ? ALLOWED : 0));
    put_set(&b, &journal->set);
    sha256_start(&hash);
    sha256_add(&hash, b.data, b.len);
    sha256_end(&hash, digest);
    buf_append(&b, digest, sizeof(digest));
    int r = b.failed;
    FD_CLEANUP int fd = -1;
    if (r == 0) {
        fd = openat(dir, NAME ".new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        r = fd < 0 ? -errno : fd_write_all(fd, b.data, b.len);
    }
    if (r == 0 && ((durable && fdatasync(fd) < 0) || renameat(dir, NAME ".new", dir, NAME) < 0 ||
                   (durable && fsync(dir) < 0)))
        r = -errno;
    buf_release(&b);
    return r < 0 ? err_errno(e, r, "cannot write the journal") : 0;
}

void journal_remove(int dir)
{
    if (unlinkat(dir, NAME, 0) == 0)
        fsync(dir);
}

/* --- reading --------------------------------------------------------------------------------- */

struct reader {
    struct arena *arena;
    const char *at, *end;
    bool bad;
};

static uint64_t get_number(struct reader *r)
{
    uint64_t number = 0;
    if (r->bad || r->end - r->at < 8) {
        r->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < 8; i++)
        number |= (uint64_t)(unsigned char)r->at[i] << (8 * i);
    r->at += 8;
    return number;
}

static const char *get_bytes(struct reader *r, size_t *ret_len)
{
    uint64_t len = get_number(r);
    *ret_len = 0;
    if (r->bad || len > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return "";
    }
    const char *copy = arena_copy(r->arena, r->at, (size_t)len);
    r->at += len;
    r->bad |= !copy;
    *ret_len = (size_t)len;
    return copy ? copy : "";
}

static const char *get_text(struct reader *r)
{
    size_t len;
    const char *text = get_bytes(r, &len);
    if (len == 1 && text[0] == '\0')
        return NULL;
    r->bad |= strlen(text) != len;
    return text;
}

/* A path that a step may go to: relative, and without a part that climbs. */
static const char *get_path(struct reader *r)
{
    const char *path = get_text(r);
    if (!path || !path[0] || path[0] == '/') {
        r->bad = true;
        return ".";
    }
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        size_t len = strcspn(part, "/");
        bool self = len == 1 && part[0] == '.' && path[1] != '\0';
        if (len == 0 || self || (len == 2 && part[0] == '.' && part[1] == '.'))
            r->bad = true;
        if (r->bad)
            return ".";
    }
    return path;
}

static void get_side(struct reader *r, struct change_side *ret)
{
    ret->mode = (uint32_t)get_number(r);
    if (!ret->mode || r->bad)
        return;
    ret->size = get_number(r);
    ret->mtime_ns = (int64_t)get_number(r);
    ret->inode = get_number(r);
    ret->ctime_ns = (int64_t)get_number(r);
    ret->attributes = get_number(r);
    ret->hashed = get_number(r) != 0;
    if (!ret->hashed || r->bad)
        return;
    if ((size_t)(r->end - r->at) < sizeof(ret->hash)) {
        r->bad = true;
        return;
    }
    memcpy(ret->hash, r->at, sizeof(ret->hash));
    r->at += sizeof(ret->hash);
}

/* A count of things of which each takes at least one number. */
static size_t get_count(struct reader *r)
{
    uint64_t count = get_number(r);
    if (count > (uint64_t)(r->end - r->at) / 8)
        r->bad = true;
    return r->bad ? 0 : (size_t)count;
}

static void get_changes(struct reader *r, struct change_set *set)
{
    size_t count = get_count(r);
    set->changes = arena_alloc_array(r->arena, count ? count : 1, sizeof(*set->changes));
    r->bad |= !set->changes;
    for (size_t i = 0; i < count && !r->bad; i++) {
        struct change *c = &set->changes[i];
        uint64_t kind = get_number(r);
        c->kind = kind < CHANGE_KINDS ? (enum change_kind)kind : CHANGE_NONE;
        c->root = (uint32_t)get_number(r);
        c->path = get_path(r);
        c->from = get_text(r);
        c->to = get_text(r);
        c->step = (uint32_t)get_number(r);
        get_side(r, &c->before);
        get_side(r, &c->after);
        r->bad |= c->kind == CHANGE_NONE || c->root >= set->root_count;
    }
    set->change_count = set->change_room = count;
}

static void get_steps(struct reader *r, struct change_set *set)
{
    size_t count = get_count(r);
    set->steps = arena_alloc_array(r->arena, count ? count : 1, sizeof(*set->steps));
    r->bad |= !set->steps;
    for (size_t i = 0; i < count && !r->bad; i++) {
        struct step *s = &set->steps[i];
        uint64_t kind = get_number(r);
        s->kind = kind < STEP_KINDS ? (enum step_kind)kind : STEP_NONE;
        s->root = (uint32_t)get_number(r);
        s->path = get_path(r);
        s->slot = s->kind == STEP_META ? get_text(r) : get_path(r);
        get_side(r, &s->before);
        get_side(r, &s->after);
        s->attributes_before = get_bytes(r, &s->attributes_before_len);
        s->attributes_after = get_bytes(r, &s->attributes_after_len);
        r->bad |= s->kind == STEP_NONE || s->root >= set->root_count;
    }
    set->step_count = set->step_room = count;
    for (size_t i = 0; i < set->change_count && !r->bad; i++) {
        const struct change *c = &set->changes[i];
        r->bad = c->step >= count || !path_is_below(c->path, set->steps[c->step].path) ||
                 set->steps[c->step].root != c->root;
    }
}

static void get_set(struct reader *r, struct change_set *set)
{
    size_t count = get_count(r);
    set->roots = arena_alloc_array(r->arena, count ? count : 1, sizeof(*set->roots));
    r->bad |= !set->roots;
    for (size_t i = 0; i < count && !r->bad; i++) {
        struct change_root *root = &set->roots[i];
        root->path = get_text(r);
        root->device = get_number(r);
        root->inode = get_number(r);
        root->layer = get_text(r);
        r->bad |= !root->path || root->path[0] != '/' || !root->layer || root->layer[0] != '/';
    }
    set->root_count = r->bad ? 0 : count;
    set->bytes = get_number(r);
    if (!r->bad)
        get_changes(r, set);
    if (!r->bad)
        get_steps(r, set);
}

int journal_decode(struct arena *arena, const char *bytes, size_t len, struct journal *ret,
                   struct err *e)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    const size_t magic = strlen(MAGIC);
    if (len < magic + sizeof(digest) || memcmp(bytes, MAGIC, magic) != 0)
        return err_set(e, -EBADMSG, "the journal is not one, or of another version");
    sha256_start(&hash);
    sha256_add(&hash, bytes, len - sizeof(digest));
    sha256_end(&hash, digest);
    if (memcmp(digest, bytes + len - sizeof(digest), sizeof(digest)) != 0)
        return err_set(e, -EBADMSG, "the journal is damaged");
    struct reader r = {.arena = arena, .at = bytes + magic, .end = bytes + len - sizeof(digest)};
    struct journal journal = {0};
    const char *id = get_text(&r);
    if (!id || strlen(id) != UUID_TEXT)
        r.bad = true;
    else
        memcpy(journal.id, id, UUID_TEXT + 1);
    uint64_t state = get_number(&r);
    journal.state = state < JOURNAL_STATES ? (enum journal_state)state : JOURNAL_NONE;
    r.bad |= journal.state == JOURNAL_NONE;
    journal.sequence = get_number(&r);
    journal.start_ns = (int64_t)get_number(&r);
    uint64_t flags = get_number(&r);
    journal.met_conflicts = flags & MET_CONFLICTS;
    journal.allowed = flags & ALLOWED;
    r.bad |= (flags & ~(uint64_t)(MET_CONFLICTS | ALLOWED)) != 0;
    get_set(&r, &journal.set);
    if (arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    if (r.bad || r.at != r.end)
        return err_set(e, -EBADMSG, "the journal is damaged");
    *ret = journal;
    return 0;
}

int journal_peek(int dir, enum journal_state *ret)
{
    /* The magic, and the id as a text, come before it. */
    const size_t magic = strlen(MAGIC), at = magic + 8 + UUID_TEXT;
    char head[64 + 8 + UUID_TEXT + 8];
    FD_CLEANUP int fd =
        openat(dir, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (read(fd, head, at + 8) != (ssize_t)(at + 8) || memcmp(head, MAGIC, magic) != 0)
        return -EBADMSG;
    struct reader r = {.at = head + at, .end = head + at + 8};
    uint64_t state = get_number(&r);
    if (state == JOURNAL_NONE || state >= JOURNAL_STATES)
        return -EBADMSG;
    *ret = (enum journal_state)state;
    return 0;
}

int journal_read(int dir, struct arena *arena, struct journal *ret, struct err *e)
{
    FD_CLEANUP int fd =
        openat(dir, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return errno == ENOENT ? -ENOENT : err_errno(e, -errno, "cannot read the journal");
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > JOURNAL_MAX)
        return err_set(e, -EBADMSG, "the journal is damaged");
    char *bytes = alloc_resize(arena->allocator, NULL, (size_t)st.st_size + 1);
    size_t len = 0;
    ssize_t n = 1;
    while (bytes && len < (size_t)st.st_size &&
           (n = read(fd, bytes + len, (size_t)st.st_size - len)) > 0)
        len += (size_t)n;
    int r = !bytes  ? err_set(e, -ENOMEM, "out of memory")
            : n < 0 ? err_errno(e, -errno, "cannot read the journal")
                    : journal_decode(arena, bytes, len, ret, e);
    alloc_free(arena->allocator, bytes);
    return r;
}
