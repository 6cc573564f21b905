/* nacre history: the runs that were recorded, and one of them in full. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/kept.h"
#include "cli/pager.h"
#include "cli/record.h"
#include "history/format.h"

enum {
    LIST_DEFAULT = 50,
    FOLLOW_DEFAULT = 10,
    FOLLOW_MS = 200,
    PIECE = 1 << 16,
    RUN_MAX = 1 << 30,
    ROW_MAX = 1 << 22,
    ARENA_MAX = 1 << 30,
};

struct history_options_given {
    const char *agent, *job, *status, *verdict, *text, *since, *until, *path, *limit, *before;
    const char *format;
    bool json, follow;
};

#define FILTER(option_name, field, value, option_help)                                             \
    {                                                                                              \
        .name = (option_name), .kind = OPTION_TEXT, .value_name = (value), .help = (option_help),  \
        .offset = offsetof(struct history_options_given, field)                                    \
    }

static const struct option history_options[] = {
    FILTER("agent", agent, "NAME", "only runs of this agent"),
    FILTER("job", job, "ID", "only runs of this job"),
    {.name = "status",
     .kind = OPTION_CHOICE,
     .choices = "ok|failed|denied|needs_confirmation|timeout|limit|killed|error|running|cut off",
     .help = "only runs with this status",
     .offset = offsetof(struct history_options_given, status)},
    {.name = "verdict",
     .kind = OPTION_CHOICE,
     .choices = "allow|deny|confirm",
     .help = "only runs with this verdict",
     .offset = offsetof(struct history_options_given, verdict)},
    FILTER("text", text, "TEXT", "only runs with this text in the command"),
    FILTER("since", since, "TIME", "only runs since then: 2h, 3d, or a date and time (RFC 3339)"),
    FILTER("until", until, "TIME", "only runs up to then"),
    FILTER("path", path, "PATH",
           "only runs that changed this path, or with DIR/ anything below it"),
    FILTER("limit", limit, "N", "how many runs (default: 50; 0: all)"),
    FILTER("before", before, "INDEX", "only runs before this entry of the ledger"),
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print JSON: an array of runs, or one run in full",
     .offset = offsetof(struct history_options_given, json)},
    {.name = "format",
     .kind = OPTION_CHOICE,
     .choices = "text|json|markdown|org|asciicast",
     .help = "how to print",
     .offset = offsetof(struct history_options_given, format)},
    {.name = "follow",
     .letter = 'f',
     .kind = OPTION_FLAG,
     .help = "go on and print each run as it ends",
     .offset = offsetof(struct history_options_given, follow)},
    {0},
};

enum form { FORM_TEXT, FORM_JSON, FORM_MARKDOWN, FORM_ORG, FORM_ASCIICAST };

static enum form get_form(const struct history_options_given *wanted)
{
    static const char *const names[] = {"text", "json", "markdown", "org", "asciicast"};
    if (wanted->json)
        return FORM_JSON;
    for (size_t i = 0; wanted->format && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(wanted->format, names[i]) == 0)
            return (enum form)i;
    }
    return FORM_TEXT;
}

static struct format_style get_style(void)
{
    struct format_style style = {.colour = cli_colour()};
    struct winsize size;
    if (isatty(STDOUT_FILENO)) {
        style.ascii_only = !cli_terminal_is_utf8();
        style.width =
            ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    }
    return style;
}

/* --- a list ---------------------------------------------------------------------------------- */

struct list {
    enum form form;
    bool lines; /* JSON: an object a line */
    struct format_style style;
    struct pager pager;
    struct buf text;
    struct json json;
    uint64_t count;
};

static int flush(struct list *l)
{
    int r = l->text.failed ? l->text.failed : pager_print(&l->pager, l->text.data, l->text.len);
    buf_clear(&l->text);
    return r;
}

static int show_row(void *user, const struct history_row *row)
{
    struct list *l = user;
    struct json one;
    l->count++;
    switch (l->form) {
    case FORM_JSON:
        if (!l->lines) {
            format_row_json(row, &l->json);
            break;
        }
        json_init_buf(&one, &l->text);
        format_row_json(row, &one);
        buf_append_byte(&l->text, '\n');
        break;
    case FORM_MARKDOWN:
        format_row_markdown(row, &l->text);
        break;
    case FORM_ORG:
        format_row_org(row, &l->text);
        break;
    default:
        format_row_text(row, &l->style, &l->text);
    }
    return l->text.len < PIECE ? l->text.failed : flush(l);
}

