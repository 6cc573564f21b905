/* Lists, pipelines, simple commands, and the frame of one reading; see parser.h. */
#include "shell/parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- places and refusals ---------------------------------------------------------------------- */

struct shell_span parser_span(const struct parser *p, const char *from, const char *to)
{
    return (struct shell_span){parser_place(p, from), parser_place(p, to)};
}

static void set_place(struct shell_error *error, const char *source, uint32_t offset)
{
    const char *line = source, *at = source + offset;
    error->line = 1;
    for (const char *next; (next = memchr(line, '\n', (size_t)(at - line))); line = next + 1)
        error->line++;
    error->offset = offset;
    error->column = 1;
    for (const char *c = line; c < at; c++)
        error->column += ((unsigned char)*c & 0xc0) != 0x80;
}

_Noreturn void parser_refuse(struct parser *p, const char *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->error->message, sizeof(p->error->message), format, args);
    va_end(args);
    p->error->code = -EINVAL;
    set_place(p->error, p->source, parser_place(p, at));
    longjmp(p->refused, 1);
}

_Noreturn void parser_out_of_memory(struct parser *p)
{
    snprintf(p->error->message, sizeof(p->error->message), "not enough memory for this text");
    p->error->code = -ENOMEM;
    set_place(p->error, p->source, parser_place(p, p->at));
    longjmp(p->refused, 1);
}

void parser_enter(struct parser *p, const char *at)
{
    if (++p->depth > SHELL_DEPTH_MAX)
        parser_refuse(p, at, "nested more than %d deep", SHELL_DEPTH_MAX);
}

/* --- a text within the text ------------------------------------------------------------------- */

static struct reader fresh_reader(const struct reader *outer)
{
    return (struct reader){.last = TOKEN_START,
                           .in_command = outer->in_command,
                           .within_document = outer->within_document};
}

void parser_push(struct parser *p, struct inner *saved, const char *bytes, size_t len,
                 const uint32_t *map, uint32_t base)
{
    *saved = (struct inner){p->text, p->at, p->end, p->map, p->base, p->braces, p->now};
    p->braces = 0;
    p->text = p->at = bytes;
    p->end = bytes + len;
    p->map = map;
    p->base = base;
    p->now = fresh_reader(&saved->now);
    p->now.pending_tail = &p->now.pending;
}

void parser_pop(struct parser *p, const struct inner *saved)
{
    p->text = saved->text;
    p->at = saved->at;
    p->end = saved->end;
    p->map = saved->map;
    p->base = saved->base;
    p->braces = saved->braces;
    p->now = saved->now;
    /* A copy's own list may have been empty: its tail pointed into the state that was replaced. */
    if (!p->now.pending)
        p->now.pending_tail = &p->now.pending;
}

struct shell_list *parse_substitution(struct parser *p, const char *open)
{
    parser_enter(p, open);
    struct reader outer = p->now;
    p->now = fresh_reader(&outer);
    p->now.pending_tail = &p->now.pending;
    p->now.in_command++;
    p->now.case_statement = outer.case_statement; /* as bash forgets to forget it */

    struct shell_list *list = parse_list(p, LIST_MAY_BE_EMPTY);
    if (peek_kind(p) == TOKEN_END)
        parser_refuse(p, open, "no ')' closes this");
    if (peek_kind(p) != TOKEN_CLOSE)
        unexpected(p, "')'");
    if (p->now.pending)
        parser_refuse(p, p->now.pending->at,
                      "the body of this here-document is not inside the substitution");
    p->at = p->now.token.to;

    p->now = outer;
    if (!p->now.pending)
        p->now.pending_tail = &p->now.pending;
    parser_leave(p);
    return list;
}

/* --- simple commands and redirections --------------------------------------------------------- */

