/* The value of ${…}, as far as it is certain. */
#include "facts/internal.h"

#include <stdio.h>
#include <stdlib.h>

static const struct fact_word no_words[1];

static bool op_is(const struct shell_param *p, const char *op)
{
    return text_is(p->op.bytes, p->op.len, op);
}

static const struct shell_text *plain_text(const struct shell_part *parts)
{
    return parts && !parts->next && parts->kind == SHELL_TEXT ? &parts->text : NULL;
}

static struct value number_value(struct walk *w, size_t number)
{
    char *text = arena_format(w->arena, "%zu", number);
    return text ? value_known(text, strlen(text)) : value_unknown(SOURCE_NUMBER);
}

static struct value word_value(const struct fact_word *word)
{
    if (word->many && word->state != WORD_PATTERN)
        return value_unknown(word->source);
    return (struct value){.state = word->state,
                          .source = word->source,
                          .set = true,
                          .text = word->text,
                          .len = word->len};
}

/* $1, $@, $#, $?: what is not a variable. */
static bool special_value(struct walk *w, const struct shell_param *p, struct value *ret,
                          const struct fact_word **ret_words, size_t *ret_count)
{
    const char *name = p->name.bytes;
    size_t len = p->name.len;
    if (len == 0)
        return false;
    struct value args = {0};
    if (char_in(name[0], "@*#0123456789"))
        args = state_arguments(w);
    bool known = args.state == WORD_KNOWN && args.list;
    if (len == 1 && (name[0] == '@' || name[0] == '*')) {
        if (!known) {
            *ret = value_unknown(SOURCE_ARGUMENT);
            return true;
        }
        *ret_words = args.words ? args.words : no_words;
        *ret_count = args.word_count;
        *ret = (struct value){
            .state = WORD_KNOWN, .set = args.word_count > 0, .list = true, .text = ""};
        return true;
    }
    if (len == 1 && name[0] == '#') {
        *ret = known ? number_value(w, args.word_count) : value_unknown(SOURCE_NUMBER);
        return true;
    }
    if (len == 1 && char_in(name[0], "?$!")) {
        *ret = value_unknown(SOURCE_NUMBER);
        return true;
    }
    if (len == 1 && name[0] == '-') {
        *ret = value_unknown(SOURCE_VARIABLE);
        return true;
    }
    if (name[0] >= '0' && name[0] <= '9') {
        size_t index = 0;
        for (size_t i = 0; i < len && index < WORDS_MAX; i++)
            index = index * 10 + (size_t)(name[i] - '0');
        if (index == 0 || !known)
            *ret = value_unknown(SOURCE_ARGUMENT);
        else if (index <= args.word_count)
            *ret = word_value(&args.words[index - 1]);
        else
            *ret = (struct value){.state = WORD_KNOWN, .text = ""};
        for (size_t i = 0; known && i < args.word_count && i < index; i++) {
            if (args.words[i].many) /* nobody knows which is which */
                *ret = value_unknown(SOURCE_ARGUMENT);
        }
        return true;
    }
    return false;
}

/* 3, i, $i: where these are known numbers. */
static bool subscript_index(struct walk *w, const struct shell_part *parts, size_t *ret)
{
    struct value value = expand_value(w, parts);
    if (value.state == WORD_KNOWN && is_name(value.text, value.len))
        value = state_value(w, value.text, value.len);
    if (value.state != WORD_KNOWN || value.list || value.len == 0 || value.len > 5 ||
        !is_number(value.text, value.len) || value.text[0] < (value.len == 1 ? '0' : '1'))
        return false; /* 010 is eight */
    *ret = 0;
    for (uint32_t i = 0; i < value.len; i++)
        *ret = *ret * 10 + (size_t)(value.text[i] - '0');
    return true;
}

