/* nacre input: what a run in the background reads. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/job.h"
#include "cli/kept.h"

struct input_options {
    bool close, no_newline;
};

static const struct option input_options[] = {
    {.name = "close",
     .kind = OPTION_FLAG,
     .help = "end its standard input, behind TEXT if there is one",
     .offset = offsetof(struct input_options, close)},
    {.name = "no-newline",
     .letter = 'n',
     .kind = OPTION_FLAG,
     .help = "send TEXT as it is, without a line end behind it",
     .offset = offsetof(struct input_options, no_newline)},
    {0},
};

/* Asks one thing and waits until it is done. */
static int ask(int fd, enum job_kind kind, const char *bytes, size_t len, struct err *e)
{
    static struct job_message message; /* large */
    int r = job_ask(fd, kind, 0, bytes, len, e);
    if (r == 0)
        r = job_hear(fd, &message, e);
    if (r < 0)
        return r;
    if (r == 0 || message.kind == JOB_ENDED)
        return err_set(e, -EPIPE, "the job has ended");
    if (message.kind == JOB_REFUSED)
        return err_set(e, -EPIPE, "%.*s", (int)message.len, message.bytes);
    return 0;
}

static int send_text(int fd, const char *text, size_t len, struct err *e)
{
    int r = 0;
    while (r == 0 && len) {
        size_t part = len < JOB_PIECE_MAX ? len : JOB_PIECE_MAX;
        r = ask(fd, JOB_INPUT, text, part, e);
        text += part;
        len -= part;
    }
    return r;
}

static int send_stdin(int fd, struct err *e)
{
    static char piece[JOB_PIECE_MAX];
    int r = 0;
    ssize_t n = 1;
    while (r == 0 && n != 0) {
        n = read(STDIN_FILENO, piece, sizeof(piece));
        if (n < 0 && errno != EINTR)
            return err_errno(e, -errno, "standard input");
        if (n > 0)
            r = send_text(fd, piece, (size_t)n, e);
    }
    return r;
}

static int send_all(int fd, const struct input_options *wanted, const char *text, struct err *e)
{
    int r = 0;
    if (text && strcmp(text, "-") == 0)
        r = send_stdin(fd, e);
    else if (text)
        r = send_text(fd, text, strlen(text), e);
    if (r == 0 && text && strcmp(text, "-") != 0 && !wanted->no_newline)
        r = send_text(fd, "\n", 1, e);
    return r == 0 && wanted->close ? ask(fd, JOB_CLOSE, NULL, 0, e) : r;
}

static int input_run(const void *options, const struct options_parsed *words)
{
    const struct input_options *wanted = options;
    const char *text = words->count > 1 ? words->operands[1] : NULL;
    char id[UUID_TEXT + 1];
    struct err e = {0};
    if (words->count < 1 || words->count > 2 || (!text && !wanted->close)) {
        cli_complain("input: an ID, and a text, `-` or --close");
        return EXIT_WRONG_CALL;
    }
    if (!job_resolve("input", words->operands[0], id))
        return EXIT_NO;
    FD_CLEANUP int fd = job_connect(kept_state_dir(), id, &e);
    int r = fd < 0 ? fd : send_all(fd, wanted, text, &e);
    if (r < 0)
        cli_complain("input: %s", e.message);
    return r < 0 ? EXIT_NO : EXIT_YES;
}

const struct command command_input = {
    .name = "input",
    .summary = "send text to a run in the background",
    .synopsis = "ID [TEXT | -]",
    .description =
        "Sends TEXT and a line end to the standard input of a run that is under way; `-` sends all "
        "of our own standard input as it is. Returns when the run's supervisor has taken it. The "
        "run's standard input stays open until --close.\n"
        "\n"
        "    nacre input 616df709 yes\n"
        "    nacre input 616df709 --close\n"
        "    generate-answers | nacre input --close 616df709 -\n"
        "\n"
        "Exit status: 0; 1 when there is no such run under way, or it reads no more; 2 for a wrong "
        "call.",
    .options = input_options,
    .options_size = sizeof(struct input_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = input_run,
};
