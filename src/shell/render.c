/* Commands in canonical form; see render.h. */
#include "shell/render.h"

#include <errno.h>
#include <string.h>

void render_end(struct render *r)
{
    if (r->arena.failed && !r->out->failed)
        r->out->failed = -ENOMEM;
    arena_release(&r->arena);
}

struct document {
    const char *body;
    size_t len;
    const char *delimiter;
    size_t delimiter_len;
    struct document *next;
};

/* --- lines ------------------------------------------------------------------------------------ */

uint32_t count_lines(const char *from, const char *to)
{
    uint32_t count = 0;
    for (; (from = memchr(from, '\n', (size_t)(to - from))); from++)
        count++;
    return count;
}

/* Calls come nearly in the order of the text, so that each byte is looked at about once. */
static uint32_t source_line(struct render *r, uint32_t offset)
{
    if (offset >= r->source_at)
        r->source_line += count_lines(r->source + r->source_at, r->source + offset);
    else
        r->source_line -= count_lines(r->source + offset, r->source + r->source_at);
    r->source_at = offset;
    return r->source_line;
}

static uint32_t out_line(struct render *r)
{
    r->out_line += count_lines(r->out->data + r->out_at, r->out->data + r->out->len);
    r->out_at = r->out->len;
    return r->out_line;
}

static bool is_ahead(struct render *r, uint32_t offset)
{
    return r->keep_lines && source_line(r, offset) > out_line(r);
}

/* Where nothing has been written on a line that no continuation leads to. */
static bool at_line_start(const struct buf *out)
{
    return !out->len ||
           (out->data[out->len - 1] == '\n' && !(out->len > 1 && out->data[out->len - 2] == '\\'));
}

void render_join_lines(struct render *r, uint32_t offset)
{
    if (!r->keep_lines)
        return;
    uint32_t line = source_line(r, offset), at = out_line(r);
    const char *joint = at < line && at_line_start(r->out) ? "\n" : "\\\n";
    for (; at < line; at++)
        buf_append_text(r->out, joint);
}

/* --- here-documents --------------------------------------------------------------------------- */

static void flush_documents(struct render *r)
{
    for (const struct document *document = r->documents; document; document = document->next) {
        buf_append(r->out, document->body, document->len);
        buf_append(r->out, document->delimiter, document->delimiter_len);
        buf_append_byte(r->out, '\n');
    }
    r->documents = NULL;
    r->documents_tail = &r->documents;
}

static void end_line(struct render *r)
{
    buf_append_byte(r->out, '\n');
    flush_documents(r);
}

/* A newline where one may stand, and empty lines up to the line of `offset`. */
static void newline(struct render *r, uint32_t offset)
{
    end_line(r);
    if (!r->keep_lines)
        return;
    uint32_t line = source_line(r, offset);
    for (uint32_t at = out_line(r); at < line; at++)
        buf_append_byte(r->out, '\n');
}

/* A space, or a new line if the source has one here. */
static void space(struct render *r, uint32_t offset)
{
    /* In a substitution bodies stand as near to their command as can be: bash misplaces others. */
    if (is_ahead(r, offset) || (r->in_command && r->documents))
        newline(r, offset);
    else
        buf_append_byte(r->out, ' ');
}

/* Whether a line of the body would be taken for its end. */
static bool has_end(const struct document *document, bool in_command)
{
    const char *at = document->body, *end = at + document->len;
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        line = line ? line : end;
        size_t len = (size_t)(line - at);
        if (len >= document->delimiter_len &&
            !memcmp(at, document->delimiter, document->delimiter_len) &&
            (len == document->delimiter_len || (in_command && memchr(at, ')', len))))
            return true;
        at = line + 1;
    }
    return false;
}

/* The body as it will stand, rendered ahead: its delimiter depends on it. */
static void render_body(struct render *r, const struct shell_redirect *redirect,
                        struct document *document)
{
    const struct shell_part *part = redirect->target.parts;
    if (redirect->quoted) {
        if (part) {
            document->body = part->text.bytes;
            document->len = part->text.len;
        }
        return;
    }
    struct buf body;
    buf_init(&body, r->out->allocator, r->out->max);
    struct render inner = {.out = &body, .source = r->source, .in_command = r->in_command};
    inner.documents_tail = &inner.documents;
    arena_init(&inner.arena, r->out->allocator, SIZE_MAX);
    render_parts(&inner, part, PLACE_DOCUMENT);
    render_end(&inner);
    document->body = arena_copy(&r->arena, body.data, body.len);
    document->len = body.len;
    if (body.failed && !r->out->failed)
        r->out->failed = body.failed;
    buf_release(&body);
}

