/*
 * Text that bash evaluates as an expression. A variable's value is evaluated there too, and a
 * subscript in such a value runs the substitutions in it: x='a[$(reboot)]'; echo $((x)). So every
 * value that gets into an expression must be known to be plain, or be a number.
 */
#include "facts/internal.h"

enum { VALUES_DEEP = 8 };

static void not_plain(struct walk *w, const char *what, size_t len, struct shell_span span)
{
    const char *copy = arena_copy(w->arena, what, len);
    finding_add(w, FINDING_VALUE, copy ? copy : "",
                "is evaluated as an expression, and may hold a command", span);
}

static bool is_word_letter(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

bool arith_assigns(const char *text, size_t len, size_t from, size_t end)
{
    while (from && (text[from - 1] == ' ' || text[from - 1] == '\t'))
        from--;
    if (from >= 2 && ((text[from - 1] == '+' && text[from - 2] == '+') ||
                      (text[from - 1] == '-' && text[from - 2] == '-')))
        return true;
    size_t i = end;
    unsigned depth = 0;
    if (i < len && text[i] == '[') {
        enum { LOOKED_AT = 256 }; /* so that no text makes it quadratic; past it, it counts */
        do {
            depth += text[i] == '[';
            depth -= text[i] == ']';
            i++;
            if (i > end + LOOKED_AT)
                return true;
        } while (i < len && depth);
    }
    while (i < len && (text[i] == ' ' || text[i] == '\t'))
        i++;
    if (i + 1 < len &&
        ((text[i] == '+' && text[i + 1] == '+') || (text[i] == '-' && text[i + 1] == '-')))
        return true;
    static const char *const operators[] = {
        "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};
    for (size_t k = 0; k < sizeof(operators) / sizeof(*operators); k++) {
        size_t size = strlen(operators[k]);
        if (i + size <= len && memcmp(text + i, operators[k], size) == 0 &&
            !(size == 1 && i + 1 < len && text[i + 1] == '='))
            return true;
    }
    return false;
}

static void check_text(struct walk *w, const char *text, size_t len, struct shell_span span,
                       unsigned depth, bool value);

static void check_variable(struct walk *w, const char *name, size_t len, struct shell_span span,
                           unsigned depth)
{
    const struct value now = state_value(w, name, len), *value = &now;
    if (value->list) {
        for (size_t i = 0; i < value->word_count; i++) {
            const struct fact_word *word = &value->words[i];
            if (word->state != WORD_KNOWN ? word->source != SOURCE_NUMBER
                                          : !is_number(word->text, word->len))
                not_plain(w, name, len, span);
        }
        return;
    }
    if (value->state != WORD_KNOWN) {
        if (value->source != SOURCE_NUMBER)
            not_plain(w, name, len, span);
        return;
    }
    if (!value->len || is_number(value->text, value->len))
        return;
    if (depth == VALUES_DEEP || ++w->expressions > EXPRESSIONS_MAX)
        not_plain(w, name, len, span);
    else
        check_text(w, value->text, value->len, span, depth + 1, true);
}

static const char SOME_NUMBER = 1; /* in a text: digits that are not known */

/* `value`: the text comes from a variable, so what is quoted or substituted in it is live. */
static void check_text(struct walk *w, const char *text, size_t len, struct shell_span span,
                       unsigned depth, bool value)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == SOME_NUMBER) {
            if ((i && is_word_letter(text[i - 1])) ||
                (i + 1 < len && is_word_letter(text[i + 1]))) {
                not_plain(w, "a name", 6, span);
                return;
            }
            continue;
        }
        if (text[i] >= '0' && text[i] <= '9') { /* a number: 0x1f, 16#ff */
            while (i + 1 < len && (is_word_letter(text[i + 1]) || text[i + 1] == '#'))
                i++;
            continue;
        }
        if (is_word_letter(text[i])) {
            size_t from = i;
            while (i + 1 < len && is_word_letter(text[i + 1]))
                i++;
            bool plain = i + 1 < len && text[i + 1] == '=' && !(i + 2 < len && text[i + 2] == '=');
            if (!plain)
                check_variable(w, text + from, i + 1 - from, span, depth);
            if (arith_assigns(text, len, from, i + 1)) {
                struct value number = value_unknown(SOURCE_NUMBER);
                variable_check(w, text + from, i + 1 - from, &number, span, NULL);
                state_set(w, text + from, i + 1 - from, number);
            }
            continue;
        }
        if (value && (text[i] == '$' || text[i] == '`')) {
            not_plain(w, text, len, span);
            return;
        }
    }
}

