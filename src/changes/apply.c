/* The steps of a transaction, forward and back; see changes.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/attributes.h"
#include "changes/beneath.h"
#include "changes/changes.h"
#include "changes/content.h"
#include "changes/listing.h"

/* Where a root and its layer are open; the last directory of each is kept. */
struct place {
    int root_fd, layer_fd;
    struct beneath root, layer;
};

static void close_place(struct place *p)
{
    beneath_release(&p->root);
    beneath_release(&p->layer);
    fd_close(&p->root_fd);
    fd_close(&p->layer_fd);
}

static int open_place(const struct change_root *root, struct place *ret, struct err *e)
{
    ret->layer_fd = open(root->layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = ret->layer_fd < 0 ? -errno : 0;
    ret->root_fd = r < 0 ? -1 : change_root_open(root, ret->layer_fd);
    ret->root = (struct beneath)BENEATH_AT(ret->root_fd);
    ret->layer = (struct beneath)BENEATH_AT(ret->layer_fd);
    if (r < 0)
        err_errno(e, r, "cannot open '%s'", root->layer);
    else if (ret->root_fd == -ESTALE)
        r = err_set(e, -ESTALE, "'%s' is another directory now", root->path);
    else if (ret->root_fd < 0)
        r = err_errno(e, ret->root_fd, "cannot open '%s'", root->path);
    if (r < 0)
        close_place(ret);
    return r;
}

static int fail(const struct change_set *set, const struct step *step, int code, struct err *e)
{
    return err_errno(e, code, "cannot change '%s/%s'", set->roots[step->root].path, step->path);
}

/* The inode of what is there; 0: nothing. */
static int inode_at(struct beneath *b, const char *path, uint64_t *ret)
{
    struct stat st;
    int r = beneath_stat(b, path, &st);
    *ret = r == 0 ? st.st_ino : 0;
    return r == -ENOENT ? 0 : r;
}

/* --- moving ---------------------------------------------------------------------------------- */

/* A directory that its owner may not write to, opened up as long as something is done in it. */
struct opened {
    char path[40];
    mode_t mode; /* with its type; 0: it was not */
};

static void open_up(int dir, struct opened *ret)
{
    struct stat st;
    ret->mode = 0;
    snprintf(ret->path, sizeof(ret->path), "/proc/self/fd/%d", dir);
    if (fstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0700) != 0700 &&
        st.st_uid == geteuid() && chmod(ret->path, (st.st_mode & 07777) | 0700) == 0)
        ret->mode = st.st_mode;
}

static int close_again(const struct opened *o)
{
    return o->mode && chmod(o->path, o->mode & 07777) < 0 ? -errno : 0;
}

int changes_move(int from, const char *from_name, int to, const char *to_name, unsigned flags)
{
    if (renameat2(from, from_name, to, to_name, flags) == 0)
        return 0;
    if (errno != EACCES)
        return -errno;
    struct opened parents[2], objects[2] = {{.mode = 0}, {.mode = 0}};
    open_up(from, &parents[0]);
    open_up(to, &parents[1]);
    const int flags_open = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    FD_CLEANUP int first = openat(from, from_name, flags_open);
    FD_CLEANUP int second = flags & RENAME_EXCHANGE ? openat(to, to_name, flags_open) : -1;
    if (first >= 0)
        open_up(first, &objects[0]);
    if (second >= 0)
        open_up(second, &objects[1]);
    int r = renameat2(from, from_name, to, to_name, flags) < 0 ? -errno : 0;
    for (size_t i = 0; i < 2; i++) {
        int closed = close_again(&objects[i]);
        r = r < 0 ? r : closed;
        closed = close_again(&parents[i]);
        r = r < 0 ? r : closed;
    }
    return r;
}

