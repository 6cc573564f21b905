/* nacre parse: how a text is read; nothing runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/batch.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "shell/shell.h"

enum { SHOWN_BYTES_MAX = 512 << 20 }; /* a tree as text is far longer than its text */

struct parse_options {
    bool json;
    bool canonical;
    bool tree;
    bool batch;
    const char *file;
};

static const struct option parse_options[] = {
    {.name = "tree",
     .kind = OPTION_FLAG,
     .help = "print the tree, a node a line (the default)",
     .offset = offsetof(struct parse_options, tree)},
    {.name = "canonical",
     .kind = OPTION_FLAG,
     .help = "print the canonical text: what bash is given to run",
     .offset = offsetof(struct parse_options, canonical)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print ok, error, commands, canonical and tree as one line of JSON, whatever else",
     .offset = offsetof(struct parse_options, json)},
    {.name = "file",
     .letter = 'f',
     .kind = OPTION_TEXT,
     .value_name = "FILE",
     .completes = COMPLETES_FILE,
     .help = "read the text from FILE",
     .offset = offsetof(struct parse_options, file)},
    {.name = "batch",
     .kind = OPTION_FLAG,
     .help = "read one JSON string a line, answer each with one line of JSON",
     .offset = offsetof(struct parse_options, batch)},
    {0},
};

/* What is wanted of each text. */
struct wanted {
    bool canonical, tree;
};

/* The names of all simple commands; null where a name is not known before it runs. */
static bool write_name(void *user, const struct shell_command *command)
{
    struct json *j = user;
    if (command->kind != SHELL_SIMPLE || !command->simple.words)
        return true;
    struct buf name;
    buf_init(&name, &allocator_libc, TEXT_BUF_MAX);
    if (shell_word_known(command->simple.words, &name))
        json_bytes(j, name.data, name.len);
    else
        json_nothing(j);
    buf_release(&name);
    return true;
}

static void write_answer(struct json *j, const struct wanted *wanted, const struct shell_tree *tree,
                         const struct buf *canonical)
{
    json_key(j, "commands");
    json_array_begin(j);
    shell_each_command(tree, write_name, j);
    json_array_end(j);
    if (wanted->canonical) {
        json_key(j, "canonical");
        json_bytes(j, canonical->data, canonical->len);
    }
    if (wanted->tree) {
        json_key(j, "tree");
        shell_dump_json(tree, j);
    }
}

static void write_error(struct json *j, const struct shell_error *error)
{
    json_key(j, "error");
    json_object_begin(j);
    json_key(j, "line");
    json_unsigned(j, error->line);
    json_key(j, "column");
    json_unsigned(j, error->column);
    json_key(j, "message");
    json_text(j, error->message);
    json_object_end(j);
}

/* One line of JSON for one text; whether it was accepted. */
static bool answer(const char *text, size_t len, const struct wanted *wanted)
{
    struct arena arena;
    struct shell_error error;
    const struct shell_tree *tree;
    arena_init(&arena, &allocator_libc, SHELL_TREE_MAX);
    struct buf canonical;
    buf_init(&canonical, &allocator_libc, SHOWN_BYTES_MAX);
    bool accepted = !shell_parse(&arena, text, len, &tree, &error);
    if (accepted && wanted->canonical)
        shell_render(tree, &canonical);
    if (canonical.failed) {
        error = (struct shell_error){.line = 1, .column = 1, .message = "out of memory"};
        accepted = false;
    }
    struct json j;
    json_init(&j, cli_print_json, NULL);
    json_object_begin(&j);
    json_key(&j, "ok");
    json_bool(&j, accepted);
    if (accepted)
        write_answer(&j, wanted, tree, &canonical);
    else
        write_error(&j, &error);
    json_object_end(&j);
    if (json_finish(&j) ==
        -EINVAL) { /* deeper than the writer goes; a failing output is told later */
        cli_complain("parse: the tree cannot be written as JSON");
        accepted = false;
    }
    cli_print("\n", 1);
    buf_release(&canonical);
    arena_release(&arena);
    return accepted;
}

