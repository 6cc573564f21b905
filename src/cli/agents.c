/* nacre agents: the agents that can be named. */
#include <string.h>

#include "base/escape.h"
#include "cli/cli.h"
#include "cli/policy_options.h"
#include "policy/keys.h"

enum { TEXT_MAX = 16 << 20 };

struct agents_options {
    struct policy_options policy;
    bool json;
};

static const struct option agents_options[] = {
    POLICY_WORKSPACE_OPTION(struct agents_options),
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON array",
     .offset = offsetof(struct agents_options, json)},
    {0},
};

static void print_text(const struct policy_agent *agents, size_t count)
{
    struct buf text, out;
    buf_init(&text, &allocator_libc, TEXT_MAX);
    buf_init(&out, &allocator_libc, TEXT_MAX);
    for (size_t i = 0; i < count; i++) {
        const char *note = agents[i].description ? agents[i].description : "";
        buf_append_format(&text, "%-16s %-8s ", agents[i].name,
                          agents[i].preset ? "preset" : policy_layer_name(agents[i].layer));
        while (*note) {
            size_t len = strcspn(note, "\n");
            buf_append(&text, note, len);
            note += len;
            if (*note++ == '\0')
                break;
            buf_append_byte(&text, ' ');
        }
        buf_append_byte(&text, '\n');
    }
    struct escape e = {.ascii_only = !cli_terminal_is_utf8()};
    escape_append(&e, text.data, text.len, &out);
    escape_finish(&e, &out);
    if (text.failed && !out.failed)
        out.failed = text.failed;
    buf_release(&text);
    cli_print_buf(&out);
}

static void print_json(const struct policy_agent *agents, size_t count)
{
    struct json json, *j = &json;
    json_init(j, cli_print_json, NULL);
    json_array_begin(j);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(j);
        json_key(j, "name");
        json_text(j, agents[i].name);
        json_key(j, "layer");
        json_text(j, policy_layer_name(agents[i].layer));
        json_key(j, "preset");
        json_bool(j, agents[i].preset);
        json_key(j, "file");
        json_text(j, agents[i].layer == LAYER_BUILTIN ? NULL : agents[i].file);
        json_key(j, "description");
        json_text(j, agents[i].description);
        json_object_end(j);
    }
    json_array_end(j);
    json_finish(j);
    cli_print("\n", 1);
}

static int use_agents(struct arena *arena, const struct policy_request *request,
                      const struct policy *policy, const void *user)
{
    const struct agents_options *wanted = user;
    struct policy_agent *agents = NULL;
    size_t count = 0;
    struct err e = {0};
    (void)policy;
    if (policy_agents(arena, request, &agents, &count, &e) < 0) {
        cli_complain("agents: %s", e.message);
        return EXIT_WRONG_CALL;
    }
    (wanted->json ? print_json : print_text)(agents, count);
    return cli_finish(EXIT_YES, EXIT_NO);
}

static int agents_run(const void *options, const struct options_parsed *words)
{
    const struct agents_options *wanted = options;
    if (words->count) {
        cli_complain("agents: takes no operands");
        return EXIT_WRONG_CALL;
    }
    return policy_with(&wanted->policy, "agents", use_agents, wanted);
}

const struct command command_agents = {
    .name = "agents",
    .summary = "the agents that --agent can name",
    .synopsis = "",
    .description = "Lists the agents and presets that come with nacre and the agents of the "
                   "system, the user and the project. `nacre policy show --agent NAME` shows what "
                   "one may do. A preset is made to be extended by a configuration (`extends: "
                   "NAME`), for all agents.",
    .options = agents_options,
    .options_size = sizeof(struct agents_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = agents_run,
};
