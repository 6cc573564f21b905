/*
 * From the moment when a transaction has begun until it rests: whoever comes next finds what a
 * crash has left, and finishes it, or takes it back (C3).
 */
#ifndef NACRE_CHANGES_RECOVERY_H
#define NACRE_CHANGES_RECOVERY_H

#include "changes/transaction.h"

/* It has begun: STORE/pending/ID. `ret_ns` may be NULL; else what time it is for the file system.
 */
int recovery_mark(const struct store *s, const char *id, int64_t *ret_ns);
void recovery_unmark(const struct store *s, const char *id);

/* Does the steps of a journal that is on the disk; if that cannot be, takes them back. The state is
 * what it has come to. */
int recovery_finish(struct transaction *t, bool forward, struct err *e);

/* It is in the log, once, and can be found. */
void recovery_record(const struct transaction *t);
/* By its id it is to be found from anywhere. */
void recovery_make_known(const struct transaction *t);

/* Removes the directories of a transaction in all stores that it used; with the first, all is over.
 */
int recovery_remove(const char *path, const struct change_set *set);

/* What crashes have left in a store. Costs a look at a directory that is empty nearly always. */
int recovery_run(struct store *s, struct mended *ret, struct err *e);
/* Whether there may be anything. */
bool recovery_is_due(struct store *s);

#endif
