/*
 * awk programs, token by token. No tree is needed: what runs, reads and writes has marks of its own
 * (system, getline, | and > behind print), and only four things depend on what surrounds them:
 *
 *   /    divides behind an operand and begins a regular expression elsewhere
 *   >    redirects in a print statement, outside of parentheses, and compares elsewhere
 *   <    is a file behind getline, in the same parentheses
 *   "…"  is all of an operand only if nothing that binds as tightly stands beside it
 *
 * A program on which awks disagree, or that none of them takes, is reported and not read further.
 */
#include <string.h>

#include "base/utf8.h"
#include "facts/lang.h"

enum {
    AWK_DEPTH_MAX = 256,
    AWK_STRING_MAX = 4096, /* bytes of a string with escapes that is still told */
};

enum token_kind {
    TOKEN_START, /* before the first */
    TOKEN_END,
    TOKEN_NEWLINE,
    TOKEN_SEMICOLON,
    TOKEN_OPEN_BRACE,
    TOKEN_CLOSE_BRACE,
    TOKEN_OPEN_PAREN,
    TOKEN_CLOSE_PAREN,
    TOKEN_CONTROL_PAREN, /* closes the head of if, for, while, switch: a statement follows */
    TOKEN_OPEN_BRACKET,
    TOKEN_CLOSE_BRACKET,
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_REGEX,
    TOKEN_NAME,
    TOKEN_FUNCTION, /* a built-in one */
    TOKEN_CHANGES,  /* a built-in one that sets its arguments: sub, split */
    TOKEN_SYSTEM,
    TOKEN_GETLINE,
    TOKEN_PRINT,
    TOKEN_CONTROL, /* if, for, while, switch */
    TOKEN_WORD,    /* other keywords; a statement, a pattern or an expression follows */
    TOKEN_IN,
    TOKEN_DELETE,
    TOKEN_ARGV,
    TOKEN_ARGC,
    TOKEN_SYMTAB,
    TOKEN_AT,
    TOKEN_COMMA,
    TOKEN_LOGIC,   /* && || ? : */
    TOKEN_ASSIGN,  /* = += … */
    TOKEN_COMPARE, /* == != <= >= */
    TOKEN_LESS,
    TOKEN_GREATER,
    TOKEN_APPEND, /* >> */
    TOKEN_PIPE,   /* | |& */
    TOKEN_STEP,   /* ++ -- */
    TOKEN_OPERATOR,
    TOKEN_WRONG,
};

struct token {
    enum token_kind kind;
    const char *from, *to;
};

/* What is open at a place: the whole program, or a brace, parenthesis or bracket. */
struct level {
    enum token_kind opener;
    enum token_kind before; /* the token before the opener */
    bool print;             /* in a print statement */
    bool getline;           /* a < may follow that names a file */
};

/* A place where a command or a file is expected: what it will be, and what has come of it. */
struct pending {
    enum { PENDING_NONE, PENDING_PAREN, PENDING_OPERAND, PENDING_FOLLOW } stage;
    enum lang_use use;
    bool in_paren; /* system( ): closed by ) and nothing else */
    const char *at;
    struct token string;
};

struct awk {
    const char *start, *at, *end;
    lang_found *found;
    void *user;
    struct token last, before_last;
    struct level levels[AWK_DEPTH_MAX];
    size_t depth; /* levels[depth] is the innermost */
    struct pending pending;
    bool argv_ended; /* ARGV[…] or ARGC just ended: an assignment would change what is read */
};

/* --- characters ------------------------------------------------------------------------------- */

