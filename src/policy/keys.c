/* The table of keys, and how their values are written; see keys.h. */
#include "policy/keys.h"

#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/yaml.h"
#include "policy/messages.h"

#define FIELD(name) .offset = offsetof(struct policy, name)

const struct policy_key policy_keys[] = {
    {"accept_irreversible", KEY_BOOL, TIGHTER_FALSE, FIELD(accept_irreversible)},
    {"approvals.approver", KEY_TEXT, TIGHTER_SAME, FIELD(approvals.approver), .fixed = true},
    {"approvals.elicit", KEY_BOOL, TIGHTER_FALSE, FIELD(approvals.elicit)},
    {"approvals.judge", KEY_ARGV, TIGHTER_SAME, FIELD(approvals.judge), .fixed = true},
    {"approvals.judge_timeout", KEY_DURATION, TIGHTER_SAME, FIELD(approvals.judge_timeout_ms)},
    {"approvals.key", KEY_PUBLIC, TIGHTER_SAME, FIELD(approvals.key), .fixed = true},
    {"approvals.timeout", KEY_DURATION, TIGHTER_LESS, FIELD(approvals.timeout_ms)},
    {"description", KEY_NOTE, TIGHTER_ALWAYS, .offset = 0},
    {"effects.delete_files", KEY_COUNT, TIGHTER_LESS, FIELD(effects.delete_files)},
    {"effects.write_bytes", KEY_SIZE, TIGHTER_LESS, FIELD(effects.write_bytes)},
    {"env.pass", KEY_NAMES, TIGHTER_SUBSET, FIELD(env_pass)},
    {"env.set", KEY_SETTINGS, TIGHTER_SUBSET, FIELD(env_set)},
    {"extends", KEY_EXTENDS, TIGHTER_ALWAYS, .offset = 0},
    {"gates", KEY_TREE, TIGHTER_NEVER, FIELD(gates)},
    {"jobs.root", KEY_PATH, TIGHTER_SAME, FIELD(jobs_root), .workspace = true},
    {"languages", KEY_LANGUAGES, TIGHTER_SAME, FIELD(languages)},
    {"ledger.every", KEY_DURATION, TIGHTER_LESS, FIELD(ledger.every_ms)},
    {"ledger.max_age", KEY_DURATION, TIGHTER_SAME, FIELD(ledger.max_age_ms)},
    {"ledger.max_size", KEY_SIZE, TIGHTER_SAME, FIELD(ledger.max_bytes)},
    {"ledger.send", KEY_SENDS, TIGHTER_SUBSET, FIELD(ledger.send)},
    {"limits.cpu", KEY_DURATION, TIGHTER_LESS, FIELD(limits.cpu_ms)},
    {"limits.disk", KEY_SIZE, TIGHTER_LESS, FIELD(limits.disk_bytes)},
    {"limits.files", KEY_COUNT, TIGHTER_LESS, FIELD(limits.files)},
    {"limits.memory", KEY_SIZE, TIGHTER_LESS, FIELD(limits.memory_bytes)},
    {"limits.output", KEY_SIZE, TIGHTER_LESS, FIELD(limits.output_bytes)},
    {"limits.processes", KEY_COUNT, TIGHTER_LESS, FIELD(limits.processes)},
    {"limits.timeout_max", KEY_DURATION, TIGHTER_LESS, FIELD(limits.timeout_max_ms)},
    {"messages.analysis", KEY_TEMPLATE, TIGHTER_SAME, FIELD(messages.analysis),
     "command|exit_code|stderr|stdout"},
    {"messages.chat", KEY_FIELDS, TIGHTER_SAME, FIELD(messages.chat), "action|buffer|target"},
    {"messages.completed", KEY_TEMPLATE, TIGHTER_SAME, FIELD(messages.completed), "answer"},
    {"messages.decisions", KEY_FIELDS, TIGHTER_SAME, FIELD(messages.decisions),
     "allow|confirm|deny"},
    {"messages.denied", KEY_TEMPLATE, TIGHTER_SAME, FIELD(messages.denied), MESSAGE_REFUSAL},
    {"messages.denied_exit_code", KEY_COUNT, TIGHTER_SAME, FIELD(messages.denied_exit_code)},
    {"messages.denied_plain", KEY_TEMPLATE, TIGHTER_SAME, FIELD(messages.denied_plain),
     MESSAGE_REFUSAL},
    {"messages.denied_unlisted", KEY_TEMPLATE, TIGHTER_SAME, FIELD(messages.denied_unlisted),
     MESSAGE_REFUSAL},
    {"messages.no_output", KEY_TEMPLATE, TIGHTER_SAME, FIELD(messages.no_output), ""},
    {"messages.prompt", KEY_TEMPLATE, TIGHTER_SAME, FIELD(messages.prompt), MESSAGE_PROMPT},
    {"messages.timed_out", KEY_TEMPLATE, TIGHTER_SAME, FIELD(messages.timed_out), "seconds"},
    {"messages.too_long", KEY_TEMPLATE, TIGHTER_SAME, FIELD(messages.too_long), "length|maximum"},
    {"messages.tool", KEY_FIELDS, TIGHTER_SAME, FIELD(messages.tool), "description|name"},
    {"messages.tool_command", KEY_TEMPLATE, TIGHTER_SAME, FIELD(messages.tool_command), ""},
    {"messages.truncated", KEY_TEMPLATE, TIGHTER_SAME, FIELD(messages.truncated), ""},
    {"network", KEY_NETWORK, TIGHTER_NETWORK, FIELD(network)},
    {"output.cut", KEY_SWITCH, TIGHTER_ALWAYS, FIELD(output.cut), "shown|always"},
    {"output.keep", KEY_WORD, TIGHTER_ALWAYS, FIELD(output.keep), "head|tail|both"},
    {"output.limit", KEY_COUNT, TIGHTER_LESS, FIELD(output.limit)},
    {"output.mode", KEY_WORD, TIGHTER_ALWAYS, FIELD(output.mode), "separate|combined"},
    {"output.submit", KEY_BOOL, TIGHTER_FALSE, FIELD(output.submit)},
    {"output.trim", KEY_BOOL, TIGHTER_ALWAYS, FIELD(output.trim)},
    {"paths.hide", KEY_PATHS, TIGHTER_MORE, FIELD(hide), .workspace = true},
    {"paths.protect", KEY_PATHS, TIGHTER_MORE, FIELD(protect), .workspace = true},
    {"paths.read", KEY_PATHS, TIGHTER_SUBSET, FIELD(read)},
    {"paths.write", KEY_PATHS, TIGHTER_SUBSET, FIELD(write)},
    {"redact", KEY_SWITCH, TIGHTER_TRUE, FIELD(redact_all), "logs|all"},
    {"redact_as", KEY_TEXT, TIGHTER_SAME, FIELD(redact_as)},
    {"shell.allow", KEY_PATTERNS, TIGHTER_ALLOW, FIELD(allow)},
    {"shell.confirm", KEY_PATTERNS, TIGHTER_CONFIRM, FIELD(confirm)},
    {"shell.default_timeout", KEY_DURATION, TIGHTER_LESS, FIELD(default_timeout_ms)},
    {"shell.deny", KEY_PATTERNS, TIGHTER_MORE, FIELD(deny)},
    {"shell.max_command_length", KEY_COUNT, TIGHTER_SOME, FIELD(max_command_length)},
    {"shell.plain", KEY_BOOL, TIGHTER_TRUE, FIELD(plain)},
    {"shell.scripts", KEY_WORD, TIGHTER_SCRIPTS, FIELD(scripts), "unknown|deny|confirm|allow"},
    {"shell.unblock", KEY_UNBLOCK, TIGHTER_MORE, FIELD(deny)},
    {"shell.unknown", KEY_DECISION, TIGHTER_LESS, FIELD(unknown), "deny|confirm|allow"},
    {"strength", KEY_WORD, TIGHTER_LESS, FIELD(strength), "full|landlock"},
    {"toolchains", KEY_SWITCH, TIGHTER_FALSE, FIELD(toolchains), "off|auto"},
    {"tools", KEY_TOOLS, TIGHTER_SUBSET, FIELD(tools)},
    {"workspace", KEY_SWITCH, TIGHTER_TRUE, FIELD(workspace_read_only), "rw|ro"},
    {0},
};
_Static_assert(sizeof(policy_keys) / sizeof(policy_keys[0]) <= POLICY_KEYS_MAX,
               "origins have room for every key");

