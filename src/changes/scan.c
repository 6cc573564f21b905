/*
 * From layers to a list of changes, and the steps that make them real; see changes.h.
 *
 * The upper directory of an overlay says what was written: an object there hides that of the same
 * path below; a whiteout (a device 0/0) hides it and shows nothing; a directory that is marked
 * opaque hides all that is below it. Everything is compared with what is below, since opening for
 * writing is enough to be copied up. The walk keeps no directory open while it goes deeper.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "changes/attributes.h"
#include "changes/beneath.h"
#include "changes/changes.h"
#include "changes/content.h"
#include "changes/listing.h"
#include "changes/scan.h"
#include "changes/store.h"

/* --- small pieces ---------------------------------------------------------------------------- */

static const char *root_path(const struct scanner *s)
{
    return s->set->roots[s->root].path;
}

int scan_fail(const struct scanner *s, int code, const char *path)
{
    return err_errno(s->e, code, "cannot look at what was done to '%s/%s'", root_path(s), path);
}

static bool is_whiteout(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

/* What cannot be kept: nobody listens to a socket whose program is gone, and devices are none of
 * the inside's. */
bool scan_is_refused(const struct stat *st)
{
    return S_ISSOCK(st->st_mode) || S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode);
}

int scan_add_conflict(const struct scanner *s, const char *path, const char *why)
{
    return conflict_add(s->conflicts, root_path(s), path, why) < 0
               ? err_set(s->e, -ENOMEM, "out of memory")
               : 0;
}

/* Whoever changed something below since the run began is not to lose it. */
static int check_unchanged(const struct scanner *s, const char *path,
                           const struct change_side *side)
{
    return side->ctime_ns > s->start_ns
               ? scan_add_conflict(s, path, "was changed while the command ran")
               : 0;
}

static int add_change(const struct scanner *s, enum change_kind kind, const char *path,
                      const struct stat *before, const struct stat *after)
{
    struct change change = {
        .kind = kind, .root = s->root, .path = path, .step = (uint32_t)s->set->step_count - 1};
    if (before)
        change_side_of(before, &change.before);
    if (after)
        change_side_of(after, &change.after);
    if (after && S_ISREG(after->st_mode) && (kind == CHANGE_CREATED || kind == CHANGE_MODIFIED))
        s->set->bytes += (uint64_t)after->st_size;
    if (after && !s->set->roots[s->root].copied_ns)
        s->set->allocated +=
            (uint64_t)after->st_blocks * 512 / (after->st_nlink ? after->st_nlink : 1);
    return change_add(s->set, s->arena, &change) < 0 ? err_set(s->e, -ENOMEM, "out of memory") : 0;
}

/*
 * A set-user-id bit that comes out of a box would be rights for whoever finds the file: what is
 * written, or made, has none. For root set-group-id bits of files, too. `item` is set right.
 */
int scan_strip_setid(const struct scanner *s, const char *dir, struct listed *item,
                     const char *path)
{
    mode_t bits = S_ISREG(item->st.st_mode) ? S_ISUID | (geteuid() == 0 ? S_ISGID : 0) : 0;
    if (!(item->st.st_mode & bits))
        return 0;
    FD_CLEANUP int fd = beneath_open(s->upper, dir, O_PATH | O_DIRECTORY);
    if (fd < 0 || fchmodat(fd, item->name, item->st.st_mode & 07777 & ~bits, 0) < 0)
        return scan_fail(s, fd < 0 ? fd : -errno, path);
    item->st.st_mode &= ~bits;
    change_note(s->set, s->arena, "'%s' has lost its set-id bit", path);
    return 0;
}

int scan_add_step(const struct scanner *s, enum step_kind kind, const char *path,
                  const struct stat *before, const struct stat *after)
{
    struct step step = {.kind = kind, .root = s->root, .path = path};
    if (kind == STEP_TAKE)
        step.slot = arena_format(s->arena, "slots/%zu", s->set->step_count);
    else
        step.slot = arena_format(s->arena, SCAN_UPPER "/%s", path);
    if (before)
        change_side_of(before, &step.before);
    if (after)
        change_side_of(after, &step.after);
    return !step.slot || step_add(s->set, s->arena, &step) < 0
               ? err_set(s->e, -ENOMEM, "out of memory")
               : 0;
}

/* --- comparing ------------------------------------------------------------------------------- */

