/* See durable.h. */
#include "changes/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/beneath.h"

enum { SINGLY_MAX = 32 };

/* Whether a run has put this into its layer. Links and FIFOs are their names alone. */
static bool is_new(const struct change *c)
{
    return c->kind != CHANGE_KEPT && (S_ISREG(c->after.mode) || S_ISDIR(c->after.mode));
}

static int sync_all(const char *path)
{
    FD_CLEANUP int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir < 0 || syncfs(dir) < 0 ? -errno : 0;
}

/* One object below `base`; what cannot be opened is synced with all others. */
static int sync_one(int base, const char *path, mode_t mode)
{
    FD_CLEANUP int fd = S_ISDIR(mode) ? beneath_open(base, path, O_RDONLY | O_DIRECTORY)
                                      : beneath_open_file(base, path);
    if (fd == -EACCES || fd == -EPERM)
        return syncfs(base) < 0 ? -errno : 0;
    return fd < 0 ? fd : fsync(fd) < 0 ? -errno : 0;
}

static int sync_layer(const struct transaction *t, uint32_t root)
{
    const struct change_set *set = &t->journal.set;
    FD_CLEANUP int layer =
        open(set->roots[root].layer, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = layer < 0 ? -errno : 0;
    for (size_t i = 0; r == 0 && i < set->change_count; i++) {
        const struct change *c = &set->changes[i];
        if (c->root != root || !is_new(c) || !set->steps[c->step].slot)
            continue; /* a directory's own mode and times become real in the root alone */
        const char *slot = change_slot(set, c, t->arena);
        r = slot ? sync_one(layer, slot, c->after.mode) : -ENOMEM;
    }
    return r;
}

int durable_before(const struct transaction *t, bool first)
{
    const struct change_set *set = &t->journal.set;
    size_t count = 0;
    int r = 0;
    for (size_t i = 0; i < set->change_count; i++)
        count += is_new(&set->changes[i]);
    if (first || count > SINGLY_MAX) {
        for (uint32_t root = 0; r == 0 && root < set->root_count; root++)
            r = sync_all(set->roots[root].layer);
        return r;
    }
    for (uint32_t root = 0; r == 0 && root < set->root_count; root++)
        r = sync_layer(t, root);
    FD_CLEANUP int runs =
        openat(t->store.dir, "runs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return r < 0 ? r : runs < 0 || fsync(runs) < 0 ? -errno : 0;
}

/* Every directory in which something was moved has a step of its own, for its times. */
int durable_after(const struct change_set *set)
{
    size_t count = 0;
    int r = 0;
    for (size_t i = 0; i < set->step_count; i++)
        count += set->steps[i].kind == STEP_META;
    for (uint32_t root = 0; r == 0 && root < set->root_count; root++) {
        if (count > SINGLY_MAX) {
            r = sync_all(set->roots[root].path);
            continue;
        }
        FD_CLEANUP int dir =
            open(set->roots[root].path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r = dir < 0 ? -errno : 0;
        for (size_t i = 0; r == 0 && i < set->step_count; i++) {
            const struct step *step = &set->steps[i];
            if (step->root == root && step->kind == STEP_META)
                r = sync_one(dir, step->path, S_IFDIR);
        }
    }
    return r;
}
