/* The program: finds the command, parses its options by its table, runs it. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { HELP_MAX = 1 << 16 };

static int print_help(const struct command *command)
{
    struct buf text;
    buf_init(&text, &allocator_libc, HELP_MAX);
    if (command)
        options_help_command(command, &text);
    else
        options_help_program(cli_commands, &text);
    cli_print_buf(&text);
    return cli_finish(EXIT_YES, command ? command->wrong_call : EXIT_WRONG_CALL);
}

static int print_version(void)
{
    struct buf text;
    buf_init(&text, &allocator_libc, HELP_MAX);
    buf_append_format(&text, "nacre %s\n", nacre_version());
    cli_print_buf(&text);
    return cli_finish(EXIT_YES, EXIT_NO);
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct options_parsed words;
    struct err e;
    void *fields = calloc(1, command->options_size + 1);
    if (!fields) {
        cli_complain("out of memory");
        return EXIT_BROKEN;
    }
    int status = command->wrong_call;
    if (options_parse(command, argc, argv, fields, &words, &e) < 0)
        cli_complain("%s: %s", command->name, e.message);
    else if (words.help)
        status = print_help(command);
    else
        status = command->run(fields, &words);
    free(fields);
    return status;
}

int main(int argc, char **argv)
{
    cli_secure_stdio();
    argc--;
    argv++;
    /* `nacre shell COMMAND` is the same as `nacre COMMAND`. */
    if (argc > 0 && strcmp(argv[0], "shell") == 0) {
        argc--;
        argv++;
    }
    if (argc <= 0) {
        cli_complain("no command given; `nacre --help` lists them");
        return EXIT_WRONG_CALL;
    }
    if (strcmp(argv[0], "-h") == 0 || strcmp(argv[0], "--help") == 0 ||
        strcmp(argv[0], "help") == 0) {
        const struct command *command =
            argc > 1 ? options_find_command(cli_commands, argv[1], NULL) : NULL;
        return print_help(command);
    }
    if (strcmp(argv[0], "--version") == 0)
        return print_version();

    const char *nearest = NULL;
    const struct command *command = options_find_command(cli_commands, argv[0], &nearest);
    if (!command) {
        if (nearest)
            cli_complain("unknown command '%s'; did you mean '%s'?", argv[0], nearest);
        else
            cli_complain("unknown command '%s'; `nacre --help` lists them", argv[0]);
        return EXIT_WRONG_CALL;
    }
    return run_command(command, argc - 1, argv + 1);
}