static int compare_attributes(const struct scanner *s, int upper_dir, int lower_dir,
                              const char *name)
{
    char path[ATTRIBUTES_PATH];
    const char *a = "", *b = "";
    size_t a_len = 0, b_len = 0;
    attributes_path(upper_dir, name, path);
    int r = attributes_read(s->arena, path, &a, &a_len);
    attributes_path(lower_dir, name, path);
    if (r == 0)
        r = attributes_read(s->arena, path, &b, &b_len);
    return r < 0 ? r : a_len == b_len && memcmp(a, b, a_len) == 0;
}

static int compare_links(int upper_dir, int lower_dir, const char *name)
{
    char a[PATH_MAX], b[PATH_MAX];
    ssize_t n = readlinkat(upper_dir, name, a, sizeof(a)),
            m = readlinkat(lower_dir, name, b, sizeof(b));
    return n < 0 || m < 0 ? -errno : n == m && memcmp(a, b, (size_t)n) == 0;
}

/* 1, 0, or a negative errno. What may not be read counts as another content. */
static int compare_content(const struct stat *a, const struct stat *b, int upper_dir, int lower_dir,
                           const char *name)
{
    if ((a->st_mode & S_IFMT) != (b->st_mode & S_IFMT))
        return 0;
    if (S_ISLNK(a->st_mode))
        return compare_links(upper_dir, lower_dir, name);
    if (!S_ISREG(a->st_mode))
        return 1;
    if (a->st_size != b->st_size)
        return 0;
    FD_CLEANUP int x = beneath_open_file(upper_dir, name);
    FD_CLEANUP int y = beneath_open_file(lower_dir, name);
    int r = x < 0 ? x : y;
    if (r < 0)
        return r == -EACCES || r == -EPERM ? 0 : r;
    return content_equal(x, y);
}

