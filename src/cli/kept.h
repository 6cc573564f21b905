/* What the commands share that deal with changes which are kept. */
#ifndef NACRE_CLI_KEPT_H
#define NACRE_CLI_KEPT_H

#include "changes/transaction.h"
#include "engine/engine.h"

enum { KEPT_BYTES_MAX = 1 << 30, KEPT_SHOWN_MAX = 20 };

/* Where changes are kept; NULL: nowhere. */
const char *kept_state_dir(void);

/* One line: which run, what was done with it, and how much it is. */
void kept_print_summary(const struct transaction *t, const char *done);

/* A path with a reason, on standard error, escaped. */
void kept_complain_path(const char *root, const char *path, const char *why);

#endif
