/* Patterns to ops; see pattern.h. */
#include "redact/pattern.h"

#include <errno.h>
#include <string.h>

#include "redact/maker.h"

enum {
    DEPTH_MAX = 8,     /* groups in groups */
    OPS_MAX = 2000,    /* of one pattern, repeats of groups written out */
    REPEAT_MAX = 4096, /* of a byte or a class */
    GROUP_REPEAT_MAX = 32,
    BEGINNINGS_MAX = 4000,
    ESCAPE_BYTE = 0x1B,
};

struct parser {
    struct rule_maker *maker;
    const char *text, *at;
    struct err *e;
    size_t base; /* the first op of this pattern */
    bool folded; /* (?i) */
    bool secret; /* the group was there */
    int depth;
    int failed; /* not for what the pattern says: -ENOMEM */
};

static int refuse(const struct parser *p, const char *what)
{
    return err_set(p->e, -EINVAL, "pattern, at %zu: %s", (size_t)(p->at - p->text) + 1, what);
}

static int put_op(struct parser *p, enum op_kind kind, unsigned value, unsigned min, unsigned max)
{
    struct rule_maker *m = p->maker;
    if (m->op_count - p->base >= OPS_MAX)
        return refuse(p, "too long");
    int r = rule_maker_grow(m, &m->ops, m->op_count, &m->op_room, sizeof(*m->ops));
    if (r < 0)
        return p->failed = err_errno(p->e, r, "pattern");
    m->ops[m->op_count++] =
        (struct op){(uint8_t)kind, (uint16_t)value, (uint16_t)min, (uint16_t)max};
    return 0;
}

/* --- classes --------------------------------------------------------------------------------- */

static void class_add(struct byte_class *c, unsigned byte)
{
    c->bits[byte >> 6] |= UINT64_C(1) << (byte & 63);
}

static void class_add_range(struct byte_class *c, unsigned from, unsigned to)
{
    for (unsigned byte = from; byte <= to; byte++)
        class_add(c, byte);
}

static void class_fold(struct byte_class *c)
{
    for (unsigned byte = 'a'; byte <= 'z'; byte++) {
        unsigned upper = byte - 'a' + 'A';
        if (class_has(c, (unsigned char)byte) || class_has(c, (unsigned char)upper)) {
            class_add(c, byte);
            class_add(c, upper);
        }
    }
}

/* All others, but for ends of lines and of texts and what begins a colour. */
static void class_negate(struct byte_class *c)
{
    class_add(c, '\n');
    class_add(c, '\r');
    class_add(c, '\0');
    class_add(c, ESCAPE_BYTE);
    for (int i = 0; i < 4; i++)
        c->bits[i] = ~c->bits[i];
}

static int put_run(struct parser *p, const struct byte_class *c, unsigned min, unsigned max)
{
    struct rule_maker *m = p->maker;
    size_t i = 0;
    while (i < m->class_count && memcmp(&m->classes[i], c, sizeof(*c)) != 0)
        i++;
    if (i == m->class_count) {
        int r = i < UINT16_MAX ? rule_maker_grow(m, &m->classes, i, &m->class_room, sizeof(*c))
                               : -E2BIG;
        if (r < 0)
            return p->failed = err_errno(p->e, r, "pattern");
        m->classes[m->class_count++] = *c;
    }
    return put_op(p, OP_RUN, (unsigned)i, min, max);
}

/* \d and its like, or false. */
static bool class_of_letter(char letter, struct byte_class *ret)
{
    struct byte_class c = {{0}};
    switch (letter | 0x20) {
    case 'd':
        class_add_range(&c, '0', '9');
        break;
    case 'h': /* hexadecimal */
        class_add_range(&c, '0', '9');
        class_add_range(&c, 'a', 'f');
        class_add_range(&c, 'A', 'F');
        break;
    case 'w':
        class_add_range(&c, '0', '9');
        class_add_range(&c, 'a', 'z');
        class_add_range(&c, 'A', 'Z');
        class_add(&c, '_');
        break;
    case 's': /* within a line */
        class_add(&c, ' ');
        class_add(&c, '\t');
        break;
    default:
        return false;
    }
    if (letter < 'a')
        class_negate(&c);
    *ret = c;
    return true;
}

