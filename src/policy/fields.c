/*
 * From a file's tree to the fields of the policy, by the table of keys. Lists that grow are copied,
 * so that a policy that was set aside before stays as it was.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "policy/load.h"

enum { PATH_LENGTH_MAX = 128, NEAREST_MAX = 256, FIELDS_MAX = 8 };

const char *policy_nearest(const char *const *names, const char *typed)
{
    struct command rows[NEAREST_MAX];
    const struct command *list[NEAREST_MAX + 1];
    size_t count = 0;
    for (; count < NEAREST_MAX && names[count]; count++) {
        rows[count] = (struct command){.name = names[count]};
        list[count] = &rows[count];
    }
    list[count] = NULL;
    const char *nearest = NULL;
    options_find_command(list, typed, &nearest);
    return nearest;
}

static size_t count_children(const struct yaml_node *node)
{
    size_t count = 0;
    for (const struct yaml_node *child = node->first; child; child = child->next)
        count++;
    return count;
}

static int need_list(struct loading *l, const struct yaml_node *at)
{
    if (at->kind == YAML_LIST)
        return 0;
    return loading_fail(l, at, "must be a list, such as [a, b]");
}

static int need_map(struct loading *l, const struct yaml_node *at)
{
    if (at->kind == YAML_MAP)
        return 0;
    return loading_fail(l, at, "must be a map, such as {name: value}");
}

/* --- lists ------------------------------------------------------------------------------------ */

/* A copy of the list with room for as many more as `value` has; NULL when out of memory. */
static void *grown(struct loading *l, const void *items, size_t count, size_t more, size_t size)
{
    char *copy = arena_alloc_array(l->arena, count + more + 1, size);
    if (copy && count)
        memcpy(copy, items, count * size);
    return copy;
}

static int set_patterns(struct loading *l, const struct yaml_node *value,
                        struct policy_patterns *field, bool whole)
{
    int r = need_list(l, value);
    if (r < 0)
        return r;
    struct policy_patterns list = {.count = whole ? 0 : field->count};
    list.items = grown(l, field->items, list.count, count_children(value), sizeof(*list.items));
    if (!list.items)
        return loading_no_memory(l);
    for (const struct yaml_node *at = value->first; at; at = at->next) {
        if ((r = value_pattern(l, at, &list.items[list.count])) < 0)
            return r;
        list.items[list.count++].preset = l->file->preset;
    }
    *field = list;
    return 0;
}

static int set_texts(struct loading *l, const struct yaml_node *value, struct policy_texts *field,
                     bool whole,
                     int (*read)(struct loading *l, const struct yaml_node *at,
                                 struct policy_text *ret))
{
    int r = need_list(l, value);
    if (r < 0)
        return r;
    struct policy_texts list = {.count = whole ? 0 : field->count};
    list.items = grown(l, field->items, list.count, count_children(value), sizeof(*list.items));
    if (!list.items)
        return loading_no_memory(l);
    for (const struct yaml_node *at = value->first; at; at = at->next) {
        if ((r = read(l, at, &list.items[list.count])) < 0)
            return r;
        list.count++;
    }
    *field = list;
    return 0;
}

/*
 * Whether an entry came with nacre: those can be lifted. What else comes with nacre lifts none of a
 * preset's, which holds for every agent.
 */
static bool is_blocked(const struct loading *l, const struct policy_pattern *pattern)
{
    if (pattern->preset)
        return l->file->layer != LAYER_BUILTIN;
    return pattern->origin.layer == LAYER_BUILTIN && strcmp(pattern->origin.file, "blocklist") == 0;
}

static int unblock(struct loading *l, const struct yaml_node *at, struct policy_patterns *list)
{
    struct policy_pattern wanted;
    int r = value_pattern(l, at, &wanted);
    if (r < 0)
        return r;
    const char *names[NEAREST_MAX + 1];
    size_t known = 0, found = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct policy_pattern *p = &list->items[i];
        if (!is_blocked(l, p))
            continue;
        if (known < NEAREST_MAX)
            names[known++] = p->text;
        if (strcmp(p->text, wanted.text) == 0) {
            p->lifted = true;
            found++;
        }
    }
    names[known] = NULL;
    if (found)
        return 0;
    const char *nearest = policy_nearest(names, wanted.text);
    return loading_fail(l, at, "no entry of the built-in blocklist is '%s'%s%s%s", wanted.text,
                        nearest ? "; did you mean '" : " (nacre blocklist shows them)",
                        nearest ? nearest : "", nearest ? "'?" : "");
}