static void render_document(struct render *r, const struct shell_redirect *redirect)
{
    struct document *document = arena_alloc(&r->arena, sizeof(*document));
    if (!document)
        return;
    document->delimiter = redirect->delimiter.bytes;
    document->delimiter_len = redirect->delimiter.len;
    render_body(r, redirect, document);
    while (document->body && !redirect->quoted && has_end(document, r->in_command)) {
        const char *longer =
            arena_format(&r->arena, "_%.*s", (int)document->delimiter_len, document->delimiter);
        if (!longer)
            return;
        document->delimiter = longer;
        document->delimiter_len++;
    }
    /* "<<-" is another operator. */
    bool dash = !redirect->quoted && document->delimiter_len && document->delimiter[0] == '-';
    buf_append_text(r->out, dash ? "<< " : "<<");
    if (redirect->quoted)
        render_single_quoted(r->out, document->delimiter, document->delimiter_len);
    else
        buf_append(r->out, document->delimiter, document->delimiter_len);
    *r->documents_tail = document;
    r->documents_tail = &document->next;
}

/* --- redirections and simple commands --------------------------------------------------------- */

static void render_redirect(struct render *r, const struct shell_redirect *redirect)
{
    static const char *const OPERATORS[] = {
        [SHELL_REDIRECT_IN] = "< ",           [SHELL_REDIRECT_OUT] = "> ",
        [SHELL_REDIRECT_APPEND] = ">> ",      [SHELL_REDIRECT_CLOBBER] = ">| ",
        [SHELL_REDIRECT_BOTH_WAYS] = "<> ",   [SHELL_REDIRECT_DUP_IN] = "<&",
        [SHELL_REDIRECT_DUP_OUT] = ">&",      [SHELL_REDIRECT_ALL] = "&> ",
        [SHELL_REDIRECT_ALL_APPEND] = "&>> ", [SHELL_REDIRECT_STRING] = "<<< ",
    };
    static const uint8_t DEFAULTS[] = {
        [SHELL_REDIRECT_OUT] = 1,      [SHELL_REDIRECT_APPEND] = 1, [SHELL_REDIRECT_CLOBBER] = 1,
        [SHELL_REDIRECT_DUP_OUT] = 1,  [SHELL_REDIRECT_ALL] = 1,    [SHELL_REDIRECT_ALL_APPEND] = 1,
        [SHELL_REDIRECT_DOCUMENT] = 0,
    };
    render_join_lines(r, redirect->span.from);
    if (redirect->fd_name.len) {
        buf_append_byte(r->out, '{');
        buf_append(r->out, redirect->fd_name.bytes, redirect->fd_name.len);
        buf_append_byte(r->out, '}');
    } else if (redirect->fd != DEFAULTS[redirect->kind]) {
        buf_append_format(r->out, "%u", redirect->fd);
    }
    if (redirect->kind == SHELL_REDIRECT_DOCUMENT) {
        render_document(r, redirect);
        return;
    }
    buf_append_text(r->out, OPERATORS[redirect->kind]);
    render_word(r, &redirect->target);
}

static void render_redirects(struct render *r, const struct shell_redirect *redirect, bool first)
{
    for (; redirect; redirect = redirect->next, first = false) {
        if (!first)
            buf_append_byte(r->out, ' ');
        render_redirect(r, redirect);
    }
}

static bool is_empty(const struct shell_command *command)
{
    return command->kind == SHELL_SIMPLE && !command->simple.words &&
           !command->simple.assignments && !command->redirects;
}

static bool redirects_first(const struct shell_command *command)
{
    return command->redirects && command->simple.words && !command->simple.assignments &&
           shell_is_special(command->simple.words);
}

/* Where what is written first of a command stands in the source. */
static uint32_t command_start(const struct shell_command *command)
{
    if (command->kind != SHELL_SIMPLE || is_empty(command))
        return command->span.from;
    if (redirects_first(command))
        return command->redirects->span.from;
    if (command->simple.assignments)
        return command->simple.assignments->span.from;
    return command->simple.words ? command->simple.words->span.from : command->redirects->span.from;
}

static uint32_t pipeline_start(const struct shell_pipeline *pipeline)
{
    bool prefix = pipeline->negated || pipeline->timing != SHELL_NOT_TIMED;
    return prefix ? pipeline->span.from : command_start(pipeline->commands);
}

