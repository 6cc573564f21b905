/* bash's own tree as text; see tree.h. */
#include "tree.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <y.tab.h>

static void *resize(void *old, size_t size)
{
    void *grown = realloc(old, size);
    if (!grown)
        abort();
    return grown;
}

void bytes_reserve(struct bytes *b, size_t more)
{
    if (b->room - b->len >= more)
        return;
    b->room = (b->len + more) * 2;
    b->data = resize(b->data, b->room);
}

void bytes_add(struct bytes *b, const void *data, size_t len)
{
    bytes_reserve(b, len);
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

void bytes_text(struct bytes *b, const char *text)
{
    bytes_add(b, text, strlen(text));
}

void bytes_number(struct bytes *b, long long number)
{
    char digits[32];
    bytes_add(b, digits, (size_t)snprintf(digits, sizeof(digits), "%lld", number));
}

int write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

void add_frame(struct bytes *b, const char *kind, const char *data, size_t len)
{
    bytes_text(b, kind);
    bytes_text(b, " ");
    bytes_number(b, (long long)len);
    bytes_text(b, "\n");
    bytes_add(b, data, len);
    bytes_text(b, "\n");
}

static void parts_push(struct parts *p, COMMAND *command, int mark)
{
    if (p->len == p->room) {
        p->room = p->room ? p->room * 2 : 16;
        p->items = resize(p->items, p->room * sizeof(*p->items));
    }
    p->items[p->len++] = (struct part){.command = command, .mark = mark};
}

static enum connection_class class_of(const COMMAND *command)
{
    if (command->type != cm_connection)
        return CONNECTION_NONE;
    switch (command->value.Connection->connector) {
    case ';':
    case '&':
    case '\n':
        return CONNECTION_LIST;
    case AND_AND:
    case OR_OR:
        return CONNECTION_CHAIN;
    case '|':
        return CONNECTION_PIPE;
    default:
        return CONNECTION_NONE;
    }
}

/*
 * Appends the parts of `root` in the order of the text, however bash nested them. The tree of a
 * long script is as deep as the script is long, hence a stack of our own and no recursion.
 *
 * The mark of a list's part is 1 when it runs in the background: `(a & b) &` in the tree is what
 * `a & b &` looks like, so an `&` belongs to the last part of what is before it. The mark of a
 * chain's part is the operator before it (0 for the first). A pipeline has no marks.
 */
void flatten(struct parts *parts, COMMAND *root, enum connection_class class)
{
    struct parts pending = {0};
    parts_push(&pending, root, 0);
    while (pending.len) {
        struct part next = pending.items[--pending.len];
        bool wrapped = next.command->flags & (CMD_INVERT_RETURN | CMD_TIME_PIPELINE);
        if (class_of(next.command) != class || (wrapped && next.command != root)) {
            parts_push(parts, next.command, next.mark);
            continue;
        }
        const CONNECTION *c = next.command->value.Connection;
        int first = next.mark, second = next.mark;
        if (class == CONNECTION_LIST)
            first = c->connector == '&';
        if (class == CONNECTION_CHAIN)
            second = c->connector;
        if (c->second)
            parts_push(&pending, c->second, second);
        if (c->first)
            parts_push(&pending, c->first, first);
    }
    free(pending.items);
}

static void write_command(struct dump *d, COMMAND *command);

static void write_string(struct dump *d, char kind, const char *text)
{
    if (!text) {
        d->unknown = "a string that is NULL";
        return;
    }
    size_t len = strlen(text);
    bytes_add(&d->out, &kind, 1);
    bytes_number(&d->out, (long long)len);
    bytes_text(&d->out, ":");
    bytes_add(&d->out, text, len);
}

static void write_word(struct dump *d, const WORD_DESC *word)
{
    write_string(d, 'w', word ? word->word : NULL);
}

/* Each with a space before it. */
static void write_words(struct dump *d, const WORD_LIST *words)
{
    for (; words; words = words->next) {
        bytes_text(&d->out, " ");
        write_word(d, words->word);
    }
}

/* What bash keeps as a list of words, but always fills with one. */
static void write_expression(struct dump *d, const WORD_LIST *words)
{
    bytes_text(&d->out, " ");
    if (!words || words->next)
        d->unknown = "an expression that is not one word";
    else
        write_string(d, 's', words->word->word);
}

void write_parts_as_list(struct dump *d, const struct parts *parts)
{
    bool bare = parts->len == 1 && !parts->items[0].mark;
    if (!bare)
        bytes_text(&d->out, "(list");
    for (size_t i = 0; i < parts->len; i++) {
        if (!bare)
            bytes_text(&d->out, " ");
        if (parts->items[i].mark)
            bytes_text(&d->out, "(bg ");
        write_command(d, parts->items[i].command);
        if (parts->items[i].mark)
            bytes_text(&d->out, ")");
    }
    if (!bare)
        bytes_text(&d->out, ")");
}

static void write_chain(struct dump *d, const struct parts *parts)
{
    for (size_t i = parts->len; i-- > 1;)
        bytes_text(&d->out, parts->items[i].mark == AND_AND ? "(and " : "(or ");
    for (size_t i = 0; i < parts->len; i++) {
        if (i)
            bytes_text(&d->out, " ");
        write_command(d, parts->items[i].command);
        if (i)
            bytes_text(&d->out, ")");
    }
}

static void write_pipeline(struct dump *d, const struct parts *parts)
{
    bytes_text(&d->out, "(pipe");
    for (size_t i = 0; i < parts->len; i++) {
        bytes_text(&d->out, " ");
        write_command(d, parts->items[i].command);
    }
    bytes_text(&d->out, ")");
}

static void write_connection(struct dump *d, COMMAND *command)
{
    struct parts parts = {0};
    enum connection_class class = class_of(command);
    if (class == CONNECTION_NONE) {
        d->unknown = "an unknown connection";
        return;
    }
    flatten(&parts, command, class);
    if (class == CONNECTION_LIST)
        write_parts_as_list(d, &parts);
    else if (class == CONNECTION_CHAIN)
        write_chain(d, &parts);
    else
        write_pipeline(d, &parts);
    free(parts.items);
}

/* Where bash may have nothing at all: the body of a case clause. */
static void write_body(struct dump *d, COMMAND *command)
{
    bytes_text(&d->out, " ");
    if (command)
        write_command(d, command);
    else
        bytes_text(&d->out, "(list)");
}

enum target { TARGET_WORD, TARGET_NUMBER, TARGET_DOCUMENT, TARGET_NONE };

static const struct {
    const char *name;
    enum target target;
} redirections[] = {
    [r_input_direction] = {"<", TARGET_WORD},
    [r_output_direction] = {">", TARGET_WORD},
    [r_appending_to] = {">>", TARGET_WORD},
    [r_output_force] = {">|", TARGET_WORD},
    [r_input_output] = {"<>", TARGET_WORD},
    [r_reading_until] = {"<<", TARGET_DOCUMENT},
    [r_deblank_reading_until] = {"<<-", TARGET_DOCUMENT},
    [r_reading_string] = {"<<<", TARGET_WORD},
    [r_duplicating_input] = {"<&", TARGET_NUMBER},
    [r_duplicating_output] = {">&", TARGET_NUMBER},
    [r_duplicating_input_word] = {"<&word", TARGET_WORD},
    [r_duplicating_output_word] = {">&word", TARGET_WORD},
    [r_close_this] = {"close", TARGET_NONE},
    [r_move_input] = {"<&-move", TARGET_NUMBER},
    [r_move_output] = {">&-move", TARGET_NUMBER},
    [r_move_input_word] = {"<&-moveword", TARGET_WORD},
    [r_move_output_word] = {">&-moveword", TARGET_WORD},
    [r_err_and_out] = {"&>", TARGET_WORD},
    [r_append_err_and_out] = {"&>>", TARGET_WORD},
};

static void write_document(struct dump *d, const REDIRECT *r)
{
    const WORD_DESC *body = r->redirectee.filename;
    if (!r->here_doc_eof) {
        /* bash never came to read it; the word is still the delimiter as it was written. */
        bytes_text(&d->out, "unread ");
        write_word(d, body);
        return;
    }
    write_string(d, 's', r->here_doc_eof);
    bytes_text(&d->out, body->flags & W_QUOTED ? " quoted " : " expand ");
    write_string(d, 's', body->word);
}

/* Each with a space before it. */
static void write_redirections(struct dump *d, const REDIRECT *r)
{
    for (; r; r = r->next) {
        size_t kind = (size_t)r->instruction;
        if (kind >= sizeof(redirections) / sizeof(*redirections) || !redirections[kind].name) {
            d->unknown = "an unknown redirection";
            return;
        }
        bytes_text(&d->out, " (r ");
        bytes_text(&d->out, redirections[kind].name);
        bytes_text(&d->out, " ");
        if (r->rflags & REDIR_VARASSIGN) {
            bytes_text(&d->out, "{");
            bytes_text(&d->out, r->redirector.filename->word);
            bytes_text(&d->out, "}");
        } else {
            bytes_number(&d->out, r->redirector.dest);
        }
        if (redirections[kind].target != TARGET_NONE)
            bytes_text(&d->out, " ");
        switch (redirections[kind].target) {
        case TARGET_WORD:
            write_word(d, r->redirectee.filename);
            break;
        case TARGET_NUMBER:
            bytes_number(&d->out, r->redirectee.dest);
            break;
        case TARGET_DOCUMENT:
            write_document(d, r);
            break;
        case TARGET_NONE:
            break;
        }
        bytes_text(&d->out, ")");
    }
}

static void write_simple(struct dump *d, const SIMPLE_COM *simple)
{
    bytes_text(&d->out, "(simple");
    if (d->with_lines) {
        bytes_text(&d->out, "@");
        bytes_number(&d->out, simple->line);
    }
    bool leading = true;
    for (const WORD_LIST *w = simple->words; w; w = w->next) {
        leading = leading && (w->word->flags & W_ASSIGNMENT);
        bytes_text(&d->out, " ");
        write_string(d, leading ? 'a' : 'w', w->word->word);
    }
    write_redirections(d, simple->redirects);
}

static void write_case(struct dump *d, const CASE_COM *command)
{
    bytes_text(&d->out, "(case ");
    write_word(d, command->word);
    for (const PATTERN_LIST *clause = command->clauses; clause; clause = clause->next) {
        bytes_text(&d->out, " (clause (");
        for (const WORD_LIST *w = clause->patterns; w; w = w->next) {
            write_word(d, w->word);
            if (w->next)
                bytes_text(&d->out, " ");
        }
        bytes_text(&d->out, ")");
        write_body(d, clause->action);
        if (clause->flags & CASEPAT_FALLTHROUGH)
            bytes_text(&d->out, " ;&)");
        else if (clause->flags & CASEPAT_TESTNEXT)
            bytes_text(&d->out, " ;;&)");
        else
            bytes_text(&d->out, " ;;)");
    }
}

static void write_condition(struct dump *d, const COND_COM *c)
{
    if (!c) {
        d->unknown = "a condition that is NULL";
        return;
    }
    if (c->flags & CMD_INVERT_RETURN)
        bytes_text(&d->out, "(not ");
    switch (c->type) {
    case COND_AND:
    case COND_OR:
        bytes_text(&d->out, c->type == COND_AND ? "(&& " : "(|| ");
        write_condition(d, c->left);
        bytes_text(&d->out, " ");
        write_condition(d, c->right);
        break;
    case COND_EXPR:
        bytes_text(&d->out, "(paren ");
        write_condition(d, c->left);
        break;
    case COND_UNARY:
    case COND_BINARY:
        bytes_text(&d->out, c->type == COND_UNARY ? "(unary " : "(binary ");
        write_word(d, c->op);
        bytes_text(&d->out, " ");
        write_word(d, c->left ? c->left->op : NULL);
        if (c->type == COND_UNARY)
            break;
        bytes_text(&d->out, " ");
        write_word(d, c->right ? c->right->op : NULL);
        break;
    case COND_TERM:
        bytes_text(&d->out, "(term ");
        write_word(d, c->op);
        break;
    default:
        d->unknown = "an unknown condition";
    }
    bytes_text(&d->out, ")");
    if (c->flags & CMD_INVERT_RETURN)
        bytes_text(&d->out, ")");
}

static void write_loop_over_words(struct dump *d, const char *name, const WORD_DESC *variable,
                                  const WORD_LIST *words, COMMAND *body)
{
    bytes_text(&d->out, name);
    bytes_text(&d->out, " ");
    write_word(d, variable);
    bytes_text(&d->out, " (in");
    write_words(d, words);
    bytes_text(&d->out, ")");
    write_body(d, body);
}

static void write_if(struct dump *d, const IF_COM *command)
{
    bytes_text(&d->out, "(if");
    write_body(d, command->test);
    write_body(d, command->true_case);
    if (command->false_case)
        write_body(d, command->false_case);
}

/* Everything up to the redirections; the caller closes the parenthesis. */
static void write_compound(struct dump *d, const COMMAND *command)
{
    switch (command->type) {
    case cm_simple:
        write_simple(d, command->value.Simple);
        break;
    case cm_subshell:
        bytes_text(&d->out, "(subshell");
        write_body(d, command->value.Subshell->command);
        break;
    case cm_group:
        bytes_text(&d->out, "(group");
        write_body(d, command->value.Group->command);
        break;
    case cm_if:
        write_if(d, command->value.If);
        break;
    case cm_while:
    case cm_until:
        bytes_text(&d->out, command->type == cm_while ? "(while" : "(until");
        write_body(d, command->value.While->test);
        write_body(d, command->value.While->action);
        break;
    case cm_for:
        write_loop_over_words(d, "(for", command->value.For->name, command->value.For->map_list,
                              command->value.For->action);
        break;
    case cm_select:
        write_loop_over_words(d, "(select", command->value.Select->name,
                              command->value.Select->map_list, command->value.Select->action);
        break;
    case cm_arith_for:
        bytes_text(&d->out, "(cfor");
        write_expression(d, command->value.ArithFor->init);
        write_expression(d, command->value.ArithFor->test);
        write_expression(d, command->value.ArithFor->step);
        write_body(d, command->value.ArithFor->action);
        break;
    case cm_case:
        write_case(d, command->value.Case);
        break;
    case cm_function_def:
        bytes_text(&d->out, "(function ");
        write_word(d, command->value.Function_def->name);
        write_body(d, command->value.Function_def->command);
        break;
    case cm_coproc:
        bytes_text(&d->out, "(coproc ");
        write_string(d, 's', command->value.Coproc->name);
        write_body(d, command->value.Coproc->command);
        break;
    case cm_arith:
        bytes_text(&d->out, "(arith");
        write_expression(d, command->value.Arith->exp);
        break;
    case cm_cond:
        bytes_text(&d->out, "(cond ");
        write_condition(d, command->value.Cond);
        break;
    default:
        d->unknown = "an unknown command";
    }
}

static void write_command(struct dump *d, COMMAND *command)
{
    bool timed = command->flags & CMD_TIME_PIPELINE;
    bool inverted = command->flags & CMD_INVERT_RETURN;
    if (timed)
        bytes_text(&d->out, command->flags & CMD_TIME_POSIX ? "(timep " : "(time ");
    if (inverted)
        bytes_text(&d->out, "(not ");
    if (command->type == cm_connection) {
        write_connection(d, command);
        if (command->redirects)
            d->unknown = "a connection with redirections";
    } else {
        write_compound(d, command);
        write_redirections(d, command->redirects);
        bytes_text(&d->out, ")");
    }
    if (inverted)
        bytes_text(&d->out, ")");
    if (timed)
        bytes_text(&d->out, ")");
}
