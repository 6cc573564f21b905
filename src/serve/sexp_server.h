/*
 * The session as S-expressions, for Lisp kernels; docs/sexp.md has the forms. What they do is
 * service.h's, that they come in order door.h's.
 *
 *   Z1  A form that cannot be read or asks for nothing is answered with a :shell-error, and the
 *       next one is read.
 *   Z2  What is asked for is in strings; a symbol is never taken for a command.
 */
#ifndef NACRE_SERVE_SEXP_SERVER_H
#define NACRE_SERVE_SEXP_SERVER_H

#include <jansson.h>

#include "base/sexp.h"
#include "serve/door.h"

struct sexp_server {
    struct door door;
    struct sexp_split split;
};

/* Fills `answer`; the rest of the door is the caller's. */
void sexp_server_init(struct sexp_server *s, size_t form_max);
void sexp_server_release(struct sexp_server *s);
void sexp_server_feed(void *server, const char *bytes, size_t len);
void sexp_server_finish(void *server);

/* --- sexp_say.c ------------------------------------------------------------------------------ */

/* The event with which a method is answered. `id` NULL: none was given. */
void sexp_say_result(const char *method, const struct sexp *id, const json_t *result,
                     struct buf *out);
/* `line` 0: it is not about a place. */
void sexp_say_error(const struct sexp *id, const struct jsonrpc_reply *why, size_t line,
                    size_t column, struct buf *out);
/* What a preset shows in a chat besides: messages.chat. */
void sexp_say_chat(const struct policy *policy, const json_t *result, struct buf *out);

#endif
