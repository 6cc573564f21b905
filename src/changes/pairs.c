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

static int by_size(const void *a, const void *b)
{
    const struct change *x = *(struct change *const *)a, *y = *(struct change *const *)b;
    return x->after.size < y->after.size ? -1 : x->after.size > y->after.size;
}

int changes_pair_renames(struct arena *arena, struct change_set *set, struct err *e)
{
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    struct change **created = arena_alloc_array(arena, set->change_count + 1, sizeof(*created));
    size_t count = 0;
    if (!created)
        return err_set(e, -ENOMEM, "out of memory");
    for (size_t i = 0; i < set->change_count; i++) {
        struct change *c = &set->changes[i];
        if (c->kind == CHANGE_CREATED && S_ISREG(c->after.mode) && c->after.size && c->after.hashed)
            created[count++] = c;
    }
    if (!count)
        return 0;
    qsort(created, count, sizeof(*created), by_size); /* NOLINT(bugprone-sizeof-expression) */
    for (size_t i = 0; i < set->change_count; i++) {
        struct change *gone = &set->changes[i];
        if (gone->kind != CHANGE_DELETED || !S_ISREG(gone->before.mode) || !gone->before.size)
            continue;
        size_t low = 0, high = count;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (created[middle]->after.size < gone->before.size)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < count && created[low]->after.size == gone->before.size && !gone->to; low++) {
            struct change *new = created[low];
            if (new->from || new->root != gone->root)
                continue;
            if (!gone->before.hashed) {
                FD_CLEANUP int root = open(set->roots[gone->root].path,
                                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (root < 0 || hash_at(root, gone->path, &gone->before) < 0 ||
                    !gone->before.hashed)
                    break;
            }
            if (memcmp(new->after.hash, gone->before.hash, sizeof(gone->before.hash)) == 0) {
                new->from = gone->path;
                gone->to = new->path;
            }
        }
    }
    return 0;
}