static int set_unblock(struct loading *l, const struct yaml_node *value,
                       struct policy_patterns *field)
{
    int r = need_list(l, value);
    if (r < 0)
        return r;
    if (l->file->layer == LAYER_PROJECT && value->first)
        return loading_fail(l, value->first, "a project's files can only tighten, and this widens");
    struct policy_patterns list = {.count = field->count};
    list.items = grown(l, field->items, list.count, 0, sizeof(*list.items));
    if (!list.items)
        return loading_no_memory(l);
    for (const struct yaml_node *at = value->first; at; at = at->next) {
        if ((r = unblock(l, at, &list)) < 0)
            return r;
    }
    *field = list;
    return 0;
}

/* --- maps ------------------------------------------------------------------------------------- */

static int compare_settings(const void *a, const void *b)
{
    return strcmp(((const struct policy_text *)a)->text, ((const struct policy_text *)b)->text);
}

/* A name that is set already gets the new value. By name: an environment has no order. */
static int set_settings(struct loading *l, const struct yaml_node *value,
                        struct policy_texts *field)
{
    int r = need_map(l, value);
    if (r < 0)
        return r;
    struct policy_texts list = {.count = field->count};
    list.items = grown(l, field->items, list.count, count_children(value), sizeof(*list.items));
    if (!list.items)
        return loading_no_memory(l);
    for (const struct yaml_node *at = value->first; at; at = at->next) {
        struct policy_text setting;
        if ((r = value_name(l, at->key, &setting)) < 0)
            return r;
        if (at->kind != YAML_SCALAR)
            return loading_fail(l, at, "the value of '%s' must be one text", at->key->text);
        setting.text = arena_format(l->arena, "%s=%s", at->key->text, at->text);
        if (!setting.text)
            return loading_no_memory(l);
        size_t i = 0, len = strlen(at->key->text) + 1;
        while (i < list.count && strncmp(list.items[i].text, setting.text, len) != 0)
            i++;
        list.items[i] = setting;
        list.count += i == list.count;
    }
    qsort(list.items, list.count, sizeof(*list.items), compare_settings);
    *field = list;
    return 0;
}

/* Off, on or a map. A project's list of hosts stands in the place of the one before, to tighten. */
static int set_network(struct loading *l, const struct yaml_node *value)
{
    struct policy *policy = l->policy;
    if (value->kind == YAML_SCALAR &&
        (strcmp(value->text, "off") == 0 || strcmp(value->text, "on") == 0)) {
        policy->network = value->text[1] == 'n' ? NETWORK_ON : NETWORK_OFF;
        policy->hosts = (struct policy_texts){0};
        return 0;
    }
    if (value->kind != YAML_MAP)
        return loading_fail(l, value, "must be off, on, or {allow: [host:port]}");
    for (const struct yaml_node *at = value->first; at; at = at->next) {
        if (strcmp(at->key->text, "allow") != 0)
            return loading_fail(l, at->key, "unknown key '%s'; there is only 'allow'",
                                at->key->text);
    }
    if (!value->first)
        return loading_fail(l, value, "must be off, on, or {allow: [host:port]}");
    bool whole = policy->network != NETWORK_LISTED || l->file->layer == LAYER_PROJECT;
    int r = set_texts(l, value->first, &policy->hosts, whole, value_host);
    if (r == 0)
        policy->network = NETWORK_LISTED;
    return r;
}

static const char *const tool_names[] = {
    "run_command", "run_script", "test_command", "history", "diff",
    "undo",        "commit",     "discard",      NULL,
};

