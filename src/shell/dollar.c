/* $x, ${…}, $(…), $((…)), backquotes, <(…); see parser.h. */
#include <string.h>

#include "shell/parser.h"

/* --- ${…} ------------------------------------------------------------------------------------- */

/* A name or number at `p->at`; continuations within are left out. */
static struct shell_text scan_name(struct parser *p, enum char_class class)
{
    const char *from = p->at;
    size_t len = 0;
    bool whole = true;
    for (; char_is(*p->at, class); len++) {
        const char *next = behind(p->at);
        whole &= next == p->at + 1 || !char_is(*next, class);
        p->at = next;
    }
    if (whole)
        return (struct shell_text){from, (uint32_t)len};
    char *copy = parser_alloc(p, len);
    const char *at = from;
    for (size_t i = 0; i < len; i++, at = behind(at))
        copy[i] = *at;
    return (struct shell_text){copy, (uint32_t)len};
}

/* The parameter's name: a name, a number, or one of the special characters. */
static bool scan_parameter(struct parser *p, struct shell_param *param)
{
    if (char_is(*p->at, CHAR_NAME_START)) {
        param->name = scan_name(p, CHAR_NAME);
        if (*p->at == '[') {
            const char *from = p->at;
            p->at++;
            param->has_subscript = true;
            param->subscript = scan_late(p, LATE_SUBSCRIPT, from);
            p->at = behind(p->at);
        }
        return true;
    }
    if (char_is(*p->at, CHAR_DIGIT)) {
        param->name = scan_name(p, CHAR_DIGIT);
        return true;
    }
    if (char_is(*p->at, CHAR_SPECIAL)) {
        param->name = (struct shell_text){p->at, 1};
        p->at = behind(p->at);
        return true;
    }
    return false;
}

/* What is read anew must not have a subscript: each level of them would double the time. */
static void refuse_twice(struct parser *p, const struct shell_param *param, const char *from)
{
    if (param->has_subscript)
        parser_refuse(p, from, "a bad substitution");
}

/* ${#…}: the length of something, unless the # is itself the parameter. */
static bool scan_length(struct parser *p, struct shell_param *param)
{
    const char *at = p->at;
    if (*at != '#' || behind(at)[0] == '}')
        return false;
    p->at = behind(at);
    if (scan_parameter(p, param) && *p->at == '}')
        return param->length = true;
    refuse_twice(p, param, at);
    *param = (struct shell_param){0};
    p->at = at;
    return false;
}

static void scan_indirection(struct parser *p, struct shell_param *param)
{
    if (*p->at != '!')
        return;
    const char *next = behind(p->at);
    bool special = (*next == '#' || *next == '@' || *next == '*') && behind(next)[0] == '}';
    if (special || char_is(*next, CHAR_NAME)) {
        param->indirect = true;
        p->at = next;
    }
}

/* Operators that take a word behind them; the longest first. */
static const char OPERATORS[][3] = {":-", ":=", ":?", ":+", "-", "=",  "?", "+",  "##", "#", "%%",
                                    "%",  "//", "/",  "^^", "^", ",,", ",", "~~", "~",  ":"};

static bool scan_operator(struct parser *p, struct shell_param *param)
{
    for (size_t i = 0; i < sizeof(OPERATORS) / sizeof(*OPERATORS); i++) {
        const char *op = OPERATORS[i], *second = behind(p->at);
        if (*p->at != op[0] || (op[1] && *second != op[1]))
            continue;
        p->at = op[1] ? behind(second) : second;
        param->op = (struct shell_text){op, (uint32_t)strlen(op)};
        return true;
    }
    return false;
}

/* What follows an operator outside of double quotes, up to the closing brace. */
static struct shell_part *scan_operand(struct parser *p, const char *from)
{
    struct parts parts = {0};
    for (;;) {
        const char *start = p->at;
        while (!char_is(*p->at, CHAR_LATE_STOP) || (*p->at && strchr("()[]{", *p->at)))
            p->at++;
        if (p->at > start)
            parts_add_text(p, &parts, SHELL_TEXT, start, (size_t)(p->at - start), start, p->at);
        start = p->at;
        switch (*p->at) {
        case '\0':
            parser_refuse(p, from, "no '}' closes this");
        case '}':
            return parts.first;
        case '\'':
            p->at++;
            scan_single(p, &parts, start);
            break;
        case '"':
            p->at++;
            add_double(p, &parts, start);
            break;
        case '\\':
            if (!p->at[1])
                parser_refuse(p, from, "no '}' closes this");
            scan_escape(p, &parts);
            break;
        case '`':
            scan_backquote(p, &parts, UNQUOTED);
            break;
        case '$':
            scan_dollar(p, &parts, UNQUOTED);
            if (parts.last->kind == SHELL_PARAM) /* no braces are expanded in here */
                parts.last->param->bare = false;
            break;
        default: /* < > */
            if (behind(p->at)[0] == '(') {
                scan_process(p, &parts);
            } else {
                parts_add_text(p, &parts, SHELL_TEXT, p->at, 1, start, p->at + 1);
                p->at++;
            }
        }
    }
}

