/* Compound commands, functions and coprocesses; see parser.h. */
#include "shell/parser.h"

bool is_compound(enum token_kind kind)
{
    switch (kind) {
    case TOKEN_FOR:
    case TOKEN_CASE:
    case TOKEN_WHILE:
    case TOKEN_UNTIL:
    case TOKEN_SELECT:
    case TOKEN_IF:
    case TOKEN_OPEN:
    case TOKEN_BRACE:
    case TOKEN_LET:
    case TOKEN_TEST:
        return true;
    default:
        return false;
    }
}

static void expect(struct parser *p, enum token_kind kind, const char *name)
{
    if (peek_kind(p) != kind)
        unexpected(p, name);
    take(p);
}

/* A compound command without the redirections behind it. */
typedef void parse_body(struct parser *p, struct shell_command *command);

static void parse_subshell(struct parser *p, struct shell_command *command)
{
    command->kind = SHELL_SUBSHELL;
    command->body = parse_list(p, LIST_COMPOUND);
    expect(p, TOKEN_CLOSE, "')'");
}

static void parse_group(struct parser *p, struct shell_command *command)
{
    command->kind = SHELL_GROUP;
    command->body = parse_list(p, LIST_COMPOUND);
    expect(p, TOKEN_BRACE_END, "'}'");
}

/* One `elif` is a list with one `if` in it. */
static struct shell_list *wrap_elif(struct parser *p, struct shell_command *command,
                                    const char *from)
{
    struct shell_list *list = parser_alloc(p, sizeof(*list));
    list->items = parser_alloc(p, sizeof(*list->items));
    list->items->pipelines = parser_alloc(p, sizeof(*list->items->pipelines));
    list->items->pipelines->commands = command;
    list->span = list->items->pipelines->span = command->span =
        parser_span(p, from, p->now.taken_to);
    return list;
}

/* Each `elif` reaches up to the `fi`. */
static void end_elifs(struct shell_command *command, unsigned count, uint32_t to)
{
    for (; count; count--) {
        struct shell_list *list = command->branch.otherwise;
        command = list->items->pipelines->commands;
        list->span.to = list->items->pipelines->span.to = command->span.to = to;
    }
}

static void parse_if(struct parser *p, struct shell_command *command)
{
    struct shell_command *outermost = command;
    unsigned elifs = 0;
    command->kind = SHELL_IF;
    for (;; elifs++) {
        command->branch.condition = parse_list(p, LIST_COMPOUND);
        expect(p, TOKEN_THEN, "'then'");
        command->branch.then = parse_list(p, LIST_COMPOUND);
        if (peek_kind(p) != TOKEN_ELIF)
            break;
        const char *from = take(p)->from;
        struct shell_command *inner = parser_alloc(p, sizeof(*inner));
        inner->kind = SHELL_IF;
        command->branch.otherwise = wrap_elif(p, inner, from);
        command = inner;
        parser_enter(p, from); /* chains of elif are nested in the tree */
    }
    if (peek_kind(p) == TOKEN_ELSE) {
        take(p);
        command->branch.otherwise = parse_list(p, LIST_COMPOUND);
    }
    end_elifs(outermost, elifs, parser_place(p, p->now.taken_to));
    expect(p, TOKEN_FI, "'fi'");
}

static struct shell_list *parse_do(struct parser *p)
{
    bool brace = peek_kind(p) == TOKEN_BRACE;
    if (!brace && peek_kind(p) != TOKEN_DO)
        unexpected(p, "'do'");
    take(p);
    struct shell_list *body = parse_list(p, LIST_COMPOUND);
    if (brace)
        expect(p, TOKEN_BRACE_END, "'}'");
    else
        expect(p, TOKEN_DONE, "'done'");
    return body;
}

static void parse_while(struct parser *p, struct shell_command *command)
{
    command->loop.condition = parse_list(p, LIST_COMPOUND);
    if (peek_kind(p) != TOKEN_DO)
        unexpected(p, "'do'");
    command->loop.body = parse_do(p);
}