static char at(const struct awk *a, size_t ahead)
{
    if ((size_t)(a->end - a->at) <= ahead)
        return '\0';
    return a->at[ahead];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* --- tokens ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum token_kind kind;
} WORDS[] = {
    {"ARGC", TOKEN_ARGC},
    {"ARGV", TOKEN_ARGV},
    {"BEGIN", TOKEN_WORD},
    {"BEGINFILE", TOKEN_WORD},
    {"END", TOKEN_WORD},
    {"ENDFILE", TOKEN_WORD},
    {"SYMTAB", TOKEN_SYMTAB},
    {"and", TOKEN_FUNCTION},
    {"asort", TOKEN_CHANGES},
    {"asorti", TOKEN_CHANGES},
    {"atan2", TOKEN_FUNCTION},
    {"bindtextdomain", TOKEN_FUNCTION},
    {"break", TOKEN_WORD},
    {"case", TOKEN_WORD},
    {"close", TOKEN_FUNCTION},
    {"compl", TOKEN_FUNCTION},
    {"continue", TOKEN_WORD},
    {"cos", TOKEN_FUNCTION},
    {"dcgettext", TOKEN_FUNCTION},
    {"dcngettext", TOKEN_FUNCTION},
    {"default", TOKEN_WORD},
    {"delete", TOKEN_DELETE},
    {"do", TOKEN_WORD},
    {"else", TOKEN_WORD},
    {"exit", TOKEN_WORD},
    {"exp", TOKEN_FUNCTION},
    {"fflush", TOKEN_FUNCTION},
    {"for", TOKEN_CONTROL},
    {"func", TOKEN_WORD},
    {"function", TOKEN_WORD},
    {"gensub", TOKEN_FUNCTION},
    {"getline", TOKEN_GETLINE},
    {"gsub", TOKEN_CHANGES},
    {"if", TOKEN_CONTROL},
    {"in", TOKEN_IN},
    {"index", TOKEN_FUNCTION},
    {"int", TOKEN_FUNCTION},
    {"isarray", TOKEN_FUNCTION},
    {"length", TOKEN_FUNCTION},
    {"log", TOKEN_FUNCTION},
    {"lshift", TOKEN_FUNCTION},
    {"match", TOKEN_CHANGES},
    {"mkbool", TOKEN_FUNCTION},
    {"mktime", TOKEN_FUNCTION},
    {"next", TOKEN_WORD},
    {"nextfile", TOKEN_WORD},
    {"or", TOKEN_FUNCTION},
    {"patsplit", TOKEN_CHANGES},
    {"print", TOKEN_PRINT},
    {"printf", TOKEN_PRINT},
    {"rand", TOKEN_FUNCTION},
    {"return", TOKEN_WORD},
    {"rshift", TOKEN_FUNCTION},
    {"sin", TOKEN_FUNCTION},
    {"split", TOKEN_CHANGES},
    {"sprintf", TOKEN_FUNCTION},
    {"sqrt", TOKEN_FUNCTION},
    {"srand", TOKEN_FUNCTION},
    {"strftime", TOKEN_FUNCTION},
    {"strtonum", TOKEN_FUNCTION},
    {"sub", TOKEN_CHANGES},
    {"substr", TOKEN_FUNCTION},
    {"switch", TOKEN_CONTROL},
    {"system", TOKEN_SYSTEM},
    {"systime", TOKEN_FUNCTION},
    {"tolower", TOKEN_FUNCTION},
    {"toupper", TOKEN_FUNCTION},
    {"typeof", TOKEN_FUNCTION},
    {"while", TOKEN_CONTROL},
    {"xor", TOKEN_FUNCTION},
};

/* A name, with gawk's namespaces before it: awk::system is system. */
static enum token_kind read_name(struct awk *a)
{
    const char *from = a->at;
    for (;;) {
        while (is_name_start(at(a, 0)) || is_digit(at(a, 0)))
            a->at++;
        if (at(a, 0) != ':' || at(a, 1) != ':' || !is_name_start(at(a, 2)))
            break;
        a->at += 2;
        from = a->at;
    }
    size_t len = (size_t)(a->at - from);
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        if (strlen(WORDS[i].name) == len && memcmp(WORDS[i].name, from, len) == 0)
            return WORDS[i].kind;
    }
    return TOKEN_NAME;
}

static enum token_kind read_number(struct awk *a)
{
    bool hex = at(a, 0) == '0' && (at(a, 1) == 'x' || at(a, 1) == 'X');
    if (hex)
        a->at += 2;
    while (hex ? is_hex_digit(at(a, 0)) : is_digit(at(a, 0)) || at(a, 0) == '.')
        a->at++;
    if (!hex && (at(a, 0) == 'e' || at(a, 0) == 'E')) {
        size_t sign = at(a, 1) == '+' || at(a, 1) == '-';
        if (!is_digit(at(a, 1 + sign)))
            return TOKEN_WRONG;
        a->at += 1 + sign;
        while (is_digit(at(a, 0)))
            a->at++;
    }
    /* Where the number ends and the name begins is not the same in all awks. */
    return is_name_start(at(a, 0)) || (hex && at(a, 0) == '.') ? TOKEN_WRONG : TOKEN_NUMBER;
}