static int value_tool(struct loading *l, const struct yaml_node *at, struct policy_text *ret)
{
    if (at->kind != YAML_SCALAR)
        return loading_fail(l, at, "must be the name of a tool");
    for (size_t i = 0; tool_names[i]; i++) {
        if (strcmp(tool_names[i], at->text) == 0) {
            *ret = (struct policy_text){.text = at->text, .origin = value_origin(l, at)};
            return 0;
        }
    }
    const char *nearest = policy_nearest(tool_names, at->text);
    return loading_fail(l, at, "unknown tool '%s'%s%s%s", at->text,
                        nearest ? "; did you mean '" : "", nearest ? nearest : "",
                        nearest ? "'?" : "");
}

/* The whole list, under its name or the old one. Nobody is without run_command. */
static int set_tools(struct loading *l, const struct yaml_node *value, struct policy_texts *field)
{
    static const struct yaml_node inherited = {.kind = YAML_SCALAR, .text = "run_command"};
    int r = need_map(l, value);
    struct policy_texts list = {0};
    for (const struct yaml_node *at = value->first; r == 0 && at; at = at->next) {
        if (strcmp(at->key->text, "shell") != 0 && strcmp(at->key->text, "coding") != 0)
            return loading_fail(l, at->key, "unknown key '%s'; there is only 'shell'",
                                at->key->text);
        r = set_texts(l, at, &list, false, value_tool);
    }
    if (r < 0)
        return r;
    for (size_t i = 0; i < list.count; i++) {
        if (strcmp(list.items[i].text, inherited.text) == 0) {
            *field = list;
            return 0;
        }
    }
    struct policy_text *items = arena_alloc_array(l->arena, list.count + 1, sizeof(*items));
    if (!items)
        return loading_no_memory(l);
    items[0] = (struct policy_text){.text = inherited.text, .origin = value_origin(l, value)};
    for (size_t i = 0; i < list.count; i++)
        items[i + 1] = list.items[i];
    *field = (struct policy_texts){.items = items, .count = list.count + 1};
    return 0;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp((*(struct yaml_node *const *)a)->key->text,
                  (*(struct yaml_node *const *)b)->key->text);
}

/* A copy in which the entries of every map are in the order of their keys. */
static struct yaml_node *sorted_tree(struct loading *l, const struct yaml_node *node)
{
    struct yaml_node *copy = arena_take(l->arena, sizeof(*copy));
    size_t count = count_children(node);
    struct yaml_node **children =
        arena_alloc_array(l->arena, count + 1, sizeof(struct yaml_node *));
    if (!copy || !children)
        return NULL;
    *copy = *node;
    copy->first = copy->next = NULL;
    size_t filled = 0;
    for (const struct yaml_node *child = node->first; child; child = child->next) {
        if (!(children[filled++] = sorted_tree(l, child)))
            return NULL;
    }
    if (node->kind == YAML_MAP)
        qsort(children, count, sizeof(struct yaml_node *), compare_entries);
    for (size_t i = count; i > 0; i--) {
        children[i - 1]->next = copy->first;
        copy->first = children[i - 1];
    }
    return copy;
}

static int set_tree(struct loading *l, const struct yaml_node *value,
                    const struct yaml_node **field)
{
    int r = need_map(l, value);
    if (r < 0)
        return r;
    const struct yaml_node *copy = value->first ? sorted_tree(l, value) : NULL;
    if (value->first && !copy)
        return loading_no_memory(l);
    *field = copy;
    return 0;
}

/* What a name is made of, whoever reads it: a symbol of Lisp, a tool of a model's. */
static bool is_word(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    enum { WORD_MAX_BYTES = 64 };
    size_t len = strlen(text);
    return len && len <= WORD_MAX_BYTES && strspn(text, allowed) == len;
}

/* One field of a map; a buffer and a description may be any line. */
static int set_one_field(struct loading *l, const struct yaml_node *at, const char **ret)
{
    bool line = strcmp(at->key->text, "buffer") == 0 || strcmp(at->key->text, "description") == 0;
    int r = value_template(l, at, "", ret);
    if (r == 0 && strchr(*ret, '\n'))
        return loading_fail(l, at, "%s must be one line", at->key->text);
    if (r == 0 && !line && !is_word(*ret))
        return loading_fail(l, at, "%s must be one word of letters, digits, - and _",
                            at->key->text);
    return r;
}

