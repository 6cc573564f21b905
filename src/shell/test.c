/*
 * [[ ]]: a grammar of its own. Its words are read one by one here, not as tokens of a command:
 * nothing in it is reserved but ]].
 */
#include <string.h>

#include "shell/parser.h"

enum cond_kind {
    COND_WORD,
    COND_AND,
    COND_OR,
    COND_OPEN,
    COND_CLOSE,
    COND_LESS,
    COND_GREATER,
    COND_END
};

struct cond {
    enum cond_kind kind;
    const char *from, *to;
    struct shell_word *word;
};

static void cond_skip_newlines(struct parser *p)
{
    for (;;) {
        skip_blanks(p);
        skip_comment(p);
        if (*p->at != '\n')
            return;
        end_of_line(p);
    }
}

static struct cond read_cond(struct parser *p, enum word_mode mode)
{
    skip_blanks(p);
    struct cond cond = {.from = p->at};
    const char *next = behind(p->at);
    bool regex = mode == WORD_REGEX;
    switch (*p->at) {
    case '\0':
        parser_refuse(p, p->at, "unexpected end: expected ']]'");
    case '\n':
    case '#':
        parser_refuse(p, p->at, "unexpected end of the line in '[['");
    case '&':
        if (regex || *next != '&')
            parser_refuse(p, p->at, "unexpected '&' in '[['");
        cond.kind = COND_AND;
        p->at = next + 1;
        break;
    case '|':
        if (regex)
            goto word;
        if (*next != '|')
            parser_refuse(p, p->at, "unexpected '|' in '[['");
        cond.kind = COND_OR;
        p->at = next + 1;
        break;
    case '(':
        if (regex)
            goto word;
        cond.kind = COND_OPEN;
        p->at++;
        break;
    case ')':
        cond.kind = COND_CLOSE;
        p->at++;
        break;
    case ';':
        parser_refuse(p, p->at, "unexpected ';' in '[['");
    case '<':
    case '>':
        if (*next == '(')
            goto word;
        if (regex || *next == '&' || *next == '|' || *next == '<' || *next == '>')
            parser_refuse(p, p->at, "a redirection in '[['");
        cond.kind = *p->at == '<' ? COND_LESS : COND_GREATER;
        p->at++;
        break;
    default:
    word:
        cond.word = scan_word(p, mode);
        if (!cond.word->parts)
            parser_refuse(p, cond.from, "unexpected character in '[['");
        cond.kind = word_is_text(cond.word, "]]") ? COND_END : COND_WORD;
        /* A number or {name} right before < or > belongs to a redirection. */
        if (cond.kind == COND_WORD && (*p->at == '<' || *p->at == '>') && !regex) {
            bool digits = true;
            for (const char *c = cond.from; c < p->at; c++)
                digits &= char_is(*c, CHAR_DIGIT);
            if (digits || (*cond.from == '{' && p->at[-1] == '}'))
                parser_refuse(p, p->at, "a redirection in '[['");
        }
    }
    cond.to = p->at;
    return cond;
}

static bool is_unary(const struct shell_word *word)
{
    const struct shell_part *part = word->parts;
    return part && !part->next && part->kind == SHELL_TEXT && part->text.len == 2 &&
           part->text.bytes[0] == '-' && strchr("abcdefghknoprstuvwxzGLNORS", part->text.bytes[1]);
}

