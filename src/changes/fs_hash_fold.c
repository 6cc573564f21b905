/* Directories that are taken out of the cache as they are needed; see fs_hash_fold.h. */
#include "changes/fs_hash_fold.h"

#include <errno.h>
#include <string.h>

/* What the cache says of a directory itself. */
static void set_folded(const struct cache *c, struct entry *directory, uint32_t number)
{
    const struct cache_part *part = &c->parts[number];
    directory->directory->part = number;
    directory->directory->folded = true;
    directory->identity = cache_part_identity(part);
    directory->settled = part->flags & CACHE_SETTLED;
    directory->state = ENTRY_READ;
    directory->mode = tree_mode(FS_HASH_DIRECTORY, part->mode);
    memcpy(directory->hash, part->hash, SHA256_BYTES);
}

void fold_tree(struct tree *t, const struct cache *c)
{
    t->cache = c;
    set_folded(c, t->root, 0);
    t->sums = cache_sum(c, 0);
    t->unsaved = false;
    tree_believe(t);
}

static int add_record(struct tree *t, struct entry *directory, uint64_t at, uint32_t part)
{
    const struct cache_record *record = cache_record(t->cache, at);
    struct entry *entry;
    if (tree_find(directory, record->name, record->name_len))
        return -EBADMSG;
    int r = tree_add_known(t, directory, record->name, record->name_len, record->type, &entry);
    if (r < 0)
        return r;
    if (entry->directory) {
        set_folded(t->cache, entry, part);
        return 0;
    }
    entry->identity = cache_record_identity(record);
    entry->settled = true;
    entry->state = ENTRY_READ;
    entry->mode = tree_mode(entry->type, record->mode);
    memcpy(entry->hash, record->hash, SHA256_BYTES);
    return 0;
}

int fold_open(struct tree *t, struct entry *directory)
{
    if (!directory->directory->folded)
        return 0;
    directory->directory->folded = false;
    const struct cache_part *part = &t->cache->parts[directory->directory->part];
    /* The hash is also of what is not here, and may be gone without a trace. */
    if (!(part->flags & CACHE_WHOLE))
        tree_touch(t, directory);
    uint64_t at = part->at;
    for (uint32_t i = 0; i < part->directories + part->others; i++) {
        int r = add_record(t, directory, at, part->first + i);
        if (r < 0)
            return r;
        at = cache_next(t->cache, at);
    }
    return 0;
}

int fold_find(struct tree *t, uint32_t part, struct entry **ret)
{
    uint32_t way[FS_HASH_DEPTH_MAX];
    size_t steps = 0;
    for (; part; part = t->cache->parts[part].parent)
        way[steps++] = part;
    struct entry *at = t->root;
    while (steps > 0) {
        int r = fold_open(t, at);
        if (r < 0)
            return r;
        const struct cache_record *record =
            cache_record(t->cache, t->cache->parts[way[--steps]].name_at);
        at = tree_find(at, record->name, record->name_len);
        if (!at)
            return -EBADMSG;
    }
    *ret = at;
    return 0;
}