/* Takes the overlay's notes off what leaves a layer; twice does no harm. */
static int strip_tree(int layer, const char *path, struct arena *arena)
{
    const char *slash = strrchr(path, '/');
    const char *dir = slash ? arena_copy(arena, path, (size_t)(slash - path)) : ".";
    FD_CLEANUP int parent = dir ? beneath_open(layer, dir, O_PATH | O_DIRECTORY) : -ENOMEM;
    char name[ATTRIBUTES_PATH];
    struct stat st;
    if (parent < 0)
        return parent;
    if (fstatat(parent, slash ? slash + 1 : path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode))
        return 0; /* they have none */
    attributes_path(parent, slash ? slash + 1 : path, name);
    int r = attributes_strip(name);
    if (r < 0 || !S_ISDIR(st.st_mode))
        return r;
    fd_close(&parent);
    struct listing inner; /* it can be read, since the scan */
    r = listing_read(arena, layer, path, &inner);
    for (size_t i = 0; r == 0 && i < inner.count; i++) {
        const char *below = listing_join(arena, path, inner.items[i].name);
        r = below ? strip_tree(layer, below, arena) : -ENOMEM;
    }
    return r;
}

/* A layer that was never committed has the overlay's notes on it. */
static int strip(const struct place *p, const struct step *step)
{
    enum { STRIP_BYTES_MAX = 512 << 20 };
    if (strncmp(step->slot, "upper/", 6) != 0)
        return 0;
    struct arena arena;
    arena_init(&arena, &allocator_libc, STRIP_BYTES_MAX);
    int r = strip_tree(p->layer_fd, step->slot, &arena);
    arena_release(&arena);
    return r;
}

/* --- one step -------------------------------------------------------------------------------- */

/* The mode that a directory is to have. One that the run did not change is whatever it is (C4),
 * unless a crash left it opened up. */
static mode_t wanted_mode(const struct step *step, bool forward, mode_t now)
{
    const mode_t before = step->before.mode & 07777, after = step->after.mode & 07777;
    if (before != after)
        return forward ? after : before;
    return now == (after | 0700) ? after : now;
}

static bool same_attributes(const struct step *step)
{
    return step->attributes_before_len == step->attributes_after_len &&
           memcmp(step->attributes_before, step->attributes_after, step->attributes_after_len) == 0;
}

/* Somebody has taken away a directory above it, or put something else there. */
static bool is_out_of_reach(int code)
{
    return code == -ENOENT || code == -ENOTDIR || code == -ELOOP;
}

static int do_meta(struct place *p, const struct step *step, bool forward)
{
    FD_CLEANUP int dir = beneath_open(p->root_fd, step->path, O_PATH | O_DIRECTORY);
    /* Of one that went with somebody else nobody misses the times. */
    if (!forward && is_out_of_reach(dir) && step->before.mode == step->after.mode &&
        same_attributes(step))
        return 0;
    if (dir < 0)
        return dir;
    const struct change_side *side = forward ? &step->after : &step->before;
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = side->mtime_ns / 1000000000, .tv_nsec = side->mtime_ns % 1000000000}};
    struct stat st;
    if (fstat(dir, &st) < 0)
        return -errno;
    const mode_t mode = wanted_mode(step, forward, st.st_mode & 07777);
    /* A directory that may not be searched cannot be named from within: its mode is set last. */
    struct opened opened;
    open_up(dir, &opened);
    char path[ATTRIBUTES_PATH];
    attributes_path(dir, ".", path);
    int r = 0;
    if (!same_attributes(step))
        r = forward ? attributes_write(path, step->attributes_after, step->attributes_after_len)
                    : attributes_write(path, step->attributes_before, step->attributes_before_len);
    if (r == 0 && utimensat(dir, ".", times, 0) < 0)
        r = -errno;
    if ((opened.mode || mode != (st.st_mode & 07777)) && chmod(opened.path, mode) < 0 && r == 0)
        r = -errno;
    return r;
}

static int do_move(struct place *p, const struct step *step, bool forward)
{
    int root = -1, layer = -1;
    const char *name = "", *slot = "";
    const uint64_t wanted = forward ? step->after.inode : step->before.inode;
    const uint64_t expected = forward ? step->before.inode : step->after.inode;
    uint64_t here = 0, kept = 0;
    int r = beneath_parent(&p->root, step->path, &root, &name);
    if (r == 0)
        r = inode_at(&p->root, step->path, &here);
    /* The place cannot be seen, but what lies in the slot tells that nothing was ever done there.
     */
    if (!forward && is_out_of_reach(r) && inode_at(&p->layer, step->slot, &kept) == 0 &&
        kept == expected)
        return 0;
    if (r == 0)
        r = beneath_parent(&p->layer, step->slot, &layer, &slot);
    if (r < 0)
        return r;
    if (here == wanted)
        return 0; /* done already (C2) */
    r = inode_at(&p->layer, step->slot, &kept);
    /* What would go to the slot is there: it was done, or never needs to be, and what is here now
     * is somebody else's, who came later (C4). */
    if (r == 0 && here != expected)
        r = kept == expected ? 1 : -EEXIST;
    else if (r == 0 && kept != wanted)
        r = -ESTALE; /* not what the journal speaks of */
    if (r != 0)
        return r < 0 ? r : 0;
    if (forward && wanted && (r = strip(p, step)) < 0)
        return r;
    if (!here)
        return changes_move(layer, slot, root, name, RENAME_NOREPLACE);
    return wanted ? changes_move(layer, slot, root, name, RENAME_EXCHANGE)
                  : changes_move(root, name, layer, slot, RENAME_NOREPLACE);
}

