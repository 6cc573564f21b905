/* One name in an open directory: what is there now, taken into the tree. Between walk and tree. */
#ifndef NACRE_CHANGES_FS_HASH_LOOK_H
#define NACRE_CHANGES_FS_HASH_LOOK_H

#include "changes/fs_hash_walk.h"

/*
 * Looks until what is seen stands still. A directory is put on the waiting list. `again`: what is
 * known of a file is not believed. `name` has a NUL behind it and may not be an entry's own.
 */
int look_at(struct walk *w, struct entry *parent, int fd, const char *name, size_t len, bool again,
            struct err *e);

bool look_is_excluded(const struct walk *w, const struct entry *parent, const char *name,
                      size_t len);

/* Opens for reading, without a trace in the access time where that is permitted. */
int look_open(int fd, const char *name, int flags);

/* What failures mean: something else is at this name by now; or we may not look. */
bool look_is_gone(int code);
bool look_is_denied(int code);

/* Sets the message with the path, and returns the code; -EAGAIN becomes -EBUSY. */
int look_fail(const struct entry *parent, const char *name, int code, struct err *e);

/* Closes the directory if it is open. */
void walk_forget(struct walk *w, const struct entry *directory);

#endif
