/* nacre completion: the script that completes nacre's command line in a shell. */
#include <string.h>

#include "cli/cli.h"

enum { SCRIPT_MAX = 1 << 18 };

static const struct {
    const char *shell;
    int (*write)(const struct command *const *commands, struct buf *out);
} shells[] = {
    {"bash", options_complete_bash},
    {"zsh", options_complete_zsh},
    {"fish", options_complete_fish},
};

static int completion_run(const void *options, const struct options_parsed *words)
{
    (void)options;
    for (size_t i = 0; words->count == 1 && i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(words->operands[0], shells[i].shell) != 0)
            continue;
        struct buf script;
        buf_init(&script, &allocator_libc, SCRIPT_MAX);
        shells[i].write(cli_commands, &script);
        cli_print_buf(&script);
        return cli_finish(EXIT_YES, EXIT_NO);
    }
    cli_complain("completion: name a shell: bash, zsh or fish");
    return EXIT_WRONG_CALL;
}

const struct command command_completion = {
    .name = "completion",
    .summary = "print the completion script for a shell",
    .synopsis = "bash | zsh | fish",
    .description = "Prints a script that completes nacre's commands and options. `make install` "
                   "puts them where the shells look; to try it at once:\n"
                   "\n"
                   "    source <(nacre completion bash)",
    .operand_choices = "bash|zsh|fish",
    .wrong_call = EXIT_WRONG_CALL,
    .run = completion_run,
};
