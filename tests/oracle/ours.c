/* nacre's tree in the oracle's form; see ours.h. */
#include "ours.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell/chars.h"

_Noreturn void die(const char *message)
{
    fprintf(stderr, "compare: %s\n", message);
    exit(2);
}

void buf_start(struct buf *buf)
{
    buf_init(buf, &allocator_libc, SIZE_MAX / 4);
}

void buf_finish(struct buf *buf)
{
    if (buf->failed)
        die("out of memory");
    buf_release(buf);
}

static void put_command(struct buf *out, const struct shell_command *command);
static void put_parts(struct buf *out, const struct shell_part *part);

static unsigned in_substitution;

void put_text(struct buf *out, const char *kind, const char *bytes, size_t len)
{
    buf_append_format(out, "%s%zu:", kind, len);
    buf_append(out, bytes, len);
}

static void put_subscript(struct buf *out, bool there, const struct shell_part *subscript)
{
    if (there) {
        buf_append_text(out, " [");
        put_parts(out, subscript);
        buf_append_byte(out, ']');
    }
}

void put_assignment(struct buf *out, const struct shell_assignment *assignment)
{
    buf_append_byte(out, 'a');
    put_text(out, "", assignment->name.bytes, assignment->name.len);
    put_subscript(out, assignment->has_subscript, assignment->subscript);
    buf_append_text(out, assignment->append ? "+=" : "=");
    put_parts(out, assignment->value.parts);
}

static void put_param(struct buf *out, const struct shell_param *param)
{
    buf_append_format(out, "(param%s%s%s ", param->length ? " length" : "",
                      param->indirect ? " indirect" : "", param->bad ? " bad" : "");
    put_text(out, "", param->name.bytes, param->name.len);
    put_subscript(out, param->has_subscript, param->subscript);
    put_text(out, " ", param->op.bytes, param->op.len);
    put_parts(out, param->operand);
    buf_append_byte(out, ')');
}

/* A run of parts that are all text, or all quoted text, is one. */
static const struct shell_part *put_texts(struct buf *out, const struct shell_part *part)
{
    size_t len = 0;
    const struct shell_part *end = part;
    for (; end && end->kind == part->kind; end = end->next)
        len += end->text.len;
    if (!len && part->kind == SHELL_TEXT)
        return end;
    buf_append_format(out, part->kind == SHELL_TEXT ? " %zu:" : " quoted %zu:", len);
    for (; part != end; part = part->next)
        buf_append(out, part->text.bytes, part->text.len);
    return end;
}

static void put_parts(struct buf *out, const struct shell_part *part)
{
    while (part) {
        switch (part->kind) {
        case SHELL_TEXT:
        case SHELL_QUOTED:
            part = put_texts(out, part);
            continue;
        case SHELL_DOUBLE:
            buf_append_text(out, "(double");
            put_parts(out, part->parts);
            break;
        case SHELL_PARAM:
            put_param(out, part->param);
            part = part->next;
            continue;
        case SHELL_ARITH:
            buf_append_text(out, "($((");
            put_parts(out, part->parts);
            break;
        case SHELL_COMMAND:
        case SHELL_PROCESS:
            buf_append_format(out, "(%c ", part->kind == SHELL_PROCESS ? part->op : '$');
            in_substitution++;
            put_list(out, part->list);
            in_substitution--;
            break;
        case SHELL_EXTGLOB:
            buf_append_format(out, "(glob %c", part->op ? part->op : '-');
            put_parts(out, part->parts);
            break;
        case SHELL_ARRAY:
            buf_append_text(out, "(array");
            for (const struct shell_assignment *each = part->elements; each; each = each->next) {
                buf_append_byte(out, ' ');
                put_assignment(out, each);
            }
            break;
        }
        buf_append_byte(out, ')');
        part = part->next;
    }
}

void put_word(struct buf *out, const struct shell_word *word)
{
    buf_append_byte(out, 'w');
    put_parts(out, word->parts);
}

static void put_words(struct buf *out, const struct shell_word *word)
{
    for (; word; word = word->next) {
        buf_append_byte(out, ' ');
        put_word(out, word);
    }
}

static bool is_digits(const struct shell_text *text, uint32_t len)
{
    if (!len || len > 10)
        return false;
    uint64_t number = 0;
    for (uint32_t i = 0; i < len; i++) {
        if (!char_is(text->bytes[i], CHAR_DIGIT))
            return false;
        number = number * 10 + (uint64_t)(text->bytes[i] - '0');
    }
    return number <= INT32_MAX;
}

