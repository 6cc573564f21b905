/*
 * The tools as data: names, words for the model, arguments, and what comes back. Schemas are made
 * from these tables, and arguments are checked by them, so neither can fall behind.
 */
#include "serve/mcp_internal.h"

enum { ID_MAX = 64, NAME_MAX_BYTES = 4096, WAIT_MAX_MS = 600 * 1000 };

static const struct mcp_argument run_arguments[] = {
    {"command", MCP_TEXT, true, NACRE_TEXT_MAX, "what to run: a text of bash"},
    {"stdin", MCP_TEXT, false, MCP_MESSAGE_MAX, "its standard input; without it, there is none"},
    {"timeout_ms", MCP_COUNT, false, NACRE_TIMEOUT_MAX_MS,
     "kill everything after so many milliseconds; the policy has a default and a maximum"},
    {"cwd", MCP_TEXT, false, NAME_MAX_BYTES,
     "directory to start in, relative to the workspace; default: the workspace"},
    {"background", MCP_BOOL, false, 0,
     "return as soon as it runs, with its id: command_status, command_input and command_kill go on "
     "from there"},
    {"session", MCP_TEXT, false, NAME_MAX_BYTES,
     "name of a session: go on with the directory, variables and functions that its last command "
     "left"},
    {"stage", MCP_BOOL, false, 0,
     "hold what it changes until the tool commit makes it real, or discard throws it away"},
    {0},
};

static const struct mcp_argument script_arguments[] = {
    {"language", MCP_TEXT, true, ID_MAX,
     "python, lisp, js, bash, perl, ruby, lua, c, or another that the policy knows"},
    {"script", MCP_TEXT, true, NACRE_TEXT_MAX, "the script itself, not the name of a file"},
    {"args", MCP_LIST, false, SCRIPT_ARGS_MAX, "its arguments, each a text"},
    {"stdin", MCP_TEXT, false, MCP_MESSAGE_MAX, "its standard input; without it, there is none"},
    {"timeout_ms", MCP_COUNT, false, NACRE_TIMEOUT_MAX_MS,
     "kill everything after so many milliseconds; the policy has a default and a maximum"},
    {"cwd", MCP_TEXT, false, NAME_MAX_BYTES,
     "directory to start in, relative to the workspace; default: the workspace"},
    {"background", MCP_BOOL, false, 0,
     "return as soon as it runs, with its id: command_status, command_input and command_kill go on "
     "from there"},
    {"stage", MCP_BOOL, false, 0,
     "hold what it changes until the tool commit makes it real, or discard throws it away"},
    {0},
};

static const struct mcp_argument status_arguments[] = {
    {"id", MCP_TEXT, true, ID_MAX, "of the command, as run_command gave it"},
    {"wait_ms", MCP_COUNT, false, WAIT_MAX_MS,
     "wait so long for more output or for the end; default: not at all"},
    {0},
};

static const struct mcp_argument input_arguments[] = {
    {"id", MCP_TEXT, true, ID_MAX, "of the command, as run_command gave it"},
    {"text", MCP_TEXT, false, MCP_MESSAGE_MAX, "for its standard input; a newline is not added"},
    {"eof", MCP_BOOL, false, 0, "its standard input ends behind the text"},
    {0},
};

static const struct mcp_argument kill_arguments[] = {
    {"id", MCP_TEXT, true, ID_MAX, "of the command, as run_command gave it"},
    {0},
};

static const struct mcp_argument test_arguments[] = {
    {"command", MCP_TEXT, true, NACRE_TEXT_MAX, "the text to judge; nothing runs"},
    {"cwd", MCP_TEXT, false, NAME_MAX_BYTES, "directory in which it would start"},
    {0},
};

