/* Private keys and their like; see block.h. */
#include "redact/block.h"

#include <string.h>

enum { MARK = 8, END_MAX = 64, GAP_MAX = 4 };

static bool is_digit64(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '/' || c == '=';
}

enum match_result block_is_key(const struct view *v, size_t at, uint64_t base, struct quiet *q)
{
    size_t run = 0, end = at + BLOCK_SOON < v->len ? at + BLOCK_SOON : v->len, i = at;
    if (base + at >= q->from && base + at < q->to) {
        /* Up to `to` nothing ended; a run may lead up to it. */
        i = (size_t)(q->to - base);
        while (i - run > at && run < BLOCK_LINE && is_digit64(v->data[i - run - 1]))
            run++;
    } else {
        q->from = q->to = base + at;
    }
    for (; i < end; i++) {
        run = is_digit64(v->data[i]) ? run + 1 : 0;
        if (run >= BLOCK_LINE) {
            q->to = base + i;
            return MATCH_YES;
        }
    }
    if (base + i > q->to)
        q->to = base + i;
    return end < at + BLOCK_SOON && !v->final ? MATCH_MORE : MATCH_NO;
}

/* Behind "-----END … -----" at `at`. MATCH_MORE: it is cut off. */
static enum match_result read_end(const struct view *v, size_t at, size_t *ret)
{
    size_t i = at + MARK, dashes = 0;
    while (i < v->len && i - at < END_MAX &&
           ((v->data[i] >= 'A' && v->data[i] <= 'Z') || (v->data[i] >= '0' && v->data[i] <= '9') ||
            v->data[i] == ' '))
        i++;
    while (i < v->len && v->data[i] == '-' && dashes < 5) {
        i++;
        dashes++;
    }
    *ret = i;
    return i == v->len && dashes < 5 && !v->final ? MATCH_MORE : MATCH_YES;
}

static void take_byte(struct block *b, unsigned char c)
{
    b->quiet++;
    if (!is_digit64(c)) {
        if (b->run > 0) {
            b->long_line = b->run >= BLOCK_LINE;
            b->gap = 0;
        }
        b->run = 0;
        b->gap++;
        return;
    }
    b->run++;
    if (b->run >= BLOCK_LINE) {
        b->quiet = 0;
        b->to = b->seen + 1;
    } else if (b->long_line && b->gap <= GAP_MAX) {
        b->to = b->seen + 1;
    }
}

void block_extend(struct block *b, const struct view *v, uint64_t base)
{
    while (b->open) {
        size_t at = (size_t)(b->seen - base);
        if (at == v->len) {
            b->open = !v->final;
            return;
        }
        if (v->data[at] == '-') {
            if (v->len - at < MARK && !v->final)
                return;
            if (v->len - at >= MARK && (memcmp(v->data + at, "-----END", MARK) == 0 ||
                                        memcmp(v->data + at, "---- END", MARK) == 0)) {
                size_t end;
                if (read_end(v, at, &end) == MATCH_MORE)
                    return;
                b->to = base + end;
                b->open = false;
                return;
            }
            if (v->len - at >= MARK && memcmp(v->data + at, "-----BEG", MARK) == 0)
                b->quiet = 0;
        }
        take_byte(b, v->data[at]);
        b->seen++;
        if (b->quiet > BLOCK_QUIET)
            b->open = false;
    }
}
