/*
 * compare TEXTS ANSWERS [RENDERED]: nacre's reading of each text against bash's own tree.
 *
 * TEXTS are the frames that the oracle was asked, ANSWERS what it said. With RENDERED the canonical
 * text of every accepted text is written there as frames, and an empty frame for any other.
 *
 * compare --trees ANSWERS AGAIN TEXTS: bash's trees of the texts against those of their renderings.
 *
 * ANSWERS are the oracle's to TEXTS, AGAIN those to RENDERED, both with -l. The line numbers of
 * simple commands are compared, too.
 *
 * compare --ran TEXTS TRACES: what ran against what the tree has.
 *
 * TRACES has a frame for each text: what bash wrote with `set -x` and a PS4 that begins with the
 * byte 0x1e. Every command in it must be one that shell_each_command finds. Left out are what is
 * no simple command ([[ ]], (( )), the heads of for, select and case) and assignments; so a command
 * whose name looks like one of these is not seen. A text with a command whose name is not known
 * predicts any command.
 *
 * Prints some lines for each text on which the two differ, and the sums. Exits with 1 if a text was
 * accepted that bash refuses, if one was read otherwise, or if a command ran that was not foreseen.
 *
 * bash keeps words as text. Each such word is read by nacre's own reader and written in canonical
 * form, as nacre's are, so that `x` and $(x) or "a" and 'a' are the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ours.h"
#include "shell/parser.h"

/* --- bash's tree with its words in canonical form --------------------------------------------- */

/*
 * A word has a command that bash printed so that nobody can read it, bash neither: a here-document
 * in a list (`a <<E && b`), `time` without a command. Such a text cannot be compared.
 */
static bool misprinted;

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
    /* bash puts a byte 1 before each 1 and 127. */
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == 1 && i + 1 < len && (bytes[i + 1] == 1 || bytes[i + 1] == 127))
            i++;
        text[n++] = bytes[i];
    }
    len = n;
    memcpy(text + len, piece == PIECE_LATE ? ")" : "\0", 2);
    p.source = p.text = p.at = text;
    p.end = text + len + (piece == PIECE_LATE);
    p.now.last = TOKEN_START;
    p.now.pending_tail = &p.now.pending;
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
            if (ok)
                put_word(out, &(struct shell_word){.parts = parts.first});
            break;
        case PIECE_LATE:
            parts.first = scan_late(&p, LATE_ARITH, p.at);
            ok = p.at + 1 == p.end;
            if (ok)
                put_late(out, parts.first);
            break;
        case PIECE_BODY:
            p.now.in_document = true;
            scan_document(&p, &parts);
            ok = p.at == p.end;
            if (ok)
                put_document(out, parts.first);
            break;
        }
    }
    if (!ok)
        out->len = before;
    arena_release(&arena);
    free(text);
    return ok;
}

static void put_bash_piece(struct buf *out, char kind, const char *bytes, size_t len, bool regex)
{
    static const enum word_mode MODES[] = {WORD_PLAIN, WORD_PATTERN, WORD_REGEX};
    enum piece piece = kind == 'a'   ? PIECE_ASSIGNMENT
                       : kind == 's' ? PIECE_LATE
                       : kind == 'd' ? PIECE_BODY
                                     : PIECE_WORD;
    for (size_t i = regex ? 2 : 0; i < 3; i++) {
        if (read_piece(out, piece, bytes, len, MODES[i]))
            return;
    }
    if (memmem(bytes, len, "$(", 2) || memmem(bytes, len, "<(", 2) || memmem(bytes, len, ">(", 2))
        misprinted = true;
    put_text(out, (char[]){kind, ' ', 0}, bytes, len);
}

static bool ends_with(const struct buf *out, const char *end)
{
    size_t len = strlen(end);
    return out->len >= len && !memcmp(out->data + out->len - len, end, len);
}

