/*
 * The tree as text: for people a node a line, for programs JSON.
 *
 * Both come from one walk that names every node and its fields; what is between `writing` and `the
 * walk` knows which of the two is written.
 */
#include <string.h>

#include "shell/shell.h"

struct dump {
    struct buf *text; /* one of the two */
    struct json *json;
    unsigned depth;
};

/* --- writing ---------------------------------------------------------------------------------- */

static void indent(struct dump *d)
{
    for (unsigned i = 0; i < d->depth; i++)
        buf_append_text(d->text, "  ");
}

/* A node: in JSON an object, for people a line with what is below it indented. */
static void node(struct dump *d, const char *kind, const struct shell_span *span)
{
    if (d->json) {
        json_object_begin(d->json);
        json_key(d->json, "kind");
        json_text(d->json, kind);
        if (span) {
            json_key(d->json, "span");
            json_array_begin(d->json);
            json_unsigned(d->json, span->from);
            json_unsigned(d->json, span->to);
            json_array_end(d->json);
        }
        return;
    }
    indent(d);
    buf_append_text(d->text, kind);
    d->depth++;
}

static void end(struct dump *d)
{
    if (d->json)
        json_object_end(d->json);
    else
        d->depth--;
}

/* The line of a node ends behind its fields. */
static void line(struct dump *d)
{
    if (d->text)
        buf_append_byte(d->text, '\n');
}

static void field_text(struct dump *d, const char *key, const struct shell_text *text)
{
    if (d->json) {
        json_key(d->json, key);
        json_bytes(d->json, text->bytes, text->len);
        return;
    }
    buf_append_byte(d->text, ' ');
    struct json quoted;
    json_init_buf(&quoted, d->text);
    json_bytes(&quoted, text->bytes, text->len);
}

static void field_name(struct dump *d, const char *key, const char *name)
{
    struct shell_text text = {name, (uint32_t)strlen(name)};
    if (d->json)
        field_text(d, key, &text);
    else
        buf_append_format(d->text, " %s", name);
}

static void flag(struct dump *d, const char *key, bool value)
{
    if (!value)
        return;
    if (d->json) {
        json_key(d->json, key);
        json_bool(d->json, true);
    } else {
        buf_append_format(d->text, " %s", key);
    }
}

/* A field that has nodes: in JSON an array under its key, for people a line of its own. */
static void group(struct dump *d, const char *key)
{
    if (d->json) {
        json_key(d->json, key);
        json_array_begin(d->json);
        return;
    }
    indent(d);
    buf_append_format(d->text, "%s:\n", key);
    d->depth++;
}

static void group_end(struct dump *d)
{
    if (d->json)
        json_array_end(d->json);
    else
        d->depth--;
}

/* --- the walk --------------------------------------------------------------------------------- */

static void dump_list(struct dump *d, const struct shell_list *list);
static void dump_command(struct dump *d, const struct shell_command *command);
static void dump_assignment(struct dump *d, const struct shell_assignment *assignment);

static void dump_part(struct dump *d, const struct shell_part *part);

static void dump_parts(struct dump *d, const struct shell_part *part)
{
    for (; part; part = part->next) {
        if (part->kind != SHELL_TEXT || part->text.len)
            dump_part(d, part);
    }
}

static void dump_param(struct dump *d, const struct shell_param *param)
{
    field_text(d, "name", &param->name);
    flag(d, "length", param->length);
    flag(d, "indirect", param->indirect);
    flag(d, "bad", param->bad);
    flag(d, "bare", param->bare);
    if (param->op.len)
        field_text(d, "operator", &param->op);
    line(d);
    if (param->has_subscript) {
        group(d, "subscript");
        dump_parts(d, param->subscript);
        group_end(d);
    }
    if (param->op.len || param->bad) {
        group(d, "operand");
        dump_parts(d, param->operand);
        group_end(d);
    }
}