static const struct {
    enum token_kind token;
    enum shell_redirect_kind kind;
    uint8_t fd;
} REDIRECTIONS[] = {
    {TOKEN_LESS, SHELL_REDIRECT_IN, 0},
    {TOKEN_GREATER, SHELL_REDIRECT_OUT, 1},
    {TOKEN_APPEND, SHELL_REDIRECT_APPEND, 1},
    {TOKEN_CLOBBER, SHELL_REDIRECT_CLOBBER, 1},
    {TOKEN_BOTH_WAYS, SHELL_REDIRECT_BOTH_WAYS, 0},
    {TOKEN_DUP_IN, SHELL_REDIRECT_DUP_IN, 0},
    {TOKEN_DUP_OUT, SHELL_REDIRECT_DUP_OUT, 1},
    {TOKEN_ALL, SHELL_REDIRECT_ALL, 1},
    {TOKEN_ALL_APPEND, SHELL_REDIRECT_ALL_APPEND, 1},
    {TOKEN_STRING, SHELL_REDIRECT_STRING, 0},
    {TOKEN_DOCUMENT, SHELL_REDIRECT_DOCUMENT, 0},
    {TOKEN_DOCUMENT_DASH, SHELL_REDIRECT_DOCUMENT, 0},
};

/* >&3- closes 3 behind it; bash takes any - at the end for that one, also of $- or a quoted one. */
static void check_move(struct parser *p, const struct token *target)
{
    const struct shell_part *last = target->word->parts;
    while (last && last->next)
        last = last->next;
    if (target->to[-1] == '-' && (!last || last->kind != SHELL_TEXT))
        parser_refuse(p, target->from, "a '-' that bash would take for the end of '>&N-'");
}

static struct shell_redirect *parse_redirect(struct parser *p)
{
    struct shell_redirect *redirect = parser_alloc(p, sizeof(*redirect));
    struct token first = *take(p), op = first;
    bool has_fd = first.kind == TOKEN_FD;
    if (has_fd)
        op = *take(p);

    size_t row = 0;
    while (REDIRECTIONS[row].token != op.kind)
        row++;
    redirect->kind = REDIRECTIONS[row].kind;
    redirect->fd = REDIRECTIONS[row].fd;
    if (has_fd) {
        redirect->fd = first.fd_name.len ? 0 : first.fd;
        redirect->fd_name = first.fd_name;
    }

    const struct token *target = peek(p);
    const char *to = target->to;
    if (target->kind == TOKEN_DASH) {
        redirect->kind = SHELL_REDIRECT_DUP_OUT;
        struct parts parts = {0};
        parts_add_text(p, &parts, SHELL_TEXT, target->from, 1, target->from, target->to);
        redirect->target = (struct shell_word){.span = parser_span(p, target->from, target->to),
                                               .parts = parts.first};
    } else if (target->kind == TOKEN_WORD) {
        redirect->target = *target->word;
        if (redirect->kind == SHELL_REDIRECT_DUP_IN || redirect->kind == SHELL_REDIRECT_DUP_OUT)
            check_move(p, target);
    } else {
        unexpected(p, redirect->kind == SHELL_REDIRECT_DOCUMENT ? "a here-document's delimiter"
                                                                : "the target of a redirection");
    }
    redirect->span = parser_span(p, first.from, to);
    /* bash writes it anew without the number, which is another one then. */
    if (redirect->kind == SHELL_REDIRECT_BOTH_WAYS && redirect->fd == 1 && p->now.in_command)
        parser_refuse(p, first.from, "'1<>' within a substitution");
    if (redirect->kind == SHELL_REDIRECT_DOCUMENT)
        add_document(p, redirect, op.kind == TOKEN_DOCUMENT_DASH, op.from);
    take(p);
    return redirect;
}

struct shell_redirect *parse_redirects(struct parser *p)
{
    struct shell_redirect *first = NULL, **tail = &first;
    while (is_redirection(peek_kind(p))) {
        *tail = parse_redirect(p);
        tail = &(*tail)->next;
    }
    return first;
}