static enum token_kind read_string(struct awk *a)
{
    for (a->at++; a->at < a->end; a->at++) {
        if (*a->at == '"') {
            a->at++;
            return TOKEN_STRING;
        }
        if (*a->at == '\n')
            return TOKEN_WRONG;
        if (*a->at == '\\' && ++a->at == a->end)
            return TOKEN_WRONG;
    }
    return TOKEN_WRONG;
}

/*
 * A regular expression. A slash in brackets does not end it; but where brackets end is a matter of
 * opinion when they hold more than characters, ranges and classes, so there a slash is refused.
 */
static enum token_kind read_regex(struct awk *a)
{
    bool in_brackets = false; /* as gawk and mawk see it … */
    bool odd = false;         /* … if nothing was seen on which they disagree */
    for (a->at++; a->at < a->end; a->at++) {
        char c = *a->at;
        if (c == '\n')
            return TOKEN_WRONG;
        if (c == '\\') {
            if (++a->at == a->end || *a->at == '\n')
                return TOKEN_WRONG;
        } else if (c == '/' && in_brackets && odd) {
            return TOKEN_WRONG;
        } else if (c == '/' && !in_brackets) {
            a->at++;
            return TOKEN_REGEX;
        } else if (c == '[' && !in_brackets) {
            in_brackets = true;
            if (at(a, 1) == '^')
                a->at++;
            if (at(a, 1) == ']')
                a->at++;
        } else if (c == '[' && at(a, 1) == ':') {
            const char *class = a->at + 2;
            while (class < a->end && *class >= 'a' && *class <= 'z')
                class ++;
            if (a->end - class >= 2 && class[0] == ':' && class[1] == ']')
                a->at = class + 1;
            else
                odd = true;
        } else if (c == '[') {
            odd = true;
        } else if (c == ']') {
            odd |= !in_brackets;
            in_brackets = false;
        }
    }
    return TOKEN_WRONG;
}

/* Whether a slash behind this token divides. */
static bool is_operand_end(enum token_kind kind)
{
    return kind == TOKEN_NUMBER || kind == TOKEN_STRING || kind == TOKEN_REGEX ||
           kind == TOKEN_NAME || kind == TOKEN_ARGV || kind == TOKEN_ARGC ||
           kind == TOKEN_CLOSE_PAREN || kind == TOKEN_CLOSE_BRACKET || kind == TOKEN_STEP;
}

static enum token_kind read_slash(struct awk *a)
{
    enum token_kind last = a->last.kind;
    if (is_operand_end(last)) {
        a->at++;
        if (at(a, 0) != '=')
            return TOKEN_OPERATOR;
        a->at++;
        return TOKEN_ASSIGN;
    }
    /* `length / 2` and `if (x) /y/`: some awks divide, some do not. */
    if (last == TOKEN_GETLINE || last == TOKEN_FUNCTION || last == TOKEN_CHANGES ||
        last == TOKEN_SYSTEM || last == TOKEN_SYMTAB || last == TOKEN_CONTROL_PAREN)
        return TOKEN_WRONG;
    return read_regex(a);
}

/* The longest first. */
static const struct {
    const char *text;
    enum token_kind kind;
} OPERATORS[] = {
    {"**=", TOKEN_ASSIGN},     {"&&", TOKEN_LOGIC},        {"||", TOKEN_LOGIC},
    {"|&", TOKEN_PIPE},        {"++", TOKEN_STEP},         {"--", TOKEN_STEP},
    {"+=", TOKEN_ASSIGN},      {"-=", TOKEN_ASSIGN},       {"*=", TOKEN_ASSIGN},
    {"%=", TOKEN_ASSIGN},      {"^=", TOKEN_ASSIGN},       {"**", TOKEN_OPERATOR},
    {"==", TOKEN_COMPARE},     {"!=", TOKEN_COMPARE},      {"<=", TOKEN_COMPARE},
    {">=", TOKEN_COMPARE},     {">>", TOKEN_APPEND},       {"!~", TOKEN_OPERATOR},
    {"\n", TOKEN_NEWLINE},     {";", TOKEN_SEMICOLON},     {"{", TOKEN_OPEN_BRACE},
    {"}", TOKEN_CLOSE_BRACE},  {"(", TOKEN_OPEN_PAREN},    {")", TOKEN_CLOSE_PAREN},
    {"[", TOKEN_OPEN_BRACKET}, {"]", TOKEN_CLOSE_BRACKET}, {",", TOKEN_COMMA},
    {"?", TOKEN_LOGIC},        {":", TOKEN_LOGIC},         {"=", TOKEN_ASSIGN},
    {"<", TOKEN_LESS},         {">", TOKEN_GREATER},       {"|", TOKEN_PIPE},
    {"+", TOKEN_OPERATOR},     {"-", TOKEN_OPERATOR},      {"*", TOKEN_OPERATOR},
    {"%", TOKEN_OPERATOR},     {"^", TOKEN_OPERATOR},      {"!", TOKEN_OPERATOR},
    {"~", TOKEN_OPERATOR},     {"$", TOKEN_OPERATOR},      {"@", TOKEN_AT},
};

