/* Extended attributes of one object, as bytes that can be compared, kept and put back. */
#ifndef NACRE_CHANGES_ATTRIBUTES_H
#define NACRE_CHANGES_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/*
 * `path` is one that can be opened by name, such as /proc/self/fd/N/name; links are not followed.
 * Those of the overlay's own are left out. Sorted, so equal bytes mean equal attributes.
 */
int attributes_read(struct arena *arena, const char *path, const char **ret, size_t *ret_len);

/* Makes them these: others are removed. */
int attributes_write(const char *path, const char *bytes, size_t len);

/* What the overlay has noted on an object of its upper directory. */
enum attributes_mark {
    ATTRIBUTES_OPAQUE = 1 << 0, /* nothing of the directory below it shows through */
    ATTRIBUTES_COPIED = 1 << 1, /* it was there before, and was copied up */
};
int attributes_marks(const char *path, unsigned *ret);

/* Removes what the overlay noted. */
int attributes_strip(const char *path);

/* How an object below a descriptor is named for the calls above. */
enum { ATTRIBUTES_PATH = 320 };
void attributes_path(int dir, const char *name, char ret[static ATTRIBUTES_PATH]);

#endif
