/* The secrets of a window; see scan.h. */
#include "redact/scan.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "redact/judge.h"

static size_t rules_of(const struct rule_set *set)
{
    return set ? set->rule_count : 0;
}

int scan_init(struct scan *s, const struct redactor *r)
{
    *s = (struct scan){.redactor = r};
    size_t bytes = (rules_of(&rules_builtin) + rules_of(r->own)) * sizeof(*s->memos);
    s->memos = alloc_resize(r->allocator, NULL, bytes);
    if (!s->memos)
        return -ENOMEM;
    memset(s->memos, 0, bytes);
    return 0;
}

void scan_release(struct scan *s)
{
    alloc_free(s->redactor->allocator, s->memos);
    alloc_free(s->redactor->allocator, s->spans);
    alloc_free(s->redactor->allocator, s->fresh);
    *s = (struct scan){.redactor = s->redactor};
}

/* --- where to look --------------------------------------------------------------------------- */

static uint64_t load_folded(const unsigned char *data)
{
    uint64_t bytes;
    memcpy(&bytes, data, sizeof(bytes));
    return le64toh(bytes) | UINT64_C(0x2020202020202020);
}

static unsigned is_marked(const uint8_t *filter, uint64_t bytes)
{
    uint32_t hash = gram_hash((uint32_t)bytes);
    return (unsigned)filter[hash >> 3] >> (hash & 7);
}

/* Eight places at once. */
static unsigned marks_of_eight(const uint8_t *filter, const unsigned char *data)
{
    uint64_t low = load_folded(data), high = load_folded(data + 4);
    return (is_marked(filter, low) & 1) | (is_marked(filter, low >> 8) & 1) << 1 |
           (is_marked(filter, low >> 16) & 1) << 2 | (is_marked(filter, low >> 24) & 1) << 3 |
           (is_marked(filter, high) & 1) << 4 | (is_marked(filter, high >> 8) & 1) << 5 |
           (is_marked(filter, high >> 16) & 1) << 6 | (is_marked(filter, high >> 24) & 1) << 7;
}

static uint64_t marks_by_class(const struct redactor *r, const unsigned char *data, size_t count)
{
    uint64_t marks = 0;
    for (size_t i = 0; i < count; i++)
        marks |= (uint64_t)class_has(&r->own->first, data[i]) << i;
    return marks;
}

uint64_t scan_marks(const struct redactor *r, const unsigned char *data, size_t count)
{
    const uint8_t *filter = r->filter;
    uint64_t marks = 0;
    size_t i = 0;
    for (; count - i >= 8; i += 8)
        marks |= (uint64_t)marks_of_eight(filter, data + i) << i;
    for (; i < count; i++)
        marks |= (uint64_t)(is_marked(filter, load_folded(data + i)) & 1) << i;
    if (r->own && r->own->anywhere_count > 0)
        marks |= marks_by_class(r, data, count);
    return marks;
}

bool scan_is_clean(const struct redactor *r, const unsigned char *data, size_t len)
{
    for (size_t at = 0; at < len; at += SCAN_PLACES) {
        size_t count = len - at < SCAN_PLACES ? len - at : SCAN_PLACES;
        if (scan_marks(r, data + at, count))
            return false;
    }
    return true;
}

/* --- spans ----------------------------------------------------------------------------------- */

static int grow(const struct scan *s, struct span **spans, size_t count, size_t *room)
{
    if (count < *room)
        return 0;
    size_t wanted = *room ? *room * 2 : 16;
    struct span *grown = alloc_resize(s->redactor->allocator, *spans, wanted * sizeof(struct span));
    if (!grown)
        return -ENOMEM;
    *spans = grown;
    *room = wanted;
    return 0;
}

/* What lies within a span that is there changes neither what is removed nor its name; nor does what
 * goes on in the same way as one does. */
static bool is_within(const struct scan *s, const struct span *span)
{
    if (s->count == s->first)
        return false;
    const struct span *last = &s->spans[s->count - 1];
    if (!span->open)
        return last->from < span->from && span->to <= last->to;
    for (size_t i = s->first; i < s->count; i++) {
        const struct span *other = &s->spans[i];
        if (other->open && other->run == span->run && other->from < span->from &&
            span->from < other->to)
            return true;
    }
    return false;
}

static int add_span(struct scan *s, const struct span *span)
{
    if (is_within(s, span))
        return 0;
    if (s->count == s->room && s->first > s->room / 2) {
        memmove(s->spans, s->spans + s->first, (s->count - s->first) * sizeof(*s->spans));
        s->count -= s->first;
        s->first = 0;
    }
    int r = grow(s, &s->spans, s->count, &s->room);
    if (r < 0)
        return r;
    size_t i = s->count++;
    for (; i > s->first && s->spans[i - 1].from > span->from; i--)
        s->spans[i] = s->spans[i - 1];
    s->spans[i] = *span;
    return 0;
}

static int add_fresh(struct scan *s, const struct span *span)
{
    int r = grow(s, &s->fresh, s->fresh_count, &s->fresh_room);
    if (r == 0)
        s->fresh[s->fresh_count++] = *span;
    return r;
}

/* --- rules at a place ------------------------------------------------------------------------ */

