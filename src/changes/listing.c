/* See listing.h. */
#include "changes/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "changes/beneath.h"

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

static int read_all(struct arena *arena, int dir, struct listing *ret)
{
    struct names names;
    size_t room = 0;
    int r = names_open(&names, dir);
    for (const char *name; r == 0 && (name = names_next(&names));) {
        if (ret->count == room) {
            size_t wanted = room ? room * 2 : 16;
            struct listed *more = arena_alloc_array(arena, wanted, sizeof(*more));
            if (!more) {
                r = -ENOMEM;
                break;
            }
            if (ret->count)
                memcpy(more, ret->items, ret->count * sizeof(*more));
            ret->items = more;
            room = wanted;
        }
        struct listed *item = &ret->items[ret->count];
        if (fstatat(dir, name, &item->st, AT_SYMLINK_NOFOLLOW) < 0) {
            r = errno == ENOENT ? 0 : -errno; /* somebody removed it meanwhile */
            continue;
        }
        item->name = arena_copy(arena, name, strlen(name));
        if (!item->name)
            r = -ENOMEM;
        else
            ret->count++;
    }
    if (r == 0 || names.stream)
        names_close(&names);
    return r;
}

int listing_read(struct arena *arena, int base, const char *path, struct listing *ret)
{
    *ret = (struct listing){0};
    FD_CLEANUP int dir = beneath_open(base, path, O_RDONLY | O_DIRECTORY);
    int r = dir < 0 ? dir : read_all(arena, dir, ret);
    if (r == 0 && ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), compare);
    return r;
}

const struct listed *listing_find(const struct listing *l, const char *name)
{
    struct listed key = {.name = name};
    return l->count ? bsearch(&key, l->items, l->count, sizeof(*l->items), compare) : NULL;
}

const char *listing_join(struct arena *arena, const char *dir, const char *name)
{
    if (strcmp(dir, ".") == 0)
        return arena_copy(arena, name, strlen(name));
    return arena_format(arena, "%s/%s", dir, name);
}
