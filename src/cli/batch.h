/* Many texts on standard input: one JSON string a line. */
#ifndef NACRE_CLI_BATCH_H
#define NACRE_CLI_BATCH_H

#include <stddef.h>

#include "base/err.h"

/*
 * Calls `use` for each line in order: with the text, or with `failure` when the line is not one
 * JSON string. Empty lines are lines. Returns a negative errno when standard input cannot be read.
 */
typedef void batch_use(void *user, const char *text, size_t len, const char *failure);
int batch_each(batch_use *use, void *user, struct err *e);

#endif
