/* Sets of rules; see maker.h. */
#include "redact/maker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { GRAMS_OF_RULE_MAX = 5000, GRAMS_MAX = UINT16_MAX };

void rule_maker_init(struct rule_maker *m, const struct allocator *allocator)
{
    *m = (struct rule_maker){.allocator = allocator};
}

void rule_maker_release(struct rule_maker *m)
{
    alloc_free(m->allocator, m->rules);
    alloc_free(m->allocator, m->ops);
    alloc_free(m->allocator, m->classes);
    alloc_free(m->allocator, m->grams);
    alloc_free(m->allocator, m->anywhere);
    alloc_free(m->allocator, m->index);
    alloc_free(m->allocator, m->filter);
    rule_maker_init(m, m->allocator);
}

int rule_maker_grow(const struct rule_maker *m, void *items, size_t count, size_t *room,
                    size_t item_size)
{
    if (count < *room)
        return 0;
    size_t wanted = *room ? *room * 2 : 64;
    void *old;
    memcpy(&old, items, sizeof(old));
    void *grown = alloc_resize(m->allocator, old, wanted * item_size);
    if (!grown)
        return -ENOMEM;
    memcpy(items, &grown, sizeof(grown));
    *room = wanted;
    return 0;
}

/* --- beginnings ------------------------------------------------------------------------------ */

struct beginnings {
    struct rule_maker *maker;
    uint16_t rule;
    size_t added;
};

static int add_gram(struct beginnings *b, uint32_t gram, uint32_t next, uint32_t mask)
{
    struct rule_maker *m = b->maker;
    if (++b->added > GRAMS_OF_RULE_MAX || m->gram_count >= GRAMS_MAX)
        return -E2BIG;
    int r = rule_maker_grow(m, &m->grams, m->gram_count, &m->gram_room, sizeof(*m->grams));
    if (r == 0)
        m->grams[m->gram_count++] = (struct gram){gram, next, mask, b->rule};
    return r;
}

/* The different bytes of a class, each with 0x20 set. */
static unsigned list_folded(const struct byte_class *c, unsigned char ret[static 256])
{
    unsigned count = 0;
    bool seen[256] = {false};
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned folded = byte | 0x20;
        if (class_has(c, (unsigned char)byte) && !seen[folded]) {
            seen[folded] = true;
            ret[count++] = (unsigned char)folded;
        }
    }
    return count;
}

static int visit_beginning(void *user, const struct byte_class beginning[BEGINNING_BYTES])
{
    unsigned char bytes[BEGINNING_BYTES][256];
    unsigned counts[BEGINNING_BYTES], total = 1;
    uint32_t next = 0, mask = 0;
    for (unsigned i = 0; i < BEGINNING_BYTES; i++) {
        counts[i] = list_folded(&beginning[i], bytes[i]);
        if (i >= GRAM_BYTES) {
            unsigned shift = 8 * (i - GRAM_BYTES);
            next |= counts[i] == 1 ? (uint32_t)bytes[i][0] << shift : 0;
            mask |= counts[i] == 1 ? (uint32_t)0xFF << shift : 0;
            continue;
        }
        total *= counts[i];
        if (total > GRAMS_OF_RULE_MAX)
            return -E2BIG;
    }
    for (unsigned n = 0; n < total; n++) {
        uint32_t gram = 0;
        for (unsigned i = 0, rest = n; i < GRAM_BYTES; rest /= counts[i], i++)
            gram |= (uint32_t)bytes[i][rest % counts[i]] << (8 * i);
        int r = add_gram(user, gram, next, mask);
        if (r < 0)
            return r;
    }
    return 0;
}

/* A rule that can begin in too many ways is tried wherever its first byte stands. */
static int add_anywhere(struct rule_maker *m, uint16_t rule, uint32_t code)
{
    int r = rule_maker_grow(m, &m->anywhere, m->anywhere_count, &m->anywhere_room,
                            sizeof(*m->anywhere));
    if (r < 0)
        return r;
    m->anywhere[m->anywhere_count++] = rule;
    pattern_add_first(m, code, &m->first);
    return 0;
}

/* --- rules ----------------------------------------------------------------------------------- */

