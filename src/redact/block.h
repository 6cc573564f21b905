/*
 * Blocks: a private key from its BEGIN line to its END line, however long it is and whatever stands
 * before each line.
 *
 * A BEGIN line that is only spoken of, as in a program that looks for one, is no key: long runs of
 * base64 must follow soon. Where there is no END line, the block ends when no such run has come for
 * a while.
 */
#ifndef NACRE_REDACT_BLOCK_H
#define NACRE_REDACT_BLOCK_H

#include "redact/match.h"

enum {
    BLOCK_LINE = 40,   /* base64 digits in a row that count as a line of a key */
    BLOCK_SOON = 400,  /* within so many bytes of the BEGIN line the first must have come */
    BLOCK_QUIET = 512, /* after so many bytes without one the block is over */
    BLOCK_WAIT = 1024, /* so many may have to be seen to know whether that is so */
};

struct block {
    uint64_t from;  /* of its BEGIN line */
    uint64_t seen;  /* looked at up to here */
    uint64_t to;    /* its end, as far as it is certain */
    uint32_t run;   /* base64 digits in a row before `seen` */
    uint32_t quiet; /* bytes since the last line of a key */
    uint32_t gap;   /* bytes since the last run of any length */
    bool long_line; /* the last run was a line of a key, so that a shorter one may be its last */
    bool open;      /* more may belong to it */
};

/* Where no line of a key ends, as far as was looked: so that many BEGIN lines cost no more (R3). */
struct quiet {
    uint64_t from, to;
};

/* Whether lines of a key follow at `at`, which is behind a BEGIN line. */
enum match_result block_is_key(const struct view *v, size_t at, uint64_t base, struct quiet *q);

/* Looks at what is there; `base` is the offset of the view's first byte. */
void block_extend(struct block *b, const struct view *v, uint64_t base);

#endif
