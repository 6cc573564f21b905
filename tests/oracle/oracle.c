/*
 * A loadable builtin for bash 5.2 that writes bash's own parse tree of the texts it is given and
 * executes none of them. README.md has the protocol and the format.
 *
 * Every text is parsed in a child of its own: bash leaves its parser by longjmp or exit when it
 * meets an error, some texts crash it, and only a fork hands each text a parser that has seen
 * nothing before. With -r a child goes on with further texts as long as bash has nothing to say
 * about them, so that only texts which parse ever meet a used parser.
 */
#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <builtins.h>
#include <shell.h>

#include <bashgetopt.h>
#include <common.h>
#include <y.tab.h>

/* Of bash's own, but in headers that Debian does not install. */
extern int EOF_Reached, current_token, echo_input_at_read, expand_aliases, extended_glob,
    extglob_flag, need_here_doc, parser_state, shell_eof_token;
extern void push_stream(int reset_line_number);
extern void with_input_from_string(char *text, const char *name);
extern void clear_shell_input_line(void);
extern void reset_parser(void);
extern void reset_readahead_token(void);
extern char *parser_remaining_input(void);
/* Only its head: the position is all that is read. */
extern struct {
    int type;
    char *name;
    char *position;
} bash_input;

/* A text that bash reads for longer than this counts as a crash. */
#define SECONDS_PER_TEXT 10

/* ---- bytes that grow ---- */

struct bytes {
    char *data;
    size_t len;
    size_t room;
};

static void *resize(void *old, size_t size)
{
    void *grown = realloc(old, size);
    if (!grown)
        abort();
    return grown;
}

static void bytes_reserve(struct bytes *b, size_t more)
{
    if (b->room - b->len >= more)
        return;
    b->room = (b->len + more) * 2;
    b->data = resize(b->data, b->room);
}

