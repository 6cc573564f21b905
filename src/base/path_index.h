/*
 * Many paths that are asked for by name, by what is above them or by what is below: sorted in an
 * order in which a directory is followed by all that is below it.
 */
#ifndef NACRE_BASE_PATH_INDEX_H
#define NACRE_BASE_PATH_INDEX_H

#include <stddef.h>

struct path_entry {
    const char *path; /* without `.`, `..` or a last slash */
    size_t value;     /* the caller's */
};

/* Filled in by the caller, and then sorted; paths may be there more than once. */
struct path_index {
    struct path_entry *items;
    size_t count;
};

void path_index_sort(struct path_index *index);

/* Where the entries that are `path` or lie below it begin: they stand together. */
size_t path_index_first(const struct path_index *index, const char *path);

/* An entry that is `path` or a directory above it, the uppermost; NULL: there is none. */
const struct path_entry *path_index_above(const struct path_index *index, const char *path);

#endif