void arith_check_text(struct walk *w, const char *text, size_t len, struct shell_span span)
{
    check_text(w, text, len, span_of(w, span), 0, true);
}

/* A glob of numbers as an expression: what is not known of it are digits. */
static char *with_numbers(struct walk *w, const char *pattern, size_t len, size_t *ret_len)
{
    char *text = arena_alloc(w->arena, len + 1);
    size_t used = 0;
    for (size_t i = 0; text && i < len; i++) {
        if (pattern[i] == '\\' && i + 1 < len)
            text[used++] = pattern[++i];
        else
            text[used++] = (char)(pattern[i] == '*' ? SOME_NUMBER : pattern[i]);
    }
    *ret_len = used;
    return text;
}

static void check_value(struct walk *w, const struct value *value, struct shell_span span)
{
    if (value->state == WORD_KNOWN) {
        check_text(w, value->text, value->len, span, 0, true);
        return;
    }
    size_t len;
    char *text = value->state == WORD_PATTERN && value->source == SOURCE_NUMBER
                     ? with_numbers(w, value->text, value->len, &len)
                     : NULL;
    if (text)
        check_text(w, text, len, span, 0, true);
    else if (value->source != SOURCE_NUMBER)
        not_plain(w, "a value", 7, span);
}

void arith_check(struct walk *w, const struct shell_part *parts, struct shell_span span)
{
    span = span_of(w, span);
    /* The common case: letters alone, read where they stand. */
    if (parts && !parts->next && parts->kind == SHELL_TEXT) {
        check_text(w, parts->text.bytes, parts->text.len, span, 0, false);
        return;
    }
    /* Otherwise as bash: expand, then evaluate what comes out. */
    struct value value = expand_value(w, parts);
    check_value(w, &value, span);
}

void arith_check_word(struct walk *w, const struct fact_word *word)
{
    const struct value value = {
        .state = word->state, .source = word->source, .text = word->text, .len = word->len};
    check_value(w, &value, word->span);
}

void arith_check_name(struct walk *w, const struct fact_word *word, enum word_source source)
{
    if (word->state != WORD_KNOWN) {
        finding_add(w, FINDING_VALUE, "a name", "of a variable is not known here", word->span);
        w->blind = true;
        return;
    }
    const char *bracket = memchr(word->text, '[', word->len);
    size_t len = bracket ? (size_t)(bracket - word->text) : word->len;
    if (!is_name(word->text, len))
        return; /* bash refuses it */
    if (bracket) {
        struct variable *v = state_variable(w, word->text, len);
        size_t rest = word->len - len;
        bool whole = rest == 3 && (bracket[1] == '@' || bracket[1] == '*');
        if (memchr(bracket, '$', rest) || memchr(bracket, '`', rest))
            not_plain(w, word->text, word->len, word->span);
        else if (!whole && v && !v->keyed)
            check_text(w, bracket, rest, word->span, 0, true);
    }
    struct variable *set = state_variable(w, word->text, len);
    if (set && (set->integer || state_is_own_number(word->text, len)) && source != SOURCE_NUMBER)
        not_plain(w, word->text, len, word->span);
    struct value value = value_unknown(source);
    variable_check(w, word->text, len, &value, word->span, NULL);
    state_forget(w, word->text, len, source);
}
