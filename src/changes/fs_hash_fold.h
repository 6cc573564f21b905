/* From a cache to the tree: all of it folded, then what is needed unfolded. */
#ifndef NACRE_CHANGES_FS_HASH_FOLD_H
#define NACRE_CHANGES_FS_HASH_FOLD_H

#include "changes/fs_hash_cache.h"

/* An empty tree becomes what the cache knows. The cache must stay as long as the tree does. */
void fold_tree(struct tree *t, const struct cache *c);

/*
 * Has a directory's entries in memory; nothing to do for one that is not folded. -ENOMEM and
 * -EBADMSG, for a cache that cannot be right, leave a tree that can only be released.
 */
int fold_open(struct tree *t, struct entry *directory);

/* The directory of a part, with all above it unfolded. */
int fold_find(struct tree *t, uint32_t part, struct entry **ret);

#endif