static uint32_t list_start(const struct shell_list *list)
{
    return pipeline_start(list->items->pipelines);
}

static bool starts_with_time(const struct shell_command *command)
{
    const struct shell_word *word = command->kind == SHELL_SIMPLE ? command->simple.words : NULL;
    return word && !command->simple.assignments && word->parts && !word->parts->next &&
           word->parts->kind == SHELL_TEXT && word->parts->text.len == 4 &&
           !memcmp(word->parts->text.bytes, "time", 4);
}

static void render_simple(struct render *r, const struct shell_command *command)
{
    const struct shell_word *word = command->simple.words;
    const struct shell_assignment *assignment = command->simple.assignments;
    bool first = true, redirected = redirects_first(command);
    if (redirected) {
        render_redirects(r, command->redirects, true);
        first = false;
    }
    for (; assignment; assignment = assignment->next, first = false) {
        if (!first)
            buf_append_byte(r->out, ' ');
        render_join_lines(r, assignment->span.from);
        render_assignment(r, assignment);
    }
    for (; word; word = word->next, first = false) {
        if (!first)
            buf_append_byte(r->out, ' ');
        render_word(r, word);
    }
    if (!redirected)
        render_redirects(r, command->redirects, first);
}

/* --- lists ------------------------------------------------------------------------------------ */

static void render_command(struct render *r, const struct shell_command *command);

static void render_pipeline(struct render *r, const struct shell_pipeline *pipeline)
{
    if (pipeline->timing != SHELL_NOT_TIMED)
        buf_append_text(r->out, pipeline->timing == SHELL_TIMED ? "time " : "time -p -- ");
    if (pipeline->negated)
        buf_append_text(r->out, "! ");
    else if (pipeline->timing == SHELL_NOT_TIMED && is_empty(pipeline->commands))
        buf_append_text(r->out, "! ! "); /* both and nothing behind them */
    for (const struct shell_command *command = pipeline->commands; command;
         command = command->next) {
        render_command(r, command);
        if (command->next) {
            buf_append_text(r->out, " |");
            if (starts_with_time(command->next)) /* behind a newline it could be reserved */
                buf_append_byte(r->out, ' ');
            else
                space(r, command_start(command->next));
        }
    }
}

/* The and-or list, with an & if it has one. */
static void render_item(struct render *r, const struct shell_item *item)
{
    for (const struct shell_pipeline *pipeline = item->pipelines; pipeline;
         pipeline = pipeline->next) {
        render_pipeline(r, pipeline);
        if (pipeline->next) {
            buf_append_text(r->out, pipeline->or_next ? " ||" : " &&");
            space(r, pipeline_start(pipeline->next));
        }
    }
    if (item->end == SHELL_END_BACKGROUND)
        buf_append_text(r->out, " &");
}

static const struct shell_item *render_items(struct render *r, const struct shell_list *list)
{
    const struct shell_item *item = list->items;
    for (;; item = item->next) {
        render_item(r, item);
        if (!item->next)
            return item;
        uint32_t next = pipeline_start(item->next->pipelines);
        if (item->line_ends && (!r->flat || r->documents)) {
            newline(r, next);
        } else {
            buf_append_text(r->out, item->end == SHELL_END_BACKGROUND ? " " : "; ");
            render_join_lines(r, next);
        }
    }
}

/* `!` or `time` alone needs a ; behind it before anything but a newline. */
static void end_prefix(struct render *r, const struct shell_item *item)
{
    const struct shell_pipeline *pipeline = item->pipelines;
    while (pipeline->next)
        pipeline = pipeline->next;
    if (is_empty(pipeline->commands) && item->end != SHELL_END_BACKGROUND)
        buf_append_byte(r->out, ';');
}

/* A list between reserved words: behind a space, ended so that a reserved word may follow. */
static void render_list(struct render *r, const struct shell_list *list)
{
    space(r, list_start(list));
    const struct shell_item *last = render_items(r, list);
    if ((last->line_ends && r->keep_lines) || (r->in_command && r->documents))
        end_line(r);
    else
        buf_append_text(r->out, last->end == SHELL_END_BACKGROUND ? " " : "; ");
}