/* Behind `coproc NAME` an assignment is read as one but is an argument of NAME. */
static struct shell_word *word_of_assignment(struct parser *p,
                                             const struct shell_assignment *assignment,
                                             const char *from)
{
    if (assignment->has_subscript)
        parser_refuse(p, from, "an assignment to a member of an array as an argument of coproc");
    struct shell_word *word = parser_alloc(p, sizeof(*word));
    struct parts parts = {0};
    const char *equals = assignment->append ? "+=" : "=";
    parts_add_text(p, &parts, SHELL_TEXT, assignment->name.bytes, assignment->name.len, from, from);
    parts_add_text(p, &parts, SHELL_TEXT, equals, strlen(equals), from, from);
    for (struct shell_part *part = assignment->value.parts, *next; part; part = next) {
        next = part->next;
        part->next = NULL;
        if (part->kind == SHELL_TEXT && parts.last == parts.first)
            parts_add_text(p, &parts, SHELL_TEXT, part->text.bytes, part->text.len, from, from);
        else
            parts_add(&parts, part);
    }
    word->span = assignment->span;
    const struct shell_part *second = parts.first->next;
    parts.first->span.from = assignment->span.from;
    parts.first->span.to = second ? second->span.from : assignment->span.to;
    word->parts = parts.first;
    return word;
}

/* bash writes redirections anew behind the words: what was no reserved word by them becomes one. */
static void check_special(struct parser *p, const struct shell_command *command, const char *from)
{
    if (p->now.in_command && command->kind == SHELL_SIMPLE && command->simple.words &&
        shell_is_special(command->simple.words))
        parser_refuse(p, from, "a redirection before a reserved word within a substitution");
}

/* A simple command, of which the first word may have been taken already. */
struct shell_command *parse_simple_from(struct parser *p, struct shell_word *first,
                                        const char *from)
{
    struct shell_command *command = parser_alloc(p, sizeof(*command));
    command->kind = SHELL_SIMPLE;
    struct shell_word **words = &command->simple.words;
    struct shell_assignment **assignments = &command->simple.assignments;
    struct shell_redirect **redirects = &command->redirects;
    if (first) {
        *words = first;
        words = &first->next;
    }

    for (;;) {
        const struct token *token = peek(p);
        if (token->kind == TOKEN_WORD && token->word) {
            *words = token->word;
            words = &token->word->next;
            p->now.leading_redirects = p->now.more_assignments = false;
            take(p);
        } else if (token->kind == TOKEN_ASSIGNMENT && command->simple.words) {
            struct shell_word *word = word_of_assignment(p, token->assignment, token->from);
            *words = word;
            words = &word->next;
            take(p);
        } else if (token->kind == TOKEN_ASSIGNMENT) {
            *assignments = token->assignment;
            assignments = &token->assignment->next;
            p->now.leading_redirects = false;
            take(p);
        } else if (is_redirection(token->kind)) {
            *redirects = parse_redirect(p);
            redirects = &(*redirects)->next;
            /* What follows may still be an assignment or the command's name. */
            if (!command->simple.words) {
                p->now.leading_redirects = !command->simple.assignments;
                p->now.more_assignments = command->simple.assignments;
            }
        } else {
            break;
        }
    }
    p->now.leading_redirects = p->now.more_assignments = false;
    if (command->redirects)
        check_special(p, command, from);
    command->span = parser_span(p, from, p->now.taken_to);
    return command;
}

static struct shell_command *parse_command(struct parser *p)
{
    const struct token *token = peek(p);
    const char *from = token->from;
    struct shell_command *command;
    parser_enter(p, from);
    switch (token->kind) {
    case TOKEN_FUNCTION:
        command = parse_function(p, NULL, from);
        break;
    case TOKEN_COPROC:
        command = parse_coproc(p);
        break;
    case TOKEN_WORD: {
        struct shell_word *word = token->word;
        take(p);
        if (peek_kind(p) == TOKEN_OPEN)
            command = parse_function(p, word, from);
        else
            command = parse_simple_from(p, word, from);
        break;
    }
    default:
        if (is_compound(token->kind))
            command = parse_compound(p);
        else if (token->kind == TOKEN_ASSIGNMENT || is_redirection(token->kind))
            command = parse_simple_from(p, NULL, from);
        else
            unexpected(p, "a command");
    }
    parser_leave(p);
    return command;
}

