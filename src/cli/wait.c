/* nacre wait: the end of runs in the background, and what came of them. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/job.h"
#include "cli/kept.h"

struct wait_options {
    bool json;
};

static const struct option wait_options[] = {
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print the result of each as one line of JSON",
     .offset = offsetof(struct wait_options, json)},
    {0},
};

static int show(const struct history_run *run, void *user)
{
    const struct wait_options *wanted = user;
    if (strcmp(run->status, HISTORY_RUNNING) == 0) {
        cli_complain("wait: this run is not in the background, and still under way");
        return EXIT_BROKEN;
    }
    return job_print_result(run, wanted->json);
}

static int wait_for(const char *word, struct wait_options *wanted)
{
    char id[UUID_TEXT + 1];
    struct err e = {0};
    if (!job_resolve("wait", word, id))
        return EXIT_BROKEN;
    FD_CLEANUP int fd = job_connect(kept_state_dir(), id, &e);
    int r = fd == -ENOENT ? 0 : fd < 0 ? fd : job_watch(fd, JOB_WATCH, &e);
    if (r < 0) {
        cli_complain("wait: %s", e.message);
        return EXIT_BROKEN;
    }
    return job_with_record("wait", id, show, wanted);
}

static int wait_run(const void *options, const struct options_parsed *words)
{
    struct wait_options wanted = *(const struct wait_options *)options;
    if (!words->count) {
        cli_complain("wait: for which runs? `nacre ps` lists them");
        return EXIT_BROKEN;
    }
    int status = EXIT_BROKEN;
    for (int i = 0; i < words->count; i++) {
        status = wait_for(words->operands[i], &wanted);
        cli_flush();
    }
    return status;
}

const struct command command_wait = {
    .name = "wait",
    .summary = "wait for runs in the background, and tell what came of them",
    .synopsis = "ID...",
    .description =
        "Waits until each run has ended and prints its result as `nacre run` would have: its "
        "output, warnings and errors, or with --json one line. It comes from the ledger: secrets "
        "are removed from it, and the verdict's acts are not in it. A run that has ended already "
        "is told at once, as often as one asks.\n"
        "\n"
        "    nacre wait 616df709\n"
        "    nacre wait --json 616df709 b9c8d217\n"
        "\n"
        "Exit status: that of the last run, as `nacre run` has it; 125 also when there is no such "
        "run, or it was cut off.",
    .options = wait_options,
    .options_size = sizeof(struct wait_options),
    .wrong_call = EXIT_BROKEN,
    .run = wait_run,
};
