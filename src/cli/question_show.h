/*
 * A question for people: what is shown is what runs. Nothing in it reaches a terminal that the
 * terminal would obey or an eye would miss; blanks and empty lines that would push the rest out of
 * sight are told by their number; long lines are broken; all is counted.
 */
#ifndef NACRE_CLI_QUESTION_SHOW_H
#define NACRE_CLI_QUESTION_SHOW_H

#include "approve/approve.h"

enum { SHOWN_QUESTION_MAX = 256 << 20 };

/* All of it: who asks, why, every command, and the text by its lines. */
void question_show(const struct question *q, bool colour, bool ascii_only, struct buf *out);

/* A text that stands within a line. */
void question_append_safe(const char *text, size_t len, bool ascii_only, struct buf *out);

/* The lines of a text with their numbers, in the same way. */
void question_show_text(const char *text, size_t len, bool ascii_only, struct buf *out);

/* What is strange about a text, one line for each; none: nothing is appended. */
void question_show_oddities(const char *text, size_t len, struct buf *out);

/* One line: the start of the text, safe. */
void question_show_head(const struct question *q, size_t columns, bool ascii_only, struct buf *out);

#endif