static enum token_kind read_operator(struct awk *a)
{
    for (size_t i = 0; i < sizeof(OPERATORS) / sizeof(OPERATORS[0]); i++) {
        size_t len = strlen(OPERATORS[i].text);
        if ((size_t)(a->end - a->at) >= len && memcmp(a->at, OPERATORS[i].text, len) == 0) {
            a->at += len;
            return OPERATORS[i].kind;
        }
    }
    return TOKEN_WRONG;
}

static void skip_blanks(struct awk *a)
{
    for (;;) {
        char c = at(a, 0);
        if (c == ' ' || c == '\t') {
            a->at++;
        } else if (c == '\\' && at(a, 1) == '\n') {
            a->at += 2;
        } else if (c == '#') {
            const char *newline = memchr(a->at, '\n', (size_t)(a->end - a->at));
            a->at = newline ? newline : a->end;
        } else {
            return;
        }
    }
}

static struct token next_token(struct awk *a)
{
    skip_blanks(a);
    struct token token = {.from = a->at};
    char c = at(a, 0);
    if (a->at == a->end)
        token.kind = TOKEN_END;
    else if (is_name_start(c))
        token.kind = read_name(a);
    else if (is_digit(c) || (c == '.' && is_digit(at(a, 1))))
        token.kind = read_number(a);
    else if (c == '"')
        token.kind = read_string(a);
    else if (c == '/')
        token.kind = read_slash(a);
    else
        token.kind = read_operator(a);
    token.to = a->at;
    return token;
}

/* --- what is reported ------------------------------------------------------------------------- */

static void report_unknown(struct awk *a, enum lang_use use, const char *where)
{
    a->found(a->user, use, NULL, 0, (size_t)(where - a->start));
}

/* A string is told if all awks agree on its escapes. */
static void report_string(struct awk *a, enum lang_use use, const struct token *string)
{
    const char *from = string->from + 1, *to = string->to - 1;
    size_t offset = (size_t)(from - a->start);
    if (!memchr(from, '\\', (size_t)(to - from))) {
        a->found(a->user, use, from, (size_t)(to - from), offset);
        return;
    }
    static const char ESCAPES[] = "\"\\/nt", MEANINGS[] = "\"\\/\n\t";
    char text[AWK_STRING_MAX];
    size_t len = 0;
    for (; from < to; from++) {
        char c = *from;
        if (c == '\\') {
            const char *escape = *++from ? strchr(ESCAPES, *from) : NULL;
            if (!escape)
                break;
            c = MEANINGS[escape - ESCAPES];
        }
        if (len == sizeof(text))
            break;
        text[len++] = c;
    }
    if (from < to)
        report_unknown(a, use, string->from);
    else
        a->found(a->user, use, text, len, offset);
}

/* Whether a string behind this token begins an operand of | getline: nothing binds it tighter. */
static bool is_operand_start(enum token_kind kind)
{
    switch (kind) {
    case TOKEN_START:
    case TOKEN_NEWLINE:
    case TOKEN_SEMICOLON:
    case TOKEN_OPEN_BRACE:
    case TOKEN_CLOSE_BRACE:
    case TOKEN_OPEN_PAREN:
    case TOKEN_CONTROL_PAREN:
    case TOKEN_OPEN_BRACKET:
    case TOKEN_WORD:
    case TOKEN_COMMA:
    case TOKEN_LOGIC:
    case TOKEN_ASSIGN:
        return true;
    default:
        return false;
    }
}

