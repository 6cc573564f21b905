/* The session and its methods; see service.h. */
#include "serve/service.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/fd.h"
#include "serve/service_internal.h"

enum { LISTS_MAX = 16 << 20, NAME_MAX_BYTES = 4096 };

/* --- the methods ----------------------------------------------------------------------------- */

static const struct service_parameter configure_parameters[] = {
    {"allow", SERVICE_LIST, false, NAME_MAX_BYTES},
    {"deny", SERVICE_LIST, false, NAME_MAX_BYTES},
    {"timeout_ms", SERVICE_COUNT, false, NACRE_TIMEOUT_MAX_MS},
    {"limits", SERVICE_MAP, false, 0},
    {"network", SERVICE_TEXT, false, 16},
    {"final", SERVICE_BOOL, false, 0},
    {0},
};
static const struct service_parameter exec_parameters[] = {
    {"command", SERVICE_BYTES, true, NACRE_TEXT_MAX},
    {"stdin", SERVICE_BYTES, false, JSONRPC_MESSAGE_MAX},
    {"timeout_ms", SERVICE_COUNT, false, NACRE_TIMEOUT_MAX_MS},
    {"cwd", SERVICE_TEXT, false, NAME_MAX_BYTES},
    {"session", SERVICE_TEXT, false, SESSION_NAME_MAX},
    {"stage", SERVICE_BOOL, false, 0},
    {0},
};
static const struct service_parameter script_parameters[] = {
    {"language", SERVICE_TEXT, true, 64},
    {"content", SERVICE_BYTES, true, NACRE_TEXT_MAX},
    {"args", SERVICE_LIST, false, NAME_MAX_BYTES},
    {"stdin", SERVICE_BYTES, false, JSONRPC_MESSAGE_MAX},
    {"timeout_ms", SERVICE_COUNT, false, NACRE_TIMEOUT_MAX_MS},
    {"cwd", SERVICE_TEXT, false, NAME_MAX_BYTES},
    {"stage", SERVICE_BOOL, false, 0},
    {0},
};
static const struct service_parameter test_parameters[] = {
    {"command", SERVICE_BYTES, true, NACRE_TEXT_MAX},
    {"cwd", SERVICE_TEXT, false, NAME_MAX_BYTES},
    {0},
};
static const struct service_parameter history_parameters[] = {
    {"id", SERVICE_TEXT, false, UUID_TEXT},
    {"limit", SERVICE_COUNT, false, 1000},
    {"before", SERVICE_COUNT, false, INT64_MAX},
    {"status", SERVICE_TEXT, false, 64},
    {"text", SERVICE_TEXT, false, NAME_MAX_BYTES},
    {"path", SERVICE_TEXT, false, NAME_MAX_BYTES},
    {"since", SERVICE_TEXT, false, 64},
    {0},
};
static const struct service_parameter id_parameters[] = {
    {"id", SERVICE_TEXT, true, UUID_TEXT},
    {0},
};
static const struct service_parameter undo_parameters[] = {
    {"id", SERVICE_TEXT, true, UUID_TEXT},
    {"with_later", SERVICE_BOOL, false, 0},
    {0},
};
static const struct service_parameter no_parameters[] = {{0}};

static void answer_ping(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    (void)s;
    (void)params;
    buf_append_text(&reply->result, "{\"status\":\"ok\"}");
}

static const struct service_method methods[] = {
    {"configure", configure_parameters, service_configure},
    {"exec", exec_parameters, service_exec},
    {"test", test_parameters, service_test},
    {"script", script_parameters, service_script},
    {"history", history_parameters, service_history},
    {"diff", id_parameters, service_diff},
    {"undo", undo_parameters, service_undo},
    {"commit", id_parameters, service_commit},
    {"discard", id_parameters, service_discard},
    {"verify", no_parameters, service_verify},
    {"fs_hash", no_parameters, service_hash},
    {"reset", no_parameters, service_reset},
    {"ping", no_parameters, answer_ping},
    {0},
};

/* --- parameters ------------------------------------------------------------------------------ */

void service_wrong(struct jsonrpc_reply *reply, const char *name, const char *format, ...)
{
    char why[JSONRPC_REASON_MAX / 2];
    struct json j;
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    jsonrpc_reply_fail(reply, JSONRPC_INVALID_PARAMS, "%s: %s", name, why);
    buf_clear(&reply->data);
    json_init_buf(&j, &reply->data);
    json_object_begin(&j);
    json_key(&j, "parameter");
    json_text(&j, name);
    json_object_end(&j);
}