static void dump_part(struct dump *d, const struct shell_part *part)
{
    static const char *const KINDS[] = {
        [SHELL_TEXT] = "text",       [SHELL_QUOTED] = "quoted",   [SHELL_DOUBLE] = "double",
        [SHELL_PARAM] = "parameter", [SHELL_COMMAND] = "command", [SHELL_ARITH] = "arithmetic",
        [SHELL_PROCESS] = "process", [SHELL_EXTGLOB] = "pattern", [SHELL_ARRAY] = "array",
    };
    node(d, KINDS[part->kind], &part->span);
    if (part->op)
        field_text(d, "operator", &(struct shell_text){&part->op, 1});
    switch (part->kind) {
    case SHELL_TEXT:
    case SHELL_QUOTED:
        field_text(d, "text", &part->text);
        line(d);
        break;
    case SHELL_PARAM:
        dump_param(d, part->param);
        break;
    case SHELL_DOUBLE:
    case SHELL_ARITH:
    case SHELL_EXTGLOB:
        line(d);
        group(d, "parts");
        dump_parts(d, part->parts);
        group_end(d);
        break;
    case SHELL_COMMAND:
    case SHELL_PROCESS:
        line(d);
        group(d, "list");
        dump_list(d, part->list);
        group_end(d);
        break;
    case SHELL_ARRAY:
        line(d);
        group(d, "elements");
        for (const struct shell_assignment *each = part->elements; each; each = each->next)
            dump_assignment(d, each);
        group_end(d);
        break;
    }
    end(d);
}

/* A word of one plain text is a line; others have their parts below them. */
static void dump_word(struct dump *d, const struct shell_word *word)
{
    node(d, "word", &word->span);
    const struct shell_part *part = word->parts;
    if (d->text && part && !part->next && part->kind == SHELL_TEXT) {
        field_text(d, "text", &part->text);
        line(d);
    } else {
        line(d);
        if (d->json)
            group(d, "parts");
        dump_parts(d, part);
        if (d->json)
            group_end(d);
    }
    end(d);
}

static void dump_words(struct dump *d, const char *key, const struct shell_word *word)
{
    group(d, key);
    for (; word; word = word->next)
        dump_word(d, word);
    group_end(d);
}

static void dump_assignment(struct dump *d, const struct shell_assignment *assignment)
{
    node(d, assignment->name.len || assignment->has_subscript ? "assignment" : "element",
         &assignment->span);
    if (assignment->name.len)
        field_text(d, "name", &assignment->name);
    flag(d, "append", assignment->append);
    line(d);
    if (assignment->has_subscript) {
        group(d, "subscript");
        dump_parts(d, assignment->subscript);
        group_end(d);
    }
    group(d, "value");
    dump_parts(d, assignment->value.parts);
    group_end(d);
    end(d);
}

static void dump_redirect(struct dump *d, const struct shell_redirect *redirect)
{
    static const char *const OPERATORS[] = {
        [SHELL_REDIRECT_IN] = "<",           [SHELL_REDIRECT_OUT] = ">",
        [SHELL_REDIRECT_APPEND] = ">>",      [SHELL_REDIRECT_CLOBBER] = ">|",
        [SHELL_REDIRECT_BOTH_WAYS] = "<>",   [SHELL_REDIRECT_DUP_IN] = "<&",
        [SHELL_REDIRECT_DUP_OUT] = ">&",     [SHELL_REDIRECT_ALL] = "&>",
        [SHELL_REDIRECT_ALL_APPEND] = "&>>", [SHELL_REDIRECT_STRING] = "<<<",
        [SHELL_REDIRECT_DOCUMENT] = "<<",
    };
    node(d, "redirect", &redirect->span);
    field_name(d, "operator", OPERATORS[redirect->kind]);
    if (redirect->fd_name.len) {
        field_text(d, "variable", &redirect->fd_name);
    } else if (d->json) {
        json_key(d->json, "fd");
        json_unsigned(d->json, redirect->fd);
    } else {
        buf_append_format(d->text, " fd %u", redirect->fd);
    }
    if (redirect->kind == SHELL_REDIRECT_DOCUMENT)
        flag(d, "quoted", redirect->quoted);
    line(d);
    group(d, redirect->kind == SHELL_REDIRECT_DOCUMENT ? "body" : "target");
    dump_parts(d, redirect->target.parts);
    group_end(d);
    end(d);
}

