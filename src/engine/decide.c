/* From a text to a verdict: reading, facts and policy in a row; see engine.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

/* What the box sets by itself, as plan_environment has it. */
static const struct facts_variable own_variables[] = {
    {"USER", PLAN_USER}, {"LOGNAME", PLAN_USER}, {"SHELL", "/bin/bash"}, {"TMPDIR", "/tmp"},
    {"LANG", "C.UTF-8"}, {"LC_ALL", "C.UTF-8"},  {"TERM", NULL},         {"COLORTERM", NULL},
    {"NO_COLOR", NULL},  {"TZ", NULL},           {"CI", NULL},
};

static int fill_variables(struct arena *arena, const struct policy *policy, struct facts_host *host)
{
    size_t own = sizeof(own_variables) / sizeof(*own_variables);
    size_t count = own + policy->env_pass.count + policy->env_set.count, used = 0;
    struct facts_variable *all = arena_alloc_array(arena, count, sizeof(*all));
    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < policy->env_set.count; i++) {
        const char *text = policy->env_set.items[i].text, *equals = strchr(text, '=');
        if (!equals)
            continue;
        all[used++].name = arena_copy(arena, text, (size_t)(equals - text));
    }
    for (size_t i = 0; i < own; i++)
        all[used++] = own_variables[i];
    for (size_t i = 0; i < policy->env_pass.count; i++)
        all[used++].name = policy->env_pass.items[i].text;
    host->variables = all;
    host->variable_count = used;
    return arena->failed ? -ENOMEM : 0;
}

/* The home directory without links in it, as paths are compared with it. */
static const char *canonical_home(struct arena *arena, const char *home)
{
    if (!home || home[0] != '/')
        return NULL;
    char *real = realpath(home, NULL);
    const char *copy = arena_copy(arena, real ? real : home, strlen(real ? real : home));
    free(real);
    return copy;
}

int engine_decider(struct arena *arena, const struct policy_request *request,
                   const struct workspace *workspace, const char *home, struct decider *ret,
                   struct err *e)
{
    struct decider d = {0};
    int r = policy_load(arena, request, &d.policy, e);
    if (r < 0)
        return r;
    home = canonical_home(arena, home);
    r = judge_new(arena, d.policy, home, workspace->root, &d.judge, e);
    if (r < 0)
        return r;
    d.host = (struct facts_host){
        .knowledge = d.policy->knowledge,
        .home = home,
        .workspace = workspace->root,
        .cwd = workspace->cwd,
        .real_path = facts_real_path,
        .exists = facts_exists,
        .is_directory = facts_is_directory,
    };
    if (fill_variables(arena, d.policy, &d.host) < 0)
        return err_set(e, -ENOMEM, "out of memory");
    *ret = d;
    return 0;
}

int engine_decide(const struct decider *d, struct arena *arena, const char *text, size_t len,
                  struct verdict *ret, const struct shell_tree **ret_tree, struct err *e)
{
    const struct shell_tree *tree = NULL;
    struct shell_error error;
    int r = shell_parse(arena, text, len, &tree, &error);
    *ret_tree = NULL;
    if (r == -ENOMEM)
        return err_set(e, -ENOMEM, "out of memory");
    if (r < 0)
        return judge_unread(d->judge, arena, &error, ret);
    const struct facts *facts = NULL;
    r = facts_gather(arena, &d->host, tree, &facts, e);
    if (r < 0)
        return r;
    *ret_tree = tree;
    return judge_facts(d->judge, arena, facts, ret, e);
}