/* Copies the dump, each word in canonical form; the lines of simple commands go to `lines`. */
static void put_bash(struct buf *out, struct buf *lines, const char *at, const char *end)
{
    bool document = false;
    unsigned regex_in = 0;
    misprinted = false;
    while (at < end) {
        /* A string begins a field: {fd0} of a redirection has none. */
        bool field = *at && strchr("wasd", *at) && (at[-1] == ' ' || at[-1] == '(');
        bool starts = field && at + 1 < end && at[1] >= '0' && at[1] <= '9';
        if (!starts) {
            if (!strncmp(at, "(simple@", 8)) {
                buf_append_text(out, "(simple");
                for (at += 8; char_is(*at, CHAR_DIGIT); at++)
                    buf_append_byte(lines, *at);
                buf_append_byte(lines, ' ');
                continue;
            }
            if (!strncmp(at, "(r <<- ", 7) || !strncmp(at, "(r << ", 6)) {
                buf_append_text(out, "(r << ");
                at += at[5] == '-' ? 7 : 6;
                document = true;
                continue;
            }
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
            bool quoted = *mode == 'q';
            buf_append_text(out, quoted ? "quoted " : "expand ");
            at = mode + 7 + 1;
            size_t body = strtoul(at, &colon, 10);
            if (quoted)
                put_text(out, "d", colon + 1, body);
            else
                put_bash_piece(out, 'd', colon + 1, body, false);
            at = colon + 1 + body;
            continue;
        }
        /* Behind =~ come two words, of which the second is a regular expression. */
        bool regex = regex_in == 1;
        regex_in -= regex_in > 0;
        if (len == 2 && !memcmp(bytes, "=~", 2) && ends_with(out, "(binary "))
            regex_in = 2;
        if (ends_with(out, "(coproc ")) /* its name is kept as a string */
            kind = 'w';
        put_bash_piece(out, kind, bytes, len, regex);
    }
}

/* --- frames ----------------------------------------------------------------------------------- */

struct file {
    char *bytes;
    size_t len, at;
};

static char *copy_of(const char *bytes, size_t len)
{
    char *copy = malloc(len + 1);
    if (!copy)
        die("out of memory");
    memcpy(copy, bytes, len);
    copy[len] = 0;
    return copy;
}

static struct file read_file(const char *path)
{
    struct file file = {0};
    FILE *stream = fopen(path, "rb");
    if (!stream)
        die(path);
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
    size_t misprinted, lines, unforeseen, commands, open;
} sums;

static void show_text(const char *bytes, size_t len)
{
    char what[40];
    snprintf(what, sizeof(what), "  text %zu", sums.texts);
    show(what, bytes, len);
}

/* parse(render(t)) = t */
static void check_steady(const char *text, size_t len, const struct buf *skeleton,
                         const struct buf *rendered)
{
    struct arena arena;
    struct shell_error error;
    const struct shell_tree *tree;
    struct buf again, once_more;
    buf_start(&again);
    buf_start(&once_more);
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
        show_text(text, len);
        show("  rendered", rendered->data, rendered->len);
        show(same ? "  again" : "  tree", same ? once_more.data : skeleton->data,
             same ? once_more.len : skeleton->len);
        if (!same)
            show("  then", again.data, again.len);
    }
    arena_release(&arena);
    buf_finish(&again);
    buf_finish(&once_more);
}

static void compare(const char *text, size_t len, char status, const char *answer,
                    size_t answer_len, FILE *rendered)
{
    struct arena arena;
    struct shell_error error;
    const struct shell_tree *tree;
    struct buf ours, theirs, canonical, lines;
    buf_start(&ours);
    buf_start(&theirs);
    buf_start(&canonical);
    buf_start(&lines);
    arena_init(&arena, &allocator_libc, SIZE_MAX);
    bool bash = status == 'o' && strncmp(answer, "(warning", 8) != 0;
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
        put_bash(&theirs, &lines, answer, answer + answer_len);
        if (ours.len == theirs.len && !memcmp(ours.data, theirs.data, ours.len)) {
            sums.both++;
        } else if (misprinted) {
            sums.misprinted++;
            puts("MISPRINTED");
            show_text(text, len);
        } else {
            sums.differ++;
            puts("DIFFER");
            show_text(text, len);
            show("  bash", theirs.data, theirs.len);
            show("  nacre", ours.data, ours.len);
        }
    } else if (nacre) {
        sums.accepted++;
        puts("ACCEPTED, bash refuses");
        show_text(text, len);
        show("  bash", answer, answer_len);
    } else if (bash) {
        sums.refused++;
        /* bash reads some of a text only when it gets there. */
        bool later = memchr(text, '`', len) || memmem(text, len, "<<", 2);
        printf("REFUSED at %u:%u: %s%s\n", error.line, error.column, error.message,
               later ? " (in a text with backquotes or documents)" : "");
        show_text(text, len);
    } else {
        sums.neither++;
    }
    arena_release(&arena);
    buf_finish(&ours);
    buf_finish(&theirs);
    buf_finish(&canonical);
    buf_finish(&lines);
}