static void dump_test(struct dump *d, const struct shell_test *test)
{
    static const char *const KINDS[] = {
        [SHELL_TEST_AND] = "and",       [SHELL_TEST_OR] = "or",
        [SHELL_TEST_GROUP] = "group",   [SHELL_TEST_UNARY] = "unary",
        [SHELL_TEST_BINARY] = "binary", [SHELL_TEST_WORD] = "nonempty",
    };
    node(d, KINDS[test->kind], &test->span);
    flag(d, "negated", test->negated);
    if (test->op.len)
        field_text(d, "operator", &test->op);
    line(d);
    group(d, "operands");
    if (test->left)
        dump_test(d, test->left);
    if (test->right)
        dump_test(d, test->right);
    if (test->word)
        dump_word(d, test->word);
    if (test->other)
        dump_word(d, test->other);
    group_end(d);
    end(d);
}

static void dump_named_list(struct dump *d, const char *key, const struct shell_list *list)
{
    group(d, key);
    dump_list(d, list);
    group_end(d);
}

static void dump_late(struct dump *d, const char *key, const struct shell_part *parts)
{
    group(d, key);
    dump_parts(d, parts);
    group_end(d);
}

static void dump_case(struct dump *d, const struct shell_command *command)
{
    static const char *const ENDS[] = {
        [SHELL_CLAUSE_BREAK] = ";;", [SHELL_CLAUSE_FALL] = ";&", [SHELL_CLAUSE_TEST] = ";;&"};
    dump_words(d, "subject", command->choice.subject);
    group(d, "clauses");
    for (const struct shell_clause *clause = command->choice.clauses; clause;
         clause = clause->next) {
        node(d, "clause", &clause->span);
        field_name(d, "end", ENDS[clause->end]);
        line(d);
        dump_words(d, "patterns", clause->patterns);
        dump_named_list(d, "body", clause->body);
        end(d);
    }
    group_end(d);
}

static void dump_body(struct dump *d, const struct shell_command *command)
{
    switch (command->kind) {
    case SHELL_SIMPLE:
        if (command->simple.assignments) {
            group(d, "assignments");
            for (const struct shell_assignment *each = command->simple.assignments; each;
                 each = each->next)
                dump_assignment(d, each);
            group_end(d);
        }
        dump_words(d, "words", command->simple.words);
        break;
    case SHELL_SUBSHELL:
    case SHELL_GROUP:
        dump_named_list(d, "body", command->body);
        break;
    case SHELL_IF:
        dump_named_list(d, "condition", command->branch.condition);
        dump_named_list(d, "then", command->branch.then);
        if (command->branch.otherwise)
            dump_named_list(d, "else", command->branch.otherwise);
        break;
    case SHELL_WHILE:
    case SHELL_UNTIL:
        dump_named_list(d, "condition", command->loop.condition);
        dump_named_list(d, "body", command->loop.body);
        break;
    case SHELL_FOR:
    case SHELL_SELECT:
        dump_words(d, "name", command->each.name);
        dump_words(d, "in", command->each.words);
        dump_named_list(d, "body", command->each.body);
        break;
    case SHELL_FOR_ARITH:
        dump_late(d, "init", command->arith_loop.init);
        dump_late(d, "test", command->arith_loop.test);
        dump_late(d, "step", command->arith_loop.step);
        dump_named_list(d, "body", command->arith_loop.body);
        break;
    case SHELL_CASE:
        dump_case(d, command);
        break;
    case SHELL_FUNCTION:
        dump_words(d, "name", command->function.name);
        group(d, "body");
        dump_command(d, command->function.body);
        group_end(d);
        break;
    case SHELL_COPROC:
        if (command->coproc.name)
            dump_words(d, "name", command->coproc.name);
        group(d, "body");
        dump_command(d, command->coproc.body);
        group_end(d);
        break;
    case SHELL_LET:
        dump_late(d, "expression", command->expression);
        break;
    case SHELL_TEST:
        group(d, "expression");
        dump_test(d, command->test);
        group_end(d);
        break;
    }
}

