/*
 * Characters → tokens. What a word is depends on the tokens before it, as in bash's reader: `last`
 * and `before` decide where reserved words and assignments may stand.
 */
#include <stdio.h>
#include <string.h>

#include "shell/parser.h"

/* --- what may stand where --------------------------------------------------------------------- */

#define BIT(kind) (UINT64_C(1) << (kind))
_Static_assert(TOKEN_COUNT <= 64, "sets of tokens are numbers of 64 bits");

/* Reserved words are such only behind these. */
static const uint64_t BEFORE_RESERVED =
    BIT(TOKEN_START) | BIT(TOKEN_NEWLINE) | BIT(TOKEN_SEMICOLON) | BIT(TOKEN_OPEN) |
    BIT(TOKEN_CLOSE) | BIT(TOKEN_PIPE) | BIT(TOKEN_PIPE_BOTH) | BIT(TOKEN_AMPERSAND) |
    BIT(TOKEN_AND) | BIT(TOKEN_OR) | BIT(TOKEN_BRACE) | BIT(TOKEN_BRACE_END) | BIT(TOKEN_LET) |
    BIT(TOKEN_BANG) | BIT(TOKEN_TEST_END) | BIT(TOKEN_DO) | BIT(TOKEN_DONE) | BIT(TOKEN_ELIF) |
    BIT(TOKEN_ELSE) | BIT(TOKEN_ESAC) | BIT(TOKEN_FI) | BIT(TOKEN_IF) | BIT(TOKEN_CLAUSE_BREAK) |
    BIT(TOKEN_CLAUSE_FALL) | BIT(TOKEN_CLAUSE_TEST) | BIT(TOKEN_THEN) | BIT(TOKEN_TIME) |
    BIT(TOKEN_TIME_POSIX) | BIT(TOKEN_TIME_END) | BIT(TOKEN_COPROC) | BIT(TOKEN_UNTIL) |
    BIT(TOKEN_WHILE);

/* `time` is reserved at fewer places. */
static const uint64_t BEFORE_TIME =
    BIT(TOKEN_START) | BIT(TOKEN_SEMICOLON) | BIT(TOKEN_NEWLINE) | BIT(TOKEN_AND) | BIT(TOKEN_OR) |
    BIT(TOKEN_AMPERSAND) | BIT(TOKEN_WHILE) | BIT(TOKEN_DO) | BIT(TOKEN_UNTIL) | BIT(TOKEN_IF) |
    BIT(TOKEN_THEN) | BIT(TOKEN_ELIF) | BIT(TOKEN_ELSE) | BIT(TOKEN_BRACE) | BIT(TOKEN_OPEN) |
    BIT(TOKEN_CLOSE) | BIT(TOKEN_BANG) | BIT(TOKEN_TIME) | BIT(TOKEN_TIME_POSIX) |
    BIT(TOKEN_TIME_END);

static bool is_one_of(enum token_kind kind, uint64_t set)
{
    return set >> kind & 1;
}

static bool allows_reserved(const struct reader *r)
{
    if (r->last == TOKEN_WORD)
        return r->before == TOKEN_COPROC || r->before == TOKEN_FUNCTION;
    return is_one_of(r->last, BEFORE_RESERVED);
}

static bool allows_time(const struct reader *r)
{
    /* Behind a pipe and a newline it is a word. */
    bool piped = r->before == TOKEN_PIPE &&
                 is_one_of(r->last, BIT(TOKEN_START) | BIT(TOKEN_SEMICOLON) | BIT(TOKEN_NEWLINE));
    return is_one_of(r->last, BEFORE_TIME) && !piped;
}

/* Where a command's name or an assignment may stand. */
static bool is_command_position(const struct reader *r)
{
    if (r->last == TOKEN_ASSIGNMENT)
        return true;
    if (r->leading_redirects && !is_redirection(r->last))
        return true;
    if (r->last == TOKEN_CLAUSE_BREAK || r->last == TOKEN_CLAUSE_FALL ||
        r->last == TOKEN_CLAUSE_TEST)
        return false;
    return allows_reserved(r);
}