/* What ends the words of `for x in …` or the head of `for ((…))`. */
static bool skip_terminator(struct parser *p)
{
    enum token_kind kind = peek_kind(p);
    if (kind != TOKEN_SEMICOLON && kind != TOKEN_NEWLINE)
        return false;
    take(p);
    skip_newlines(p);
    return true;
}

/* "$@", which is what a loop without `in` goes over. */
static struct shell_word *all_arguments(struct parser *p, const char *at)
{
    struct shell_word *word = parser_alloc(p, sizeof(*word));
    word->parts = new_part(p, SHELL_DOUBLE, at);
    word->parts->parts = new_part(p, SHELL_PARAM, at);
    struct shell_param *param = word->parts->parts->param = parser_alloc(p, sizeof(*param));
    param->name = (struct shell_text){"@", 1};
    word->span = word->parts->span = word->parts->parts->span = parser_span(p, at, at);
    return word;
}

static void parse_each(struct parser *p, struct shell_command *command)
{
    if (peek_kind(p) != TOKEN_WORD)
        unexpected(p, "a name");
    command->each.name = take(p)->word;
    const char *behind_name = p->now.taken_to;
    if (peek_kind(p) == TOKEN_SEMICOLON) {
        command->each.words = all_arguments(p, behind_name);
        skip_terminator(p);
        command->each.body = parse_do(p);
        return;
    }
    bool newline = peek_kind(p) == TOKEN_NEWLINE;
    skip_newlines(p);
    if (peek_kind(p) == TOKEN_IN) {
        take(p);
        struct shell_word **tail = &command->each.words;
        for (; peek_kind(p) == TOKEN_WORD; tail = &(*tail)->next)
            *tail = take(p)->word;
        if (!skip_terminator(p))
            unexpected(p, "a word, ';' or a newline");
    } else if (!newline && peek_kind(p) != TOKEN_DO) {
        unexpected(p, "'in' or 'do'");
    } else {
        command->each.words = all_arguments(p, behind_name);
    }
    command->each.body = parse_do(p);
}

/* Splits the head of `for ((init; test; step))` at its semicolons. */
static void split_head(struct parser *p, struct shell_part *parts, struct shell_part **thirds,
                       const char *from)
{
    struct parts each[3] = {0};
    unsigned which = 0;
    char quote = 0;
    for (struct shell_part *part = parts, *next; part; part = next) {
        next = part->next;
        part->next = NULL;
        if (part->kind != SHELL_TEXT) {
            parts_add(&each[which], part);
            continue;
        }
        const char *start = part->text.bytes, *end = start + part->text.len;
        for (const char *at = start; at <= end; at++) {
            if (at < end && (*at == '"' || *at == '\'')) {
                if (!quote)
                    quote = *at;
                else if (quote == *at)
                    quote = 0;
                continue;
            }
            if (at < end && *at == '\\') {
                at++;
                continue;
            }
            if (at < end && (*at != ';' || quote))
                continue;
            /* bash drops blanks at the start of each, and an empty one is none. */
            if (!each[which].first) {
                while (start < at && char_is(*start, CHAR_BLANK))
                    start++;
            }
            if (at > start) {
                struct shell_part *piece = parser_alloc(p, sizeof(*piece));
                *piece = *part;
                piece->text = (struct shell_text){start, (uint32_t)(at - start)};
                parts_add(&each[which], piece);
            }
            start = at + 1;
            if (at < end && ++which > 2)
                parser_refuse(p, from, "more than two ';' in 'for (('");
        }
    }
    if (which != 2)
        parser_refuse(p, from, "'for ((' needs two ';'");
    for (int i = 0; i < 3; i++) {
        if (!each[i].first)
            parts_add_text(p, &each[i], SHELL_TEXT, "1", 1, from, from);
        thirds[i] = each[i].first;
    }
}

static void parse_arith_for(struct parser *p, struct shell_command *command)
{
    struct token head = *take(p);
    struct shell_part *thirds[3];
    split_head(p, head.parts, thirds, head.from);
    command->kind = SHELL_FOR_ARITH;
    command->arith_loop.init = thirds[0];
    command->arith_loop.test = thirds[1];
    command->arith_loop.step = thirds[2];
    skip_terminator(p);
    command->arith_loop.body = parse_do(p);
}