/* What stands behind a backslash and is one byte. */
static int read_escape(struct parser *p, unsigned *ret)
{
    char c = *p->at;
    if (c == 't')
        *ret = '\t';
    else if (c == 'n')
        *ret = '\n';
    else if (c == '\0' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
        return refuse(p, "an escape that is not known");
    else
        *ret = (unsigned char)c;
    p->at++;
    return 0;
}

static int read_class(struct parser *p, struct byte_class *ret)
{
    struct byte_class c = {{0}}, letter;
    bool negated = *p->at == '^';
    p->at += negated;
    for (bool first = true; *p->at != ']' || first; first = false) {
        unsigned from = (unsigned char)*p->at, to;
        if (from == '\0')
            return refuse(p, "a class that does not end");
        p->at++;
        if (from == '\\') {
            if (class_of_letter(*p->at, &letter) && *p->at >= 'a') {
                for (int i = 0; i < 4; i++)
                    c.bits[i] |= letter.bits[i];
                p->at++;
                continue;
            }
            if (read_escape(p, &from) < 0)
                return -EINVAL;
        }
        to = from;
        if (p->at[0] == '-' && p->at[1] != ']' && p->at[1] != '\0') {
            p->at++;
            to = (unsigned char)*p->at++;
            if (to == '\\' && read_escape(p, &to) < 0)
                return -EINVAL;
            if (to < from)
                return refuse(p, "a range that goes down");
        }
        class_add_range(&c, from, to);
    }
    p->at++;
    if (p->folded)
        class_fold(&c);
    if (negated)
        class_negate(&c);
    if (class_has(&c, ESCAPE_BYTE))
        return refuse(p, "a class with ESC, which is where colours begin");
    *ret = c;
    return 0;
}

/* --- repeats --------------------------------------------------------------------------------- */

static int read_number(struct parser *p, unsigned *ret)
{
    unsigned value = 0;
    const char *start = p->at;
    while (*p->at >= '0' && *p->at <= '9' && value <= REPEAT_MAX)
        value = value * 10 + (unsigned)(*p->at++ - '0');
    if (p->at == start || value > REPEAT_MAX)
        return refuse(p, "a number from 0 to 4096 is missing");
    *ret = value;
    return 0;
}

/* `?`, `*`, `+`, `{n}`, `{n,}` or `{n,m}`, or nothing: once. */
static int read_repeat(struct parser *p, unsigned *ret_min, unsigned *ret_max)
{
    *ret_min = *ret_max = 1;
    switch (*p->at) {
    case '?':
        *ret_min = 0;
        break;
    case '*':
        *ret_min = 0;
        *ret_max = RUN_UNBOUNDED;
        break;
    case '+':
        *ret_max = RUN_UNBOUNDED;
        break;
    case '{':
        p->at++;
        if (read_number(p, ret_min) < 0)
            return -EINVAL;
        *ret_max = *ret_min;
        if (*p->at == ',') {
            p->at++;
            if (*p->at == '}')
                *ret_max = RUN_UNBOUNDED;
            else if (read_number(p, ret_max) < 0)
                return -EINVAL;
        }
        if (*p->at != '}' || *ret_max < *ret_min || *ret_max == 0)
            return refuse(p, "a repeat is {n}, {n,} or {n,m}");
        break;
    default:
        return 0;
    }
    p->at++;
    if (*p->at == '?' || *p->at == '*' || *p->at == '+' || *p->at == '{')
        return refuse(p, "a repeat of a repeat");
    return 0;
}

/* The last op or ops, once more. Jumps are relative, so that a copy jumps within itself. */
static int copy_ops(struct parser *p, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct op op = p->maker->ops[from + i];
        if (put_op(p, (enum op_kind)op.kind, op.value, op.min, op.max) < 0)
            return -EINVAL;
    }
    return 0;
}

