/* A walk over every command of a tree, wherever it is; see shell.h. */
#include "shell/shell.h"

struct walk {
    shell_visit *visit;
    void *user;
    bool stopped;
};

static void walk_list(struct walk *w, const struct shell_list *list);
static void walk_parts(struct walk *w, const struct shell_part *part);

static void walk_assignments(struct walk *w, const struct shell_assignment *assignment)
{
    for (; assignment; assignment = assignment->next) {
        walk_parts(w, assignment->subscript);
        walk_parts(w, assignment->value.parts);
    }
}

static void walk_parts(struct walk *w, const struct shell_part *part)
{
    for (; part && !w->stopped; part = part->next) {
        switch (part->kind) {
        case SHELL_TEXT:
        case SHELL_QUOTED:
            break;
        case SHELL_DOUBLE:
        case SHELL_ARITH:
        case SHELL_EXTGLOB:
            walk_parts(w, part->parts);
            break;
        case SHELL_PARAM:
            walk_parts(w, part->param->subscript);
            walk_parts(w, part->param->operand);
            break;
        case SHELL_COMMAND:
        case SHELL_PROCESS:
            walk_list(w, part->list);
            break;
        case SHELL_ARRAY:
            walk_assignments(w, part->elements);
            break;
        }
    }
}

static void walk_words(struct walk *w, const struct shell_word *word)
{
    for (; word; word = word->next)
        walk_parts(w, word->parts);
}

static void walk_test(struct walk *w, const struct shell_test *test)
{
    if (!test)
        return;
    walk_test(w, test->left);
    walk_test(w, test->right);
    walk_words(w, test->word);
    walk_words(w, test->other);
}

static void walk_command(struct walk *w, const struct shell_command *command)
{
    if (w->stopped || !w->visit(w->user, command)) {
        w->stopped = true;
        return;
    }
    switch (command->kind) {
    case SHELL_SIMPLE:
        walk_assignments(w, command->simple.assignments);
        walk_words(w, command->simple.words);
        break;
    case SHELL_SUBSHELL:
    case SHELL_GROUP:
        walk_list(w, command->body);
        break;
    case SHELL_IF:
        walk_list(w, command->branch.condition);
        walk_list(w, command->branch.then);
        walk_list(w, command->branch.otherwise);
        break;
    case SHELL_WHILE:
    case SHELL_UNTIL:
        walk_list(w, command->loop.condition);
        walk_list(w, command->loop.body);
        break;
    case SHELL_FOR:
    case SHELL_SELECT:
        walk_words(w, command->each.name);
        walk_words(w, command->each.words);
        walk_list(w, command->each.body);
        break;
    case SHELL_FOR_ARITH:
        walk_parts(w, command->arith_loop.init);
        walk_parts(w, command->arith_loop.test);
        walk_parts(w, command->arith_loop.step);
        walk_list(w, command->arith_loop.body);
        break;
    case SHELL_CASE:
        walk_words(w, command->choice.subject);
        for (const struct shell_clause *clause = command->choice.clauses; clause;
             clause = clause->next) {
            walk_words(w, clause->patterns);
            walk_list(w, clause->body);
        }
        break;
    case SHELL_FUNCTION:
        walk_words(w, command->function.name);
        walk_command(w, command->function.body);
        break;
    case SHELL_COPROC:
        walk_words(w, command->coproc.name);
        walk_command(w, command->coproc.body);
        break;
    case SHELL_LET:
        walk_parts(w, command->expression);
        break;
    case SHELL_TEST:
        walk_test(w, command->test);
        break;
    }
    for (const struct shell_redirect *each = command->redirects; each; each = each->next)
        walk_parts(w, each->target.parts);
}

static void walk_list(struct walk *w, const struct shell_list *list)
{
    if (!list)
        return;
    for (const struct shell_item *item = list->items; item; item = item->next) {
        for (const struct shell_pipeline *pipeline = item->pipelines; pipeline;
             pipeline = pipeline->next) {
            for (const struct shell_command *command = pipeline->commands; command;
                 command = command->next)
                walk_command(w, command);
        }
    }
}

void shell_each_command(const struct shell_tree *tree, shell_visit *visit, void *user)
{
    struct walk w = {.visit = visit, .user = user};
    walk_list(&w, tree->list);
}