static void begin_list(struct list *l)
{
    if (l->form == FORM_JSON && !l->lines) {
        json_init_buf(&l->json, &l->text);
        json_array_begin(&l->json);
    } else if (l->form == FORM_MARKDOWN) {
        format_head_markdown(&l->text);
    }
}

static int end_list(struct list *l)
{
    if (l->form == FORM_JSON && !l->lines) {
        json_array_end(&l->json);
        buf_append_byte(&l->text, '\n');
    }
    return flush(l);
}

static int show_list(struct history *h, const struct history_filter *filter, struct list *l)
{
    struct err e = {0};
    pager_start(&l->pager);
    begin_list(l);
    int r = h ? history_list(h, filter, show_row, l, &e) : 0;
    if (r == 0)
        r = end_list(l);
    if (r < 0 && !l->pager.left && e.code < 0)
        cli_complain("history: %s", e.message);
    int status = pager_finish(&l->pager, r < 0 ? EXIT_NO : EXIT_YES);
    if (!h && l->form == FORM_TEXT && isatty(STDERR_FILENO))
        cli_complain("history: nothing is recorded yet");
    return status;
}

/* Whether the reader is still there; waits a moment. */
static bool is_read(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, FOLLOW_MS) <= 0 || !(out.revents & (POLLERR | POLLHUP | POLLNVAL));
}

static int note_first(void *user, const struct history_row *row)
{
    *(uint64_t *)user = row->index;
    return 0;
}

/* The last ones, oldest first, as what comes later will stand below them. */
static int show_last(struct history *h, struct history_filter *filter, struct list *l,
                     struct err *e)
{
    uint64_t first = HISTORY_NONE;
    int r = history_list(h, filter, note_first, &first, e);
    filter->oldest_first = true;
    filter->from = first;
    if (r == 0 && first != HISTORY_NONE)
        r = history_list(h, filter, show_row, l, e);
    filter->limit = 0;
    filter->before = filter->from = 0;
    return r;
}

static int follow(struct history *h, struct history_filter *filter, struct list *l)
{
    struct err e = {0};
    uint64_t seen = 0, size = 0;
    int r = ledger_size(history_ledger(h), &seen, &e);
    l->lines = true;
    if (r == 0)
        r = show_last(h, filter, l, &e);
    while (r == 0) {
        r = flush(l);
        if (r < 0 || cli_finish(EXIT_YES, EXIT_NO) != EXIT_YES)
            return EXIT_NO;
        while (r == 0 && size <= seen) {
            if (!is_read())
                return EXIT_YES;
            r = ledger_size(history_ledger(h), &size, &e);
        }
        if (r == 0)
            r = history_update(h, &e);
        filter->since_result = seen ? seen : 1;
        if (r == 0)
            r = history_list(h, filter, show_row, l, &e);
        seen = size;
    }
    cli_complain("history: %s", e.message);
    return EXIT_NO;
}

/* --- one run --------------------------------------------------------------------------------- */

static int format_run(const struct history_run *run, enum form form, struct buf *out)
{
    const struct format_style style = get_style();
    switch (form) {
    case FORM_JSON:
        return format_run_json(run, out);
    case FORM_MARKDOWN:
        return format_run_markdown(run, out);
    case FORM_ORG:
        return format_run_org(run, out);
    case FORM_ASCIICAST:
        return format_run_asciicast(run, out);
    default:
        return format_run_text(run, &style, out);
    }
}

static int show_run(struct history *h, const char *id, enum form form)
{
    struct history_run run;
    struct arena arena;
    struct err e = {0};
    struct buf text;
    struct pager pager;
    uint64_t index;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    buf_init(&text, &allocator_libc, RUN_MAX);
    int r = history_find(h, id, &index, &e);
    if (r == 0)
        r = history_read(h, &arena, index, &run, &e);
    if (r == 0 && (r = format_run(&run, form, &text)) < 0)
        err_errno(&e, r, "run '%s' cannot be shown", id);
    if (r < 0) {
        cli_complain("history: %s", e.message);
        if (form == FORM_JSON)
            cli_print_json_error(EXIT_NO, e.message);
        r = cli_finish(EXIT_NO, EXIT_NO);
    } else {
        pager_start(&pager);
        pager_print(&pager, text.data, text.len);
        r = pager_finish(&pager, EXIT_YES);
    }
    buf_release(&text);
    arena_release(&arena);
    return r;
}

