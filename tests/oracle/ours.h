/* nacre's tree in the form in which the oracle writes bash's; README.md has the form. */
#ifndef NACRE_TESTS_OURS_H
#define NACRE_TESTS_OURS_H

#include "shell/shell.h"

__attribute__((noreturn)) void die(const char *message);

/* A buffer that failed would be equal to any other that did: it ends the program. */
void buf_start(struct buf *buf);
void buf_finish(struct buf *buf);

void put_text(struct buf *out, const char *kind, const char *bytes, size_t len);
void put_assignment(struct buf *out, const struct shell_assignment *assignment);
void put_word(struct buf *out, const struct shell_word *word);
void put_document(struct buf *out, const struct shell_part *parts);
void put_late(struct buf *out, const struct shell_part *parts);
void put_list(struct buf *out, const struct shell_list *list);

#endif
