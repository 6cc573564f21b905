/*
 * JSON-RPC 2.0: what a line says, and answers as lines.
 *
 * In:    a line. Out: its message, or the code of what is wrong with it; answers as lines.
 * Never: knows what a method means, or builds anything of what is nested too deep.
 */
#ifndef NACRE_SERVE_JSONRPC_H
#define NACRE_SERVE_JSONRPC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum {
    JSONRPC_PARSE_ERROR = -32700,
    JSONRPC_INVALID_REQUEST = -32600,
    JSONRPC_NO_METHOD = -32601,
    JSONRPC_INVALID_PARAMS = -32602,
    JSONRPC_INTERNAL_ERROR = -32603,
};

enum {
    JSONRPC_ID_MAX = 512,
    JSONRPC_DEPTH_MAX = 64,
    JSONRPC_BATCH_MAX = 256,
    JSONRPC_MESSAGE_MAX = 8 << 20,
    JSONRPC_REPLY_MAX = 256 << 20,
    JSONRPC_REASON_MAX = 1024,
};

/* --- what comes ------------------------------------------------------------------------------ */

enum jsonrpc_kind { JSONRPC_NOTHING, JSONRPC_REQUEST, JSONRPC_NOTIFICATION, JSONRPC_RESPONSE };

struct jsonrpc_message {
    enum jsonrpc_kind kind;
    char id[JSONRPC_ID_MAX]; /* as JSON; empty: there is none, or it is not known */
    const char *method;      /* of requests and notifications */
    json_t *params;          /* an object, or NULL; borrowed */
    json_t *result;          /* of responses; NULL: it was an error; borrowed */
};

/* Whether there is nothing in a line. */
bool jsonrpc_is_blank(const char *line, size_t len);

/* A line as a value, for json_decref; NULL: it is none, and `e` says why. */
json_t *jsonrpc_parse(const char *line, size_t len, struct err *e);

/* Whose parts are in `value`. 0, or a code of JSON-RPC with the reason in `e`; the id is told all
 * the same where it can be. */
int jsonrpc_read(json_t *value, struct jsonrpc_message *ret, struct err *e);

/* The JSON of a text or an integer; false: it is neither, or too long. */
bool jsonrpc_id_text(const json_t *value, char *ret, size_t size);

/* --- what goes ------------------------------------------------------------------------------- */

/* What a request is answered with: a result, or an error of the protocol. */
struct jsonrpc_reply {
    struct buf result; /* JSON of an object */
    int code;          /* of the error; 0: there is none */
    char message[JSONRPC_REASON_MAX];
    struct buf data; /* JSON; empty: none */
};

void jsonrpc_reply_init(struct jsonrpc_reply *r);
void jsonrpc_reply_release(struct jsonrpc_reply *r);
void jsonrpc_reply_fail(struct jsonrpc_reply *r, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The answer without a newline; `id` as JSON, NULL or empty: null. Never fails but by memory. */
void jsonrpc_append_reply(struct buf *out, const char *id, const struct jsonrpc_reply *r);
void jsonrpc_append_error(struct buf *out, const char *id, int code, const char *message,
                          const struct buf *data);

#endif