/* bash takes the first of these for the operator when it looks for quotes, also in a subscript. */
static bool has_operator(const char *from, const char *to)
{
    for (; from < to; from++) {
        if (strchr("#%^,~:-=?+/", *from))
            return true;
    }
    return false;
}

/* Behind "${": the parameter and all that belongs to it, up to its brace; false if it is none. */
static bool scan_expansion(struct parser *p, struct shell_param *param, enum quoting quoting,
                           const char *from)
{
    const char *inside = p->at;
    if (scan_length(p, param))
        return true;
    scan_indirection(p, param);
    if (!scan_parameter(p, param))
        return false;
    if (*p->at == '}')
        return true;
    if (param->indirect && !param->has_subscript && (*p->at == '*' || *p->at == '@') &&
        behind(p->at)[0] == '}') {
        param->op = (struct shell_text){p->at, 1};
        p->at = behind(p->at);
        return true;
    }
    const char *letter = behind(p->at);
    if (*p->at == '@' && *letter && strchr("QEPAaKkUuL", *letter) && *behind(letter) == '}') {
        char *name = parser_alloc(p, 2);
        name[0] = '@';
        name[1] = *letter;
        param->op = (struct shell_text){name, 2};
        p->at = behind(letter);
        return true;
    }
    const char *op_at = p->at;
    if (!scan_operator(p, param))
        return false;
    char op = param->op.bytes[0];
    struct late_mark mark = mark_commands(p);
    if (quoting == UNQUOTED && !(op == ':' && param->op.len == 1)) {
        param->operand = scan_operand(p, from);
    } else {
        bool pattern = strchr("#%/^,", op) && !has_operator(inside, op_at);
        param->operand = scan_late(p, pattern ? LATE_PATTERN : LATE_OPERAND, from);
    }
    if (op == '/' || (op == ':' && param->op.len == 1)) /* split at / or : later */
        check_commands(p, &mark, from);
    p->now.late_command |= mark.outer;
    return true;
}

static struct shell_part *scan_braces(struct parser *p, const char *from, enum quoting quoting)
{
    struct shell_part *part = new_part(p, SHELL_PARAM, from);
    struct shell_param *param = part->param = parser_alloc(p, sizeof(*param));
    skip_continuations(p);
    const char *inside = p->at;
    if (char_is(*inside, CHAR_BLANK) || *inside == '\n' || *inside == '|')
        parser_refuse(p, from,
                      "'${' with a blank or '|' behind it runs a command in later versions");

    parser_enter(p, from);
    bool in_quotes = p->now.in_quotes;
    p->now.in_quotes = quoting != UNQUOTED;
    if (!scan_expansion(p, param, quoting, from) || *p->at != '}') {
        refuse_twice(p, param, from);
        *param = (struct shell_param){.bad = true};
        p->at = inside;
        param->operand = scan_late(p, LATE_OPERAND, from);
    }
    p->now.in_quotes = in_quotes;
    parser_leave(p);
    p->at++;
    part->span.to = parser_place(p, p->at);
    return part;
}

/* --- substitutions ---------------------------------------------------------------------------- */

static struct shell_part *scan_arith(struct parser *p, const char *from)
{
    struct shell_part *part = new_part(p, SHELL_ARITH, from);
    part->parts = scan_late(p, LATE_ARITH, from);
    p->at = behind(p->at);
    if (*p->at != ')')
        parser_refuse(p, from, "'$((' is not closed by '))': write '$( (' for a subshell");
    p->at++;
    return part;
}

static struct shell_part *scan_command(struct parser *p, const char *from)
{
    struct shell_part *part = new_part(p, SHELL_COMMAND, from);
    part->list = parse_substitution(p, from);
    return part;
}