static const struct {
    char text[8]; /* filled with NUL */
    enum token_kind kind;
} RESERVED[] = {
    {"!", TOKEN_BANG},
    {"[[", TOKEN_TEST},
    {"]]", TOKEN_TEST_END},
    {"case", TOKEN_CASE},
    {"coproc", TOKEN_COPROC},
    {"do", TOKEN_DO},
    {"done", TOKEN_DONE},
    {"elif", TOKEN_ELIF},
    {"else", TOKEN_ELSE},
    {"esac", TOKEN_ESAC},
    {"fi", TOKEN_FI},
    {"for", TOKEN_FOR},
    {"function", TOKEN_FUNCTION},
    {"if", TOKEN_IF},
    {"in", TOKEN_IN},
    {"select", TOKEN_SELECT},
    {"then", TOKEN_THEN},
    {"time", TOKEN_TIME},
    {"until", TOKEN_UNTIL},
    {"while", TOKEN_WHILE},
    {"{", TOKEN_BRACE},
    {"}", TOKEN_BRACE_END},
};
enum { RESERVED_COUNT = sizeof(RESERVED) / sizeof(*RESERVED), RESERVED_LEN_MAX = 8 };

/* Up to eight bytes as a number, for one comparison a row. */
static uint64_t word_key(const char *bytes, size_t len)
{
    uint64_t key = 0;
    memcpy(&key, bytes, len);
    return key;
}

static enum token_kind find_reserved(const char *bytes, size_t len)
{
    if (len > RESERVED_LEN_MAX || !char_is(*bytes, CHAR_RESERVED))
        return TOKEN_WORD;
    uint64_t key = word_key(bytes, len);
    for (size_t i = 0; i < RESERVED_COUNT; i++) {
        uint64_t row;
        memcpy(&row, RESERVED[i].text, sizeof(row));
        if (row == key)
            return RESERVED[i].kind;
    }
    return TOKEN_WORD;
}

bool shell_is_reserved(const char *bytes, size_t len)
{
    return len && find_reserved(bytes, len) != TOKEN_WORD;
}

bool shell_is_special(const struct shell_word *name)
{
    const struct shell_part *part = name->parts;
    if (!part || part->next || part->kind != SHELL_TEXT)
        return false;
    bool option = part->text.len == 2 && part->text.bytes[0] == '-' &&
                  (part->text.bytes[1] == 'p' || part->text.bytes[1] == '-'); /* of `time` */
    return option || shell_is_reserved(part->text.bytes, part->text.len);
}

/* --- reading ---------------------------------------------------------------------------------- */

void skip_blanks(struct parser *p)
{
    for (;;) {
        while (char_is(*p->at, CHAR_BLANK))
            p->at++;
        if (p->at[0] != '\\' || p->at[1] != '\n')
            return;
        p->at += 2;
    }
}

void skip_comment(struct parser *p)
{
    if (*p->at != '#')
        return;
    const char *line = memchr(p->at, '\n', (size_t)(p->end - p->at));
    p->at = line ? line : p->end;
}

void end_of_line(struct parser *p)
{
    p->at++;
    if (p->now.pending)
        read_documents(p);
}

static bool at_end(const struct parser *p)
{
    return p->at == p->end;
}

struct operator_row {
    char text[4];
    enum token_kind kind;
};

/* The longest first, for each character that starts one. */
static const struct operator_row OPERATORS[] = {
    {"&&", TOKEN_AND},         {"&>>", TOKEN_ALL_APPEND},  {"&>", TOKEN_ALL},
    {"&", TOKEN_AMPERSAND},    {"||", TOKEN_OR},           {"|&", TOKEN_PIPE_BOTH},
    {"|", TOKEN_PIPE},         {";;&", TOKEN_CLAUSE_TEST}, {";;", TOKEN_CLAUSE_BREAK},
    {";&", TOKEN_CLAUSE_FALL}, {";", TOKEN_SEMICOLON},     {"<<-", TOKEN_DOCUMENT_DASH},
    {"<<<", TOKEN_STRING},     {"<<", TOKEN_DOCUMENT},     {"<&", TOKEN_DUP_IN},
    {"<>", TOKEN_BOTH_WAYS},   {"<", TOKEN_LESS},          {">>", TOKEN_APPEND},
    {">&", TOKEN_DUP_OUT},     {">|", TOKEN_CLOBBER},      {">", TOKEN_GREATER},
    {"(", TOKEN_OPEN},         {")", TOKEN_CLOSE},
};