/* --- pipelines and lists ---------------------------------------------------------------------- */

/* `time` and `!` before a pipeline, in any order and number; true when there was one. */
static bool parse_prefixes(struct parser *p, struct shell_pipeline *pipeline)
{
    bool any = false;
    for (;; any = true) {
        switch (peek_kind(p)) {
        case TOKEN_BANG:
            take(p);
            pipeline->negated = !pipeline->negated;
            break;
        case TOKEN_TIME:
            take(p);
            if (pipeline->timing == SHELL_NOT_TIMED)
                pipeline->timing = SHELL_TIMED;
            break;
        case TOKEN_TIME_POSIX:
        case TOKEN_TIME_END:
            take(p);
            pipeline->timing = SHELL_TIMED_POSIX;
            break;
        default:
            return any;
        }
    }
}

/*
 * bash's first look at $(time …) takes `time` for a command's name, the second for what it is: only
 * what reads the same both times.
 */
static bool reads_as_arguments(const struct shell_command *command)
{
    if (command->kind != SHELL_SIMPLE)
        return false;
    for (const struct shell_assignment *each = command->simple.assignments; each;
         each = each->next) {
        if (each->has_subscript || (each->value.parts && each->value.parts->kind == SHELL_ARRAY))
            return false;
    }
    for (const struct shell_word *word = command->simple.words; word; word = word->next) {
        for (const struct shell_part *part = word->parts; part; part = part->next) {
            if (part->kind == SHELL_ARRAY)
                return false;
        }
    }
    return true;
}

/* a |& b is a 2>&1 | b. */
static void redirect_errors(struct parser *p, struct shell_command *command)
{
    const struct token *token = peek(p);
    if (command->kind == SHELL_FUNCTION || command->kind == SHELL_COPROC)
        parser_refuse(p, token->from, "'|&' behind a function or a coprocess");
    check_special(p, command, token->from);
    struct shell_redirect **tail = &command->redirects;
    while (*tail)
        tail = &(*tail)->next;
    struct shell_redirect *redirect = *tail = parser_alloc(p, sizeof(*redirect));
    struct parts parts = {0};
    parts_add_text(p, &parts, SHELL_TEXT, "1", 1, token->from, token->to);
    *redirect = (struct shell_redirect){.kind = SHELL_REDIRECT_DUP_OUT, .fd = 2};
    redirect->span = redirect->target.span = parts.first->span =
        (struct shell_span){command->span.to, command->span.to};
    redirect->target.parts = parts.first;
}

/*
 * bash keeps a substitution by writing it anew, and it misplaces the bodies of here-documents then
 * unless little follows them on their line: separators are lost, commands become part of a body.
 */
_Noreturn static void refuse_behind_document(struct parser *p)
{
    parser_refuse(p, peek(p)->from,
                  "behind a here-document in a substitution commands need lines of their own");
}

static bool is_behind_document(const struct parser *p)
{
    return p->now.in_command && p->now.pending;
}

static struct shell_pipeline *parse_pipeline(struct parser *p)
{
    struct shell_pipeline *pipeline = parser_alloc(p, sizeof(*pipeline));
    const char *from = peek(p)->from;
    bool first = p->now.in_command && !p->now.had_command, starts_substitution = false;
    p->now.had_command = true;
    if (parse_prefixes(p, pipeline)) {
        enum token_kind kind = peek_kind(p);
        starts_substitution = first && pipeline->timing != SHELL_NOT_TIMED;
        if (kind == TOKEN_NEWLINE || kind == TOKEN_SEMICOLON || kind == TOKEN_END) {
            /* bash writes it anew without what ends it, and then cannot read it. */
            if (p->now.in_command)
                parser_refuse(p, from, "'time' or '!' alone within a substitution");
            pipeline->commands = parser_alloc(p, sizeof(*pipeline->commands));
            pipeline->commands->span = pipeline->span = parser_span(p, from, p->now.taken_to);
            return pipeline;
        }
    }