/* Moves first; what they did to times of directories is set right at the end. */
static int apply_root(const struct change_set *set, uint32_t root, bool forward, bool onward,
                      struct err *e)
{
    struct place place;
    int failure = open_place(&set->roots[root], &place, e);
    if (failure < 0)
        return failure;
    for (int meta = 0; meta < 2; meta++) {
        for (size_t i = 0; (failure == 0 || onward) && i < set->step_count; i++) {
            const struct step *step = &set->steps[i];
            if (step->root != root || (step->kind == STEP_META) != meta)
                continue;
            int r = meta ? do_meta(&place, step, forward) : do_move(&place, step, forward);
            if (r < 0 && failure == 0)
                failure = fail(set, step, r, e);
        }
    }
    close_place(&place);
    return failure;
}

int changes_apply(const struct change_set *set, bool forward, bool onward, struct err *e)
{
    int failure = 0;
    for (uint32_t root = 0; (failure == 0 || onward) && root < set->root_count; root++) {
        int r = apply_root(set, root, forward, onward, failure == 0 ? e : NULL);
        failure = failure < 0 ? failure : r;
    }
    return failure;
}

/* --- before and after ------------------------------------------------------------------------ */

static uint64_t hash_attributes(struct place *p, const char *path)
{
    enum { BYTES_MAX = 1 << 20 };
    struct arena arena;
    const char *name, *bytes;
    char full[ATTRIBUTES_PATH];
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    uint64_t number = 0;
    size_t len;
    int parent;
    arena_init(&arena, &allocator_libc, BYTES_MAX);
    if (beneath_parent(&p->root, path, &parent, &name) == 0) {
        attributes_path(parent, name, full);
        if (attributes_read(&arena, full, &bytes, &len) == 0 && len) {
            sha256_start(&hash);
            sha256_add(&hash, bytes, len);
            sha256_end(&hash, digest);
            memcpy(&number, digest, sizeof(number));
        }
    }
    arena_release(&arena);
    return number;
}

/*
 * Whether it is the same object and nobody has written to it, though its time of change is another:
 * an undo of a later run has moved it away and back.
 */
static bool same_object(struct place *p, const char *path, const struct change_side *now,
                        const struct change_side *side)
{
    return now->inode == side->inode && now->mtime_ns == side->mtime_ns &&
           now->size == side->size && now->mode == side->mode &&
           hash_attributes(p, path) == side->attributes;
}

/* Whether the content is what it was, though the object may not be the same. */
static bool same_content(struct place *p, const char *path, const struct stat *st,
                         const struct change_side *side)
{
    unsigned char hash[SHA256_BYTES];
    if (!side->hashed || !S_ISREG(st->st_mode) || (uint64_t)st->st_size != side->size ||
        (st->st_mode & 07777) != (side->mode & 07777))
        return false;
    FD_CLEANUP int fd = beneath_open_file(p->root_fd, path);
    return fd >= 0 && content_hash(fd, hash) == 0 && memcmp(hash, side->hash, sizeof(hash)) == 0;
}

/* --- which paths the journal knows ----------------------------------------------------------- */

/* Changes by root and path; those with the same path stand together. */
struct known {
    const struct change **items;
    size_t count;
    bool forward;
    bool either; /* the other side of a change will do, too */
};

static int compare_changes(const void *a, const void *b)
{
    const struct change *x = *(const struct change *const *)a,
                        *y = *(const struct change *const *)b;
    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    return strcmp(x->path, y->path);
}