/* >&3, >&-, >&3-, >&$x, >&$x-: bash tells them apart when it reads them. */
static void put_duplicate(struct buf *out, const struct shell_redirect *each, const char *fd)
{
    const char *op = each->kind == SHELL_REDIRECT_DUP_IN ? "<&" : ">&";
    const struct shell_part *part = each->target.parts;
    const struct shell_part *last = part;
    while (last && last->next)
        last = last->next;
    bool text = part && part == last && part->kind == SHELL_TEXT;
    if (text && part->text.len == 1 && part->text.bytes[0] == '-') {
        buf_append_format(out, "(r close %s)", fd);
    } else if (text && is_digits(&part->text, part->text.len)) {
        buf_append_format(out, "(r %s %s %d)", op, fd, (int)strtol(part->text.bytes, NULL, 10));
    } else if (last && last->kind == SHELL_TEXT && last->text.len &&
               last->text.bytes[last->text.len - 1] == '-') {
        struct shell_part *shorter = (struct shell_part *)last;
        shorter->text.len--;
        if (text && is_digits(&part->text, part->text.len)) {
            buf_append_format(out, "(r %s-move %s %d)", op, fd,
                              (int)strtol(part->text.bytes, NULL, 10));
        } else {
            buf_append_format(out, "(r %s-moveword %s ", op, fd);
            put_word(out, &each->target);
            buf_append_byte(out, ')');
        }
        shorter->text.len++;
    } else {
        buf_append_format(out, "(r %sword %s ", op, fd);
        put_word(out, &each->target);
        buf_append_byte(out, ')');
    }
}

void put_document(struct buf *out, const struct shell_part *parts)
{
    buf_append_byte(out, 'd');
    put_parts(out, parts);
}

static void put_redirects(struct buf *out, const struct shell_redirect *each)
{
    static const char *const OPERATORS[] = {
        [SHELL_REDIRECT_IN] = "<",           [SHELL_REDIRECT_OUT] = ">",
        [SHELL_REDIRECT_APPEND] = ">>",      [SHELL_REDIRECT_CLOBBER] = ">|",
        [SHELL_REDIRECT_BOTH_WAYS] = "<>",   [SHELL_REDIRECT_ALL] = "&>",
        [SHELL_REDIRECT_ALL_APPEND] = "&>>", [SHELL_REDIRECT_STRING] = "<<<",
        [SHELL_REDIRECT_DOCUMENT] = "<<",
    };
    for (; each; each = each->next) {
        char fd[300];
        if (each->fd_name.len)
            snprintf(fd, sizeof(fd), "{%.*s}", (int)each->fd_name.len, each->fd_name.bytes);
        else
            snprintf(fd, sizeof(fd), "%u", each->fd);
        buf_append_byte(out, ' ');
        if (each->kind == SHELL_REDIRECT_DUP_IN || each->kind == SHELL_REDIRECT_DUP_OUT) {
            put_duplicate(out, each, fd);
            continue;
        }
        buf_append_format(out, "(r %s %s ", OPERATORS[each->kind], fd);
        if (each->kind == SHELL_REDIRECT_DOCUMENT) {
            const struct shell_part *body = each->target.parts;
            buf_append_text(out, each->quoted ? "quoted " : "expand ");
            if (each->quoted)
                put_text(out, "d", body ? body->text.bytes : "", body ? body->text.len : 0);
            else
                put_document(out, body);
        } else {
            put_word(out, &each->target);
        }
        buf_append_byte(out, ')');
    }
}

static void put_test(struct buf *out, const struct shell_test *test)
{
    static const char *const NAMES[] = {
        [SHELL_TEST_AND] = "(&&",        [SHELL_TEST_OR] = "(||",
        [SHELL_TEST_GROUP] = "(paren",   [SHELL_TEST_UNARY] = "(unary",
        [SHELL_TEST_BINARY] = "(binary", [SHELL_TEST_WORD] = "(unary"};
    if (test->negated)
        buf_append_text(out, "(not ");
    buf_append_text(out, NAMES[test->kind]);
    if (test->kind == SHELL_TEST_WORD) {
        buf_append_text(out, " w 2:-n");
    } else if (test->op.len) {
        buf_append_byte(out, ' ');
        put_text(out, "w ", test->op.bytes, test->op.len);
    }
    for (int i = 0; i < 2; i++) {
        const struct shell_test *inner = i ? test->right : test->left;
        if (inner) {
            buf_append_byte(out, ' ');
            put_test(out, inner);
        }
    }
    put_words(out, test->word);
    put_words(out, test->other);
    buf_append_text(out, test->negated ? "))" : ")");
}

void put_late(struct buf *out, const struct shell_part *parts)
{
    buf_append_byte(out, 's');
    put_parts(out, parts);
}

/* Where bash prints commands anew, a function's body gets braces. */
static void put_body(struct buf *out, const struct shell_command *body)
{
    bool braces = in_substitution && body->kind != SHELL_GROUP;
    if (braces)
        buf_append_text(out, "(group ");
    put_command(out, body);
    if (braces)
        buf_append_byte(out, ')');
}

