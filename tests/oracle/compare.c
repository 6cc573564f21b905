/*
 * compare TEXTS ANSWERS [RENDERED]: nacre's reading of each text against bash's own tree.
 *
 * TEXTS are the frames that the oracle was asked, ANSWERS what it said. With RENDERED the canonical
 * text of every accepted text is written there as frames, for a second round: bash's tree of the
 * rendering must be bash's tree of the text.
 *
 * Prints one line for each text on which the two differ, and the sums. Exits with 1 if a text was
 * accepted that bash refuses or reads otherwise.
 *
 * bash keeps words as text. Each such word is read by nacre's own reader and written in canonical
 * form, as nacre's are, so that `x` and $(x) or "a" and 'a' are the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shell/parser.h"
#include "shell/render.h"

/* --- nacre's tree in the oracle's form -------------------------------------------------------- */

static void put_list(struct buf *out, const struct shell_list *list);
static void put_command(struct buf *out, const struct shell_command *command, bool last);

static void put_parts(struct buf *out, const struct shell_part *part, enum word_place place)
{
    struct buf text;
    buf_init(&text, &allocator_libc, SIZE_MAX);
    struct render r = {.out = &text};
    r.documents_tail = &r.documents;
    arena_init(&r.arena, &allocator_libc, SIZE_MAX);
    render_parts(&r, part, place);
    buf_append_format(out, "%zu:", text.len);
    buf_append(out, text.data, text.len);
    arena_release(&r.arena);
    buf_release(&text);
}

static void put_word(struct buf *out, const struct shell_word *word)
{
    buf_append_byte(out, 'w');
    put_parts(out, word->parts, PLACE_WORD);
}

static void put_text(struct buf *out, char kind, const char *bytes, size_t len)
{
    buf_append_format(out, "%c%zu:", kind, len);
    buf_append(out, bytes, len);
}

static void put_assignment(struct buf *out, const struct shell_assignment *assignment)
{
    struct buf text;
    buf_init(&text, &allocator_libc, SIZE_MAX);
    struct render r = {.out = &text};
    r.documents_tail = &r.documents;
    arena_init(&r.arena, &allocator_libc, SIZE_MAX);
    render_assignment(&r, assignment);
    put_text(out, 'a', text.data, text.len);
    arena_release(&r.arena);
    buf_release(&text);
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
            buf_append_text(out, each->quoted ? "quoted d" : "expand d");
            if (each->quoted && each->target.parts)
                put_text(out, 0, each->target.parts->text.bytes, each->target.parts->text.len);
            else
                put_parts(out, each->target.parts, PLACE_DOCUMENT);
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
        buf_append_text(out, " w2:-n");
    } else if (test->op.len) {
        buf_append_byte(out, ' ');
        put_text(out, 'w', test->op.bytes, test->op.len);
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

static void put_empty_or(struct buf *out, const struct shell_part *parts, const char *empty)
{
    if (parts) {
        buf_append_text(out, " s");
        put_parts(out, parts, PLACE_LATE);
    } else {
        buf_append_format(out, " s%zu:%s", strlen(empty), empty);
    }
}

static void put_command(struct buf *out, const struct shell_command *command, bool last)
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
        if (command->each.has_words)
            put_words(out, command->each.words);
        else
            buf_append_text(out, " w6:\"${@}\"");
        buf_append_text(out, ") ");
        put_list(out, command->each.body);
        break;
    case SHELL_FOR_ARITH:
        buf_append_text(out, "(cfor");
        put_empty_or(out, command->arith_loop.init, "1");
        put_empty_or(out, command->arith_loop.test, "1");
        put_empty_or(out, command->arith_loop.step, "1");
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
        put_command(out, command->function.body, true);
        break;
    case SHELL_COPROC:
        buf_append_text(out, "(coproc w");
        if (command->coproc.name)
            put_parts(out, command->coproc.name->parts, PLACE_WORD);
        else
            buf_append_text(out, "6:COPROC");
        buf_append_byte(out, ' ');
        put_command(out, command->coproc.body, true);
        break;
    case SHELL_LET:
        buf_append_text(out, "(arith s");
        put_parts(out, command->expression, PLACE_LATE);
        break;
    case SHELL_TEST:
        buf_append_text(out, "(cond ");
        put_test(out, command->test);
        break;
    }
    put_redirects(out, command->redirects);
    if (command->error_too && !last)
        buf_append_text(out, " (r >& 2 1)");
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
        put_command(out, each, false);
        if (each->next)
            buf_append_byte(out, ' ');
    }
    while (close--)
        buf_append_byte(out, ')');
}

