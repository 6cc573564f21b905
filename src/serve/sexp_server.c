/* What comes in: forms as calls of a session; see sexp_server.h. */
#include "serve/sexp_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/service_internal.h"

enum { FORM_BYTES_MAX = 512 << 20, METHOD_MAX = 64 };

/* --- a form as parameters -------------------------------------------------------------------- */

/* A keyword as a name of JSON's: timeout-ms is timeout_ms. */
static void name_of(const struct sexp *s, char ret[METHOD_MAX])
{
    snprintf(ret, METHOD_MAX, "%s", s->text);
    for (char *c = ret; *c; c++)
        *c = (char)(*c == '-' ? '_' : *c);
}

static json_t *value_of(const struct sexp *s, enum service_type type);

/* A property list as an object; NULL: it is none. */
/* NOLINTNEXTLINE(misc-no-recursion): the depth is bounded by the reader */
static json_t *object_of(const struct sexp *list)
{
    json_t *object = json_object();
    for (const struct sexp *s = list->first; s && object; s = s->next->next) {
        char name[METHOD_MAX];
        json_t *value = s->next ? value_of(s->next, SERVICE_TEXT) : NULL;
        if (s->kind != SEXP_KEYWORD || !value) {
            json_decref(value);
            json_decref(object);
            return NULL;
        }
        name_of(s, name);
        json_object_set_new(object, name, value);
    }
    return object;
}

/* nil is what the parameter has it for: no, an empty list, or nothing. */
static json_t *nil_of(enum service_type type)
{
    return type == SERVICE_BOOL   ? json_false()
           : type == SERVICE_LIST ? json_array()
           : type == SERVICE_MAP  ? json_object()
                                  : json_null();
}

/* NOLINTNEXTLINE(misc-no-recursion): the depth is bounded by the reader */
static json_t *list_of(const struct sexp *list)
{
    json_t *array = json_array();
    for (const struct sexp *s = list->first; s && array; s = s->next)
        json_array_append_new(array, value_of(s, SERVICE_TEXT));
    return array;
}

/* Z2: a symbol or a keyword is nothing that could be run; a number is no text either. */
/* NOLINTNEXTLINE(misc-no-recursion): the depth is bounded by the reader */
static json_t *value_of(const struct sexp *s, enum service_type type)
{
    if (sexp_is_nil(s))
        return nil_of(type);
    switch (s->kind) {
    case SEXP_KEYWORD:
        if (type == SERVICE_BYTES)
            return json_integer(-1);
        return json_stringn(s->text, s->len);
    case SEXP_STRING:
        return json_stringn(s->text, s->len);
    case SEXP_INTEGER:
        return json_integer(s->number);
    case SEXP_LIST:
        return s->first->kind == SEXP_KEYWORD && type != SERVICE_LIST ? object_of(s) : list_of(s);
    default:
        return sexp_is(s, SEXP_SYMBOL, "t") ? json_true() : json_integer(-1);
    }
}

/* --- a request ------------------------------------------------------------------------------- */

struct request {
    char method[METHOD_MAX];
    json_t *params;
    const struct sexp *id;
};

static int refuse(struct jsonrpc_reply *reply, const char *why)
{
    jsonrpc_reply_fail(reply, JSONRPC_INVALID_REQUEST, "%s", why);
    return -EINVAL;
}

/* What the payload's own names are in a call of the session. */
static const char *parameter_name(const char *method, const char *name)
{
    return strcmp(method, "exec") == 0 && strcmp(name, "cmd") == 0 ? "command" : name;
}

static int read_payload(const struct sexp *payload, struct request *ret,
                        struct jsonrpc_reply *reply)
{
    const struct sexp *action = sexp_get(payload, "action");
    if (action && action->kind == SEXP_KEYWORD)
        name_of(action, ret->method);
    else if (action)
        return refuse(reply, ":action is a keyword such as :fs-hash");
    else if (sexp_get(payload, "cmd"))
        snprintf(ret->method, sizeof(ret->method), "exec");
    else if (sexp_get(payload, "language") || sexp_get(payload, "content"))
        snprintf(ret->method, sizeof(ret->method), "script");
    else
        return refuse(reply, "a :payload has :cmd, or :language and :content, or :action");
    ret->params = json_object();
    for (const struct sexp *s = payload->first; s; s = s->next->next) {
        char name[METHOD_MAX];
        if (s->kind != SEXP_KEYWORD || !s->next)
            return refuse(reply, "a :payload is a list of keywords and values");
        name_of(s, name);
        if (s->next == action)
            continue;
        const char *key = parameter_name(ret->method, name);
        json_t *value = value_of(s->next, service_type_of(ret->method, key));
        if (!value || json_object_get(ret->params, key)) {
            json_decref(value);
            return refuse(reply, "a :payload has each keyword once, and values that can be read");
        }
        json_object_set_new(ret->params, key, value);
    }
    return 0;
}

/* Whether a keyword comes twice: whoever looked at the form before us may have read the other. */
static bool is_doubled(const struct sexp *form)
{
    static const char *const names[] = {"type", "target", "id", "payload"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t count = 0;
        for (const struct sexp *s = form->first; s && s->next; s = s->next->next)
            count += sexp_is(s, SEXP_KEYWORD, names[i]);
        if (count > 1)
            return true;
    }
    return false;
}