/* A variable without or with a subscript. */
static struct value variable_value(struct walk *w, const struct shell_param *p,
                                   const struct fact_word **ret_words, size_t *ret_count)
{
    struct variable *v = state_variable(w, p->name.bytes, p->name.len);
    if (!v)
        return value_unknown(SOURCE_TOO_MUCH);
    if (text_is(p->name.bytes, p->name.len, "PWD") && !p->has_subscript && !w->blind &&
        v->class == CLASS_NONE)
        return w->cwd && !w->cwd->next ? value_known(w->cwd->path, strlen(w->cwd->path))
                                       : value_unknown(SOURCE_VARIABLE);
    struct value value = state_value(w, p->name.bytes, p->name.len);
    const struct shell_text *sub = plain_text(p->subscript);
    bool all =
        p->has_subscript && sub && sub->len == 1 && (*sub->bytes == '@' || *sub->bytes == '*');
    if (all) {
        if (value.list && value.state == WORD_KNOWN) {
            *ret_words = value.words;
            *ret_count = value.word_count;
        } else if (value.state == WORD_KNOWN && !value.set) {
            *ret_words = no_words;
            *ret_count = 0;
            value.list = true;
        }
        return value;
    }
    if (p->has_subscript) {
        if (v->keyed)
            expand_visit(w, p->subscript);
        else
            arith_check(w, p->subscript, (struct shell_span){0});
        size_t index;
        if (value.list && subscript_index(w, p->subscript, &index)) {
            for (size_t i = 0; i < value.word_count; i++) {
                if (value.words[i].many)
                    return value_unknown(SOURCE_VARIABLE);
            }
            return index < value.word_count ? word_value(&value.words[index])
                                            : (struct value){.state = WORD_KNOWN, .text = ""};
        }
        if (value.state == WORD_KNOWN && !value.set)
            return value;
        return value_unknown(value.state == WORD_KNOWN ? SOURCE_VARIABLE : value.source);
    }
    if (value.list) {
        if (!value.word_count)
            return (struct value){.state = WORD_KNOWN, .text = ""};
        return word_value(&value.words[0]);
    }
    return value;
}

/* --- operators -------------------------------------------------------------------------------- */

static uint8_t worst(const struct value *a, const struct value *b)
{
    uint8_t source = SOURCE_VARIABLE;
    if (a->state != WORD_KNOWN && a->source > source)
        source = a->source;
    if (b->state != WORD_KNOWN && b->source > source)
        source = b->source;
    return source;
}

/* - = + ? with or without a colon. */
static struct value default_value(struct walk *w, const struct shell_param *p,
                                  const struct value *value)
{
    bool colon = p->op.bytes[0] == ':';
    char op = p->op.bytes[colon];
    struct value other = expand_value(w, p->operand);
    if (op == '?') { /* empty, the shell ends here */
        if (value->state == WORD_KNOWN && (!value->set || (colon && !value->len)))
            return value_unknown(SOURCE_VARIABLE);
        return *value;
    }
    bool certain = value->state == WORD_KNOWN;
    bool there = value->set && (!colon || value->len);
    bool numbers = value->source == SOURCE_NUMBER && op == '-' &&
                   (other.source == SOURCE_NUMBER ||
                    (other.state == WORD_KNOWN && is_number(other.text, other.len)));
    struct value result;
    if (!certain)
        result = value_unknown(numbers ? SOURCE_NUMBER : worst(value, &other));
    else if (op == '+')
        result = there ? other : value_known("", 0);
    else
        result = there ? *value : other;
    if (op == '=' && is_name(p->name.bytes, p->name.len) && !p->indirect) {
        variable_check(w, p->name.bytes, p->name.len, &result, (struct shell_span){0}, NULL);
        const struct fact_word name = {
            .text = p->name.bytes, .len = p->name.len, .state = WORD_KNOWN};
        arith_check_name(w, &name, SOURCE_VARIABLE);
    }
    return result;
}

static struct value cut_value(struct walk *w, const struct shell_param *p,
                              const struct value *value)
{
    const struct shell_text *text = plain_text(p->operand);
    arith_check(w, p->operand, (struct shell_span){0});
    if (value->state != WORD_KNOWN || !text)
        return value_unknown(worst(value, value));
    char numbers[32];
    if (text->len >= sizeof(numbers))
        return value_unknown(SOURCE_VARIABLE);
    memcpy(numbers, text->bytes, text->len);
    numbers[text->len] = '\0';
    char *end;
    if (numbers[0] == '0' && numbers[1] >= '0' && numbers[1] <= '9')
        return value_unknown(SOURCE_VARIABLE); /* octal */
    long from = strtol(numbers, &end, 10), len = (long)value->len;
    long size = len - from;
    if (*end == ':') {
        char *second = end + 1;
        size = strtol(second, &end, 10);
        if (end == second)
            return value_unknown(SOURCE_VARIABLE);
    }
    if (*end || end == numbers || from < 0 || size < 0)
        return value_unknown(SOURCE_VARIABLE);
    for (uint32_t i = 0; i < value->len; i++) {
        if ((unsigned char)value->text[i] >= 0x80) /* bash counts characters */
            return value_unknown(SOURCE_VARIABLE);
    }
    if (from > len)
        from = len;
    if (size > len - from)
        size = len - from;
    const char *copy = arena_copy(w->arena, value->text + from, (size_t)size);
    return copy ? value_known(copy, (size_t)size) : value_unknown(SOURCE_TOO_MUCH);
}

