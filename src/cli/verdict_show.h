/* A verdict for people: one line, then each reason with its place in the text underlined. */
#ifndef NACRE_CLI_VERDICT_SHOW_H
#define NACRE_CLI_VERDICT_SHOW_H

#include "policy/verdict.h"

enum { SHOWN_VERDICT_MAX = 1 << 20 };

/* Safe for a terminal; `ascii_only` for one that may not speak UTF-8. */
void verdict_show(const struct verdict *verdict, const char *text, size_t len, bool colour,
                  bool ascii_only, struct buf *out);

#endif