static int add_rule(struct rule_maker *m, const struct rule *rule, struct err *e)
{
    int r = m->rule_count < UINT16_MAX
                ? rule_maker_grow(m, &m->rules, m->rule_count, &m->rule_room, sizeof(*m->rules))
                : -E2BIG;
    if (r < 0)
        return err_errno(e, r, "rule '%s'", rule->name);
    m->rules[m->rule_count++] = *rule;
    return 0;
}

int rule_maker_add_pattern(struct rule_maker *m, const struct rule *rule, const char *pattern,
                           const char *before, struct err *e)
{
    struct rule made = *rule;
    int r = pattern_compile(m, pattern, &made.code, e);
    if (r == 0 && before)
        r = pattern_compile_before(m, before, &made, e);
    if (r < 0)
        return err_context(e, r, "rule '%s'", rule->name);
    struct beginnings b = {m, (uint16_t)m->rule_count, 0};
    size_t grams = m->gram_count;
    r = pattern_each_beginning(m, made.code, visit_beginning, &b);
    if (r == -E2BIG) {
        m->gram_count = grams;
        r = add_anywhere(m, b.rule, made.code);
    }
    if (r < 0)
        return err_errno(e, r, "rule '%s': its beginnings", rule->name);
    return add_rule(m, &made, e);
}

int rule_maker_add_text(struct rule_maker *m, const struct rule *rule, struct err *e)
{
    struct beginnings b = {m, (uint16_t)m->rule_count, 0};
    uint32_t gram = 0;
    if (rule->text_len < GRAM_BYTES)
        return err_set(e, -EINVAL, "rule '%s': too short", rule->name);
    for (unsigned i = 0; i < GRAM_BYTES; i++)
        gram |= ((uint32_t)(unsigned char)rule->text[i] | 0x20) << (8 * i);
    int r = add_gram(&b, gram, 0, 0);
    if (r < 0)
        return err_errno(e, r, "rule '%s'", rule->name);
    return add_rule(m, rule, e);
}

static int compare_grams(const void *a, const void *b)
{
    const struct gram *one = a, *other = b;
    uint32_t h = gram_hash(one->gram), k = gram_hash(other->gram);
    if (h != k)
        return h < k ? -1 : 1;
    if (one->gram != other->gram)
        return one->gram < other->gram ? -1 : 1;
    if (one->rule != other->rule)
        return one->rule < other->rule ? -1 : 1;
    /* The least certain first. */
    if (one->mask != other->mask)
        return one->mask < other->mask ? -1 : 1;
    return one->next < other->next ? -1 : one->next > other->next;
}

int rule_maker_finish(struct rule_maker *m, struct rule_set *ret, struct err *e)
{
    enum { SLOTS = 1 << INDEX_BITS };
    m->index = alloc_resize(m->allocator, m->index, (SLOTS + 1) * sizeof(*m->index));
    m->filter = alloc_resize(m->allocator, m->filter, FILTER_BYTES);
    if (!m->index || !m->filter)
        return err_errno(e, -ENOMEM, "rules");
    if (m->gram_count)
        qsort(m->grams, m->gram_count, sizeof(*m->grams), compare_grams);
    /* Ways to the same beginning may be many. */
    size_t kept = 0;
    for (size_t i = 0; i < m->gram_count; i++) {
        if (kept == 0 || compare_grams(&m->grams[kept - 1], &m->grams[i]) != 0)
            m->grams[kept++] = m->grams[i];
    }
    m->gram_count = kept;
    memset(m->filter, 0, FILTER_BYTES);
    size_t at = 0;
    for (size_t slot = 0; slot <= SLOTS; slot++) {
        while (at < kept && gram_hash(m->grams[at].gram) >> (FILTER_BITS - INDEX_BITS) < slot)
            at++;
        m->index[slot] = (uint16_t)at;
    }
    for (size_t i = 0; i < kept; i++) {
        uint32_t hash = gram_hash(m->grams[i].gram);
        m->filter[hash >> 3] |= (uint8_t)(1u << (hash & 7));
    }
    *ret = (struct rule_set){
        .rules = m->rules,
        .ops = m->ops,
        .classes = m->classes,
        .grams = m->grams,
        .index = m->index,
        .filter = m->filter,
        .anywhere = m->anywhere,
        .rule_count = (uint32_t)m->rule_count,
        .op_count = (uint32_t)m->op_count,
        .class_count = (uint32_t)m->class_count,
        .gram_count = (uint32_t)kept,
        .anywhere_count = (uint32_t)m->anywhere_count,
        .first = m->first,
    };
    return 0;
}
