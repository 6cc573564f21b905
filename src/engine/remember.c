/* A run within a session: what the last one left is judged with its text; see engine.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "engine/engine.h"

int remember_text(struct arena *arena, const struct session_state *state, const char *text,
                  size_t len, const char **ret, size_t *ret_len)
{
    char *whole = arena_alloc(arena, state->len + len + 1);
    if (!whole)
        return -ENOMEM;
    memcpy(whole, state->text, state->len);
    memcpy(whole + state->len, text, len);
    whole[state->len + len] = '\0';
    *ret = whole;
    *ret_len = state->len + len;
    return 0;
}

/* Where it was left, if that is still a directory of the workspace, reached without links. */
static const char *usable_cwd(nacre_result *r, const struct session_state *state, const char *root)
{
    struct stat st;
    char *real = state->cwd ? realpath(state->cwd, NULL) : NULL;
    bool good = real && strcmp(real, state->cwd) == 0 && path_is_below(real, root) &&
                stat(real, &st) == 0 && S_ISDIR(st.st_mode);
    free(real);
    if (state->cwd && !good)
        result_warn(r,
                    "the session was left in '%s', which is not a directory of the workspace (any "
                    "more): it goes on at the workspace's top",
                    state->cwd);
    return good ? state->cwd : NULL;
}

int remember_begin(nacre_result *r, nacre_run_options *o, struct setting *setting)
{
    struct remembered *m = &r->remembered;
    struct session_state state = {0};
    if (setting->workspace.in_memory)
        return err_set(&r->error, -EINVAL, "a workspace in memory has no sessions");
    int failure = session_open(setting->state_dir, setting->workspace.root, o->session, &m->session,
                               &r->error);
    if (failure == 0)
        failure = session_load(&m->session, &r->arena, &state, &r->error);
    if (failure == 0 &&
        (failure = remember_text(&r->arena, &state, r->text, r->text_len, &m->text, &m->len)) < 0)
        err_set(&r->error, failure, "out of memory for the session");
    if (failure < 0)
        return failure;
    m->before = setting->decider.host.before = state.len;
    const char *cwd = o->cwd ? NULL : usable_cwd(r, &state, setting->workspace.root);
    if (!cwd)
        return 0;
    o->cwd = cwd;
    struct policy_cache *cache = &r->engine->policies;
    failure = engine_open_setting(&r->judgement, cache, o, setting, &r->error);
    if (failure < 0)
        return failure;
    policy_cache_release(cache, r->cached);
    r->cached = setting->cached;
    setting->decider.host.before = m->before;
    return 0;
}

/* The text as given begins at 0; what lies before it has no place in it. */
static void shift(struct shell_span *span, size_t before)
{
    span->from = span->from > before ? span->from - (uint32_t)before : 0;
    span->to = span->to > before ? span->to - (uint32_t)before : 0;
}

void remember_place(nacre_result *r)
{
    size_t before = r->remembered.before;
    for (struct verdict_reason *reason = r->verdict.reasons; reason; reason = reason->next)
        shift(&reason->span, before);
    for (struct act *act = r->verdict.facts ? r->verdict.facts->acts : NULL; act; act = act->next)
        shift(&act->span, before);
}

/* Only what a run left that ended by itself, and whose changes are not in question. */
static bool is_settled(const nacre_result *r)
{
    return r->ran && (r->status == NACRE_STATUS_OK || r->status == NACRE_STATUS_FAILED);
}

void remember_end(nacre_result *r, const struct plan *plan)
{
    struct remembered *m = &r->remembered;
    struct session_state state = {0};
    struct err e = {0};
    const char **environment = arena_alloc_array(&r->arena, plan->count + 1, sizeof(*environment));
    size_t count = 0;
    for (size_t i = 0; environment && i < plan->count; i++) {
        if (plan->steps[i].kind == PLAN_ENV)
            environment[count++] = plan->steps[i].text;
    }
    int failure;
    if (!is_settled(r))
        failure = err_set(&e, -ECANCELED, "the run did not come to its end");
    else if (m->came.failed)
        failure = err_set(&e, -E2BIG, "it is larger than %d KiB", SESSION_BYTES_MAX >> 10);
    else if (!m->came.len)
        failure = err_set(&e, -ENODATA, "bash was replaced, or the text has an EXIT trap");
    else
        failure =
            session_read(&r->arena, m->came.data, m->came.len, environment, count, &state, &e);
    if (failure == 0)
        failure = session_save(&m->session, &state, &e);
    if (failure < 0)
        result_warn(r, "the session is as it was before: %s", e.message);
    for (size_t i = 0; failure == 0 && i < state.dropped_count; i++)
        result_warn(r, "not kept for the session: %s", state.dropped[i]);
}

void remember_release(nacre_result *r)
{
    session_close(&r->remembered.session);
    buf_release(&r->remembered.came);
}
