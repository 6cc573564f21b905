/*
 * Directories that their owner may not enter or write to. To look at what is in one, or to move
 * it, it has to be opened up for the moment. That is done only to those whose mode the journal on
 * the disk knows, so that whoever comes after a crash can put it right: the journal's mode with the
 * owner's bits added is the trace of it.
 */
#ifndef NACRE_CHANGES_CLOSED_H
#define NACRE_CHANGES_CLOSED_H

#include "changes/changes.h"

/*
 * Modes that somebody has changed since, and not the run, become those of the set: they are not
 * ours to put back (C4). Where the run has changed it, too, that is a conflict. `after`: that side
 * is in the roots. 1: some have to be opened up to be looked into; 0, or a negative errno.
 */
int closed_adopt(struct arena *arena, struct change_set *set, bool after,
                 struct conflicts *conflicts);

/* Opens up those that cannot be looked into, whichever of their two sides is in the roots. */
int closed_open(struct arena *arena, struct change_set *set);

/* Each has the mode again that the set says. `after`: that side of it is in the roots. */
int closed_restore(struct arena *arena, struct change_set *set, bool after);

#endif
