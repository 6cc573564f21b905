/* The program: finds the command, parses its options by its table, runs it. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { HELP_MAX = 1 << 16 };

#ifdef NACRE_UNJUDGED
const bool cli_judges = false;
#else
const bool cli_judges = true;
#endif

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

/* Whether a word stands among the options, also of a line that cannot be parsed. */
static bool has_option(int argc, char **argv, const char *option)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], option) == 0)
            return true;
    }
    return false;
}

static int run_command(const struct command *command, int argc, char **argv)
{
    if (has_option(argc, argv, "--version"))
        return print_version();
    struct options_parsed words;
    struct err e;
    void *fields = calloc(1, command->options_size + 1);
    if (!fields) {
        cli_complain("out of memory");
        return command->wrong_call;
    }
    int status = command->wrong_call;
    bool json = has_option(argc, argv, "--json");
    if (options_parse(command, argc, argv, fields, &words, &e) < 0) {
        cli_complain("%s: %s", command->name, e.message);
    } else if (words.help) {
        status = print_help(command);
    } else {
        status = command->run(fields, &words);
    }
    if (json && status != EXIT_YES)
        cli_print_json_complaint(command->name, status);
    free(fields);
    return status;
}

/* The command of that name; complains when there is none. */
static const struct command *find_command(const char *name)
{
    const char *nearest = NULL;
    const struct command *command = options_find_command(cli_commands, name, &nearest);
    if (!command && nearest)
        cli_complain("unknown command '%s'; did you mean '%s'?", name, nearest);
    else if (!command)
        cli_complain("unknown command '%s'; `nacre --help` lists them", name);
    return command;
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
    if (strcmp(argv[0], "--version") == 0)
        return print_version();
    bool help = strcmp(argv[0], "help") == 0;
    if (strcmp(argv[0], "-h") == 0 || strcmp(argv[0], "--help") == 0 || (help && argc == 1))
        return print_help(NULL);

    const struct command *command = find_command(argv[help ? 1 : 0]);
    if (!command)
        return EXIT_WRONG_CALL;
    return help ? print_help(command) : run_command(command, argc - 1, argv + 1);
}