    struct shell_command **tail = &pipeline->commands;
    for (;;) {
        *tail = parse_command(p);
        enum token_kind kind = peek_kind(p);
        if (kind != TOKEN_PIPE && kind != TOKEN_PIPE_BOTH)
            break;
        if (is_behind_document(p) && (*tail)->kind != SHELL_SIMPLE)
            refuse_behind_document(p);
        if (kind == TOKEN_PIPE_BOTH)
            redirect_errors(p, *tail);
        tail = &(*tail)->next;
        take(p);
        skip_newlines(p);
    }
    if (starts_substitution && !reads_as_arguments(pipeline->commands))
        parser_refuse(p, from,
                      "only a simple command may follow 'time' at the start of a "
                      "substitution");
    pipeline->span = parser_span(p, from, p->now.taken_to);
    return pipeline;
}

static struct shell_item *parse_item(struct parser *p)
{
    struct shell_item *item = parser_alloc(p, sizeof(*item));
    struct shell_pipeline **tail = &item->pipelines;
    for (;;) {
        struct shell_pipeline *pipeline = *tail = parse_pipeline(p);
        enum token_kind kind = peek_kind(p);
        if (kind != TOKEN_AND && kind != TOKEN_OR)
            return item;
        bool first_and_simple = tail == &item->pipelines && !pipeline->commands->next &&
                                pipeline->commands->kind == SHELL_SIMPLE;
        if (is_behind_document(p) && !first_and_simple)
            refuse_behind_document(p);
        pipeline->or_next = kind == TOKEN_OR;
        tail = &pipeline->next;
        take(p);
        skip_newlines(p);
    }
}

static bool starts_command(enum token_kind kind)
{
    switch (kind) {
    case TOKEN_WORD:
    case TOKEN_ASSIGNMENT:
    case TOKEN_FUNCTION:
    case TOKEN_COPROC:
    case TOKEN_TIME:
    case TOKEN_BANG:
        return true;
    default:
        return is_redirection(kind) || is_compound(kind);
    }
}

static void parse_item_end(struct parser *p, struct shell_item *item)
{
    switch (peek_kind(p)) {
    case TOKEN_SEMICOLON:
        item->end = SHELL_END_SEMICOLON;
        break;
    case TOKEN_AMPERSAND:
        item->end = SHELL_END_BACKGROUND;
        if (is_behind_document(p))
            refuse_behind_document(p);
        break;
    case TOKEN_NEWLINE:
        item->end = SHELL_END_NEWLINE;
        break;
    default:
        if (is_behind_document(p) && peek_kind(p) != TOKEN_END && peek_kind(p) != TOKEN_CLOSE)
            refuse_behind_document(p);
        if (is_behind_document(p))
            parser_refuse(p, p->now.pending->at,
                          "the body of this here-document is not inside the substitution");
        return;
    }
    take(p);
    item->line_ends = item->end == SHELL_END_NEWLINE;
    if (is_behind_document(p) && peek_kind(p) != TOKEN_NEWLINE)
        refuse_behind_document(p);
}

/* When bash writes a substitution anew it loses a ; behind a here-document: `a; b` becomes `a b`.
 */
static void check_behind_document(struct parser *p, const struct shell_item *item)
{
    const struct reader *r = &p->now;
    if (!r->in_command || !starts_command(peek_kind(p)))
        return;
    if (r->had_document && item->end == SHELL_END_SEMICOLON)
        refuse_behind_document(p);
}

