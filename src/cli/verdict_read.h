/* The verdict of a question, which is JSON, for people. */
#ifndef NACRE_CLI_VERDICT_READ_H
#define NACRE_CLI_VERDICT_READ_H

#include <stdbool.h>

#include "base/buf.h"

/* Why somebody is asked, and every command that the text could run: alike ones once, with their
 * number, those that ask first. Safe for a terminal. */
void verdict_read_show(const char *json, size_t len, const char *bold, const char *plain,
                       bool ascii_only, struct buf *out);

#endif
