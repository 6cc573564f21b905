/* Bounded capture of a stream; see capture.h. */
#include "run/capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { MARKER_MAX = 64 };

void capture_init(struct capture *c, const struct allocator *allocator, enum capture_keep keep,
                  size_t limit_bytes)
{
    size_t head = keep == CAPTURE_HEAD ? limit_bytes : keep == CAPTURE_BOTH ? limit_bytes / 2 : 0;
    *c = (struct capture){0};
    buf_init(&c->head, allocator, head);
    buf_init(&c->tail, allocator, limit_bytes - head);
}

void capture_release(struct capture *c)
{
    buf_release(&c->head);
    buf_release(&c->tail);
}

/* The ring grows as a plain buffer until it is full, then turns over. */
static int add_tail(struct capture *c, const char *bytes, size_t len)
{
    size_t max = c->tail.max;
    if (max == 0)
        return 0;
    if (c->tail.len < max) {
        size_t part = len < max - c->tail.len ? len : max - c->tail.len;
        int r = buf_append(&c->tail, bytes, part);
        if (r < 0)
            return r;
        bytes += part;
        len -= part;
    }
    bool passed_by = len > max;
    if (passed_by) {
        c->tail_next = (c->tail_next + (len - max)) % max;
        bytes += len - max;
        len = max;
        c->evicted = bytes[-1];
    }
    while (len) {
        size_t part = len < max - c->tail_next ? len : max - c->tail_next;
        if (!passed_by)
            c->evicted = c->tail.data[c->tail_next + part - 1];
        memcpy(c->tail.data + c->tail_next, bytes, part);
        c->tail_next = (c->tail_next + part) % max;
        bytes += part;
        len -= part;
    }
    return 0;
}

int capture_add(struct capture *c, const char *bytes, size_t len)
{
    size_t room = c->head.max - c->head.len;
    size_t part = len < room ? len : room;
    int r = buf_append(&c->head, bytes, part);
    if (r == 0)
        r = add_tail(c, bytes + part, len - part);
    if (r == 0)
        c->total += len;
    return r;
}

/*
 * Where to end a text that goes on: behind the last line end, if that does not cost more than half
 * of it; else at a character's border.
 */
static size_t cut_end(const char *bytes, size_t len)
{
    const char *newline = memrchr(bytes, '\n', len);
    if (newline && (size_t)(newline - bytes) + 1 >= len / 2)
        return (size_t)(newline - bytes) + 1;
    return utf8_cut_before(bytes, len);
}

/* Where to start a text whose beginning is missing, by the same rule; `before` precedes it. */
static size_t cut_start(char before, const char *bytes, size_t len)
{
    if (before == '\n')
        return 0;
    const char *newline = memchr(bytes, '\n', len);
    if (newline && (size_t)(newline - bytes) + 1 <= len / 2)
        return (size_t)(newline - bytes) + 1;
    size_t start = 0;
    while (start < len && start < 3 && ((unsigned char)bytes[start] & 0xC0) == 0x80)
        start++;
    return start;
}

static bool is_truncated(const struct capture *c)
{
    return c->total > c->head.len + c->tail.len;
}

/* Where the head ends if the stream goes on behind it; never before what was shown live. */
static size_t head_end(const struct capture *c)
{
    size_t end = cut_end(c->head.data, c->head.len);
    if (end < c->shown)
        end = utf8_cut_before(c->head.data, c->head.len);
    return end < c->shown ? c->shown : end;
}

const char *capture_take_live(struct capture *c, bool finished, size_t *ret_len)
{
    size_t end = c->head.len;
    if (is_truncated(c) || (!finished && end == c->head.max))
        end = head_end(c);
    const char *from = c->head.data + c->shown;
    *ret_len = end > c->shown ? end - c->shown : 0;
    c->shown += *ret_len;
    return from;
}

/* The ring in order, by turning it in place: three reversals. */
static void reverse(char *bytes, size_t len)
{
    for (size_t i = 0; i < len / 2; i++) {
        char byte = bytes[i];
        bytes[i] = bytes[len - 1 - i];
        bytes[len - 1 - i] = byte;
    }
}

static void straighten_tail(struct capture *c)
{
    size_t next = c->tail_next, len = c->tail.len;
    if (next == 0 || len < c->tail.max)
        return;
    reverse(c->tail.data, next);
    reverse(c->tail.data + next, len - next);
    reverse(c->tail.data, len);
    c->tail_next = 0;
}

int capture_finish(struct capture *c, struct captured *ret)
{
    *ret = (struct captured){.truncated = is_truncated(c)};
    straighten_tail(c);
    size_t tail_start = 0;
    if (ret->truncated) {
        size_t head = head_end(c);
        tail_start = cut_start(c->evicted, c->tail.data, c->tail.len);
        ret->omitted_from = head;
        ret->omitted_to = c->total - (c->tail.len - tail_start);
        c->head.len = head;
        if (c->head.capacity)
            c->head.data[head] = '\0';
    }

    char marker[MARKER_MAX] = "";
    if (ret->truncated && c->head.max && c->tail.max)
        snprintf(marker, sizeof(marker), "%s[%" PRIu64 " bytes omitted]\n",
                 c->head.len && c->head.data[c->head.len - 1] != '\n' ? "\n" : "",
                 ret->omitted_to - ret->omitted_from);

    /* The tail joins the head; only now may the head pass its own share of the limit. */
    c->head.max = c->head.len + strlen(marker) + c->tail.len;
    buf_append_text(&c->head, marker);
    buf_append(&c->head, c->tail.data + tail_start, c->tail.len - tail_start);
    ret->text = c->head.data;
    ret->len = c->head.len;
    return c->head.failed;
}