struct shell_list *parse_list(struct parser *p, enum list_kind kind)
{
    skip_newlines(p);
    const char *from = peek(p)->from;
    if (!starts_command(peek_kind(p))) {
        if (kind == LIST_MAY_BE_EMPTY)
            return NULL;
        unexpected(p, "a command");
    }
    struct shell_list *list = parser_alloc(p, sizeof(*list));
    struct shell_item **tail = &list->items;
    do {
        struct shell_item *item = *tail = parse_item(p);
        tail = &item->next;
        parse_item_end(p, item);
        if (item->end == SHELL_END_NONE)
            break;
        if (peek_kind(p) == TOKEN_NEWLINE)
            item->line_ends = true;
        skip_newlines(p);
        check_behind_document(p, item);
    } while (starts_command(peek_kind(p)));
    list->span = parser_span(p, from, p->now.taken_to);
    return list;
}

/* As bash reads a script: line after line, each read whole before it runs. */
struct shell_list *parse_script(struct parser *p)
{
    const char *from = p->at;
    struct shell_list *list = parser_alloc(p, sizeof(*list));
    struct shell_item **tail = &list->items;
    skip_newlines(p);
    while (peek_kind(p) != TOKEN_END) {
        struct shell_item *item = *tail = parse_item(p);
        tail = &item->next;
        parse_item_end(p, item);
        if (!item->line_ends && item->end == SHELL_END_SEMICOLON && peek_kind(p) != TOKEN_NEWLINE)
            check_behind_document(p, item);
        enum token_kind next = item->end == SHELL_END_NEWLINE ? TOKEN_NEWLINE : peek_kind(p);
        if (next == TOKEN_NEWLINE || next == TOKEN_END) {
            item->line_ends = next == TOKEN_NEWLINE;
            skip_newlines(p);
        } else if (item->end == SHELL_END_NONE) {
            unexpected(p, "';' or the end of the line");
        }
    }
    if (p->now.pending)
        parser_refuse(p, p->now.pending->at, "this here-document has no body");
    list->span = parser_span(p, from, p->now.taken_to ? p->now.taken_to : from);
    return list;
}

/* --- a whole text ----------------------------------------------------------------------------- */

/* Bytes that bash uses for itself, or cannot be given at all, wherever they stand. */
static void refuse_bytes(struct parser *p, size_t len)
{
    static const struct {
        char byte;
        const char *name;
    } FORBIDDEN[] = {{0, "a NUL byte"}, {1, "a byte 0x01"}, {127, "a byte 0x7f"}};
    for (size_t i = 0; i < sizeof(FORBIDDEN) / sizeof(*FORBIDDEN); i++) {
        const char *at = memchr(p->source, FORBIDDEN[i].byte, len);
        if (at)
            parser_refuse(p, at, "%s may not stand in a command", FORBIDDEN[i].name);
    }
}

int shell_parse(struct arena *arena, const char *text, size_t len, const struct shell_tree **ret,
                struct shell_error *error)
{
    *error = (struct shell_error){.line = 1, .column = 1};
    if (len > SHELL_TEXT_MAX) {
        snprintf(error->message, sizeof(error->message), "longer than %d bytes", SHELL_TEXT_MAX);
        return error->code = -E2BIG;
    }
    struct parser p = {.arena = arena, .error = error, .source = ""};
    p.text = p.at = p.source;
    if (setjmp(p.refused))
        return error->code;

    char *source = parser_alloc(&p, len + 1);
    memcpy(source, text, len);
    p.source = p.text = p.at = source;
    p.end = source + len;
    p.now.last = TOKEN_START;
    p.now.pending_tail = &p.now.pending;
    refuse_bytes(&p, len);

    struct shell_tree *tree = parser_alloc(&p, sizeof(*tree));
    tree->source = (struct shell_text){source, (uint32_t)len};
    tree->list = parse_script(&p);
    *ret = tree;
    return 0;
}