static int set_fields(struct loading *l, const struct yaml_node *value, const char **field)
{
    const char *values[FIELDS_MAX] = {0}, *rest = l->key->choices;
    struct options_piece name;
    size_t count = 0, found = 0;
    int r = need_map(l, value);
    if (r < 0)
        return r;
    for (; options_next_choice(&rest, &name); count++) {
        for (const struct yaml_node *at = value->first; at; at = at->next) {
            if (strlen(at->key->text) != name.len ||
                memcmp(at->key->text, name.text, name.len) != 0)
                continue;
            if ((r = set_one_field(l, at, &values[count])) < 0)
                return r;
            found++;
        }
    }
    /* An empty one takes them all away. */
    if (found != count_children(value) || (found && found != count))
        return loading_fail(l, value, "must be a map with just these: %s", l->key->choices);
    memcpy(field, values, count * sizeof(*values));
    return 0;
}

/* A program by its path: no variable of the caller's says which one it is. */
static int set_argv(struct loading *l, const struct yaml_node *value, struct policy_texts *field)
{
    enum { WORDS_MAX = 64 };
    int r = set_texts(l, value, field, true, value_argument);
    if (r < 0)
        return r;
    if (field->count && field->items[0].text[0] != '/')
        return loading_fail(l, value->first, "'%s': the program is named by its whole path",
                            field->items[0].text);
    if (field->count > WORDS_MAX)
        return loading_fail(l, value, "has more than %d words", WORDS_MAX);
    return 0;
}

static int set_path(struct loading *l, const struct yaml_node *value, const char **field)
{
    struct policy_text path;
    int r = value_path(l, value, &path);
    if (r == 0)
        *field = path.text;
    return r;
}

/* --- one key ---------------------------------------------------------------------------------- */

static int set_choice(struct loading *l, const struct yaml_node *value, void *field)
{
    size_t number = 0;
    int r = value_choice(l, value, &number);
    if (r < 0)
        return r;
    if (l->key->kind == KEY_SWITCH)
        *(bool *)field = number == 1;
    else if (l->key->kind == KEY_DECISION)
        *(enum decision *)field = (enum decision)number;
    else
        *(const char **)field = value->text;
    return 0;
}

static int set_field(struct loading *l, const struct yaml_node *value)
{
    void *field = (char *)l->policy + l->key->offset;
    switch (l->key->kind) {
    case KEY_NOTE:
        return value->kind == YAML_SCALAR ? 0 : loading_fail(l, value, "must be a text");
    case KEY_EXTENDS:
        return 0;
    case KEY_BOOL:
        return value_bool(l, value, field);
    case KEY_SWITCH:
    case KEY_DECISION:
    case KEY_WORD:
        return set_choice(l, value, field);
    case KEY_TEXT:
        return value_text(l, value, field);
    case KEY_DURATION:
    case KEY_SIZE:
    case KEY_COUNT:
        return value_number(l, value, field);
    case KEY_PATTERNS:
        return set_patterns(l, value, field, l->file->agent && field == &l->policy->allow);
    case KEY_UNBLOCK:
        return set_unblock(l, value, field);
    case KEY_PATHS:
        return set_texts(l, value, field, false, value_path);
    case KEY_NAMES:
        return set_texts(l, value, field, false, value_name);
    case KEY_SETTINGS:
        return set_settings(l, value, field);
    case KEY_NETWORK:
        return set_network(l, value);
    case KEY_TOOLS:
        return set_tools(l, value, field);
    case KEY_SENDS:
        return set_texts(l, value, field, false, value_send);
    case KEY_PUBLIC:
        return value_public_key(l, value, field);
    case KEY_ARGV:
        return set_argv(l, value, field);
    case KEY_TEMPLATE:
        return value_template(l, value, l->key->choices, field);
    case KEY_FIELDS:
        return set_fields(l, value, field);
    case KEY_PATH:
        return set_path(l, value, field);
    case KEY_LANGUAGES:
        return value_languages(l, value, field);
    case KEY_TREE:
        return set_tree(l, value, field);
    }
    return -EINVAL;
}

