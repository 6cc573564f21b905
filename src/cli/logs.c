/* nacre logs: what a run in the background has printed. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/job.h"
#include "cli/kept.h"
#include "cli/show.h"
#include "history/format.h"

enum { LIVE_MAX = 64 << 20 }; /* of a stream; a supervisor keeps far less */

struct logs_options {
    bool follow, json;
};

static const struct option logs_options[] = {
    {.name = "follow",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .help = "go on until the run ends",
     .offset = offsetof(struct logs_options, follow)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print correlation_id, status, stdout, stderr and truncated as one line of JSON",
     .offset = offsetof(struct logs_options, json)},
    {0},
};

static void print_json(const char *id, const char *status, const struct buf texts[2],
                       bool truncated)
{
    struct json j;
    json_init(&j, cli_print_json, NULL);
    json_object_begin(&j);
    json_key(&j, "correlation_id");
    json_text(&j, id);
    json_key(&j, "status");
    json_text(&j, status);
    json_key(&j, "stdout");
    json_bytes(&j, texts[0].data, texts[0].len);
    json_key(&j, "stderr");
    json_bytes(&j, texts[1].data, texts[1].len);
    json_key(&j, "truncated");
    json_bool(&j, truncated);
    json_object_end(&j);
    if (json_finish(&j) == 0)
        cli_print("\n", 1);
}

static int print_live(int fd, const char *id, struct err *e)
{
    static struct job_message message; /* large */
    struct buf texts[2];
    bool truncated = false;
    buf_init(&texts[0], &allocator_libc, LIVE_MAX);
    buf_init(&texts[1], &allocator_libc, LIVE_MAX);
    int r = job_ask(fd, JOB_LOGS, false, NULL, 0, e);
    while (r == 0 && (r = job_hear(fd, &message, e)) > 0 && message.kind != JOB_DONE &&
           message.kind != JOB_ENDED) {
        r = 0;
        if (message.kind == JOB_LOST)
            truncated = true;
        else if (message.kind == JOB_OUTPUT)
            buf_append(&texts[message.stream == 2], message.bytes, message.len);
    }
    if (r >= 0)
        print_json(id, HISTORY_RUNNING, texts, truncated || texts[0].failed || texts[1].failed);
    buf_release(&texts[0]);
    buf_release(&texts[1]);
    return r < 0 ? r : 0;
}

static bool is_with_caller(const struct history_run *run)
{
    if (strcmp(run->status, HISTORY_RUNNING) != 0)
        return false;
    cli_complain("logs: this run is not in the background: its output goes to its caller");
    return true;
}

static int print_record(const struct history_run *run, void *user)
{
    const char *id = user;
    if (is_with_caller(run))
        return EXIT_NO;
    struct buf texts[2];
    bool left_out[2] = {false, false};
    for (int i = 0; i < 2; i++) {
        buf_init(&texts[i], &allocator_libc, LIVE_MAX);
        format_stream(run, i + 1, &texts[i], &left_out[i]);
    }
    print_json(id, run->status, texts, left_out[0] || left_out[1] || run->frames_missing);
    buf_release(&texts[0]);
    buf_release(&texts[1]);
    return cli_finish(EXIT_YES, EXIT_NO);
}

/* From the supervisor, as it comes. */
static int show_live(int fd, bool follow, struct err *e)
{
    static struct job_message message; /* large */
    struct show shows[2];
    show_init(&shows[0], STDOUT_FILENO, -1);
    show_init(&shows[1], STDERR_FILENO, -1);
    int r = job_ask(fd, JOB_LOGS, follow, NULL, 0, e);
    while (r == 0 && (r = job_hear(fd, &message, e)) > 0 && message.kind != JOB_DONE &&
           message.kind != JOB_ENDED) {
        r = 0;
        if (message.kind == JOB_LOST)
            cli_warn("%" PRIu64 " bytes of output before this are not kept here", message.count);
        else if (message.kind == JOB_OUTPUT &&
                 (r = show_bytes(&shows[message.stream == 2], message.bytes, message.len, false)) <
                     0)
            err_errno(e, r, "standard output");
    }
    if (r >= 0) {
        show_bytes(&shows[0], "", 0, true);
        show_bytes(&shows[1], "", 0, true);
    }
    return r < 0 ? r : 0;
}

static int show_record(const struct history_run *run, void *user)
{
    (void)user;
    if (is_with_caller(run))
        return EXIT_NO;
    int r = job_print_output(run);
    if (r < 0 && r != -EPIPE)
        cli_complain("logs: standard output: %s", strerror(-r));
    return r < 0 ? EXIT_NO : EXIT_YES;
}

static int logs_run(const void *options, const struct options_parsed *words)
{
    const struct logs_options *wanted = options;
    char id[UUID_TEXT + 1];
    struct err e = {0};
    if (words->count != 1) {
        cli_complain("logs: which run? `nacre ps` lists them");
        return EXIT_WRONG_CALL;
    }
    if (wanted->json && wanted->follow) {
        cli_complain("logs: --json is what there is now: `nacre wait --json` waits for the result");
        return EXIT_WRONG_CALL;
    }
    if (!job_resolve("logs", words->operands[0], id))
        return EXIT_NO;
    FD_CLEANUP int fd = job_connect(kept_state_dir(), id, &e);
    if (fd == -ENOENT)
        return wanted->json ? job_with_record("logs", id, print_record, id)
                            : job_with_record("logs", id, show_record, NULL);
    int r = fd;
    if (fd >= 0)
        r = wanted->json ? print_live(fd, id, &e) : show_live(fd, wanted->follow, &e);
    if (r < 0 && r != -EPIPE)
        cli_complain("logs: %s", e.message);
    return r < 0 ? EXIT_NO : cli_finish(EXIT_YES, EXIT_NO);
}

const struct command command_logs = {
    .name = "logs",
    .summary = "what a run in the background has printed",
    .synopsis = "ID",
    .description =
        "Prints what the run has printed so far, its standard output and error on ours; on a "
        "terminal, control characters are shown escaped. Of a run that is under way it is the "
        "latest megabyte, as its caller would see it; of one that has ended, what was recorded, "
        "without secrets. ID is the start of the run's id.\n"
        "\n"
        "    nacre logs --follow 616df709\n"
        "\n"
        "Exit status: 0; 1 when there is no such run; 2 for a wrong call.",
    .options = logs_options,
    .options_size = sizeof(struct logs_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = logs_run,
};
