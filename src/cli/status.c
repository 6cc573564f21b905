/* nacre status: what is enabled here. */
#include "base/json.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/place.h"

enum { TEXT_MAX = 1 << 20 };

struct status_options {
    struct place_options place;
    bool json;
};

static const struct option status_options[] = {
    PLACE_OPTIONS(struct status_options),
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object",
     .offset = offsetof(struct status_options, json)},
    {0},
};

/* The namespaces of the plan: what stands is read off the data that builds it. */
static void each_namespace(const struct plan *plan, void (*call)(void *user, const char *name),
                           void *user)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].kind == PLAN_UNSHARE)
            call(user, plan->steps[i].text);
    }
}

static void append_name(void *user, const char *name)
{
    buf_append_format(user, " %s", name);
}

static void write_name(void *user, const char *name)
{
    json_text(user, name);
}

static void print_text(const struct nacre *n, const struct workspace *w, const struct plan *plan)
{
    char timeout[UNITS_TEXT], timeout_max[UNITS_TEXT], output[UNITS_TEXT];
    units_format_duration(NACRE_TIMEOUT_DEFAULT_MS, timeout);
    units_format_duration(NACRE_TIMEOUT_MAX_MS, timeout_max);
    units_format_size(NACRE_OUTPUT_DEFAULT, output);
    struct buf out;
    buf_init(&out, &allocator_libc, TEXT_MAX);
    buf_append_format(&out, "nacre       %s\nworkspace   ", nacre_version());
    json_append_text(&out, w->root);
    buf_append_text(&out, "\nlauncher    ");
    json_append_text(&out, n->launcher);
    buf_append_text(&out, "\nnamespaces ");
    each_namespace(plan, append_name, &out);
    buf_append_format(&out,
                      "\nnetwork     off (loopback of its own)\ntime limit  %s, at most %s\n"
                      "output      %s of each stream\n",
                      timeout, timeout_max, output);
    cli_print_buf(&out);
}

static void print_json(const struct nacre *n, const struct workspace *w, const struct plan *plan)
{
    struct json json, *j = &json;
    json_init(j, cli_print_json, NULL);
    json_object_begin(j);
    json_key(j, "version");
    json_text(j, nacre_version());
    json_key(j, "workspace");
    json_text(j, w->root);
    json_key(j, "launcher");
    json_text(j, n->launcher);
    json_key(j, "namespaces");
    json_array_begin(j);
    each_namespace(plan, write_name, j);
    json_array_end(j);
    json_key(j, "network");
    json_text(j, "off");
    json_key(j, "limits");
    json_object_begin(j);
    json_key(j, "timeout_ms");
    json_unsigned(j, NACRE_TIMEOUT_DEFAULT_MS);
    json_key(j, "timeout_max_ms");
    json_unsigned(j, NACRE_TIMEOUT_MAX_MS);
    json_key(j, "output_bytes");
    json_unsigned(j, NACRE_OUTPUT_DEFAULT);
    json_object_end(j);
    json_object_end(j);
    json_finish(j);
    cli_print("\n", 1);
}

static void print_status(const struct nacre *n, const struct workspace *workspace,
                         const struct plan *plan, const void *user)
{
    const struct status_options *wanted = user;
    (wanted->json ? print_json : print_text)(n, workspace, plan);
}

static int status_run(const void *options, const struct options_parsed *words)
{
    const struct status_options *wanted = options;
    if (words->count) {
        cli_complain("status: takes no operands");
        return EXIT_WRONG_CALL;
    }
    return place_with_plan(&wanted->place, "", "status", print_status, wanted);
}

const struct command command_status = {
    .name = "status",
    .summary = "what is enabled here: workspace, walls, limits",
    .synopsis = "",
    .description = "Prints what a run in this directory would get. `nacre doctor` tells what this "
                   "machine could enforce.",
    .options = status_options,
    .options_size = sizeof(struct status_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = status_run,
};