static void put_item(struct buf *out, const struct shell_item *item)
{
    /* A chain to the left: the last operator is the outermost. */
    unsigned count = 0;
    const struct shell_pipeline *ops[4096];
    for (const struct shell_pipeline *each = item->pipelines; each->next && count < 4096;
         each = each->next)
        ops[count++] = each;
    for (unsigned i = count; i-- > 0;)
        buf_append_text(out, ops[i]->or_next ? "(or " : "(and ");
    unsigned n = 0;
    for (const struct shell_pipeline *each = item->pipelines; each; each = each->next, n++) {
        if (n)
            buf_append_byte(out, ' ');
        put_pipeline(out, each);
        if (n)
            buf_append_byte(out, ')');
    }
}

static void put_list(struct buf *out, const struct shell_list *list)
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

/* --- bash's tree with its words in canonical form --------------------------------------------- */

enum piece { PIECE_WORD, PIECE_ASSIGNMENT, PIECE_LATE, PIECE_BODY };

/* Reads one word of bash's by itself. */
static bool read_piece(struct buf *out, enum piece piece, const char *bytes, size_t len,
                       enum word_mode mode)
{
    struct arena arena;
    struct shell_error error;
    arena_init(&arena, &allocator_libc, SIZE_MAX);
    struct parser p = {.arena = &arena, .error = &error};
    char *volatile text = malloc(len + 2);
    bool volatile ok = false;
    size_t before = out->len;
    memcpy(text, bytes, len);
    memcpy(text + len, piece == PIECE_LATE ? ")" : "\0", 2);
    p.source = p.text = p.at = text;
    p.end = text + len + (piece == PIECE_LATE);
    p.now.last = TOKEN_START;
    p.now.pending_tail = &p.now.pending;
    p.extglob = mode == WORD_PATTERN;
    if (!setjmp(p.refused)) {
        struct parts parts = {0};
        struct shell_assignment *assignment;
        switch (piece) {
        case PIECE_ASSIGNMENT:
            ok = scan_assignment(&p, &assignment) && p.at == p.end;
            if (ok)
                put_assignment(out, assignment);
            break;
        case PIECE_WORD:
            p.now.assign_arrays = true;
            scan_word_rest(&p, &parts, mode);
            ok = p.at == p.end;
            if (ok) {
                buf_append_byte(out, 'w');
                put_parts(out, parts.first, PLACE_WORD);
            }
            break;
        case PIECE_LATE:
            parts.first = scan_late(&p, LATE_ARITH, p.at);
            ok = p.at + 1 == p.end;
            if (ok) {
                buf_append_byte(out, 's');
                put_parts(out, parts.first, PLACE_LATE);
            }
            break;
        case PIECE_BODY:
            scan_document(&p, &parts);
            ok = p.at == p.end;
            if (ok) {
                buf_append_byte(out, 'd');
                put_parts(out, parts.first, PLACE_DOCUMENT);
            }
            break;
        }
    }
    if (!ok)
        out->len = before;
    arena_release(&arena);
    free(text);
    return ok;
}

