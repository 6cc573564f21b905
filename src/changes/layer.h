/* The directories of a layer: what a run writes in one root goes there. */
#ifndef NACRE_CHANGES_LAYER_H
#define NACRE_CHANGES_LAYER_H

#include "changes/transaction.h"

/*
 * A layer in the directory `run` of the store of its root, by an overlay or, where none can be had,
 * the second way. `ready`: its directories are there, but for what a power cut has taken.
 */
int layer_make(struct arena *arena, const struct store *store, const char *run, size_t index,
               const struct transaction_root *root, bool ready, struct change_root *ret,
               struct err *e);

/* The upper directory stands for the root itself inside, so it is made to be like it. */
int layer_imitate(int layer, const char *root);

#endif