static void parse_for(struct parser *p, struct shell_command *command)
{
    if (peek_kind(p) == TOKEN_FOR_ARITH) {
        parse_arith_for(p, command);
        return;
    }
    parse_each(p, command);
}

static struct shell_clause *parse_clause(struct parser *p)
{
    struct shell_clause *clause = parser_alloc(p, sizeof(*clause));
    const char *from = peek(p)->from;
    if (peek_kind(p) == TOKEN_OPEN)
        take(p);
    /* bash writes it anew without the parenthesis in front. */
    if (p->now.in_command && peek_kind(p) == TOKEN_WORD && word_is_text(peek(p)->word, "esac"))
        parser_refuse(p, peek(p)->from, "'esac' as a pattern within a substitution");
    if (p->braces && peek_kind(p) == TOKEN_WORD && word_is_text(peek(p)->word, "}"))
        parser_refuse(p, peek(p)->from, "'}' as a pattern within braces: quote it");
    struct shell_word **tail = &clause->patterns;
    for (;;) {
        if (peek_kind(p) != TOKEN_WORD)
            unexpected(p, "a pattern");
        *tail = take(p)->word;
        tail = &(*tail)->next;
        if (peek_kind(p) != TOKEN_PIPE)
            break;
        take(p);
    }
    if (peek_kind(p) != TOKEN_CLOSE)
        unexpected(p, "')' or '|'");
    take(p);
    clause->body = parse_list(p, LIST_MAY_BE_EMPTY);
    clause->span = parser_span(p, from, p->now.taken_to);
    return clause;
}

static void parse_case(struct parser *p, struct shell_command *command)
{
    command->kind = SHELL_CASE;
    p->cases++;
    if (peek_kind(p) != TOKEN_WORD)
        unexpected(p, "a word");
    command->choice.subject = take(p)->word;
    skip_newlines(p);
    expect(p, TOKEN_IN, "'in'");

    struct shell_clause **tail = &command->choice.clauses;
    for (;;) {
        skip_newlines(p);
        if (peek_kind(p) == TOKEN_ESAC)
            break;
        struct shell_clause *clause = *tail = parse_clause(p);
        tail = &clause->next;
        enum token_kind kind = peek_kind(p);
        if (kind == TOKEN_ESAC)
            break;
        if (kind != TOKEN_CLAUSE_BREAK && kind != TOKEN_CLAUSE_FALL && kind != TOKEN_CLAUSE_TEST)
            unexpected(p, "';;' or 'esac'");
        clause->end = kind == TOKEN_CLAUSE_FALL   ? SHELL_CLAUSE_FALL
                      : kind == TOKEN_CLAUSE_TEST ? SHELL_CLAUSE_TEST
                                                  : SHELL_CLAUSE_BREAK;
        take(p);
    }
    take(p);
}

struct shell_command *parse_compound(struct parser *p)
{
    struct shell_command *command = parser_alloc(p, sizeof(*command));
    struct token first = *take(p);
    unsigned depth = p->depth;
    switch (first.kind) {
    case TOKEN_OPEN:
        parse_subshell(p, command);
        break;
    case TOKEN_BRACE:
        parse_group(p, command);
        break;
    case TOKEN_IF:
        parse_if(p, command);
        break;
    case TOKEN_WHILE:
    case TOKEN_UNTIL:
        command->kind = first.kind == TOKEN_WHILE ? SHELL_WHILE : SHELL_UNTIL;
        parse_while(p, command);
        break;
    case TOKEN_FOR:
        command->kind = SHELL_FOR;
        parse_for(p, command);
        break;
    case TOKEN_SELECT:
        command->kind = SHELL_SELECT;
        parse_each(p, command);
        break;
    case TOKEN_CASE:
        parse_case(p, command);
        break;
    case TOKEN_LET:
        command->kind = SHELL_LET;
        command->expression = first.parts;
        break;
    default:
        command->kind = SHELL_TEST;
        command->test = parse_test(p);
    }
    p->depth = depth;
    command->redirects = parse_redirects(p);
    command->span = parser_span(p, first.from, p->now.taken_to);
    return command;
}

