/*
 * Text that bash keeps as it stands and reads once more when it gets there: arithmetic, subscripts,
 * offsets, and what follows an operator in ${…} within double quotes.
 *
 * It is kept as it stands here, too, with the expansions in it parsed, for those take place
 * whatever the quotes around them (within double quotes a single quote is but a character). bash
 * looks at such text twice, with two rules for where it ends: first it pairs quotes and counts
 * brackets, then it expands. What would end at different places is refused.
 */
#include <string.h>

#include "shell/parser.h"

/*
 * '…' is skipped by the first look, but not in POSIX mode. By the second it is a quote in a
 * pattern, and otherwise but a character: then nothing may be in it that is expanded or ends
 * something.
 */
static void late_single(struct parser *p, struct parts *parts, enum late_kind kind)
{
    const char *from = p->at, *at = from + 1;
    bool pattern = kind == LATE_PATTERN && !p->now.in_document;
    for (; *at != '\''; at++) {
        if (!*at)
            parser_refuse(p, from, "no ' closes this (within late text quotes must pair)");
        /* In POSIX mode one of these would begin the operator, and quotes mean another thing. */
        if (kind == LATE_SUBSCRIPT && p->now.in_quotes && strchr("#%^,~:-=?+/", *at))
            parser_refuse(p, at, "'%c' in single quotes within a subscript in double quotes", *at);
        if (pattern ? *at == '\\' && at[1] == '\n' : strchr("$`\\\"{}()[]<>", *at) != NULL)
            parser_refuse(p, at, "'%c' in single quotes within arithmetic or a quoted expansion",
                          *at);
    }
    p->at = at + 1;
    if (pattern)
        parts_add_text(p, parts, SHELL_QUOTED, from + 1, (size_t)(at - from - 1), from, p->at);
    else
        parts_add_text(p, parts, SHELL_TEXT, from, (size_t)(p->at - from), from, p->at);
}

/* bash decodes $'…' at the first look: a quote in a pattern, and nobody's guess elsewhere. */
static void late_ansi(struct parser *p, struct parts *parts, enum late_kind kind)
{
    const char *from = p->at;
    if (kind != LATE_PATTERN || p->now.in_document)
        parser_refuse(p, from, "\"$'\" in a quoted expansion, arithmetic or a here-document");
    p->at += 2;
    scan_ansi(p, parts, from);
}

/* What a pattern has in quotes is skipped by one look and not by the other, if it could open. */
static void check_quoted(struct parser *p, const struct parts *parts, const char *from)
{
    for (const struct shell_part *part = parts->first; part; part = part->next) {
        if (part->kind != SHELL_QUOTED)
            continue;
        /* It is written as $'…' then, which is no quote to a bash that is told to be an older one.
         */
        bool escaped = false;
        for (uint32_t i = 0; i < part->text.len; i++)
            escaped |= (unsigned char)part->text.bytes[i] < ' ' || part->text.bytes[i] == 127;
        for (uint32_t i = 0; i < part->text.len; i++) {
            char c = part->text.bytes[i];
            bool opens = c == '$' && i + 1 < part->text.len && part->text.bytes[i + 1] &&
                         strchr("({['\"", part->text.bytes[i + 1]);
            if (c == '`' || c == '\'' || opens || (escaped && strchr("\"\\{}$", c)))
                parser_refuse(p, from, "'%c' in quotes within the pattern of a quoted expansion",
                              c);
        }
    }
}

static void late_escape(struct parser *p, struct parts *parts, const char *from)
{
    if (!p->at[1])
        parser_refuse(p, from, "a backslash with nothing behind it");
    if (p->at[1] != '\n')
        parts_add_text(p, parts, SHELL_TEXT, p->at, 2, p->at, p->at + 2);
    p->at += 2;
}

/* "…" with its quotes as text and its expansions parsed. */
static void late_double(struct parser *p, struct parts *parts)
{
    const char *from = p->at;
    char guard = p->now.late_guard;
    p->now.late_guard = 0;
    parts_add_text(p, parts, SHELL_TEXT, p->at, 1, from, p->at + 1);
    p->at++;
    for (;;) {
        const char *start = p->at;
        while (!char_is(*p->at, CHAR_QUOTE_STOP))
            p->at++;
        if (p->at > start)
            parts_add_text(p, parts, SHELL_TEXT, start, (size_t)(p->at - start), start, p->at);
        if (!*p->at)
            parser_refuse(p, from, "no \" closes this");
        if (*p->at == '"')
            break;
        if (*p->at == '\\')
            late_escape(p, parts, from);
        else if (*p->at == '`')
            scan_backquote(p, parts, IN_LATE);
        else if (behind(p->at)[0] == '"' || behind(p->at)[0] == '\'') {
            parts_add_text(p, parts, SHELL_TEXT, p->at, 1, p->at, p->at + 1);
            p->at++;
        } else
            scan_dollar(p, parts, IN_LATE);
    }
    parts_add_text(p, parts, SHELL_TEXT, p->at, 1, p->at, p->at + 1);
    p->at++;
    p->now.late_guard = guard;
}

/* Whether `c` is one of the pair whose count the text around depends on. */
static bool is_guarded(char guard, char c)
{
    /* $[…] is written as $((…)), where parentheses count. */
    return (guard && (c == '(' || c == ')')) || (guard == '[' && (c == '[' || c == ']'));
}

/*
 * To find where a command within arithmetic or a subscript ends, bash counts parentheses, those of
 * `case` patterns too. Where they do not pair, it would run the text as a command.
 */
