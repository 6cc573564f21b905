/*
 * Where a control group of ours can be made. The launcher makes one there for runs that last; the
 * probes ask the same question, so that what `nacre doctor` says is what happens.
 */
#ifndef NACRE_SANDBOX_GROUP_H
#define NACRE_SANDBOX_GROUP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Version 2: the nearest group above ours that hands memory on to its children, and is ours. Our
 * own never does, for it has us in it, unless it is the root. `threads`: lowered to what the groups
 * between allow; NULL: nobody is to be moved. Returns a directory, or -1: there is none.
 */
int group_open_parent_v2(uint64_t *threads);

/* Version 1: our own group in the hierarchy of this controller; -1: there is none, or not ours. */
int group_open_parent_v1(const char *controller);

/* A small file of a group's, with a NUL. Empty when it is not there. */
size_t group_read_file(int dir, const char *name, char *ret, size_t size);

#endif