static void dump_command(struct dump *d, const struct shell_command *command)
{
    static const char *const KINDS[] = {
        [SHELL_SIMPLE] = "simple",
        [SHELL_SUBSHELL] = "subshell",
        [SHELL_GROUP] = "group",
        [SHELL_IF] = "if",
        [SHELL_WHILE] = "while",
        [SHELL_UNTIL] = "until",
        [SHELL_FOR] = "for",
        [SHELL_SELECT] = "select",
        [SHELL_FOR_ARITH] = "for-arithmetic",
        [SHELL_CASE] = "case",
        [SHELL_FUNCTION] = "function",
        [SHELL_COPROC] = "coproc",
        [SHELL_LET] = "let",
        [SHELL_TEST] = "test",
    };
    node(d, KINDS[command->kind], &command->span);
    line(d);
    dump_body(d, command);
    if (command->redirects) {
        group(d, "redirects");
        for (const struct shell_redirect *each = command->redirects; each; each = each->next)
            dump_redirect(d, each);
        group_end(d);
    }
    end(d);
}

static void dump_pipeline(struct dump *d, const struct shell_pipeline *pipeline)
{
    static const char *const TIMING[] = {
        [SHELL_NOT_TIMED] = NULL, [SHELL_TIMED] = "timed", [SHELL_TIMED_POSIX] = "timed-posix"};
    node(d, "pipeline", &pipeline->span);
    flag(d, "negated", pipeline->negated);
    if (TIMING[pipeline->timing])
        flag(d, TIMING[pipeline->timing], true);
    if (pipeline->next)
        field_name(d, "then", pipeline->or_next ? "||" : "&&");
    line(d);
    group(d, "commands");
    for (const struct shell_command *command = pipeline->commands; command; command = command->next)
        dump_command(d, command);
    group_end(d);
    end(d);
}

/* A pipeline of one plain command that nothing is joined to needs no line of its own. */
static bool is_bare(const struct shell_item *item)
{
    const struct shell_pipeline *pipeline = item->pipelines;
    return !pipeline->next && !pipeline->negated && pipeline->timing == SHELL_NOT_TIMED &&
           !pipeline->commands->next;
}

static void dump_list(struct dump *d, const struct shell_list *list)
{
    for (const struct shell_item *item = list ? list->items : NULL; item; item = item->next) {
        bool background = item->end == SHELL_END_BACKGROUND;
        if (d->text && is_bare(item) && !background) {
            dump_command(d, item->pipelines->commands);
            continue;
        }
        node(d, "and-or", NULL);
        flag(d, "background", background);
        line(d);
        if (d->json)
            group(d, "pipelines");
        for (const struct shell_pipeline *pipeline = item->pipelines; pipeline;
             pipeline = pipeline->next)
            dump_pipeline(d, pipeline);
        if (d->json)
            group_end(d);
        end(d);
    }
}

void shell_dump(const struct shell_tree *tree, struct buf *out)
{
    struct dump d = {.text = out};
    dump_list(&d, tree->list);
}

void shell_dump_json(const struct shell_tree *tree, struct json *out)
{
    struct dump d = {.json = out};
    json_array_begin(out);
    dump_list(&d, tree->list);
    json_array_end(out);
}
