/* nacre policy show|check|hash: the configuration, explained and validated. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/policy_options.h"
#include "policy/keys.h"

enum { TEXT_MAX = 32 << 20, NAME_WIDTH = 24 };

struct policy_command_options {
    struct policy_options policy;
    bool json;
};

static const struct option policy_command_options[] = {
    POLICY_OPTIONS(struct policy_command_options),
    POLICY_WORKSPACE_OPTION(struct policy_command_options),
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object",
     .offset = offsetof(struct policy_command_options, json)},
    {0},
};

/* --- show ------------------------------------------------------------------------------------- */

static const struct policy_origin *key_origin(const struct policy *policy,
                                              const struct policy_key *key)
{
    return &policy->origins[key - policy_keys];
}

static void append_line(struct buf *out, const char *text, const struct policy_origin *origin,
                        bool lifted)
{
    buf_append_format(out, "  %-*s  ", NAME_WIDTH + 8, text);
    policy_append_origin(origin, out);
    buf_append_text(out, lifted ? "  (lifted)\n" : "\n");
}

static void append_patterns(const struct policy_patterns *list, struct buf *out)
{
    for (size_t i = 0; i < list->count; i++)
        append_line(out, list->items[i].text, &list->items[i].origin, list->items[i].lifted);
}

static void append_texts(const struct policy_texts *list, struct buf *out)
{
    for (size_t i = 0; i < list->count; i++)
        append_line(out, list->items[i].text, &list->items[i].origin, false);
}

/* A value that is not a list, as its JSON or in units. */
static void append_value(const struct policy *policy, const struct policy_key *key, struct buf *out)
{
    char number[UNITS_TEXT];
    struct json j;
    const void *field = policy_key_field(policy, key);
    if (key->kind == KEY_DURATION) {
        units_format_duration(*(const uint64_t *)field, number);
        buf_append_text(out, number);
    } else if (key->kind == KEY_SIZE) {
        units_format_size(*(const uint64_t *)field, number);
        buf_append_text(out, number);
    } else if (key->rule == TIGHTER_SOME && *(const uint64_t *)field == 0) {
        buf_append_text(out, "none");
    } else {
        json_init_buf(&j, out);
        policy_key_write(policy, key, &j);
    }
}

static void append_key(const struct policy *policy, const struct policy_key *key, struct buf *out)
{
    const void *field = policy_key_field(policy, key);
    switch (key->kind) {
    case KEY_PATTERNS:
        buf_append_format(out, "%s\n", key->path);
        append_patterns(field, out);
        return;
    case KEY_PATHS:
    case KEY_NAMES:
    case KEY_SETTINGS:
    case KEY_TOOLS:
        buf_append_format(out, "%s\n", key->path);
        append_texts(field, out);
        return;
    default:
        break;
    }
    struct buf value;
    buf_init(&value, &allocator_libc, TEXT_MAX);
    append_value(policy, key, &value);
    const char *text = value.data;
    size_t len = value.len;
    if (len > 1 && text[0] == '"') { /* one word needs no quotes here */
        text++;
        len -= 2;
    }
    buf_append_format(out, "%-*s  %-*.*s  ", NAME_WIDTH, key->path, 8, (int)len, text);
    if (key_origin(policy, key)->file || key_origin(policy, key)->layer == LAYER_CALL)
        policy_append_origin(key_origin(policy, key), out);
    else
        buf_append_text(out, "default");
    buf_append_byte(out, '\n');
    if (value.failed && !out->failed)
        out->failed = value.failed;
    buf_release(&value);
}

static void print_text(const struct policy *policy)
{
    struct buf text, out;
    buf_init(&text, &allocator_libc, TEXT_MAX);
    buf_init(&out, &allocator_libc, TEXT_MAX);
    buf_append_format(&text,
                      "profile       %s%s\npreset        %s\nagent         %s\nmandate       %s\n"
                      "mandate_hash  %s\n\n",
                      policy->profile, policy->refused ? " (nothing runs)" : "",
                      policy->preset ? policy->preset : "none",
                      policy->agent ? policy->agent : "none",
                      policy->mandate ? "shell.allow is the whole list" : "no", policy->hash);
    for (const struct policy_key *key = policy_keys; key->path; key++) {
        if (policy_key_has_value(key))
            append_key(policy, key, &text);
    }
    if (policy->commands.count) {
        buf_append_text(&text, "commands\n");
        append_texts(&policy->commands, &text);
    }
    struct escape e = {.ascii_only = !cli_terminal_is_utf8()};
    escape_append(&e, text.data, text.len, &out);
    escape_finish(&e, &out);
    if (text.failed && !out.failed)
        out.failed = text.failed;
    buf_release(&text);
    cli_print_buf(&out);
}

static void write_entry(const char *text, const struct policy_origin *origin, bool lifted,
                        struct json *j)
{
    json_object_begin(j);
    json_key(j, "text");
    json_text(j, text);
    if (lifted) {
        json_key(j, "lifted");
        json_bool(j, true);
    }
    json_key(j, "origin");
    policy_write_origin(origin, j);
    json_object_end(j);
}

