/*
 * Another user's state directory, for root. Its owner can have put anything there, links and
 * journals included: root deals with it as that user, and can do no more than they.
 */
#ifndef NACRE_CLI_OWNER_H
#define NACRE_CLI_OWNER_H

#include <stdbool.h>

#include "base/err.h"

/* From here on we are who owns it. 1: another user; 0: it is ours. -EPERM: it is not, and we are
 * not root. */
int owner_become(const char *state, struct err *e);

/* For what is our own, between: `self`, and then the owner again. Nothing, where both are one. */
int owner_suspend(bool self, struct err *e);

#endif