void scan_dollar(struct parser *p, struct parts *parts, enum quoting quoting)
{
    const char *from = p->at, *next = behind(from);
    struct shell_part *part = NULL;
    switch (*next) {
    case '(':
        p->at = next + 1;
        skip_continuations(p);
        if (*p->at == '(') {
            p->at++;
            part = scan_arith(p, from);
        } else {
            part = scan_command(p, from);
            p->now.late_command = true;
        }
        break;
    case '{':
        p->at = next + 1;
        part = scan_braces(p, from, quoting);
        break;
    case '[':
        p->at = next + 1;
        part = new_part(p, SHELL_ARITH, from);
        part->parts = scan_late(p, LATE_BRACKETS, from);
        if (quoting == UNQUOTED && (memchr(from, ',', (size_t)(p->at - from)) ||
                                    memchr(from, '}', (size_t)(p->at - from))))
            p->now.bracket_list = from;
        p->at++;
        break;
    case '\'':
    case '"':
        if (quoting == IN_LATE)
            parser_refuse(p, from, "'$%c' within arithmetic or a quoted expansion", *next);
        if (quoting != UNQUOTED)
            break;
        p->at = next + 1;
        if (*next == '"') /* no translation is ever there, see docs/reading.md */
            add_double(p, parts, from);
        else
            scan_ansi(p, parts, from);
        return;
    default:
        if (char_is(*next, CHAR_NAME | CHAR_SPECIAL)) {
            part = new_part(p, SHELL_PARAM, from);
            part->param = parser_alloc(p, sizeof(*part->param));
            p->at = next;
            if (char_is(*next, CHAR_NAME_START)) {
                part->param->name = scan_name(p, CHAR_NAME);
                part->param->bare = quoting == UNQUOTED && *p->at && strchr("{,}", *p->at) != NULL;
            } else {
                part->param->name = (struct shell_text){next, 1};
                p->at++;
                part->param->bare = *next == '!'; /* without a job it is not quite ${!} */
                /* Much of bash skips what follows the second $ as if it were no part of $$. */
                const char *after = p->at;
                while (after[0] == '\\' && after[1] == '\n')
                    after += 2;
                if (*next == '$' && *after && strchr("{([", *after))
                    parser_refuse(p, from, "'$$' right before a bracket: write '${$}'");
            }
        }
    }
    if (part) {
        part->span.to = parser_place(p, p->at);
        parts_add(parts, part);
        return;
    }
    /* A $ by itself. Before a backquote it is quoted, for that becomes $( and $$( is something
     * else. */
    bool live = (quoting == UNQUOTED && *next != '`') || quoting == IN_LATE;
    if (quoting == IN_LATE && *next == '`')
        parser_refuse(p, from, "a '$' right before a backquote");
    enum shell_part_kind kind = live ? SHELL_TEXT : SHELL_QUOTED;
    parts_add_text(p, parts, kind, from, 1, from, from + 1);
    p->at = from + 1;
}

/* A backslash loses itself before these. */
static bool is_unescaped(char c, enum quoting quoting)
{
    return c == '`' || c == '$' || c == '\\' || (c == '"' && quoting == IN_DOUBLE);
}

void scan_backquote(struct parser *p, struct parts *parts, enum quoting quoting)
{
    const char *from = p->at, *close = from + 1;
    bool escapes = false;
    for (; *close && *close != '`'; close++) {
        if (*close != '\\')
            continue;
        escapes = true;
        if (close[1] == '"' && quoting == IN_LATE)
            parser_refuse(p, close, "an escaped quote in backquotes within a quoted expansion");
        if (!*++close)
            break;
    }
    if (!*close)
        parser_refuse(p, from, "no ` closes this");

    size_t len = (size_t)(close - from - 1), kept = 0;
    char *bytes = parser_alloc(p, len + 1);
    uint32_t *map = NULL;
    if (!escapes) {
        memcpy(bytes, from + 1, kept = len);
    } else {
        map = parser_alloc(p, (len + 1) * sizeof(*map));
        for (const char *at = from + 1; at < close; at++) {
            if (*at == '\\' && at[1] == '\n') {
                at++;
                continue;
            }
            if (*at == '\\' && !is_unescaped(at[1], quoting)) {
                map[kept] = parser_place(p, at);
                bytes[kept++] = *at;
            }
            at += *at == '\\';
            map[kept] = parser_place(p, at);
            bytes[kept++] = *at;
        }
        map[kept] = parser_place(p, close);
    }
    /* As $(…) it would stand in the document as it is, where a line that ends so is joined. */
    if (escapes && p->now.within_document && memmem(bytes, kept, "\\\n", 2))
        parser_refuse(p, from, "a backslash before a newline in backquotes in a here-document");

    struct shell_part *part = new_part(p, SHELL_COMMAND, from);
    struct inner saved;
    uint32_t base = map ? 0 : parser_place(p, from + 1);
    if (!map && p->map) { /* the places of the text around are not a plain sequence */
        map = parser_alloc(p, (len + 1) * sizeof(*map));
        for (size_t i = 0; i <= len; i++)
            map[i] = parser_place(p, from + 1 + i);
    }
    parser_enter(p, from);
    parser_push(p, &saved, bytes, kept, map, base);
    p->now.in_command++;
    part->list = parse_script(p);
    if (!part->list->items)
        part->list = NULL;
    parser_pop(p, &saved);
    parser_leave(p);
    p->at = close + 1;
    p->now.late_command = true;
    part->span.to = parser_place(p, p->at);
    parts_add(parts, part);
}

void scan_process(struct parser *p, struct parts *parts)
{
    const char *from = p->at;
    struct shell_part *part = new_part(p, SHELL_PROCESS, from);
    part->op = *from;
    p->at = behind(from) + 1;
    skip_continuations(p);
    if (*p->at == '(')
        parser_refuse(p, from, "'%c((': write '%c( (' for a subshell", *from, *from);
    part->list = parse_substitution(p, from);
    part->span.to = parser_place(p, p->at);
    parts_add(parts, part);
}
