/* Streaming JSON writer; see json.h. */
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

static int write_to_buf(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

void json_init(struct json *j, int (*write)(void *user, const char *bytes, size_t len), void *user)
{
    /* Field by field: the levels are many, and each is set where it begins. */
    j->write = write;
    j->user = user;
    j->failed = 0;
    j->depth = 0;
    j->after_key = false;
    j->level[0] = 0;
}

void json_init_buf(struct json *j, struct buf *out)
{
    json_init(j, write_to_buf, out);
}

static void put(struct json *j, const char *bytes, size_t len)
{
    if (!j->failed && len)
        j->failed = j->write(j->user, bytes, len);
}

static void misuse(struct json *j)
{
    if (!j->failed)
        j->failed = -EINVAL;
}

/* Called before every value: writes the comma, and checks that a value may stand here. */
static void before_value(struct json *j)
{
    uint8_t *level = &j->level[j->depth];
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (*level & JSON_IN_OBJECT || (j->depth == 0 && *level & JSON_FILLED)) {
        misuse(j);
        return;
    }
    if (*level & JSON_FILLED)
        put(j, ",", 1);
    *level |= JSON_FILLED;
}

static void begin(struct json *j, bool object)
{
    before_value(j);
    if (j->depth + 1 >= JSON_DEPTH_MAX) {
        misuse(j);
        return;
    }
    put(j, object ? "{" : "[", 1);
    j->level[++j->depth] = object ? JSON_IN_OBJECT : 0;
}

static void end(struct json *j, bool object)
{
    if (j->depth == 0 || j->after_key || (j->level[j->depth] & JSON_IN_OBJECT) != object) {
        misuse(j);
        return;
    }
    j->depth--;
    put(j, object ? "}" : "]", 1);
}

void json_object_begin(struct json *j)
{
    begin(j, true);
}

void json_object_end(struct json *j)
{
    end(j, true);
}

void json_array_begin(struct json *j)
{
    begin(j, false);
}

void json_array_end(struct json *j)
{
    end(j, false);
}

/* A character that must not stand as it is: escaped by one letter, or by its number in UTF-16. */
static void put_escape(struct json *j, uint32_t c)
{
    static const char letters[0x80] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
                                       ['\t'] = 't', ['"'] = '"',  ['\\'] = '\\'};
    char text[16];
    int len;
    if (c < sizeof(letters) && letters[c])
        len = snprintf(text, sizeof(text), "\\%c", letters[c]);
    else if (c < 0x10000)
        len = snprintf(text, sizeof(text), "\\u%04x", (unsigned)c);
    else
        len = snprintf(text, sizeof(text), "\\u%04x\\u%04x",
                       0xD800U + (((unsigned)c - 0x10000U) >> 10 & 0x3FFU),
                       0xDC00U + ((unsigned)c & 0x3FFU));
    put(j, text, (size_t)len);
}

static bool needs_escape(uint32_t c)
{
    return c == '"' || c == '\\' || c == '\t' || c == '\n' || !escape_is_plain(c);
}

/* Most characters, told without asking any table. */
static bool is_common(char c)
{
    return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
}

/* Runs of plain characters are written in one piece. */
static void put_string(struct json *j, const char *bytes, size_t len)
{
    put(j, "\"", 1);
    size_t plain = 0, at = 0;
    while (at < len) {
        if (is_common(bytes[at])) {
            at++;
            continue;
        }
        uint32_t c = 0;
        size_t n = utf8_decode(bytes + at, len - at, &c, NULL);
        if (n && !needs_escape(c)) {
            at += n;
            continue;
        }
        put(j, bytes + plain, at - plain);
        if (n)
            put_escape(j, c);
        else
            put(j, "\xEF\xBF\xBD", 3);
        at += n ? n : 1;
        plain = at;
    }
    if (at > plain)
        put(j, bytes + plain, at - plain);
    put(j, "\"", 1);
}

void json_key(struct json *j, const char *key)
{
    uint8_t *level = &j->level[j->depth];
    if (!(*level & JSON_IN_OBJECT) || j->after_key) {
        misuse(j);
        return;
    }
    if (*level & JSON_FILLED)
        put(j, ",", 1);
    *level |= JSON_FILLED;
    put_string(j, key, strlen(key));
    put(j, ":", 1);
    j->after_key = true;
}

void json_bytes(struct json *j, const char *bytes, size_t len)
{
    before_value(j);
    put_string(j, bytes, len);
}

void json_text(struct json *j, const char *text)
{
    if (text)
        json_bytes(j, text, strlen(text));
    else
        json_nothing(j);
}

static void put_word(struct json *j, const char *word)
{
    before_value(j);
    put(j, word, strlen(word));
}

void json_signed(struct json *j, int64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRId64, value);
    put_word(j, text);
}

void json_unsigned(struct json *j, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    put_word(j, text);
}

void json_bool(struct json *j, bool value)
{
    put_word(j, value ? "true" : "false");
}

void json_nothing(struct json *j)
{
    put_word(j, "null");
}

int json_append_text(struct buf *out, const char *text)
{
    struct json j;
    json_init_buf(&j, out);
    json_text(&j, text);
    return out->failed;
}

int json_finish(struct json *j)
{
    if (j->depth != 0 || j->after_key || !(j->level[0] & JSON_FILLED))
        misuse(j);
    return j->failed;
}
