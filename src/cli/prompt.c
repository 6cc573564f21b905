/* nacre prompt, nacre tools: what tells a model of the shell. */
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/decide.h"
#include "serve/prompt.h"

enum { ARENA_MAX = 64 << 20, TEXT_MAX = 1 << 20 };

struct prompt_options {
    struct place_options place;
    struct policy_options policy;
    struct policy_call_options call;
    const char *session, *form;
    bool json;
};

static const struct option prompt_options[] = {
    PLACE_OPTIONS(struct prompt_options),
    POLICY_OPTIONS(struct prompt_options),
    POLICY_CALL_OPTIONS(struct prompt_options),
    {.name = "session",
     .letter = 's',
     .kind = OPTION_TEXT,
     .value_name = "NAME",
     .help = "commands will run in this session",
     .offset = offsetof(struct prompt_options, session)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object with the text as `prompt`",
     .offset = offsetof(struct prompt_options, json)},
    {0},
};

static const struct option tools_options[] = {
    {.name = "for",
     .kind = OPTION_CHOICE,
     .choices = "mcp|openai|anthropic",
     .help = "in the form that these give to a model (default mcp)",
     .offset = offsetof(struct prompt_options, form)},
    PLACE_OPTIONS(struct prompt_options),
    POLICY_OPTIONS(struct prompt_options),
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "is what it always prints",
     .offset = offsetof(struct prompt_options, json)},
    {0},
};

static void print_prompt(const struct prompt_options *wanted, const struct setting *setting)
{
    struct buf text;
    buf_init(&text, &allocator_libc, TEXT_MAX);
    prompt_append(setting, wanted->session, &text);
    if (!wanted->json) {
        cli_print_buf(&text);
        return;
    }
    struct json j;
    json_init(&j, cli_print_json, NULL);
    json_object_begin(&j);
    json_key(&j, "prompt");
    json_bytes(&j, text.data, text.len);
    json_key(&j, "mandate_hash");
    json_text(&j, setting->decider.policy->hash);
    json_object_end(&j);
    cli_print("\n", 1);
    buf_release(&text);
}

static void print_tools(const struct prompt_options *wanted, const struct setting *setting)
{
    struct json j;
    enum prompt_form form = PROMPT_MCP;
    if (wanted->form && strcmp(wanted->form, "openai") == 0)
        form = PROMPT_OPENAI;
    else if (wanted->form && strcmp(wanted->form, "anthropic") == 0)
        form = PROMPT_ANTHROPIC;
    json_init(&j, cli_print_json, NULL);
    prompt_write_tools(setting->decider.policy, form, &j);
    cli_print("\n", 1);
}

static int tell(const char *command, const struct prompt_options *wanted,
                const struct options_parsed *words,
                void (*print)(const struct prompt_options *wanted, const struct setting *setting))
{
    struct arena arena;
    struct setting setting;
    struct err e = {0};
    if (words->count) {
        cli_complain("%s: takes no operands", command);
        return EXIT_WRONG_CALL;
    }
    if (wanted->session && !session_is_name(wanted->session)) {
        cli_complain("%s: '%s' is no name of a session", command, wanted->session);
        return EXIT_WRONG_CALL;
    }
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    int status = EXIT_WRONG_CALL;
    if (decide_open(&arena, &wanted->place, &wanted->policy, &wanted->call, &setting, &e) < 0) {
        cli_complain("%s: %s", command, e.message);
    } else {
        print(wanted, &setting);
        status = cli_finish(EXIT_YES, EXIT_NO);
    }
    arena_release(&arena);
    return status;
}

static int prompt_run(const void *options, const struct options_parsed *words)
{
    return tell("prompt", options, words, print_prompt);
}

static int tools_run(const void *options, const struct options_parsed *words)
{
    return tell("tools", options, words, print_tools);
}

const struct command command_prompt = {
    .name = "prompt",
    .summary = "what a model is told that the shell can do here",
    .synopsis = "",
    .description =
        "Prints a text for a model's instructions, made of the effective policy: whether each "
        "command starts afresh, what is writable, the network, which commands run, the limits of "
        "time, length and output. A preset may have a form of its own for it.\n"
        "\n"
        "    nacre prompt --agent writer\n"
        "\n"
        "Exit status: 0; 2 for a wrong call or a configuration that does not load.",
    .options = prompt_options,
    .options_size = sizeof(struct prompt_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = prompt_run,
};

const struct command command_tools = {
    .name = "tools",
    .summary = "the tools of the shell as schemas for a model",
    .synopsis = "",
    .description =
        "Prints the tools that the policy gives this agent, as a JSON array: as `tools/list` of "
        "the MCP server has them, or in the form of the `tools` of OpenAI's or Anthropic's "
        "interface. They come from the tables that `nacre serve --mcp` answers by.\n"
        "\n"
        "    nacre tools --for openai --agent coder\n"
        "\n"
        "Exit status: 0; 2 for a wrong call or a configuration that does not load.",
    .options = tools_options,
    .options_size = sizeof(struct prompt_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = tools_run,
};
