/*
 * Rules as the scanner wants them: constant tables. Those that come with nacre are made from
 * data/secrets by tools/embed-secrets.c; those of a caller by the same code while it runs.
 *
 * A pattern is a small program that runs forward from one place and never goes over the same bytes
 * twice but to try another alternative, so it costs what it reads. Where to run it says a filter:
 * a set of the hashes of all four-byte beginnings that any rule can have.
 */
#ifndef NACRE_REDACT_RULES_H
#define NACRE_REDACT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RUN_UNBOUNDED = 0xFFFF, /* op.max: as many as there are */
    FILTER_BITS = 18,
    FILTER_BYTES = 1 << (FILTER_BITS - 3),
    INDEX_BITS = 11,
    GRAM_BYTES = 4,
    BEGINNING_BYTES = 8, /* a gram, and what must follow it as far as that is fixed */
    BEFORE_MAX = 64,     /* how far before its beginning a rule may look */
};

enum op_kind {
    OP_END,
    OP_BYTE,   /* the byte `value` */
    OP_LETTER, /* the letter `value` in upper or lower case */
    OP_RUN,    /* `min` to `max` bytes of the class `value`, as many as there are */
    OP_BOUND,  /* no letter or digit before the pattern, or behind this place */
    OP_ALT,    /* go on; where that fails, come back and go on `value` ops ahead */
    OP_COMMIT, /* the alternative is taken: forget the last OP_ALT, go on `value` ops ahead */
    OP_OPEN,   /* the secret begins */
    OP_CLOSE,  /* the secret ends */
};

struct op {
    uint8_t kind;
    uint16_t value, min, max;
};

struct byte_class {
    uint64_t bits[4];
};

static inline bool class_has(const struct byte_class *c, unsigned char byte)
{
    return c->bits[byte >> 6] >> (byte & 63) & 1;
}

enum rule_kind {
    RULE_PATTERN,
    RULE_BLOCK, /* the pattern begins a block of lines, such as a private key in PEM */
    RULE_TEXT,  /* a text as it stands: one encoding of a value */
};

/* What a secret must be beside being where it is; see judge.c. */
enum rule_judge {
    JUDGE_ANY,
    JUDGE_FILLED,   /* no placeholder: "<password>", "$TOKEN", "xxxx", "changeme" … */
    JUDGE_MIXED,    /* and no word: digits and letters */
    JUDGE_OPTION,   /* no placeholder, and no word of a sentence */
    JUDGE_ASSIGNED, /* no placeholder, and not code: a call, a name, a member */
    JUDGE_KINDS
};

/* RULE_TEXT */
enum {
    TEXT_FOLDED = 1,  /* upper and lower case are the same */
    TEXT_WRAPPED = 2, /* line ends may stand between its bytes */
    TEXT_LEFT = 4,    /* the base64 digit before it has some of its bits, too */
    TEXT_RIGHT = 8,
};

struct rule {
    const char *name;
    const char *text; /* RULE_TEXT */
    uint32_t text_len;
    uint32_t code;    /* where its ops begin */
    uint16_t number;  /* in the counts */
    uint16_t entropy; /* least, in hundredths of a bit for each byte */
    uint16_t before_class;
    uint8_t before_min,
        before_max; /* bytes of this class before the pattern belong to the secret */
    uint8_t kind, judge, text_flags;
    uint8_t rank; /* of two secrets that begin at one place the lower names them */
};

struct gram {
    uint32_t gram;       /* four bytes, each with 0x20 set */
    uint32_t next, mask; /* the four behind them, likewise; those that are not fixed are 0 */
    uint16_t rule;
};

struct rule_set {
    const struct rule *rules;
    const struct op *ops;
    const struct byte_class *classes;
    const struct gram *grams; /* by hash */
    const uint16_t *index;    /* the first gram whose hash is at least this, shortened */
    const uint8_t *filter;
    const uint16_t *anywhere; /* rules whose beginnings are too many for the filter */
    uint32_t rule_count, op_count, class_count, gram_count, anywhere_count;
    struct byte_class first; /* with what these begin */
};

/* What comes with nacre. */
extern const struct rule_set rules_builtin;

static inline uint32_t gram_hash(uint32_t gram)
{
    return gram * 0x9E3779B1u >> (32 - FILTER_BITS);
}

#endif
