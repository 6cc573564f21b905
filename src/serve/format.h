/*
 * Results, verdicts and plans as documents: org for Emacs, markdown, property lists for Lisp.
 *
 * Whatever a command printed, nothing in it can be taken for a part of the document: no heading,
 * no end of a block, no end of a string.
 */
#ifndef NACRE_SERVE_FORMAT_H
#define NACRE_SERVE_FORMAT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_ORG, FORMAT_SEXP, FORMAT_MARKDOWN };
#define FORMAT_CHOICES "text|json|org|sexp|markdown"

/* By its name; NULL is text. */
enum format format_named(const char *name);

struct format_piece {
    const char *bytes;
    size_t len;
};

struct format_result {
    struct format_piece command, output, errors;
    int exit_code;
    bool synthesis;
};

/* Of what `run --json` prints; pieces are of the value. */
struct format_result format_result_of(const json_t *value);

/* A text that stands in a document of org and is nothing of its own there. */
void format_org_text(struct format_piece text, struct buf *out);

/* A result, as org and as `(:type :EVENT :payload (:sensor :shell-response …))`. */
void format_org(const struct format_result *result, struct buf *out);
void format_sexp(const struct format_result *result, struct buf *out);

/* One string of Lisp, quoted; bytes that are not UTF-8 become U+FFFD. */
void format_lisp_string(const char *bytes, size_t len, struct buf *out);

/* What `run --json` and `test --json` print, in another form: org, sexp or markdown. -EBADMSG. */
int format_result_json(const char *json, size_t len, enum format form, struct buf *out);
int format_verdict_json(const char *json, size_t len, const char *command, size_t command_len,
                        enum format form, struct buf *out);

/* The lines of a plan. */
void format_plan(const char *lines, size_t len, enum format form, struct buf *out);

#endif