static int compare_readings(const char *texts_path, const char *answers_path, FILE *rendered)
{
    struct file texts = read_file(texts_path), answers = read_file(answers_path);
    const char *text, *answer;
    size_t len, answer_len;
    char status;
    while (next_text(&texts, &text, &len)) {
        if (!next_answer(&answers, &status, &answer, &answer_len))
            die("fewer answers than texts");
        char *copy = copy_of(text, len);
        compare(copy, len, status, answer, answer_len, rendered);
        free(copy);
    }
    printf("%zu texts: %zu read alike, %zu refused by both, %zu refused by nacre alone, "
           "%zu accepted by nacre alone, %zu read otherwise, %zu misprinted, %zu not steady\n",
           sums.texts, sums.both, sums.neither, sums.refused, sums.accepted, sums.differ,
           sums.misprinted, sums.unsteady);
    free(texts.bytes);
    free(answers.bytes);
    return sums.differ || sums.accepted || sums.unsteady;
}

/* --- bash's tree of the text and of the rendering ------------------------------------------- */

static bool same(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static int compare_trees(const char *first_path, const char *again_path, const char *texts_path)
{
    struct file texts = read_file(texts_path);
    struct file first = read_file(first_path), again = read_file(again_path);
    const char *text, *answer, *other;
    size_t len, answer_len, other_len;
    char status, other_status;
    while (next_text(&texts, &text, &len)) {
        if (!next_answer(&first, &status, &answer, &answer_len) ||
            !next_answer(&again, &other_status, &other, &other_len))
            die("fewer answers than texts");
        sums.texts++;
        /* An empty rendering is that of a text that was refused. */
        if (status != 'o' || (other_status == 'o' && other_len == 6 && !memcmp(other, "(list)", 6)))
            continue;
        struct buf trees[2], lines[2];
        for (int i = 0; i < 2; i++) {
            buf_start(&trees[i]);
            buf_start(&lines[i]);
        }
        put_bash(&trees[0], &lines[0], answer, answer + answer_len);
        bool unclear = misprinted;
        if (other_status == 'o')
            put_bash(&trees[1], &lines[1], other, other + other_len);
        else
            buf_append(&trees[1], other, other_len);
        if (unclear) {
            sums.misprinted++;
        } else if (!same(&trees[0], &trees[1])) {
            sums.differ++;
            puts("RENDERING DIFFERS");
            show_text(text, len);
            show("  bash", trees[0].data, trees[0].len);
            show("  rendered", trees[1].data, trees[1].len);
        } else if (!same(&lines[0], &lines[1])) {
            sums.lines++;
            puts("LINES DIFFER");
            show_text(text, len);
            show("  bash", lines[0].data, lines[0].len);
            show("  rendered", lines[1].data, lines[1].len);
        } else {
            sums.both++;
        }
        for (int i = 0; i < 2; i++) {
            buf_finish(&trees[i]);
            buf_finish(&lines[i]);
        }
    }
    printf("%zu texts: %zu rendered alike, %zu rendered otherwise, %zu misprinted, "
           "%zu on other lines\n",
           sums.texts, sums.both, sums.differ, sums.misprinted, sums.lines);
    free(texts.bytes);
    free(first.bytes);
    free(again.bytes);
    return sums.differ > 0;
}

/* --- what ran and what the tree has --------------------------------------------------------- */

/* Names are kept one behind the other, each with a NUL behind it. */
struct names {
    struct buf known;
    bool any; /* a name that is not known */
};

static bool add_name(void *user, const struct shell_command *command)
{
    struct names *names = user;
    if (command->kind != SHELL_SIMPLE || !command->simple.words)
        return true;
    if (!shell_word_known(command->simple.words, &names->known))
        names->any = true;
    buf_append_byte(&names->known, 0);
    return true;
}

static bool has_name(const struct names *names, const struct buf *name)
{
    for (size_t at = 0; at < names->known.len;) {
        size_t len = strlen(names->known.data + at);
        if (len == name->len && !memcmp(names->known.data + at, name->data, len))
            return true;
        at += len + 1;
    }
    return false;
}

static bool begins(const char *at, const char *end, const char *with)
{
    size_t len = strlen(with);
    return (size_t)(end - at) >= len && !memcmp(at, with, len);
}

/* The first word of a line of the trace, which is quoted so that bash could read it. */
static void first_word(struct buf *out, const char *at, const char *end)
{
    while (at < end && *at != ' ' && *at != '\n') {
        const char *quote = *at == '\'' ? memchr(at + 1, '\'', (size_t)(end - at) - 1) : NULL;
        if (quote) {
            buf_append(out, at + 1, (size_t)(quote - at) - 1);
            at = quote + 1;
        } else {
            at += *at == '\\' && at + 1 < end;
            buf_append_byte(out, *at++);
        }
    }
}

/* NAME=, NAME+=, NAME[…]= at the start. */
static bool is_assignment(const char *at, const char *end)
{
    const char *name = at;
    while (at < end && char_is(*at, CHAR_NAME))
        at++;
    if (at == name || char_is(*name, CHAR_DIGIT))
        return false;
    if (at < end && *at == '[') {
        const char *close = memchr(at, ']', (size_t)(end - at));
        while (close && close + 1 < end && close[1] != '=' && close[1] != '+')
            close = memchr(close + 1, ']', (size_t)(end - close) - 1);
        if (!close)
            return false;
        at = close + 1;
    }
    at += at < end && *at == '+';
    return at < end && *at == '=';
}

static void check_line(const struct names *names, const char *text, size_t len, const char *line,
                       const char *end)
{
    static const char *const HEADS[] = {"[[ ", "(( ", "((", "for ", "select ", "case "};
    for (size_t i = 0; i < sizeof(HEADS) / sizeof(HEADS[0]); i++) {
        if (begins(line, end, HEADS[i]))
            return;
    }
    if (is_assignment(line, end))
        return;
    struct buf name;
    buf_start(&name);
    first_word(&name, line, end);
    sums.commands++;
    if (!names->any && !has_name(names, &name)) {
        sums.unforeseen++;
        puts("RAN UNFORESEEN");
        show("  command", line, (size_t)(end - line));
        show_text(text, len);
    }
    buf_finish(&name);
}

static int compare_runs(const char *texts_path, const char *traces_path)
{
    struct file texts = read_file(texts_path), traces = read_file(traces_path);
    const char *text, *trace;
    size_t len, trace_len;
    while (next_text(&texts, &text, &len)) {
        struct arena arena;
        struct shell_error error;
        const struct shell_tree *tree;
        struct names names = {0};
        if (!next_text(&traces, &trace, &trace_len))
            die("fewer traces than texts");
        sums.texts++;
        arena_init(&arena, &allocator_libc, SIZE_MAX);
        buf_start(&names.known);
        char *copy = copy_of(text, len);
        if (shell_parse(&arena, copy, len, &tree, &error) < 0) {
            sums.refused++;
        } else {
            shell_each_command(tree, add_name, &names);
            sums.open += names.any;
            const char *end = trace + trace_len;
            for (const char *at = trace; at < end;) {
                const char *next = memchr(at, 0x1e, (size_t)(end - at));
                next = next ? next : end;
                if (next > at) {
                    const char *line = memchr(at, ' ', (size_t)(next - at));
                    check_line(&names, copy, len, line ? line + 1 : at, next);
                }
                at = next + 1;
            }
        }
        free(copy);
        buf_finish(&names.known);
        arena_release(&arena);
    }
    printf(
        "%zu texts: %zu commands ran, %zu of them unforeseen; %zu texts refused, %zu with a name "
        "that is not known\n",
        sums.texts, sums.commands, sums.unforeseen, sums.refused, sums.open);
    free(texts.bytes);
    free(traces.bytes);
    return sums.unforeseen > 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--trees"))
        return compare_trees(argv[2], argv[3], argv[4]);
    if (argc == 4 && !strcmp(argv[1], "--ran"))
        return compare_runs(argv[2], argv[3]);
    if (argc != 3 && argc != 4)
        die("usage: compare TEXTS ANSWERS [RENDERED] | --trees ANSWERS AGAIN TEXTS | "
            "--ran TEXTS TRACES");
    FILE *rendered = argc == 4 ? fopen(argv[3], "wb") : NULL;
    if (argc == 4 && !rendered)
        die(argv[3]);
    int result = compare_readings(argv[1], argv[2], rendered);
    if (rendered && fclose(rendered))
        die(argv[3]);
    return result;
}