/* Continuations may stand within an operator. Returns where it ends, or NULL. */
static const char *match_operator(const char *at, const char *text)
{
    for (; *text; text++) {
        if (*at != *text)
            return NULL;
        if (text[1])
            at = behind(at);
        else
            at++;
    }
    return at;
}

static void read_operator(struct parser *p, struct token *token)
{
    p->now.assign_arrays = false;
    for (size_t i = 0; i < sizeof(OPERATORS) / sizeof(*OPERATORS); i++) {
        if (OPERATORS[i].text[0] != *p->at)
            continue;
        const char *to = match_operator(p->at, OPERATORS[i].text);
        if (to) {
            token->kind = OPERATORS[i].kind;
            p->at = to;
            if (token->kind == TOKEN_CLOSE)
                p->now.case_pattern = false;
            else if (token->kind >= TOKEN_CLAUSE_BREAK && token->kind <= TOKEN_CLAUSE_TEST)
                p->now.case_pattern = true;
            return;
        }
    }
    parser_refuse(p, p->at, "unexpected character");
}

/* At "((" behind what allows a command: the expression up to its "))". */
static void read_let(struct parser *p, struct token *token)
{
    const char *from = p->at;
    p->at = behind(p->at) + 1;
    token->parts = scan_late(p, LATE_ARITH, from);
    if (p->at[1] != ')')
        parser_refuse(p, from,
                      "'((' is not closed by '))': write '( (' for a subshell in a subshell");
    p->at += 2;
    token->kind = p->now.last == TOKEN_FOR ? TOKEN_FOR_ARITH : TOKEN_LET;
}

/* NAME} or NAME[SUBSCRIPT]} with a subscript that has nothing to expand: where it ends, or NULL. */
static const char *read_fd_name(struct parser *p, const char *at, struct token *token)
{
    const char *from = at;
    size_t len = 0;
    bool bracket = false;
    for (; char_is(*at, CHAR_NAME) || (*at == '[' && !bracket) || (*at == ']' && bracket);
         at = behind(at), len++)
        bracket |= *at == '[';
    if (*at != '}')
        return NULL;
    char *name = parser_alloc(p, len);
    for (size_t i = 0; i < len; i++, from = behind(from))
        name[i] = *from;
    if (bracket &&
        (name[len - 1] != ']' || name[len - 2] == '[' || memchr(name, ']', len - 1) != NULL))
        return NULL;
    token->fd_name = (struct shell_text){name, (uint32_t)len};
    return behind(at);
}

/* A number right before a redirection, or {name}. */
static bool read_fd(struct parser *p, struct token *token)
{
    const char *at = p->at;
    uint64_t number = 0;
    if (char_is(*at, CHAR_DIGIT)) {
        for (; char_is(*at, CHAR_DIGIT); at = behind(at)) {
            number = number * 10 + (uint64_t)(*at - '0');
            if (number > INT32_MAX)
                return false;
        }
        if ((*at != '<' && *at != '>') || behind(at)[0] == '(')
            return false;
        token->fd = (uint32_t)number;
    } else if (*at == '{' && char_is(*behind(at), CHAR_NAME_START)) {
        at = read_fd_name(p, behind(at), token);
        if (!at || (*at != '<' && *at != '>') || behind(at)[0] == '(')
            return false;
    } else {
        return false;
    }
    token->kind = TOKEN_FD;
    p->at = at;
    return true;
}