static const struct change_side *present(const struct known *k, const struct change *c)
{
    const struct change_side *side = k->forward ? &c->before : &c->after;
    return k->either && !side->mode ? (k->forward ? &c->after : &c->before) : side;
}

/* What is to be at a path now, by any of its changes; NULL: nothing. */
static const struct change_side *find_present(const struct known *k, uint32_t root,
                                              const char *path)
{
    const struct change key = {.root = root, .path = path}, *wanted = &key;
    const size_t size = sizeof(*k->items); /* NOLINT(bugprone-sizeof-expression): pointers */
    const struct change **found =
        k->count ? bsearch(&wanted, k->items, k->count, size, compare_changes) : NULL;
    if (!found)
        return NULL;
    while (found > k->items && compare_changes(found - 1, found) == 0)
        found--;
    for (; found < k->items + k->count && compare_changes(found, &wanted) == 0; found++) {
        if (present(k, *found)->mode)
            return present(k, *found);
    }
    return NULL;
}

/* Whether the journal knows anything of what is in a directory. */
static bool knows_inside(const struct known *k, uint32_t root, const char *path)
{
    const size_t len = strlen(path);
    size_t low = 0, high = k->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct change *c = k->items[middle];
        int order = c->root != root ? (c->root < root ? -1 : 1) : strncmp(c->path, path, len);
        if (order < 0 || (order == 0 && (unsigned char)c->path[len] < '/'))
            low = middle + 1;
        else
            high = middle;
    }
    return low < k->count && k->items[low]->root == root &&
           strncmp(k->items[low]->path, path, len) == 0 && k->items[low]->path[len] == '/';
}

/* Why it is not what it should be; NULL: it is, or `ret_other`, with the same content, is. */
static const char *check_side(struct place *p, const struct known *k, const struct change *c,
                              bool forward, struct change_side *ret_other)
{
    struct stat st;
    const struct change_side *side = forward ? &c->before : &c->after;
    int r = beneath_stat(&p->root, c->path, &st);
    /* A link where a directory above it was: then it is not there. */
    if (r < 0 && r != -ENOENT && r != -ENOTDIR && r != -ELOOP)
        return "cannot be looked at";
    if (k->either && (r == -ENOTDIR || r == -ELOOP))
        return "is out of reach: something else is in the place of a directory above it";
    if (!side->mode)
        return r == 0 && !find_present(k, c->root, c->path) ? "is there already" : NULL;
    if (r < 0)
        return "is gone";
    if ((st.st_mode & S_IFMT) != (side->mode & S_IFMT))
        return "is something else now";
    /* What is in a directory counts by itself. A mode that the run has changed, and somebody else
     * has changed, too, is a conflict. */
    struct change_side now;
    change_side_of(&st, &now);
    if (S_ISDIR(st.st_mode) && now.inode != side->inode)
        *ret_other = now;
    if (S_ISDIR(st.st_mode))
        return c->before.mode && c->after.mode && c->before.mode != c->after.mode &&
                       st.st_mode != c->before.mode && st.st_mode != c->after.mode &&
                       st.st_mode != (side->mode | 0700) /* opened up, to be looked into */
                   ? "has another mode now"
                   : NULL;
    if (now.inode == side->inode && now.ctime_ns == side->ctime_ns)
        return NULL;
    if (same_object(p, c->path, &now, side))
        return NULL;
    if (!same_content(p, c->path, &st, side))
        return "was changed since";
    *ret_other = now;
    return NULL;
}

static const char *check_one(struct place *p, const struct known *k, const struct change *c,
                             struct change_side *ret_other)
{
    const char *why = check_side(p, k, c, k->forward, ret_other);
    return why && k->either ? check_side(p, k, c, !k->forward, ret_other) : why;
}

/* Another object with the same content stands for the one that was expected from here on. */
static void adopt(struct change_set *set, size_t index, bool forward, const struct change_side *now)
{
    struct change *c = &set->changes[index];
    struct step *step = &set->steps[c->step];
    struct change_side *side = forward ? &c->before : &c->after;
    side->inode = now->inode;
    side->ctime_ns = now->ctime_ns;
    side->mtime_ns = now->mtime_ns;
    if (strcmp(step->path, c->path) == 0)
        (forward ? &step->before : &step->after)->inode = now->inode;
}