static const struct mcp_argument history_arguments[] = {
    {"id", MCP_TEXT, false, ID_MAX, "one run in full: its correlation_id, or the start of it"},
    {"limit", MCP_COUNT, false, 200, "how many runs at the most; default 20"},
    {"before", MCP_COUNT, false, INT64_MAX, "only runs before this index of the ledger"},
    {"status", MCP_TEXT, false, ID_MAX,
     "only runs with this status: ok, failed, denied, needs_confirmation, timeout, limit, killed, "
     "error, running"},
    {"text", MCP_TEXT, false, NAME_MAX_BYTES, "only runs with this text in the command"},
    {"path", MCP_TEXT, false, NAME_MAX_BYTES,
     "only runs that changed this path, or with a slash at its end anything below it"},
    {"since", MCP_TEXT, false, ID_MAX, "only runs since then: 2h, 3d, or RFC 3339"},
    {0},
};

static const struct mcp_argument diff_arguments[] = {
    {"id", MCP_TEXT, true, ID_MAX, "of the run: its correlation_id, or the start of it"},
    {0},
};

static const struct mcp_argument undo_arguments[] = {
    {"id", MCP_TEXT, true, ID_MAX, "of the run: its correlation_id, or the start of it"},
    {"with_later", MCP_BOOL, false, 0, "first undo the later runs that changed the same paths"},
    {0},
};

/* What comes back, besides `status`, `error` and `argument`, which every tool has. */
static const struct mcp_field run_output[] = {
    {"correlation_id", MCP_TEXT},
    {"id", MCP_TEXT},
    {"pending", MCP_TEXT},
    {"command", MCP_TEXT},
    {"working_dir", MCP_TEXT},
    {"synthesis", MCP_BOOL},
    {"script", MCP_MAP},
    {"analysis", MCP_TEXT},
    {"answer", MCP_TEXT},
    {"exit_code", MCP_COUNT},
    {"stdout", MCP_TEXT},
    {"stdout_bytes", MCP_COUNT},
    {"stdout_truncated", MCP_BOOL},
    {"stderr", MCP_TEXT},
    {"stderr_bytes", MCP_COUNT},
    {"stderr_truncated", MCP_BOOL},
    {"duration_ms", MCP_COUNT},
    {"resource_usage", MCP_MAP},
    {"executed", MCP_LIST},
    {"changes", MCP_MAP},
    {"reversible", MCP_BOOL},
    {"policy_rule_matched", MCP_TEXT},
    {"verdict", MCP_MAP},
    {"ledger", MCP_MAP},
    {"warnings", MCP_LIST},
    {"timestamp", MCP_TEXT},
    {0},
};

static const struct mcp_field input_output[] = {
    {"id", MCP_TEXT},
    {"written_bytes", MCP_COUNT},
    {"closed", MCP_BOOL},
    {0},
};

static const struct mcp_field test_output[] = {
    {"decision", MCP_TEXT}, {"rule", MCP_TEXT},         {"reasons", MCP_LIST},
    {"acts", MCP_LIST},     {"mandate_hash", MCP_TEXT}, {0},
};

static const struct mcp_field history_output[] = {
    {"runs", MCP_LIST}, {"more", MCP_BOOL}, {"next_before", MCP_COUNT}, {"run", MCP_MAP}, {0},
};

static const struct mcp_field diff_output[] = {
    {"correlation_id", MCP_TEXT}, {"state", MCP_TEXT},  {"diff", MCP_TEXT},
    {"truncated", MCP_BOOL},      {"changes", MCP_MAP}, {0},
};

static const struct mcp_field turn_output[] = {
    {"correlation_id", MCP_TEXT},
    {"conflicts", MCP_LIST},
    {"later", MCP_LIST},
    {"changes", MCP_MAP},
    {0},
};