static struct shell_command *parse_function_body(struct parser *p)
{
    if (!is_compound(peek_kind(p)))
        unexpected(p, "a function's body");
    return parse_compound(p);
}

/* At the ( behind a name, or at `function`. */
struct shell_command *parse_function(struct parser *p, struct shell_word *name, const char *from)
{
    struct shell_command *command = parser_alloc(p, sizeof(*command));
    command->kind = SHELL_FUNCTION;
    bool keyword = !name;
    if (keyword) {
        take(p);
        if (peek_kind(p) != TOKEN_WORD)
            unexpected(p, "a function's name");
        name = take(p)->word;
    }
    command->function.name = name;
    /* `function f (…)` without () has a subshell as its body. */
    if (!keyword || peek_kind(p) == TOKEN_OPEN) {
        struct token open = *take(p);
        if (peek_kind(p) == TOKEN_CLOSE) {
            take(p);
        } else if (keyword) {
            struct shell_command *body = command->function.body = parser_alloc(p, sizeof(*body));
            parse_subshell(p, body);
            body->redirects = parse_redirects(p);
            body->span = parser_span(p, open.from, p->now.taken_to);
            command->span = parser_span(p, from, p->now.taken_to);
            return command;
        } else {
            unexpected(p, "')'");
        }
    }
    skip_newlines(p);
    command->function.body = parse_function_body(p);
    command->span = parser_span(p, from, p->now.taken_to);
    return command;
}

/* The name of a coprocess that was given none. */
static struct shell_word *default_name(struct parser *p, const char *at)
{
    struct shell_word *word = parser_alloc(p, sizeof(*word));
    struct parts parts = {0};
    parts_add_text(p, &parts, SHELL_TEXT, "COPROC", 6, at, at);
    word->parts = parts.first;
    word->span = parser_span(p, at, at);
    return word;
}

/* A simple command; bash reads what follows its name as if it could still become a compound one. */
static struct shell_command *parse_simple_coproc(struct parser *p, struct shell_word *name,
                                                 const char *from)
{
    if (!name && peek_kind(p) != TOKEN_ASSIGNMENT && !is_redirection(peek_kind(p)))
        unexpected(p, "a command");
    /* bash writes $(coproc x) anew as $(coproc COPROC x), which runs COPROC. */
    if (p->now.in_command)
        parser_refuse(p, from, "a coprocess of a simple command within a substitution");
    struct shell_command *command = parse_simple_from(p, name, from);
    const struct shell_word *second = command->simple.words ? command->simple.words->next : NULL;
    const struct shell_part *part = second ? second->parts : NULL;
    if (part && !part->next && part->kind == SHELL_TEXT &&
        shell_is_reserved(part->text.bytes, part->text.len))
        parser_refuse(p, from, "a reserved word as the first argument of a coprocess");
    /* With redirections behind them, words could be read as assignments that are none. */
    for (; command->redirects && second; second = second->next) {
        part = second->parts;
        if (part && part->kind == SHELL_TEXT && memchr(part->text.bytes, '[', part->text.len))
            parser_refuse(p, from, "a '[' in an argument of a coprocess with redirections");
    }
    return command;
}

struct shell_command *parse_coproc(struct parser *p)
{
    struct shell_command *command = parser_alloc(p, sizeof(*command));
    const char *from = take(p)->from, *start = peek(p)->from;
    command->kind = SHELL_COPROC;
    struct shell_word *word = NULL;
    if (peek_kind(p) == TOKEN_WORD)
        word = take(p)->word;
    /* A name only in front of a compound command. */
    if (is_compound(peek_kind(p))) {
        command->coproc.name = word ? word : default_name(p, start);
        command->coproc.body = parse_compound(p);
    } else {
        command->coproc.body = parse_simple_coproc(p, word, start);
    }
    command->span = parser_span(p, from, p->now.taken_to);
    return command;
}
