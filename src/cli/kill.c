/* nacre kill: the end of runs in the background. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/job.h"
#include "cli/kept.h"

struct kill_options {
    bool json;
};

static const struct option kill_options[] = {
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object for each run",
     .offset = offsetof(struct kill_options, json)},
    {0},
};

/* Asks for the end, and waits until nothing is left and the result is recorded. */
static int end(const char *id, struct err *e)
{
    FD_CLEANUP int fd = job_connect(kept_state_dir(), id, e);
    return fd < 0 ? fd : job_watch(fd, JOB_KILL, e);
}

static bool kill_one(const char *word, bool as_json)
{
    char id[UUID_TEXT + 1], line[UUID_TEXT + 32];
    struct err e = {0};
    if (!job_resolve("kill", word, id))
        return false;
    int r = end(id, &e);
    if (r < 0)
        cli_complain("kill: %s", e.message);
    if (as_json) {
        struct json j;
        json_init(&j, cli_print_json, NULL);
        json_object_begin(&j);
        json_key(&j, "correlation_id");
        json_text(&j, id);
        json_key(&j, "status");
        json_text(&j, r < 0 ? "error" : "ended");
        if (r < 0) {
            json_key(&j, "error");
            json_text(&j, e.message);
        }
        json_object_end(&j);
        cli_print("\n", 1);
    } else if (r == 0) {
        cli_print(line, (size_t)snprintf(line, sizeof(line), "%.8s ended\n", id));
    }
    return r == 0;
}

static int kill_run(const void *options, const struct options_parsed *words)
{
    const struct kill_options *wanted = options;
    bool all = true;
    if (!words->count) {
        cli_complain("kill: which runs? `nacre ps` lists them");
        return EXIT_WRONG_CALL;
    }
    for (int i = 0; i < words->count; i++)
        all &= kill_one(words->operands[i], wanted->json);
    return cli_finish(all ? EXIT_YES : EXIT_NO, EXIT_NO);
}

const struct command command_kill = {
    .name = "kill",
    .summary = "end runs in the background",
    .synopsis = "ID...",
    .description =
        "Kills everything that the run has started, waits until it is dead, and until what came of "
        "it is recorded: its status is `killed`, and what it had changed by then becomes real or "
        "is held as that of any run. `nacre undo` takes it back.\n"
        "\n"
        "    nacre kill 616df709\n"
        "\n"
        "Exit status: 0; 1 when one is not under way; 2 for a wrong call.",
    .options = kill_options,
    .options_size = sizeof(struct kill_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = kill_run,
};
