/* See sides.h. */
#include "changes/sides.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/beneath.h"
#include "changes/content.h"

struct side_place {
    int root, layer; /* negative errno: could not be opened */
};

int sides_open(struct arena *arena, const struct journal *journal, struct sides *ret, struct err *e)
{
    const enum journal_state state = journal->state;
    if (state != JOURNAL_HELD && state != JOURNAL_APPLIED && state != JOURNAL_UNDONE)
        return err_set(e, -EBUSY, "run '%s' is %s", journal->id, journal_state_names[state]);
    struct sides s = {.journal = journal};
    s.places = arena_alloc_array(arena, journal->set.root_count + 1, sizeof(*s.places));
    if (!s.places)
        return err_set(e, -ENOMEM, "out of memory");
    for (size_t i = 0; i < journal->set.root_count; i++) {
        const struct change_root *root = &journal->set.roots[i];
        s.places[i].root = change_root_open(root, -1);
        s.places[i].layer = open(root->layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (s.places[i].layer < 0)
            s.places[i].layer = -errno;
    }
    *ret = s;
    return 0;
}

void sides_close(struct sides *s)
{
    for (size_t i = 0; s->places && i < s->journal->set.root_count; i++) {
        fd_close(&s->places[i].root);
        fd_close(&s->places[i].layer);
    }
    s->places = NULL;
}

/*
 * Whether it is what the journal says. Moving an object changes its ctime, and only what is in the
 * root was looked at after the move; in the layer, which is nobody else's, the rest is enough.
 */
static bool is_recorded(const struct stat *st, const struct change_side *side, bool in_root)
{
    struct change_side now;
    change_side_of(st, &now);
    if (now.inode != side->inode)
        return false;
    return in_root ? now.ctime_ns == side->ctime_ns
                   : now.mtime_ns == side->mtime_ns && now.size == side->size;
}

static struct side_content failed(int error)
{
    return (struct side_content){.state = SIDE_UNREADABLE, .error = error};
}

static struct side_content read_file(int base, const char *path, const struct change_side *side,
                                     bool in_root, struct arena *arena)
{
    FD_CLEANUP int fd = beneath_open_file(base, path);
    struct stat st;
    if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP || fd == -ENXIO)
        return (struct side_content){.state = SIDE_CHANGED};
    if (fd < 0 || fstat(fd, &st) < 0)
        return failed(fd < 0 ? fd : -errno);
    if (!S_ISREG(st.st_mode))
        return (struct side_content){.state = SIDE_CHANGED};
    struct side_content c = {.state = SIDE_LARGE};
    if (st.st_size <= SIDE_BYTES_MAX) {
        size_t size = (size_t)st.st_size;
        char *bytes = arena_alloc(arena, size + 1);
        ssize_t n = 0;
        if (!bytes)
            return failed(-ENOMEM);
        while (c.len < size && (n = pread(fd, bytes + c.len, size - c.len, (off_t)c.len)) != 0) {
            if (n < 0 && errno != EINTR)
                return failed(-errno);
            c.len += n > 0 ? (size_t)n : 0;
        }
        c.state = SIDE_READ;
        c.bytes = bytes;
    }
    /* Looked at last: what was changed while it was read counts as well. */
    if (fstat(fd, &st) == 0 && is_recorded(&st, side, in_root))
        return c;
    unsigned char hash[SHA256_BYTES];
    if (side->hashed && content_hash(fd, hash) < 0)
        return failed(-EIO);
    if (!side->hashed || memcmp(hash, side->hash, sizeof(hash)) != 0)
        c = (struct side_content){.state = SIDE_CHANGED};
    return c;
}

static struct side_content read_link(int base, const char *path, const struct change_side *side,
                                     bool in_root, struct arena *arena)
{
    struct beneath b = BENEATH_AT(base);
    int parent;
    const char *name;
    char target[PATH_MAX];
    struct stat st;
    struct side_content c = {.state = SIDE_CHANGED};
    if (beneath_parent(&b, path, &parent, &name) == 0) {
        ssize_t n = readlinkat(parent, name, target, sizeof(target));
        if (n >= 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            is_recorded(&st, side, in_root)) {
            c.state = SIDE_READ;
            c.len = (size_t)n;
            c.bytes = arena_copy(arena, target, c.len);
            if (!c.bytes)
                c = failed(-ENOMEM);
        }
    }
    beneath_release(&b);
    return c;
}

void sides_read(const struct sides *s, const struct change *c, bool after, struct arena *arena,
                struct side_content *ret)
{
    const struct change_side *side = after ? &c->after : &c->before;
    const struct side_place *place = &s->places[c->root];
    const bool in_root = after == (s->journal->state == JOURNAL_APPLIED);
    *ret = (struct side_content){.state = SIDE_NONE};
    if (!S_ISREG(side->mode) && !S_ISLNK(side->mode))
        return;
    const char *path = in_root ? c->path : change_slot(&s->journal->set, c, arena);
    const int base = in_root ? place->root : place->layer;
    if (!path || base < 0)
        *ret = failed(base < 0 ? base : arena->failed ? -ENOMEM : -ENOENT);
    else if (S_ISREG(side->mode))
        *ret = read_file(base, path, side, in_root, arena);
    else
        *ret = read_link(base, path, side, in_root, arena);
}
