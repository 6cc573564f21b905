/* NAME=VALUE, NAME[SUBSCRIPT]=VALUE, and arrays; see parser.h. */
#include <string.h>

#include "shell/parser.h"

/* `=` or `+=` at `at`: where the value begins, or NULL. */
static const char *match_equals(const char *at, bool *append)
{
    *append = *at == '+';
    if (*append)
        at = behind(at);
    return *at == '=' ? at + 1 : NULL;
}

static void scan_value(struct parser *p, struct shell_assignment *assignment)
{
    const char *from = p->at;
    struct parts parts = {0};
    skip_continuations(p);
    if (*p->at == '(' && assignment->name.len) {
        scan_array(p, &parts);
    } else {
        scan_word_rest(p, &parts, WORD_PLAIN);
    }
    assignment->value.parts = parts.first;
    assignment->value.span = parser_span(p, from, p->at);
}

/* [SUBSCRIPT] at `p->at`. */
static void scan_subscript(struct parser *p, struct shell_assignment *assignment)
{
    const char *from = p->at;
    p->at++;
    assignment->has_subscript = true;
    assignment->subscript = scan_late(p, LATE_SUBSCRIPT, from);
    p->at++;
    skip_continuations(p);
}

/*
 * bash takes all up to the closing bracket into the word, blanks too, before it looks whether an =
 * follows. If none does, it is a word like others only when nothing in the brackets would end one.
 */
static void refuse_unless_plain(struct parser *p, const char *from)
{
    for (const char *at = from; at < p->at; at++) {
        if (char_is(*at, CHAR_WORD_STOP))
            parser_refuse(p, at, "'%c' in brackets that are no subscript", *at < ' ' ? ' ' : *at);
    }
    p->at = from;
}

bool scan_assignment(struct parser *p, struct shell_assignment **ret)
{
    const char *from = p->at, *at = from;
    if (!char_is(*at, CHAR_NAME_START))
        return false;
    bool whole = true;
    size_t len = 0;
    for (; char_is(*at, CHAR_NAME); len++) {
        const char *next = behind(at);
        whole &= next == at + 1 || !char_is(*next, CHAR_NAME);
        at = next;
    }
    bool append = false;
    const char *value = match_equals(at, &append);
    if (!value && *at != '[')
        return false;

    struct shell_assignment *assignment = parser_alloc(p, sizeof(*assignment));
    assignment->name = (struct shell_text){from, (uint32_t)len};
    if (!whole) {
        char *copy = parser_alloc(p, len);
        const char *c = from;
        for (size_t i = 0; i < len; i++, c = behind(c))
            copy[i] = *c;
        assignment->name.bytes = copy;
    }
    p->at = at;
    if (*at == '[') {
        scan_subscript(p, assignment);
        value = match_equals(p->at, &append);
        if (!value) {
            refuse_unless_plain(p, from);
            return false;
        }
    }
    assignment->append = append;
    p->at = value;
    scan_value(p, assignment);
    assignment->span = parser_span(p, from, p->at);
    *ret = assignment;
    return true;
}

static struct shell_assignment *scan_element(struct parser *p)
{
    struct shell_assignment *element = parser_alloc(p, sizeof(*element));
    const char *from = p->at;
    if (*p->at == '[') {
        scan_subscript(p, element);
        bool append;
        const char *value = match_equals(p->at, &append);
        if (value) {
            element->append = append;
            p->at = value;
        } else {
            refuse_unless_plain(p, from);
            *element = (struct shell_assignment){0};
        }
    }
    scan_value(p, element);
    element->span = parser_span(p, from, p->at);
    return element;
}

/* At the ( of an array. */
void scan_array(struct parser *p, struct parts *parts)
{
    const char *open = p->at;
    struct shell_part *part = new_part(p, SHELL_ARRAY, open);
    struct shell_assignment **tail = &part->elements;
    bool arrays = p->now.assign_arrays;
    /* bash takes the word in front for the name of a function or coprocess, so that a command could
     * follow. */
    bool reserved = p->now.before == TOKEN_COPROC || p->now.before == TOKEN_FUNCTION;
    parser_enter(p, open);
    p->now.assign_arrays = false;
    bool outer_array = p->now.in_array;
    p->now.in_array = true;
    p->at++;
    for (;;) {
        skip_blanks(p);
        skip_comment(p);
        char c = *p->at;
        if (c == ')')
            break;
        if (!c)
            parser_refuse(p, open, "no ')' closes this");
        if (c == '\n') {
            if (p->now.pending)
                parser_refuse(p, p->now.pending->at,
                              "the body of this here-document begins within an array");
            p->at++;
            continue;
        }
        if (char_is(c, CHAR_BREAK) && !((c == '<' || c == '>') && behind(p->at)[0] == '('))
            parser_refuse(p, p->at, "unexpected '%c': expected a value or ')'", c);
        struct shell_assignment *element = *tail = scan_element(p);
        tail = &element->next;
        const struct shell_part *value = element->value.parts;
        if (reserved && value && !value->next && value->kind == SHELL_TEXT &&
            shell_is_reserved(value->text.bytes, value->text.len))
            parser_refuse(p, p->at - value->text.len, "a reserved word in an array here");
    }
    p->at++;
    p->now.assign_arrays = arrays;
    p->now.in_array = outer_array;
    parser_leave(p);
    part->span.to = parser_place(p, p->at);
    parts_add(parts, part);
    bool process = (*p->at == '<' || *p->at == '>') && behind(p->at)[0] == '(';
    if (!char_is(*p->at, CHAR_BREAK) || process || *p->at == '(')
        parser_refuse(p, p->at, "text right behind an array");
}