static bool has_glob(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (char_in(text[i], "*?[\\("))
            return true;
    }
    return false;
}

/* ${x%.c}: the end of the value, or of the glob that all its values fit. */
static struct value trim_value(struct walk *w, const struct shell_param *p,
                               const struct value *value)
{
    struct value what = expand_value(w, p->operand);
    bool front = p->op.bytes[0] == '#';
    if (value->state == WORD_UNKNOWN || what.state != WORD_KNOWN)
        return value_unknown(worst(value, &what));
    const char *text = value->text;
    size_t len = value->len;
    /* ${path##STAR/} and ${path%/STAR}: the last name and what is before it */
    if (value->state == WORD_KNOWN && p->op.len == 2 && front &&
        text_is(what.text, what.len, "*/")) {
        const char *slash = memrchr(text, '/', len);
        size_t skip = slash ? (size_t)(slash - text) + 1 : 0;
        const char *copy = arena_copy(w->arena, text + skip, len - skip);
        return copy ? value_known(copy, len - skip) : value_unknown(SOURCE_TOO_MUCH);
    }
    if (has_glob(what.text, what.len) || memchr(what.text, ']', what.len))
        return value_unknown(SOURCE_VARIABLE);
    bool fits =
        what.len <= len && memcmp(front ? text : text + len - what.len, what.text, what.len) == 0;
    if (value->state == WORD_PATTERN) {
        if (!fits || (front && text[0] == '\\'))
            return value_unknown(SOURCE_FILES);
        struct value result = *value;
        const char *copy = arena_copy(w->arena, front ? text + what.len : text, len - what.len);
        result.text = copy ? copy : "";
        result.len = copy ? (uint32_t)(len - what.len) : 0;
        return copy ? result : value_unknown(SOURCE_TOO_MUCH);
    }
    if (!fits)
        return *value;
    const char *copy = arena_copy(w->arena, front ? text + what.len : text, len - what.len);
    return copy ? value_known(copy, len - what.len) : value_unknown(SOURCE_TOO_MUCH);
}

static struct value replace_value(struct walk *w, const struct shell_param *p,
                                  const struct value *value)
{
    struct value what = expand_value(w, p->operand);
    if (value->state != WORD_KNOWN || what.state != WORD_KNOWN)
        return value_unknown(worst(value, &what));
    const char *slash = memchr(what.text, '/', what.len);
    size_t old = slash ? (size_t)(slash - what.text) : what.len;
    const char *new = slash ? slash + 1 : "";
    size_t new_len = slash ? what.len - old - 1 : 0;
    if (old == 0 || has_glob(what.text, old) || what.text[0] == '#' || what.text[0] == '%' ||
        memchr(new, '&', new_len) || memchr(new, '/', new_len) ||
        (uint64_t)value->len * (new_len + 1) > WORDS_MAX)
        return value_unknown(SOURCE_VARIABLE);
    char *out = arena_alloc(w->arena, (size_t)value->len * (new_len + 1) + 1);
    if (!out)
        return value_unknown(SOURCE_TOO_MUCH);
    size_t len = 0;
    bool done = false;
    for (size_t i = 0; i < value->len;) {
        if (!done && i + old <= value->len && memcmp(value->text + i, what.text, old) == 0) {
            memcpy(out + len, new, new_len);
            len += new_len;
            i += old;
            done = !op_is(p, "//");
        } else {
            out[len++] = value->text[i++];
        }
    }
    return value_known(out, len);
}

static struct value case_value(struct walk *w, const struct shell_param *p,
                               const struct value *value)
{
    expand_visit(w, p->operand);
    if (value->state != WORD_KNOWN || p->operand)
        return value_unknown(worst(value, value));
    char *out = arena_copy(w->arena, value->text, value->len);
    if (!out)
        return value_unknown(SOURCE_TOO_MUCH);
    bool up = p->op.bytes[0] == '^';
    for (size_t i = 0; i < value->len && (i == 0 || p->op.len == 2); i++) {
        if ((unsigned char)out[i] >= 0x80)
            return value_unknown(SOURCE_VARIABLE);
        if (up && out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 32);
        else if (!up && out[i] >= 'A' && out[i] <= 'Z')
            out[i] = (char)(out[i] + 32);
    }
    return value_known(out, value->len);
}

