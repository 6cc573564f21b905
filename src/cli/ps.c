/* nacre ps: runs in the background. */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/job.h"
#include "cli/kept.h"
#include "cli/record.h"
#include "history/format.h"

enum { ARENA_MAX = 16 << 20, LIST_MAX = 64 << 20 };

struct ps_options {
    bool json, running;
};

static const struct option ps_options[] = {
    {.name = "running",
     .letter = 'r',
     .kind = OPTION_FLAG,
     .help = "only those that are under way",
     .offset = offsetof(struct ps_options, running)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print a JSON array of runs",
     .offset = offsetof(struct ps_options, json)},
    {0},
};

struct listing_jobs {
    const struct job_listed *jobs;
    size_t count, left;
    bool running; /* only those */
    bool as_json;
    struct format_style style;
    struct json json;
    struct buf text;
};

static int show_row(void *user, const struct history_row *row)
{
    struct listing_jobs *l = user;
    const struct job_listed *job = NULL;
    for (size_t i = 0; i < l->count && !job; i++)
        job = row->id && strcmp(l->jobs[i].id, row->id) == 0 ? &l->jobs[i] : NULL;
    if (!job)
        return 0;
    struct history_row shown = *row;
    l->left--;
    /* It may have ended since the list was made: the ledger knows better. */
    bool under_way = job->alive && row->result == HISTORY_NONE;
    if (under_way) {
        int64_t ms = clock_utc_ms() - row->time_ms;
        shown.status = HISTORY_RUNNING;
        shown.has_duration = true;
        shown.duration_ms = ms > 0 ? (uint64_t)ms : 0;
    }
    if (under_way || !l->running) {
        if (l->as_json)
            format_row_json(&shown, &l->json);
        else
            format_row_text(&shown, &l->style, &l->text);
    }
    return l->text.failed ? l->text.failed : l->left == 0;
}

static int list(struct listing_jobs *l, struct err *e)
{
    struct history *h = NULL;
    const struct history_filter filter = {0};
    int r = l->count ? record_open("ps", &h) : 0;
    if (r < 0)
        return r;
    if (l->as_json) {
        json_init_buf(&l->json, &l->text);
        json_array_begin(&l->json);
    }
    r = h ? history_list(h, &filter, show_row, l, e) : 0;
    if (r < 0)
        cli_complain("ps: %s", e->message);
    if (l->as_json) {
        json_array_end(&l->json);
        buf_append_byte(&l->text, '\n');
    }
    history_close(h);
    return r < 0 ? r : 0;
}

static int ps_run(const void *options, const struct options_parsed *words)
{
    const struct ps_options *wanted = options;
    const char *state = kept_state_dir();
    struct listing_jobs l = {.running = wanted->running, .as_json = wanted->json};
    struct job_listed *jobs = NULL;
    struct winsize size;
    struct arena arena;
    struct err e = {0};
    if (words->count) {
        cli_complain("ps: takes no words");
        return EXIT_WRONG_CALL;
    }
    l.style.colour = cli_colour();
    if (isatty(STDOUT_FILENO)) {
        l.style.ascii_only = !cli_terminal_is_utf8();
        l.style.width =
            ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    }
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    buf_init(&l.text, &allocator_libc, LIST_MAX);
    int r = state ? job_list(&arena, state, &jobs, &l.count, &e) : 0;
    l.jobs = jobs;
    l.left = l.count;
    if (r < 0)
        cli_complain("ps: %s", e.message);
    else
        r = list(&l, &e);
    cli_print_buf(&l.text);
    arena_release(&arena);
    return cli_finish(r < 0 ? EXIT_NO : EXIT_YES, EXIT_NO);
}

const struct command command_ps = {
    .name = "ps",
    .summary = "runs in the background",
    .synopsis = "",
    .description =
        "Lists the runs that `nacre run --background` started: those that are under way, and those "
        "that ended within a day, newest first, as `nacre history` lists runs.\n"
        "\n"
        "    nacre ps\n"
        "    nacre ps --running --json\n"
        "\n"
        "Exit status: 0; 1 when they cannot be listed; 2 for a wrong call.",
    .options = ps_options,
    .options_size = sizeof(struct ps_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = ps_run,
};