static int read_request(const struct sexp *form, struct request *ret, struct jsonrpc_reply *reply)
{
    const struct sexp *id = sexp_get(form, "id"), *target = sexp_get(form, "target");
    const struct sexp *payload = sexp_get(form, "payload");
    if (form->kind != SEXP_LIST)
        return refuse(reply, "a form is a list");
    if (id && id->kind != SEXP_LIST && id->kind != SEXP_SYMBOL)
        ret->id = id;
    else if (id && !sexp_is_nil(id))
        return refuse(reply, ":id is a string, a keyword or an integer");
    if (is_doubled(form))
        return refuse(reply, "a form has each keyword once");
    if (!sexp_is(sexp_get(form, "type"), SEXP_KEYWORD, "request"))
        return refuse(reply, ":type is not :REQUEST");
    if (target && !sexp_is(target, SEXP_KEYWORD, "shell"))
        return refuse(reply, ":target is not :shell");
    if (!payload || payload->kind != SEXP_LIST)
        return refuse(reply, "there is no :payload");
    return read_payload(payload, ret, reply);
}

/* --- answers --------------------------------------------------------------------------------- */

static void answer_request(struct sexp_server *s, struct request *request,
                           struct jsonrpc_reply *reply, struct buf *out)
{
    struct door *d = &s->door;
    door_begin(d, "");
    service_call(d->service, request->method, request->params, reply);
    door_end(d);
    if (reply->code)
        return;
    json_t *result = reply->result.failed
                         ? NULL
                         : json_loadb(reply->result.data, reply->result.len, JSON_ALLOW_NUL, NULL);
    if (!result) {
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "the answer is too long");
        return;
    }
    sexp_say_result(request->method, request->id, result, out);
    if (json_object_get(result, "exit_code"))
        sexp_say_chat(service_policy(d->service), result, out);
    json_decref(result);
}

/* The place of an offset in a form that begins at a place. */
static void find_place(const char *bytes, size_t offset, size_t *line, size_t *column)
{
    for (size_t i = 0; i < offset; i++) {
        ++*column;
        if (bytes[i] == '\n') {
            ++*line;
            *column = 1;
        }
    }
}

/* `note` is "LINE COLUMN", or with a reason behind it where there is no form. */
static void answer_form(struct door *d, const char *bytes, size_t len, const char *note)
{
    struct sexp_server *s = (struct sexp_server *)d;
    struct request request = {0};
    struct jsonrpc_reply reply;
    struct arena arena;
    struct buf out;
    struct err e = {0};
    const struct sexp *form = NULL;
    size_t line = 0, column = 0, offset = 0;
    int used = 0;
    bool placed = note && sscanf(note, "%zu %zu %n", &line, &column, &used) == 2;
    jsonrpc_reply_init(&reply);
    buf_init(&out, &allocator_libc, 2 * (size_t)JSONRPC_REPLY_MAX);
    arena_init(&arena, &allocator_libc, FORM_BYTES_MAX);
    if (!bytes) {
        jsonrpc_reply_fail(&reply, JSONRPC_PARSE_ERROR, "%s",
                           placed ? note + used : "out of memory");
    } else if (sexp_read(&arena, bytes, len, &form, &offset, &e) < 0) {
        find_place(bytes, offset, &line, &column);
        jsonrpc_reply_fail(&reply, JSONRPC_PARSE_ERROR, "%s", e.message);
    } else if (read_request(form, &request, &reply) == 0) {
        answer_request(s, &request, &reply, &out);
    }
    if (reply.code || out.failed) {
        if (out.failed)
            jsonrpc_reply_fail(&reply, JSONRPC_INTERNAL_ERROR, "the answer is too long");
        buf_clear(&out);
        bool place = reply.code == JSONRPC_PARSE_ERROR || reply.code == JSONRPC_INVALID_REQUEST;
        sexp_say_error(request.id, &reply, place ? line : 0, column, &out);
    }
    door_say(d, out.data, out.len);
    json_decref(request.params);
    arena_release(&arena);
    buf_release(&out);
    jsonrpc_reply_release(&reply);
}

/* --- bytes ----------------------------------------------------------------------------------- */

static void take_form(void *user, const char *bytes, size_t len, const char *why, size_t line,
                      size_t column)
{
    struct sexp_server *s = user;
    char note[256];
    snprintf(note, sizeof(note), "%zu %zu %s", line, column, why ? why : "");
    door_take(&s->door, bytes, len, note);
}

void sexp_server_init(struct sexp_server *s, size_t form_max)
{
    sexp_split_init(&s->split, form_max);
    s->door.answer = answer_form;
}

void sexp_server_release(struct sexp_server *s)
{
    sexp_split_release(&s->split);
}

void sexp_server_feed(void *server, const char *bytes, size_t len)
{
    struct sexp_server *s = server;
    sexp_split_feed(&s->split, bytes, len, take_form, s);
}

void sexp_server_finish(void *server)
{
    struct sexp_server *s = server;
    sexp_split_finish(&s->split, take_form, s);
}

int sexp_serve(const struct door_options *options, struct err *e)
{
    struct sexp_server *s = calloc(1, sizeof(*s));
    if (!s)
        return err_set(e, -ENOMEM, "out of memory");
    sexp_server_init(s, JSONRPC_MESSAGE_MAX);
    const struct door_server server = {
        .door = &s->door, .user = s, .feed = sexp_server_feed, .finish = sexp_server_finish};
    int r = door_serve(options, &server, e);
    sexp_server_release(s);
    free(s);
    return r;
}