const struct mcp_tool mcp_tools[] = {
    {.name = "run_command",
     .title = "Run a shell command",
     .description =
         "Runs a text of bash in a sandbox, for whatever a shell is good for: working on files and "
         "data, building and testing, converting documents, looking things up, and anything that "
         "no other tool does. Pipes, lists, loops and heredocs are as in bash itself. It "
         "is judged first: a command that is denied, or that a person must confirm, does not run, "
         "and the answer says why. Inside there are the workspace, writable, and the system, "
         "read-only; no network unless it was given; nothing that it starts outlives it. What it "
         "changes is real when it ends, is listed in the answer, and can be taken back with the "
         "tool undo. A command that takes long is answered with status \"running\" and an id, and "
         "goes on: command_status tells the rest. status \"needs_confirmation\" means that a "
         "person "
         "has to say yes first (`nacre approve ID` in a terminal): then the same call goes "
         "through.",
     .needs = "run_command",
     .arguments = run_arguments,
     .output = run_output,
     .run = mcp_run_command},
    {.name = "run_script",
     .title = "Run a script",
     .description =
         "Runs a script that you have written, in Python, Common Lisp, JavaScript, bash, Perl, "
         "Ruby, Lua, C or another language that is installed, in the same sandbox and under the "
         "same rules as run_command: judged, limited, recorded, and taken back with the tool undo. "
         "Give the script itself: it is kept outside of the workspace and is gone afterwards. When "
         "it fails, mend it from what it said on stderr and call again. A language that is not "
         "there says how to get it.",
     .needs = "run_script",
     .arguments = script_arguments,
     .output = run_output,
     .run = mcp_run_script},
    {.name = "command_status",
     .title = "Look at a command under way",
     .description =
         "What a command that run_command answered with status \"running\" has printed since the "
         "last look, or, when it is over, its whole result.",
     .needs = "run_command",
     .reads_only = true,
     .arguments = status_arguments,
     .output = run_output,
     .run = mcp_command_status},
    {.name = "command_input",
     .title = "Write to a command under way",
     .description = "Gives a command that was started with `background` more standard input.",
     .needs = "run_command",
     .arguments = input_arguments,
     .output = input_output,
     .run = mcp_command_input},
    {.name = "command_kill",
     .title = "End a command under way",
     .description = "Kills a command that goes on, and everything that it started, and tells its "
                    "result.",
     .needs = "run_command",
     .destructive = true,
     .idempotent = true,
     .arguments = kill_arguments,
     .output = run_output,
     .run = mcp_command_kill},
    {.name = "test_command",
     .title = "Judge a shell command",
     .description = "The verdict on a text alone: allow, confirm or deny, with the rule, the "
                    "reasons and every command that it could run. Nothing runs.",
     .needs = "test_command",
     .reads_only = true,
     .idempotent = true,
     .arguments = test_arguments,
     .output = test_output,
     .run = mcp_test_command},
    {.name = "history",
     .title = "Earlier commands",
     .description = "The runs in this workspace, newest first; with `id`, one of them in full: "
                    "verdict, programs, output, changes and what became of them.",
     .needs = "history",
     .reads_only = true,
     .arguments = history_arguments,
     .output = history_output,
     .run = mcp_history},
    {.name = "diff",
     .title = "What a command changed",
     .description = "A patch, as git shows one, from what was there before a run to what is there "
                    "after it; also of runs that are staged or were undone.",
     .needs = "diff",
     .reads_only = true,
     .arguments = diff_arguments,
     .output = diff_output,
     .run = mcp_diff},
    {.name = "undo",
     .title = "Take a command back",
     .description =
         "Restores exactly what was there before a run: contents, modes, links and times. What "
         "somebody else has changed since is never overwritten: then nothing is done, and the "
         "paths are listed.",
     .needs = "undo",
     .destructive = true,
     .arguments = undo_arguments,
     .output = turn_output,
     .run = mcp_undo},
    {.name = "commit",
     .title = "Make staged changes real",
     .description = "For a run with `stage` that was allowed. Changes that are held for a person "
                    "are not the agent's to commit.",
     .needs = "commit",
     .arguments = diff_arguments,
     .output = turn_output,
     .run = mcp_commit},
    {.name = "discard",
     .title = "Throw staged changes away",
     .description = "For runs whose changes are staged or held, and those that were undone: "
                    "nothing of them is kept.",
     .needs = "discard",
     .destructive = true,
     .arguments = diff_arguments,
     .output = turn_output,
     .run = mcp_discard},
    {0},
};