static void bytes_add(struct bytes *b, const void *data, size_t len)
{
    bytes_reserve(b, len);
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

static void bytes_text(struct bytes *b, const char *text)
{
    bytes_add(b, text, strlen(text));
}

static void bytes_number(struct bytes *b, long long number)
{
    char digits[32];
    bytes_add(b, digits, (size_t)snprintf(digits, sizeof(digits), "%lld", number));
}

static int write_all(int fd, const char *data, size_t len)
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

static void add_frame(struct bytes *b, const char *kind, const char *data, size_t len)
{
    bytes_text(b, kind);
    bytes_text(b, " ");
    bytes_number(b, (long long)len);
    bytes_text(b, "\n");
    bytes_add(b, data, len);
    bytes_text(b, "\n");
}

/* ---- the tree ---- */

struct dump {
    struct bytes out;
    bool with_lines;
    /* Set when the tree has a shape that this file does not know. */
    const char *unknown;
};

/* One part of a list, a chain or a pipeline; what `mark` means is told at each flatten function. */
struct part {
    COMMAND *command;
    int mark;
};

struct parts {
    struct part *items;
    size_t len;
    size_t room;
};

static void parts_push(struct parts *p, COMMAND *command, int mark)
{
    if (p->len == p->room) {
        p->room = p->room ? p->room * 2 : 16;
        p->items = resize(p->items, p->room * sizeof(*p->items));
    }
    p->items[p->len++] = (struct part){.command = command, .mark = mark};
}

enum connection_class { CONNECTION_NONE, CONNECTION_LIST, CONNECTION_CHAIN, CONNECTION_PIPE };

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
static void flatten(struct parts *parts, COMMAND *root, enum connection_class class)
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

static void write_parts_as_list(struct dump *d, const struct parts *parts)
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

/* ---- the frames of standard input ---- */

/* What is left of standard input; `start` is where the next frame begins. */
struct input {
    struct bytes bytes;
    size_t start;
};

/* 1 with a frame's text, 0 when more has to be read, -EPROTO when this is no frame. */
static int next_frame(struct input *in, char **text, size_t *len)
{
    const char *head = in->bytes.data + in->start;
    size_t left = in->bytes.len - in->start;
    size_t used = 0, count = 0;
    for (; used < left && head[used] >= '0' && head[used] <= '9'; used++) {
        if (count > SIZE_MAX / 100)
            return -EPROTO;
        count = count * 10 + (size_t)(head[used] - '0');
    }
    if (used == left)
        return 0;
    if (used == 0 || head[used] != '\n')
        return -EPROTO;
    used++;
    if (left - used < count)
        return 0;
    *text = in->bytes.data + in->start + used;
    *len = count;
    in->start += used + count;
    return 1;
}

/* ---- the child ---- */

enum verdict { VERDICT_OK, VERDICT_ERROR };

/* The steps of `bash -c -- TEXT`, except that what has been read is kept instead of run. */
static enum verdict parse(char *text, struct parts *top)
{
    push_stream(1);
    parser_state = need_here_doc = shell_eof_token = EOF_Reached = 0;
    current_token = '\n';
    with_input_from_string(text, "-c");
    clear_shell_input_line();
    /* bash comes back here where it would give up; some of these it survives in a script, but
       every one of them is an error in the text. */
    if (setjmp_nosigs(top_level))
        return VERDICT_ERROR;
    while (*bash_input.position) {
        global_command = NULL;
        if (parse_command() != 0)
            return VERDICT_ERROR;
        if (global_command)
            flatten(top, global_command, CONNECTION_LIST);
    }
    const char *unread = parser_remaining_input();
    if (unread && *unread) {
        fprintf(stderr, "oracle: bash stopped reading before: %s\n", unread);
        return VERDICT_ERROR;
    }
    return VERDICT_OK;
}

/* All that the child wrote to its standard error, which is a file. */
static struct bytes read_complaints(int fd)
{
    struct bytes text = {0};
    for (;;) {
        bytes_reserve(&text, 4096);
        ssize_t n = pread(fd, text.data + text.len, text.room - text.len - 1, (off_t)text.len);
        if (n <= 0)
            break;
        text.len += (size_t)n;
    }
    text.data[text.len] = '\0';
    return text;
}

/*
 * Whether each message is a mere warning. bash starts every message with its name, and quotes
 * text that may have newlines: a line without the name goes on with the message before it.
 */
static bool only_warnings(const char *complaints)
{
    const char *end_of_name = strstr(complaints, ": ");
    if (!end_of_name)
        return !*complaints;
    size_t name_len = (size_t)(end_of_name - complaints) + 2;
    for (const char *line = complaints; line;) {
        const char *next = strchr(line, '\n');
        size_t len = next ? (size_t)(next - line) : strlen(line);
        if (len >= name_len && memcmp(line, complaints, name_len) == 0 &&
            !memmem(line, len, ": warning: ", strlen(": warning: ")))
            return false;
        line = next ? next + 1 : NULL;
    }
    return true;
}

/* How many texts a child has answered, and the bytes of its answers. */
struct progress {
    size_t texts;
    size_t len;
};

/* What the children share with their parent. */
struct desk {
    struct progress *done; /* in shared memory */
    int answers_fd;        /* whole frames, from the start of the file */
    int complaints_fd;
    bool with_lines;
    bool reuse;
    bool extglob;
};

/* The frame for the text; `*clean` tells whether it parsed and bash was silent. */
static struct bytes answer_for(const struct desk *desk, char *text, bool *clean)
{
    struct bytes frame = {0};
    struct parts top = {0};
    enum verdict verdict = parse(text, &top);
    fflush(stderr);
    bool quiet = lseek(STDERR_FILENO, 0, SEEK_CUR) == 0;
    *clean = quiet && verdict == VERDICT_OK;
    struct bytes complaints = {0};
    if (!quiet)
        complaints = read_complaints(desk->complaints_fd);
    if (verdict == VERDICT_ERROR || (!quiet && !only_warnings(complaints.data))) {
        if (quiet)
            bytes_text(&complaints, "bash gave no message\n");
        add_frame(&frame, "error", complaints.data, complaints.len);
        return frame;
    }
    struct dump dump = {.with_lines = desk->with_lines};
    if (!quiet && strstr(complaints.data, "here-document at line"))
        bytes_text(&dump.out, "(warning heredoc-eof) ");
    else if (!quiet)
        bytes_text(&dump.out, "(warning other) ");
    write_parts_as_list(&dump, &top);
    if (dump.unknown)
        add_frame(&frame, "crash", dump.unknown, strlen(dump.unknown));
    else
        add_frame(&frame, "ok", dump.out.data, dump.out.len);
    free(dump.out.data);
    free(top.items);
    return frame;
}

static void child(const struct desk *desk, struct input in, char *text, size_t len)
{
    if (dup2(desk->complaints_fd, STDERR_FILENO) < 0)
        _exit(1);
    for (bool fresh = true;; fresh = false) {
        /* An alarm is the cheapest limit: the parent needs no timer of its own. */
        alarm(SECONDS_PER_TEXT);
        char behind = text[len];
        text[len] = '\0';
        bool clean;
        struct bytes frame = answer_for(desk, text, &clean);
        text[len] = behind;
        /* Whatever is not clean has to come from a fresh parser: the parent starts one. */
        if ((!clean && !fresh) || write_all(desk->answers_fd, frame.data, frame.len) < 0)
            break;
        desk->done->len += frame.len;
        desk->done->texts++;
        free(frame.data);
        if (!desk->reuse || !clean || next_frame(&in, &text, &len) <= 0 || memchr(text, '\0', len))
            break;
        reset_parser();
        reset_readahead_token();
        extended_glob = desk->extglob;
    }
    /* No exit handlers: they are bash's, and its buffers belong to the parent. */
    _exit(0);
}

/* ---- the parent ---- */

static int rewind_file(int fd)
{
    if (lseek(fd, 0, SEEK_END) == 0)
        return 0;
    if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    return 0;
}

static void add_death(const struct desk *desk, struct bytes *out, int status)
{
    struct bytes complaints = read_complaints(desk->complaints_fd);
    const char *kind = "error";
    if (WIFSIGNALED(status)) {
        kind = "crash";
        bytes_text(&complaints, "killed by signal ");
        bytes_number(&complaints, WTERMSIG(status));
        if (WTERMSIG(status) == SIGALRM)
            bytes_text(&complaints, " (out of time)");
    } else if (!complaints.len) {
        bytes_text(&complaints, "bash exited with ");
        bytes_number(&complaints, WEXITSTATUS(status));
    }
    add_frame(out, kind, complaints.data, complaints.len);
    free(complaints.data);
}

/* Adds the answer to the text to `out`, and those to further texts that the child came to. */
static int handle(const struct desk *desk, struct bytes *out, struct input *in, char *text,
                  size_t len)
{
    if (memchr(text, '\0', len)) {
        static const char message[] = "oracle: the text has a NUL byte";
        add_frame(out, "error", message, sizeof(message) - 1);
        return 0;
    }
    int failed = rewind_file(desk->complaints_fd);
    if (failed < 0)
        return failed;
    if (lseek(desk->answers_fd, 0, SEEK_SET) < 0)
        return -errno;
    desk->done->texts = desk->done->len = 0;
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0)
        child(desk, *in, text, len);
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    if (!desk->done->texts) {
        add_death(desk, out, status);
        return 0;
    }
    bytes_reserve(out, desk->done->len);
    ssize_t n = pread(desk->answers_fd, out->data + out->len, desk->done->len, 0);
    if (n < 0 || (size_t)n != desk->done->len)
        return n < 0 ? -errno : -EIO;
    out->len += (size_t)n;
    for (size_t i = 1; i < desk->done->texts; i++)
        next_frame(in, &text, &len);
    return 0;
}

