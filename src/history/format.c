/* What the formats share; see format.h. */
#include "history/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "base/units.h"
#include "history/frames.h"

int format_safe(struct buf *out, const char *bytes, size_t len, bool one_line, bool ascii_only)
{
    struct escape state = {.ascii_only = ascii_only};
    for (const char *at = bytes, *end = bytes + len; at < end;) {
        const char *stop = one_line ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (!stop)
            stop = end;
        escape_append(&state, at, (size_t)(stop - at), out);
        if (stop < end) {
            escape_finish(&state, out);
            buf_append_text(out, "\\n");
        }
        at = stop + (stop < end);
    }
    return escape_finish(&state, out);
}

void format_time(int64_t utc_ms, char ret[FORMAT_TIME])
{
    time_t seconds = (time_t)(utc_ms / 1000);
    struct tm local;
    if (!localtime_r(&seconds, &local) ||
        strftime(ret, FORMAT_TIME, "%Y-%m-%d %H:%M:%S", &local) == 0)
        snprintf(ret, FORMAT_TIME, "-");
}

void format_duration(bool known, uint64_t ms, char ret[FORMAT_TIME])
{
    char text[UNITS_TEXT] = "-";
    if (known)
        units_format_duration(ms, text);
    snprintf(ret, FORMAT_TIME, "%s", text);
}

int format_stream(const struct history_run *run, int stream, struct buf *out, bool *ret_left_out)
{
    const char *at = run->frames, *end = at ? at + run->frames_len : at;
    struct frame frame;
    int r = 0;
    *ret_left_out = false;
    while (at && (r = frames_next(&at, end, &frame)) > 0) {
        if (frame.stream != stream)
            continue;
        *ret_left_out |= frame.left_out;
        buf_append(out, frame.bytes, frame.len);
    }
    *ret_left_out |= r < 0 || run->frames_missing;
    return out->failed;
}

int format_change_counts(const struct entry_changes *changes, struct buf *out)
{
    bool any = false;
    for (size_t kind = 0; kind < ENTRY_CHANGE_KINDS; kind++) {
        if (!changes->counts[kind])
            continue;
        buf_append_format(out, "%s%" PRIu64 " %s", any ? ", " : "", changes->counts[kind],
                          entry_change_kind_names[kind]);
        any = true;
    }
    if (!any)
        buf_append_text(out, "none");
    return out->failed;
}
