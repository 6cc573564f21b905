/* See frames.h. */
#include "history/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { DIGITS_MAX = 18 };

/* Decimal digits up to `stop`, which is passed over. */
static bool get_number(const char **at, const char *end, char stop, uint64_t *ret)
{
    const char *start = *at;
    uint64_t number = 0;
    while (*at < end && **at >= '0' && **at <= '9' && *at - start < DIGITS_MAX)
        number = number * 10 + (uint64_t)(*(*at)++ - '0');
    if (*at == start || *at == end || **at != stop)
        return false;
    ++*at;
    *ret = number;
    return true;
}

int frames_next(const char **at, const char *end, struct frame *ret)
{
    struct frame frame = {0};
    const char *s = *at;
    uint64_t stream, len;
    if (s == end)
        return 0;
    frame.left_out = *s == '-';
    s += frame.left_out;
    if (!get_number(&s, end, ' ', &stream) || !get_number(&s, end, ' ', &frame.ms) ||
        !get_number(&s, end, '\n', &len) || stream < 1 || stream > 2 || (frame.left_out && len) ||
        len >= (uint64_t)(end - s) || s[len] != '\n')
        return -EBADMSG;
    frame.stream = (int)stream;
    frame.bytes = s;
    frame.len = (size_t)len;
    *at = s + len + 1;
    *ret = frame;
    return 1;
}

int frames_append(struct buf *out, int stream, uint64_t ms, const char *bytes, size_t len)
{
    buf_append_format(out, "%s%d %" PRIu64 " %zu\n", bytes ? "" : "-", stream, ms, bytes ? len : 0);
    if (bytes)
        buf_append(out, bytes, len);
    return buf_append_byte(out, '\n');
}
