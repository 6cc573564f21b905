/*
 * Patterns: from text to the ops of rules.h. docs/redaction.md has the language.
 *
 * A repeat takes all that it can and gives nothing back, and of alternatives the first that fits is
 * taken. For patterns on which that could mean something else than elsewhere, a repeat in front of
 * something that it could have taken too, there is a refusal.
 */
#ifndef NACRE_REDACT_PATTERN_H
#define NACRE_REDACT_PATTERN_H

#include "base/alloc.h"
#include "base/err.h"
#include "redact/rules.h"

/* The tables of a set while they grow. */
struct rule_maker {
    const struct allocator *allocator;
    struct rule *rules;
    struct op *ops;
    struct byte_class *classes;
    struct gram *grams;
    uint16_t *anywhere;
    uint16_t *index;
    uint8_t *filter;
    size_t rule_count, op_count, class_count, gram_count, anywhere_count;
    size_t rule_room, op_room, class_room, gram_room, anywhere_room;
    struct byte_class first;
};

/* Adds the pattern's ops and classes. -EINVAL: "at COLUMN: what". */
int pattern_compile(struct rule_maker *m, const char *pattern, uint32_t *ret_code, struct err *e);

/* "[class]{min,max}" and nothing else, for what may stand before a rule's pattern. */
int pattern_compile_before(struct rule_maker *m, const char *pattern, struct rule *rule,
                           struct err *e);

/* Adds the bytes with which the ops from `at` on can begin. */
void pattern_add_first(const struct rule_maker *m, size_t at, struct byte_class *c);

/* Each beginning of what the ops match, as classes; bytes past a short end are any.
 * `visit` returns 0 or a negative errno. -E2BIG: there are too many. */
int pattern_each_beginning(const struct rule_maker *m, uint32_t code,
                           int (*visit)(void *user,
                                        const struct byte_class beginning[BEGINNING_BYTES]),
                           void *user);

#endif
