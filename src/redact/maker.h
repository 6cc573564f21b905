/*
 * Makes sets of rules: by the tool that embeds those of data/secrets, and at run time for those of
 * a caller.
 */
#ifndef NACRE_REDACT_MAKER_H
#define NACRE_REDACT_MAKER_H

#include "redact/pattern.h"

void rule_maker_init(struct rule_maker *m, const struct allocator *allocator);
void rule_maker_release(struct rule_maker *m);

/* `*items` has room for one more than `count`. */
int rule_maker_grow(const struct rule_maker *m, void *items, size_t count, size_t *room,
                    size_t item_size);

/* Adds a rule with what of it is set: name, number, judge, entropy, rank, kind; `before` may be
 * NULL. */
int rule_maker_add_pattern(struct rule_maker *m, const struct rule *rule, const char *pattern,
                           const char *before, struct err *e);

/* The same for a RULE_TEXT. Its text is not copied. */
int rule_maker_add_text(struct rule_maker *m, const struct rule *rule, struct err *e);

/* Sorts what was added; `ret` points into the maker, which must outlive it. */
int rule_maker_finish(struct rule_maker *m, struct rule_set *ret, struct err *e);

#endif
