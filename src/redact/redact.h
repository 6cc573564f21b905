/*
 * Redaction: bytes in, the same bytes without secrets out.
 *
 * In:    any bytes: command texts, arguments, paths, streams of output, files.
 * Out:   the same, with each secret replaced by "[REDACTED:rule]", and how many there were.
 * Never: keeps, prints or reports what it removed; looks at anything but what it was given.
 *
 * A secret is what a rule of data/secrets matches, what a rule of the caller's matches, or one of
 * the exact values that the caller hands in, in any of the usual encodings. docs/redaction.md says
 * what is found and what is not.
 *
 * Promises, which the tests cite:
 *
 *   R1  The output depends on the bytes alone, not on how they were cut into chunks.
 *   R2  No exact value that is taken up (redact_value_is_usable) is let through in one of its
 *       encodings.
 *   R3  Time is linear in the input whatever it is, and memory is bounded.
 *   R4  Where a bound is reached, more is removed, never less.
 *   R5  After a failure nothing more is handed on.
 *
 * A redactor does not change once it is made: any number of threads may use it, each with streams
 * of its own.
 */
#ifndef NACRE_REDACT_REDACT_H
#define NACRE_REDACT_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct redactor;
struct redact_stream;

/* A value that must not be seen, such as that of a variable of the environment or of a file. */
struct redact_value {
    const char *name; /* stands in the replacement: letters, digits, '_', '-', '.' */
    const char *bytes;
    size_t len;
};

/* A rule of the caller's; docs/redaction.md has the language of patterns. */
struct redact_rule {
    const char *name; /* as that of a value */
    const char *pattern;
};

struct redact_options {
    const struct allocator *allocator; /* NULL: the C library's */
    const struct redact_value *values; /* copied; those that are not usable are left out */
    size_t value_count;
    const struct redact_rule *rules;
    size_t rule_count;
    const char *replacement; /* "{rule}" in it is the rule's name; NULL: "[REDACTED:{rule}]" */
};

enum {
    REDACT_VALUES_MAX = 1000,     /* values and rules that a redactor takes */
    REDACT_VALUE_BYTES = 1 << 16, /* how long one value may be */
    REDACT_NAME_MAX = 128,        /* bytes of a name */
    REDACT_REPLACEMENT_MAX = 256, /* bytes of the replacement, as given */
};

/* -EINVAL: a pattern, a name or the replacement is wrong, and the message says where. With no
 * values and no rules this costs one small allocation. */
int redactor_new(const struct redact_options *options, struct redactor **ret, struct err *e);

/* Forgets the values first. Streams of it must have been freed. NULL is accepted. */
void redactor_free(struct redactor *r);

/* Appends `bytes` without secrets to `out`; on failure `out` is as it was. `ret_count` may be
 * NULL. */
int redact_text(const struct redactor *r, const char *bytes, size_t len, struct buf *out,
                size_t *ret_count, struct err *e);

/* Where a stream's bytes go: 0, or a negative errno that ends the stream. */
typedef int redact_sink(void *user, const char *bytes, size_t len);

int redact_stream_new(const struct redactor *r, redact_sink *sink, void *user,
                      struct redact_stream **ret, struct err *e);

/* Some of what is fed is held back until it is certain: a few bytes mostly, at most some
 * kilobytes. */
int redact_stream_feed(struct redact_stream *s, const char *bytes, size_t len, struct err *e);

/* For a sink: where in what was fed the piece begins that it is given; or whether it stands in the
 * place of something that begins there. */
uint64_t redact_stream_offset(const struct redact_stream *s, bool *ret_replaced);

/* Hands on what was held back. Nothing can be fed after it. */
int redact_stream_finish(struct redact_stream *s, struct err *e);

/* Forgets what was held back. NULL is accepted. */
void redact_stream_free(struct redact_stream *s);

/* How many secrets were replaced so far: all, and by rule. Rules are numbered from 0: those that
 * come with nacre, then the caller's rules, then the values. */
uint64_t redact_stream_count(const struct redact_stream *s);
uint64_t redact_stream_count_of(const struct redact_stream *s, size_t rule);
size_t redactor_rule_count(const struct redactor *r);
const char *redactor_rule_name(const struct redactor *r, size_t rule);

struct redact_found {
    const char *rule; /* lives as long as the redactor */
    uint64_t offset;  /* of the secret's first byte */
};

/* 1 and the first secret of `bytes`, 0 if there is none, or a negative errno. */
int redact_find(const struct redactor *r, const char *bytes, size_t len, struct redact_found *ret,
                struct err *e);

/* Whether a variable of this name holds a secret, judged by its name alone. */
bool redact_name_is_secret(const char *name, size_t len);

/* Whether a value can be looked for: long enough, and not a word such as "true" or "localhost" that
 * stands in any text. */
bool redact_value_is_usable(const char *bytes, size_t len);

#endif