/* What the journal does not know in a directory that is to be moved as a whole (C4). */
static int check_strangers(struct place *p, const struct known *k, const struct change_root *root,
                           uint32_t index, const char *path, struct conflicts *conflicts)
{
    const struct change_side *side = find_present(k, index, path);
    if (side && (side->mode & 0500) != 0500 && !knows_inside(k, index, path))
        return 0; /* it could not be looked into, and is taken as it is */
    struct listing inner;
    int r = listing_read(conflicts->arena, p->root_fd, path, &inner);
    if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EACCES)
        return 0; /* told by its own change, or not to be read by us nor by anybody like us */
    for (size_t i = 0; r == 0 && i < inner.count; i++) {
        const char *below = listing_join(conflicts->arena, path, inner.items[i].name);
        if (!below)
            return -ENOMEM;
        if (!find_present(k, index, below))
            r = conflict_add(conflicts, root->path, below, "is new there");
        else if (S_ISDIR(inner.items[i].st.st_mode))
            r = check_strangers(p, k, root, index, below, conflicts);
    }
    return r;
}

static int check_root(struct change_set *set, uint32_t root, const struct known *k,
                      struct conflicts *conflicts, struct err *e)
{
    struct place place;
    int r = open_place(&set->roots[root], &place, e);
    if (r < 0)
        return r;
    const char *where = set->roots[root].path;
    for (size_t i = 0; r == 0 && i < k->count; i++) {
        const struct change *c = k->items[i];
        struct change_side other = {0};
        const char *why = c->root == root ? check_one(&place, k, c, &other) : NULL;
        if (other.inode && !k->either)
            adopt(set, (size_t)(c - set->changes), k->forward, &other);
        if (why && conflict_add(conflicts, where, c->path, why) < 0)
            r = err_set(e, -ENOMEM, "out of memory");
    }
    for (size_t i = 0; r == 0 && i < set->step_count; i++) {
        const struct step *step = &set->steps[i];
        const bool moves_directory = (S_ISDIR(step->before.mode) && (k->forward || k->either)) ||
                                     (S_ISDIR(step->after.mode) && (!k->forward || k->either));
        if (step->root != root || step->kind == STEP_META || !moves_directory)
            continue;
        r = check_strangers(&place, k, &set->roots[root], root, step->path, conflicts);
        if (r < 0)
            fail(set, step, r, e);
    }
    close_place(&place);
    return r;
}

static int check_all(struct change_set *set, bool forward, bool either, struct conflicts *conflicts,
                     struct err *e)
{
    struct known k = {.count = set->change_count, .forward = forward, .either = either};
    k.items = arena_alloc_array(conflicts->arena, k.count ? k.count : 1, sizeof(struct change *));
    if (!k.items)
        return err_set(e, -ENOMEM, "out of memory");
    for (size_t i = 0; i < k.count; i++)
        k.items[i] = &set->changes[i];
    if (k.count)
        qsort(k.items, k.count, sizeof(struct change *), compare_changes);
    int r = 0;
    for (uint32_t root = 0; r == 0 && root < set->root_count; root++)
        r = check_root(set, root, &k, conflicts, e);
    return r;
}

int changes_check(struct change_set *set, bool forward, struct conflicts *conflicts, struct err *e)
{
    return check_all(set, forward, false, conflicts, e);
}

int changes_check_either(struct change_set *set, struct conflicts *conflicts, struct err *e)
{
    return check_all(set, true, true, conflicts, e);
}

int changes_identify(struct change_set *set, bool forward, struct err *e)
{
    int r = 0;
    for (uint32_t root = 0; r == 0 && root < set->root_count; root++) {
        struct place place;
        r = open_place(&set->roots[root], &place, e);
        if (r < 0)
            return r;
        for (size_t i = 0; r == 0 && i < set->change_count; i++) {
            struct change *c = &set->changes[i];
            struct change_side *side = forward ? &c->after : &c->before, now;
            struct stat st;
            if (c->root != root || !side->mode || beneath_stat(&place.root, c->path, &st) < 0)
                continue;
            change_side_of(&st, &now);
            /* Only of what we put there: somebody may have been faster. */
            if (side->inode != now.inode || side->mtime_ns != now.mtime_ns ||
                side->size != now.size)
                continue;
            side->ctime_ns = now.ctime_ns;
            side->attributes = hash_attributes(&place, c->path);
        }
        close_place(&place);
    }
    return r;
}
