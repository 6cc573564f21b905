/* See jsonrpc.h. */
#include "serve/jsonrpc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

/* --- what comes ------------------------------------------------------------------------------ */

bool jsonrpc_is_blank(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!strchr(" \t\r", line[i]) || !line[i])
            return false;
    }
    return true;
}

/* Before anything is built of it. */
static bool is_too_deep(const char *text, size_t len)
{
    unsigned depth = 0;
    bool in_text = false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (in_text) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_text = false;
        } else if (c == '"') {
            in_text = true;
        } else if (c == '{' || c == '[') {
            if (++depth > JSONRPC_DEPTH_MAX)
                return true;
        } else if ((c == '}' || c == ']') && depth) {
            depth--;
        }
    }
    return false;
}

json_t *jsonrpc_parse(const char *line, size_t len, struct err *e)
{
    json_error_t error;
    if (is_too_deep(line, len)) {
        err_set(e, -E2BIG, "nested deeper than %d", JSONRPC_DEPTH_MAX);
        return NULL;
    }
    json_t *value =
        json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!value)
        err_set(e, -EBADMSG, "no JSON: column %d: %s", error.column, error.text);
    return value;
}

bool jsonrpc_id_text(const json_t *value, char *ret, size_t size)
{
    if (!json_is_string(value) && !json_is_integer(value))
        return false;
    /* As ASCII, since some ends of a connection take U+2028 for the end of a line. */
    size_t len = json_dumpb(value, ret, size - 1, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    if (len == 0 || len > size - 1)
        return false;
    ret[len] = '\0';
    return true;
}

static int invalid(struct err *e, const char *why)
{
    err_set(e, -EBADMSG, "%s", why);
    return JSONRPC_INVALID_REQUEST;
}

static int read_response(json_t *value, struct jsonrpc_message *ret, struct err *e)
{
    json_t *error = json_object_get(value, "error");
    ret->result = json_object_get(value, "result");
    if (!ret->result == !error)
        return invalid(e, "neither a method nor a result");
    ret->kind = JSONRPC_RESPONSE;
    return ret->id[0] || error ? 0 : invalid(e, "a result without an id");
}

int jsonrpc_read(json_t *value, struct jsonrpc_message *ret, struct err *e)
{
    *ret = (struct jsonrpc_message){0};
    if (!json_is_object(value))
        return invalid(e, "a message is an object");
    const json_t *id = json_object_get(value, "id"), *version = json_object_get(value, "jsonrpc");
    json_t *method = json_object_get(value, "method"), *params = json_object_get(value, "params");
    bool id_is_good = !id || jsonrpc_id_text(id, ret->id, sizeof(ret->id));
    if (!id_is_good)
        ret->id[0] = '\0';
    if (!json_is_string(version) || strcmp(json_string_value(version), "2.0") != 0)
        return invalid(e, "jsonrpc is not \"2.0\"");
    if (!method)
        return id_is_good || json_is_null(id) ? read_response(value, ret, e)
                                              : invalid(e, "an id is a text or an integer");
    if (!json_is_string(method) || strlen(json_string_value(method)) != json_string_length(method))
        return invalid(e, "method is not a text");
    if (!id_is_good)
        return invalid(e, "an id is a text of some length or an integer");
    if (json_object_get(value, "result") || json_object_get(value, "error"))
        return invalid(e, "a method and a result at once");
    ret->kind = id ? JSONRPC_REQUEST : JSONRPC_NOTIFICATION;
    ret->method = json_string_value(method);
    if (params && !json_is_object(params)) {
        err_set(e, -EINVAL, "params are an object");
        return JSONRPC_INVALID_PARAMS;
    }
    ret->params = params;
    return 0;
}

/* --- what goes ------------------------------------------------------------------------------- */

void jsonrpc_reply_init(struct jsonrpc_reply *r)
{
    r->code = 0;
    r->message[0] = '\0';
    buf_init(&r->result, &allocator_libc, JSONRPC_REPLY_MAX);
    buf_init(&r->data, &allocator_libc, JSONRPC_REPLY_MAX);
}

void jsonrpc_reply_release(struct jsonrpc_reply *r)
{
    buf_release(&r->result);
    buf_release(&r->data);
}

void jsonrpc_reply_fail(struct jsonrpc_reply *r, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->message, sizeof(r->message), format, args);
    va_end(args);
    r->code = code;
}

static void begin(struct buf *out, const char *id)
{
    buf_append_format(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,", id && id[0] ? id : "null");
}

void jsonrpc_append_error(struct buf *out, const char *id, int code, const char *message,
                          const struct buf *data)
{
    begin(out, id);
    buf_append_format(out, "\"error\":{\"code\":%d,\"message\":", code);
    json_append_text(out, message);
    if (data && data->len) {
        buf_append_text(out, ",\"data\":");
        buf_append(out, data->data, data->len);
    }
    buf_append_text(out, "}}");
}

void jsonrpc_append_reply(struct buf *out, const char *id, const struct jsonrpc_reply *r)
{
    enum { ROUND_IT = 1024 };
    if (r->code) {
        jsonrpc_append_error(out, id, r->code, r->message, &r->data);
    } else if (r->result.failed) {
        jsonrpc_append_error(
            out, id, JSONRPC_INTERNAL_ERROR,
            r->result.failed == -E2BIG ? "the answer is too long" : "out of memory", NULL);
    } else if (out->len + r->result.len + ROUND_IT > out->max) {
        /* Nobody waits for ever for an answer that does not fit. */
        jsonrpc_append_error(out, id, JSONRPC_INTERNAL_ERROR, "the answer is too long", NULL);
    } else {
        begin(out, id);
        buf_append_text(out, "\"result\":");
        buf_append(out, r->result.data, r->result.len);
        buf_append_byte(out, '}');
    }
}
