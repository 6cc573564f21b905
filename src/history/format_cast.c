/*
 * A run as a recording of a terminal (asciicast v2); see format.h. Both streams are one there, as
 * on a terminal, and lines end with a carriage return, as a terminal's driver would have it.
 */
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"
#include "history/format.h"
#include "history/frames.h"
#include "history/when.h"

enum { COLUMNS = 80, ROWS = 24, PIECE_MAX = 64 << 20 };

/* The start of a character that the stream's next frame completes. */
struct held {
    char bytes[4];
    size_t len;
};

static void append_header(const struct history_run *run, struct buf *out)
{
    const struct entry *entry = &run->main->entry;
    struct json j;
    int64_t time_ms = 0;
    json_init_buf(&j, out);
    json_object_begin(&j);
    json_key(&j, "version");
    json_unsigned(&j, 2);
    json_key(&j, "width");
    json_unsigned(&j, COLUMNS);
    json_key(&j, "height");
    json_unsigned(&j, ROWS);
    if (when_parse_rfc3339(entry->time ? entry->time : "", &time_ms) == 0) {
        json_key(&j, "timestamp");
        json_signed(&j, time_ms / 1000);
    }
    if (entry->command.bytes) {
        json_key(&j, "command");
        json_bytes(&j, entry->command.bytes, entry->command.len);
    }
    json_key(&j, "title");
    json_text(&j, entry->id);
    json_object_end(&j);
    buf_append_byte(out, '\n');
}

static void append_event(struct buf *out, uint64_t ms, const char *bytes, size_t len)
{
    struct json j;
    buf_append_format(out, "[%" PRIu64 ".%03u, \"o\", ", ms / 1000, (unsigned)(ms % 1000));
    json_init_buf(&j, out);
    json_bytes(&j, bytes, len);
    buf_append_text(out, "]\n");
}

static void append_frame(struct buf *out, const struct frame *frame, struct held *held,
                         struct buf *piece)
{
    buf_clear(piece);
    buf_append(piece, held->bytes, held->len);
    for (size_t i = 0; i < frame->len; i++) {
        if (frame->bytes[i] == '\n' && (i == 0 || frame->bytes[i - 1] != '\r'))
            buf_append_byte(piece, '\r');
        buf_append_byte(piece, frame->bytes[i]);
    }
    size_t whole = utf8_cut_before(piece->data, piece->len);
    held->len = piece->len - whole;
    memcpy(held->bytes, piece->data + whole, held->len);
    if (whole)
        append_event(out, frame->ms, piece->data, whole);
    if (piece->failed)
        out->failed = piece->failed;
}

int format_run_asciicast(const struct history_run *run, struct buf *out)
{
    const char *at = run->frames, *end = at ? at + run->frames_len : at;
    struct held held[2] = {0};
    struct frame frame;
    struct buf piece;
    uint64_t last_ms = 0;
    append_header(run, out);
    buf_init(&piece, &allocator_libc, PIECE_MAX);
    while (at && !out->failed && frames_next(&at, end, &frame) > 0) {
        /* Times do not go back. */
        frame.ms = frame.ms < last_ms ? last_ms : frame.ms;
        last_ms = frame.ms;
        if (frame.left_out)
            append_event(out, frame.ms, "\r\n[...]\r\n", 9);
        else
            append_frame(out, &frame, &held[frame.stream - 1], &piece);
    }
    for (size_t i = 0; i < 2; i++) {
        if (held[i].len)
            append_event(out, last_ms, held[i].bytes, held[i].len);
    }
    buf_release(&piece);
    return out->failed;
}
