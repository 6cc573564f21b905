/*
 * Streams: bytes come in chunks of any size and go on as soon as they are certain.
 *
 * The window holds what is not certain yet and, before it, what a look behind may need. Every place
 * is tried once, in order, and only when enough is there to answer for good, so the answers do not
 * depend on the chunks (R1). What is removed is the union of all spans; what is handed on never
 * passes a place at which a span could still begin.
 */
#include "redact/stream.h"

#include <errno.h>
#include <string.h>

enum {
    PIECE = 1 << 16,      /* bytes taken up at a time */
    LAG = BEFORE_MAX + 1, /* a span begins at most so far before the place that was tried */
    HELD_MAX = 1 << 20,   /* no rule holds back as much */
};

struct redact_stream {
    const struct redactor *redactor;
    redact_sink *sink;
    void *user;
    struct scan scan;
    unsigned char *data; /* MARGIN bytes longer than `capacity` */
    size_t len, capacity;
    uint64_t base;    /* offset of data[0] */
    size_t tried;     /* places before it have been tried */
    size_t handed;    /* bytes before it have been handed on or removed */
    size_t try_again; /* not before so much is there */
    bool covered;     /* within something that was removed, up to `cover` at least */
    uint64_t cover;
    uint64_t total;
    uint32_t *counts;
    struct redact_found *find; /* only the first is wanted, and nothing handed on */
    int failed;
    bool finished;
};

/* --- handing on ------------------------------------------------------------------------------ */

static int hand_on(struct redact_stream *s, const void *bytes, size_t len)
{
    return len == 0 || s->find ? 0 : s->sink(s->user, bytes, len);
}

/* The replacement with the rule's name in it. */
static int hand_replacement(struct redact_stream *s, const char *name)
{
    static const char mark[] = "{rule}";
    const char *from = s->redactor->replacement;
    for (;;) {
        const char *at = strstr(from, mark);
        size_t len = at ? (size_t)(at - from) : strlen(from);
        int r = hand_on(s, from, len);
        if (r < 0 || !at)
            return r;
        r = hand_on(s, name, strlen(name));
        if (r < 0)
            return r;
        from = at + strlen(mark);
    }
}

/* The spans that begin at one place are all known when it is handed on: the best names it. */
static int replace(struct redact_stream *s)
{
    const struct scan *scan = &s->scan;
    const struct span *best = &scan->spans[scan->first];
    for (size_t i = scan->first; i < scan->count && scan->spans[i].from == best->from; i++) {
        if (scan->spans[i].rule->rank < best->rule->rank)
            best = &scan->spans[i];
    }
    s->covered = true;
    s->cover = best->from;
    s->total++;
    s->counts[best->rule->number]++;
    if (s->find && s->total == 1)
        *s->find = (struct redact_found){.rule = best->rule->name, .offset = best->from};
    return hand_replacement(s, best->rule->name);
}

/* Spans that touch what is covered already lengthen it. False: one of them may still grow. */
static bool lengthen(struct redact_stream *s)
{
    struct scan *scan = &s->scan;
    size_t open = 0, i = scan->first;
    for (; i < scan->count && scan->spans[i].from <= s->cover; i++) {
        struct span span = scan->spans[i];
        if (span.to > s->cover)
            s->cover = span.to;
        if (span.open)
            scan->spans[scan->first + open++] = span;
    }
    /* Those that are open stay, in front of the rest. */
    memmove(&scan->spans[i - open], &scan->spans[scan->first], open * sizeof(*scan->spans));
    scan->first = i - open;
    if (scan->first == scan->count)
        scan->first = scan->count = 0;
    return open == 0;
}