/* Whether a string before this token was all of the operand. */
static bool ends_operand(const struct pending *pending, enum token_kind kind)
{
    if (pending->in_paren)
        return kind == TOKEN_CLOSE_PAREN;
    switch (kind) {
    case TOKEN_END:
    case TOKEN_NEWLINE:
    case TOKEN_SEMICOLON:
    case TOKEN_CLOSE_BRACE:
        return true;
    case TOKEN_CLOSE_PAREN:
    case TOKEN_COMMA:
    case TOKEN_LOGIC:
    case TOKEN_COMPARE:
    case TOKEN_LESS:
    case TOKEN_GREATER:
        return pending->use == LANG_READ;
    default:
        return false;
    }
}

static void expect(struct awk *a, enum lang_use use, bool in_paren, const char *where)
{
    a->pending = (struct pending){.stage = in_paren ? PENDING_PAREN : PENDING_OPERAND,
                                  .use = use,
                                  .in_paren = in_paren,
                                  .at = where};
}

static void see_pending(struct awk *a, const struct token *token)
{
    struct pending *pending = &a->pending;
    if (pending->stage == PENDING_NONE)
        return;
    if (pending->stage == PENDING_PAREN && token->kind == TOKEN_OPEN_PAREN) {
        pending->stage = PENDING_OPERAND;
    } else if (pending->stage == PENDING_OPERAND && token->kind == TOKEN_STRING) {
        pending->string = *token;
        pending->stage = PENDING_FOLLOW;
    } else {
        if (pending->stage == PENDING_FOLLOW && ends_operand(pending, token->kind))
            report_string(a, pending->use, &pending->string);
        else
            report_unknown(a, pending->use, pending->at);
        pending->stage = PENDING_NONE;
    }
}

/* --- what surrounds a token ------------------------------------------------------------------- */

static void end_statement(struct level *level)
{
    level->print = false;
    level->getline = false;
}

static bool open_level(struct awk *a, enum token_kind opener)
{
    if (a->depth + 1 == AWK_DEPTH_MAX)
        return false;
    a->levels[++a->depth] = (struct level){.opener = opener, .before = a->last.kind};
    return true;
}

static bool close_level(struct awk *a, struct token *token, enum token_kind opener)
{
    struct level *level = &a->levels[a->depth];
    if (a->depth == 0 || level->opener != opener)
        return false;
    if (opener == TOKEN_OPEN_PAREN && level->before == TOKEN_CONTROL)
        token->kind = TOKEN_CONTROL_PAREN;
    if (opener == TOKEN_OPEN_BRACKET && level->before == TOKEN_ARGV)
        a->argv_ended = true;
    a->depth--;
    if (opener == TOKEN_OPEN_BRACE)
        end_statement(&a->levels[a->depth]);
    return true;
}

/* ARGV names the files that are read. To look at it is harmless, to set it is a read of anything.
 */
static void see_argv(struct awk *a, const struct token *token)
{
    enum token_kind last = a->last.kind;
    bool whole = token->kind == TOKEN_ARGV && at(a, 0) != '[';
    const struct level *level = &a->levels[a->depth];
    bool to_length = level->opener == TOKEN_OPEN_PAREN && level->before == TOKEN_FUNCTION;
    bool changed = last == TOKEN_STEP || last == TOKEN_GETLINE ||
                   (level->opener == TOKEN_OPEN_PAREN && level->before == TOKEN_CHANGES) ||
                   (whole && last != TOKEN_IN && last != TOKEN_DELETE && !to_length);
    if (changed)
        report_unknown(a, LANG_READ, token->from);
    a->argv_ended = token->kind == TOKEN_ARGC && !changed;
}

/* The next token, which stays the next. */
static struct token peek_token(struct awk *a, enum token_kind behind)
{
    const char *here = a->at;
    struct token last = a->last;
    a->last.kind = behind;
    struct token next = next_token(a);
    a->at = here;
    a->last = last;
    return next;
}

static void see_pipe(struct awk *a, const struct token *pipe)
{
    if (peek_token(a, TOKEN_PIPE).kind != TOKEN_GETLINE) {
        expect(a, LANG_SHELL, false, pipe->from);
        return;
    }
    /* Of `print "a" | getline` the awks make different things. */
    if (a->levels[a->depth].print)
        report_unknown(a, LANG_SHELL, pipe->from);
    if (a->last.kind == TOKEN_STRING && is_operand_start(a->before_last.kind))
        report_string(a, LANG_SHELL, &a->last);
    else
        report_unknown(a, LANG_SHELL, pipe->from);
}

