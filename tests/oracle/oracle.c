/*
 * A loadable builtin for bash 5.2 that writes bash's own parse tree of the texts it is given and
 * executes none of them. README.md has the protocol and the format.
 *
 * Every text is parsed in a child of its own: bash leaves its parser by longjmp or exit when it
 * meets an error, some texts crash it, and only a fork hands each text a parser that has seen
 * nothing before. With -r a child goes on with further texts as long as bash has nothing to say
 * about them, so that only texts which parse ever meet a used parser.
 */
#include "tree.h"

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

__attribute__((visibility("default"))) struct builtin oracle_struct = {
    .name = "oracle",
    .function = oracle_builtin,
    .flags = BUILTIN_ENABLED,
    .long_doc = oracle_help,
    .short_doc = "oracle [-elr]",
};