void render_substitution(struct render *r, const struct shell_list *list, uint32_t to)
{
    struct document *documents = r->documents, **tail = r->documents_tail;
    r->documents = NULL;
    r->documents_tail = &r->documents;
    bool in_array = r->in_array;
    r->in_array = false;
    r->in_command++;
    buf_append_byte(r->out, '(');
    if (list) {
        size_t start = r->out->len;
        if (is_ahead(r, list_start(list)))
            newline(r, list_start(list));
        const struct shell_command *first = list->items->pipelines->commands;
        /* "$((" is arithmetic. */
        if (r->out->len == start && (first->kind == SHELL_SUBSHELL || first->kind == SHELL_LET) &&
            list->items->pipelines->timing == SHELL_NOT_TIMED && !list->items->pipelines->negated)
            buf_append_byte(r->out, ' ');
        end_prefix(r, render_items(r, list));
        if (r->documents)
            end_line(r);
    }
    if (is_ahead(r, to - 1))
        newline(r, to - 1);
    buf_append_byte(r->out, ')');
    r->in_command--;
    r->in_array = in_array;
    r->documents = documents;
    r->documents_tail = documents ? tail : &r->documents;
}

/* --- compound commands ------------------------------------------------------------------------ */

/* The `if` that is all there is behind `else`. */
static const struct shell_command *elif_of(const struct shell_list *list)
{
    const struct shell_item *item = list->items;
    const struct shell_pipeline *pipeline = item->pipelines;
    const struct shell_command *command = pipeline->commands;
    bool alone = !item->next && item->end != SHELL_END_BACKGROUND && !pipeline->next &&
                 !pipeline->negated && pipeline->timing == SHELL_NOT_TIMED && !command->next;
    return alone && command->kind == SHELL_IF && !command->redirects ? command : NULL;
}

static void render_if(struct render *r, const struct shell_command *command)
{
    buf_append_text(r->out, "if");
    for (;;) {
        render_list(r, command->branch.condition);
        buf_append_text(r->out, "then");
        render_list(r, command->branch.then);
        const struct shell_list *otherwise = command->branch.otherwise;
        if (!otherwise)
            break;
        const struct shell_command *inner = elif_of(otherwise);
        if (!inner) {
            buf_append_text(r->out, "else");
            render_list(r, otherwise);
            break;
        }
        buf_append_text(r->out, "elif");
        command = inner;
    }
    buf_append_text(r->out, "fi");
}

static void render_do(struct render *r, const struct shell_list *body)
{
    buf_append_text(r->out, "do");
    render_list(r, body);
    buf_append_text(r->out, "done");
}

static void render_each(struct render *r, const struct shell_command *command)
{
    buf_append_text(r->out, command->kind == SHELL_FOR ? "for " : "select ");
    render_word(r, command->each.name);
    buf_append_text(r->out, " in");
    for (const struct shell_word *word = command->each.words; word; word = word->next) {
        buf_append_byte(r->out, ' ');
        render_word(r, word);
    }
    buf_append_text(r->out, "; ");
    render_do(r, command->each.body);
}

static void render_arith_for(struct render *r, const struct shell_command *command)
{
    buf_append_text(r->out, "for ((");
    render_parts(r, command->arith_loop.init, PLACE_LATE);
    buf_append_text(r->out, "; ");
    render_parts(r, command->arith_loop.test, PLACE_LATE);
    buf_append_text(r->out, "; ");
    render_parts(r, command->arith_loop.step, PLACE_LATE);
    buf_append_text(r->out, ")); ");
    render_do(r, command->arith_loop.body);
}

static void render_case(struct render *r, const struct shell_command *command)
{
    static const char *const ENDS[] = {
        [SHELL_CLAUSE_BREAK] = ";;", [SHELL_CLAUSE_FALL] = ";&", [SHELL_CLAUSE_TEST] = ";;&"};
    buf_append_text(r->out, "case ");
    render_word(r, command->choice.subject);
    buf_append_text(r->out, " in");
    for (const struct shell_clause *clause = command->choice.clauses; clause;
         clause = clause->next) {
        space(r, clause->span.from);
        buf_append_byte(r->out, '(');
        for (const struct shell_word *word = clause->patterns; word; word = word->next) {
            render_word(r, word);
            if (word->next)
                buf_append_text(r->out, " | ");
        }
        buf_append_byte(r->out, ')');
        if (clause->body) {
            space(r, list_start(clause->body));
            const struct shell_item *last = render_items(r, clause->body);
            end_prefix(r, last);
            if ((last->line_ends && r->keep_lines) || (r->in_command && r->documents))
                end_line(r);
            else
                buf_append_byte(r->out, ' ');
        } else {
            buf_append_byte(r->out, ' ');
        }
        buf_append_text(r->out, ENDS[clause->end]);
    }
    space(r, command->span.from);
    buf_append_text(r->out, "esac");
}

