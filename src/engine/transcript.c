/* See transcript.h. */
#include "engine/transcript.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { HEADER_MAX = 64, PIECE_MAX = 64 << 20 };

/* --- frames ---------------------------------------------------------------------------------- */

static int add_frame(struct buf *frames, enum run_stream stream, uint64_t ms, const char *bytes,
                     size_t len)
{
    buf_append_format(frames, "%d %" PRIu64 " %zu\n", stream == RUN_STDERR ? 2 : 1, ms, len);
    buf_append(frames, bytes, len);
    return buf_append_byte(frames, '\n');
}

/* The frame at `at`: where its bytes are, and where the next one begins. False: there is none. */
static bool next_frame(const struct buf *frames, size_t at, int *ret_stream, size_t *ret_bytes,
                       size_t *ret_len, size_t *ret_next)
{
    char header[HEADER_MAX];
    const char *start = frames->data + at;
    const char *end = at < frames->len ? memchr(start, '\n', frames->len - at) : NULL;
    size_t used = end ? (size_t)(end - start) : sizeof(header);
    if (used >= sizeof(header))
        return false;
    memcpy(header, start, used);
    header[used] = '\0';
    uint64_t ms;
    if (sscanf(header, "%d %" SCNu64 " %zu", ret_stream, &ms, ret_len) != 3 ||
        *ret_len > frames->len - at - used - 1)
        return false;
    *ret_bytes = at + used + 1;
    *ret_next = *ret_bytes + *ret_len + 1;
    return true;
}

/* Drops the oldest frames until half of the room is free: so each byte is moved once or twice. */
static void make_room(struct transcript *t)
{
    size_t at = 0, bytes, len, next;
    int stream;
    while (t->tail.len - at > t->half_bytes / 2 &&
           next_frame(&t->tail, at, &stream, &bytes, &len, &next))
        at = next;
    memmove(t->tail.data, t->tail.data + at, t->tail.len - at);
    t->tail.len -= at;
    t->omitted = true;
}

static int keep(struct transcript *t, const struct transcript_piece *piece)
{
    const char *bytes = piece->bytes.data;
    size_t len = piece->bytes.len;
    size_t room = t->head.len + HEADER_MAX < t->half_bytes && !t->tail.len
                      ? t->half_bytes - HEADER_MAX - t->head.len
                      : 0;
    size_t first = len < room ? len : room;
    if (first && add_frame(&t->head, piece->stream, piece->ms, bytes, first) < 0)
        return t->head.failed;
    bytes += first;
    len -= first;
    while (len) {
        /* A piece that is longer than the tail is only as good as its end. */
        size_t part = len < t->half_bytes / 4 ? len : t->half_bytes / 4;
        if (t->tail.len + part + HEADER_MAX > t->half_bytes)
            make_room(t);
        if (add_frame(&t->tail, piece->stream, piece->ms, bytes, part) < 0)
            return t->tail.failed;
        bytes += part;
        len -= part;
    }
    return 0;
}

/* --- pieces, in the order in which they came ------------------------------------------------- */

static struct transcript_piece *piece_at(struct transcript *t, size_t index)
{
    return &t->pieces[(t->first + index) % TRANSCRIPT_PIECES];
}

static int drop_first(struct transcript *t)
{
    struct transcript_piece *piece = piece_at(t, 0);
    int r = keep(t, piece);
    buf_release(&piece->bytes);
    t->first = (t->first + 1) % TRANSCRIPT_PIECES;
    t->count--;
    return r;
}

/* Those at the front of which nothing is held back any more become frames. */
static int drop_whole(struct transcript *t)
{
    int r = 0;
    while (r == 0 && t->count) {
        const struct transcript_piece *piece = piece_at(t, 0);
        const struct transcript_stream *s = &t->streams[piece->stream];
        bool replaced;
        if (!s->over && redact_stream_offset(s->redact, &replaced) < piece->end)
            break;
        r = drop_first(t);
    }
    return r;
}

static int note_piece(struct transcript *t, enum run_stream stream, size_t len)
{
    enum { MERGED_MAX = 1 << 18 };
    struct transcript_stream *s = &t->streams[stream];
    uint64_t ms = clock_monotonic_ms() - t->start_ms;
    s->came += len;
    struct transcript_piece *last = t->count ? piece_at(t, t->count - 1) : NULL;
    if (last && last->stream == stream && last->ms == ms && last->bytes.len < MERGED_MAX) {
        last->end = s->came;
        return 0;
    }
    /* Too much is held back: order is the price. */
    int r = t->count == TRANSCRIPT_PIECES ? drop_first(t) : 0;
    struct transcript_piece *piece = piece_at(t, t->count++);
    *piece = (struct transcript_piece){.stream = stream, .ms = ms, .end = s->came};
    buf_init(&piece->bytes, t->allocator, PIECE_MAX);
    return r;
}

