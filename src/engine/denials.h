/*
 * Why something failed inside, for whoever wonders: what the command itself said on standard error
 * is held against its plan, and where a wall explains it, a warning names the wall and the key that
 * opens it.
 *
 * The kernel tells nobody outside which path it refused: errors of mounts have no reporter, and
 * Landlock's and the filter's go to the audit log, which is root's. So this is read off the words
 * of the program, which are the inside's and may be forged: they are quoted as such, they decide
 * nothing, and no file of the host is asked whether it exists.
 */
#ifndef NACRE_ENGINE_DENIALS_H
#define NACRE_ENGINE_DENIALS_H

#include <stddef.h>

#include "base/arena.h"
#include "plan/plan.h"

enum { DENIALS_MAX = 4 };

/* At most DENIALS_MAX texts, in the arena; returns how many. */
size_t denials_find(struct arena *arena, const struct plan *plan, const char *errors, size_t len,
                    const char *ret[static DENIALS_MAX]);

#endif
