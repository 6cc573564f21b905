/* See path_index.h. */
#include "base/path_index.h"

#include <stdlib.h>
#include <string.h>

/* By parts: the end of a path comes before a slash, and that before any other byte. */
static int compare(const char *a, const char *b, size_t b_len)
{
    size_t i = 0;
    while (i < b_len && a[i] == b[i])
        i++;
    const unsigned x = (unsigned char)a[i], y = i < b_len ? (unsigned char)b[i] : 0;
    const unsigned first = x == '/' ? 1 : x ? x + 1 : 0, second = y == '/' ? 1 : y ? y + 1 : 0;
    return first < second ? -1 : first > second;
}

static int compare_entries(const void *a, const void *b)
{
    const struct path_entry *x = a, *y = b;
    int order = compare(x->path, y->path, strlen(y->path));
    if (order == 0) /* as they were */
        order = x->value < y->value ? -1 : x->value > y->value;
    return order;
}

void path_index_sort(struct path_index *index)
{
    if (index->count)
        qsort(index->items, index->count, sizeof(*index->items), compare_entries);
}

static size_t find(const struct path_index *index, const char *path, size_t len)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(index->items[middle].path, path, len) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t path_index_first(const struct path_index *index, const char *path)
{
    return find(index, path, strlen(path));
}

const struct path_entry *path_index_above(const struct path_index *index, const char *path)
{
    for (const char *end = path; end;) {
        end = strchr(end + 1, '/');
        size_t len = end ? (size_t)(end - path) : strlen(path), at = find(index, path, len);
        if (at < index->count && strncmp(index->items[at].path, path, len) == 0 &&
            !index->items[at].path[len])
            return &index->items[at];
    }
    return NULL;
}
