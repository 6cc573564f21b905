/* The text that a command is given: one word, `-- ARGV…`, or standard input with `-`. */
#ifndef NACRE_CLI_TEXT_H
#define NACRE_CLI_TEXT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/options.h"
#include "nacre.h"

/* A buffer's maximum for it: standard input is cut there, and the engine refuses it. */
enum { TEXT_BUF_MAX = NACRE_TEXT_MAX + 1 };

/* Fills `ret` (initialised, empty). `ret_from_stdin` tells whether standard input was used up. */
int text_from_words(const struct options_parsed *words, struct buf *ret, bool *ret_from_stdin,
                    struct err *e);

/* For a text that the reader refuses: its line on standard error with a caret below the place. */
void text_show_refusal(const char *text, size_t len);

#endif
