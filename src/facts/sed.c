/*
 * sed scripts. A script is read command by command, as GNU sed compiles it: where a command ends
 * depends on the command, so a file name or a text may hide what looks like the next one, and the
 * other way round. Scripts that sed itself refuses are reported and not read further.
 */
#include <string.h>

#include "base/utf8.h"
#include "facts/lang.h"

struct sed {
    const char *start, *at, *end;
    lang_found *found;
    void *user;
    size_t open; /* blocks */
    bool failed;
};

enum { SED_END = -1 };

static void report(struct sed *s, enum lang_use use, const char *text, const char *to,
                   const char *at)
{
    size_t len = text ? (size_t)(to - text) : 0;
    s->found(s->user, use, text, len, (size_t)((text ? text : at) - s->start));
}

static bool fail(struct sed *s)
{
    if (!s->failed)
        report(s, LANG_UNKNOWN_CODE, NULL, NULL, s->at);
    s->failed = true;
    return false;
}

/* --- characters ------------------------------------------------------------------------------- */

static int peek(const struct sed *s)
{
    return s->at < s->end ? (unsigned char)*s->at : SED_END;
}

static int take(struct sed *s)
{
    int c = peek(s);
    if (c != SED_END)
        s->at++;
    return c;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(struct sed *s)
{
    while (peek(s) == ' ' || peek(s) == '\t')
        s->at++;
}

/* Also what isspace counts, and the semicolons of empty commands. */
static void skip_between_commands(struct sed *s)
{
    while (s->at < s->end && *s->at && strchr("; \t\n\v\f\r", *s->at))
        s->at++;
}

static void skip_digits(struct sed *s)
{
    while (is_digit(peek(s)))
        s->at++;
}

static const char *end_of_line(const struct sed *s)
{
    const char *newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
    return newline ? newline : s->end;
}

/* --- parts of commands ------------------------------------------------------------------------ */

/* Behind [ in a regular expression: to its ]. [:alpha:], [=a=] and [.a.] may hold a ] of their own.
 */
static bool skip_brackets(struct sed *s)
{
    if (peek(s) == '^')
        s->at++;
    if (peek(s) == ']')
        s->at++;
    enum { PLAIN, OPENED, INSIDE, CLOSING } state = PLAIN;
    int mark = SED_END;
    for (;;) {
        int c = take(s);
        if (c == SED_END || c == '\n')
            return false;
        if (c == ']' && (state == PLAIN || state == OPENED))
            return true;
        switch (state) {
        case PLAIN:
            if (c == '[')
                state = OPENED;
            break;
        case OPENED:
            mark = c;
            if (c == '.' || c == ':' || c == '=')
                state = INSIDE;
            else if (c != '[')
                state = PLAIN;
            break;
        case INSIDE:
            if (c == mark)
                state = CLOSING;
            break;
        case CLOSING:
            if (c == ']')
                state = PLAIN;
            else if (c != '[')
                state = INSIDE;
            break;
        }
    }
}

/* A regular expression, or what replaces it, to the delimiter that closes it. */
static bool skip_delimited(struct sed *s, int delimiter, bool regex)
{
    for (;;) {
        int c = take(s);
        if (c == SED_END || c == '\n')
            return false;
        if (c == delimiter)
            return true;
        if (c == '\\') {
            c = take(s);
            if (c == SED_END)
                return false;
            /* Versions behind 4.9 take the character behind \c along, whatever it is. */
            int next = peek(s);
            if (c == 'c' && regex && c != delimiter &&
                (next == delimiter || next == '\\' || next == '[' || next == '\n'))
                return false;
        } else if (c == '[' && regex && !skip_brackets(s)) {
            return false;
        }
    }
}

/* Delimiters are single bytes; what sed makes of one that is not depends on the locale. */
static int take_delimiter(struct sed *s)
{
    int c = take(s);
    return c == '\n' || c >= 0x80 ? SED_END : c;
}

enum address_kind { ADDRESS_NONE, ADDRESS_ZERO, ADDRESS_REGEX, ADDRESS_STEP, ADDRESS_OTHER };

static bool is_zero(const char *from, const char *to)
{
    while (from < to && *from == '0')
        from++;
    return from == to;
}

static bool read_address(struct sed *s, enum address_kind *ret)
{
    int c = peek(s);
    *ret = ADDRESS_NONE;
    if (c == '/' || c == '\\') {
        s->at++;
        int delimiter = c == '\\' ? take_delimiter(s) : '/';
        if (delimiter == SED_END || !skip_delimited(s, delimiter, true))
            return fail(s);
        do {
            skip_blanks(s);
            c = peek(s);
            s->at += c == 'I' || c == 'M';
        } while (c == 'I' || c == 'M');
        *ret = ADDRESS_REGEX;
    } else if (is_digit(c)) {
        const char *from = s->at;
        skip_digits(s);
        *ret = is_zero(from, s->at) ? ADDRESS_ZERO : ADDRESS_OTHER;
        skip_blanks(s);
        if (peek(s) == '~') {
            s->at++;
            skip_blanks(s);
            from = s->at;
            skip_digits(s);
            if (!is_zero(from, s->at))
                *ret = ADDRESS_OTHER;
        }
    } else if (c == '+' || c == '~') {
        s->at++;
        skip_blanks(s);
        const char *from = s->at;
        skip_digits(s);
        *ret = is_zero(from, s->at) ? ADDRESS_OTHER : ADDRESS_STEP;
    } else if (c == '$') {
        s->at++;
        *ret = ADDRESS_OTHER;
    }
    return true;
}

static bool read_addresses(struct sed *s, bool *ret_any, bool *ret_two)
{
    enum address_kind first, second = ADDRESS_NONE;
    if (!read_address(s, &first))
        return false;
    *ret_any = first != ADDRESS_NONE;
    if (first == ADDRESS_STEP)
        return fail(s);
    if (*ret_any) {
        skip_blanks(s);
        if (peek(s) == ',') {
            s->at++;
            skip_blanks(s);
            if (!read_address(s, &second))
                return false;
            if (second == ADDRESS_NONE)
                return fail(s);
            skip_blanks(s);
        }
        bool zero_allowed = second == ADDRESS_REGEX || (second == ADDRESS_NONE && peek(s) == 'r');
        if (first == ADDRESS_ZERO && !zero_allowed)
            return fail(s);
    }
    *ret_two = second != ADDRESS_NONE;
    if (peek(s) == '!') {
        s->at++;
        skip_blanks(s);
        if (peek(s) == '!')
            return fail(s);
    }
    return true;
}

/* Behind a command that takes nothing more. } and # may follow at once. */
static bool read_end(struct sed *s)
{
    skip_blanks(s);
    int c = peek(s);
    if (c == '}' || c == '#' || c == SED_END)
        return true;
    if (c != '\n' && c != ';')
        return fail(s);
    s->at++;
    return true;
}

/* A file's name is all to the end of the line, semicolons and braces included. */
static bool read_file(struct sed *s, enum lang_use use)
{
    skip_blanks(s);
    const char *from = s->at, *to = end_of_line(s);
    if (from == to)
        return fail(s);
    report(s, use, from, to, from);
    s->at = to;
    return true;
}

static bool skip_label(struct sed *s)
{
    skip_blanks(s);
    const char *from = s->at;
    while (s->at < s->end && !strchr(" \t\n;}#", *s->at))
        s->at++;
    return s->at > from;
}

/* Text of a, i, c and e: to the first newline that no backslash hides. */
static bool read_text(struct sed *s, bool run)
{
    const char *command = s->at - 1;
    skip_blanks(s);
    if (run && (peek(s) == SED_END || peek(s) == '\n')) {
        report(s, LANG_SHELL, NULL, NULL, command); /* the pattern space */
        return true;
    }
    if (peek(s) == SED_END)
        return fail(s);
    bool marked = peek(s) == '\\', plain = true;
    s->at += marked;
    if (marked && peek(s) == '\n') {
        s->at++;
    } else if (marked && peek(s) == '\\') {
        s->at++; /* right behind the mark even a backslash is just itself */
        plain = false;
    } else if (marked) {
        skip_blanks(s);
    }
    const char *from = s->at;
    while (s->at < s->end && *s->at != '\n') {
        if (*s->at == '\\') {
            plain = false;
            s->at++;
        }
        take(s);
    }
    if (run)
        report(s, LANG_SHELL, plain ? from : NULL, s->at, command);
    return true;
}

static bool read_substitution(struct sed *s)
{
    const char *command = s->at - 1;
    int delimiter = take_delimiter(s);
    if (delimiter == SED_END || !skip_delimited(s, delimiter, true) ||
        !skip_delimited(s, delimiter, false))
        return fail(s);
    bool run = false, number = false, print = false, global = false;
    for (;;) {
        skip_blanks(s);
        int c = peek(s);
        if (c == '}' || c == '#' || c == SED_END)
            return true;
        s->at++;
        if (c == '\n' || c == ';' || (c == '\r' && peek(s) == '\n'))
            return true;
        if (c == 'e') {
            if (!run)
                report(s, LANG_SHELL, NULL, NULL, command); /* what replaced it, and all around */
            run = true;
        } else if (c == 'w') {
            return read_file(s, LANG_WRITE);
        } else if (c == 'p' && !print) {
            print = true;
        } else if (c == 'g' && !global) {
            global = true;
        } else if (is_digit(c) && !number) {
            number = true;
            s->at--;
            skip_digits(s);
        } else if (c != 'i' && c != 'I' && c != 'm' && c != 'M') {
            s->at--;
            return fail(s);
        }
    }
}

/* --- commands --------------------------------------------------------------------------------- */

static bool read_command(struct sed *s)
{
    bool addressed, two;
    if (!read_addresses(s, &addressed, &two))
        return false;
    int c = take(s);
    switch (c) {
    case '#':
        if (addressed)
            return fail(s);
        s->at = end_of_line(s);
        return true;
    case '{':
        s->open++;
        return true;
    case '}':
        if (addressed || !s->open)
            return fail(s);
        s->open--;
        return read_end(s);
    case ':':
        return !addressed && skip_label(s) ? true : fail(s);
    case 'b':
    case 't':
    case 'T':
    case 'v':
        skip_label(s); /* may be missing */
        return true;
    case 'a':
    case 'i':
    case 'c':
        return read_text(s, false);
    case 'e':
        return read_text(s, true);
    case 'r':
    case 'R':
        return read_file(s, LANG_READ);
    case 'w':
    case 'W':
        return read_file(s, LANG_WRITE);
    case 's':
        return read_substitution(s);
    case 'y': {
        int delimiter = take_delimiter(s);
        if (delimiter == SED_END || !skip_delimited(s, delimiter, false) ||
            !skip_delimited(s, delimiter, false))
            return fail(s);
        return read_end(s);
    }
    case 'q':
    case 'Q':
        if (two)
            return fail(s);
        skip_blanks(s);
        skip_digits(s);
        return read_end(s);
    case 'l':
    case 'L':
        skip_blanks(s);
        skip_digits(s);
        return read_end(s);
    default:
        if (c == SED_END || !c || !strchr("=dDFgGhHnNpPzx", c))
            return fail(s);
        return read_end(s);
    }
}

void lang_sed(const char *script, size_t len, bool extended, lang_found *found, void *user)
{
    (void)extended;
    struct sed s = {
        .start = script, .at = script, .end = script + len, .found = found, .user = user};
    /* sed looks at whole characters of the locale; only on these do all locales agree. */
    if (!utf8_valid(script, len) || memchr(script, '\0', len)) {
        fail(&s);
        return;
    }
    for (;;) {
        skip_between_commands(&s);
        if (s.at == s.end)
            break;
        if (!read_command(&s))
            return;
    }
    if (s.open)
        fail(&s);
}
