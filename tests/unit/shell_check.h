/*
 * What the tests of the shell room and its fuzz targets have in common: one text read, rendered and
 * dumped, and the rules that the spans of every tree keep.
 */
#ifndef NACRE_TESTS_SHELL_CHECK_H
#define NACRE_TESTS_SHELL_CHECK_H

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "shell/shell.h"

/* --- one reading ------------------------------------------------------------------------------ */

struct reading_result {
    struct arena arena;
    const struct shell_tree *tree; /* NULL: refused */
    struct shell_error error;
    struct buf rendering, dump;
};

static inline bool read_text(struct reading_result *r, const char *text, size_t len)
{
    arena_init(&r->arena, &allocator_libc, SIZE_MAX);
    buf_init(&r->rendering, &allocator_libc, SIZE_MAX - 1);
    buf_init(&r->dump, &allocator_libc, SIZE_MAX - 1);
    r->tree = NULL;
    if (shell_parse(&r->arena, text, len, &r->tree, &r->error) < 0)
        return false;
    shell_render(r->tree, &r->rendering);
    shell_dump(r->tree, &r->dump);
    return true;
}

static inline void release_reading(struct reading_result *r)
{
    arena_release(&r->arena);
    buf_release(&r->rendering);
    buf_release(&r->dump);
}

/* --- spans ------------------------------------------------------------------------------------ */

/*
 * A span lies within that of what it is a part of, and what follows another thing begins where that
 * ends or behind it. Only the body of a here-document lies outside of its redirection.
 */
struct span_walk {
    struct shell_span text;
    bool wrong;
    char message[160]; /* of the first that is wrong */
};

static inline void span_wrong(struct span_walk *w, const char *what, const char *how,
                              struct shell_span span, struct shell_span other)
{
    if (w->wrong)
        return;
    w->wrong = true;
    snprintf(w->message, sizeof(w->message), "%s at %u-%u %s %u-%u", what, span.from, span.to, how,
             other.from, other.to);
}

static inline void span_within(struct span_walk *w, const char *what, struct shell_span span,
                               struct shell_span outer)
{
    if (span.from > span.to)
        span_wrong(w, what, "ends before it begins, in", span, outer);
    if (span.from < outer.from || span.to > outer.to)
        span_wrong(w, what, "is not within", span, outer);
}

/* `before` begins as an empty span at the start of the outer one. */
static inline void span_follows(struct span_walk *w, const char *what, struct shell_span span,
                                struct shell_span *before)
{
    if (span.from < before->to)
        span_wrong(w, what, "overlaps what is before it at", span, *before);
    *before = span;
}

static inline void spans_of_list(struct span_walk *w, const struct shell_list *list,
                                 struct shell_span outer);
static inline void spans_of_command(struct span_walk *w, const struct shell_command *command,
                                    struct shell_span outer);
static inline void spans_of_assignments(struct span_walk *w,
                                        const struct shell_assignment *assignment,
                                        struct shell_span outer);

static inline void spans_of_parts(struct span_walk *w, const struct shell_part *part,
                                  struct shell_span outer)
{
    struct shell_span before = {outer.from, outer.from};
    for (; part; part = part->next) {
        span_within(w, "part", part->span, outer);
        span_follows(w, "part", part->span, &before);
        switch (part->kind) {
        case SHELL_TEXT:
        case SHELL_QUOTED:
            break;
        case SHELL_DOUBLE:
        case SHELL_ARITH:
        case SHELL_EXTGLOB:
            spans_of_parts(w, part->parts, part->span);
            break;
        case SHELL_PARAM:
            spans_of_parts(w, part->param->subscript, part->span);
            spans_of_parts(w, part->param->operand, part->span);
            break;
        case SHELL_COMMAND:
        case SHELL_PROCESS:
            spans_of_list(w, part->list, part->span);
            break;
        case SHELL_ARRAY:
            spans_of_assignments(w, part->elements, part->span);
            break;
        }
    }
}

static inline void spans_of_words(struct span_walk *w, const struct shell_word *word,
                                  struct shell_span outer)
{
    struct shell_span before = {outer.from, outer.from};
    for (; word; word = word->next) {
        span_within(w, "word", word->span, outer);
        span_follows(w, "word", word->span, &before);
        spans_of_parts(w, word->parts, word->span);
    }
}

static inline void spans_of_assignments(struct span_walk *w,
                                        const struct shell_assignment *assignment,
                                        struct shell_span outer)
{
    struct shell_span before = {outer.from, outer.from};
    for (; assignment; assignment = assignment->next) {
        span_within(w, "assignment", assignment->span, outer);
        span_follows(w, "assignment", assignment->span, &before);
        span_within(w, "value", assignment->value.span, assignment->span);
        spans_of_parts(w, assignment->subscript, assignment->span);
        spans_of_parts(w, assignment->value.parts, assignment->value.span);
    }
}