/*
 * A BEGIN line within a block belongs to it; whether it is within may not be known yet. A block
 * that is still open so far behind the line, however much of the text is there, takes its key, too.
 */
static enum match_result try_block(struct scan *s, const struct view *v, size_t at, uint64_t base,
                                   struct match *m)
{
    const struct block *b = &s->block;
    if (b->to > b->from && base + at >= b->from) {
        if (base + at < b->to || b->seen > base + at + BLOCK_WAIT)
            return MATCH_NO;
        if (b->open)
            return MATCH_MORE;
    }
    enum match_result r = block_is_key(v, m->to, base, &s->quiet);
    m->from = at;
    return r;
}

static int try_rule(struct scan *s, const struct rule_set *set, const struct rule *rule,
                    struct memo *memo, const struct view *v, size_t at, uint64_t base)
{
    struct match m;
    int r = (int)match_rule(set, rule, v, at, base, memo, &m);
    if (r == MATCH_YES && rule->kind == RULE_BLOCK)
        r = (int)try_block(s, v, at, base, &m);
    if (r != MATCH_YES)
        return r;
    struct span span = {base + m.from, base + m.to, rule, m.run, m.open, false};
    /* How far a block goes is not known yet. */
    bool within = rule->kind != RULE_BLOCK && is_within(s, &span);
    if (m.from == m.to || within || !judge_secret(rule, v, at, &m))
        return MATCH_NO;
    r = add_fresh(s, &span);
    return r < 0 ? r : MATCH_YES;
}

/* What follows a gram is there, with no colour in it, so that it can be compared. */
static bool follows_plainly(const struct view *v, size_t at)
{
    uint32_t bytes;
    memcpy(&bytes, v->data + at + GRAM_BYTES, sizeof(bytes));
    bytes ^= 0x1B1B1B1B; /* a zero where a colour begins */
    return (v->final || at + BEGINNING_BYTES <= v->len) &&
           !((bytes - 0x01010101) & ~bytes & 0x80808080);
}
_Static_assert(BEGINNING_BYTES - GRAM_BYTES == sizeof(uint32_t), "what follows is four bytes");

static int try_set(struct scan *s, const struct rule_set *set, struct memo *memos,
                   const struct view *v, size_t at, uint64_t base)
{
    uint64_t bytes = load_folded(v->data + at);
    uint32_t gram = (uint32_t)bytes, next = (uint32_t)(bytes >> 32);
    uint32_t slot = gram_hash(gram) >> (FILTER_BITS - INDEX_BITS);
    uint16_t last = UINT16_MAX;
    bool plain = follows_plainly(v, at);
    for (size_t i = set->index[slot]; i < set->index[slot + 1]; i++) {
        const struct gram *g = &set->grams[i];
        if (g->gram != gram || g->rule == last || (((next ^ g->next) & g->mask) && plain))
            continue;
        uint16_t rule = last = g->rule;
        int r = try_rule(s, set, &set->rules[rule], &memos[rule], v, at, base);
        if (r < 0 || r == MATCH_MORE)
            return r;
    }
    if (set->anywhere_count == 0 || !class_has(&set->first, v->data[at]))
        return MATCH_NO;
    for (size_t i = 0; i < set->anywhere_count; i++) {
        uint16_t rule = set->anywhere[i];
        int r = try_rule(s, set, &set->rules[rule], &memos[rule], v, at, base);
        if (r < 0 || r == MATCH_MORE)
            return r;
    }
    return MATCH_NO;
}

static void begin_block(struct scan *s, struct span *span, const struct view *v, uint64_t base)
{
    s->block = (struct block){
        .from = span->from, .seen = span->to, .to = span->to, .gap = BLOCK_QUIET, .open = true};
    block_extend(&s->block, v, base);
    span->to = s->block.to;
    span->open = s->block.open;
    span->block = true;
}

int scan_try(struct scan *s, const struct view *v, size_t at, uint64_t base)
{
    s->fresh_count = 0;
    int r = MATCH_NO;
    if (is_marked(rules_builtin.filter, load_folded(v->data + at)) & 1)
        r = try_set(s, &rules_builtin, s->memos, v, at, base);
    if (r == MATCH_NO && s->redactor->own)
        r = try_set(s, s->redactor->own, s->memos + rules_builtin.rule_count, v, at, base);
    if (r != MATCH_NO)
        return r;
    for (size_t i = 0; i < s->fresh_count; i++) {
        struct span *span = &s->fresh[i];
        if (span->rule->kind == RULE_BLOCK)
            begin_block(s, span, v, base);
        r = add_span(s, span);
        if (r < 0)
            return r;
    }
    return MATCH_NO;
}

void scan_extend(struct scan *s, const struct view *v, uint64_t base)
{
    if (s->block.open)
        block_extend(&s->block, v, base);
    for (size_t i = s->first; i < s->count; i++) {
        struct span *span = &s->spans[i];
        if (!span->open)
            continue;
        if (span->block) {
            span->to = s->block.to;
            span->open = s->block.open;
            continue;
        }
        size_t at, count;
        span->open =
            match_run(v, (size_t)(span->to - base), span->run, SIZE_MAX, &at, &count) == MATCH_MORE;
        span->to = base + at;
    }
}