static void put_bash_piece(struct buf *out, char kind, const char *bytes, size_t len)
{
    static const enum word_mode MODES[] = {WORD_PLAIN, WORD_PATTERN, WORD_REGEX};
    enum piece piece = kind == 'a'   ? PIECE_ASSIGNMENT
                       : kind == 's' ? PIECE_LATE
                       : kind == 'd' ? PIECE_BODY
                                     : PIECE_WORD;
    for (size_t i = 0; i < 3; i++) {
        if (read_piece(out, piece, bytes, len, MODES[i]))
            return;
    }
    put_text(out, kind, bytes, len);
}

/* Copies the dump, each word in canonical form. */
static void put_bash(struct buf *out, const char *at, const char *end)
{
    bool document = false;
    char quoted = 0;
    while (at < end) {
        bool starts = strchr("wasd", *at) && at + 1 < end && at[1] >= '0' && at[1] <= '9';
        if (!starts) {
            if (!strncmp(at, "(r <<- ", 7) || !strncmp(at, "(r << ", 6)) {
                buf_append_text(out, "(r << ");
                at += at[5] == '-' ? 7 : 6;
                document = true;
                continue;
            }
            if (document && !strncmp(at, "quoted ", 7))
                quoted = 1;
            buf_append_byte(out, *at++);
            continue;
        }
        char kind = *at++;
        char *colon;
        size_t len = strtoul(at, &colon, 10);
        const char *bytes = colon + 1;
        at = bytes + len;
        if (document && kind == 's') {
            /* The delimiter is not part of the comparison, the body is. */
            document = false;
            const char *mode = at + 1;
            quoted = *mode == 'q';
            buf_append_text(out, quoted ? "quoted d" : "expand ");
            at = mode + 7 + 1;
            size_t body = strtoul(at, &colon, 10);
            if (quoted)
                put_text(out, 0, colon + 1, body);
            else
                put_bash_piece(out, 'd', colon + 1, body);
            at = colon + 1 + body;
            continue;
        }
        put_bash_piece(out, kind, bytes, len);
    }
}

/* --- frames ----------------------------------------------------------------------------------- */

struct file {
    char *bytes;
    size_t len, at;
};

