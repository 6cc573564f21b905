/*
 * The layers put together, in this order: what is built in, with what the files extend; the
 * system's, the user's and the project's configuration; the agent; the command line.
 *
 * L1. A project's file, its agents included, never makes anything wider than it was before it.
 * L2. What is extended is looked for in the layers up to the one of the file that extends, so a
 *     project cannot put itself in the place of what a user's file names.
 * L3. An agent of a project by the name of one from another layer tightens that one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts/facts.h"
#include "policy/load.h"

enum { CHAIN_MAX = 16, NAMES_MAX = 250 };

/* What a file or the command line extends, the nearest first. */
struct chain {
    struct policy_file files[CHAIN_MAX];
    size_t count;
    const char *profile; /* at its end; NULL: whatever else says */
};

struct loader {
    struct arena *arena;
    const struct policy_request *request;
    struct policy_file config[LAYER_PROJECT + 1]; /* by layer; a null tree: there is none */
    struct err *e;
};

static const enum policy_layer config_layers[] = {LAYER_SYSTEM, LAYER_USER, LAYER_PROJECT};
enum { CONFIG_LAYERS = sizeof(config_layers) / sizeof(config_layers[0]) };

static int no_memory(const struct loader *loader)
{
    return err_set(loader->e, -ENOMEM, "policy: out of memory");
}

/* --- names ------------------------------------------------------------------------------------ */

/* The agent of this name in the highest layer up to `from`; a null tree: there is none. */
static int find_agent(const struct loader *loader, const char *name, int from,
                      struct policy_file *ret)
{
    *ret = (struct policy_file){0};
    if (!policy_is_agent_name(name))
        return 0;
    for (int layer = from; layer >= LAYER_BUILTIN; layer--) {
        int r = policy_read_agent(loader->arena, loader->request, (enum policy_layer)layer, name,
                                  ret, loader->e);
        if (r < 0 || ret->tree)
            return r;
    }
    return 0;
}

/* What the agents are called that can be named, for a message. */
static const char *nearest_name(const struct loader *loader, const char *name, bool profiles)
{
    const char *names[NAMES_MAX + 4];
    size_t count = 0;
    struct policy_agent *agents = NULL;
    size_t agent_count = 0;
    if (policy_agents(loader->arena, loader->request, &agents, &agent_count, NULL) < 0)
        agent_count = 0;
    for (size_t i = 0; i < agent_count && count < NAMES_MAX; i++)
        names[count++] = agents[i].name;
    if (profiles) {
        names[count++] = "safe";
        names[count++] = "dev";
        names[count++] = "full-auto";
    }
    names[count] = NULL;
    return policy_nearest(names, name);
}

/* The value of `extends` in a file, or NULL. */
static int read_extends(const struct loader *loader, const struct policy_file *file,
                        const struct yaml_node **ret)
{
    const struct yaml_node *at = file->tree ? yaml_get(file->tree, "extends") : NULL;
    *ret = at;
    if (at && (at->kind != YAML_SCALAR || !at->text[0]))
        return yaml_error(loader->e, file->name, at,
                          "extends: must be safe, dev, full-auto, a preset or an agent's name");
    return 0;
}