/* 1 when something came, 0 at the end. */
static int read_more(struct input *in)
{
    if (in->start) {
        memmove(in->bytes.data, in->bytes.data + in->start, in->bytes.len - in->start);
        in->bytes.len -= in->start;
        in->start = 0;
    }
    /* One byte more than is read: the terminator of a text at the very end. */
    bytes_reserve(&in->bytes, 65537);
    for (;;) {
        ssize_t n = read(STDIN_FILENO, in->bytes.data + in->bytes.len, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        in->bytes.len += (size_t)n;
        return n > 0;
    }
}

static int flush_output(struct bytes *out)
{
    int failed = write_all(STDOUT_FILENO, out->data, out->len);
    out->len = 0;
    return failed;
}

static int handle_all(const struct desk *desk)
{
    struct input in = {0};
    struct bytes out = {0};
    int status = read_more(&in);
    while (status > 0) {
        char *text;
        size_t len;
        status = next_frame(&in, &text, &len);
        if (status > 0) {
            status = handle(desk, &out, &in, text, len);
            if (status == 0)
                status = out.len < 65536 ? 1 : (flush_output(&out) < 0 ? -EIO : 1);
        } else if (status == 0) {
            /* Whoever waits for an answer before the next question has to get it now. */
            status = flush_output(&out);
            if (status == 0)
                status = read_more(&in);
            if (status == 0 && in.bytes.len)
                status = -EPROTO;
        }
    }
    int failed = flush_output(&out);
    free(in.bytes.data);
    free(out.data);
    return status < 0 ? status : failed;
}

static int open_desk(struct desk *desk)
{
    desk->done =
        mmap(NULL, sizeof(*desk->done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    desk->answers_fd = memfd_create("oracle-answers", MFD_CLOEXEC);
    desk->complaints_fd = memfd_create("oracle-complaints", MFD_CLOEXEC);
    if (desk->done == MAP_FAILED || desk->answers_fd < 0 || desk->complaints_fd < 0)
        return -errno;
    return 0;
}

static void close_desk(struct desk *desk)
{
    if (desk->done != MAP_FAILED)
        munmap(desk->done, sizeof(*desk->done));
    if (desk->answers_fd >= 0)
        close(desk->answers_fd);
    if (desk->complaints_fd >= 0)
        close(desk->complaints_fd);
}

/* Brings this shell, whatever started it, to the state that `bash -c` parses in. */
static void prepare_shell(bool extglob)
{
    static const int deadly[] = {SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGXCPU};
    for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
        signal(deadly[i], SIG_DFL);
    struct rlimit no_core = {0};
    setrlimit(RLIMIT_CORE, &no_core);
    /* bash's handler would reap the children before we ask for their status. */
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    interactive = interactive_shell = 0;
    posixly_correct = 0;
    expand_aliases = 0;
    echo_input_at_read = 0;
    extended_glob = extglob_flag = extglob;
}

static int oracle_builtin(WORD_LIST *list)
{
    struct desk desk = {0};
    reset_internal_getopt();
    for (int option; (option = internal_getopt(list, "elr")) != -1;) {
        if (option == 'e') {
            desk.extglob = true;
        } else if (option == 'l') {
            desk.with_lines = true;
        } else if (option == 'r') {
            desk.reuse = true;
        } else {
            builtin_usage();
            return EX_USAGE;
        }
    }
    prepare_shell(desk.extglob);
    int status = open_desk(&desk);
    if (status == 0)
        status = handle_all(&desk);
    close_desk(&desk);
    if (status < 0) {
        builtin_error("%s", status == -EPROTO ? "standard input is not a sequence of frames"
                                              : strerror(-status));
        return EXECUTION_FAILURE;
    }
    return EXECUTION_SUCCESS;
}

static char *oracle_help[] = {
    "Write the parse tree of each text on standard input; see tests/oracle/README.md.", NULL};

struct builtin oracle_struct = {
    .name = "oracle",
    .function = oracle_builtin,
    .flags = BUILTIN_ENABLED,
    .long_doc = oracle_help,
    .short_doc = "oracle [-elr]",
};