/* Hands on what lies before `certain`. */
static int hand_certain(struct redact_stream *s, size_t certain)
{
    while (s->handed < certain) {
        const struct scan *scan = &s->scan;
        if (s->covered) {
            bool settled = lengthen(s);
            size_t end = (size_t)(s->cover - s->base);
            if (end > certain || (end == certain && !s->finished)) {
                s->handed = certain;
                return 0;
            }
            s->handed = end;
            if (!settled)
                return 0;
            s->covered = false;
            continue;
        }
        size_t next = certain;
        bool found = false;
        if (scan->first < scan->count && scan->spans[scan->first].from - s->base < certain) {
            next = (size_t)(scan->spans[scan->first].from - s->base);
            found = true;
        }
        int r = hand_on(s, s->data + s->handed, next - s->handed);
        s->handed = next;
        if (r == 0 && found)
            r = replace(s);
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- the window ------------------------------------------------------------------------------ */

/* Drops what nobody will look at again, and makes room for `more`. */
static int make_room(struct redact_stream *s, size_t more)
{
    if (s->capacity - s->len >= more && s->data)
        return 0;
    size_t behind = s->tried > LOOK_BEHIND ? s->tried - LOOK_BEHIND : 0;
    size_t drop = behind < s->handed ? behind : s->handed;
    if (drop > 0 && s->data) {
        memmove(s->data, s->data + drop, s->len - drop);
        s->len -= drop;
        s->base += drop;
        s->tried -= drop;
        s->handed -= drop;
        s->try_again = s->try_again > drop ? s->try_again - drop : 0;
    }
    if (s->capacity - s->len >= more && s->data)
        return 0;
    if (s->len > HELD_MAX)
        return -E2BIG;
    size_t capacity = s->len + more < 2048 ? 2048 : s->len + more + PIECE / 4;
    const struct allocator *a = s->redactor->allocator;
    unsigned char *data = alloc_resize(a, NULL, capacity + MARGIN);
    if (!data)
        return -ENOMEM;
    if (s->data) {
        memcpy(data, s->data, s->len);
        explicit_bzero(s->data, s->capacity + MARGIN);
        alloc_free(a, s->data);
    }
    s->data = data;
    s->capacity = capacity;
    return 0;
}

/* Tries the next places, before `end`. MATCH_MORE if one of them needs to see more. */
static int try_places(struct redact_stream *s, const struct view *v, size_t end)
{
    size_t from = s->tried, count = end - from < SCAN_PLACES ? end - from : SCAN_PLACES;
    uint64_t marks = scan_marks(s->redactor, s->data + from, count);
    for (; marks; marks &= marks - 1) {
        s->tried = from + (size_t)__builtin_ctzll(marks);
        int r = scan_try(&s->scan, v, s->tried, s->base);
        if (r != MATCH_NO)
            return r;
    }
    s->tried = from + count;
    return MATCH_NO;
}

static int advance(struct redact_stream *s, bool final)
{
    struct view v = {s->data, s->len, final};
    memset(s->data + s->len, 0, MARGIN);
    scan_extend(&s->scan, &v, s->base);
    size_t end = final ? s->len : s->len < GRAM_BYTES ? 0 : s->len - GRAM_BYTES + 1;
    if (final || s->len >= s->try_again) {
        int r = MATCH_NO;
        while (s->tried < end && r == MATCH_NO)
            r = try_places(s, &v, end);
        if (r < 0)
            return r;
        /* Trying after each byte would cost the square of what is held back. */
        if (r == MATCH_MORE)
            s->try_again = s->len + (s->len - s->tried) / 4 + 1;
        scan_extend(&s->scan, &v, s->base);
    }
    return hand_certain(s, final ? s->len : s->tried > LAG ? s->tried - LAG : 0);
}

/* --- outside --------------------------------------------------------------------------------- */

int redact_stream_new(const struct redactor *r, redact_sink *sink, void *user,
                      struct redact_stream **ret, struct err *e)
{
    struct redact_stream *s = alloc_resize(r->allocator, NULL, sizeof(*s));
    if (!s)
        return err_errno(e, -ENOMEM, "redaction");
    *s = (struct redact_stream){.redactor = r, .sink = sink, .user = user};
    size_t bytes = r->names * sizeof(*s->counts);
    s->counts = alloc_resize(r->allocator, NULL, bytes);
    if (!s->counts || scan_init(&s->scan, r) < 0) {
        alloc_free(r->allocator, s->counts);
        alloc_free(r->allocator, s);
        return err_errno(e, -ENOMEM, "redaction");
    }
    memset(s->counts, 0, bytes);
    *ret = s;
    return 0;
}

static int fail(struct redact_stream *s, int code, struct err *e)
{
    s->failed = code;
    return err_errno(e, code, "redaction");
}

int redact_stream_feed(struct redact_stream *s, const char *bytes, size_t len, struct err *e)
{
    if (s->failed)
        return err_errno(e, s->failed, "redaction");
    if (s->finished)
        return fail(s, -EINVAL, e);
    while (len > 0 && !(s->find && s->total > 0)) {
        size_t piece = len < PIECE ? len : PIECE;
        int r = make_room(s, piece);
        if (r < 0)
            return fail(s, r, e);
        memcpy(s->data + s->len, bytes, piece);
        s->len += piece;
        bytes += piece;
        len -= piece;
        r = advance(s, false);
        if (r < 0)
            return fail(s, r, e);
    }
    return 0;
}

int redact_stream_finish(struct redact_stream *s, struct err *e)
{
    if (s->failed)
        return err_errno(e, s->failed, "redaction");
    if (s->finished)
        return 0;
    s->finished = true;
    int r = s->data && !(s->find && s->total > 0) ? advance(s, true) : 0;
    return r < 0 ? fail(s, r, e) : 0;
}

void redact_stream_free(struct redact_stream *s)
{
    if (!s)
        return;
    const struct allocator *a = s->redactor->allocator;
    if (s->data)
        explicit_bzero(s->data, s->capacity + MARGIN);
    alloc_free(a, s->data);
    alloc_free(a, s->counts);
    scan_release(&s->scan);
    alloc_free(a, s);
}

void stream_only_find(struct redact_stream *s, struct redact_found *ret)
{
    s->find = ret;
}

uint64_t redact_stream_offset(const struct redact_stream *s, bool *ret_replaced)
{
    *ret_replaced = s->covered;
    return s->base + s->handed;
}

uint64_t redact_stream_count(const struct redact_stream *s)
{
    return s->total;
}

uint64_t redact_stream_count_of(const struct redact_stream *s, size_t rule)
{
    return rule < s->redactor->names ? s->counts[rule] : 0;
}