static void check_pairs(struct parser *p, const char *from, const char *to)
{
    unsigned count = 0;
    for (const char *at = from; at < to; at++) {
        if (*at == '\\') {
            at++;
        } else if (*at == '\'') {
            for (at++; at < to && *at != '\''; at++)
                ;
        } else if (*at == '"') {
            for (at++; at < to && *at != '"'; at++)
                at += *at == '\\';
        } else if (*at == '#' && at > from && strchr(" \t\n;&|()[]`", at[-1])) {
            parser_refuse(p, at, "a comment in a command within arithmetic");
        } else if (*at == '(') {
            count++;
        } else if (*at == ')' && !count--) {
            parser_refuse(p, at, "a ')' without its '(' in a command within arithmetic");
        }
        if (at >= to)
            parser_refuse(p, from, "quotes that do not pair within arithmetic");
    }
    if (count)
        parser_refuse(p, from, "a '(' without its ')' in a command within arithmetic");
}

struct late_mark mark_commands(struct parser *p)
{
    struct late_mark mark = {p->at, p->cases, p->bodies, p->now.late_command};
    p->now.late_command = false;
    return mark;
}

void check_commands(struct parser *p, const struct late_mark *mark, const char *from)
{
    if (!p->now.late_command)
        return;
    check_pairs(p, mark->from, p->at);
    /* bash writes the command anew, with patterns that have no parenthesis before them. */
    if (p->cases != mark->cases)
        parser_refuse(p, from, "'case' in a command within arithmetic or a subscript");
    if (p->bodies != mark->bodies)
        parser_refuse(p, from, "a here-document within arithmetic or a subscript");
}

/* To bash's second look a # behind a blank begins a comment in $((…)), and hides where that ends.
 */
static void check_comments(struct parser *p, const struct parts *parts, const char *from)
{
    for (const struct shell_part *part = parts->first; part; part = part->next) {
        for (uint32_t i = 1; part->kind == SHELL_TEXT && i < part->text.len; i++) {
            if (part->text.bytes[i] == '#' &&
                (char_is(part->text.bytes[i - 1], CHAR_BLANK) || part->text.bytes[i - 1] == '\n'))
                parser_refuse(p, from, "a '#' behind a blank within arithmetic");
        }
    }
}

static const struct {
    char open, close; /* no `open`: the first `close` ends it */
    bool arith;
} KINDS[] = {
    [LATE_ARITH] = {'(', ')', true},      [LATE_BRACKETS] = {'[', ']', true},
    [LATE_SUBSCRIPT] = {'[', ']', false}, [LATE_OPERAND] = {0, '}', false},
    [LATE_PATTERN] = {0, '}', false},
};

struct shell_part *scan_late(struct parser *p, enum late_kind kind, const char *from)
{
    struct parts parts = {0};
    char open = KINDS[kind].open, close = KINDS[kind].close, guard = p->now.late_guard;
    bool arith = KINDS[kind].arith;
    unsigned depth = 0, parens = 0;
    struct late_mark mark = mark_commands(p);
    parser_enter(p, from);
    if (arith)
        p->now.late_guard = open;
    for (;;) {
        const char *start = p->at;
        while (!char_is(*p->at, CHAR_LATE_STOP))
            p->at++;
        if (p->at > start)
            parts_add_text(p, &parts, SHELL_TEXT, start, (size_t)(p->at - start), start, p->at);
        char c = *p->at;
        if (!c)
            parser_refuse(p, from, "no '%c' closes this", close);
        if (c == close && !depth)
            break;
        switch (c) {
        case '\\':
            late_escape(p, &parts, from);
            continue;
        case '\'':
            late_single(p, &parts, kind);
            continue;
        case '"':
            late_double(p, &parts);
            continue;
        case '`':
            scan_backquote(p, &parts, IN_LATE);
            continue;
        case '$':
            if (p->at[1] == '\'')
                late_ansi(p, &parts, kind);
            else
                scan_dollar(p, &parts, IN_LATE);
            continue;
        case '<':
        case '>':
            if (!arith && behind(p->at)[0] == '(')
                parser_refuse(p, p->at,
                              "a process substitution in a quoted expansion or subscript");
            break;
        case '}':
            if (kind == LATE_SUBSCRIPT)
                parser_refuse(p, p->at, "a brace within a subscript");
            break;
        default:
            break;
        }
        if (open && c == open)
            depth++;
        else if (c == close)
            depth--;
        /* $[…] is shown as $((…)): its parentheses must pair, too. */
        if (kind == LATE_BRACKETS) {
            parens += c == '(';
            if (c == ')' && !parens--)
                parser_refuse(p, p->at, "a ')' without its '(' in arithmetic");
        }
        if (!arith && is_guarded(guard, c) && !(kind == LATE_SUBSCRIPT && (c == '[' || c == ']')))
            parser_refuse(p, p->at, "'%c' in an expansion within arithmetic", c);
        parts_add_text(p, &parts, SHELL_TEXT, p->at, 1, p->at, p->at + 1);
        p->at++;
    }
    if (parens)
        parser_refuse(p, from, "a '(' without its ')' in arithmetic");
    if (open)
        check_commands(p, &mark, from);
    if (arith || guard)
        check_comments(p, &parts, from);
    if (kind == LATE_PATTERN)
        check_quoted(p, &parts, from);
    parser_leave(p);
    p->now.late_guard = guard;
    p->now.late_command |= mark.outer;
    return parts.first;
}
