/* Words and their quotes; see parser.h. */
#include <string.h>

#include "base/utf8.h"
#include "shell/parser.h"

/* --- parts ------------------------------------------------------------------------------------ */

struct shell_part *new_part(struct parser *p, enum shell_part_kind kind, const char *from)
{
    struct shell_part *part = parser_alloc(p, sizeof(*part));
    part->kind = kind;
    part->span.from = parser_place(p, from);
    return part;
}

void parts_add(struct parts *parts, struct shell_part *part)
{
    if (parts->last)
        parts->last->next = part;
    else
        parts->first = part;
    parts->last = part;
    parts->capacity = 0;
}

/* Text is a slice of what is read for as long as it can be, then a copy that grows by doubling. */
void parts_add_text(struct parser *p, struct parts *parts, enum shell_part_kind kind,
                    const char *bytes, size_t len, const char *from, const char *to)
{
    struct shell_part *last = parts->last;
    if (!last || last->kind != kind) {
        last = new_part(p, kind, from);
        last->text = (struct shell_text){bytes, (uint32_t)len};
        parts_add(parts, last);
    } else if (!len) {
        ;
    } else if (!last->text.len) {
        last->text = (struct shell_text){bytes, (uint32_t)len};
        parts->capacity = 0;
    } else if (!parts->capacity && last->text.bytes + last->text.len == bytes) {
        last->text.len += (uint32_t)len;
    } else {
        size_t needed = last->text.len + len;
        if (needed > parts->capacity) {
            char *copy = parser_alloc(p, needed * 2);
            memcpy(copy, last->text.bytes, last->text.len);
            last->text.bytes = copy;
            parts->capacity = needed * 2;
        }
        memcpy((char *)last->text.bytes + last->text.len, bytes, len);
        last->text.len += (uint32_t)len;
    }
    last->span.to = parser_place(p, to);
}

/* --- quotes ----------------------------------------------------------------------------------- */

void scan_single(struct parser *p, struct parts *parts, const char *from)
{
    const char *close = p->at;
    while (*close != '\'') {
        if (!*close++)
            parser_refuse(p, from, "no ' closes this");
    }
    parts_add_text(p, parts, SHELL_QUOTED, p->at, (size_t)(close - p->at), from, close + 1);
    p->at = close + 1;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 32) >= 'a' && (c | 32) <= 'f')
        return (c | 32) - 'a' + 10;
    return -1;
}