/* The builtins behind whose name NAME=( is an array too. */
static bool takes_arrays(const struct shell_word *word)
{
    static const char *const NAMES[] = {"alias", "declare", "eval",     "export",
                                        "let",   "local",   "readonly", "typeset"};
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(*NAMES); i++) {
        if (word_is_text(word, NAMES[i]))
            return true;
    }
    return false;
}

/* `in` was read: for `case`, or what bash takes for one, patterns follow. */
static void begin_in(struct reader *r, bool patterns)
{
    r->expecting_in -= r->expecting_in > 0;
    if (patterns) {
        r->case_pattern = true;
        r->esacs_needed++;
    }
}

/* Behind these a few words are special that are not reserved there. */
static bool may_be_special(const struct reader *r)
{
    switch (r->last) {
    case TOKEN_WORD:
        return r->expecting_in;
    case TOKEN_IN:
    case TOKEN_FOR_ARITH:
        return true;
    default:
        return false;
    }
}

/*
 * What a word without any quote or expansion is, by where it stands. The counters are bash's, with
 * their oddities: `for x; {` leaves one `in` expected, and the next `in` behind a word is reserved.
 */
static enum token_kind classify(struct parser *p, const struct shell_part *part)
{
    struct reader *r = &p->now;
    const char *bytes = part->text.bytes;
    size_t len = part->text.len;
    bool acceptable = allows_reserved(r);
    if (!acceptable && !may_be_special(r))
        return TOKEN_WORD;
    enum token_kind kind = find_reserved(bytes, len);

    bool named = r->last == TOKEN_WORD && (r->before == TOKEN_FOR || r->before == TOKEN_SELECT);
    if (kind == TOKEN_IN && (named || (r->last == TOKEN_WORD && r->before == TOKEN_CASE))) {
        begin_in(r, r->before == TOKEN_CASE);
        return TOKEN_IN;
    }
    if (kind == TOKEN_IN && r->expecting_in &&
        (r->last == TOKEN_WORD || r->last == TOKEN_NEWLINE)) {
        begin_in(r, r->case_statement);
        return TOKEN_IN;
    }
    if (kind == TOKEN_DO &&
        (named || (r->expecting_in && (r->last == TOKEN_NEWLINE || r->last == TOKEN_SEMICOLON)))) {
        r->expecting_in -= r->expecting_in > 0;
        return TOKEN_DO;
    }
    if (kind == TOKEN_ESAC && r->last == TOKEN_IN && r->esacs_needed) {
        r->esacs_needed--;
        r->case_pattern = false;
        return TOKEN_ESAC;
    }
    if (kind == TOKEN_BRACE_END && p->braces && acceptable) {
        p->braces--;
        return TOKEN_BRACE_END;
    }
    if (r->last == TOKEN_FOR_ARITH && (kind == TOKEN_DO || kind == TOKEN_BRACE)) {
        p->braces += kind == TOKEN_BRACE;
        return kind;
    }
    if (r->last == TOKEN_TIME && len == 2 && !memcmp(bytes, "-p", 2))
        return TOKEN_TIME_POSIX;
    if ((r->last == TOKEN_TIME || r->last == TOKEN_TIME_POSIX) && len == 2 &&
        !memcmp(bytes, "--", 2))
        return TOKEN_TIME_END;

    if (kind == TOKEN_WORD || !acceptable)
        return TOKEN_WORD;
    if (r->case_pattern && (kind != TOKEN_ESAC || r->last == TOKEN_PIPE || r->last == TOKEN_OPEN))
        return TOKEN_WORD;
    if (kind == TOKEN_TIME && !allows_time(r))
        return TOKEN_WORD;
    if (kind == TOKEN_ESAC) {
        r->case_pattern = r->case_statement = false;
        r->esacs_needed -= r->esacs_needed > 0;
    }
    r->case_statement |= kind == TOKEN_CASE;
    p->braces += kind == TOKEN_BRACE;
    return kind;
}

