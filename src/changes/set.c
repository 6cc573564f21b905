/* Lists that grow in an arena; see changes.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "changes/changes.h"

const char *const change_kind_names[CHANGE_KINDS] = {
    [CHANGE_NONE] = "none",       [CHANGE_CREATED] = "created", [CHANGE_MODIFIED] = "modified",
    [CHANGE_DELETED] = "deleted", [CHANGE_TOUCHED] = "touched", [CHANGE_KEPT] = "kept",
};

/* Room for one more of `size` bytes: what was there moves, and its old place is the arena's. */
static int make_room(struct arena *arena, void **items, size_t count, size_t *room, size_t size)
{
    enum { FIRST = 16 };
    if (count < *room)
        return 0;
    size_t wanted = *room ? *room * 2 : FIRST;
    void *more = arena_alloc_array(arena, wanted, size);
    if (!more)
        return -ENOMEM;
    if (count)
        memcpy(more, *items, count * size);
    *items = more;
    *room = wanted;
    return 0;
}

int change_add(struct change_set *set, struct arena *arena, const struct change *change)
{
    int r = make_room(arena, (void **)&set->changes, set->change_count, &set->change_room,
                      sizeof(*change));
    if (r == 0)
        set->changes[set->change_count++] = *change;
    return r;
}

int step_add(struct change_set *set, struct arena *arena, const struct step *step)
{
    int r = make_room(arena, (void **)&set->steps, set->step_count, &set->step_room, sizeof(*step));
    if (r == 0)
        set->steps[set->step_count++] = *step;
    return r;
}

int conflict_add(struct conflicts *c, const char *root, const char *path, const char *why)
{
    int r = make_room(c->arena, (void **)&c->items, c->count, &c->room, sizeof(*c->items));
    const char *copy = r < 0 ? NULL : arena_copy(c->arena, path, strlen(path));
    if (!copy)
        return -ENOMEM;
    c->items[c->count++] = (struct conflict){root, copy, why};
    return 0;
}

void change_note(struct change_set *set, struct arena *arena, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args); /* NOLINT(clang-analyzer-valist.Uninitialized) */
    va_end(args);
    const size_t room = sizeof(set->notes.items) / sizeof(set->notes.items[0]);
    const char *copy = set->notes.count < room ? arena_copy(arena, text, strlen(text)) : NULL;
    if (copy)
        set->notes.items[set->notes.count++] = copy;
    else
        set->notes.dropped++;
}

int change_root_open(const struct change_root *root, int layer)
{
    struct stat st, other;
    FD_CLEANUP int fd = open(root->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    FD_CLEANUP int own =
        layer < 0 ? open(root->layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fstat(layer < 0 ? own : layer, &other) < 0)
        return own < 0 && layer < 0 ? -ENOENT : -errno;
    return st.st_ino == root->inode && st.st_dev == other.st_dev ? fd_steal(&fd) : -ESTALE;
}

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void change_side_of(const struct stat *st, struct change_side *ret)
{
    *ret = (struct change_side){
        .mode = st->st_mode,
        .size = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size,
        .mtime_ns = nanoseconds(st->st_mtim),
        .inode = st->st_ino,
        .ctime_ns = nanoseconds(st->st_ctim),
    };
}

const char *change_slot(const struct change_set *set, const struct change *change,
                        struct arena *arena)
{
    const struct step *step = &set->steps[change->step];
    if (!step->slot)
        return NULL;
    return arena_format(arena, "%s%s", step->slot, change->path + strlen(step->path));
}
