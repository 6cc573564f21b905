/*
 * What a model is shown: texts escaped (M3) and cut to the policy's `output.limit`, in whatever
 * they stand. Characters are counted as they are shown, so that nothing grows past the limit.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"
#include "serve/mcp_internal.h"

enum { DEPTH_MAX = 200 };

static size_t count_characters(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

/* Where the character number `index` begins. */
static size_t find_character(const char *text, size_t len, size_t index)
{
    size_t at = 0;
    for (; at < len; at++) {
        if (((unsigned char)text[at] & 0xC0) != 0x80 && index-- == 0)
            break;
    }
    return at;
}

/* An escape is not to be cut in two: it would look like another text. */
static size_t before_escape(const char *text, size_t at)
{
    enum { LONGEST = 12 };
    for (size_t i = at; i > 0 && at - i < LONGEST; i--) {
        if (text[i - 1] == '\\')
            return i - 1;
        if (text[i - 1] == '\n' || text[i - 1] == ' ')
            break;
    }
    return at;
}

bool mcp_show_text(const struct mcp_showing *s, const char *bytes, size_t len, struct buf *out)
{
    struct buf safe;
    struct escape state = {.blanks = s->decides};
    buf_init(&safe, &allocator_libc, MCP_SHOWN_MAX);
    escape_append(&state, bytes, len, &safe);
    escape_finish(&state, &safe);
    size_t count = count_characters(safe.data, safe.len);
    bool cut = safe.failed || (s->limit && count > s->limit);
    if (!cut) {
        buf_append(out, safe.data, safe.len);
    } else {
        size_t head = s->keep == MCP_KEEP_TAIL   ? 0
                      : s->keep == MCP_KEEP_BOTH ? s->limit / 2
                                                 : s->limit;
        size_t tail = s->limit > head ? s->limit - head : 0;
        size_t to = before_escape(safe.data, find_character(safe.data, safe.len, head));
        size_t from = count > tail ? find_character(safe.data, safe.len, count - tail) : safe.len;
        buf_append(out, safe.data, to);
        buf_append_format(out, "\n[... %zu characters left out ...]\n", count - head - tail);
        buf_append(out, safe.data + from, safe.len - from);
    }
    buf_release(&safe);
    return cut;
}

void mcp_show_line(const char *bytes, size_t len, size_t limit, struct buf *out)
{
    struct mcp_showing s = {.limit = limit, .keep = MCP_KEEP_HEAD};
    struct buf shown;
    buf_init(&shown, &allocator_libc, MCP_SHOWN_MAX);
    mcp_show_text(&s, bytes, len, &shown);
    for (size_t i = 0; i < shown.len; i++) {
        if (shown.data[i] == '\n')
            buf_append_text(out, "\\n");
        else if (shown.data[i] == '\t')
            buf_append_text(out, "\\t");
        else
            buf_append_byte(out, shown.data[i]);
    }
    buf_release(&shown);
}

static void show_string(const struct mcp_showing *s, const char *bytes, size_t len,
                        struct json *out)
{
    struct buf text;
    buf_init(&text, &allocator_libc, MCP_SHOWN_MAX);
    mcp_show_text(s, bytes, len, &text);
    json_bytes(out, text.data, text.len);
    buf_release(&text);
}

static void show_value(const struct mcp_showing *s, const json_t *value, struct json *out,
                       unsigned depth)
{
    const char *key;
    json_t *item;
    if (depth > DEPTH_MAX) {
        json_nothing(out);
        return;
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        json_object_begin(out);
        json_object_foreach((json_t *)value, key, item)
        {
            json_key(out, key);
            show_value(s, item, out, depth + 1);
        }
        json_object_end(out);
        break;
    case JSON_ARRAY:
        json_array_begin(out);
        for (size_t i = 0; i < json_array_size(value) && i < MCP_ITEMS_MAX; i++)
            show_value(s, json_array_get(value, i), out, depth + 1);
        json_array_end(out);
        break;
    case JSON_STRING:
        show_string(s, json_string_value(value), json_string_length(value), out);
        break;
    case JSON_INTEGER:
        json_signed(out, json_integer_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        json_bool(out, json_is_true(value));
        break;
    default:
        json_nothing(out);
    }
}

void mcp_show_json(const struct mcp_showing *s, const json_t *value, struct json *out)
{
    show_value(s, value, out, 0);
}

int mcp_show_json_text(const struct mcp_showing *s, const char *text, size_t len, struct buf *out)
{
    struct json j;
    json_t *value = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
    if (!value)
        return -EBADMSG;
    json_init_buf(&j, out);
    mcp_show_json(s, value, &j);
    json_decref(value);
    return json_finish(&j);
}

struct mcp_showing mcp_showing_of(const struct policy *policy)
{
    struct mcp_showing s = {.limit = 50000, .keep = MCP_KEEP_BOTH};
    if (policy && policy->output.limit)
        s.limit = policy->output.limit;
    /* What was cut already has its mark behind the limit. */
    if (policy && policy->output.cut && policy->messages.truncated)
        s.limit += strlen(policy->messages.truncated);
    if (policy && policy->output.keep && strcmp(policy->output.keep, "head") == 0)
        s.keep = MCP_KEEP_HEAD;
    else if (policy && policy->output.keep && strcmp(policy->output.keep, "tail") == 0)
        s.keep = MCP_KEEP_TAIL;
    return s;
}
