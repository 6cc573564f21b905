/*
 * What is on the disk, and when. Taken for granted is this much: what was synced stays; a rename
 * that is on the disk is there as a whole, with both directories that it was done in; everything
 * else may come to the disk in any order, or not at all. Then a power cut at any point leaves
 * before or after, because
 *
 *   1. new content, and the directory that the run has in the store, are synced before the journal
 *      says `applying`: whoever finds that word finds all that it needs to finish;
 *   2. the journal and its name are synced before the first step (C1): a root of which anything was
 *      moved has a journal that says so;
 *   3. the directories of the root in which something was moved are synced before the journal says
 *      `applied`, and that before anybody is told: what was told stays;
 *   4. marks of what has begun, the log and the links by which runs are found are not synced at
 *      all. They are true as long as the machine runs, and after a restart they are made again from
 *      the journals (recovery.c).
 *
 * A few objects are synced one by one, which leaves alone what others have not written yet; many
 * are by one call for the whole file system, and so is the first commit of a store, whose own
 * directories are new. A run that changed nothing comes never here.
 */
#ifndef NACRE_CHANGES_DURABLE_H
#define NACRE_CHANGES_DURABLE_H

#include "changes/transaction.h"

/* All that a journal that is about to be written speaks of. `first`: the store may be new. */
int durable_before(const struct transaction *t, bool first);

/* What the steps, either way, have done to the roots. */
int durable_after(const struct change_set *set);

#endif
