/*
 * configure: the mandate of the session. It says the whole of it: what it does not name is as the
 * policy has it. The lists are sets, so that equal mandates have equal hashes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/service_internal.h"

enum { LIMITS_MAX = 64 };

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, each once. */
static void make_set(const char *const *list)
{
    const char **texts = (const char **)list;
    size_t count = 0, kept = 0;
    while (texts && texts[count])
        count++;
    if (!count)
        return;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    qsort(texts, count, sizeof(*texts), by_text);
    for (size_t i = 0; i < count; i++) {
        if (!kept || strcmp(texts[kept - 1], texts[i]) != 0)
            texts[kept++] = texts[i];
    }
    texts[kept] = NULL;
}

/* {"memory": "64MB", "processes": 3} and timeout_ms as NAME=VALUE; NULL: none, or `reply` says. */
static const char *const *read_limits(struct arena *arena, const json_t *params,
                                      struct jsonrpc_reply *reply)
{
    json_t *limits = json_object_get(params, "limits");
    const json_t *timeout = json_object_get(params, "timeout_ms");
    const char **texts = arena_alloc_array(arena, LIMITS_MAX + 2, sizeof(*texts));
    size_t count = 0;
    const char *key;
    json_t *value;
    json_object_foreach(limits, key, value)
    {
        if (!texts || count == LIMITS_MAX)
            break;
        if (json_is_integer(value) && json_integer_value(value) >= 0)
            texts[count++] =
                arena_format(arena, "%.64s=%" JSON_INTEGER_FORMAT, key, json_integer_value(value));
        else if (json_is_string(value) && json_string_length(value) < 64 &&
                 strlen(json_string_value(value)) == json_string_length(value))
            texts[count++] = arena_format(arena, "%.64s=%s", key, json_string_value(value));
        else
            service_wrong(reply, "limits", "'%.64s' is neither a number nor a text such as 64MB",
                          key);
    }
    if (texts && json_integer_value(timeout) > 0)
        texts[count++] = arena_format(arena, "timeout_max=%" JSON_INTEGER_FORMAT "ms",
                                      json_integer_value(timeout));
    if (!texts || arena->failed || !count)
        return NULL;
    texts[count] = NULL;
    make_set(texts);
    return texts;
}

static bool read_mandate(struct arena *arena, const json_t *params, nacre_mandate *ret,
                         struct jsonrpc_reply *reply)
{
    *ret = (nacre_mandate){
        .allow = service_list(arena, params, "allow"),
        .deny = service_list(arena, params, "deny"),
        .limits = read_limits(arena, params, reply),
    };
    make_set(ret->allow);
    make_set(ret->deny);
    const char *network = service_text(params, "network", NULL);
    if (network)
        ret->network = arena_copy(arena, network, strlen(network));
    if (arena->failed)
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "out of memory");
    return !reply->code;
}

static void put_list(struct json *j, const char *name, const char *const *list)
{
    json_key(j, name);
    if (!list) {
        json_nothing(j);
        return;
    }
    json_array_begin(j);
    for (; *list; list++)
        json_text(j, *list);
    json_array_end(j);
}

static void tell(const struct service *s, const struct past_place *place,
                 struct jsonrpc_reply *reply)
{
    const struct policy *policy = place->setting.decider.policy;
    const nacre_mandate *m = &s->mandate.lists;
    struct json j;
    json_init_buf(&j, &reply->result);
    json_object_begin(&j);
    json_key(&j, "status");
    json_text(&j, "ok");
    json_key(&j, "mandate_hash");
    json_text(&j, policy->hash);
    json_key(&j, "mandate");
    json_object_begin(&j);
    put_list(&j, "allow", m->allow);
    put_list(&j, "deny", m->deny);
    put_list(&j, "limits", m->limits);
    json_key(&j, "network");
    json_text(&j, m->network);
    json_key(&j, "final");
    json_bool(&j, s->mandate.final);
    json_object_end(&j);
    json_key(&j, "workspace");
    json_text(&j, place->setting.workspace.root);
    json_key(&j, "profile");
    json_text(&j, policy->profile);
    json_key(&j, "agent");
    json_text(&j, policy->agent);
    json_object_end(&j);
    if (json_finish(&j) < 0)
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "out of memory");
}

/* Which parameter a message of the policy's is about: it begins with its name, or its key. */
static const char *parameter_of(const char *message)
{
    static const char *const names[] = {"allow", "deny", "limits", "network"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t len = strlen(names[i]);
        if (strncmp(message, names[i], len) == 0 && (message[len] == ':' || message[len] == '.'))
            return names[i];
    }
    return "allow";
}

void service_configure(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    struct arena arena;
    nacre_mandate mandate;
    struct past_place place;
    struct err e = {0};
    nacre_run_options o = s->run;
    if (s->mandate.final) {
        jsonrpc_reply_fail(reply, JSONRPC_INVALID_REQUEST,
                           "the mandate of this session is final: it was set with `final`");
        return;
    }
    arena_init(&arena, &allocator_libc, s->mandate.arena.max);
    if (!read_mandate(&arena, params, &mandate, reply)) {
        arena_release(&arena);
        return;
    }
    o.mandate = &mandate;
    if (past_place_open(s->handle, &o, &place, &e) < 0) {
        const char *name = parameter_of(e.message);
        size_t len = strlen(name);
        bool said = strncmp(e.message, name, len) == 0 && strncmp(e.message + len, ": ", 2) == 0;
        service_wrong(reply, name, "%s", e.message + (said ? len + 2 : 0));
        arena_release(&arena);
        return;
    }
    arena_release(&s->mandate.arena);
    s->mandate.arena = arena;
    s->mandate.lists = mandate;
    s->mandate.final = service_flag(params, "final");
    s->run.mandate = &s->mandate.lists;
    tell(s, &place, reply);
    past_place_close(&place);
}
