/* nacre stats: figures over the runs that were recorded. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/record.h"
#include "history/format.h"

enum { ARENA_MAX = 64 << 20, TEXT_MAX = 64 << 20, SHOWN_MAX = 20 };

struct stats_options {
    const char *since, *format;
    bool json;
};

static const struct option stats_options[] = {
    {.name = "since",
     .kind = OPTION_TEXT,
     .value_name = "TIME",
     .help = "only runs since then: 2h, 3d, or a date and time (RFC 3339)",
     .offset = offsetof(struct stats_options, since)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object",
     .offset = offsetof(struct stats_options, json)},
    {.name = "format",
     .kind = OPTION_CHOICE,
     .choices = "text|json|prometheus",
     .help = "how to print",
     .offset = offsetof(struct stats_options, format)},
    {0},
};

static const struct {
    const char *title, *key;
} groups[HISTORY_COUNTED] = {
    [HISTORY_BY_STATUS] = {"by status", "status"},
    [HISTORY_BY_VERDICT] = {"by verdict", "verdict"},
    [HISTORY_BY_DENIED_RULE] = {"denied by", "denied_rules"},
    [HISTORY_BY_LIMIT] = {"limits hit", "limits"},
    [HISTORY_BY_AGENT] = {"by agent", "agents"},
};

static void print_text(const struct history_figures *f)
{
    struct buf out;
    char text[FORMAT_TIME];
    buf_init(&out, &allocator_libc, TEXT_MAX);
    buf_append_format(&out, "%-11s %" PRIu64 "\n%-11s %" PRIu64 "\n%-11s %" PRIu64 "\n", "runs",
                      f->runs, "entries", f->entries, "changes", f->changes);
    for (size_t i = 0; i < HISTORY_COUNTED; i++) {
        for (size_t k = 0; k < f->by[i].count && k < SHOWN_MAX; k++) {
            const struct history_count *item = &f->by[i].items[k];
            buf_append_format(&out, "%-11s %8" PRIu64 "  ", k ? "" : groups[i].title, item->count);
            format_safe(&out, item->name, strlen(item->name), true, !cli_terminal_is_utf8());
            buf_append_byte(&out, '\n');
        }
        if (f->by[i].count > SHOWN_MAX)
            buf_append_format(&out, "%-11s and %zu more\n", "", f->by[i].count - SHOWN_MAX);
    }
    for (size_t i = 0; f->timed && i < HISTORY_QUANTILES; i++) {
        format_duration(true, f->duration_ms[i], text);
        buf_append_format(&out, "%-11s p%u %s\n", i ? "" : "duration", history_quantiles[i], text);
    }
    if (f->timed) {
        format_duration(true, f->duration_max_ms, text);
        buf_append_format(&out, "%-11s max %s\n", "", text);
    }
    cli_print_buf(&out);
}

static void number(struct json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_unsigned(j, value);
}

static void print_json(const struct history_figures *f)
{
    struct json json, *j = &json;
    json_init(j, cli_print_json, NULL);
    json_object_begin(j);
    number(j, "runs", f->runs);
    number(j, "entries", f->entries);
    number(j, "changes", f->changes);
    for (size_t i = 0; i < HISTORY_COUNTED; i++) {
        json_key(j, groups[i].key);
        json_object_begin(j);
        for (size_t k = 0; k < f->by[i].count; k++)
            number(j, f->by[i].items[k].name, f->by[i].items[k].count);
        json_object_end(j);
    }
    json_key(j, "duration_ms");
    json_object_begin(j);
    number(j, "count", f->timed);
    number(j, "sum", f->duration_sum_ms);
    for (size_t i = 0; f->timed && i < HISTORY_QUANTILES; i++) {
        char key[16];
        snprintf(key, sizeof(key), "p%u", history_quantiles[i]);
        number(j, key, f->duration_ms[i]);
    }
    number(j, "max", f->duration_max_ms);
    json_object_end(j);
    json_object_end(j);
    json_finish(j);
    cli_print("\n", 1);
}

static void print_prometheus(const struct history_figures *f)
{
    struct buf out;
    buf_init(&out, &allocator_libc, TEXT_MAX);
    format_figures_prometheus(f, &out);
    cli_print_buf(&out);
}

static int stats_run(const void *options, const struct options_parsed *words)
{
    const struct stats_options *wanted = options;
    struct history_figures figures = {0};
    struct history *h = NULL;
    struct arena arena;
    struct err e = {0};
    int64_t since = 0;
    if (words->count || (wanted->json && wanted->format)) {
        cli_complain("stats: %s",
                     words->count ? "takes no operands" : "only one of --json and --format");
        return EXIT_WRONG_CALL;
    }
    if (!record_parse_when("stats", "since", wanted->since, &since))
        return EXIT_WRONG_CALL;
    int r = record_open("stats", &h);
    if (r < 0 && r != -ENOENT)
        return EXIT_NO;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    r = h ? history_sum(h, &arena, since, &figures, &e) : 0;
    if (r < 0)
        cli_complain("stats: %s", e.message);
    else if (wanted->json || (wanted->format && strcmp(wanted->format, "json") == 0))
        print_json(&figures);
    else if (wanted->format && strcmp(wanted->format, "prometheus") == 0)
        print_prometheus(&figures);
    else
        print_text(&figures);
    arena_release(&arena);
    history_close(h);
    return cli_finish(r < 0 ? EXIT_NO : EXIT_YES, EXIT_NO);
}

const struct command command_stats = {
    .name = "stats",
    .summary = "figures: runs by status, verdict and agent, durations",
    .synopsis = "",
    .description =
        "Counts the runs that were recorded by what became of them, by verdict and by agent, the "
        "rules that denied and the limits that were passed, and gives the duration that half (p50) "
        "and 90 and 99 of 100 runs did not exceed.\n"
        "\n"
        "    nacre stats --since 7d\n"
        "    nacre stats --format prometheus > /var/lib/prometheus/node-exporter/nacre.prom\n"
        "\n"
        "Exit status: 0; 1 when the record cannot be read; 2 for a wrong call.",
    .options = stats_options,
    .options_size = sizeof(struct stats_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = stats_run,
};