int policy_key_find(const char *path)
{
    for (int i = 0; policy_keys[i].path; i++) {
        if (strcmp(policy_keys[i].path, path) == 0)
            return i;
    }
    return -1;
}

bool policy_key_has_value(const struct policy_key *key)
{
    return key->kind != KEY_NOTE && key->kind != KEY_EXTENDS && key->kind != KEY_UNBLOCK;
}

const char *policy_layer_name(enum policy_layer layer)
{
    static const char *const names[] = {
        [LAYER_BUILTIN] = "builtin", [LAYER_SYSTEM] = "system", [LAYER_USER] = "user",
        [LAYER_PROJECT] = "project", [LAYER_AGENT] = "agent",   [LAYER_CALL] = "call",
    };
    return names[layer];
}

static void write_choice(const struct policy_key *key, size_t number, struct json *out)
{
    const char *rest = key->choices;
    struct options_piece choice;
    while (options_next_choice(&rest, &choice) && number)
        number--;
    json_bytes(out, choice.text, choice.len);
}

static void write_texts(const struct policy_texts *list, struct json *out)
{
    json_array_begin(out);
    for (size_t i = 0; i < list->count; i++)
        json_text(out, list->items[i].text);
    json_array_end(out);
}

/* Its words, not its text: how many blanks stand between them means nothing. */
static void write_pattern(const struct policy_pattern *pattern, struct json *out)
{
    json_array_begin(out);
    if (pattern->exact)
        json_text(out, "=");
    for (size_t i = 0; i < pattern->count; i++)
        json_text(out, pattern->words[i]);
    if (pattern->rest)
        json_text(out, "*");
    json_array_end(out);
}