static void render_test(struct render *r, const struct shell_test *test)
{
    bool joined = test->kind == SHELL_TEST_AND || test->kind == SHELL_TEST_OR;
    if (!joined)
        space(r, test->span.from);
    if (test->negated)
        buf_append_text(r->out, "! ");
    switch (test->kind) {
    case SHELL_TEST_AND:
    case SHELL_TEST_OR:
        render_test(r, test->left);
        buf_append_text(r->out, test->kind == SHELL_TEST_AND ? " &&" : " ||");
        render_test(r, test->right);
        return;
    case SHELL_TEST_GROUP:
        buf_append_text(r->out, "(");
        render_test(r, test->left);
        buf_append_text(r->out, " )");
        return;
    case SHELL_TEST_UNARY:
        buf_append(r->out, test->op.bytes, test->op.len);
        buf_append_byte(r->out, ' ');
        break;
    default:
        break;
    }
    render_word(r, test->word);
    if (test->kind == SHELL_TEST_BINARY) {
        buf_append_byte(r->out, ' ');
        buf_append(r->out, test->op.bytes, test->op.len);
        buf_append_byte(r->out, ' ');
        render_word(r, test->other);
    }
}

static void render_function(struct render *r, const struct shell_command *command)
{
    buf_append_text(r->out, "function ");
    render_word(r, command->function.name);
    buf_append_text(r->out, " ()");
    space(r, command_start(command->function.body));
    render_command(r, command->function.body);
}

static void render_coproc(struct render *r, const struct shell_command *command)
{
    buf_append_text(r->out, "coproc ");
    if (command->coproc.name) {
        render_word(r, command->coproc.name);
        buf_append_byte(r->out, ' ');
    }
    render_join_lines(r, command_start(command->coproc.body));
    render_command(r, command->coproc.body);
}

static void render_command(struct render *r, const struct shell_command *command)
{
    switch (command->kind) {
    case SHELL_SIMPLE:
        render_simple(r, command);
        return;
    case SHELL_SUBSHELL:
        buf_append_byte(r->out, '(');
        space(r, list_start(command->body));
        end_prefix(r, render_items(r, command->body));
        if (r->documents)
            end_line(r);
        buf_append_text(r->out, " )");
        break;
    case SHELL_GROUP:
        buf_append_byte(r->out, '{');
        render_list(r, command->body);
        buf_append_byte(r->out, '}');
        break;
    case SHELL_IF:
        render_if(r, command);
        break;
    case SHELL_WHILE:
    case SHELL_UNTIL:
        buf_append_text(r->out, command->kind == SHELL_WHILE ? "while" : "until");
        render_list(r, command->loop.condition);
        render_do(r, command->loop.body);
        break;
    case SHELL_FOR:
    case SHELL_SELECT:
        render_each(r, command);
        break;
    case SHELL_FOR_ARITH:
        render_arith_for(r, command);
        break;
    case SHELL_CASE:
        render_case(r, command);
        break;
    case SHELL_FUNCTION:
        render_function(r, command);
        return;
    case SHELL_COPROC:
        render_coproc(r, command);
        return;
    case SHELL_LET:
        buf_append_text(r->out, "((");
        render_parts(r, command->expression, PLACE_LATE);
        buf_append_text(r->out, "))");
        break;
    case SHELL_TEST:
        buf_append_text(r->out, "[[");
        render_test(r, command->test);
        buf_append_text(r->out, " ]]");
        break;
    }
    render_redirects(r, command->redirects, false);
}

/* At the end of a text they would keep nothing in its place. */
static void drop_continuations(struct buf *out)
{
    while (out->len > 1 && !memcmp(out->data + out->len - 2, "\\\n", 2))
        out->data[out->len -= 2] = 0;
}

void shell_render(const struct shell_tree *tree, struct buf *out)
{
    struct render r = {.out = out,
                       .source = tree->source.bytes,
                       .source_line = 1,
                       .out_line = 1,
                       .out_at = out->len};
    r.documents_tail = &r.documents;
    r.keep_lines = memchr(tree->source.bytes, '\n', tree->source.len);
    arena_init(&r.arena, out->allocator, SIZE_MAX);
    if (tree->list->items) {
        if (r.keep_lines)
            for (uint32_t n = source_line(&r, list_start(tree->list)); n > 1; n--)
                buf_append_byte(out, '\n');
        render_items(&r, tree->list);
        drop_continuations(out);
        if (r.documents)
            end_line(&r);
    }
    render_end(&r);
}
