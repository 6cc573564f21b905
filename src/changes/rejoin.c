/*
 * Hard links. An overlay copies a file up under the one name by which it is written to; its other
 * names keep the old content. Without an overlay they would all have changed, and so they do at the
 * commit: each of them becomes a name of the new file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path_index.h"
#include "changes/attributes.h"
#include "changes/beneath.h"
#include "changes/changes.h"
#include "changes/listing.h"

struct joiner {
    struct arena *arena;
    struct change_set *set;
    struct err *e;
    uint32_t root;
    int lower, layer;
    struct wanted *wanted; /* by inode */
    size_t count;
    struct path_index moved; /* what the steps of this root move, before any was added here */
    struct path_index metas; /* the directories that get their own times */
};

/* A step whose file has other names, and its change. */
struct wanted {
    uint64_t inode;
    size_t step, change;
};

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

/*
 * Whether the step changed a file under one of several names, or made a new one in its place. The
 * overlay makes no note on a file with several names that it copies up. But it gives the copy all
 * of its times, and changes no time of access afterwards, being mounted so: that of a new file is
 * its own.
 */
static int has_siblings(const struct joiner *j, const struct step *step, bool *ret)
{
    struct beneath root = BENEATH_AT(j->lower), layer = BENEATH_AT(j->layer);
    struct stat old, new;
    int r = 0;
    *ret = false;
    if (step->kind == STEP_SWAP && step->root == j->root && S_ISREG(step->before.mode) &&
        S_ISREG(step->after.mode)) {
        r = beneath_stat(&root, step->path, &old);
        if (r == 0 && old.st_nlink > 1)
            r = beneath_stat(&layer, step->slot, &new);
        if (r == 0 && old.st_nlink > 1)
            *ret = old.st_atim.tv_sec == new.st_atim.tv_sec &&old.st_atim.tv_nsec ==
                   new.st_atim.tv_nsec;
    }
    beneath_release(&root);
    beneath_release(&layer);
    return r == -ENOENT ? 0 : r;
}

/* The step that moves this path, itself or with a directory above it. */
static const struct step *step_for(const struct joiner *j, const char *path)
{
    const struct path_entry *entry = path_index_above(&j->moved, path);
    return entry ? &j->set->steps[entry->value] : NULL;
}

/* A directory in which something is moved gets its time back. */
static int keep_directory(const struct joiner *j, const char *dir)
{
    size_t at = path_index_first(&j->metas, dir);
    if (at < j->metas.count && strcmp(j->metas.items[at].path, dir) == 0)
        return 0;
    FD_CLEANUP int fd = beneath_open(j->lower, dir, O_PATH | O_DIRECTORY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return fd < 0 ? fd : -errno;
    struct step step = {.kind = STEP_META, .root = j->root, .path = dir};
    char name[ATTRIBUTES_PATH];
    attributes_path(fd, ".", name);
    int r = attributes_read(j->arena, name, &step.attributes_before, &step.attributes_before_len);
    step.attributes_after = step.attributes_before;
    step.attributes_after_len = step.attributes_before_len;
    change_side_of(&st, &step.before);
    step.after = step.before;
    return r < 0 ? r : step_add(j->set, j->arena, &step);
}

static int join(const struct joiner *j, const struct wanted *wanted, const char *path,
                const struct stat *st)
{
    const struct step *step = &j->set->steps[wanted->step];
    char slot[32];
    snprintf(slot, sizeof(slot), "slots/%zu", j->set->step_count);
    struct beneath layer = BENEATH_AT(j->layer);
    int parent;
    const char *name;
    int r = beneath_parent(&layer, step->slot, &parent, &name);
    if (r == 0 && linkat(parent, name, j->layer, slot, 0) < 0 && errno != EEXIST)
        r = -errno;
    beneath_release(&layer);
    if (r < 0)
        return r;
    struct step sibling = {.kind = STEP_SWAP,
                           .root = j->root,
                           .path = path,
                           .slot = arena_copy(j->arena, slot, strlen(slot)),
                           .after = step->after};
    change_side_of(st, &sibling.before);
    struct change change = j->set->changes[wanted->change];
    change.path = path;
    change.step = (uint32_t)j->set->step_count;
    change.before = sibling.before;
    r = sibling.slot ? step_add(j->set, j->arena, &sibling) : -ENOMEM;
    return r < 0 ? r : change_add(j->set, j->arena, &change);
}

/* 1: a name was joined. */
static int look_at(struct joiner *j, const char *path, const struct stat *st)
{
    size_t low = 0, high = j->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (j->wanted[middle].inode < st->st_ino)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < j->count && j->wanted[low].inode == st->st_ino; low++) {
        const struct step *step = &j->set->steps[j->wanted[low].step];
        if (strcmp(step->path, path) == 0)
            continue;
        const struct step *other = step_for(j, path);
        if (!other) {
            int r = join(j, &j->wanted[low], path, st);
            return r < 0 ? r : 1;
        }
        if (other->kind == STEP_SWAP && other->after.inode != step->after.inode &&
            strcmp(other->path, path) == 0 && strcmp(step->path, path) < 0)
            change_note(j->set, j->arena,
                        "'%s' and '%s' were one file and were changed apart: they are two now",
                        step->path, path);
        return 0;
    }
    return 0;
}

