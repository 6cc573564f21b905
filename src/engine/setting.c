/* Workspace, policy and surroundings: what a text is judged by, and the plan made from. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

#define NACRE_SYSTEM_DIR "/etc/nacre"

/* What every box sets by itself, as plan_environment has it. */
static const struct facts_variable own_variables[] = {
    {"USER", PLAN_USER}, {"LOGNAME", PLAN_USER}, {"SHELL", "/bin/bash"}, {"TMPDIR", NULL},
    {"LANG", NULL},      {"LC_ALL", "C.UTF-8"},  {"ASAN_OPTIONS", NULL},
};

static int fill_variables(struct arena *arena, const struct box *box, struct facts_host *host)
{
    size_t own = sizeof(own_variables) / sizeof(*own_variables), used = 0;
    struct facts_variable *all = arena_alloc_array(arena, box->variables.count + own, sizeof(*all));
    if (!all)
        return -ENOMEM;
    /* Their values are the caller's, and may be others at the run: only that they are set counts.
     */
    for (size_t i = 0; i < box->variables.count; i++) {
        const char *text = box->variables.items[i];
        all[used++].name = arena_copy(arena, text, strcspn(text, "="));
    }
    for (size_t i = 0; i < own; i++)
        all[used++] = own_variables[i];
    host->variables = all;
    host->variable_count = used;
    return arena->failed ? -ENOMEM : 0;
}

/* The home directory without links in it, as paths are compared with it. */
const char *engine_canonical_home(struct arena *arena, const char *home)
{
    if (!home || home[0] != '/')
        return NULL;
    char *real = realpath(home, NULL);
    const char *copy = arena_copy(arena, real ? real : home, strlen(real ? real : home));
    free(real);
    return copy;
}

/* Where changes are kept: as the caller says, else where the environment has it. */
const char *engine_state_dir(struct arena *arena, const nacre_run_options *o, const char *home)
{
    const char *state = o->environment ? box_variable(o->environment, "XDG_STATE_HOME")
                                       : secure_getenv("XDG_STATE_HOME");
    return o->state_dir ? arena_copy(arena, o->state_dir, strlen(o->state_dir))
                        : store_state_dir(arena, state, home);
}

const char *engine_home(const nacre_run_options *o)
{
    return o->environment ? box_variable(o->environment, "HOME") : secure_getenv("HOME");
}

static int open_policy(struct arena *arena, struct policy_cache *cache, const nacre_run_options *o,
                       const struct workspace *w, const char *home, struct setting *ret,
                       const struct policy **ret_policy, struct err *e)
{
    struct policy_request request = {
        .profile = o->profile,
        .agent = o->agent,
        .config = o->config,
        .workspace = w->in_memory ? NULL : w->root,
        .system_dir = NACRE_SYSTEM_DIR,
        .user_dir = o->config_dir,
        .allow = o->allow,
        .network = o->network,
        .read_paths = o->read_paths,
        .write_paths = o->write_paths,
        .limits = o->limits,
    };
    if (o->mandate)
        request.session = (struct policy_session){
            .allow = o->mandate->allow,
            .deny = o->mandate->deny,
            .limits = o->mandate->limits,
            .network = o->mandate->network,
        };
    if (!cache)
        return policy_load(arena, &request, ret_policy, e);
    int r = policy_cache_get(cache, &request, home, w->root, &ret->cached, e);
    if (r == 0)
        *ret_policy = ret->cached->policy;
    return r;
}

/* In a workspace in memory there is nothing yet that could be looked at. */
static const char *no_real_path(void *user, struct arena *arena, const char *path)
{
    bool inside = strncmp(path, WORKSPACE_MEMORY_PATH, strlen(WORKSPACE_MEMORY_PATH)) == 0;
    return inside ? NULL : facts_real_path(user, arena, path);
}

int engine_decider(struct arena *arena, const struct policy *policy, const struct judge *judge,
                   const struct workspace *workspace, const char *home, const struct box *box,
                   struct decider *ret, struct err *e)
{
    struct decider d = {.policy = policy, .judge = judge};
    int r = judge ? 0 : judge_new(arena, policy, home, workspace->root, &d.judge, e);
    if (r < 0)
        return r;
    d.host = (struct facts_host){
        .knowledge = policy->knowledge,
        .home = home,
        .workspace = workspace->root,
        .cwd = workspace->cwd,
        .real_path = workspace->in_memory ? no_real_path : facts_real_path,
        .exists = facts_exists,
        .is_directory = facts_is_directory,
    };
    if (fill_variables(arena, box, &d.host) < 0)
        return err_set(e, -ENOMEM, "out of memory");
    *ret = d;
    return 0;
}

int engine_open_place(struct arena *arena, struct policy_cache *cache, const nacre_run_options *o,
                      struct setting *ret, struct err *e)
{
    struct setting s = {0};
    const char *home = engine_home(o);
    int r = workspace_resolve(arena, o->workspace, o->cwd, home, &s.workspace, e);
    s.home = engine_canonical_home(arena, home);
    if (r == 0)
        r = open_policy(arena, cache, o, &s.workspace, s.home, &s, &s.decider.policy, e);
    if (r < 0 || !s.decider.policy)
        return r < 0 ? r : -EINVAL;
    s.state_dir = engine_state_dir(arena, o, s.home);
    *ret = s;
    return 0;
}

int engine_open_box(struct arena *arena, const nacre_run_options *o, struct setting *setting,
                    struct err *e)
{
    struct setting *s = setting;
    const struct policy *policy = s->decider.policy;
    int r = box_look(arena, policy, &s->workspace, s->home, o->environment, &s->box, e);
    if (r == 0)
        r = engine_decider(arena, policy, s->cached ? s->cached->judge : NULL, &s->workspace,
                           s->home, &s->box, &s->decider, e);
    return r;
}

int engine_open_setting(struct arena *arena, struct policy_cache *cache, const nacre_run_options *o,
                        struct setting *ret, struct err *e)
{
    struct setting s = {0};
    int r = engine_open_place(arena, cache, o, &s, e);
    if (r < 0)
        return r;
    r = engine_open_box(arena, o, &s, e);
    if (r == 0)
        *ret = s;
    else if (s.cached)
        policy_cache_release(cache, s.cached);
    return r;
}
