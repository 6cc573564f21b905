/* exec, script, test: a text judged and run; see service.h. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "policy/messages.h"
#include "serve/service_internal.h"

enum { ARGUMENTS_MAX = 16 << 20 };

static int append(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

/* --- what is told besides -------------------------------------------------------------------- */

/*
 * Each name once, in the order of the text; null for one that is not known before it runs.
 * Redirections alone have none.
 */
static void put_commands(const struct verdict *verdict, struct json *j)
{
    const struct facts *facts = verdict->facts;
    json_array_begin(j);
    for (const struct act *act = facts ? facts->acts : NULL; act; act = act->next) {
        const struct act *other = facts->acts;
        if (act->flags & ACT_FUNCTION || !act->word_count)
            continue;
        while (other != act && !(other->name && act->name && strcmp(other->name, act->name) == 0))
            other = other->next;
        if (other == act)
            json_text(j, act->name);
    }
    json_array_end(j);
}

static void put_reasons(const struct verdict *verdict, struct json *j)
{
    json_array_begin(j);
    for (const struct verdict_reason *r = verdict->reasons; r; r = r->next) {
        json_object_begin(j);
        json_key(j, "rule");
        json_text(j, r->rule);
        json_key(j, "reason");
        json_text(j, r->reason);
        json_key(j, "span");
        json_array_begin(j);
        json_unsigned(j, r->span.from);
        json_unsigned(j, r->span.to);
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
}

/* The verdict as clients look for it: on top, and not in an object of its own. */
static void put_verdict(const struct policy *policy, const struct verdict *verdict, struct json *j)
{
    json_key(j, "decision");
    json_text(j, verdict ? policy_decision_name(policy, verdict->decision) : NULL);
    json_key(j, "reasons");
    if (verdict)
        put_reasons(verdict, j);
    else
        json_nothing(j);
    json_key(j, "commands_used");
    if (verdict)
        put_commands(verdict, j);
    else
        json_nothing(j);
    json_key(j, "mandate_hash");
    json_text(j, policy ? policy->hash : NULL);
}

static void put_hash(struct service *s, const nacre_result *r, struct json *j)
{
    char hex[SHA256_HEX + 1];
    struct err e = {0};
    json_key(j, "fs_hash");
    if (r->fs_hash_after[0])
        json_text(j, r->fs_hash_after);
    else if (service_fs_hash(s, hex, &e) == 0)
        json_text(j, hex);
    else
        json_nothing(j);
}

/* The result as `nacre run --json` has it, and what is told besides. */
static void put_result(struct service *s, const nacre_result *r, struct jsonrpc_reply *reply)
{
    struct buf *out = &reply->result;
    struct buf more;
    struct json j;
    buf_init(&more, &allocator_libc, JSONRPC_REPLY_MAX);
    json_init_buf(&j, &more);
    json_object_begin(&j);
    put_hash(s, r, &j);
    put_verdict(service_policy(s), r->judged ? &r->verdict : NULL, &j);
    json_object_end(&j);
    int failed = json_finish(&j);
    if (failed == 0)
        failed = nacre_result_write_json(r, append, out);
    if (failed < 0 || out->failed || out->len < 2) {
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR,
                           "the result is too long to be told; run %s is in the history",
                           r->correlation_id);
    } else {
        out->data[out->len - 1] = ',';
        buf_append(out, more.data + 1, more.len - 1);
    }
    buf_release(&more);
}

/* --- runs ------------------------------------------------------------------------------------ */

static void keep_policy(struct service *s, nacre_result *r)
{
    if (s->policy)
        policy_cache_release(&s->handle->policies, s->policy);
    s->policy = r->cached;
    r->cached = NULL;
}

static void run(struct service *s, const char *text, size_t len, nacre_run_options *o,
                const json_t *params, struct jsonrpc_reply *reply)
{
    size_t input_len;
    const char *input = service_text(params, "stdin", &input_len);
    nacre_result *r = NULL;
    nacre_error error;
    FD_CLEANUP int fd = input ? fd_sealed_memory("nacre-stdin", input, input_len) : -1;
    if (input && fd < 0) {
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "cannot make its standard input: %s",
                           strerror(-fd));
        return;
    }
    o->stdin_fd = fd;
    o->timeout_ms = service_count(params, "timeout_ms", o->timeout_ms);
    o->cwd = service_text(params, "cwd", NULL) ? service_text(params, "cwd", NULL) : o->cwd;
    o->stage = service_flag(params, "stage");
    if (nacre_run(s->handle, text, len, o, &r, &error) < 0) {
        if (o->session && error.code == -EINVAL)
            service_wrong(reply, "session", "%s", error.message);
        else
            jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", error.message);
        return;
    }
    service_remember(s, r);
    keep_policy(s, r);
    put_result(s, r, reply);
    nacre_result_free(r);
}

void service_exec(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    size_t len;
    const char *text = service_text(params, "command", &len);
    nacre_run_options o = s->run;
    o.session = service_text(params, "session", NULL);
    run(s, text, len, &o, params, reply);
}

void service_script(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    size_t len;
    const char *text = service_text(params, "content", &len);
    struct arena arena;
    nacre_run_options o = s->run;
    arena_init(&arena, &allocator_libc, ARGUMENTS_MAX);
    o.language = service_text(params, "language", NULL);
    o.script_args = service_list(&arena, params, "args");
    if (arena.failed)
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "out of memory");
    else
        run(s, text, len, &o, params, reply);
    arena_release(&arena);
}

/* --- the verdict alone ----------------------------------------------------------------------- */

void service_test(struct service *s, const json_t *params, struct jsonrpc_reply *reply)
{
    size_t len;
    const char *text = service_text(params, "command", &len);
    nacre_run_options o = s->run;
    struct past_place place;
    struct verdict verdict;
    const struct shell_tree *tree;
    struct err e = {0};
    struct json j;
    o.cwd = service_text(params, "cwd", NULL) ? service_text(params, "cwd", NULL) : o.cwd;
    if (past_place_open(s->handle, &o, &place, &e) < 0) {
        if (service_text(params, "cwd", NULL))
            service_wrong(reply, "cwd", "%s", e.message);
        else
            jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
        return;
    }
    const struct decider *decider = &place.setting.decider;
    if (engine_decide(decider, &place.arena, text, len, NULL, &verdict, &tree, &e) < 0) {
        jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "%s", e.message);
    } else {
        json_init_buf(&j, &reply->result);
        json_object_begin(&j);
        json_key(&j, "status");
        json_text(&j, "ok");
        json_key(&j, "verdict");
        verdict_write_json(&verdict, &j);
        put_verdict(decider->policy, &verdict, &j);
        json_object_end(&j);
        if (json_finish(&j) < 0)
            jsonrpc_reply_fail(reply, JSONRPC_INTERNAL_ERROR, "the verdict is too long");
    }
    past_place_close(&place);
}
