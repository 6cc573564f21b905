/* One run in full, for programs; see format.h. */
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"
#include "history/format.h"
#include "history/frames.h"

enum { STREAM_MAX = 64 << 20 };

static int write_to_buf(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

/* Whether the record can be shown as it stands. Ours always can; a stranger's may hold characters
 * that a terminal would obey. */
static bool is_plain(const struct history_entry *entry)
{
    for (size_t at = 0; at < entry->record_len;) {
        uint32_t c;
        size_t n = utf8_decode(entry->record + at, entry->record_len - at, &c, NULL);
        if (!n || c == '\n' || c == '\t' || !escape_is_plain(c))
            return false;
        at += n;
    }
    return true;
}

/* The entry is JSON already: it goes past the writer, which takes the key's value as written. */
static void put_entry(struct json *j, struct buf *out, const struct history_entry *entry)
{
    json_object_begin(j);
    json_key(j, "entry");
    j->after_key = false;
    if (is_plain(entry))
        buf_append(out, entry->record, entry->record_len);
    else
        entry_write(&entry->entry, out, NULL);
    json_key(j, "hash");
    json_text(j, entry->hash);
    json_key(j, "index");
    json_unsigned(j, entry->index);
    json_object_end(j);
}

static void put_stream(struct json *j, const struct history_run *run, const char *key, int stream)
{
    struct buf text;
    bool left_out;
    buf_init(&text, &allocator_libc, STREAM_MAX);
    if (format_stream(run, stream, &text, &left_out) < 0)
        j->failed = text.failed;
    json_key(j, key);
    json_bytes(j, text.data, text.len);
    buf_release(&text);
}

static void put_frames(struct json *j, const struct history_run *run)
{
    const char *at = run->frames, *end = at ? at + run->frames_len : at;
    struct frame frame;
    json_key(j, "frames");
    json_array_begin(j);
    while (at && frames_next(&at, end, &frame) > 0) {
        json_object_begin(j);
        json_key(j, "stream");
        json_text(j, frame.stream == 1 ? "stdout" : "stderr");
        json_key(j, "ms");
        json_unsigned(j, frame.ms);
        if (frame.left_out) {
            json_key(j, "left_out");
            json_bool(j, true);
        } else {
            json_key(j, "text");
            json_bytes(j, frame.bytes, frame.len);
        }
        json_object_end(j);
    }
    json_array_end(j);
}

int format_run_json(const struct history_run *run, struct buf *out)
{
    struct json json, *j = &json;
    json_init(j, write_to_buf, out);
    json_object_begin(j);
    json_key(j, "correlation_id");
    json_text(j, run->main->entry.id);
    json_key(j, "status");
    json_text(j, run->status);
    if (run->has_result) {
        json_key(j, "result");
        put_entry(j, out, &run->result);
    }
    if (run->has_intent) {
        json_key(j, "intent");
        put_entry(j, out, &run->intent);
    }
    if (run->script) {
        json_key(j, "script");
        json_bytes(j, run->script, run->script_len);
    }
    if (run->script_missing) {
        json_key(j, "script_missing");
        json_text(j, run->script_missing);
    }
    if (run->main->entry.output.known) {
        json_key(j, "output");
        json_object_begin(j);
        put_stream(j, run, "stdout", 1);
        put_stream(j, run, "stderr", 2);
        put_frames(j, run);
        if (run->frames_missing) {
            json_key(j, "missing");
            json_text(j, run->frames_missing);
        }
        json_object_end(j);
    }
    json_key(j, "later");
    json_array_begin(j);
    for (size_t i = 0; i < run->later_count; i++)
        put_entry(j, out, &run->later[i]);
    json_array_end(j);
    json_object_end(j);
    int r = json_finish(j);
    return r < 0 ? r : buf_append_byte(out, '\n');
}
