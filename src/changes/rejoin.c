/*
 * Hard links. An overlay copies a file up under the one name by which it is written to; its other
 * names keep the old content. Without an overlay they would all have changed, and so they do at the
 * commit: each of them becomes a name of the new file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
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
    size_t *wanted; /* steps whose file has other names */
    size_t count;
};

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
    for (size_t i = 0; i < j->set->step_count; i++) {
        const struct step *step = &j->set->steps[i];
        if (step->root == j->root && step->kind != STEP_META && path_is_below(path, step->path))
            return step;
    }
    return NULL;
}

/* A directory in which something is moved gets its time back. */
static int keep_directory(const struct joiner *j, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dir = slash ? arena_copy(j->arena, path, (size_t)(slash - path)) : ".";
    if (!dir)
        return -ENOMEM;
    for (size_t i = 0; i < j->set->step_count; i++) {
        const struct step *step = &j->set->steps[i];
        if (step->root == j->root && step->kind == STEP_META && strcmp(step->path, dir) == 0)
            return 0;
    }
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

static int join(const struct joiner *j, const struct step *step, const char *path,
                const struct stat *st)
{
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
    struct change change = {.kind = CHANGE_MODIFIED,
                            .root = j->root,
                            .path = path,
                            .step = (uint32_t)j->set->step_count,
                            .before = sibling.before,
                            .after = step->after};
    for (size_t i = 0; i < j->set->change_count; i++) {
        const struct change *c = &j->set->changes[i];
        if (c->root == j->root && strcmp(c->path, step->path) == 0) {
            change.kind = c->kind;
            change.after = c->after;
        }
    }
    r = sibling.slot ? step_add(j->set, j->arena, &sibling) : -ENOMEM;
    if (r == 0)
        r = change_add(j->set, j->arena, &change);
    return r < 0 ? r : keep_directory(j, path);
}

static int look_at(struct joiner *j, const char *path, const struct stat *st)
{
    for (size_t i = 0; i < j->count; i++) {
        const struct step *step = &j->set->steps[j->wanted[i]];
        if (step->before.inode != st->st_ino || strcmp(step->path, path) == 0)
            continue;
        const struct step *other = step_for(j, path);
        if (!other)
            return join(j, step, path, st);
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
    int r = listing_read(j->arena, j->lower, path, false, &inner);
    if (r == -EACCES || r == -ENOENT)
        return 0;
    for (size_t i = 0; r == 0 && i < inner.count; i++) {
        const struct stat *st = &inner.items[i].st;
        bool dir = S_ISDIR(st->st_mode);
        if (!dir && (!S_ISREG(st->st_mode) || st->st_nlink < 2))
            continue;
        const char *below = listing_join(j->arena, path, inner.items[i].name);
        r = !below ? -ENOMEM : dir ? walk(j, below) : look_at(j, below, st);
    }
    return r;
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
    j->wanted = arena_alloc_array(j->arena, j->set->step_count + 1, sizeof(*j->wanted));
    int r = j->wanted ? 0 : -ENOMEM;
    size_t steps = j->set->step_count;
    for (size_t i = 0; r == 0 && i < steps; i++) {
        bool found;
        r = has_siblings(j, &j->set->steps[i], &found);
        if (r == 0 && found)
            j->wanted[j->count++] = i;
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