static void answer_line(void *user, const char *text, size_t len, const char *failure)
{
    const struct wanted *wanted = user;
    if (!failure) {
        answer(text, len, wanted);
        return;
    }
    struct shell_error error = {.line = 1, .column = 1};
    snprintf(error.message, sizeof(error.message), "%s", failure);
    struct json j;
    json_init(&j, cli_print_json, NULL);
    json_object_begin(&j);
    json_key(&j, "ok");
    json_bool(&j, false);
    write_error(&j, &error);
    json_object_end(&j);
    cli_print("\n", 1);
}

static int show(const char *text, size_t len, const struct parse_options *options)
{
    struct arena arena;
    struct shell_error error;
    const struct shell_tree *tree;
    arena_init(&arena, &allocator_libc, SHELL_TREE_MAX);
    bool accepted = !shell_parse(&arena, text, len, &tree, &error);
    if (accepted) {
        struct buf shown;
        buf_init(&shown, &allocator_libc, SHOWN_BYTES_MAX);
        if (options->tree || !options->canonical)
            shell_dump(tree, &shown);
        if (options->canonical) {
            shell_render(tree, &shown);
            if (shown.len && shown.data[shown.len - 1] != '\n')
                buf_append_byte(&shown, '\n');
        }
        cli_print_buf(&shown);
    } else {
        cli_complain("parse: line %u, column %u: %s", error.line, error.column, error.message);
        text_show_refusal(text, len);
    }
    arena_release(&arena);
    return accepted ? EXIT_YES : EXIT_NO;
}

static int read_file(const char *path, struct buf *text)
{
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return -errno;
    for (;;) {
        char chunk[1 << 16];
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n == 0)
            return text->failed;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0 && buf_append(text, chunk, (size_t)n) < 0)
            return text->failed;
    }
}

static int parse_text(const struct parse_options *options, const struct options_parsed *words)
{
    struct err e;
    struct buf text;
    bool from_stdin;
    buf_init(&text, &allocator_libc, TEXT_BUF_MAX);
    int status = EXIT_WRONG_CALL, failure = 0;
    if (options->file && words->count)
        cli_complain("parse: a text or --file, not both");
    else if (options->file && (failure = read_file(options->file, &text)) < 0)
        cli_complain("parse: '%s': %s", options->file,
                     failure == -E2BIG ? "more than 4 MiB" : strerror(-failure));
    else if (!options->file && text_from_words(words, &text, &from_stdin, &e) < 0)
        cli_complain("parse: %s", e.message);
    else if (options->json)
        status = answer(text.data, text.len, &(struct wanted){.canonical = true, .tree = true})
                     ? EXIT_YES
                     : EXIT_NO;
    else
        status = show(text.data, text.len, options);
    buf_release(&text);
    return cli_finish(status, EXIT_NO);
}

static int parse_run(const void *options, const struct options_parsed *words)
{
    const struct parse_options *wanted = options;
    if (!wanted->batch)
        return parse_text(wanted, words);
    if (words->count || wanted->file) {
        cli_complain("parse: --batch reads standard input and takes no text");
        return EXIT_WRONG_CALL;
    }
    struct wanted each = {.canonical = true, .tree = wanted->tree};
    struct err e;
    if (batch_each(answer_line, &each, &e) < 0) {
        cli_complain("parse: %s", e.message);
        return EXIT_NO;
    }
    return cli_finish(EXIT_YES, EXIT_NO);
}

const struct command command_parse = {
    .name = "parse",
    .summary = "show how a text is read; runs nothing",
    .synopsis = "'TEXT' | -- ARGV... | - | -f FILE | --batch",
    .description =
        "Reads TEXT as bash would and prints its tree, or with --canonical the text that "
        "`nacre run` would give to bash for it. A text that bash would refuse, or that cannot be "
        "read with certainty, is refused with its place and what was expected.\n"
        "\n"
        "    nacre parse 'ls $(whoami)'\n"
        "    nacre parse --canonical -f script.sh\n"
        "    printf '%s\\n' '\"ls | wc\"' | nacre parse --batch\n"
        "\n"
        "With --batch standard input has one JSON string a line; one object a line comes out for "
        "each: ok, error with line, column and message, commands with the names of all simple "
        "commands (null for one that is not known before it runs), canonical with the text that "
        "bash would be given, and with --tree the tree.\n"
        "\n"
        "Exit status: 0 read, 1 refused, 2 a wrong call. With --batch 0 whatever the texts.",
    .options = parse_options,
    .options_size = sizeof(struct parse_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = parse_run,
};