static int walk(struct joiner *j, const char *path)
{
    struct listing inner;
    bool joined = false;
    int r = listing_read(j->arena, j->lower, path, &inner);
    if (r == -EACCES || r == -ENOENT)
        return 0;
    for (size_t i = 0; r == 0 && i < inner.count; i++) {
        const struct stat *st = &inner.items[i].st;
        bool dir = S_ISDIR(st->st_mode);
        if (!dir && (!S_ISREG(st->st_mode) || st->st_nlink < 2))
            continue;
        const char *below = listing_join(j->arena, path, inner.items[i].name);
        r = !below ? -ENOMEM : dir ? walk(j, below) : look_at(j, below, st);
        joined |= r == 1;
        r = r < 0 ? r : 0;
    }
    return r == 0 && joined ? keep_directory(j, path) : r;
}

/* What the steps of this root move, and for which directories there is one. */
static int index_steps(struct joiner *j)
{
    const struct change_set *set = j->set;
    j->moved = j->metas = (struct path_index){0};
    j->moved.items = arena_alloc_array(j->arena, set->step_count + 1, sizeof(*j->moved.items));
    j->metas.items = arena_alloc_array(j->arena, set->step_count + 1, sizeof(*j->metas.items));
    if (!j->moved.items || !j->metas.items)
        return -ENOMEM;
    for (size_t i = 0; i < set->step_count; i++) {
        struct path_index *index = set->steps[i].kind == STEP_META ? &j->metas : &j->moved;
        if (set->steps[i].root == j->root)
            index->items[index->count++] = (struct path_entry){set->steps[i].path, i};
    }
    path_index_sort(&j->moved);
    path_index_sort(&j->metas);
    return 0;
}

static int rejoin_root(struct joiner *j)
{
    const struct change_root *root = &j->set->roots[j->root];
    FD_CLEANUP int layer = open(root->layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_CLEANUP int lower = open(root->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (layer < 0 || lower < 0)
        return -errno;
    j->layer = layer;
    j->lower = lower;
    j->count = 0;
    j->wanted = arena_alloc_array(j->arena, j->set->change_count + 1, sizeof(*j->wanted));
    int r = j->wanted ? 0 : -ENOMEM;
    const size_t changes = j->set->change_count;
    /* The change of a file that was swapped is the one of its step. */
    for (size_t i = 0; r == 0 && i < changes; i++) {
        const struct change *c = &j->set->changes[i];
        const struct step *step = &j->set->steps[c->step];
        bool found = false;
        if (c->root == j->root && strcmp(c->path, step->path) == 0)
            r = has_siblings(j, step, &found);
        if (r == 0 && found)
            j->wanted[j->count++] = (struct wanted){step->before.inode, c->step, i};
    }
    if (r == 0 && j->count) {
        qsort(j->wanted, j->count, sizeof(*j->wanted), compare_wanted);
        r = index_steps(j);
    }
    if (r == 0 && j->count && mkdirat(layer, "slots", 0700) < 0 && errno != EEXIST)
        r = -errno;
    return r == 0 && j->count ? walk(j, ".") : r;
}

int changes_rejoin(struct arena *arena, struct change_set *set, struct err *e)
{
    struct joiner j = {.arena = arena, .set = set, .e = e};
    int r = 0;
    for (j.root = 0; r == 0 && j.root < set->root_count; j.root++)
        r = rejoin_root(&j);
    return r < 0 ? err_errno(e, r, "cannot join the names of a file again") : 0;
}
