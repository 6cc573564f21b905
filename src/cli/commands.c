/* The list of commands, in the order in which help shows them. */
#include "cli/cli.h"

extern const struct command command_run, command_diff, command_undo, command_redo, command_commit,
    command_discard, command_hash, command_test, command_parse, command_plan, command_status,
    command_allowlist, command_blocklist, command_agents, command_policy, command_doctor,
    command_completion;

const struct command *const cli_commands[] = {
    &command_run,       &command_diff,       &command_undo,
    &command_redo,      &command_commit,     &command_discard,
    &command_test,      &command_parse,      &command_plan,
    &command_hash,      &command_status,     &command_allowlist,
    &command_blocklist, &command_agents,     &command_policy,
    &command_doctor,    &command_completion, NULL,
};
