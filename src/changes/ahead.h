/*
 * A layer that is made before it is known for which run. It lies in STORE/ahead, under a name of
 * its own and locked by whoever made it, and becomes the layer of a transaction by a rename, also
 * with an overlay mounted on it. Whoever finds one there that nobody holds removes it.
 */
#ifndef NACRE_CHANGES_AHEAD_H
#define NACRE_CHANGES_AHEAD_H

#include "changes/transaction.h"

struct layer_ahead {
    struct store store; /* open; its texts are in the arena that the layer was made with */
    int dir;            /* locked; -1: there is none */
    char name[UUID_TEXT + 1];
    const char *layer; /* absolute, until it is a transaction's */
    struct stat root;  /* what it was made to be like */
};
#define LAYER_AHEAD_NONE                                                                           \
    {                                                                                              \
        .store = {.dir = -1}, .dir = -1                                                            \
    }

/* -ENOTSUP: such a root has no layers, or not at once. */
int ahead_make(struct arena *arena, const char *state, const struct transaction_root *root,
               struct layer_ahead *ret, struct err *e);
/*
 * As transaction_begin, with this layer for the only root. The root may have changed since, but not
 * in who owns it and who may do what: -ESTALE. In any case the layer is not the caller's any more.
 */
int ahead_adopt(struct arena *arena, struct layer_ahead *ahead, const char *id,
                const struct transaction_root *root, struct transaction *ret, struct err *e);
/* It is not wanted; nothing was written to it, and nobody will. */
void ahead_drop(struct layer_ahead *ahead);

#endif
