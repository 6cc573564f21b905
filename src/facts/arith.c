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

/* Whether the name that ends at `end` (and starts at `from`) is given a value there. */
static bool is_assigned(const char *text, size_t len, size_t from, size_t end)
{
    while (from && (text[from - 1] == ' ' || text[from - 1] == '\t'))
        from--;
    if (from >= 2 && ((text[from - 1] == '+' && text[from - 2] == '+') ||
                      (text[from - 1] == '-' && text[from - 2] == '-')))
        return true;
    size_t i = end;
    unsigned depth = 0;
    if (i < len && text[i] == '[') {
        do {
            depth += text[i] == '[';
            depth -= text[i] == ']';
            i++;
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
    struct variable *v = state_variable(w, name, len);
    if (!v)
        return;
    const struct value *value = &v->value;
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
    if (depth == VALUES_DEEP)
        not_plain(w, name, len, span);
    else
        check_text(w, value->text, value->len, span, depth + 1, true);
}

/* `value`: the text comes from a variable, so what is quoted or substituted in it is live. */
static void check_text(struct walk *w, const char *text, size_t len, struct shell_span span,
                       unsigned depth, bool value)
{
    for (size_t i = 0; i < len; i++) {
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
            if (is_assigned(text, len, from, i + 1)) {
                struct value number = value_unknown(SOURCE_NUMBER);
                variable_check(w, text + from, i + 1 - from, &number, span, NULL);
                state_forget(w, text + from, i + 1 - from, SOURCE_NUMBER);
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

void arith_check(struct walk *w, const struct shell_part *parts, struct shell_span span)
{
    /* The common case: letters alone, read where they stand. */
    if (parts && !parts->next && parts->kind == SHELL_TEXT) {
        check_text(w, parts->text.bytes, parts->text.len, span_of(w, span), 0, false);
        return;
    }
    /* Otherwise as bash: expand, then evaluate what comes out. */
    for (const struct shell_part *part = parts; part; part = part->next) {
        switch (part->kind) {
        case SHELL_TEXT:
        case SHELL_QUOTED:
            check_text(w, part->text.bytes, part->text.len, span_of(w, part->span), 0, false);
            break;
        case SHELL_DOUBLE:
            arith_check(w, part->parts, part->span);
            break;
        default: {
            struct shell_part alone = *part;
            alone.next = NULL;
            struct value value = expand_value(w, &alone);
            if (value.state == WORD_KNOWN)
                check_text(w, value.text, value.len, span_of(w, part->span), 0, true);
            else if (value.source != SOURCE_NUMBER)
                not_plain(w, "a value", 7, span_of(w, part->span));
        }
        }
    }
}

void arith_check_word(struct walk *w, const struct fact_word *word)
{
    if (word->state == WORD_KNOWN)
        check_text(w, word->text, word->len, word->span, 0, true);
    else if (word->source != SOURCE_NUMBER)
        not_plain(w, "a value", 7, word->span);
}

void arith_check_name(struct walk *w, const struct fact_word *word, enum word_source source)
{
    if (word->state != WORD_KNOWN) {
        finding_add(w, FINDING_VALUE, "a name", "of a variable is not known here", word->span);
        state_forget_all(w);
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
        else if (!whole && v && !v->value.keyed)
            check_text(w, bracket, rest, word->span, 0, true);
    }
    struct value value = value_unknown(source);
    variable_check(w, word->text, len, &value, word->span, NULL);
    state_forget(w, word->text, len, source);
}