static struct value prompt_value(struct walk *w, const struct shell_param *p,
                                 const struct value *value)
{
    if (op_is(p, "@P"))
        finding_add(w, FINDING_VALUE, "${…@P}",
                    "expands the value as a prompt, and runs what is in it",
                    (struct shell_span){0});
    return value_unknown(worst(value, value));
}

static const struct {
    const char *op;
    struct value (*apply)(struct walk *w, const struct shell_param *p, const struct value *value);
} operators[] = {
    {":-", default_value}, {"-", default_value}, {":=", default_value}, {"=", default_value},
    {":+", default_value}, {"+", default_value}, {":?", default_value}, {"?", default_value},
    {":", cut_value},      {"#", trim_value},    {"##", trim_value},    {"%", trim_value},
    {"%%", trim_value},    {"/", replace_value}, {"//", replace_value}, {"^", case_value},
    {"^^", case_value},    {",", case_value},    {",,", case_value},
};

/* ${!name}: the variable that the value names. */
static struct value indirect_value(struct walk *w, const struct shell_param *p,
                                   const struct value *value)
{
    if (p->op.len == 1 && (*p->op.bytes == '*' || *p->op.bytes == '@') && !p->operand)
        return value_unknown(SOURCE_VARIABLE);
    if (p->has_subscript) /* ${!a[@]}: its indices */
        return value_unknown(value->list ? SOURCE_NUMBER : SOURCE_VARIABLE);
    if (value->state == WORD_KNOWN && is_name(value->text, value->len)) {
        struct value named = state_value(w, value->text, value->len);
        return named.list ? value_unknown(SOURCE_VARIABLE) : named;
    }
    if (value->state != WORD_KNOWN || value->set)
        finding_add(w, FINDING_VALUE, "${!…}", "names a variable by a value that is not known",
                    (struct shell_span){0});
    return value_unknown(SOURCE_VARIABLE);
}

struct value param_value(struct walk *w, const struct shell_param *p, bool quoted,
                         const struct fact_word **ret_words, size_t *ret_count)
{
    (void)quoted;
    if (p->bad) {
        expand_visit(w, p->operand);
        return value_unknown(SOURCE_VARIABLE);
    }
    const struct fact_word *words = NULL;
    size_t count = 0;
    struct value value;
    if (!special_value(w, p, &value, &words, &count))
        value = variable_value(w, p, &words, &count);
    if (p->indirect) {
        value = indirect_value(w, p, &value);
        words = NULL;
    }
    if (p->length) {
        if (words)
            return number_value(w, count);
        if (value.state == WORD_KNOWN && !value.list) {
            for (uint32_t i = 0; i < value.len; i++) {
                if ((unsigned char)value.text[i] >= 0x80)
                    return value_unknown(SOURCE_NUMBER);
            }
            return number_value(w, value.len);
        }
        return value_unknown(SOURCE_NUMBER);
    }
    if (p->op.len == 0) {
        if (words && !value.list)
            words = NULL;
        if (words) {
            *ret_words = words;
            *ret_count = count;
        }
        return value;
    }
    if (words) { /* an operator on every element */
        bool empty = count == 0;
        value = empty ? (struct value){.state = WORD_KNOWN, .text = ""}
                      : value_unknown(SOURCE_VARIABLE);
        for (size_t i = 0; i < count; i++) {
            if (words[i].state != WORD_KNOWN && words[i].source > value.source)
                value.source = words[i].source;
        }
        bool keeps = char_in(p->op.bytes[p->op.bytes[0] == ':' && p->op.len > 1], "+-");
        if (keeps && !empty && p->op.bytes[p->op.len - 1] == '-') {
            expand_visit(w, p->operand);
            *ret_words = words;
            *ret_count = count;
            return (struct value){.state = WORD_KNOWN, .set = true, .list = true, .text = ""};
        }
    }
    if (value.list)
        value = value_unknown(SOURCE_VARIABLE);
    if (value.state != WORD_UNKNOWN && value.len > WORDS_MAX)
        value = value_unknown(SOURCE_TOO_MUCH);
    for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
        if (op_is(p, operators[i].op)) {
            /* cppcheck-suppress returnDanglingLifetime ; the value is copied, not pointed to */
            return operators[i].apply(w, p, &value);
        }
    }
    expand_visit(w, p->operand);
    return prompt_value(w, p, &value);
}