/* Behind @: a regular expression or a namespace; else code from a file, or a function by its name.
 */
static bool is_harmless_at(struct awk *a)
{
    static const char NAMESPACE[] = "namespace";
    struct token next = peek_token(a, TOKEN_AT);
    size_t len = (size_t)(next.to - next.from);
    return next.kind == TOKEN_REGEX ||
           (len == strlen(NAMESPACE) && memcmp(next.from, NAMESPACE, len) == 0);
}

/* One token in its place. False when the program cannot be read. */
static bool see(struct awk *a, struct token *token)
{
    struct level *level = &a->levels[a->depth];
    if (a->argv_ended &&
        (token->kind == TOKEN_ASSIGN || token->kind == TOKEN_STEP || token->kind == TOKEN_IN))
        report_unknown(a, LANG_READ, token->from);
    a->argv_ended = false;
    see_pending(a, token);

    switch (token->kind) {
    case TOKEN_WRONG:
        return false;
    case TOKEN_END:
        return a->depth == 0;
    case TOKEN_NEWLINE:
    case TOKEN_SEMICOLON:
        end_statement(level);
        break;
    case TOKEN_OPEN_BRACE:
        end_statement(level);
        return open_level(a, token->kind);
    case TOKEN_OPEN_PAREN:
    case TOKEN_OPEN_BRACKET:
        return open_level(a, token->kind);
    case TOKEN_CLOSE_BRACE:
        return close_level(a, token, TOKEN_OPEN_BRACE);
    case TOKEN_CLOSE_PAREN:
        return close_level(a, token, TOKEN_OPEN_PAREN);
    case TOKEN_CLOSE_BRACKET:
        return close_level(a, token, TOKEN_OPEN_BRACKET);
    case TOKEN_SYSTEM:
        expect(a, LANG_SHELL, true, token->from);
        break;
    case TOKEN_GETLINE:
        level->getline = true;
        break;
    case TOKEN_PRINT:
        level->print = true;
        break;
    case TOKEN_LOGIC:
    case TOKEN_COMMA:
        level->getline = false;
        break;
    case TOKEN_LESS:
        if (level->getline)
            expect(a, LANG_READ, false, token->from);
        level->getline = false;
        break;
    case TOKEN_GREATER:
        if (level->print)
            expect(a, LANG_WRITE, false, token->from);
        break;
    case TOKEN_APPEND:
        expect(a, LANG_WRITE, false, token->from);
        break;
    case TOKEN_PIPE:
        see_pipe(a, token);
        break;
    case TOKEN_ARGV:
    case TOKEN_ARGC:
        see_argv(a, token);
        break;
    case TOKEN_SYMTAB: /* any variable, by a name that is computed */
        report_unknown(a, LANG_UNKNOWN_CODE, token->from);
        break;
    case TOKEN_AT:
        if (!is_harmless_at(a))
            report_unknown(a, LANG_UNKNOWN_CODE, token->from);
        break;
    default:
        break;
    }
    return true;
}

void lang_awk(const char *program, size_t len, lang_found *found, void *user)
{
    struct awk a;
    a.start = a.at = program;
    a.end = program + len;
    a.found = found;
    a.user = user;
    a.last = a.before_last = (struct token){.kind = TOKEN_START};
    a.levels[0] = (struct level){0};
    a.depth = 0;
    a.pending = (struct pending){0};
    a.argv_ended = false;
    /* Where characters end is the locale's matter; only on these do all locales agree. */
    if (!utf8_valid(program, len) || (len && memchr(program, '\0', len))) {
        report_unknown(&a, LANG_UNKNOWN_CODE, program);
        return;
    }
    for (;;) {
        struct token token = next_token(&a);
        /* A statement goes on behind these, over any number of lines. */
        if (token.kind == TOKEN_NEWLINE &&
            (a.last.kind == TOKEN_COMMA || a.last.kind == TOKEN_LOGIC))
            continue;
        if (!see(&a, &token)) {
            report_unknown(&a, LANG_UNKNOWN_CODE, token.from);
            return;
        }
        if (token.kind == TOKEN_END)
            return;
        a.before_last = a.last;
        a.last = token;
    }
}