static int insert_op(struct parser *p, size_t at, enum op_kind kind, size_t value)
{
    struct rule_maker *m = p->maker;
    if (put_op(p, OP_END, 0, 0, 0) < 0)
        return -EINVAL;
    memmove(&m->ops[at + 1], &m->ops[at], (m->op_count - 1 - at) * sizeof(*m->ops));
    m->ops[at] = (struct op){.kind = (uint8_t)kind, .value = (uint16_t)value};
    return 0;
}

/* The ops from `from` on become optional. */
static int make_optional(struct parser *p, size_t from)
{
    size_t count = p->maker->op_count - from;
    if (insert_op(p, from, OP_ALT, count + 2) < 0)
        return -EINVAL;
    return put_op(p, OP_COMMIT, 1, 0, 0);
}

static int repeat_group(struct parser *p, size_t from, unsigned min, unsigned max)
{
    size_t count = p->maker->op_count - from;
    if (max == 1)
        return min == 1 ? 0 : make_optional(p, from);
    if (max > GROUP_REPEAT_MAX)
        return refuse(p, "a group is repeated 32 times at most");
    for (size_t i = 0; i < count; i++) {
        if (p->maker->ops[from + i].kind == OP_OPEN)
            return refuse(p, "the secret is there once");
    }
    for (unsigned i = 1; i < max; i++) {
        size_t copy = p->maker->op_count;
        if (copy_ops(p, from, count) < 0 || (i >= min && make_optional(p, copy) < 0))
            return -EINVAL;
    }
    if (min == 0) {
        /* The first is optional with the rest behind it. */
        return make_optional(p, from);
    }
    return 0;
}

/* --- the grammar ----------------------------------------------------------------------------- */

static int read_alternatives(struct parser *p);

static int read_group(struct parser *p)
{
    bool secret = true;
    size_t from = p->maker->op_count;
    if (p->at[0] == '?') {
        if (p->at[1] != ':')
            return refuse(p, "a group is (…), which is the secret, or (?:…)");
        p->at += 2;
        secret = false;
    }
    if (secret && p->secret)
        return refuse(p, "a second secret; other groups are (?:…)");
    p->secret |= secret;
    if (++p->depth > DEPTH_MAX)
        return refuse(p, "too many groups in groups");
    if ((secret && put_op(p, OP_OPEN, 0, 0, 0) < 0) || read_alternatives(p) < 0)
        return -EINVAL;
    if (*p->at != ')')
        return refuse(p, "a ')' is missing");
    p->at++;
    p->depth--;
    if (secret && put_op(p, OP_CLOSE, 0, 0, 0) < 0)
        return -EINVAL;
    unsigned min, max;
    if (read_repeat(p, &min, &max) < 0)
        return -EINVAL;
    if (secret && (min != 1 || max != 1))
        return refuse(p, "the secret is there once");
    return repeat_group(p, from, min, max);
}

