/* nacre replay: what the ledger has of a workspace, run again and compared. */
#include "engine/replay.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/kept.h"
#include "cli/place.h"
#include "cli/policy_options.h"

struct replay_options {
    struct place_options place;
    struct policy_options policy;
    const char *start;
    bool deterministic, json;
};

static const struct option replay_options[] = {
    PLACE_OPTIONS(struct replay_options),
    POLICY_OPTIONS(struct replay_options),
    {.name = "start",
     .kind = OPTION_TEXT,
     .value_name = "DIR",
     .help = "a directory with the state before the first run (default: the workspace as it is "
             "now, or an empty one)",
     .offset = offsetof(struct replay_options, start)},
    {.name = "deterministic",
     .kind = OPTION_FLAG,
     .help = "fix time zone, seeds and addresses, as `nacre run --deterministic` does",
     .offset = offsetof(struct replay_options, deterministic)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object for each run",
     .offset = offsetof(struct replay_options, json)},
    {0},
};

static const char *const outcomes[] = {
    [REPLAY_SAME] = "same",
    [REPLAY_DIFFERS] = "differs",
    [REPLAY_SKIPPED] = "skipped",
    [REPLAY_CANNOT] = "cannot",
};

static void tell_json(const struct replay_step *step)
{
    struct json j;
    json_init(&j, cli_print_json, NULL);
    json_object_begin(&j);
    json_key(&j, "index");
    json_unsigned(&j, step->index);
    json_key(&j, "correlation_id");
    json_text(&j, step->id);
    json_key(&j, "command");
    json_text(&j, step->command);
    json_key(&j, "outcome");
    json_text(&j, outcomes[step->outcome]);
    if (step->what) {
        json_key(&j, "what");
        json_text(&j, step->what);
    }
    if (step->expected) {
        json_key(&j, "expected");
        json_text(&j, step->expected);
        json_key(&j, "actual");
        json_text(&j, step->actual);
    }
    json_object_end(&j);
    if (json_finish(&j) == 0)
        cli_print("\n", 1);
}

static void tell_text(const struct replay_step *step)
{
    enum { COMMAND_SHOWN = 60 };
    struct buf line;
    buf_init(&line, &allocator_libc, 1 << 20);
    char head[64];
    snprintf(head, sizeof(head), "%.8s %-7s ", step->id, outcomes[step->outcome]);
    buf_append_text(&line, head);
    cli_append_escaped(&line, step->command, COMMAND_SHOWN);
    buf_append_byte(&line, '\n');
    if (step->what && !step->expected)
        buf_append_format(&line, "    %s\n", step->what);
    if (step->expected) {
        buf_append_format(&line, "    %s\n      recorded ", step->what);
        cli_append_escaped(&line, step->expected, SIZE_MAX);
        buf_append_text(&line, "\n      now      ");
        cli_append_escaped(&line, step->actual, SIZE_MAX);
        buf_append_byte(&line, '\n');
    }
    cli_print_buf(&line);
}

static void tell(void *user, const struct replay_step *step)
{
    const struct replay_options *wanted = user;
    (wanted->json ? tell_json : tell_text)(step);
    cli_flush();
}

/* FROM..TO, either of which may be missing; a single name is both. */
static bool read_range(const char *text, char from[PATH_MAX], char to[PATH_MAX])
{
    const char *dots = strstr(text, "..");
    size_t len = dots ? (size_t)(dots - text) : strlen(text);
    if (len >= PATH_MAX || strlen(text) >= PATH_MAX)
        return false;
    snprintf(from, PATH_MAX, "%.*s", (int)len, text);
    snprintf(to, PATH_MAX, "%s", dots ? dots + 2 : text);
    return true;
}

static int run_replay(const void *options, const struct options_parsed *words)
{
    const struct replay_options *wanted = options;
    char from[PATH_MAX] = "", to[PATH_MAX] = "";
    struct arena arena;
    struct workspace workspace;
    struct policy_request policy;
    struct err e = {0};
    const char *state = kept_state_dir();
    if (words->count > 1 || (words->count == 1 && !read_range(words->operands[0], from, to))) {
        cli_complain("replay: takes one range of runs, FROM..TO");
        return EXIT_WRONG_CALL;
    }
    if (!state) {
        cli_complain("replay: HOME is not set, so there is no state directory");
        return EXIT_NO;
    }
    int status = EXIT_NO;
    arena_init(&arena, &allocator_libc, 1 << 20);
    nacre *n = cli_open();
    if (workspace_resolve(&arena, wanted->place.workspace, NULL, getenv("HOME"), &workspace, &e) <
            0 ||
        policy_options_request(&arena, &wanted->policy, NULL, NULL, &policy, &e) < 0) {
        cli_complain("replay: %s", e.message);
        status = EXIT_WRONG_CALL;
    } else if (n) {
        const struct replay_request request = {
            .state_dir = state,
            .workspace = workspace.root,
            .start = wanted->start,
            .from = from[0] ? from : NULL,
            .to = to[0] ? to : NULL,
            .environment = cli_environment(),
            .config_dir = policy.user_dir,
            .deterministic = wanted->deterministic,
        };
        int r = replay_run(n, &request, tell, (void *)wanted, &e);
        if (r < 0)
            cli_complain("replay: %s", e.message);
        status = r == 1 ? EXIT_YES : EXIT_NO;
    }
    nacre_close(n);
    arena_release(&arena);
    return cli_finish(status, EXIT_NO);
}

const struct command command_replay = {
    .name = "replay",
    .summary = "run again what is recorded, and compare",
    .synopsis = "[FROM..TO]",
    .description =
        "Runs what the ledger has of this workspace again, one after the other, on a copy of the "
        "state that it began with, each in a fresh sandbox without network, and compares exit "
        "code, output and the hash of all files after each. Stops at the first that differs, and "
        "shows how. Nothing of the workspace itself is touched.\n"
        "\n"
        "FROM and TO are correlation_ids, or the start of them, or numbers of entries; without "
        "them it is all. The state before the first run is the directory given with --start, or "
        "the workspace if it is just so, or nothing.\n"
        "\n"
        "    nacre replay\n"
        "    nacre replay --start ../checkout 616df709..\n"
        "\n"
        "Exit status: 0 all the same, 1 one differs or cannot be run again, 2 a wrong call.",
    .options = replay_options,
    .options_size = sizeof(struct replay_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = run_replay,
};