static size_t put_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | (code >> 6));
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | (code >> 12));
        out[1] = (char)(0x80 | ((code >> 6) & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | (code >> 18));
    out[1] = (char)(0x80 | ((code >> 12) & 63));
    out[2] = (char)(0x80 | ((code >> 6) & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* \xHH, \uHHHH and \UHHHHHHHH at the letter; the value, or -1 when no digit follows. */
static int64_t ansi_hex(const char **at, int digits)
{
    int64_t value = -1;
    const char *c = *at + 1;
    bool braces = **at == 'x' && *c == '{';
    if (braces) {
        c++;
        value = 0;
        digits = INT32_MAX;
    }
    for (; digits > 0 && hex_value(*c) >= 0; digits--, c++)
        value = ((value < 0 ? 0 : value) * 16 + hex_value(*c)) & UINT32_MAX;
    if (braces) {
        value &= 255;
        c += *c == '}';
    }
    if (value >= 0)
        *at = c;
    return value;
}

/* One escape of $'…' at the character behind the backslash; its bytes go to `out`. */
static size_t ansi_escape(struct parser *p, const char **at, char *out)
{
    static const char PLAIN[] = "a\ab\be\033E\033f\fn\nr\rt\tv\v\\\\''\"\"\?\?";
    char c = **at;
    for (size_t i = 0; i + 1 < sizeof(PLAIN); i += 2) {
        if (c == PLAIN[i]) {
            ++*at;
            out[0] = PLAIN[i + 1];
            return 1;
        }
    }
    const char *from = *at;
    int64_t value = -1;
    size_t len = 1;
    if (c >= '0' && c <= '7') {
        value = 0;
        for (int i = 0; i < 3 && **at >= '0' && **at <= '7'; i++, ++*at)
            value = value * 8 + (**at - '0');
        out[0] = (char)(value &= 255);
    } else if (c == 'x') {
        value = ansi_hex(at, 2);
        out[0] = (char)value;
    } else if (c == 'u' || c == 'U') {
        value = ansi_hex(at, c == 'u' ? 4 : 8);
        if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
            parser_refuse(p, from, "\\%c without a character of that number", c);
        if (value > 0)
            len = put_utf8(out, (uint32_t)value);
    } else if (c == 'c') {
        char control = (*at)[1];
        if (!control || control == '\'' || control == '\\' || (unsigned char)control > 127)
            parser_refuse(p, from, "\\c without a letter");
        *at += 2;
        value = control == '?' ? 127 : (control & 31);
        out[0] = (char)value;
    }
    if (value < 0) { /* not an escape: both characters stay */
        out[0] = '\\';
        out[1] = c;
        ++*at;
        return 2;
    }
    if (!value) {
        /* A NUL ends the text for bash: the rest of it, up to the quote, is dropped. */
        if (c != 'x' && (c < '0' || c > '7'))
            parser_refuse(p, from, "a NUL byte may not stand in a command");
        while (**at && **at != '\'')
            *at += **at == '\\' && (*at)[1] ? 2 : 1;
        return 0;
    }
    return len;
}

/* $'…' behind its quote. */
void scan_ansi(struct parser *p, struct parts *parts, const char *from)
{
    parts_add_text(p, parts, SHELL_QUOTED, p->at, 0, from, p->at);
    for (;;) {
        const char *start = p->at;
        while (*p->at != '\'' && *p->at != '\\' && *p->at)
            p->at++;
        parts_add_text(p, parts, SHELL_QUOTED, start, (size_t)(p->at - start), start, p->at);
        if (!*p->at || (*p->at == '\\' && !p->at[1]))
            parser_refuse(p, from, "no ' closes this");
        if (*p->at == '\'')
            break;
        start = p->at++;
        char *out = parser_alloc(p, 4);
        size_t len = ansi_escape(p, &p->at, out);
        parts_add_text(p, parts, SHELL_QUOTED, out, len, start, p->at);
    }
    p->at++;
    parts->last->span.to = parser_place(p, p->at);
}

/* Literal text, escapes and expansions up to a closing quote or, for a document, the end. */
static void scan_quoted(struct parser *p, struct parts *parts, enum quoting quoting,
                        const char *from)
{
    for (;;) {
        const char *start = p->at;
        while (!char_is(*p->at, CHAR_QUOTE_STOP))
            p->at++;
        if (p->at > start)
            parts_add_text(p, parts, SHELL_QUOTED, start, (size_t)(p->at - start), start, p->at);
        char c = *p->at;
        if (!c) {
            if (quoting == IN_DOUBLE)
                parser_refuse(p, from, "no \" closes this");
            return;
        }
        if (c == '"') {
            if (quoting == IN_DOUBLE)
                return;
            parts_add_text(p, parts, SHELL_QUOTED, p->at, 1, p->at, p->at + 1);
            p->at++;
        } else if (c == '\\') {
            char next = p->at[1];
            start = p->at;
            if (next == '\n') {
                p->at += 2;
            } else if (next == '$' || next == '`' || next == '\\' ||
                       (next == '"' && quoting == IN_DOUBLE)) {
                parts_add_text(p, parts, SHELL_QUOTED, p->at + 1, 1, start, p->at + 2);
                p->at += 2;
            } else {
                parts_add_text(p, parts, SHELL_QUOTED, p->at, 1, start, p->at + 1);
                p->at++;
            }
        } else if (c == '`') {
            scan_backquote(p, parts, quoting);
        } else {
            scan_dollar(p, parts, quoting);
        }
    }
}

struct shell_part *scan_double(struct parser *p, const char *from)
{
    struct shell_part *part = new_part(p, SHELL_DOUBLE, from);
    struct parts parts = {0};
    parser_enter(p, from);
    scan_quoted(p, &parts, IN_DOUBLE, from);
    parser_leave(p);
    p->at++;
    part->parts = parts.first;
    part->span.to = parser_place(p, p->at);
    return part;
}

void scan_document(struct parser *p, struct parts *parts)
{
    scan_quoted(p, parts, IN_DOCUMENT, p->at);
}

/* --- words ------------------------------------------------------------------------------------ */

void scan_escape(struct parser *p, struct parts *parts)
{
    const char *from = p->at++;
    uint32_t character;
    size_t len = utf8_decode(p->at, (size_t)(p->end - p->at), &character, NULL);
    if (*p->at != '\n')
        parts_add_text(p, parts, SHELL_QUOTED, p->at, len ? len : 1, from, p->at + (len ? len : 1));
    p->at += len ? len : 1;
}

void add_double(struct parser *p, struct parts *parts, const char *from)
{
    struct shell_part *part = scan_double(p, from);
    const struct shell_part *inner = part->parts;
    if (!inner)
        parts_add_text(p, parts, SHELL_QUOTED, from, 0, from, p->at);
    else if (!inner->next && inner->kind == SHELL_QUOTED)
        parts_add_text(p, parts, SHELL_QUOTED, inner->text.bytes, inner->text.len, from, p->at);
    else
        parts_add(parts, part);
}

/*
 * bash finds the end of a group by counting parentheses outside of quotes and nothing else, also
 * within what is a substitution later. Where that gives another end, nobody can be sure.
 */
static void check_group_end(struct parser *p, const char *open, const char *close)
{
    unsigned count = 0;
    bool escapes;
    for (const char *at = open; at < close; at++) {
        switch (*at) {
        case '(':
            count++;
            break;
        case ')':
            if (!--count)
                parser_refuse(p, at, "this parenthesis would close the pattern around it");
            break;
        case '\\':
            at++;
            break;
        case '\'':
            escapes = at[-1] == '$';
            for (at++; at < close && *at != '\''; at++)
                at += escapes && *at == '\\';
            break;
        case '"':
            for (at++; at < close && *at != '"'; at++) {
                at += *at == '\\';
                if (*at == '`' || (*at == '$' && (at[1] == '(' || at[1] == '[')))
                    parser_refuse(p, at, "a substitution in quotes within a pattern's parentheses");
            }
            break;
        case '`':
            parser_refuse(p, at, "a backquote within a pattern's parentheses");
        default:
            break;
        }
        if (at >= close)
            parser_refuse(p, open, "quotes that do not end within a pattern's parentheses");
    }
    if (count != 1)
        parser_refuse(p, open, "parentheses that do not pair within a pattern");
}

static void scan_group(struct parser *p, struct parts *parts, char op, const char *from)
{
    struct shell_part *part = new_part(p, SHELL_EXTGLOB, from);
    struct parts inner = {0};
    const char *open = p->at++;
    part->op = op;
    parser_enter(p, open);
    bool plain = true;
    for (;;) {
        const char *start = p->at;
        while (!char_is(*p->at, CHAR_WORD_STOP) ||
               (*p->at && *p->at != '(' && *p->at != ')' && *p->at != '<' && *p->at != '>' &&
                char_is(*p->at, CHAR_BREAK)))
            p->at++;
        if (p->at > start)
            parts_add_text(p, &inner, SHELL_TEXT, start, (size_t)(p->at - start), start, p->at);
        start = p->at;
        char c = *p->at;
        if (c == ')')
            break;
        plain &= c == '(' || c == '\\' || c == '\'';
        switch (c) {
        case '\0':
            parser_refuse(p, open, "no ')' closes this");
        case '(': {
            const struct shell_text *text =
                inner.last && inner.last->kind == SHELL_TEXT ? &inner.last->text : NULL;
            char mark = 0;
            if (op && text && text->len && strchr("?*+@!", text->bytes[text->len - 1])) {
                mark = text->bytes[--inner.last->text.len];
                inner.last->span.to = parser_place(p, --start);
            }
            scan_group(p, &inner, mark, start);
            break;
        }
        case '\'':
            p->at++;
            scan_single(p, &inner, start);
            break;
        case '"':
            p->at++;
            add_double(p, &inner, start);
            break;
        case '\\':
            if (!p->at[1])
                parser_refuse(p, open, "no ')' closes this");
            scan_escape(p, &inner);
            break;
        case '`':
            scan_backquote(p, &inner, UNQUOTED);
            break;
        case '$':
            scan_dollar(p, &inner, UNQUOTED);
            break;
        case '<':
        case '>':
            if (behind(p->at)[0] == '(')
                parser_refuse(p, p->at, "a process substitution within a pattern's parentheses");
            parts_add_text(p, &inner, SHELL_TEXT, p->at, 1, start, p->at + 1);
            p->at++;
            break;
        default:
            parser_refuse(p, p->at, "an unquoted control character");
        }
    }
    parser_leave(p);
    if (!plain)
        check_group_end(p, open, p->at);
    p->at++;
    part->parts = inner.first;
    part->span.to = parser_place(p, p->at);
    parts_add(parts, part);
}

/* NAME= or NAME+= as the whole of the word so far. */
static bool is_array_start(const struct parts *parts)
{
    const struct shell_part *part = parts->first;
    if (!part || part != parts->last || part->kind != SHELL_TEXT)
        return false;
    const char *at = part->text.bytes, *end = at + part->text.len;
    if (!char_is(*at, CHAR_NAME_START))
        return false;
    while (at < end && char_is(*at, CHAR_NAME))
        at++;
    if (at < end && *at == '[') { /* bash refuses a list as a member only when it gets there */
        at = memchr(at, ']', (size_t)(end - at));
        at = at ? at + 1 : end;
    }
    at += at < end && *at == '+';
    return at + 1 == end && *at == '=';
}

/* What stands before an open parenthesis that is part of a word. */
static bool scan_parenthesis(struct parser *p, struct parts *parts, enum word_mode mode)
{
    if (mode == WORD_REGEX) {
        scan_group(p, parts, 0, p->at);
        return true;
    }
    if (p->now.assign_arrays && is_array_start(parts)) {
        scan_array(p, parts);
        return true;
    }
    struct shell_part *last = parts->last;
    if (!last || last->kind != SHELL_TEXT || !last->text.len ||
        !strchr("?*+@!", last->text.bytes[last->text.len - 1]))
        return false;
    if (mode != WORD_PATTERN) {
        /* A name in front of () may end in one of these. */
        if (behind(p->at)[0] == ')' || char_is(*behind(p->at), CHAR_BLANK))
            return false;
        parser_refuse(p, p->at,
                      "an extended glob, which bash reads only behind a line that turns "
                      "them on");
    }
    /* The character before the parenthesis belongs to it; an empty text may be left. */
    last->text.len--;
    last->span.to = parser_place(p, p->at - 1);
    scan_group(p, parts, last->text.bytes[last->text.len], p->at - 1);
    return true;
}

void scan_word_rest(struct parser *p, struct parts *parts, enum word_mode mode)
{
    for (;;) {
        const char *start = p->at;
        while (!char_is(*p->at, CHAR_WORD_STOP))
            p->at++;
        if (p->at > start)
            parts_add_text(p, parts, SHELL_TEXT, start, (size_t)(p->at - start), start, p->at);
        start = p->at;
        switch (*p->at) {
        case '\'':
            p->at++;
            scan_single(p, parts, start);
            break;
        case '"':
            p->at++;
            add_double(p, parts, start);
            break;
        case '`':
            scan_backquote(p, parts, UNQUOTED);
            break;
        case '$':
            scan_dollar(p, parts, UNQUOTED);
            break;
        case '\\':
            if (!p->at[1]) {
                parser_refuse(p, p->at, "a backslash with nothing behind it");
            } else if (p->now.in_array && p->now.in_command && p->at[1] != ' ' &&
                       p->at[1] != '\n' && char_is(p->at[1], CHAR_WORD_STOP)) {
                /* Within "$(…)" bash's first look does not see the backslash. */
                parser_refuse(p, p->at,
                              "a backslash in an array within a substitution: use quotes");
            }
            scan_escape(p, parts);
            break;
        case '<':
        case '>':
            if (behind(p->at)[0] != '(')
                return;
            scan_process(p, parts);
            break;
        case '(':
            if (!scan_parenthesis(p, parts, mode))
                return;
            break;
        case '|':
            if (mode != WORD_REGEX)
                return;
            parts_add_text(p, parts, SHELL_TEXT, p->at, 1, start, p->at + 1);
            p->at++;
            break;
        default:
            if (char_is(*p->at, CHAR_BREAK))
                return;
            parser_refuse(p, p->at, "an unquoted control character");
        }
    }
}

/* Written as $((…)), $[…] would hide a comma from the expansion of braces. */
static void check_braces(struct parser *p, const struct shell_word *word)
{
    for (const struct shell_part *part = word->parts; p->now.bracket_list && part;
         part = part->next) {
        if (part->kind == SHELL_TEXT && memchr(part->text.bytes, '{', part->text.len))
            parser_refuse(p, p->now.bracket_list,
                          "'$[' in a word with braces: write '$((' instead");
    }
}

struct shell_word *scan_word(struct parser *p, enum word_mode mode)
{
    struct shell_word *word = parser_alloc(p, sizeof(*word));
    struct parts parts = {0};
    const char *from = p->at;
    p->now.bracket_list = NULL;
    scan_word_rest(p, &parts, mode);
    word->parts = parts.first;
    check_braces(p, word);
    word->span = parser_span(p, from, p->at);
    return word;
}
