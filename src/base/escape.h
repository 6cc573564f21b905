/*
 * Bytes made safe to look at: what comes from inside the box reaches a terminal only through here.
 *
 * Printable text, newline and tab pass. Everything that a terminal would obey or an eye would miss
 * is shown as an escape: C0 and C1 controls, DEL, bidirectional and zero-width characters, tags,
 * variation selectors, other invisible characters, and bytes that are not UTF-8.
 */
#ifndef NACRE_BASE_ESCAPE_H
#define NACRE_BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A stream's state between two pieces: the start of a character that the next piece completes. */
struct escape {
    bool ascii_only; /* escape everything else: the terminal may not speak UTF-8 */
    bool blanks;     /* escape blanks that are not ASCII: somebody decides by what is shown */
    char held[4];
    size_t held_len;
};

/* Appends the safe form of `bytes`. Zeroed state starts a stream. Returns what buf_append does. */
int escape_append(struct escape *e, const char *bytes, size_t len, struct buf *out);

/* Appends what is still held at the end of the stream. */
int escape_finish(struct escape *e, struct buf *out);

/* Whether a terminal may show `c` as it is. */
bool escape_is_plain(uint32_t c);

/* Whether it looks like a space, and is none to a shell. */
bool escape_is_blank(uint32_t c);

/* What somebody who reads a text could take for something else, or not see at all. */
struct oddities {
    size_t hidden;  /* characters that are shown as escapes, with `blanks` */
    size_t foreign; /* others that are not ASCII */
    size_t blanks;  /* the longest row of spaces and tabs */
    size_t lines;   /* the longest row of empty lines */
};
struct oddities escape_oddities(const char *text, size_t len);

#endif
