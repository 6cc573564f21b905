/*
 * What was in a path before a run and what is there after it: one of the two lies in the root, the
 * other in the layer, by how far the transaction has come. Nothing is followed, nothing is waited
 * for, and what is no longer what the journal says is not passed off as it.
 */
#ifndef NACRE_CHANGES_SIDES_H
#define NACRE_CHANGES_SIDES_H

#include "changes/changes.h"

enum side_state {
    SIDE_UNREADABLE, /* `error` says why */
    SIDE_CHANGED,    /* somebody has changed it since */
    SIDE_NONE,       /* there is nothing, or nothing with a content */
    SIDE_LARGE,      /* more than SIDE_BYTES_MAX: not read */
    SIDE_READ,
};
enum { SIDE_BYTES_MAX = 16 << 20 };

/* A file's bytes, or where a link leads. */
struct side_content {
    enum side_state state;
    int error;
    const char *bytes;
    size_t len;
};

struct sides {
    const struct journal *journal;
    struct side_place *places; /* one for each root */
};

/* -EBUSY: it is between two states, and nobody can tell. */
int sides_open(struct arena *arena, const struct journal *journal, struct sides *ret,
               struct err *e);
void sides_close(struct sides *s);

/* One side of a change; the bytes are in the arena. */
void sides_read(const struct sides *s, const struct change *c, bool after, struct arena *arena,
                struct side_content *ret);

#endif