const char *service_text(const json_t *params, const char *name, size_t *ret_len)
{
    const json_t *value = json_object_get(params, name);
    if (ret_len)
        *ret_len = json_string_length(value);
    return json_string_value(value);
}

uint64_t service_count(const json_t *params, const char *name, uint64_t otherwise)
{
    const json_t *value = json_object_get(params, name);
    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : otherwise;
}

bool service_flag(const json_t *params, const char *name)
{
    return json_is_true(json_object_get(params, name));
}

const char *const *service_list(struct arena *arena, const json_t *params, const char *name)
{
    const json_t *list = json_object_get(params, name);
    size_t count = json_array_size(list);
    const char **texts = list ? arena_alloc_array(arena, count + 1, sizeof(*texts)) : NULL;
    for (size_t i = 0; texts && i < count; i++) {
        const json_t *item = json_array_get(list, i);
        texts[i] = arena_copy(arena, json_string_value(item), json_string_length(item));
    }
    if (texts)
        texts[count] = NULL;
    return texts;
}

static bool has_nul(const json_t *value)
{
    return strlen(json_string_value(value)) != json_string_length(value);
}

static bool check_list(const struct service_parameter *p, const json_t *value,
                       struct jsonrpc_reply *reply)
{
    if (!json_is_array(value)) {
        service_wrong(reply, p->name, "is not a list");
        return false;
    }
    if (json_array_size(value) > SERVICE_LIST_MAX) {
        service_wrong(reply, p->name, "has more than %d entries", SERVICE_LIST_MAX);
        return false;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_string(item) || has_nul(item) || json_string_length(item) > (size_t)p->max) {
            service_wrong(reply, p->name,
                          "entry %zu is not a text of up to %" PRId64 " bytes without NUL", i,
                          p->max);
            return false;
        }
    }
    return true;
}

static bool check_value(const struct service_parameter *p, const json_t *value,
                        struct jsonrpc_reply *reply)
{
    switch (p->type) {
    case SERVICE_BOOL:
        if (!json_is_boolean(value))
            service_wrong(reply, p->name, "is not true or false");
        break;
    case SERVICE_COUNT:
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            service_wrong(reply, p->name, "is not a whole number from 0 on");
        else if (json_integer_value(value) > p->max)
            service_wrong(reply, p->name, "is more than %" PRId64, p->max);
        break;
    case SERVICE_LIST:
        return check_list(p, value, reply);
    case SERVICE_MAP:
        if (!json_is_object(value))
            service_wrong(reply, p->name, "is not an object");
        else if (json_object_size(value) > SERVICE_LIST_MAX)
            service_wrong(reply, p->name, "has more than %d entries", SERVICE_LIST_MAX);
        break;
    default:
        if (!json_is_string(value))
            service_wrong(reply, p->name, "is not a text");
        else if (json_string_length(value) > (size_t)p->max)
            service_wrong(reply, p->name, "has more than %" PRId64 " bytes", p->max);
        else if (p->type == SERVICE_TEXT && has_nul(value))
            service_wrong(reply, p->name, "has a NUL in it");
    }
    return !reply->code;
}

/* V1. What is null is as if it were not there. */
static bool check(const struct service_method *method, json_t *params, struct jsonrpc_reply *reply)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(params, next, key, value)
    {
        const struct service_parameter *p = method->parameters;
        while (p->name && strcmp(p->name, key) != 0)
            p++;
        if (!p->name) {
            char shown[84];
            snprintf(shown, sizeof(shown), "%.80s", key);
            service_wrong(reply, shown, "'%s' has no such parameter", method->name);
            return false;
        }
        if (json_is_null(value))
            json_object_del(params, key);
        else if (!check_value(p, value, reply))
            return false;
    }
    for (const struct service_parameter *p = method->parameters; p->name; p++) {
        if (p->required && !json_object_get(params, p->name)) {
            service_wrong(reply, p->name, "is missing");
            return false;
        }
    }
    return true;
}

static const struct service_method *find(const char *name)
{
    const struct service_method *m = methods;
    while (m->name && strcmp(m->name, name) != 0)
        m++;
    return m;
}