static void read_word(struct parser *p, struct token *token)
{
    struct reader *r = &p->now;
    bool command = is_command_position(r);
    if ((command || r->more_assignments) && !r->case_pattern && !is_redirection(r->last) &&
        scan_assignment(p, &token->assignment)) {
        const struct shell_part *value = token->assignment->value.parts;
        if (!command && (token->assignment->has_subscript || (value && value->kind == SHELL_ARRAY)))
            parser_refuse(p, token->from, "only a plain assignment behind a redirection");
        token->kind = TOKEN_ASSIGNMENT;
        return;
    }
    token->word = scan_word(p, WORD_PLAIN);
    token->kind = TOKEN_WORD;
    if ((*p->at == '<' || *p->at == '>') && token->from[0] == '{' && p->at[-1] == '}' &&
        memchr(token->from, '[', (size_t)(p->at - token->from)))
        parser_refuse(p, token->from, "only a plain subscript may name a descriptor's variable");
    const struct shell_part *part = token->word->parts;
    if (part && !part->next && part->kind == SHELL_TEXT)
        token->kind = classify(p, part);
    if (token->kind == TOKEN_WORD && command)
        r->assign_arrays |= takes_arrays(token->word);
    if (token->kind == TOKEN_WORD &&
        (r->last == TOKEN_CASE || r->last == TOKEN_SELECT || r->last == TOKEN_FOR))
        r->expecting_in++;
}

static bool is_duplication(enum token_kind kind)
{
    return kind == TOKEN_DUP_IN || kind == TOKEN_DUP_OUT;
}

void read_token(struct parser *p)
{
    struct reader *r = &p->now;
    struct token *token = &r->token;
    skip_blanks(p);
    skip_comment(p);
    *token = (struct token){.from = p->at};
    char c = *p->at;
    if (at_end(p)) {
        token->kind = TOKEN_END;
    } else if (c == '\n') {
        token->kind = TOKEN_NEWLINE;
        r->assign_arrays = false;
        token->to = p->at + 1;
        end_of_line(p);
    } else if (c == '-' && is_duplication(r->last)) {
        token->kind = TOKEN_DASH;
        p->at++;
    } else if (c == '(' && behind(p->at)[0] == '(' &&
               (r->last == TOKEN_FOR || allows_reserved(r))) {
        read_let(p, token);
    } else if (char_is(c, CHAR_BREAK) && !((c == '<' || c == '>') && behind(p->at)[0] == '(')) {
        read_operator(p, token);
    } else if ((char_is(c, CHAR_DIGIT) && is_duplication(r->last)) || !read_fd(p, token)) {
        read_word(p, token);
    }
    if (!token->to)
        token->to = p->at;
    r->before = r->last;
    r->last = token->kind;
    r->has_token = true;
}

void skip_newlines(struct parser *p)
{
    while (peek_kind(p) == TOKEN_NEWLINE)
        p->now.has_token = false;
}

const char *shown(char out[static SHOWN_MAX], const char *from, const char *to)
{
    enum { ROOM = SHOWN_MAX - 4 };
    size_t len = 0;
    for (; from < to && len < ROOM; from++) {
        bool plain = *from >= ' ' && *from <= '~';
        out[len++] = '?';
        if (plain)
            out[len - 1] = *from;
    }
    for (int i = 0; from < to && i < 3; i++)
        out[len++] = '.';
    out[len] = 0;
    return out;
}

_Noreturn void unexpected(struct parser *p, const char *expected)
{
    const struct token *token = peek(p);
    char text[SHOWN_MAX];
    const char *hint = strstr(p->source, "\r\n") ? " (the lines end in CR LF)" : "";
    if (token->kind == TOKEN_END)
        parser_refuse(p, token->from, "unexpected end: expected %s%s", expected, hint);
    if (token->kind == TOKEN_NEWLINE)
        parser_refuse(p, token->from, "unexpected end of the line: expected %s%s", expected, hint);
    parser_refuse(p, token->from, "unexpected '%s': expected %s%s",
                  shown(text, token->from, token->to), expected, hint);
}
