/* One run on one line; see format.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "history/format.h"

#define PLAIN "\033[m"

static const char *status_colour(const char *status)
{
    static const struct {
        const char *status, *colour;
    } colours[] = {
        {"ok", "\033[32m"},
        {"denied", "\033[33m"},
        {"needs_confirmation", "\033[33m"},
        {HISTORY_RUNNING, "\033[36m"},
    };
    for (size_t i = 0; i < sizeof(colours) / sizeof(colours[0]); i++) {
        if (strcmp(status, colours[i].status) == 0)
            return colours[i].colour;
    }
    return "\033[31m";
}

/* As much of the text as `width` characters take, the last of them dots where it was cut. */
static int append_cut(struct buf *out, const char *text, size_t len, unsigned width,
                      bool ascii_only)
{
    size_t at = 0, keep = 0, dots = ascii_only ? 3 : 1, count = 0;
    while (at < len && (!width || count < width)) {
        uint32_t c;
        size_t n = utf8_decode(text + at, len - at, &c, NULL);
        at += n ? n : 1;
        count++;
        if (count + dots == width)
            keep = at;
    }
    if (at == len)
        return buf_append(out, text, len);
    buf_append(out, text, keep);
    return buf_append_text(out, ascii_only ? "..." : "\xE2\x80\xA6");
}

static void short_status(const char *status, char ret[16])
{
    /* The one that is too long for its column. */
    if (strcmp(status, "needs_confirmation") == 0)
        status = "confirm?";
    snprintf(ret, 16, "%s", status);
}

int format_row_text(const struct history_row *row, const struct format_style *style,
                    struct buf *out)
{
    enum { COLUMNS = 8 + 2 + 19 + 2 + 8 + 2 + 4 + 2 + 9 + 2, COMMAND_MAX = 1 << 20 };
    char time[FORMAT_TIME], duration[FORMAT_TIME], code[16] = "-", status[16];
    struct buf command;
    format_time(row->time_ms, time);
    format_duration(row->has_duration, row->duration_ms, duration);
    short_status(row->status ? row->status : "-", status);
    if (row->has_exit_code)
        snprintf(code, sizeof(code), "%d", row->exit_code);
    buf_append_format(out, "%-8.8s  %s  %s%-8s%s  %4s  %9s  ", row->id, time,
                      style->colour ? status_colour(row->status ? row->status : "-") : "", status,
                      style->colour ? PLAIN : "", code, duration);
    buf_init(&command, &allocator_libc, COMMAND_MAX);
    /* A tab has no width of its own. */
    format_safe(&command, row->command, row->command_len, true, style->ascii_only);
    for (size_t i = 0; i < command.len; i++) {
        if (command.data[i] == '\t')
            command.data[i] = ' ';
    }
    if (command.failed)
        out->failed = command.failed;
    append_cut(out, command.data, command.len,
               !style->width                ? 0
               : style->width > COLUMNS + 8 ? style->width - COLUMNS
                                            : 8,
               style->ascii_only);
    buf_release(&command);
    return buf_append_byte(out, '\n');
}

int format_head_markdown(struct buf *out)
{
    return buf_append_text(out, "| run | time | status | exit code | duration | command |\n"
                                "|---|---|---|---|---|---|\n");
}

/* Text in a cell: nothing in it is markup or ends the cell. */
static void append_cell(struct buf *out, const char *text, size_t len)
{
    struct buf safe;
    buf_init(&safe, &allocator_libc, 1 << 20);
    format_safe(&safe, text, len, true, false);
    if (safe.failed)
        out->failed = safe.failed;
    for (size_t i = 0; i < safe.len; i++) {
        if (strchr("\\`*_{}[]<>()#+-.!|~&\"'$", safe.data[i]) && safe.data[i])
            buf_append_byte(out, '\\');
        buf_append_byte(out, safe.data[i]);
    }
    buf_release(&safe);
}

int format_row_markdown(const struct history_row *row, struct buf *out)
{
    char time[FORMAT_TIME], duration[FORMAT_TIME], code[16] = "-";
    format_time(row->time_ms, time);
    format_duration(row->has_duration, row->duration_ms, duration);
    if (row->has_exit_code)
        snprintf(code, sizeof(code), "%d", row->exit_code);
    buf_append_text(out, "| ");
    append_cell(out, row->id, strnlen(row->id, 8));
    buf_append_format(out, " | %s | ", time);
    append_cell(out, row->status ? row->status : "-", strlen(row->status ? row->status : "-"));
    buf_append_format(out, " | %s | %s | ", code, duration);
    append_cell(out, row->command, row->command_len);
    return buf_append_text(out, " |\n");
}

int format_row_org(const struct history_row *row, struct buf *out)
{
    char time[CLOCK_RFC3339 + 1];
    clock_format_rfc3339(row->time_ms, time);
    buf_append_text(out, "* ");
    format_safe(out, row->command, row->command_len, true, false);
    if (row->has_exit_code)
        buf_append_format(out, " (exit code %d)", row->exit_code);
    else
        buf_append_format(out, " (%s)", row->status ? row->status : "-");
    buf_append_text(out, "\n:PROPERTIES:\n:RUN: ");
    format_safe(out, row->id, strlen(row->id), true, false);
    buf_append_format(out, "\n:TIME: %s\n:STATUS: %s\n", time, row->status ? row->status : "-");
    if (row->has_duration)
        buf_append_format(out, ":DURATION_MS: %" PRIu64 "\n", row->duration_ms);
    return buf_append_text(out, ":END:\n");
}

static void key_text(struct json *j, const char *key, const char *text)
{
    if (!text)
        return;
    json_key(j, key);
    json_text(j, text);
}

void format_row_json(const struct history_row *row, struct json *j)
{
    char time[CLOCK_RFC3339 + 1];
    clock_format_rfc3339(row->time_ms, time);
    json_object_begin(j);
    key_text(j, "correlation_id", row->id);
    key_text(j, "timestamp", time);
    key_text(j, "status", row->status);
    key_text(j, "verdict", row->verdict);
    key_text(j, "policy_rule_matched", row->rule);
    key_text(j, "agent", row->agent);
    key_text(j, "job", row->job);
    key_text(j, "workspace", row->workspace);
    if (row->has_exit_code) {
        json_key(j, "exit_code");
        json_signed(j, row->exit_code);
    }
    if (row->has_duration) {
        json_key(j, "duration_ms");
        json_unsigned(j, row->duration_ms);
    }
    json_key(j, "changes");
    json_unsigned(j, row->changes);
    json_key(j, "command");
    json_bytes(j, row->command, row->command_len);
    json_key(j, "ledger");
    json_object_begin(j);
    json_key(j, "index");
    json_unsigned(j, row->result == HISTORY_NONE ? row->index : row->result);
    if (row->result != row->index) {
        json_key(j, "intent");
        json_unsigned(j, row->index);
    }
    json_object_end(j);
    json_object_end(j);
}