static inline void spans_of_redirects(struct span_walk *w, const struct shell_redirect *redirect,
                                      struct shell_span outer)
{
    struct shell_span before = {outer.from, outer.from};
    for (; redirect; redirect = redirect->next) {
        bool document = redirect->kind == SHELL_REDIRECT_DOCUMENT;
        span_within(w, "redirect", redirect->span, outer);
        span_follows(w, "redirect", redirect->span, &before);
        span_within(w, "target", redirect->target.span, document ? w->text : redirect->span);
        spans_of_parts(w, redirect->target.parts, redirect->target.span);
    }
}

static inline void spans_of_test(struct span_walk *w, const struct shell_test *test,
                                 struct shell_span outer)
{
    span_within(w, "test", test->span, outer);
    if (test->left)
        spans_of_test(w, test->left, test->span);
    if (test->right)
        spans_of_test(w, test->right, test->span);
    spans_of_words(w, test->word, test->span);
    spans_of_words(w, test->other, test->span);
}

static inline void spans_of_command(struct span_walk *w, const struct shell_command *command,
                                    struct shell_span outer)
{
    struct shell_span span = command->span;
    span_within(w, "command", span, outer);
    spans_of_redirects(w, command->redirects, span);
    switch (command->kind) {
    case SHELL_SIMPLE:
        spans_of_assignments(w, command->simple.assignments, span);
        spans_of_words(w, command->simple.words, span);
        break;
    case SHELL_SUBSHELL:
    case SHELL_GROUP:
        spans_of_list(w, command->body, span);
        break;
    case SHELL_IF:
        spans_of_list(w, command->branch.condition, span);
        spans_of_list(w, command->branch.then, span);
        spans_of_list(w, command->branch.otherwise, span);
        break;
    case SHELL_WHILE:
    case SHELL_UNTIL:
        spans_of_list(w, command->loop.condition, span);
        spans_of_list(w, command->loop.body, span);
        break;
    case SHELL_FOR:
    case SHELL_SELECT:
        spans_of_words(w, command->each.name, span);
        spans_of_words(w, command->each.words, span);
        spans_of_list(w, command->each.body, span);
        break;
    case SHELL_FOR_ARITH:
        spans_of_parts(w, command->arith_loop.init, span);
        spans_of_parts(w, command->arith_loop.test, span);
        spans_of_parts(w, command->arith_loop.step, span);
        spans_of_list(w, command->arith_loop.body, span);
        break;
    case SHELL_CASE:
        spans_of_words(w, command->choice.subject, span);
        for (const struct shell_clause *clause = command->choice.clauses; clause;
             clause = clause->next) {
            span_within(w, "clause", clause->span, span);
            spans_of_words(w, clause->patterns, clause->span);
            spans_of_list(w, clause->body, clause->span);
        }
        break;
    case SHELL_FUNCTION:
        spans_of_words(w, command->function.name, span);
        spans_of_command(w, command->function.body, span);
        break;
    case SHELL_COPROC:
        spans_of_words(w, command->coproc.name, span);
        spans_of_command(w, command->coproc.body, span);
        break;
    case SHELL_LET:
        spans_of_parts(w, command->expression, span);
        break;
    case SHELL_TEST:
        spans_of_test(w, command->test, span);
        break;
    }
}

static inline void spans_of_list(struct span_walk *w, const struct shell_list *list,
                                 struct shell_span outer)
{
    if (!list)
        return;
    struct shell_span before = {outer.from, outer.from};
    span_within(w, "list", list->span, outer);
    for (const struct shell_item *item = list->items; item; item = item->next) {
        for (const struct shell_pipeline *pipeline = item->pipelines; pipeline;
             pipeline = pipeline->next) {
            struct shell_span earlier = {pipeline->span.from, pipeline->span.from};
            span_within(w, "pipeline", pipeline->span, list->span);
            span_follows(w, "pipeline", pipeline->span, &before);
            for (const struct shell_command *command = pipeline->commands; command;
                 command = command->next) {
                span_follows(w, "command", command->span, &earlier);
                spans_of_command(w, command, pipeline->span);
            }
        }
    }
}

/* True when all spans are right; else `w->message` says which is not. */
static inline bool spans_are_right(struct span_walk *w, const struct shell_tree *tree)
{
    *w = (struct span_walk){.text = {0, tree->source.len}};
    spans_of_list(w, tree->list, w->text);
    return !w->wrong;
}

/* Whether an error's line and column are those of its offset. */
static inline bool place_is_right(const struct shell_error *error, const char *text, size_t len)
{
    if (error->offset > len)
        return false;
    uint32_t line = 1, column = 1;
    for (uint32_t i = 0; i < error->offset; i++) {
        if (text[i] == '\n') {
            line++;
            column = 1;
        } else {
            column += ((unsigned char)text[i] & 0xc0) != 0x80;
        }
    }
    return error->line == line && error->column == column;
}

/* Whether a message is UTF-8 without anything that a terminal would obey. */
static inline bool message_is_plain(const struct shell_error *error)
{
    size_t len = strlen(error->message);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)error->message[i] < ' ' || error->message[i] == 127)
            return false;
    }
    return len > 0 && utf8_valid(error->message, len);
}

#endif