static bool same_times_and_mode(const struct stat *a, const struct stat *b)
{
    return a->st_mode == b->st_mode && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* How the object above differs from the one below, neither of them a directory. */
static int classify(const struct scanner *s, const char *dir, const struct listed *above,
                    const struct listed *below, enum change_kind *ret)
{
    FD_CLEANUP int upper_dir = beneath_open(s->upper, dir, O_PATH | O_DIRECTORY);
    FD_CLEANUP int lower_dir = beneath_open(s->lower, dir, O_PATH | O_DIRECTORY);
    if (upper_dir < 0 || lower_dir < 0)
        return upper_dir < 0 ? upper_dir : lower_dir;
    int r = compare_content(&above->st, &below->st, upper_dir, lower_dir, above->name);
    if (r < 0)
        return r;
    *ret = CHANGE_MODIFIED;
    if (r == 0)
        return 0;
    r = compare_attributes(s, upper_dir, lower_dir, above->name);
    if (r < 0)
        return r;
    /* A second name that was given to it makes it another object. */
    bool alike = r == 1 && same_times_and_mode(&above->st, &below->st) && above->st.st_nlink == 1;
    *ret = alike ? CHANGE_NONE : CHANGE_TOUCHED;
    return 0;
}

static int marks_of(const struct scanner *s, const char *dir, const char *name, unsigned *ret)
{
    char path[ATTRIBUTES_PATH];
    FD_CLEANUP int fd = beneath_open(s->upper, dir, O_PATH | O_DIRECTORY);
    if (fd < 0)
        return fd;
    attributes_path(fd, name, path);
    return attributes_marks(path, ret);
}

/* --- whole subtrees -------------------------------------------------------------------------- */

static int set_mode_above(const struct scanner *s, const char *path, mode_t mode)
{
    char name[40];
    FD_CLEANUP int dir = beneath_open(s->upper, path, O_PATH | O_DIRECTORY);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", dir);
    return dir < 0 || chmod(name, mode & 07777) < 0 ? scan_fail(s, dir < 0 ? dir : -errno, path)
                                                    : 0;
}

static bool is_closed(const struct stat *st)
{
    return (st->st_mode & 0700) != 0700;
}

int scan_list_above(const struct scanner *s, const char *path, const struct stat *st,
                    struct listing *ret)
{
    int r = is_closed(st) ? set_mode_above(s, path, st->st_mode | 0700) : 0;
    if (r == 0 && (r = listing_read(s->arena, s->upper, path, ret)) < 0)
        scan_fail(s, r, path);
    return r;
}

int scan_close_above(const struct scanner *s, const char *path, const struct stat *st)
{
    return is_closed(st) ? set_mode_above(s, path, st->st_mode) : 0;
}

/* What may not be read below is not listed, and moves as a whole. */
int scan_list_below(const struct scanner *s, const char *path, struct listing *ret)
{
    int r = listing_read(s->arena, s->lower, path, ret);
    if (r == -EACCES) {
        change_note(s->set, s->arena, "'%s' cannot be read, so what is in it is not listed", path);
        return 0;
    }
    return r < 0 ? scan_fail(s, r, path) : 0;
}

const char *scan_join(const struct scanner *s, const char *dir, const char *name, int *r)
{
    const char *path = listing_join(s->arena, dir, name);
    if (!path)
        *r = err_set(s->e, -ENOMEM, "out of memory");
    else if (strlen(path) >= PATH_MAX - 16)
        *r = err_set(s->e, -ENAMETOOLONG, "a path in '%s' is too long to be kept", root_path(s));
    else
        *r = 0;
    return path;
}

/* Removes from the layer what cannot be kept. */
int scan_refuse(const struct scanner *s, const char *dir, const struct listed *item,
                const char *path)
{
    FD_CLEANUP int fd = beneath_open(s->upper, dir, O_PATH | O_DIRECTORY);
    if (fd < 0 || unlinkat(fd, item->name, 0) < 0)
        return scan_fail(s, fd < 0 ? fd : -errno, path);
    change_note(s->set, s->arena, "'%s' is a %s and was not kept", path,
                S_ISSOCK(item->st.st_mode) ? "socket" : "device");
    return 0;
}

int scan_created(const struct scanner *s, const char *path, const struct stat *st)
{
    int r = add_change(s, CHANGE_CREATED, path, NULL, st);
    struct listing above = {0};
    if (r == 0 && S_ISDIR(st->st_mode))
        r = scan_list_above(s, path, st, &above);
    for (size_t i = 0; r == 0 && i < above.count; i++) {
        struct listed *item = &above.items[i];
        const char *below = scan_join(s, path, item->name, &r);
        if (r == 0)
            r = scan_strip_setid(s, path, item, below);
        if (r == 0)
            r = scan_is_refused(&item->st) ? scan_refuse(s, path, item, below)
                                           : scan_created(s, below, &item->st);
    }
    return r;
}

int scan_deleted(const struct scanner *s, const char *path, const struct stat *st)
{
    int r = add_change(s, CHANGE_DELETED, path, st, NULL);
    if (r == 0)
        r = check_unchanged(s, path, &s->set->changes[s->set->change_count - 1].before);
    struct listing below = {0};
    if (r == 0 && S_ISDIR(st->st_mode))
        r = scan_list_below(s, path, &below);
    for (size_t i = 0; r == 0 && i < below.count; i++) {
        const char *inner = scan_join(s, path, below.items[i].name, &r);
        if (r == 0)
            r = scan_deleted(s, inner, &below.items[i].st);
    }
    return r;
}

static int expand_replaced(const struct scanner *s, const char *dir, const struct listed *above,
                           const struct listed *below, const char *path);

/* Two directories, the one above in place of the one below: entry by entry. */
static int expand_both(const struct scanner *s, const char *path, const struct stat *st)
{
    struct listing above = {0}, below = {0};
    int r = scan_list_above(s, path, st, &above);
    if (r == 0)
        r = scan_list_below(s, path, &below);
    for (size_t i = 0; r == 0 && i < above.count; i++) {
        struct listed *item = &above.items[i];
        const struct listed *other = listing_find(&below, item->name);
        const char *inner = scan_join(s, path, item->name, &r);
        if (r == 0)
            r = scan_strip_setid(s, path, item, inner);
        if (r < 0)
            break;
        if (scan_is_refused(&item->st))
            r = scan_refuse(s, path, item, inner);
        else
            r = other ? expand_replaced(s, path, item, other, inner)
                      : scan_created(s, inner, &item->st);
    }
    for (size_t i = 0; r == 0 && i < below.count; i++) {
        const struct listed *item = &below.items[i], *other = listing_find(&above, item->name);
        if (other && !scan_is_refused(&other->st))
            continue;
        const char *inner = scan_join(s, path, item->name, &r);
        if (r == 0)
            r = scan_deleted(s, inner, &item->st);
    }
    return r;
}

static int expand_replaced(const struct scanner *s, const char *dir, const struct listed *above,
                           const struct listed *below, const char *path)
{
    struct change_side side;
    change_side_of(&below->st, &side);
    bool dirs = S_ISDIR(above->st.st_mode) && S_ISDIR(below->st.st_mode);
    int r = dirs ? 0 : check_unchanged(s, path, &side);
    if (r < 0)
        return r;
    if (dirs) {
        bool same = same_times_and_mode(&above->st, &below->st);
        r = add_change(s, same ? CHANGE_KEPT : CHANGE_TOUCHED, path, &below->st, &above->st);
        return r < 0 ? r : expand_both(s, path, &above->st);
    }
    if (S_ISDIR(above->st.st_mode) || S_ISDIR(below->st.st_mode)) {
        r = scan_deleted(s, path, &below->st);
        return r < 0 ? r : scan_created(s, path, &above->st);
    }
    enum change_kind kind = CHANGE_MODIFIED;
    r = classify(s, dir, above, below, &kind);
    if (r < 0)
        return scan_fail(s, r, path);
    return add_change(s, kind == CHANGE_NONE ? CHANGE_KEPT : kind, path, &below->st, &above->st);
}

/* --- one directory that is above and below --------------------------------------------------- */

/* Its own mode, times and attributes. `inner`: something in it was changed, and its time with it.
 */
int scan_compare_directory(const struct scanner *s, const char *path, const struct stat *st,
                           bool inner)
{
    FD_CLEANUP int above = beneath_open(s->upper, path, O_PATH | O_DIRECTORY);
    FD_CLEANUP int below = beneath_open(s->lower, path, O_PATH | O_DIRECTORY);
    struct stat a = *st, b;
    if (above < 0 || below < 0 || fstat(below, &b) < 0)
        return scan_fail(s, above < 0 ? above : below < 0 ? below : -errno, path);
    struct step step = {.kind = STEP_META, .root = s->root, .path = path};
    char name[ATTRIBUTES_PATH];
    attributes_path(above, ".", name);
    int r = attributes_read(s->arena, name, &step.attributes_after, &step.attributes_after_len);
    attributes_path(below, ".", name);
    if (r == 0)
        r = attributes_read(s->arena, name, &step.attributes_before, &step.attributes_before_len);
    if (r < 0)
        return scan_fail(s, r, path);
    bool attributes =
        step.attributes_before_len != step.attributes_after_len ||
        memcmp(step.attributes_before, step.attributes_after, step.attributes_before_len) != 0;
    bool mode = a.st_mode != b.st_mode;
    if (!inner && !attributes && same_times_and_mode(&a, &b))
        return 0;
    change_side_of(&b, &step.before);
    change_side_of(&a, &step.after);
    if (step_add(s->set, s->arena, &step) < 0)
        return err_set(s->e, -ENOMEM, "out of memory");
    return attributes || mode || !inner ? add_change(s, CHANGE_TOUCHED, path, &b, &a) : 0;
}

static int scan_directory(const struct scanner *s, const char *path, const struct stat *st);

bool scan_changed_since(const struct scanner *s, const char *dir)
{
    FD_CLEANUP int fd = beneath_open(s->lower, dir, O_PATH | O_DIRECTORY);
    struct stat st;
    struct change_side side;
    if (fd < 0 || fstat(fd, &st) < 0)
        return true;
    change_side_of(&st, &side);
    return side.mtime_ns > s->start_ns;
}

static int scan_above_only(const struct scanner *s, const char *dir, const struct listed *item,
                           const char *path)
{
    unsigned marks = 0;
    int r = marks_of(s, dir, item->name, &marks);
    if (r < 0)
        return scan_fail(s, r, path);
    /* It was copied up, and came here by another name; or it was here, and somebody removed it:
     * then the directory has changed since. */
    if (marks & ATTRIBUTES_COPIED && scan_changed_since(s, dir))
        return scan_add_conflict(s, path, "was deleted while the command ran");
    r = scan_add_step(s, STEP_PUT, path, NULL, &item->st);
    return r < 0 ? r : scan_created(s, path, &item->st);
}

int scan_both(const struct scanner *s, const char *dir, const struct listed *above,
              const struct listed *below, const char *path)
{
    unsigned marks = 0;
    int r = 0;
    if (S_ISDIR(above->st.st_mode) && S_ISDIR(below->st.st_mode)) {
        r = marks_of(s, dir, above->name, &marks);
        if (r < 0)
            return scan_fail(s, r, path);
        if (!(marks & ATTRIBUTES_OPAQUE))
            return scan_directory(s, path, &above->st);
    }
    enum change_kind kind = CHANGE_MODIFIED;
    if (!S_ISDIR(above->st.st_mode) && !S_ISDIR(below->st.st_mode)) {
        r = classify(s, dir, above, below, &kind);
        if (r < 0)
            return scan_fail(s, r, path);
    }
    if (kind == CHANGE_NONE)
        return 0; /* it was only opened */
    r = scan_add_step(s, STEP_SWAP, path, &below->st, &above->st);
    return r < 0 ? r : expand_replaced(s, dir, above, below, path);
}

static int refuse_store(const struct scanner *s, const char *name)
{
    int r = beneath_remove(s->upper, name);
    if (r == -ENOTDIR && unlinkat(s->upper, name, 0) == 0)
        r = 0;
    if (r == 0)
        change_note(s->set, s->arena, "'%s' is a name of nacre's own and was not kept", name);
    return r < 0 ? scan_fail(s, r, name) : 0;
}

static int scan_entry(const struct scanner *s, const char *dir, struct listed *above,
                      const struct listed *below)
{
    int r;
    const char *path = scan_join(s, dir, above->name, &r);
    if (r < 0)
        return r;
    /* Where a store could be, nothing of the inside's is. */
    if (strcmp(dir, ".") == 0 && strncmp(above->name, STORE_IN_ROOT, strlen(STORE_IN_ROOT)) == 0)
        return refuse_store(s, above->name);
    /* One that was only opened stays as it is. */
    enum change_kind kind = CHANGE_MODIFIED;
    if (below && above->st.st_mode & (S_ISUID | S_ISGID) && S_ISREG(above->st.st_mode) &&
        classify(s, dir, above, below, &kind) == 0 && kind == CHANGE_NONE)
        return 0;
    if ((r = scan_strip_setid(s, dir, above, path)) < 0)
        return r;
    if (is_whiteout(&above->st)) {
        if (!below)
            return 0; /* somebody else removed it, too */
        r = scan_add_step(s, STEP_TAKE, path, &below->st, NULL);
        return r < 0 ? r : scan_deleted(s, path, &below->st);
    }
    if (scan_is_refused(&above->st)) {
        r = scan_refuse(s, dir, above, path);
        if (r < 0 || !below)
            return r;
        r = scan_add_step(s, STEP_TAKE, path, &below->st,
                          NULL); /* what was there had to go for it */
        return r < 0 ? r : scan_deleted(s, path, &below->st);
    }
    return below ? scan_both(s, dir, above, below, path) : scan_above_only(s, dir, above, path);
}

bool scan_was_moved(const struct scanner *s, const char *path, size_t first)
{
    const struct step *step = &s->set->steps[first];
    return first < s->set->step_count && step->kind != STEP_META && strcmp(step->path, path) == 0;
}

static int scan_directory(const struct scanner *s, const char *path, const struct stat *st)
{
    struct listing above;
    bool moved = false;
    int r = scan_list_above(s, path, st, &above);
    struct beneath lower = BENEATH_AT(s->lower);
    for (size_t i = 0; r == 0 && i < above.count; i++) {
        const char *inner = scan_join(s, path, above.items[i].name, &r);
        struct listed below = {.name = above.items[i].name};
        size_t steps = s->set->step_count;
        int found = r < 0 ? r : beneath_stat(&lower, inner, &below.st);
        if (found < 0 && found != -ENOENT)
            r = scan_fail(s, found, inner);
        else if (r == 0)
            r = scan_entry(s, path, &above.items[i], found == 0 ? &below : NULL);
        moved |= r == 0 && scan_was_moved(s, inner, steps);
    }
    beneath_release(&lower);
    return r < 0 ? r : scan_compare_directory(s, path, st, moved);
}

/* --- everything ------------------------------------------------------------------------------ */

static int scan_root(struct scanner *s)
{
    const struct change_root *root = &s->set->roots[s->root];
    FD_CLEANUP int layer = open(root->layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_CLEANUP int lower = open(root->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_CLEANUP int upper = layer < 0 ? -1 : beneath_open(layer, SCAN_UPPER, O_PATH | O_DIRECTORY);
    struct stat st, above;
    if (lower < 0 || upper < 0 || fstat(lower, &st) < 0 || fstat(upper, &above) < 0)
        return scan_fail(s, -errno, ".");
    if (st.st_dev != root->device || st.st_ino != root->inode)
        return scan_add_conflict(s, ".", "was replaced while the command ran");
    s->lower = lower;
    s->upper = upper;
    return root->copied_ns ? scan_copy(s, &above, layer) : scan_directory(s, ".", &above);
}

int changes_scan(struct arena *arena, int64_t start_ns, struct change_set *set,
                 struct conflicts *conflicts, struct err *e)
{
    struct scanner s = {
        .arena = arena, .set = set, .conflicts = conflicts, .e = e, .start_ns = start_ns};
    int r = 0;
    for (s.root = 0; r == 0 && s.root < set->root_count; s.root++)
        r = scan_root(&s);
    return r;
}
