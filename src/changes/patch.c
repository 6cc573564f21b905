/* See patch.h. */
#include "changes/patch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "changes/sides.h"
#include "changes/text_diff.h"

enum { FILE_BYTES_MAX = 512 << 20, HEAD_MAX = 1 << 20, HUNKS_MAX = 128 << 20 };

struct maker {
    const struct change_set *set;
    const struct sides *sides;     /* NULL: contents are not wanted */
    const struct change **deleted; /* those that were renamed, by root and path */
    size_t deleted_count;
    patch_user *use;
    void *user;
};

/* --- renames --------------------------------------------------------------------------------- */

static int compare_paths(const void *a, const void *b)
{
    const struct change *x = *(const struct change *const *)a,
                        *y = *(const struct change *const *)b;
    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    return strcmp(x->path, y->path);
}

static int index_renames(struct maker *m, struct arena *arena)
{
    m->deleted = arena_alloc_array(arena, m->set->change_count + 1, sizeof(struct change *));
    if (!m->deleted)
        return -ENOMEM;
    for (size_t i = 0; i < m->set->change_count; i++) {
        if (m->set->changes[i].kind == CHANGE_DELETED && m->set->changes[i].to)
            m->deleted[m->deleted_count++] = &m->set->changes[i];
    }
    if (m->deleted_count)
        qsort(m->deleted, m->deleted_count, sizeof(struct change *), compare_paths);
    return 0;
}

static const struct change *find_origin(const struct maker *m, const struct change *c)
{
    const struct change key = {.root = c->root, .path = c->from}, *wanted = &key;
    const struct change **found = m->deleted_count ? bsearch(&wanted, m->deleted, m->deleted_count,
                                                             sizeof(struct change *), compare_paths)
                                                   : NULL;
    return found ? *found : NULL;
}

/* --- one file -------------------------------------------------------------------------------- */

static const char *shown_path(const struct maker *m, const struct change *c, const char *path,
                              struct arena *arena)
{
    return c->root == 0 ? path : arena_format(arena, "%s/%s", m->set->roots[c->root].path, path);
}

static bool has_content(uint32_t mode)
{
    return S_ISREG(mode) || S_ISLNK(mode);
}

static const char *type_name(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "directory";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "device";
    }
}

static uint32_t shown_mode(uint32_t mode)
{
    return S_ISLNK(mode) ? S_IFLNK : mode; /* the permissions of a link mean nothing */
}

static void append_named(const char *word, const char *prefix, const char *path, struct buf *out)
{
    buf_append_format(out, "%s ", word);
    text_append_name(prefix, path, out);
}

static void append_git_line(const struct patch *p, struct buf *out)
{
    append_named("diff --git", "a/", p->from ? p->from : p->path, out);
    append_named("", "b/", p->path, out);
    buf_append_byte(out, '\n');
}

/* All that is to be said of it is one line. */
static void say(struct patch *p, const char *note)
{
    p->note = note;
    buf_clear(&p->head);
    buf_append_format(&p->head, "%s: ", note);
    text_append_name("", p->path, &p->head);
    buf_append_byte(&p->head, '\n');
}

/* Git's name for an empty file, by which patch knows that nothing is missing. */
#define EMPTY_NAME "e69de29"
#define NO_NAME    "0000000"

/*
 * Git has the mode of a file in a line with the names of its contents, which we do not have. Where
 * it matters the mode is said by itself: patch leaves a link alone that it is not told of, and git
 * does not see a file of which nothing else is said.
 */
static void append_modes(struct patch *p, bool always)
{
    append_git_line(p, &p->head);
    if (!p->old_mode)
        buf_append_format(&p->head, "new file mode %06o\n%s", p->new_mode,
                          p->new_size ? "" : "index " NO_NAME ".." EMPTY_NAME "\n");
    else if (!p->new_mode)
        buf_append_format(&p->head, "deleted file mode %06o\n%s", p->old_mode,
                          p->old_size ? "" : "index " EMPTY_NAME ".." NO_NAME "\n");
    else if (p->old_mode != p->new_mode || always)
        buf_append_format(&p->head, "old mode %06o\nnew mode %06o\n", p->old_mode, p->new_mode);
    if (p->from) {
        buf_append_text(&p->head, "similarity index 100%\n");
        append_named("rename from", "", p->from, &p->head);
        append_named("\nrename to", "", p->path, &p->head);
        buf_append_byte(&p->head, '\n');
    }
}

static void append_binary(struct patch *p)
{
    p->binary = true;
    buf_append_text(&p->head, "Binary files ");
    if (p->old_mode)
        text_append_name("a/", p->path, &p->head);
    else
        buf_append_text(&p->head, "/dev/null");
    buf_append_text(&p->head, " and ");
    if (p->new_mode)
        text_append_name("b/", p->path, &p->head);
    else
        buf_append_text(&p->head, "/dev/null");
    buf_append_text(&p->head, " differ\n");
}

static bool is_alike(const struct side_content *a, const struct side_content *b)
{
    return a->state == SIDE_READ && b->state == SIDE_READ && a->len == b->len &&
           memcmp(a->bytes, b->bytes, a->len) == 0;
}

static bool is_binary(const struct side_content *c)
{
    return c->state == SIDE_LARGE || text_is_binary(c->bytes, c->len);
}

