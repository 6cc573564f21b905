/*
 * One rule at one place of a text. What is not certain before more of the text is known is
 * MATCH_MORE, so that an answer never depends on how much was there when it was asked for (R1).
 *
 * Sequences that set colours are passed over: `grep --color` puts them into the middle of tokens.
 */
#ifndef NACRE_REDACT_MATCH_H
#define NACRE_REDACT_MATCH_H

#include "redact/rules.h"

enum {
    RUN_MAX = 4096,    /* a secret that is longer is one, whatever comes behind it (R4) */
    LOOK_BEHIND = 192, /* bytes before a place that must be kept for a look */
    MARGIN = 8,        /* bytes behind a text that may be read, whatever they are */
};

/* Some of a stream: `data[0]` is its first byte, or LOOK_BEHIND bytes of it lie before the place.
 */
struct view {
    const unsigned char *data;
    size_t len;
    bool final; /* nothing will follow */
};

enum match_result { MATCH_NO, MATCH_YES, MATCH_MORE };

struct match {
    size_t from, to; /* the secret */
    bool open;       /* it goes on for as long as bytes of this class follow */
    const struct byte_class *run;
};

/* Where the last endless repeat of a rule ended: the next one that begins within ends there, too.
 * Without it, repeating a keyword would cost its square (R3). */
struct memo {
    uint64_t from, to; /* offsets in the stream */
    const struct byte_class *run;
    bool open; /* it was longer than RUN_MAX */
};

/* `base` is the offset of `data[0]`. A block is matched up to its first line; see block.h. */
enum match_result match_rule(const struct rule_set *set, const struct rule *rule,
                             const struct view *v, size_t at, uint64_t base, struct memo *memo,
                             struct match *ret);

/* Behind the colours that begin at `at`, or `at`. MATCH_MORE: one is cut off. */
enum match_result match_skip_colours(const struct view *v, size_t at, size_t *ret);

/* On while bytes of the class follow, with colours among them: where they end. MATCH_YES, or
 * MATCH_MORE if they may go on; at most `max` bytes. */
enum match_result match_run(const struct view *v, size_t at, const struct byte_class *c, size_t max,
                            size_t *ret_at, size_t *ret_count);

#endif