static int read_atom(struct parser *p)
{
    struct byte_class c = {{0}};
    unsigned byte = (unsigned char)*p->at++, min, max;
    bool is_class = true;
    switch (byte) {
    case '(':
        return read_group(p);
    case '[':
        if (read_class(p, &c) < 0)
            return -EINVAL;
        break;
    case '.':
        class_negate(&c);
        break;
    case '\\':
        if (*p->at == 'b') {
            p->at++;
            return put_op(p, OP_BOUND, 0, 0, 0);
        }
        if (class_of_letter(*p->at, &c)) {
            p->at++;
            break;
        }
        if (read_escape(p, &byte) < 0)
            return -EINVAL;
        is_class = false;
        break;
    case '^':
    case '$':
        p->at--;
        return refuse(p, "'^' and '$' are not known; \\b is where a word begins or ends");
    case '*':
    case '+':
    case '?':
    case '{':
        p->at--;
        return refuse(p, "nothing to repeat");
    default:
        is_class = false;
    }
    if (!is_class) {
        class_add(&c, byte);
        if (p->folded)
            class_fold(&c);
    }
    if (read_repeat(p, &min, &max) < 0)
        return -EINVAL;
    bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    if (!is_class && min == 1 && max == 1)
        return p->folded && letter ? put_op(p, OP_LETTER, byte | 0x20, 1, 1)
                                   : put_op(p, OP_BYTE, byte, 1, 1);
    return put_run(p, &c, min, max);
}

static int read_sequence(struct parser *p)
{
    while (*p->at != '\0' && *p->at != '|' && *p->at != ')') {
        if (read_atom(p) < 0)
            return -EINVAL;
    }
    return 0;
}

static int read_alternatives(struct parser *p)
{
    size_t from = p->maker->op_count;
    bool before = p->secret;
    if (read_sequence(p) < 0)
        return -EINVAL;
    if (*p->at != '|')
        return 0;
    p->at++;
    /* Each alternative may have the secret. */
    bool secret = p->secret;
    p->secret = before;
    size_t count = p->maker->op_count - from;
    if (insert_op(p, from, OP_ALT, count + 2) < 0)
        return -EINVAL;
    size_t commit = p->maker->op_count;
    if (put_op(p, OP_COMMIT, 0, 0, 0) < 0 || read_alternatives(p) < 0)
        return -EINVAL;
    p->maker->ops[commit].value = (uint16_t)(p->maker->op_count - commit);
    p->secret |= secret;
    return 0;
}

/* --- what may come first --------------------------------------------------------------------- */

/* With which bytes the ops from `at` on can begin. Jumps lead forward, so one pass will do. */
void pattern_add_first(const struct rule_maker *m, size_t at, struct byte_class *c)
{
    bool reached[OPS_MAX + 2] = {true};
    for (size_t i = 0; i <= OPS_MAX; i++) {
        const struct op *op = &m->ops[at + i];
        if (op->kind == OP_END)
            return;
        if (!reached[i])
            continue;
        switch (op->kind) {
        case OP_LETTER:
            class_add(c, op->value - 'a' + 'A');
            class_add(c, op->value);
            break;
        case OP_BYTE:
            class_add(c, op->value);
            break;
        case OP_RUN:
            for (int k = 0; k < 4; k++)
                c->bits[k] |= m->classes[op->value].bits[k];
            reached[i + 1] |= op->min == 0;
            break;
        case OP_ALT:
            reached[i + 1] = true;
            reached[i + op->value] = true;
            break;
        case OP_COMMIT:
            reached[i + op->value] = true;
            break;
        default:
            reached[i + 1] = true;
        }
    }
}

static int check_repeats(const struct parser *p)
{
    const struct rule_maker *m = p->maker;
    for (size_t at = p->base; m->ops[at].kind != OP_END; at++) {
        if (m->ops[at].kind != OP_RUN || m->ops[at].min == m->ops[at].max)
            continue;
        struct byte_class next = {{0}};
        pattern_add_first(m, at + 1, &next);
        for (int i = 0; i < 4; i++) {
            if (next.bits[i] & m->classes[m->ops[at].value].bits[i])
                return err_set(p->e, -EINVAL,
                               "pattern: a repeat takes what should come after it; repeats give "
                               "nothing back");
        }
    }
    return 0;
}

