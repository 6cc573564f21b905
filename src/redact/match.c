/* One rule at one place; see match.h. */
#include "redact/match.h"

#include <string.h>

enum {
    ESCAPE_BYTE = 0x1B,
    COLOUR_MAX = 32,  /* bytes of one sequence */
    COLOURS_MAX = 4,  /* sequences in a row */
    CHOICES_MAX = 48, /* alternatives within alternatives */
};

static bool is_alnum(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* --- colours --------------------------------------------------------------------------------- */

static bool is_parameter(unsigned char c)
{
    return (c >= '0' && c <= '9') || c == ';' || c == ':';
}

/* Behind one sequence `ESC [ … letter` at `at`, or `at` if there is none. */
static enum match_result skip_colour(const struct view *v, size_t at, size_t *ret)
{
    size_t i = at + 1;
    *ret = at;
    if (i == v->len)
        return v->final ? MATCH_NO : MATCH_MORE;
    if (v->data[i] != '[')
        return MATCH_NO;
    for (i++; i - at < COLOUR_MAX; i++) {
        if (i == v->len)
            return v->final ? MATCH_NO : MATCH_MORE;
        if (v->data[i] == 'm' || v->data[i] == 'K') {
            *ret = i + 1;
            return MATCH_YES;
        }
        if (!is_parameter(v->data[i]))
            break;
    }
    return MATCH_NO;
}

enum match_result match_skip_colours(const struct view *v, size_t at, size_t *ret)
{
    *ret = at;
    for (int i = 0; i < COLOURS_MAX && *ret < v->len && v->data[*ret] == ESCAPE_BYTE; i++) {
        enum match_result r = skip_colour(v, *ret, ret);
        if (r != MATCH_YES)
            return r;
    }
    return MATCH_YES;
}

/* Before the colours that end at `at`. */
static size_t skip_colours_back(const struct view *v, size_t at)
{
    for (int n = 0; n < COLOURS_MAX && at > 0; n++) {
        if (v->data[at - 1] != 'm' && v->data[at - 1] != 'K')
            return at;
        size_t i = at - 1;
        while (i > 0 && at - i < COLOUR_MAX && is_parameter(v->data[i - 1]))
            i--;
        if (i < 2 || v->data[i - 1] != '[' || v->data[i - 2] != ESCAPE_BYTE)
            return at;
        at = i - 2;
    }
    return at;
}

/* --- parts ----------------------------------------------------------------------------------- */

/* Nothing that a word could begin with stands before `at`: neither a letter nor a digit, unless
 * they are an escape such as \n or %3D. */
static bool begins_word(const struct view *v, size_t at)
{
    at = skip_colours_back(v, at);
    if (at == 0 || !is_alnum(v->data[at - 1]))
        return true;
    unsigned char last = v->data[at - 1];
    if (at >= 2 && v->data[at - 2] == '\\')
        return last == 'n' || last == 't' || last == 'r';
    return at >= 3 && v->data[at - 3] == '%' && is_hex(v->data[at - 2]) && is_hex(last);
}

enum match_result match_run(const struct view *v, size_t at, const struct byte_class *c, size_t max,
                            size_t *ret_at, size_t *ret_count)
{
    const unsigned char *data = v->data;
    size_t i = at, count = 0, next;
    for (;;) {
        size_t end = max - count < v->len - i ? i + (max - count) : v->len, start = i;
        while (i < end && class_has(c, data[i]))
            i++;
        count += i - start;
        *ret_at = i;
        *ret_count = count;
        if (count == max)
            return MATCH_YES;
        if (i == v->len)
            return v->final ? MATCH_YES : MATCH_MORE;
        if (data[i] != ESCAPE_BYTE)
            return MATCH_YES;
        /* Colours count only if the run goes on behind them. */
        if (match_skip_colours(v, i, &next) == MATCH_MORE)
            return MATCH_MORE;
        if (next == i)
            return MATCH_YES;
        if (next == v->len)
            return v->final ? MATCH_YES : MATCH_MORE;
        if (!class_has(c, data[next]))
            return MATCH_YES;
        i = next;
    }
}

/* --- a pattern ------------------------------------------------------------------------------- */

struct choice {
    const struct op *op;
    size_t at, from, to;
    bool inside;
};

/* A run of RUN_MAX or more is open; the memo saves going over it again. */
static enum match_result run_endless(const struct view *v, size_t at, const struct byte_class *c,
                                     uint64_t base, struct memo *memo, size_t *ret_at,
                                     size_t *ret_count)
{
    if (memo->run == c && base + at > memo->from && base + at < memo->to) {
        *ret_at = (size_t)(memo->to - base);
        *ret_count = memo->open ? RUN_MAX : *ret_at - at;
        return MATCH_YES;
    }
    enum match_result r = match_run(v, at, c, RUN_MAX, ret_at, ret_count);
    if (r == MATCH_YES)
        *memo = (struct memo){base + at, base + *ret_at, c, *ret_count == RUN_MAX};
    return r;
}

static enum match_result run_pattern(const struct rule_set *set, const struct rule *rule,
                                     const struct view *v, size_t start, uint64_t base,
                                     struct memo *memo, struct match *ret)
{
    struct choice choices[CHOICES_MAX];
    size_t depth = 0, at = start, from = start, to = SIZE_MAX, next, count;
    const struct op *op = &set->ops[rule->code];
    bool inside = false;
    for (;;) {
        bool good = true;
        if (at < v->len && v->data[at] == ESCAPE_BYTE && op->kind != OP_END &&
            op->kind != OP_CLOSE && op->kind != OP_BOUND &&
            match_skip_colours(v, at, &at) == MATCH_MORE)
            return MATCH_MORE;
        switch ((enum op_kind)op->kind) {
        case OP_END:
            *ret = (struct match){.from = from, .to = to == SIZE_MAX ? at : to};
            return MATCH_YES;
        case OP_BYTE:
        case OP_LETTER:
            if (at == v->len && !v->final)
                return MATCH_MORE;
            good = at < v->len &&
                   (op->kind == OP_BYTE ? v->data[at] : v->data[at] | 0x20) == op->value;
            at += good;
            break;
        case OP_RUN: {
            const struct byte_class *c = &set->classes[op->value];
            if (at < v->len && !class_has(c, v->data[at])) {
                next = at;
                count = 0;
            } else if (op->max != RUN_UNBOUNDED) {
                if (match_run(v, at, c, op->max, &next, &count) == MATCH_MORE)
                    return MATCH_MORE;
            } else {
                if (run_endless(v, at, c, base, memo, &next, &count) == MATCH_MORE)
                    return MATCH_MORE;
                if (count >= RUN_MAX && (inside || to == SIZE_MAX)) {
                    *ret = (struct match){.from = from, .to = next, .open = true, .run = c};
                    return MATCH_YES;
                }
            }
            good = count >= op->min;
            at = next;
            break;
        }
        case OP_BOUND:
            if (at == start) {
                good = begins_word(v, at);
            } else {
                if (at == v->len && !v->final)
                    return MATCH_MORE;
                good = at == v->len || !is_alnum(v->data[at]);
            }
            break;
        case OP_ALT:
            if (depth == CHOICES_MAX)
                good = false;
            else
                choices[depth++] = (struct choice){op + op->value, at, from, to, inside};
            break;
        case OP_COMMIT:
            depth--;
            op += op->value;
            continue;
        case OP_OPEN:
            from = at;
            inside = true;
            break;
        case OP_CLOSE:
            to = at;
            inside = false;
            break;
        }
        if (good) {
            op++;
            continue;
        }
        if (depth == 0)
            return MATCH_NO;
        const struct choice *c = &choices[--depth];
        op = c->op;
        at = c->at;
        from = c->from;
        to = c->to;
        inside = c->inside;
    }
}

/* What belongs to the secret before the pattern. */
static bool look_behind(const struct rule_set *set, const struct rule *rule, const struct view *v,
                        size_t at, size_t *ret)
{
    const struct byte_class *c = &set->classes[rule->before_class];
    size_t i = at;
    while (i > 0 && at - i <= rule->before_max && class_has(c, v->data[i - 1]))
        i--;
    *ret = i;
    return at - i >= rule->before_min && at - i <= rule->before_max;
}

/* --- a text ---------------------------------------------------------------------------------- */

static bool is_base64(unsigned char c)
{
    return is_alnum(c) || c == '+' || c == '/' || c == '-' || c == '_';
}

static unsigned char fold(unsigned char c, bool folded)
{
    return folded && c >= 'A' && c <= 'Z' ? (unsigned char)(c | 0x20) : c;
}

/* What may stand between two bytes of a text, but not for ever: a few colours, a few ends of
 * lines. */
static enum match_result match_gap(const struct view *v, size_t at, bool wrapped, size_t *ret)
{
    for (int n = 0; n < COLOURS_MAX && at < v->len; n++) {
        size_t before = at;
        if (match_skip_colours(v, at, &at) == MATCH_MORE)
            return MATCH_MORE;
        if (wrapped && at < v->len && (v->data[at] == '\n' || v->data[at] == '\r'))
            at++;
        if (at == before)
            break;
    }
    *ret = at;
    return MATCH_YES;
}

static enum match_result match_text(const struct rule *rule, const struct view *v, size_t start,
                                    struct match *ret)
{
    bool folded = rule->text_flags & TEXT_FOLDED;
    size_t at = start;
    uint32_t i = 0;
    while (rule->text_len - i >= 8 && v->len - at >= 8 &&
           memcmp(v->data + at, rule->text + i, 8) == 0) {
        i += 8;
        at += 8;
    }
    for (; i < rule->text_len; i++, at++) {
        if (at < v->len && v->data[at] == (unsigned char)rule->text[i])
            continue;
        if (i > 0 && match_gap(v, at, rule->text_flags & TEXT_WRAPPED, &at) == MATCH_MORE)
            return MATCH_MORE;
        if (at >= v->len)
            return v->final ? MATCH_NO : MATCH_MORE;
        if (fold(v->data[at], folded) != fold((unsigned char)rule->text[i], folded))
            return MATCH_NO;
    }
    if (rule->text_flags & TEXT_LEFT && start > 0 && is_base64(v->data[start - 1]))
        start--;
    if (rule->text_flags & TEXT_RIGHT) {
        if (at == v->len && !v->final)
            return MATCH_MORE;
        at += at < v->len && is_base64(v->data[at]);
    }
    *ret = (struct match){.from = start, .to = at};
    return MATCH_YES;
}

enum match_result match_rule(const struct rule_set *set, const struct rule *rule,
                             const struct view *v, size_t at, uint64_t base, struct memo *memo,
                             struct match *ret)
{
    if (rule->kind == RULE_TEXT)
        return match_text(rule, v, at, ret);
    size_t behind = at;
    if (rule->before_max > 0 && !look_behind(set, rule, v, at, &behind))
        return MATCH_NO;
    enum match_result r = run_pattern(set, rule, v, at, base, memo, ret);
    if (r == MATCH_YES && rule->before_max > 0)
        ret->from = behind;
    return r;
}
