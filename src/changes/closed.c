/* See closed.h. */
#include "changes/closed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/beneath.h"

enum { OPENED = 0700, LOOK = 0500 };

/* One side of a directory. */
struct closed {
    uint32_t root;
    bool after;
    const char *path;
    struct change_side *side, *other;
    uint64_t inode; /* 0: whichever directory is there */
};

struct closed_list {
    struct closed *items;
    size_t count;
};

static bool is_closed(const struct change_side *side)
{
    return S_ISDIR(side->mode) && (side->mode & OPENED) != OPENED;
}

/* Those above come before those below. */
static int compare(const void *a, const void *b)
{
    const struct closed *x = a, *y = b;
    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void add(struct closed_list *list, const struct closed *item)
{
    if (is_closed(item->side))
        list->items[list->count++] = *item;
}

/* Mostly there is none, and it costs a look at the set. */
static int find(struct arena *arena, struct change_set *set, struct closed_list *ret)
{
    size_t count = 0;
    *ret = (struct closed_list){0};
    for (size_t i = 0; i < set->change_count; i++)
        count += is_closed(&set->changes[i].before) + is_closed(&set->changes[i].after);
    for (size_t i = 0; i < set->step_count; i++)
        count += is_closed(&set->steps[i].before) + is_closed(&set->steps[i].after);
    if (!count)
        return 0;
    ret->items = arena_alloc_array(arena, count, sizeof(*ret->items));
    if (!ret->items)
        return -ENOMEM;
    for (size_t i = 0; i < set->change_count; i++) {
        struct change *c = &set->changes[i];
        if (set->steps[c->step].kind == STEP_META)
            continue; /* the step itself is in the list */
        add(ret, &(struct closed){c->root, false, c->path, &c->before, &c->after, c->before.inode});
        add(ret, &(struct closed){c->root, true, c->path, &c->after, &c->before, c->after.inode});
    }
    for (size_t i = 0; i < set->step_count; i++) {
        struct step *step = &set->steps[i];
        if (step->kind != STEP_META)
            continue;
        add(ret, &(struct closed){step->root, false, step->path, &step->before, &step->after, 0});
        add(ret, &(struct closed){step->root, true, step->path, &step->after, &step->before, 0});
    }
    if (ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), compare);
    return 0;
}

/* The directory, if it is there and this very one, in this very root. A descriptor that only names
 * it, or -1. */
static int open_item(const struct change_set *set, const struct closed *item, struct stat *ret)
{
    FD_CLEANUP int root = change_root_open(&set->roots[item->root], -1);
    FD_CLEANUP int dir = root < 0 ? -1 : beneath_open(root, item->path, O_PATH | O_DIRECTORY);
    if (dir < 0 || fstat(dir, ret) < 0 || (item->inode && ret->st_ino != item->inode))
        return -1;
    return fd_steal(&dir);
}

static int set_mode(int dir, mode_t mode)
{
    char name[40];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", dir);
    return chmod(name, mode & 07777) < 0 ? -errno : 0;
}

static bool has_mode(const struct stat *st, mode_t mode)
{
    return (st->st_mode & 07777) == (mode & 07777);
}

int closed_adopt(struct arena *arena, struct change_set *set, bool after,
                 struct conflicts *conflicts)
{
    struct closed_list list;
    int r = find(arena, set, &list);
    bool needed = false;
    for (size_t i = 0; r == 0 && i < list.count; i++) {
        const struct closed *item = &list.items[i];
        struct stat st;
        FD_CLEANUP int dir = open_item(set, item, &st);
        /* What lies in one that is closed is met when that is open. */
        if (dir < 0)
            continue;
        const bool same = item->other->mode == item->side->mode;
        if (has_mode(&st, item->side->mode)) {
            needed |= faccessat(dir, ".", R_OK | X_OK, AT_EACCESS) < 0;
        } else if (same || !item->other->mode) {
            item->side->mode = st.st_mode;
            if (same)
                item->other->mode = st.st_mode;
        } else if (item->after == after && !has_mode(&st, item->other->mode)) {
            r = conflict_add(conflicts, set->roots[item->root].path, item->path,
                             "has another mode now");
        }
    }
    return r < 0 ? r : needed;
}

int closed_open(struct arena *arena, struct change_set *set)
{
    struct closed_list list;
    int r = find(arena, set, &list);
    for (size_t i = 0; r == 0 && i < list.count; i++) {
        const struct closed *item = &list.items[i];
        struct stat st;
        FD_CLEANUP int dir = open_item(set, item, &st);
        if (dir >= 0 && (item->side->mode & LOOK) != LOOK && has_mode(&st, item->side->mode) &&
            st.st_uid == geteuid() && faccessat(dir, ".", R_OK | X_OK, AT_EACCESS) < 0)
            r = set_mode(dir, st.st_mode | OPENED);
    }
    return r;
}

int closed_restore(struct arena *arena, struct change_set *set, bool after)
{
    struct closed_list list;
    int r = find(arena, set, &list);
    /* From below: what lies in one that is closed could not be reached any more. */
    for (size_t i = list.count; r == 0 && i-- > 0;) {
        const struct closed *item = &list.items[i];
        struct stat st;
        FD_CLEANUP int dir = item->after == after ? open_item(set, item, &st) : -1;
        if (dir >= 0 && has_mode(&st, item->side->mode | OPENED))
            r = set_mode(dir, item->side->mode);
    }
    return r;
}