static int unknown_name(const struct loader *loader, const struct policy_file *file,
                        const struct yaml_node *at)
{
    const char *nearest = nearest_name(loader, at->text, true);
    return yaml_error(
        loader->e, file->name, at, "extends: no profile, preset or agent is called '%s'%s%s%s",
        at->text, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* What `here` extends, by its `extends` at `at` or by its name (L3); a null tree: nothing. */
static int find_next(const struct loader *loader, const struct policy_file *here,
                     const struct yaml_node *at, struct policy_file *ret)
{
    if (!at) {
        *ret = (struct policy_file){0};
        bool tightens = here->agent && here->layer == LAYER_PROJECT;
        return tightens ? find_agent(loader, here->agent_name, LAYER_USER, ret) : 0;
    }
    /* An agent that extends its own name adds to the one of that name in a layer below. */
    bool own = here->agent && strcmp(here->agent_name, at->text) == 0;
    int r = find_agent(loader, at->text, (int)here->layer - own, ret);
    if (r < 0 || ret->tree)
        return r;
    if (own)
        return yaml_error(loader->e, here->name, at, "extends: '%s' extends itself", at->text);
    return unknown_name(loader, here, at);
}

/* Follows `extends` from `file` to its end; what it comes to is added to the chain. */
static int follow(const struct loader *loader, const struct policy_file *file, struct chain *chain)
{
    struct policy_file here = *file;
    for (;;) {
        const struct yaml_node *at;
        struct policy_file next;
        int r = read_extends(loader, &here, &at);
        if (r < 0)
            return r;
        if (at && policy_is_profile(at->text)) {
            chain->profile = at->text;
            return 0;
        }
        if ((r = find_next(loader, &here, at, &next)) < 0 || !next.tree)
            return r;
        const struct yaml_node *place = at ? at : here.tree;
        for (size_t i = 0; i < chain->count; i++) {
            if (strcmp(chain->files[i].name, next.name) == 0)
                return yaml_error(loader->e, here.name, place,
                                  "extends: a loop: '%s' extends this file in turn",
                                  next.agent_name);
        }
        if (chain->count == CHAIN_MAX)
            return yaml_error(loader->e, here.name, place, "extends: more than %d files in a row",
                              CHAIN_MAX);
        chain->files[chain->count++] = here = next;
    }
}

/* The chain of an agent that was named, itself included. */
static int follow_agent(const struct loader *loader, const struct policy_file *agent,
                        struct chain *ret)
{
    *ret = (struct chain){.count = 1};
    ret->files[0] = *agent;
    return follow(loader, agent, ret);
}

/* --- layers ----------------------------------------------------------------------------------- */

static int widening(const struct policy_file *file, const struct yaml_node *at,
                    const struct policy_key *key, const struct policy_text *entry, struct err *e)
{
    if (entry->text && entry->origin.file == file->name) {
        struct yaml_node place = {.line = entry->origin.line, .column = entry->origin.column};
        return yaml_error(e, file->name, &place,
                          "%s: a project's files can only tighten, and '%s' widens", key->path,
                          entry->text);
    }
    return yaml_error(e, file->name, at, "%s: a project's files can only tighten, and this widens",
                      key->path);
}

static const struct yaml_node *find_in_tree(const struct yaml_node *tree, const char *path)
{
    char group[64];
    size_t len = strcspn(path, ".");
    if (!path[len])
        return yaml_get(tree, path);
    snprintf(group, sizeof(group), "%.*s", (int)len, path);
    const struct yaml_node *below = yaml_get(tree, group);
    return below ? yaml_get(below, path + len + 1) : NULL;
}

/* L1, for what a file says itself. */
static int check_tightens(const struct policy_file *file, const struct policy *before,
                          const struct policy *after, struct err *e)
{
    for (const struct policy_key *key = policy_keys; key->path; key++) {
        const struct yaml_node *at = find_in_tree(file->tree, key->path);
        struct policy_text entry;
        if (at && policy_key_widens(key, before, after, &entry))
            return widening(file, at, key, &entry, e);
    }
    return 0;
}

/* What the system's configuration fixes stays, whatever the user's files say. */
static int check_fixed(const struct policy_file *file, const struct policy *before,
                       const struct policy_origin *origins, const struct policy *after,
                       struct err *e)
{
    for (size_t i = 0; policy_keys[i].path; i++) {
        const struct policy_key *key = &policy_keys[i];
        const struct yaml_node *at = key->fixed ? find_in_tree(file->tree, key->path) : NULL;
        struct policy_text entry;
        if (at && origins[i].layer == LAYER_SYSTEM && policy_key_widens(key, before, after, &entry))
            return yaml_error(e, file->name, at, "%s: the system's configuration has fixed it",
                              key->path);
    }
    return 0;
}

static int apply(const struct loader *loader, struct policy *policy, struct policy_origin *origins,
                 const struct policy_file *file)
{
    if (!file->tree)
        return 0;
    const struct policy before = *policy;
    struct policy_origin set_by[POLICY_KEYS_MAX];
    memcpy(set_by, origins, sizeof(set_by));
    struct loading l = {
        .arena = loader->arena, .policy = policy, .origins = origins, .file = file, .e = loader->e};
    int r = loading_apply(&l);
    if (r == 0 && file->layer > LAYER_SYSTEM)
        r = check_fixed(file, &before, set_by, policy, loader->e);
    if (r == 0 && file->layer == LAYER_PROJECT)
        r = check_tightens(file, &before, policy, loader->e);
    return r;
}

static int apply_builtin(const struct loader *loader, struct policy *policy,
                         struct policy_origin *origins, const char *name)
{
    for (const struct policy_builtin *b = policy_builtins; b->name; b++) {
        if (b->agent || strcmp(b->name, name) != 0)
            continue;
        struct policy_file file = {.layer = LAYER_BUILTIN, .name = b->name, .tree = b->tree};
        return apply(loader, policy, origins, &file);
    }
    return err_set(loader->e, -EINVAL, "policy: no profile is called '%s'", name);
}

/* With `presets` these alone: what an agent's own profile stands in the place of is the rest. */
static int apply_chain(const struct loader *loader, struct policy *policy,
                       struct policy_origin *origins, const struct chain *chain, bool presets)
{
    int r = 0;
    for (size_t i = chain->count; i > 0 && r == 0; i--) {
        if (presets && !chain->files[i - 1].preset)
            continue;
        r = apply(loader, policy, origins, &chain->files[i - 1]);
        if (r == 0 && chain->files[i - 1].preset)
            policy->preset = chain->files[i - 1].name;
    }
    return r;
}

/*
 * Everything but the command line. `base` is what the configuration extends; `agent` may be NULL. A
 * profile that the agent names stands in the place of what the configuration extends, but for
 * presets, which hold for every agent.
 */
static int build(const struct loader *loader, const struct chain *base, bool project,
                 const struct chain *agent, struct policy *ret)
{
    struct policy_origin *origins =
        arena_alloc_array(loader->arena, POLICY_KEYS_MAX, sizeof(*origins));
    if (!origins)
        return no_memory(loader);
    bool replaced = agent && agent->profile;
    const char *profile = replaced ? agent->profile : base->profile ? base->profile : "dev";
    if (loader->request->profile)
        profile = loader->request->profile;

    struct policy policy = {.profile = profile, .origins = origins};
    int r = apply_builtin(loader, &policy, origins, "base");
    if (r == 0)
        r = apply_builtin(loader, &policy, origins, "blocklist");
    if (r == 0)
        r = apply_builtin(loader, &policy, origins, "languages");
    if (r == 0)
        r = apply_builtin(loader, &policy, origins, profile);
    if (r == 0)
        r = apply_chain(loader, &policy, origins, base, replaced);
    for (size_t i = 0; r == 0 && i < CONFIG_LAYERS; i++) {
        if (project || config_layers[i] != LAYER_PROJECT)
            r = apply(loader, &policy, origins, &loader->config[config_layers[i]]);
    }
    if (r == 0 && agent)
        r = apply_chain(loader, &policy, origins, agent, false);
    if (r < 0)
        return r;
    policy.refused = strcmp(policy.profile, "safe") == 0;
    *ret = policy;
    return 0;
}

/* L1, for what a file extends. */
static int check_extends(const struct loader *loader, const struct policy_file *file,
                         const struct policy *before, const struct policy *after)
{
    const struct yaml_node *at;
    int r = read_extends(loader, file, &at);
    if (r < 0 || !at || after->refused)
        return r;
    if (before->refused)
        return yaml_error(loader->e, file->name, at,
                          "extends: a project's files can only tighten, and '%s' runs commands",
                          at->text);
    for (const struct policy_key *key = policy_keys; key->path; key++) {
        struct policy_text entry;
        if (policy_key_widens(key, before, after, &entry))
            return yaml_error(loader->e, file->name, at,
                              "extends: a project's files can only tighten, and '%s' widens %s",
                              at->text, key->path);
    }
    return 0;
}

/* What the configuration extends: the last layer that says so. */
static int find_base(const struct loader *loader, struct chain *ret)
{
    struct chain trusted = {0};
    for (int layer = LAYER_USER; layer >= LAYER_SYSTEM; layer--) {
        const struct yaml_node *at;
        int r = read_extends(loader, &loader->config[layer], &at);
        if (r == 0 && at)
            r = follow(loader, &loader->config[layer], &trusted);
        if (r < 0)
            return r;
        if (at)
            break;
    }
    *ret = trusted;

    const struct policy_file *project = &loader->config[LAYER_PROJECT];
    const struct yaml_node *at;
    int r = read_extends(loader, project, &at);
    if (r < 0 || !at)
        return r;
    struct chain own = {0};
    struct policy before = {0}, after = {0};
    if ((r = follow(loader, project, &own)) < 0 ||
        (r = build(loader, &trusted, false, NULL, &before)) < 0 ||
        (r = build(loader, &own, false, NULL, &after)) < 0 ||
        (r = check_extends(loader, project, &before, &after)) < 0)
        return r;
    *ret = own;
    return 0;
}

/*
 * An agent of the project that says what it extends. That must not be wider than what would hold
 * without the file: the agent of its name from another layer, else no agent at all. Where there is
 * none of its name it may extend another layer's agent, and is held to that one.
 */
static int check_own_agent(const struct loader *loader, const struct chain *base,
                           const struct chain *chain)
{
    size_t last = 0;
    while (last + 1 < chain->count && chain->files[last + 1].layer == LAYER_PROJECT)
        last++;
    const struct policy_file *bottom = &chain->files[last];
    struct policy_file same;
    const struct yaml_node *at;
    int r = read_extends(loader, bottom, &at);
    if (r < 0 || !at || (r = find_agent(loader, chain->files[0].agent_name, LAYER_USER, &same)) < 0)
        return r;
    if (!same.tree && last + 1 < chain->count)
        return 0;

    struct chain without = {.profile = chain->profile}, trusted = {0};
    for (size_t i = last + 1; i < chain->count; i++)
        without.files[without.count++] = chain->files[i];
    if (same.tree && (r = follow_agent(loader, &same, &trusted)) < 0)
        return r;
    struct policy before = {0}, after = {0};
    if ((r = build(loader, base, true, same.tree ? &trusted : NULL, &before)) < 0 ||
        (r = build(loader, base, true, &without, &after)) < 0)
        return r;
    return check_extends(loader, bottom, &before, &after);
}

static int find_chain(const struct loader *loader, const struct chain *base, struct chain *ret)
{
    const char *name = loader->request->agent;
    struct policy_file agent;
    int r = find_agent(loader, name, LAYER_PROJECT, &agent);
    if (r < 0)
        return r;
    if (!agent.tree) {
        const char *nearest = nearest_name(loader, name, false);
        if (policy_is_profile(name))
            return err_set(loader->e, -EINVAL, "--agent: '%s' is a profile (--profile %s)", name,
                           name);
        return err_set(loader->e, -EINVAL, "--agent: no agent is called '%s'%s%s%s", name,
                       nearest ? "; did you mean '" : " (nacre agents lists them)",
                       nearest ? nearest : "", nearest ? "'?" : "");
    }
    if ((r = follow_agent(loader, &agent, ret)) < 0)
        return r;
    return agent.layer == LAYER_PROJECT ? check_own_agent(loader, base, ret) : 0;
}

/* --- the command line ------------------------------------------------------------------------- */

/* The texts as a list, the form in which files have them. */
static const struct yaml_node *list_of(const struct loader *loader, const char *const *texts)
{
    struct yaml_node *list = arena_take(loader->arena, sizeof(*list));
    if (!list)
        return NULL;
    list->kind = YAML_LIST;
    const struct yaml_node **end = &list->first;
    for (; *texts; texts++) {
        struct yaml_node *node = arena_take(loader->arena, sizeof(*node));
        if (!node)
            return NULL;
        *node = (struct yaml_node){.kind = YAML_SCALAR, .text = *texts};
        *end = node;
        end = &node->next;
    }
    return list;
}

static int apply_list(const struct loader *loader, struct loading *l, const char *option,
                      const char *path, const char *const *texts)
{
    if (!texts || !texts[0])
        return 0;
    const struct yaml_node *list = list_of(loader, texts);
    if (!list)
        return no_memory(loader);
    l->option = option;
    return loading_set(l, &policy_keys[policy_key_find(path)], list);
}

/* --allow is a list of its own: it narrows whatever the rest says. */
static int apply_allow(const struct loader *loader, const struct loading *l, const char *option,
                       const char *const *texts, struct policy_patterns *ret, bool *ret_mandate)
{
    if (!texts)
        return 0;
    struct policy aside = {0};
    struct loading own = *l;
    own.policy = &aside;
    own.origins = arena_alloc_array(loader->arena, POLICY_KEYS_MAX, sizeof(*own.origins));
    if (!own.origins)
        return no_memory(loader);
    int r = apply_list(loader, &own, option, "shell.allow", texts);
    if (r < 0)
        return r;
    *ret_mandate = true;
    *ret = aside.allow;
    return 0;
}

static int apply_limit(const struct loader *loader, struct loading *l, const char *option,
                       const char *text)
{
    char path[64];
    size_t len = strcspn(text, "=");
    if (!text[len])
        return err_set(loader->e, -EINVAL, "%s: '%s' is not NAME=VALUE", option, text);
    snprintf(path, sizeof(path), "limits.%.*s", (int)len, text);
    int number = len < sizeof(path) - sizeof("limits.") ? policy_key_find(path) : -1;
    if (number < 0) {
        const char *names[] = {"cpu",    "disk",      "files",       "memory",
                               "output", "processes", "timeout_max", NULL};
        char *typed = arena_copy(loader->arena, text, len);
        const char *nearest = typed ? policy_nearest(names, typed) : NULL;
        return err_set(loader->e, -EINVAL, "%s: no limit is called '%.*s'%s%s%s", option, (int)len,
                       text, nearest ? "; did you mean '" : ": ",
                       nearest ? nearest
                               : "there are cpu, disk, files, memory, output, processes and "
                                 "timeout_max",
                       nearest ? "'?" : "");
    }
    struct yaml_node *value = arena_take(loader->arena, sizeof(*value));
    if (!value)
        return no_memory(loader);
    *value = (struct yaml_node){.kind = YAML_SCALAR, .text = text + len + 1};
    l->option = option;
    return loading_set(l, &policy_keys[number], value);
}

static int apply_network(const struct loader *loader, struct loading *l, const char *option,
                         const char *text)
{
    if (!text)
        return 0;
    struct yaml_node *value = arena_take(loader->arena, sizeof(*value));
    if (!value)
        return no_memory(loader);
    *value = (struct yaml_node){.kind = YAML_SCALAR, .text = text};
    l->option = option;
    return loading_set(l, &policy_keys[policy_key_find("network")], value);
}

/* What a session may do at the most: on top of everything, and never more than that. */
static int apply_session(const struct loader *loader, struct loading *l)
{
    const struct policy_session *session = &loader->request->session;
    struct policy *policy = l->policy;
    if (!session->allow && !session->deny && !session->network && !session->limits)
        return 0;
    const struct policy before = *policy;
    int r = apply_allow(loader, l, "allow", session->allow, &policy->session_allow,
                        &policy->session_mandate);
    if (r == 0)
        r = apply_list(loader, l, "deny", "shell.deny", session->deny);
    if (r == 0)
        r = apply_network(loader, l, "network", session->network);
    for (size_t i = 0; r == 0 && session->limits && session->limits[i]; i++)
        r = apply_limit(loader, l, "limits", session->limits[i]);
    for (const struct policy_key *key = policy_keys; r == 0 && key->path; key++) {
        struct policy_text entry;
        if (policy_key_widens(key, &before, policy, &entry))
            r = err_set(loader->e, -EINVAL,
                        "%s: a mandate can only tighten what the policy says, and this widens it",
                        key->path);
    }
    return r;
}

static int apply_call(const struct loader *loader, struct policy *policy)
{
    static const struct policy_file call = {.layer = LAYER_CALL};
    const struct policy_request *request = loader->request;
    struct policy_origin *origins =
        arena_alloc_array(loader->arena, POLICY_KEYS_MAX, sizeof(*origins));
    if (!origins)
        return no_memory(loader);
    memcpy(origins, policy->origins, POLICY_KEYS_MAX * sizeof(*origins));
    policy->origins = origins;
    struct loading l = {.arena = loader->arena,
                        .policy = policy,
                        .origins = origins,
                        .file = &call,
                        .e = loader->e};
    int r = apply_allow(loader, &l, "--allow", request->allow, &policy->call_allow,
                        &policy->call_mandate);
    if (r == 0)
        r = apply_list(loader, &l, "--read-path", "paths.read", request->read_paths);
    if (r == 0)
        r = apply_list(loader, &l, "--write-path", "paths.write", request->write_paths);
    if (r == 0)
        r = apply_network(loader, &l, "--network", request->network);
    for (size_t i = 0; r == 0 && request->limits && request->limits[i]; i++)
        r = apply_limit(loader, &l, "--limit", request->limits[i]);
    return r < 0 ? r : apply_session(loader, &l);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Users' files about commands, each before those it adds to. */
static int load_knowledge(const struct loader *loader, struct policy *policy)
{
    static const enum policy_layer layers[] = {LAYER_SYSTEM, LAYER_USER};
    policy->knowledge = &knowledge_builtin;
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
        const char *const *names;
        size_t count;
        int r = policy_list_files(loader->arena, loader->request, layers[i], "commands", &names,
                                  &count, loader->e);
        if (r < 0)
            return r;
        struct policy_texts list = policy->commands;
        list.items = arena_alloc_array(loader->arena, list.count + count + 1, sizeof(*list.items));
        if (!list.items)
            return no_memory(loader);
        if (policy->commands.count)
            memcpy(list.items, policy->commands.items, list.count * sizeof(*list.items));
        for (size_t k = 0; k < count; k++) {
            struct policy_file file;
            char hash[65];
            r = policy_read_listed(loader->arena, loader->request, layers[i], "commands", names[k],
                                   &file, hash, loader->e);
            if (r == 0 && file.tree)
                r = knowledge_read(loader->arena, file.name, file.tree, policy->knowledge,
                                   &policy->knowledge, loader->e);
            if (r < 0)
                return r;
            if (!file.tree) /* gone since the directory was read */
                continue;
            list.items[list.count++] = (struct policy_text){
                .text = arena_copy(loader->arena, hash, strlen(hash)),
                .origin = {.layer = layers[i], .file = file.name, .line = 1, .column = 1},
            };
        }
        policy->commands = list;
    }
    return loader->arena->failed ? no_memory(loader) : 0;
}

static int warn_network(const struct loader *loader, struct policy *policy)
{
    static const char *const texts[] = {
        [NETWORK_ON] =
            "network: on shares the host's network, its local services included, and what "
            "is sent cannot be undone",
        [NETWORK_LISTED] = "network: a list of hosts cannot be enforced yet, so the network is off",
    };
    if (policy->network == NETWORK_OFF)
        return 0;
    struct policy_text *warning = arena_take(loader->arena, sizeof(*warning));
    if (!warning)
        return no_memory(loader);
    *warning = (struct policy_text){.text = texts[policy->network],
                                    .origin = policy->origins[policy_key_find("network")]};
    policy->warnings = (struct policy_texts){.items = warning, .count = 1};
    return 0;
}

/* An approver without a key is a name that anybody could give. */
static int check_approver(const struct loader *loader, const struct policy *policy)
{
    const char *name = policy->approvals.approver, *key = policy->approvals.key;
    const struct policy_origin *origin = &policy->origins[policy_key_find("approvals.approver")];
    struct yaml_node place = {.line = origin->line, .column = origin->column};
    size_t len = strlen(name);
    if (key && strncmp(key, name, len) == 0 && key[len] == '+')
        return 0;
    return yaml_error(loader->e, origin->file, &place,
                      "approvals.approver: approvals.key must be a key of '%s' "
                      "(`nacre approve --set-passphrase`, run by that user, shows it)",
                      name);
}

/* Where the system wants a signature, a user's judge does not stand for it. */
static int check_judge(const struct loader *loader, const struct policy *policy)
{
    const struct policy_origin *key = &policy->origins[policy_key_find("approvals.key")];
    const struct policy_origin *judge = &policy->origins[policy_key_find("approvals.judge")];
    struct yaml_node place = {.line = judge->line, .column = judge->column};
    if (!policy->approvals.key || key->layer != LAYER_SYSTEM || judge->layer == LAYER_SYSTEM)
        return 0;
    return yaml_error(loader->e, judge->file, &place,
                      "approvals.judge: the system's configuration wants answers that are signed");
}

/* A refusal is never told as a success. */
static int check_exit_code(const struct loader *loader, const struct policy *policy)
{
    const struct policy_origin *origin =
        &policy->origins[policy_key_find("messages.denied_exit_code")];
    struct yaml_node place = {.line = origin->line, .column = origin->column};
    if (policy->messages.denied_exit_code >= 1 && policy->messages.denied_exit_code <= 255)
        return 0;
    return yaml_error(loader->e, origin->file, &place,
                      "messages.denied_exit_code: must be from 1 to 255");
}

/* A rule on a command of the system by its path is one on its name, under any path. */
static int name_commands(const struct loader *loader, const struct policy_patterns *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct policy_pattern *pattern = &list->items[i];
        if (!facts_is_system_command(pattern->words[0]))
            continue;
        const char **words = arena_alloc_array(loader->arena, pattern->count, sizeof(*words));
        if (!words)
            return no_memory(loader);
        memcpy(words, pattern->words, pattern->count * sizeof(*words));
        words[0] = strrchr(words[0], '/') + 1;
        pattern->words = words;
    }
    return 0;
}

static int load(struct loader *loader, const struct policy **ret)
{
    struct chain *base = arena_alloc(loader->arena, sizeof(*base));
    struct chain *agent = arena_alloc(loader->arena, sizeof(*agent));
    struct policy *policy = arena_alloc(loader->arena, sizeof(*policy));
    if (!base || !agent || !policy)
        return no_memory(loader);
    if (loader->request->profile && !policy_is_profile(loader->request->profile))
        return err_set(loader->e, -EINVAL,
                       "--profile must be one of safe, dev, full-auto, not '%s'",
                       loader->request->profile);
    bool named = loader->request->agent != NULL;
    int r = find_base(loader, base);
    if (r == 0 && named)
        r = find_chain(loader, base, agent);
    if (r == 0)
        r = build(loader, base, true, named ? agent : NULL, policy);
    if (r == 0)
        r = apply_call(loader, policy);
    if (r < 0)
        return r;

    if (policy->approvals.approver && (r = check_approver(loader, policy)) < 0)
        return r;
    if (policy->approvals.judge.count && (r = check_judge(loader, policy)) < 0)
        return r;
    if ((r = check_exit_code(loader, policy)) < 0)
        return r;
    policy->agent = loader->request->agent;
    policy->mandate = policy->mandate && policy->unknown == DECISION_DENY;
    if (policy->default_timeout_ms > policy->limits.timeout_max_ms)
        policy->default_timeout_ms = policy->limits.timeout_max_ms;
    if ((r = load_knowledge(loader, policy)) < 0 || (r = warn_network(loader, policy)) < 0 ||
        (r = policy_hash(policy, loader->e)) < 0 ||
        (r = name_commands(loader, &policy->deny)) < 0 ||
        (r = name_commands(loader, &policy->confirm)) < 0)
        return r;
    *ret = policy;
    return 0;
}

static int read_configs(struct loader *loader, enum policy_layer but)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < CONFIG_LAYERS; i++) {
        enum policy_layer layer = config_layers[i];
        if (layer != but)
            r = policy_read_config(loader->arena, loader->request, layer, &loader->config[layer],
                                   loader->e);
    }
    return r;
}

int policy_load(struct arena *arena, const struct policy_request *request,
                const struct policy **ret, struct err *e)
{
    struct loader loader = {.arena = arena, .request = request, .e = e};
    int r = read_configs(&loader, LAYER_CALL);
    return r < 0 ? r : load(&loader, ret);
}

int policy_load_tree(struct arena *arena, const struct policy_request *request, const char *name,
                     const struct yaml_node *tree, const struct policy **ret, struct err *e)
{
    struct loader loader = {.arena = arena, .request = request, .e = e};
    loader.config[LAYER_USER] =
        (struct policy_file){.layer = LAYER_USER, .name = name, .tree = tree};
    int r = read_configs(&loader, LAYER_USER);
    return r < 0 ? r : load(&loader, ret);
}
