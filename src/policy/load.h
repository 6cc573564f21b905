/*
 * Inside of loading: files become trees (files.c), trees become fields (fields.c, values.c by the
 * table in keys.c), layer upon layer (load.c).
 */
#ifndef NACRE_POLICY_LOAD_H
#define NACRE_POLICY_LOAD_H

#include "base/yaml.h"
#include "policy/keys.h"

/* --- what is built in: made of data/policies, agents and presets by tools/embed-policies.c ---- */

struct policy_builtin {
    const char *name;
    bool agent;  /* can be named by --agent */
    bool preset; /* and is a preset: what a configuration extends, whatever agent is named */
    const struct yaml_node *tree;
};
extern const struct policy_builtin policy_builtins[]; /* ends with a null name */

/* --- files ------------------------------------------------------------------------------------ */

/* A configuration, or an agent's file, of one layer. */
struct policy_file {
    enum policy_layer layer;
    const char *name; /* for messages: its path */
    const struct yaml_node *tree;
    bool agent;
    const char *agent_name; /* of an agent's file */
    bool preset;            /* built in, of data/presets */
};

/* The layer's config.yaml, or NULL in `ret->tree` when there is none. */
int policy_read_config(struct arena *arena, const struct policy_request *request,
                       enum policy_layer layer, struct policy_file *ret, struct err *e);

/* An agent's file of just this layer; likewise. */
int policy_read_agent(struct arena *arena, const struct policy_request *request,
                      enum policy_layer layer, const char *name, struct policy_file *ret,
                      struct err *e);

/* The names of the files NAME.yaml in a layer's directory `sub`, sorted. */
int policy_list_files(struct arena *arena, const struct policy_request *request,
                      enum policy_layer layer, const char *sub, const char *const **ret,
                      size_t *ret_count, struct err *e);

/* One of these, with the SHA-256 of its bytes. */
int policy_read_listed(struct arena *arena, const struct policy_request *request,
                       enum policy_layer layer, const char *sub, const char *name,
                       struct policy_file *ret, char ret_hash[65], struct err *e);

bool policy_is_profile(const char *name);
bool policy_is_agent_name(const char *name);

/* The name among `names` (ends with NULL) that `typed` may have been meant to be, or NULL. */
const char *policy_nearest(const char *const *names, const char *typed);

/* --- fields ----------------------------------------------------------------------------------- */

/* A policy that a file is being put into. */
struct loading {
    struct arena *arena;
    struct policy *policy;
    struct policy_origin *origins; /* of policy->origins */
    const struct policy_file *file;
    const struct policy_key *key; /* that is being set */
    const char *option;           /* of the command line, instead of a file; NULL */
    struct err *e;
};

/* "FILE:LINE:COLUMN: KEY: message", or "--option: message"; returns -EINVAL. */
int loading_fail(const struct loading *l, const struct yaml_node *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int loading_no_memory(const struct loading *l);

/* Puts every key of the file into the policy. */
int loading_apply(struct loading *l);

/* One key from a tree of its own, as the command line has it. */
int loading_set(struct loading *l, const struct policy_key *key, const struct yaml_node *value);

/* values.c: single values. They do not touch the policy. */
int value_pattern(struct loading *l, const struct yaml_node *at, struct policy_pattern *ret);
int value_path(struct loading *l, const struct yaml_node *at, struct policy_text *ret);
int value_host(struct loading *l, const struct yaml_node *at, struct policy_text *ret);
/* A text of one or more lines; `names` are those that may stand in it in braces. */
int value_template(struct loading *l, const struct yaml_node *at, const char *names,
                   const char **ret);
int value_text(struct loading *l, const struct yaml_node *at, const char **ret);
int value_send(struct loading *l, const struct yaml_node *at, struct policy_text *ret);
int value_argument(struct loading *l, const struct yaml_node *at, struct policy_text *ret);
int value_public_key(struct loading *l, const struct yaml_node *at, const char **ret);
int value_name(struct loading *l, const struct yaml_node *at, struct policy_text *ret);
int value_number(struct loading *l, const struct yaml_node *at, uint64_t *ret);
int value_choice(struct loading *l, const struct yaml_node *at, size_t *ret);
int value_bool(struct loading *l, const struct yaml_node *at, bool *ret);
int value_languages(struct loading *l, const struct yaml_node *at, struct policy_languages *field);
struct policy_origin value_origin(const struct loading *l, const struct yaml_node *at);

/* --- the whole -------------------------------------------------------------------------------- */

/* policy_load with this tree as the user's configuration. */
int policy_load_tree(struct arena *arena, const struct policy_request *request, const char *name,
                     const struct yaml_node *tree, const struct policy **ret, struct err *e);

/* canonical.c: fills policy->hash. */
int policy_hash(struct policy *policy, struct err *e);

#endif