static void write_origins(const struct policy *policy, const struct policy_key *key, struct json *j)
{
    const void *field = policy_key_field(policy, key);
    const struct policy_patterns *patterns = field;
    const struct policy_texts *texts = field;
    switch (key->kind) {
    case KEY_PATTERNS:
        json_array_begin(j);
        for (size_t i = 0; i < patterns->count; i++)
            write_entry(patterns->items[i].text, &patterns->items[i].origin,
                        patterns->items[i].lifted, j);
        json_array_end(j);
        break;
    case KEY_PATHS:
    case KEY_NAMES:
    case KEY_SETTINGS:
    case KEY_TOOLS:
        json_array_begin(j);
        for (size_t i = 0; i < texts->count; i++)
            write_entry(texts->items[i].text, &texts->items[i].origin, false, j);
        json_array_end(j);
        break;
    default:
        if (key_origin(policy, key)->file)
            policy_write_origin(key_origin(policy, key), j);
        else
            json_nothing(j);
        break;
    }
}

static void print_json(const struct policy *policy)
{
    struct json json, *j = &json;
    json_init(j, cli_print_json, NULL);
    json_object_begin(j);
    json_key(j, "mandate_hash");
    json_text(j, policy->hash);
    json_key(j, "policy");
    policy_write_canonical(policy, j);
    json_key(j, "origins");
    json_object_begin(j);
    for (const struct policy_key *key = policy_keys; key->path; key++) {
        if (!policy_key_has_value(key))
            continue;
        json_key(j, key->path);
        write_origins(policy, key, j);
    }
    json_object_end(j);
    json_key(j, "warnings");
    json_array_begin(j);
    for (size_t i = 0; i < policy->warnings.count; i++)
        json_text(j, policy->warnings.items[i].text);
    json_array_end(j);
    json_object_end(j);
    json_finish(j);
    cli_print("\n", 1);
}

static int use_show(struct arena *arena, const struct policy_request *request,
                    const struct policy *policy, const void *user)
{
    const struct policy_command_options *wanted = user;
    (void)arena;
    (void)request;
    (wanted->json ? print_json : print_text)(policy);
    return cli_finish(EXIT_YES, EXIT_NO);
}

/* --- hash, check ------------------------------------------------------------------------------ */

static int use_hash(struct arena *arena, const struct policy_request *request,
                    const struct policy *policy, const void *user)
{
    const struct policy_command_options *wanted = user;
    (void)arena;
    (void)request;
    if (wanted->json) {
        struct json j;
        json_init(&j, cli_print_json, NULL);
        json_object_begin(&j);
        json_key(&j, "mandate_hash");
        json_text(&j, policy->hash);
        json_object_end(&j);
    } else {
        cli_print(policy->hash, strlen(policy->hash));
    }
    cli_print("\n", 1);
    return cli_finish(EXIT_YES, EXIT_NO);
}

/* Every agent, besides what has been loaded already. */
static int use_check(struct arena *arena, const struct policy_request *request,
                     const struct policy *policy, const void *user)
{
    struct policy_agent *agents = NULL;
    size_t count = 0;
    struct err e = {0};
    const struct policy_command_options *wanted = user;
    (void)policy;
    int r = policy_agents(arena, request, &agents, &count, &e);
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct policy_request one = *request;
        const struct policy *ignored;
        one.agent = agents[i].name;
        r = policy_load(arena, &one, &ignored, &e);
    }
    if (r < 0) {
        cli_complain("policy: %s", e.message);
        return EXIT_WRONG_CALL;
    }
    if (wanted->json) {
        static const char good[] = "{\"ok\":true}\n";
        cli_print(good, sizeof(good) - 1);
    }
    return cli_finish(EXIT_YES, EXIT_NO);
}

/* A file that a project has for itself is checked in its own place: the project is the workspace.
 */
static bool find_project(const char *file, char ret_workspace[static PATH_MAX])
{
    char *inside = realpath(file, ret_workspace) ? strstr(ret_workspace, "/.nacre/") : NULL;
    if (!inside)
        return false;
    *inside = '\0';
    return true;
}

static int policy_run(const void *options, const struct options_parsed *words)
{
    struct policy_command_options wanted;
    memcpy(&wanted, options, sizeof(wanted));
    char project[PATH_MAX];
    const char *what = words->count ? words->operands[0] : NULL;
    static const struct {
        const char *name;
        int operands;
        policy_user *use;
    } actions[] = {{"show", 1, use_show}, {"check", 2, use_check}, {"hash", 1, use_hash}};
    size_t i = 0, count = sizeof(actions) / sizeof(actions[0]);
    while (what && i < count && strcmp(actions[i].name, what) != 0)
        i++;
    if (!what || i == count || words->count > actions[i].operands) {
        cli_complain("policy: what to do must be one of show, check [FILE], hash");
        return EXIT_WRONG_CALL;
    }
    if (words->count == 2) {
        if (wanted.policy.config) {
            cli_complain("policy: check takes a FILE or --config, not both");
            return EXIT_WRONG_CALL;
        }
        if (find_project(words->operands[1], project))
            wanted.policy.workspace = project;
        else
            wanted.policy.config = words->operands[1];
    }
    return policy_with(&wanted.policy, "policy", actions[i].use, &wanted);
}

const struct command command_policy = {
    .name = "policy",
    .summary = "the configuration, explained and validated",
    .synopsis = "show | check [FILE] | hash",
    .description =
        "`show` prints the effective policy, with the file, line and column that each value comes "
        "from. `check` validates everything that would be loaded, every agent included, or FILE as "
        "if it were the user's configuration. `hash` prints the mandate_hash: the SHA-256 of the "
        "canonical policy, which `show --json` has as `policy`.\n"
        "\n"
        "Exit status: 0; 2 for a configuration that does not load.",
    .options = policy_command_options,
    .options_size = sizeof(struct policy_command_options),
    .operand_choices = "show|check|hash",
    .wrong_call = EXIT_WRONG_CALL,
    .run = policy_run,
};
