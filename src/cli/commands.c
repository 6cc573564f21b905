/* The list of commands, in the order in which help shows them. */
#include "cli/cli.h"

extern const struct command command_run, command_diff, command_undo, command_redo, command_commit,
    command_discard, command_history, command_stats, command_verify, command_prove, command_hash,
    command_test, command_parse, command_plan, command_status, command_allowlist, command_blocklist,
    command_agents, command_policy, command_doctor, command_completion, command_replay, command_ps,
    command_logs, command_input, command_wait, command_kill, command_session, command_daemon,
    command_pending, command_approve, command_deny, command_escalations, command_serve,
    command_script, command_job, command_prompt, command_tools;

const struct command *const cli_commands[] = {
    &command_run,         &command_script,     &command_ps,
    &command_logs,        &command_input,      &command_wait,
    &command_kill,        &command_session,    &command_job,
    &command_pending,     &command_approve,    &command_deny,
    &command_escalations, &command_diff,       &command_undo,
    &command_redo,        &command_commit,     &command_discard,
    &command_history,     &command_stats,      &command_verify,
    &command_prove,       &command_replay,     &command_test,
    &command_parse,       &command_plan,       &command_hash,
    &command_status,      &command_allowlist,  &command_blocklist,
    &command_agents,      &command_policy,     &command_prompt,
    &command_tools,       &command_serve,      &command_daemon,
    &command_doctor,      &command_completion, NULL,
};