static void append_contents(struct patch *p, const struct side_content *old,
                            const struct side_content *new, struct arena *arena)
{
    struct text_diff diff;
    if (is_alike(old, new) && p->old_mode == p->new_mode) {
        say(p, "touched");
        return;
    }
    /* Without the memory to compare two texts it is at least told that they differ. */
    if (is_binary(old) || is_binary(new) ||
        text_diff_make(arena, old->len ? old->bytes : "", old->len, new->len ? new->bytes : "",
                       new->len, &diff) < 0) {
        append_modes(p, true);
        if (!is_alike(old, new))
            append_binary(p);
        return;
    }
    append_modes(p, S_ISLNK(p->new_mode));
    p->removed = diff.removed;
    p->added = diff.added;
    if (!diff.count)
        return;
    text_append_file("---", "a/", p->old_mode ? p->path : NULL, &p->head);
    text_append_file("+++", "b/", p->new_mode ? p->path : NULL, &p->head);
    text_diff_append(&diff, &p->hunks);
}

/* Reads a side that the patch has; false: it is not to be had. */
static bool read_side(const struct maker *m, struct patch *p, bool after, struct arena *arena,
                      struct side_content *ret)
{
    *ret = (struct side_content){.state = SIDE_NONE};
    if (after ? p->new_mode : p->old_mode)
        sides_read(m->sides, p->change, after, arena, ret);
    if (ret->state != SIDE_CHANGED && ret->state != SIDE_UNREADABLE)
        return true;
    const char *why = ret->state == SIDE_CHANGED
                          ? "changed since"
                          : arena_format(arena, "cannot be read (%s)", strerror(-ret->error));
    p->missing = true;
    say(p, why ? why : "cannot be read");
    return false;
}

static void fill(const struct maker *m, struct patch *p, struct arena *arena)
{
    uint32_t mode = p->new_mode ? p->new_mode : p->old_mode;
    if (!has_content(mode)) {
        const char *word = !p->old_mode ? "created" : !p->new_mode ? "deleted" : "touched";
        if (p->old_mode && p->new_mode && p->old_mode != p->new_mode)
            word = arena_format(arena, "mode %04o to %04o of", p->old_mode & 07777,
                                p->new_mode & 07777);
        const char *note = arena_format(arena, "%s %s", word ? word : "", type_name(mode));
        say(p, note ? note : "touched");
        return;
    }
    if (p->change->kind == CHANGE_TOUCHED && p->old_mode == p->new_mode) {
        say(p, "touched");
        return;
    }
    if (!m->sides || p->from || p->change->kind == CHANGE_TOUCHED) {
        append_modes(p, false);
        return;
    }
    struct side_content old, new;
    if (read_side(m, p, false, arena, &old) && read_side(m, p, true, arena, &new))
        append_contents(p, &old, &new, arena);
}

static int make_one(const struct maker *m, const struct change *c, bool before, bool after)
{
    struct arena arena;
    arena_init(&arena, &allocator_libc, FILE_BYTES_MAX);
    struct patch p = {.change = c, .path = shown_path(m, c, c->path, &arena)};
    const struct change_side *old = &c->before;
    const struct change *origin = c->from ? find_origin(m, c) : NULL;
    if (origin) {
        p.from = shown_path(m, c, c->from, &arena);
        old = &origin->before;
    }
    if (before) {
        p.old_mode = shown_mode(old->mode);
        p.old_size = old->size;
    }
    if (after) {
        p.new_mode = shown_mode(c->after.mode);
        p.new_size = c->after.size;
    }
    buf_init(&p.head, &allocator_libc, HEAD_MAX);
    buf_init(&p.hunks, &allocator_libc, HUNKS_MAX);
    int r = p.path && (!origin || p.from) ? 0 : -ENOMEM;
    if (r == 0) {
        fill(m, &p, &arena);
        r = p.head.failed ? p.head.failed : p.hunks.failed;
    }
    if (r == 0)
        r = m->use(m->user, &p);
    buf_release(&p.head);
    buf_release(&p.hunks);
    arena_release(&arena);
    return r;
}

static int make_each(const struct maker *m)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < m->set->change_count; i++) {
        const struct change *c = &m->set->changes[i];
        bool shown = c->kind != CHANGE_KEPT && !(c->kind == CHANGE_DELETED && c->to);
        bool other_type = c->before.mode && c->after.mode &&
                          (c->before.mode & S_IFMT) != (c->after.mode & S_IFMT);
        if (!shown)
            continue;
        if (other_type)
            r = make_one(m, c, true, false);
        if (r == 0)
            r = make_one(m, c, !other_type, true);
    }
    return r;
}

int patches_make(const struct journal *journal, enum patch_wants wants, patch_user *use, void *user,
                 struct err *e)
{
    struct arena arena;
    arena_init(&arena, &allocator_libc, FILE_BYTES_MAX);
    struct sides sides = {0};
    struct maker m = {.set = &journal->set, .use = use, .user = user};
    int r = sides_open(&arena, journal, &sides, e);
    if (r == 0) {
        if (wants == PATCH_HUNKS)
            m.sides = &sides;
        r = index_renames(&m, &arena);
        if (r == 0)
            r = make_each(&m);
        if (r < 0)
            err_errno(e, r, "cannot show what run '%s' changed", journal->id);
    }
    sides_close(&sides);
    arena_release(&arena);
    return r;
}
