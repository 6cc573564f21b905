/* The list of commands, in the order in which help shows them. */
#include "cli/cli.h"

extern const struct command command_run, command_test, command_parse, command_plan, command_status,
    command_allowlist, command_blocklist, command_agents, command_policy, command_doctor,
    command_completion;

const struct command *const cli_commands[] = {
    &command_run,    &command_test,      &command_parse,      &command_plan,
    &command_status, &command_allowlist, &command_blocklist,  &command_agents,
    &command_policy, &command_doctor,    &command_completion, NULL,
};
