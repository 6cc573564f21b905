/* The list of commands, in the order in which help shows them. */
#include "cli/cli.h"

extern const struct command command_run, command_parse, command_plan, command_status,
    command_doctor, command_completion;

const struct command *const cli_commands[] = {
    &command_run,    &command_parse,      &command_plan, &command_status,
    &command_doctor, &command_completion, NULL,
};
