/*
 * The secrets of a window of a stream: places where the filter says that a rule may begin, the
 * rules that are tried there, and the spans that come of it.
 */
#ifndef NACRE_REDACT_SCAN_H
#define NACRE_REDACT_SCAN_H

#include "base/alloc.h"
#include "redact/block.h"
#include "redact/redact.h"

struct redactor {
    const struct allocator *allocator;
    const uint8_t *filter;      /* of all sets */
    const struct rule_set *own; /* the caller's rules and values, or NULL */
    struct own_rules *made;     /* what these lie in */
    char replacement[REDACT_REPLACEMENT_MAX + 1];
    size_t names; /* rules of all sets, as they are counted */
};

/* What is to be removed; offsets in the stream. Open: `to` may still grow. */
struct span {
    uint64_t from, to;
    const struct rule *rule;
    const struct byte_class *run; /* open: it goes on with bytes of this class */
    bool open;
    bool block; /* open: it goes on as the block does */
};

struct scan {
    const struct redactor *redactor;
    struct memo *memos; /* of the rules that come with nacre, then of the own ones */
    struct span *spans; /* by `from`; those before `first` are done with */
    size_t first, count, room;
    struct span *fresh; /* of one place, until all its rules have answered */
    size_t fresh_count, fresh_room;
    struct block block;
    struct quiet quiet;
};

int scan_init(struct scan *s, const struct redactor *r);
void scan_release(struct scan *s);

/* The places where some rule may begin, one bit each, of up to SCAN_PLACES of them. Both functions
 * read MARGIN bytes past the last one. Many at once, since most have no mark and one costs little:
 * what costs is to be stopped. */
enum { SCAN_PLACES = 64 };
uint64_t scan_marks(const struct redactor *r, const unsigned char *data, size_t count);
bool scan_is_clean(const struct redactor *r, const unsigned char *data, size_t len);

/* Tries the rules at `at`: MATCH_MORE if one needs to see more, and then nothing has changed, else
 * MATCH_NO; or a negative errno. */
int scan_try(struct scan *s, const struct view *v, size_t at, uint64_t base);

/* Lets open spans grow over what has come since. */
void scan_extend(struct scan *s, const struct view *v, uint64_t base);

#endif
