/*
 * Objects: what is too large for an entry, by the SHA-256 of its content, compressed (zstd).
 *
 *   DIR/ab/cdef….zst      ab: the first byte of the hash, in hexadecimal
 *
 * An object is written once, whole or not at all, and never changed. It is not synced by itself:
 * the entry that names it is, and an object that is missing or other than its name is found by
 * `nacre verify`. The content is redacted before it comes here.
 *
 * The frames of a run's output are text: for each piece a line `STREAM MS LENGTH`, STREAM being 1
 * or 2, MS the milliseconds since the start, then LENGTH bytes and a newline. Where a part in the
 * middle was left out, a frame has the stream `-1` or `-2`, MS, and LENGTH 0, and stands in its
 * place.
 */
#ifndef NACRE_HISTORY_OBJECT_H
#define NACRE_HISTORY_OBJECT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

enum { OBJECT_BYTES_MAX = 64 << 20 };

/* -E2BIG: it is larger than OBJECT_BYTES_MAX. `dir` is made if it is not there, for the owner
 * alone. */
int object_put(const char *dir, const void *bytes, size_t len, char ret_name[SHA256_HEX + 1],
               struct err *e);

/* Puts the content into `out`, which is cleared first. -ENOENT: it is not kept; -EBADMSG: damaged.
 */
int object_get(const char *dir, const char *name, struct buf *out, struct err *e);

/* Removes the oldest (by time of change) while all together are larger than `max_bytes`.
 * `ret_dropped` may be NULL. */
int object_retain(const char *dir, uint64_t max_bytes, uint64_t *ret_dropped, struct err *e);

#endif
