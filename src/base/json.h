/*
 * A streaming JSON writer. Its output is always valid JSON and valid UTF-8, whatever it is given:
 * bytes that are not UTF-8 become U+FFFD, characters that a terminal would obey or an eye would
 * miss (escape.h) are written by their number, commas and colons come by themselves.
 *
 * Misuse (a value without a key in an object, too deep, an unbalanced end) and a failing sink are
 * remembered; json_finish returns the first of them.
 */
#ifndef NACRE_BASE_JSON_H
#define NACRE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { JSON_DEPTH_MAX = 2048 };

enum json_level { JSON_IN_OBJECT = 1 << 0, JSON_FILLED = 1 << 1 };

struct json {
    int (*write)(void *user, const char *bytes, size_t len); /* 0 or a negative errno */
    void *user;
    int failed;
    unsigned depth;
    bool after_key;
    uint8_t level[JSON_DEPTH_MAX]; /* enum json_level; set where a level begins */
};

void json_init(struct json *j, int (*write)(void *user, const char *bytes, size_t len), void *user);
void json_init_buf(struct json *j, struct buf *out);

/* One string by itself, quoted: also the safe way to show a name. Returns what buf_append does. */
int json_append_text(struct buf *out, const char *text);

void json_object_begin(struct json *j);
void json_object_end(struct json *j);
void json_array_begin(struct json *j);
void json_array_end(struct json *j);
void json_key(struct json *j, const char *key);

void json_bytes(struct json *j, const char *bytes, size_t len);
void json_text(struct json *j, const char *text); /* NULL becomes null */
void json_signed(struct json *j, int64_t value);
void json_unsigned(struct json *j, uint64_t value);
void json_bool(struct json *j, bool value);
void json_nothing(struct json *j);

/* 0 when one whole value was written, otherwise the first failure. */
int json_finish(struct json *j);

#endif