static bool is_binary(const struct shell_word *word)
{
    static const char *const OPERATORS[] = {"=",   "==",  "!=",  "<",   ">",   "-eq", "-ne", "-lt",
                                            "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "=~"};
    for (size_t i = 0; i < sizeof(OPERATORS) / sizeof(*OPERATORS); i++) {
        if (word_is_text(word, OPERATORS[i]))
            return true;
    }
    return false;
}

static struct shell_test *new_test(struct parser *p, enum shell_test_kind kind)
{
    struct shell_test *test = parser_alloc(p, sizeof(*test));
    test->kind = kind;
    return test;
}

/* Each reads its part and leaves in `cond` what follows it. */
static struct shell_test *read_or(struct parser *p, struct cond *cond);

_Noreturn static void unexpected_cond(struct parser *p, const struct cond *cond,
                                      const char *expected)
{
    char text[SHOWN_MAX];
    parser_refuse(p, cond->from, "unexpected '%s' in '[[': expected %s",
                  shown(text, cond->from, cond->to), expected);
}

static enum word_mode operand_mode(const struct shell_word *op)
{
    if (word_is_text(op, "=~"))
        return WORD_REGEX;
    if (word_is_text(op, "=") || word_is_text(op, "==") || word_is_text(op, "!="))
        return WORD_PATTERN;
    return WORD_PLAIN;
}

/* Behind the first word of an expression. */
static struct shell_test *read_binary(struct parser *p, struct shell_word *left, struct cond *cond)
{
    *cond = read_cond(p, WORD_PLAIN);
    struct shell_test *test = new_test(p, SHELL_TEST_BINARY);
    test->word = left;
    enum word_mode mode = WORD_PLAIN;
    switch (cond->kind) {
    case COND_END:
    case COND_AND:
    case COND_OR:
    case COND_CLOSE:
        test->kind = SHELL_TEST_WORD;
        return test;
    case COND_LESS:
    case COND_GREATER:
        test->op = (struct shell_text){cond->from, 1};
        break;
    case COND_WORD:
        if (!is_binary(cond->word))
            unexpected_cond(p, cond, "an operator");
        test->op = cond->word->parts->text;
        mode = operand_mode(cond->word);
        break;
    default:
        unexpected_cond(p, cond, "an operator");
    }
    *cond = read_cond(p, mode);
    if (cond->kind != COND_WORD)
        unexpected_cond(p, cond, "a word");
    test->other = cond->word;
    cond_skip_newlines(p);
    *cond = read_cond(p, WORD_PLAIN);
    return test;
}

static struct shell_test *read_term(struct parser *p, struct cond *cond)
{
    struct shell_test *test;
    cond_skip_newlines(p);
    *cond = read_cond(p, WORD_PLAIN);
    const char *from = cond->from;
    parser_enter(p, from);
    if (cond->kind == COND_OPEN) {
        test = new_test(p, SHELL_TEST_GROUP);
        test->left = read_or(p, cond);
        if (cond->kind != COND_CLOSE)
            unexpected_cond(p, cond, "')'");
        cond_skip_newlines(p);
        *cond = read_cond(p, WORD_PLAIN);
    } else if (cond->kind == COND_WORD && word_is_text(cond->word, "!")) {
        test = read_term(p, cond);
        test->negated = !test->negated;
    } else if (cond->kind == COND_WORD && is_unary(cond->word)) {
        test = new_test(p, SHELL_TEST_UNARY);
        test->op = cond->word->parts->text;
        *cond = read_cond(p, WORD_PLAIN);
        if (cond->kind != COND_WORD)
            unexpected_cond(p, cond, "a word");
        test->word = cond->word;
        cond_skip_newlines(p);
        *cond = read_cond(p, WORD_PLAIN);
    } else if (cond->kind == COND_WORD) {
        test = read_binary(p, cond->word, cond);
    } else {
        unexpected_cond(p, cond, "an expression");
    }
    /* `!` is not part of the span: two of them leave nothing. */
    if (!test->span.to)
        test->span = parser_span(p, from, cond->from);
    parser_leave(p);
    return test;
}

/* && binds tighter than ||; both nest to the right. */
static struct shell_test *read_and(struct parser *p, struct cond *cond)
{
    struct shell_test *left = read_term(p, cond);
    if (cond->kind != COND_AND)
        return left;
    parser_enter(p, cond->from);
    struct shell_test *test = new_test(p, SHELL_TEST_AND);
    test->left = left;
    test->right = read_and(p, cond);
    test->span = (struct shell_span){left->span.from, test->right->span.to};
    parser_leave(p);
    return test;
}

static struct shell_test *read_or(struct parser *p, struct cond *cond)
{
    struct shell_test *left = read_and(p, cond);
    if (cond->kind != COND_OR)
        return left;
    parser_enter(p, cond->from);
    struct shell_test *test = new_test(p, SHELL_TEST_OR);
    test->left = left;
    test->right = read_or(p, cond);
    test->span = (struct shell_span){left->span.from, test->right->span.to};
    parser_leave(p);
    return test;
}

/* Behind [[ up to and with ]]. */
struct shell_test *parse_test(struct parser *p)
{
    struct cond cond;
    struct shell_test *test = read_or(p, &cond);
    if (cond.kind != COND_END)
        unexpected_cond(p, &cond, "']]'");
    p->now.before = p->now.last;
    p->now.last = TOKEN_TEST_END;
    p->now.taken_to = p->at;
    return test;
}