int loading_set(struct loading *l, const struct policy_key *key, const struct yaml_node *value)
{
    l->key = key;
    int r = set_field(l, value);
    l->key = NULL;
    if (r == 0)
        l->origins[key - policy_keys] = value_origin(l, value);
    return r;
}

/* --- all keys --------------------------------------------------------------------------------- */

/* Whether a key of the table is `group`.something. */
static bool is_group(const char *group)
{
    size_t len = strlen(group);
    for (const struct policy_key *key = policy_keys; key->path; key++) {
        if (strncmp(key->path, group, len) == 0 && key->path[len] == '.')
            return true;
    }
    return false;
}

/* With the likely key: one that stands in this place, or one by this name in another. */
static int unknown_key(struct loading *l, const struct yaml_node *at, const char *group)
{
    const char *names[2 * POLICY_KEYS_MAX];
    char pieces[POLICY_KEYS_MAX][PATH_LENGTH_MAX];
    size_t count = 0, len = strlen(group);
    const char *elsewhere = NULL;
    for (const struct policy_key *key = policy_keys; key->path; key++) {
        const char *dot = strrchr(key->path, '.');
        if (dot && strcmp(dot + 1, at->text) == 0)
            elsewhere = key->path;
        const char *rest = key->path + len + (len > 0);
        if (strncmp(key->path, group, len) != 0 || (len && key->path[len] != '.'))
            continue;
        snprintf(pieces[count], sizeof(pieces[count]), "%.*s", (int)strcspn(rest, "."), rest);
        if (!count || strcmp(pieces[count], pieces[count - 1]) != 0) {
            names[count] = pieces[count];
            count++;
        }
    }
    names[count] = NULL;
    const char *nearest = policy_nearest(names, at->text);
    if (!nearest)
        nearest = elsewhere;
    return loading_fail(l, at, "unknown key '%s%s%s'%s%s%s", group, len ? "." : "", at->text,
                        nearest ? "; did you mean '" : "", nearest ? nearest : "",
                        nearest ? "'?" : "");
}

static int apply_map(struct loading *l, const struct yaml_node *map, const char *group)
{
    for (const struct yaml_node *at = map->first; at; at = at->next) {
        char path[PATH_LENGTH_MAX];
        int len = snprintf(path, sizeof(path), "%s%s%s", group, group[0] ? "." : "", at->key->text);
        int number = len < PATH_LENGTH_MAX ? policy_key_find(path) : -1;
        int r;
        if (number >= 0) {
            r = loading_set(l, &policy_keys[number], at);
        } else if (!group[0] && is_group(at->key->text)) {
            r = at->kind == YAML_MAP
                    ? apply_map(l, at, at->key->text)
                    : loading_fail(l, at, "%s: must be a map, such as {name: value}",
                                   at->key->text);
        } else {
            r = unknown_key(l, at->key, group);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

int loading_apply(struct loading *l)
{
    const struct yaml_node *tree = l->file->tree;
    if (tree->kind != YAML_MAP)
        return loading_fail(l, tree, "a configuration is a map of keys");
    int r = apply_map(l, tree, "");
    if (r < 0 || !l->file->agent)
        return r;
    const struct yaml_node *shell = yaml_get(tree, "shell");
    if (shell && yaml_get(shell, "allow") && !yaml_get(shell, "unknown")) {
        l->policy->unknown = DECISION_DENY;
        l->origins[policy_key_find("shell.unknown")] = value_origin(l, yaml_get(shell, "allow"));
    }
    if (shell && yaml_get(shell, "allow") && !yaml_get(shell, "scripts") &&
        policy_scripts(l->policy) > l->policy->unknown) {
        l->policy->scripts = "unknown";
        l->origins[policy_key_find("shell.scripts")] = value_origin(l, yaml_get(shell, "allow"));
    }
    if (shell && yaml_get(shell, "allow"))
        l->policy->mandate = true;
    return 0;
}
