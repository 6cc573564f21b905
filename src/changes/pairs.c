/* Hashes of new content, and which created file is a deleted one under another name. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "changes/beneath.h"
#include "changes/changes.h"
#include "changes/content.h"

/* What may not be read has no hash, and is then known by its inode alone. */
static int hash_at(int base, const char *path, struct change_side *side)
{
    FD_CLEANUP int fd = beneath_open_file(base, path);
    if (fd < 0)
        return fd == -EACCES || fd == -ENOENT ? 0 : fd;
    int r = content_hash(fd, side->hash);
    side->hashed = r == 0;
    return r;
}

static bool has_new_content(const struct change *c)
{
    return S_ISREG(c->after.mode) && (c->kind == CHANGE_CREATED || c->kind == CHANGE_MODIFIED);
}

int changes_hash(struct arena *arena, struct change_set *set, struct err *e)
{
    for (uint32_t root = 0; root < set->root_count; root++) {
        FD_CLEANUP int layer =
            open(set->roots[root].layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (layer < 0)
            return err_errno(e, -errno, "cannot open '%s'", set->roots[root].layer);
        for (size_t i = 0; i < set->change_count; i++) {
            struct change *c = &set->changes[i];
            if (c->root != root || !has_new_content(c) || c->after.hashed)
                continue;
            const char *slot = change_slot(set, c, arena);
            int r = slot ? hash_at(layer, slot, &c->after) : -ENOMEM;
            if (r < 0)
                return err_errno(e, r, "cannot read '%s/%s'", set->roots[root].path, c->path);
        }
    }
    return 0;
}

/* Those with the same content stand together, in the order of the list. */
static int by_content(const void *a, const void *b)
{
    const struct change *x = *(struct change *const *)a, *y = *(struct change *const *)b;
    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    if (x->after.size != y->after.size)
        return x->after.size < y->after.size ? -1 : 1;
    int order = memcmp(x->after.hash, y->after.hash, sizeof(x->after.hash));
    return order ? order : x < y ? -1 : x > y;
}

/* Files that were created and have content, sorted, and how many of those that are alike, from the
 * first of them on, have their pair. */
struct created {
    struct change **items;
    size_t *used;
    size_t count;
};

/* The first that is not before what was deleted; `hashed`: by its content, else by its size. */
static size_t find_created(const struct created *c, const struct change *gone, bool hashed)
{
    size_t low = 0, high = c->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct change *new = c->items[middle];
        int order = new->root != gone->root ? (new->root < gone->root ? -1 : 1)
                    : new->after.size != gone->before.size
                        ? (new->after.size < gone->before.size ? -1 : 1)
                    : hashed ? memcmp(new->after.hash, gone->before.hash, sizeof(new->after.hash))
                             : 0;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_alike(const struct created *c, size_t at, const struct change *gone, bool hashed)
{
    return at < c->count && c->items[at]->root == gone->root &&
           c->items[at]->after.size == gone->before.size &&
           (!hashed ||
            memcmp(c->items[at]->after.hash, gone->before.hash, sizeof(gone->before.hash)) == 0);
}

static void pair(const struct created *c, struct change *gone, int root)
{
    if (!is_alike(c, find_created(c, gone, false), gone, false))
        return; /* it need not be read */
    if (!gone->before.hashed &&
        (hash_at(root, gone->path, &gone->before) < 0 || !gone->before.hashed))
        return;
    size_t first = find_created(c, gone, true);
    if (!is_alike(c, first, gone, true) || !is_alike(c, first + c->used[first], gone, true))
        return;
    struct change *new = c->items[first + c->used[first]++];
    new->from = gone->path;
    gone->to = new->path;
}

int changes_pair_renames(struct arena *arena, struct change_set *set, struct err *e)
{
    struct created c = {0};
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    c.items = arena_alloc_array(arena, set->change_count + 1, sizeof(*c.items));
    c.used = arena_alloc_array(arena, set->change_count + 1, sizeof(*c.used));
    if (!c.items || !c.used)
        return err_set(e, -ENOMEM, "out of memory");
    for (size_t i = 0; i < set->change_count; i++) {
        struct change *new = &set->changes[i];
        if (new->kind == CHANGE_CREATED && S_ISREG(new->after.mode) &&
            new->after.size &&new->after.hashed)
            c.items[c.count++] = new;
    }
    if (!c.count)
        return 0;
    qsort(c.items, c.count, sizeof(*c.items), by_content); /* NOLINT(bugprone-sizeof-expression) */
    for (uint32_t index = 0; index < set->root_count; index++) {
        FD_CLEANUP int root =
            open(set->roots[index].path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        for (size_t i = 0; root >= 0 && i < set->change_count; i++) {
            struct change *gone = &set->changes[i];
            if (gone->root == index && gone->kind == CHANGE_DELETED && S_ISREG(gone->before.mode) &&
                gone->before.size)
                pair(&c, gone, root);
        }
    }
    return 0;
}