static struct file read_file(const char *path)
{
    struct file file = {0};
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        fprintf(stderr, "compare: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    fseek(stream, 0, SEEK_END);
    file.len = (size_t)ftell(stream);
    rewind(stream);
    file.bytes = malloc(file.len + 1);
    if (fread(file.bytes, 1, file.len, stream) != file.len)
        exit(2);
    file.bytes[file.len] = 0;
    fclose(stream);
    return file;
}

static bool next_text(struct file *file, const char **bytes, size_t *len)
{
    if (file->at >= file->len)
        return false;
    char *end;
    *len = strtoul(file->bytes + file->at, &end, 10);
    *bytes = end + 1;
    file->at = (size_t)(*bytes - file->bytes) + *len;
    return true;
}

static bool next_answer(struct file *file, char *status, const char **bytes, size_t *len)
{
    if (file->at >= file->len)
        return false;
    *status = file->bytes[file->at];
    file->at = (size_t)(strchr(file->bytes + file->at, ' ') + 1 - file->bytes);
    if (!next_text(file, bytes, len))
        return false;
    file->at++;
    return true;
}

static void show(const char *what, const char *bytes, size_t len)
{
    printf("%s: ", what);
    for (size_t i = 0; i < len && i < 600; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n')
            printf("\\n");
        else if (c < ' ' || c > 126)
            printf("\\x%02x", c);
        else
            putchar(c);
    }
    putchar('\n');
}

static struct {
    size_t texts, both, neither, differ, accepted, refused, unsteady;
} sums;

/* parse(render(t)) = t */
static void check_steady(const char *text, size_t len, const struct buf *skeleton,
                         const struct buf *rendered)
{
    struct arena arena;
    struct shell_error error;
    const struct shell_tree *tree;
    struct buf again, once_more;
    buf_init(&again, &allocator_libc, SIZE_MAX);
    buf_init(&once_more, &allocator_libc, SIZE_MAX);
    arena_init(&arena, &allocator_libc, SIZE_MAX);
    if (shell_parse(&arena, rendered->data, rendered->len, &tree, &error) < 0) {
        buf_append_text(&again, error.message);
    } else {
        put_list(&again, tree->list);
        shell_render(tree, &once_more);
    }
    bool same = again.len == skeleton->len && !memcmp(again.data, skeleton->data, again.len);
    bool fixed =
        once_more.len == rendered->len && !memcmp(once_more.data, rendered->data, rendered->len);
    if (!same || !fixed) {
        sums.unsteady++;
        puts(same ? "NOT A FIXED POINT" : "RENDERING READS OTHERWISE");
        show("  text", text, len);
        show("  rendered", rendered->data, rendered->len);
        show(same ? "  again" : "  tree", same ? once_more.data : skeleton->data,
             same ? once_more.len : skeleton->len);
        if (!same)
            show("  then", again.data, again.len);
    }
    arena_release(&arena);
    buf_release(&again);
    buf_release(&once_more);
}

static void compare(const char *text, size_t len, char status, const char *answer,
                    size_t answer_len, FILE *rendered)
{
    struct arena arena;
    struct shell_error error;
    const struct shell_tree *tree;
    struct buf ours, theirs, canonical;
    buf_init(&ours, &allocator_libc, SIZE_MAX);
    buf_init(&theirs, &allocator_libc, SIZE_MAX);
    buf_init(&canonical, &allocator_libc, SIZE_MAX);
    arena_init(&arena, &allocator_libc, SIZE_MAX);
    bool bash = status == 'o' && strncmp(answer, "(warning", 8);
    bool nacre = !shell_parse(&arena, text, len, &tree, &error);
    sums.texts++;
    if (nacre) {
        put_list(&ours, tree->list);
        shell_render(tree, &canonical);
        check_steady(text, len, &ours, &canonical);
    }
    if (rendered) {
        fprintf(rendered, "%zu\n", nacre ? canonical.len : 0);
        fwrite(canonical.data, 1, nacre ? canonical.len : 0, rendered);
    }
    if (bash && nacre) {
        put_bash(&theirs, answer, answer + answer_len);
        if (ours.len == theirs.len && !memcmp(ours.data, theirs.data, ours.len)) {
            sums.both++;
        } else {
            sums.differ++;
            puts("DIFFER");
            show("  text", text, len);
            show("  bash", theirs.data, theirs.len);
            show("  nacre", ours.data, ours.len);
        }
    } else if (nacre) {
        sums.accepted++;
        puts("ACCEPTED, bash refuses");
        show("  text", text, len);
        show("  bash", answer, answer_len);
    } else if (bash) {
        sums.refused++;
        printf("REFUSED at %u:%u: %s\n", error.line, error.column, error.message);
        show("  text", text, len);
    } else {
        sums.neither++;
    }
    arena_release(&arena);
    buf_release(&ours);
    buf_release(&theirs);
    buf_release(&canonical);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    struct file texts = read_file(argv[1]), answers = read_file(argv[2]);
    FILE *rendered = argc > 3 ? fopen(argv[3], "wb") : NULL;
    const char *text, *answer;
    size_t len, answer_len;
    char status;
    while (next_text(&texts, &text, &len)) {
        if (!next_answer(&answers, &status, &answer, &answer_len)) {
            fprintf(stderr, "compare: fewer answers than texts\n");
            return 2;
        }
        char *copy = malloc(len + 1);
        memcpy(copy, text, len);
        copy[len] = 0;
        compare(copy, len, status, answer, answer_len, rendered);
        free(copy);
    }
    if (rendered)
        fclose(rendered);
    printf("%zu texts: %zu read alike, %zu refused by both, %zu refused by nacre alone, "
           "%zu accepted by nacre alone, %zu read otherwise, %zu not steady\n",
           sums.texts, sums.both, sums.neither, sums.refused, sums.accepted, sums.differ,
           sums.unsteady);
    return sums.differ || sums.accepted || sums.unsteady;
}