enum service_type service_type_of(const char *method, const char *name)
{
    const struct service_method *m = find(method);
    for (const struct service_parameter *p = m->parameters; p && p->name; p++) {
        if (strcmp(p->name, name) == 0)
            return p->type;
    }
    return SERVICE_TEXT;
}

void service_call(struct service *s, const char *method, json_t *params,
                  struct jsonrpc_reply *reply)
{
    const struct service_method *m = find(method);
    if (!m->name) {
        jsonrpc_reply_fail(reply, JSONRPC_NO_METHOD, "there is no method '%.80s'", method);
        return;
    }
    if (!check(m, params, reply))
        return;
    if (s->options.hollow)
        answer_ping(s, params, reply);
    else
        m->answer(s, params, reply);
}

/* --- the session ----------------------------------------------------------------------------- */

int service_open(struct service *s, struct err *e)
{
    nacre_options open = NACRE_OPTIONS_INIT;
    nacre_error error;
    open.launcher = s->options.launcher;
    open.warm = s->options.hollow ? 0 : s->options.pool;
    if (nacre_open(&open, &s->handle, &error) < 0)
        return err_set(e, error.code, "%s", error.message);
    return 0;
}

void service_close(struct service *s)
{
    if (s->policy)
        policy_cache_release(&s->handle->policies, s->policy);
    s->policy = NULL;
    nacre_close(s->handle);
    s->handle = NULL;
}

int service_new(const struct service_options *options, struct service **ret, struct err *e)
{
    struct service *s = calloc(1, sizeof(*s));
    if (!s)
        return err_set(e, -ENOMEM, "out of memory");
    s->options = *options;
    s->run = *options->run;
    s->run.mandate = NULL;
    s->in_memory = s->run.workspace && strcmp(s->run.workspace, WORKSPACE_IN_MEMORY) == 0;
    /* Nobody outside sees its files: how they come to be is to be the same everywhere (V5). */
    if (s->in_memory)
        s->run.umask = 022;
    arena_init(&s->mandate.arena, &allocator_libc, LISTS_MAX);
    s->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = s->cancel_fd < 0 ? err_errno(e, -errno, "cannot make an event") : service_open(s, e);
    if (r < 0) {
        service_free(s);
        return r;
    }
    s->run.cancel_fd = s->cancel_fd;
    *ret = s;
    return 0;
}

void service_free(struct service *s)
{
    if (!s)
        return;
    service_close(s);
    fd_close(&s->cancel_fd);
    arena_release(&s->mandate.arena);
    free(s->runs);
    free(s);
}

void service_cancel(struct service *s, bool ends)
{
    if (ends)
        s->ends = true;
    eventfd_write(s->cancel_fd, 1);
}

void service_arm(struct service *s)
{
    if (!s->ends)
        eventfd_read(s->cancel_fd, &(eventfd_t){0});
    /* It may have ended in between. */
    if (s->ends)
        eventfd_write(s->cancel_fd, 1);
}

const struct policy *service_policy(const struct service *s)
{
    return s->policy ? s->policy->policy : NULL;
}

void service_remember(struct service *s, const nacre_result *r)
{
    if (!s->in_memory && !r->committed)
        return;
    if (s->run_count == SERVICE_RUNS_MAX) {
        /* The oldest half goes. */
        s->run_count /= 2;
        memmove(s->runs, s->runs + s->run_count, s->run_count * sizeof(*s->runs));
        s->runs_dropped = true;
    }
    if (s->run_count == s->run_room) {
        size_t room = s->run_room ? 2 * s->run_room : 64;
        void *more = realloc(s->runs, room * sizeof(*s->runs));
        if (!more) {
            s->runs_dropped = true;
            return;
        }
        s->runs = more;
        s->run_room = room;
    }
    memcpy(s->runs[s->run_count++], r->correlation_id, sizeof(*s->runs));
}

bool service_is_own(const struct service *s, const char *id)
{
    for (size_t i = s->run_count; i-- > 0;) {
        if (strcmp(s->runs[i], id) == 0)
            return true;
    }
    return false;
}

int service_fs_hash(struct service *s, char ret_hex[SHA256_HEX + 1], struct err *e)
{
    struct past_place place;
    int r = past_place_open(s->handle, &s->run, &place, e);
    if (r < 0)
        return r;
    r = engine_fs_hash(s->handle, &place.setting, ret_hex, e);
    past_place_close(&place);
    return r;
}