void policy_patterns_write(const struct policy_patterns *list, struct json *out)
{
    json_array_begin(out);
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].lifted)
            write_pattern(&list->items[i], out);
    }
    json_array_end(out);
}

static void write_settings(const struct policy_texts *list, struct json *out)
{
    json_object_begin(out);
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->items[i].text;
        size_t len = strcspn(text, "=");
        char name[256];
        snprintf(name, sizeof(name), "%.*s", (int)len, text);
        json_key(out, name);
        json_text(out, text + len + 1);
    }
    json_object_end(out);
}

static void write_tree(const struct yaml_node *node, struct json *out)
{
    if (!node) {
        json_object_begin(out);
        json_object_end(out);
        return;
    }
    if (node->kind == YAML_SCALAR) {
        json_text(out, node->text);
        return;
    }
    (node->kind == YAML_MAP ? json_object_begin : json_array_begin)(out);
    for (const struct yaml_node *child = node->first; child; child = child->next) {
        if (child->key)
            json_key(out, child->key->text);
        write_tree(child, out);
    }
    (node->kind == YAML_MAP ? json_object_end : json_array_end)(out);
}

/* All of them or none; their names are sorted in the table. */
static void write_fields(const struct policy_key *key, const char *const *values, struct json *out)
{
    const char *rest = key->choices;
    struct options_piece name;
    if (!values[0]) {
        json_nothing(out);
        return;
    }
    json_object_begin(out);
    for (size_t i = 0; options_next_choice(&rest, &name); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%.*s", (int)name.len, name.text);
        json_key(out, text);
        json_text(out, values[i]);
    }
    json_object_end(out);
}

static void write_network(const struct policy *policy, struct json *out)
{
    if (policy->network != NETWORK_LISTED) {
        json_text(out, policy->network == NETWORK_ON ? "on" : "off");
        return;
    }
    json_object_begin(out);
    json_key(out, "allow");
    write_texts(&policy->hosts, out);
    json_object_end(out);
}

void policy_key_write(const struct policy *policy, const struct policy_key *key, struct json *out)
{
    const void *field = policy_key_field(policy, key);
    switch (key->kind) {
    case KEY_NOTE:
    case KEY_EXTENDS:
    case KEY_UNBLOCK:
        json_nothing(out);
        break;
    case KEY_BOOL:
        json_bool(out, *(const bool *)field);
        break;
    case KEY_SWITCH:
        write_choice(key, *(const bool *)field, out);
        break;
    case KEY_DECISION:
        write_choice(key, *(const enum decision *)field, out);
        break;
    case KEY_WORD:
    case KEY_TEXT:
    case KEY_PUBLIC:
    case KEY_TEMPLATE:
    case KEY_PATH:
        json_text(out, *(const char *const *)field);
        break;
    case KEY_DURATION:
    case KEY_SIZE:
    case KEY_COUNT:
        json_unsigned(out, *(const uint64_t *)field);
        break;
    case KEY_PATTERNS:
        policy_patterns_write(field, out);
        break;
    case KEY_PATHS:
    case KEY_NAMES:
    case KEY_TOOLS:
    case KEY_SENDS:
    case KEY_ARGV:
        write_texts(field, out);
        break;
    case KEY_SETTINGS:
        write_settings(field, out);
        break;
    case KEY_NETWORK:
        write_network(policy, out);
        break;
    case KEY_FIELDS:
        write_fields(key, field, out);
        break;
    case KEY_LANGUAGES:
        policy_write_languages(field, out);
        break;
    case KEY_TREE:
        write_tree(*(const struct yaml_node *const *)field, out);
        break;
    }
}