/* The piece of this stream that has the byte at `offset`; else its last; NULL: there is none. */
static struct transcript_piece *piece_with(struct transcript *t, enum run_stream stream,
                                           uint64_t offset)
{
    struct transcript_piece *found = NULL;
    for (size_t i = 0; i < t->count; i++) {
        struct transcript_piece *piece = piece_at(t, i);
        if (piece->stream != stream)
            continue;
        found = piece;
        if (offset < piece->end)
            break;
    }
    return found;
}

/* --- streams --------------------------------------------------------------------------------- */

static int let_go(void *user, const char *bytes, size_t len)
{
    struct transcript_stream *s = user;
    struct transcript *t = s->whole;
    int r = t->pass_on ? t->pass_on(t->user, s->number, bytes, len) : 0;
    bool replaced;
    uint64_t offset = redact_stream_offset(s->redact, &replaced);
    while (r == 0 && len) {
        struct transcript_piece *piece = piece_with(t, s->number, offset);
        uint64_t rest = piece && piece->end > offset ? piece->end - offset : len;
        size_t part = replaced || rest > len ? len : (size_t)rest;
        /* Its piece was given up for want of room. */
        if (!piece)
            r = note_piece(t, s->number, 0);
        else
            r = buf_append(&piece->bytes, bytes, part);
        if (piece) {
            bytes += part;
            len -= part;
            offset += part;
        }
    }
    return r;
}

int transcript_begin(struct transcript *t, const struct redactor *redactor,
                     const struct allocator *allocator, size_t limit_bytes, struct err *e)
{
    enum { LEAST = 4096 };
    *t = (struct transcript){.allocator = allocator,
                             .start_ms = clock_monotonic_ms(),
                             .half_bytes = limit_bytes / 2 < LEAST ? LEAST : limit_bytes / 2};
    buf_init(&t->head, allocator, t->half_bytes + HEADER_MAX);
    buf_init(&t->tail, allocator, t->half_bytes + HEADER_MAX);
    int r = 0;
    for (enum run_stream stream = 0; r == 0 && stream < RUN_STREAMS; stream++) {
        struct transcript_stream *s = &t->streams[stream];
        s->whole = t;
        s->number = stream;
        r = redact_stream_new(redactor, let_go, s, &s->redact, e);
    }
    return r;
}

int transcript_add(struct transcript *t, enum run_stream stream, const char *bytes, size_t len,
                   struct err *e)
{
    int r = note_piece(t, stream, len);
    if (r == 0)
        r = redact_stream_feed(t->streams[stream].redact, bytes, len, e);
    return r < 0 ? r : drop_whole(t);
}

int transcript_finish(struct transcript *t, enum run_stream stream, struct err *e)
{
    int r = redact_stream_finish(t->streams[stream].redact, e);
    t->streams[stream].over = true;
    return r < 0 ? r : drop_whole(t);
}

static void hash_frames(const struct buf *frames, struct sha256 hashes[RUN_STREAMS])
{
    size_t at = 0, bytes, len, next;
    int stream;
    for (; next_frame(frames, at, &stream, &bytes, &len, &next); at = next)
        sha256_add(&hashes[stream == 2 ? RUN_STDERR : RUN_STDOUT], frames->data + bytes, len);
}

int transcript_take(struct transcript *t, struct buf *out,
                    unsigned char ret_hashes[RUN_STREAMS][SHA256_BYTES])
{
    struct sha256 hashes[RUN_STREAMS];
    int r = 0;
    while (r == 0 && t->count)
        r = drop_first(t);
    if (r < 0)
        return r;
    for (enum run_stream stream = 0; stream < RUN_STREAMS; stream++)
        sha256_start(&hashes[stream]);
    hash_frames(&t->head, hashes);
    hash_frames(&t->tail, hashes);
    for (enum run_stream stream = 0; stream < RUN_STREAMS; stream++)
        sha256_end(&hashes[stream], ret_hashes[stream]);
    buf_append(out, t->head.data, t->head.len);
    if (t->omitted)
        buf_append_text(out, "-1 0 0\n\n");
    return buf_append(out, t->tail.data, t->tail.len);
}

uint64_t transcript_redactions(const struct transcript *t)
{
    uint64_t count = 0;
    for (enum run_stream stream = 0; stream < RUN_STREAMS; stream++) {
        if (t->streams[stream].redact)
            count += redact_stream_count(t->streams[stream].redact);
    }
    return count;
}

void transcript_release(struct transcript *t)
{
    if (!t->streams[0].whole)
        return; /* never begun */
    for (enum run_stream stream = 0; stream < RUN_STREAMS; stream++)
        redact_stream_free(t->streams[stream].redact);
    buf_release(&t->head);
    buf_release(&t->tail);
    while (t->count) {
        buf_release(&piece_at(t, 0)->bytes);
        t->first = (t->first + 1) % TRANSCRIPT_PIECES;
        t->count--;
    }
    *t = (struct transcript){0};
}
