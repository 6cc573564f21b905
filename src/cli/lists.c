/* nacre allowlist, nacre blocklist: the effective lists, with where each entry comes from. */
#include <string.h>

#include "base/escape.h"
#include "cli/cli.h"
#include "cli/policy_options.h"

enum { TEXT_MAX = 16 << 20 };

struct lists_options {
    struct policy_options policy;
    bool json;
};

static const struct option lists_options[] = {
    POLICY_OPTIONS(struct lists_options),
    POLICY_WORKSPACE_OPTION(struct lists_options),
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON array",
     .offset = offsetof(struct lists_options, json)},
    {0},
};

static void append_safe(struct buf *out, const struct buf *text)
{
    struct escape e = {.ascii_only = !cli_terminal_is_utf8()};
    escape_append(&e, text->data, text->len, out);
    escape_finish(&e, out);
}

static size_t widest(const struct policy_patterns *list)
{
    size_t width = 0;
    for (size_t i = 0; i < list->count; i++) {
        size_t len = strlen(list->items[i].text);
        if (len > width && len < 40)
            width = len;
    }
    return width;
}

static void print_text(const struct policy_patterns *list)
{
    struct buf text, out;
    buf_init(&text, &allocator_libc, TEXT_MAX);
    buf_init(&out, &allocator_libc, TEXT_MAX);
    int width = (int)widest(list);
    for (size_t i = 0; i < list->count; i++) {
        const struct policy_pattern *p = &list->items[i];
        buf_append_format(&text, "%-*s  ", width, p->text);
        policy_append_origin(&p->origin, &text);
        buf_append_text(&text, p->lifted ? "  (lifted)\n" : "\n");
    }
    append_safe(&out, &text);
    if (text.failed && !out.failed)
        out.failed = text.failed;
    buf_release(&text);
    cli_print_buf(&out);
}

static void print_json(const struct policy_patterns *list)
{
    struct json json, *j = &json;
    json_init(j, cli_print_json, NULL);
    json_array_begin(j);
    for (size_t i = 0; i < list->count; i++) {
        json_object_begin(j);
        json_key(j, "pattern");
        json_text(j, list->items[i].text);
        json_key(j, "lifted");
        json_bool(j, list->items[i].lifted);
        json_key(j, "origin");
        policy_write_origin(&list->items[i].origin, j);
        json_object_end(j);
    }
    json_array_end(j);
    json_finish(j);
    cli_print("\n", 1);
}

static int print_list(const struct lists_options *wanted, const struct policy_patterns *list)
{
    (wanted->json ? print_json : print_text)(list);
    return cli_finish(EXIT_YES, EXIT_NO);
}

static int use_allow(struct arena *arena, const struct policy_request *request,
                     const struct policy *policy, const void *user)
{
    (void)arena;
    (void)request;
    return print_list(user, &policy->allow);
}

static int use_deny(struct arena *arena, const struct policy_request *request,
                    const struct policy *policy, const void *user)
{
    (void)arena;
    (void)request;
    return print_list(user, &policy->deny);
}

static int lists_run(const char *command, policy_user *use, const void *options,
                     const struct options_parsed *words)
{
    const struct lists_options *wanted = options;
    if (words->count) {
        cli_complain("%s: takes no operands", command);
        return EXIT_WRONG_CALL;
    }
    return policy_with(&wanted->policy, command, use, wanted);
}

static int allowlist_run(const void *options, const struct options_parsed *words)
{
    return lists_run("allowlist", use_allow, options, words);
}

static int blocklist_run(const void *options, const struct options_parsed *words)
{
    return lists_run("blocklist", use_deny, options, words);
}

const struct command command_allowlist = {
    .name = "allowlist",
    .summary = "the commands that are allowed, with where each entry comes from",
    .synopsis = "",
    .description = "Prints the patterns that the policy allows. What is on neither list is decided "
                   "by `shell.unknown`; `nacre policy show` has it.",
    .options = lists_options,
    .options_size = sizeof(struct lists_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = allowlist_run,
};

const struct command command_blocklist = {
    .name = "blocklist",
    .summary = "the commands that are denied, with where each entry comes from",
    .synopsis = "",
    .description = "Prints the patterns that the policy denies, in every profile. An entry of the "
                   "built-in list that the configuration lifts with `unblock` is marked as lifted.",
    .options = lists_options,
    .options_size = sizeof(struct lists_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = blocklist_run,
};
