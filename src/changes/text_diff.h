/*
 * How two texts differ, line by line, and that as a patch.
 *
 * In: two byte strings, which may be anybody's: time and memory are bounded whatever they are. Out:
 * edits that turn the first into the second; a unified diff that patch(1) and git apply. Past the
 * bound the edits are still right, but no longer the smallest.
 */
#ifndef NACRE_CHANGES_TEXT_DIFF_H
#define NACRE_CHANGES_TEXT_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

/* Larger texts are not compared; where more lines than these may differ, all of them are edits. */
enum { TEXT_DIFF_BYTES_MAX = 16 << 20, TEXT_DIFF_LINES_MAX = 1 << 18 };

/* Whole lines of one text: where they lie, and how many are before them. A line has its end. */
struct text_range {
    size_t at, len;       /* bytes */
    size_t before, count; /* lines */
};

/* The lines `old` of the first text make place for the lines `new` of the second. */
struct text_edit {
    struct text_range old, new;
};

struct text_diff {
    const char *a, *b;
    size_t a_len, b_len;
    struct text_edit *edits; /* in order, with lines between them that are alike */
    size_t count;
    size_t removed, added; /* lines */
    uint64_t work;         /* what it took: for tests of the bound */
};

/* The texts must outlive the result, whose edits are in the arena. -E2BIG, -ENOMEM, or 0. */
int text_diff_make(struct arena *arena, const char *a, size_t a_len, const char *b, size_t b_len,
                   struct text_diff *ret);

/* Whether git would call it binary: there is a NUL near its start. */
bool text_is_binary(const char *bytes, size_t len);

/* --- text_unified.c: as a patch -------------------------------------------------------------- */

/* Hunks with three lines around each; nothing where the texts are alike. What buf_append returns.
 */
int text_diff_append(const struct text_diff *diff, struct buf *out);

/* `prefix` and `name` as one word, in quotes and with escapes as git has them if a byte is odd. */
int text_append_name(const char *prefix, const char *name, struct buf *out);

/* "--- a/NAME" or "+++ b/NAME"; without a name /dev/null. */
int text_append_file(const char *mark, const char *prefix, const char *name, struct buf *out);

#endif