int pattern_compile(struct rule_maker *m, const char *pattern, uint32_t *ret_code, struct err *e)
{
    struct parser p = {.maker = m, .text = pattern, .at = pattern, .e = e, .base = m->op_count};
    if (strncmp(pattern, "(?i)", 4) == 0) {
        p.folded = true;
        p.at += 4;
    }
    int r = read_alternatives(&p);
    if (r == 0 && *p.at != '\0')
        r = refuse(&p, "a ')' too many");
    if (r == 0)
        r = put_op(&p, OP_END, 0, 0, 0);
    if (r == 0 && m->op_count - p.base == 1)
        r = refuse(&p, "empty");
    if (r == 0)
        r = check_repeats(&p);
    if (r < 0)
        return p.failed < 0 ? p.failed : r;
    *ret_code = (uint32_t)p.base;
    return 0;
}

int pattern_compile_before(struct rule_maker *m, const char *pattern, struct rule *rule,
                           struct err *e)
{
    uint32_t code;
    int r = pattern_compile(m, pattern, &code, e);
    if (r < 0)
        return r;
    const struct op *op = &m->ops[code];
    if (op->kind != OP_RUN || op[1].kind != OP_END || op->max > BEFORE_MAX)
        return err_set(e, -EINVAL, "what stands before is one class, at most %d times", BEFORE_MAX);
    rule->before_class = op->value;
    rule->before_min = (uint8_t)op->min;
    rule->before_max = (uint8_t)op->max;
    return 0;
}

/* --- beginnings ------------------------------------------------------------------------------ */

struct explorer {
    const struct rule_maker *maker;
    int (*visit)(void *user, const struct byte_class beginning[BEGINNING_BYTES]);
    void *user;
    struct byte_class bytes[BEGINNING_BYTES];
    unsigned left; /* beginnings that may still be visited */
};

static int explore(struct explorer *x, size_t at, unsigned known);

static int visit_known(struct explorer *x, unsigned known)
{
    for (unsigned i = known; i < BEGINNING_BYTES; i++)
        memset(&x->bytes[i], 0xFF, sizeof(x->bytes[i]));
    return x->left-- == 0 ? -E2BIG : x->visit(x->user, x->bytes);
}

static int explore_run(struct explorer *x, size_t at, unsigned known)
{
    const struct op *op = &x->maker->ops[at];
    /* The gram must be known in all its forms; what follows it, only if it has one. */
    if (known >= GRAM_BYTES && op->min != op->max)
        return visit_known(x, known);
    for (unsigned count = 0; count <= op->max; count++) {
        if (count >= op->min || known + count == BEGINNING_BYTES) {
            int r = explore(x, at + 1, known + count);
            if (r < 0)
                return r;
        }
        if (known + count == BEGINNING_BYTES)
            break;
        if (known + count >= GRAM_BYTES && op->min != op->max)
            return visit_known(x, known + count);
        x->bytes[known + count] = x->maker->classes[op->value];
    }
    return 0;
}

static int explore(struct explorer *x, size_t at, unsigned known)
{
    for (;;) {
        const struct op *op = &x->maker->ops[at];
        if (known == BEGINNING_BYTES || op->kind == OP_END)
            return visit_known(x, known);
        switch (op->kind) {
        case OP_BYTE:
        case OP_LETTER:
            x->bytes[known] = (struct byte_class){{0}};
            class_add(&x->bytes[known], op->value);
            if (op->kind == OP_LETTER)
                class_add(&x->bytes[known], op->value - 'a' + 'A');
            known++;
            at++;
            break;
        case OP_RUN:
            return explore_run(x, at, known);
        case OP_ALT: {
            int r = explore(x, at + 1, known);
            if (r < 0)
                return r;
            at += op->value;
            break;
        }
        case OP_COMMIT:
            at += op->value;
            break;
        default:
            at++;
        }
    }
}

int pattern_each_beginning(const struct rule_maker *m, uint32_t code,
                           int (*visit)(void *user,
                                        const struct byte_class beginning[BEGINNING_BYTES]),
                           void *user)
{
    struct explorer x = {.maker = m, .visit = visit, .user = user, .left = BEGINNINGS_MAX};
    return explore(&x, code, 0);
}
