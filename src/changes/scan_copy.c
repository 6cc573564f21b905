/*
 * From a copy of a root to a list of changes (copy.h): what differs from the root, and was touched
 * since the copy was made, is what the run did.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "changes/beneath.h"
#include "changes/scan.h"

static int scan_copied(const struct scanner *s, const char *path, const struct stat *st);

/* When it came to be, by the file system; 0: that does not say. */
static int64_t born(const struct scanner *s, const char *path)
{
    FD_CLEANUP int fd = beneath_open(s->upper, path, O_PATH);
    struct statx st;
    if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BTIME, &st) < 0 ||
        !(st.stx_mask & STATX_BTIME))
        return 0;
    return (int64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
}

/* Whether the run has done anything to it, or to what is below it. */
static int is_touched(const struct scanner *s, const char *path, const struct stat *st)
{
    struct change_side side;
    change_side_of(st, &side);
    if (side.ctime_ns >= s->set->roots[s->root].copied_ns)
        return 1;
    struct listing above = {0};
    int r = S_ISDIR(st->st_mode) ? scan_list_above(s, path, st, &above) : 0;
    for (size_t i = 0; r == 0 && i < above.count; i++) {
        const char *inner = scan_join(s, path, above.items[i].name, &r);
        if (r == 0)
            r = is_touched(s, inner, &above.items[i].st);
    }
    int closed = S_ISDIR(st->st_mode) && r >= 0 ? scan_close_above(s, path, st) : 0;
    return closed < 0 ? closed : r;
}

/* Where it lies in the root itself, it is no part of it. */
static bool is_our_store(const struct scanner *s, const char *dir, const char *name)
{
    const struct change_root *root = &s->set->roots[s->root];
    const char *path = listing_join(s->arena, dir, name);
    size_t len = strlen(root->path);
    return path && strncmp(root->layer, root->path, len) == 0 && root->layer[len] == '/' &&
           path_is_below(root->layer + len + 1, path);
}

/* In the copy alone: made by the run, or moved there; or removed from the root meanwhile. */
static int scan_copied_only(const struct scanner *s, const char *dir, const struct listed *item,
                            const char *path)
{
    int touched = is_touched(s, path, &item->st);
    if (touched <= 0)
        return touched; /* somebody removed it, and the run does not mind */
    int64_t birth = born(s, path);
    if (birth && birth < s->set->roots[s->root].copied_ns && scan_changed_since(s, dir))
        return scan_add_conflict(s, path, "was deleted while the command ran");
    int r = scan_add_step(s, STEP_PUT, path, NULL, &item->st);
    return r < 0 ? r : scan_created(s, path, &item->st);
}

static int scan_copied_entry(const struct scanner *s, const char *dir, struct listed *above,
                             const struct listed *below, const char *path)
{
    if (scan_is_refused(&above->st)) {
        int r = scan_refuse(s, dir, above, path);
        if (r < 0 || !below || scan_is_refused(&below->st))
            return r;
        r = scan_add_step(s, STEP_TAKE, path, &below->st, NULL); /* it had to go for that */
        return r < 0 ? r : scan_deleted(s, path, &below->st);
    }
    if (!below) {
        int r = scan_strip_setid(s, dir, above, path);
        return r < 0 ? r : scan_copied_only(s, dir, above, path);
    }
    if (S_ISDIR(above->st.st_mode) && S_ISDIR(below->st.st_mode))
        return scan_copied(s, path, &above->st);
    struct change_side side;
    change_side_of(&above->st, &side);
    if (side.ctime_ns < s->set->roots[s->root].copied_ns)
        return 0; /* nobody has touched it */
    int r = scan_strip_setid(s, dir, above, path);
    return r < 0 ? r : scan_both(s, dir, above, below, path);
}

static int scan_copied(const struct scanner *s, const char *path, const struct stat *st)
{
    struct listing above = {0}, below = {0};
    bool moved = false;
    int r = scan_list_above(s, path, st, &above);
    if (r == 0)
        r = scan_list_below(s, path, &below);
    for (size_t i = 0; r == 0 && i < above.count; i++) {
        const char *inner = scan_join(s, path, above.items[i].name, &r);
        size_t steps = s->set->step_count;
        if (r == 0)
            r = scan_copied_entry(s, path, &above.items[i],
                                  listing_find(&below, above.items[i].name), inner);
        moved |= r == 0 && scan_was_moved(s, inner, steps);
    }
    for (size_t i = 0; r == 0 && i < below.count; i++) {
        const struct listed *item = &below.items[i];
        struct change_side side;
        change_side_of(&item->st, &side);
        /* What came after the copy was made was not in it; sockets and devices never are. */
        if (listing_find(&above, item->name) || side.ctime_ns > s->start_ns ||
            scan_is_refused(&item->st) || is_our_store(s, path, item->name))
            continue;
        const char *inner = scan_join(s, path, item->name, &r);
        if (r == 0)
            r = scan_add_step(s, STEP_TAKE, inner, &item->st, NULL);
        if (r == 0)
            r = scan_deleted(s, inner, &item->st);
        moved = true;
    }
    return r < 0 ? r : scan_compare_directory(s, path, st, moved);
}

/* What is to be kept moves out of the copy, and the rest of it goes. */
static int keep_from_copy(const struct scanner *s, int layer)
{
    if (mkdirat(layer, "slots", 0700) < 0 && errno != EEXIST)
        return -errno;
    for (size_t i = 0; i < s->set->step_count; i++) {
        struct step *step = &s->set->steps[i];
        if (step->root != s->root || (step->kind != STEP_PUT && step->kind != STEP_SWAP))
            continue;
        const char *slot = arena_format(s->arena, "slots/%zu", i);
        struct beneath b = BENEATH_AT(layer);
        int parent;
        const char *name;
        int r = slot ? beneath_parent(&b, step->slot, &parent, &name) : -ENOMEM;
        if (r == 0)
            r = changes_move(parent, name, layer, slot, 0);
        beneath_release(&b);
        if (r < 0)
            return r;
        step->slot = slot;
    }
    return beneath_remove(layer, SCAN_UPPER);
}

int scan_copy(const struct scanner *s, const struct stat *st, int layer)
{
    int r = scan_copied(s, ".", st);
    if (r == 0 && (r = keep_from_copy(s, layer)) < 0)
        scan_fail(s, r, ".");
    return r;
}
