/* The entries of one directory; fs_hash_tree.h tells how they stand. */
#ifndef NACRE_CHANGES_FS_HASH_SHELF_H
#define NACRE_CHANGES_FS_HASH_SHELF_H

#include "changes/fs_hash_tree.h"

struct shelf *shelf_new(const struct allocator *allocator, unsigned depth);
void shelf_free(const struct allocator *allocator, struct shelf *shelf); /* not the entries */

struct entry *shelf_find(const struct shelf *shelf, const char *name, size_t len);

/* Both say that the hash is stale. -ENOMEM leaves shelves that can only be listed and freed; the
 * entry is then not among them. */
int shelf_add(const struct allocator *allocator, struct shelf *shelf, struct entry *entry);
int shelf_remove(const struct allocator *allocator, struct shelf *shelf, const struct entry *entry);
void shelf_touch(struct shelf *shelf, const struct entry *entry);

/* Puts all in front of `*list`. */
void shelf_list(const struct shelf *shelf, struct entry **list);

void shelf_hash(struct shelf *shelf);

#endif