static void put_command(struct buf *out, const struct shell_command *command)
{
    switch (command->kind) {
    case SHELL_SIMPLE:
        buf_append_text(out, "(simple");
        for (const struct shell_assignment *each = command->simple.assignments; each;
             each = each->next) {
            buf_append_byte(out, ' ');
            put_assignment(out, each);
        }
        put_words(out, command->simple.words);
        break;
    case SHELL_SUBSHELL:
    case SHELL_GROUP:
        buf_append_text(out, command->kind == SHELL_GROUP ? "(group " : "(subshell ");
        put_list(out, command->body);
        break;
    case SHELL_IF:
        buf_append_text(out, "(if ");
        put_list(out, command->branch.condition);
        buf_append_byte(out, ' ');
        put_list(out, command->branch.then);
        if (command->branch.otherwise) {
            buf_append_byte(out, ' ');
            put_list(out, command->branch.otherwise);
        }
        break;
    case SHELL_WHILE:
    case SHELL_UNTIL:
        buf_append_text(out, command->kind == SHELL_WHILE ? "(while " : "(until ");
        put_list(out, command->loop.condition);
        buf_append_byte(out, ' ');
        put_list(out, command->loop.body);
        break;
    case SHELL_FOR:
    case SHELL_SELECT:
        buf_append_text(out, command->kind == SHELL_FOR ? "(for " : "(select ");
        put_word(out, command->each.name);
        buf_append_text(out, " (in");
        put_words(out, command->each.words);
        buf_append_text(out, ") ");
        put_list(out, command->each.body);
        break;
    case SHELL_FOR_ARITH:
        buf_append_text(out, "(cfor");
        for (int i = 0; i < 3; i++) {
            buf_append_byte(out, ' ');
            put_late(out, i == 0   ? command->arith_loop.init
                          : i == 1 ? command->arith_loop.test
                                   : command->arith_loop.step);
        }
        buf_append_byte(out, ' ');
        put_list(out, command->arith_loop.body);
        break;
    case SHELL_CASE: {
        static const char *const ENDS[] = {
            [SHELL_CLAUSE_BREAK] = ";;", [SHELL_CLAUSE_FALL] = ";&", [SHELL_CLAUSE_TEST] = ";;&"};
        buf_append_text(out, "(case ");
        put_word(out, command->choice.subject);
        for (const struct shell_clause *each = command->choice.clauses; each; each = each->next) {
            buf_append_text(out, " (clause (");
            for (const struct shell_word *word = each->patterns; word; word = word->next) {
                put_word(out, word);
                if (word->next)
                    buf_append_byte(out, ' ');
            }
            buf_append_text(out, ") ");
            put_list(out, each->body);
            buf_append_format(out, " %s)", ENDS[each->end]);
        }
        break;
    }
    case SHELL_FUNCTION:
        buf_append_text(out, "(function ");
        put_word(out, command->function.name);
        buf_append_byte(out, ' ');
        put_body(out, command->function.body);
        break;
    case SHELL_COPROC:
        buf_append_text(out, "(coproc ");
        if (command->coproc.name)
            put_word(out, command->coproc.name);
        else
            buf_append_text(out, "w 6:COPROC");
        buf_append_byte(out, ' ');
        put_command(out, command->coproc.body);
        break;
    case SHELL_LET:
        buf_append_text(out, "(arith ");
        put_late(out, command->expression);
        break;
    case SHELL_TEST:
        buf_append_text(out, "(cond ");
        put_test(out, command->test);
        break;
    }
    put_redirects(out, command->redirects);
    buf_append_byte(out, ')');
}

static void put_pipeline(struct buf *out, const struct shell_pipeline *pipeline)
{
    unsigned close = 0;
    if (pipeline->timing != SHELL_NOT_TIMED) {
        buf_append_text(out, pipeline->timing == SHELL_TIMED ? "(time " : "(timep ");
        close++;
    }
    if (pipeline->negated) {
        buf_append_text(out, "(not ");
        close++;
    }
    if (pipeline->commands->next) {
        buf_append_text(out, "(pipe ");
        close++;
    }
    for (const struct shell_command *each = pipeline->commands; each; each = each->next) {
        put_command(out, each);
        if (each->next)
            buf_append_byte(out, ' ');
    }
    while (close--)
        buf_append_byte(out, ')');
}

static void put_item(struct buf *out, const struct shell_item *item)
{
    /* A chain to the left: the last operator is the outermost. */
    struct buf ops;
    buf_start(&ops);
    for (const struct shell_pipeline *each = item->pipelines; each->next; each = each->next)
        buf_append_byte(&ops, each->or_next ? '|' : '&');
    for (size_t i = ops.len; i-- > 0;)
        buf_append_text(out, ops.data[i] == '|' ? "(or " : "(and ");
    buf_finish(&ops);
    unsigned n = 0;
    for (const struct shell_pipeline *each = item->pipelines; each; each = each->next, n++) {
        if (n)
            buf_append_byte(out, ' ');
        put_pipeline(out, each);
        if (n)
            buf_append_byte(out, ')');
    }
}

void put_list(struct buf *out, const struct shell_list *list)
{
    const struct shell_item *item = list ? list->items : NULL;
    if (item && !item->next && item->end != SHELL_END_BACKGROUND) {
        put_item(out, item);
        return;
    }
    buf_append_text(out, "(list");
    for (; item; item = item->next) {
        buf_append_text(out, item->end == SHELL_END_BACKGROUND ? " (bg " : " ");
        put_item(out, item);
        if (item->end == SHELL_END_BACKGROUND)
            buf_append_byte(out, ')');
    }
    buf_append_byte(out, ')');
}