/* --- the command ----------------------------------------------------------------------------- */

static bool parse_number(const char *option, const char *text, uint64_t *ret)
{
    char *end;
    if (!text)
        return true;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && !*end && errno == 0)
        return true;
    cli_complain("history: --%s is a number, not '%s'", option, text);
    return false;
}

static bool has_filter(const struct history_options_given *w)
{
    return w->agent || w->job || w->status || w->verdict || w->text || w->since || w->until ||
           w->path || w->limit || w->before;
}

static bool make_filter(const struct history_options_given *wanted, struct history_filter *ret)
{
    *ret = (struct history_filter){
        .agent = wanted->agent,
        .job = wanted->job,
        .status = wanted->status,
        .verdict = wanted->verdict,
        .text = wanted->text,
        .path = wanted->path,
        .limit = wanted->follow ? FOLLOW_DEFAULT : LIST_DEFAULT,
    };
    return record_parse_when("history", "since", wanted->since, &ret->since_ms) &&
           record_parse_when("history", "until", wanted->until, &ret->until_ms) &&
           parse_number("limit", wanted->limit, &ret->limit) &&
           parse_number("before", wanted->before, &ret->before);
}

static bool is_wrong(const struct history_options_given *wanted, const struct options_parsed *words)
{
    if (words->count > 1)
        cli_complain("history: one run at a time");
    else if (wanted->json && wanted->format)
        cli_complain("history: only one of --json and --format");
    else if (words->count && (has_filter(wanted) || wanted->follow))
        cli_complain("history: an ID is one run; filters and --follow are for lists");
    else if (!words->count && get_form(wanted) == FORM_ASCIICAST)
        cli_complain("history: asciicast is for one run: give its ID");
    else if (wanted->follow && get_form(wanted) != FORM_TEXT && get_form(wanted) != FORM_JSON)
        cli_complain("history: --follow prints text or JSON");
    else
        return false;
    return true;
}

static int history_run(const void *options, const struct options_parsed *words)
{
    const struct history_options_given *wanted = options;
    struct history_filter filter;
    struct history *h = NULL;
    if (is_wrong(wanted, words) || !make_filter(wanted, &filter))
        return EXIT_WRONG_CALL;
    int status, r = record_open("history", &h);
    if (r < 0 && (r != -ENOENT || words->count || wanted->follow)) {
        if (r == -ENOENT)
            cli_complain("history: nothing is recorded yet");
        return EXIT_NO;
    }
    if (words->count) {
        status = show_run(h, words->operands[0], get_form(wanted));
    } else {
        struct list l = {.form = get_form(wanted), .style = get_style(), .pager = {.fd = -1}};
        buf_init(&l.text, &allocator_libc, ROW_MAX);
        status = wanted->follow ? follow(h, &filter, &l) : show_list(h, &filter, &l);
        buf_release(&l.text);
    }
    history_close(h);
    return status;
}

const struct command command_history = {
    .name = "history",
    .summary = "the runs that were recorded, and one of them in full",
    .synopsis = "[ID]",
    .description =
        "Without ID lists runs, newest first, one on a line: the start of its id, when it began, "
        "what became of it, its exit code, how long it took, and the command. Filters can be "
        "combined. A run that began and of which no end is recorded is `running`, or was `cut off` "
        "if its process is gone.\n"
        "\n"
        "With ID prints everything about one run: the command as given and as run, the verdict and "
        "its reasons, the programs that were started, the output in its order (lines of standard "
        "error are marked with `!`), the changes, hashes, the entries of the ledger, and what was "
        "done about it later. ID is the start of the run's id, or the index of an entry.\n"
        "\n"
        "    nacre history --since 2h --status failed\n"
        "    nacre history --path src/ --agent coder\n"
        "    nacre history 616df709\n"
        "    nacre history --format asciicast 616df709 > run.cast\n"
        "    nacre history --follow --json\n"
        "\n"
        "Secrets were removed before anything was recorded. The list comes from an index beside "
        "the ledger, which is made again by itself whenever it does not fit.\n"
        "\n"
        "Exit status: 0; 1 when there is no such run, or it cannot be shown; 2 for a wrong call.",
    .options = history_options,
    .options_size = sizeof(struct history_options_given),
    .wrong_call = EXIT_WRONG_CALL,
    .run = history_run,
};
