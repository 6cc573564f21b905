/* See rpc.h. */
#include "serve/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- answers --------------------------------------------------------------------------------- */

static void say_line(struct door *d, struct buf *line)
{
    buf_append_byte(line, '\n');
    if (line->failed) {
        /* Nobody waits for ever. */
        buf_clear(line);
        jsonrpc_append_error(line, NULL, JSONRPC_INTERNAL_ERROR, "out of memory", NULL);
        buf_append_byte(line, '\n');
    }
    door_say(d, line->data, line->len);
    buf_release(line);
}

static void say_error(struct door *d, const char *id, int code, const char *message)
{
    struct buf line;
    buf_init(&line, &allocator_libc, JSONRPC_REPLY_MAX);
    jsonrpc_append_error(&line, id, code, message, NULL);
    say_line(d, &line);
}

/* --- one message ----------------------------------------------------------------------------- */

/* Only what came alone on its line can be in time for it: it is dealt with by the reader. */
static void cancel(struct door *d, const struct jsonrpc_message *message,
                   struct jsonrpc_reply *reply)
{
    char id[JSONRPC_ID_MAX];
    if (!jsonrpc_id_text(json_object_get(message->params, "id"), id, sizeof(id)))
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "id: is not that of a request");
    else
        buf_append_format(&reply->result, "{\"cancelled\":%s}",
                          door_cancel(d, id) ? "true" : "false");
}

/* Appends the answer; false: there is none. */
static bool answer_one(struct door *d, json_t *value, struct buf *out)
{
    struct jsonrpc_message message;
    struct jsonrpc_reply reply;
    struct err e = {0};
    int code = jsonrpc_read(value, &message, &e);
    if (code && message.kind == JSONRPC_NOTIFICATION)
        return false;
    if (code || message.kind == JSONRPC_RESPONSE) {
        jsonrpc_append_error(out, message.id, code ? code : JSONRPC_INVALID_REQUEST,
                             code ? e.message : "nothing was asked that this could answer", NULL);
        return true;
    }
    jsonrpc_reply_init(&reply);
    if (strcmp(message.method, "cancel") == 0) {
        cancel(d, &message, &reply);
    } else {
        door_begin(d, message.id);
        service_call(d->service, message.method, message.params, &reply);
        door_end(d);
    }
    bool asked = message.kind == JSONRPC_REQUEST;
    if (asked)
        jsonrpc_append_reply(out, message.id, &reply);
    jsonrpc_reply_release(&reply);
    return asked;
}

static void answer_batch(struct door *d, json_t *batch, struct buf *out)
{
    size_t count = json_array_size(batch), told = 0;
    if (!count || count > JSONRPC_BATCH_MAX) {
        jsonrpc_append_error(out, NULL, JSONRPC_INVALID_REQUEST, "a batch has 1 to 256 messages",
                             NULL);
        return;
    }
    buf_append_byte(out, '[');
    for (size_t i = 0; i < count; i++) {
        size_t before = out->len;
        buf_append_text(out, told ? "," : "");
        if (answer_one(d, json_array_get(batch, i), out)) {
            told++;
        } else if (!out->failed) {
            out->len = before;
            out->data[before] = '\0';
        }
    }
    if (told) {
        buf_append_byte(out, ']');
    } else {
        out->len = 0; /* notifications alone get no answer at all */
    }
}

static void answer_line(struct door *d, const char *bytes, size_t len, const char *note)
{
    struct err e = {0};
    struct buf out;
    if (!bytes) {
        err_set(&e, -E2BIG, "a message has at most %zu bytes",
                ((const struct rpc *)d)->line.bytes.max);
        say_error(d, note, JSONRPC_INVALID_REQUEST, e.message);
        return;
    }
    json_t *value = jsonrpc_parse(bytes, len, &e);
    if (!value) {
        struct line_skim skim = {0};
        line_skim_bytes(&skim, bytes, len);
        say_error(d, line_skim_id(&skim), JSONRPC_PARSE_ERROR, e.message);
        return;
    }
    buf_init(&out, &allocator_libc, 2 * (size_t)JSONRPC_REPLY_MAX);
    if (json_is_array(value))
        answer_batch(d, value, &out);
    else
        answer_one(d, value, &out);
    json_decref(value);
    if (out.len || out.failed)
        say_line(d, &out);
    else
        buf_release(&out);
}

/* --- lines ----------------------------------------------------------------------------------- */

/* What is to be done at once, whatever else is under way. */
static bool is_urgent(const char *line, size_t len)
{
    enum { SHORT = 4096 };
    struct jsonrpc_message message;
    if (len > SHORT || !memmem(line, len, "\"cancel\"", 8))
        return false;
    json_t *value = jsonrpc_parse(line, len, NULL);
    bool urgent = value && jsonrpc_read(value, &message, NULL) == 0 && message.method &&
                  strcmp(message.method, "cancel") == 0;
    json_decref(value);
    return urgent;
}

static void take_line(void *user, const char *line, size_t len, const char *id)
{
    struct rpc *r = user;
    if (!line)
        door_take(&r->door, NULL, 0, id);
    else if (!r->door.inline_ && is_urgent(line, len))
        answer_line(&r->door, line, len, NULL);
    else if (!jsonrpc_is_blank(line, len))
        door_take(&r->door, line, len, NULL);
}

void rpc_init(struct rpc *r, size_t message_max)
{
    line_init(&r->line, message_max);
    r->door.answer = answer_line;
}

void rpc_release(struct rpc *r)
{
    line_release(&r->line);
}

void rpc_feed(void *rpc, const char *bytes, size_t len)
{
    struct rpc *r = rpc;
    line_feed(&r->line, bytes, len, take_line, r);
}

/* A last line may have no end. */
static void finish(void *rpc)
{
    rpc_feed(rpc, "\n", 1);
}

int rpc_serve(const struct door_options *options, struct err *e)
{
    struct rpc *r = calloc(1, sizeof(*r));
    if (!r)
        return err_set(e, -ENOMEM, "out of memory");
    rpc_init(r, JSONRPC_MESSAGE_MAX);
    const struct door_server server = {
        .door = &r->door, .user = r, .feed = rpc_feed, .finish = finish};
    int result = door_serve(options, &server, e);
    rpc_release(r);
    free(r);
    return result;
}
