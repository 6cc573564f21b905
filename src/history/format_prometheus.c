/* Figures in Prometheus' text format, version 0.0.4; see format.h. */
#include <inttypes.h>
#include <string.h>

#include "history/format.h"

static const struct {
    const char *name, *help, *label;
} families[HISTORY_COUNTED] = {
    [HISTORY_BY_STATUS] = {"nacre_runs_total", "Runs by what became of them.", "status"},
    [HISTORY_BY_VERDICT] = {"nacre_verdicts_total", "Runs by their verdict.", "verdict"},
    [HISTORY_BY_DENIED_RULE] = {"nacre_denied_total", "Runs that were denied, by rule.", "rule"},
    [HISTORY_BY_LIMIT] = {"nacre_limits_hit_total", "Runs that passed a limit.", "limit"},
    [HISTORY_BY_AGENT] = {"nacre_agent_runs_total", "Runs by agent.", "agent"},
};

/* Made safe first, since the format has no other escapes than these. */
static void append_label(struct buf *out, const char *value)
{
    struct buf safe;
    buf_init(&safe, &allocator_libc, 1 << 20);
    format_safe(&safe, value, strlen(value), true, false);
    if (safe.failed)
        out->failed = safe.failed;
    for (size_t i = 0; i < safe.len; i++) {
        if (safe.data[i] == '"' || safe.data[i] == '\\')
            buf_append_byte(out, '\\');
        buf_append_byte(out, safe.data[i]);
    }
    buf_release(&safe);
}

static void append_head(struct buf *out, const char *name, const char *help, const char *type)
{
    buf_append_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

int format_figures_prometheus(const struct history_figures *figures, struct buf *out)
{
    for (size_t i = 0; i < HISTORY_COUNTED; i++) {
        append_head(out, families[i].name, families[i].help, "counter");
        for (size_t k = 0; k < figures->by[i].count; k++) {
            buf_append_format(out, "%s{%s=\"", families[i].name, families[i].label);
            append_label(out, figures->by[i].items[k].name);
            buf_append_format(out, "\"} %" PRIu64 "\n", figures->by[i].items[k].count);
        }
    }
    append_head(out, "nacre_run_duration_seconds", "How long runs took.", "summary");
    for (size_t i = 0; figures->timed && i < HISTORY_QUANTILES; i++)
        buf_append_format(out, "nacre_run_duration_seconds{quantile=\"0.%u\"} %" PRIu64 ".%03u\n",
                          history_quantiles[i], figures->duration_ms[i] / 1000,
                          (unsigned)(figures->duration_ms[i] % 1000));
    buf_append_format(out,
                      "nacre_run_duration_seconds_sum %" PRIu64 ".%03u\n"
                      "nacre_run_duration_seconds_count %" PRIu64 "\n",
                      figures->duration_sum_ms / 1000, (unsigned)(figures->duration_sum_ms % 1000),
                      figures->timed);
    append_head(out, "nacre_paths_changed_total", "Paths that runs changed.", "counter");
    buf_append_format(out, "nacre_paths_changed_total %" PRIu64 "\n", figures->changes);
    append_head(out, "nacre_ledger_entries", "Entries in the ledger.", "gauge");
    return buf_append_format(out, "nacre_ledger_entries %" PRIu64 "\n", figures->entries);
}
