/* nacre plan: the sandbox of a text as data; nothing runs. */
#include "cli/cli.h"
#include "cli/decide.h"
#include "cli/form.h"
#include "cli/script.h"
#include "cli/text.h"

enum { TABLE_MAX = 32 << 20, READING_MAX = 64 << 20 };

struct plan_options {
    struct place_options place;
    struct policy_options policy;
    struct policy_call_options call;
    const char *language;
    bool json;
    const char *format;
};

static const struct option plan_options[] = {
    PLACE_OPTIONS(struct plan_options),
    POLICY_OPTIONS(struct plan_options),
    POLICY_CALL_OPTIONS(struct plan_options),
    SCRIPT_LANGUAGE_OPTION(struct plan_options, language),
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print the steps as one JSON array",
     .offset = offsetof(struct plan_options, json)},
    FORM_OPTION(struct plan_options),
    {0},
};

/* One line a step: its kind, its path, its other fields by name. */
static void append_table(const struct plan *plan, struct buf *out)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_step *step = &plan->steps[i];
        const struct plan_kind_info *info = &plan_kinds[step->kind];
        buf_append_format(out, "%-9s", info->name);
        if (info->has_path) {
            buf_append_byte(out, ' ');
            json_append_text(out, step->path);
        }
        if (info->text) {
            buf_append_format(out, " %s=", info->text);
            json_append_text(out, step->text);
        }
        for (size_t k = 0; k < 2; k++) {
            if (info->number[k] && (step->kind != PLAN_BIND || step->number[k]))
                buf_append_format(out, info->octal ? " %s=%llo" : " %s=%llu", info->number[k],
                                  (unsigned long long)step->number[k]);
        }
        plan_append_flags(step, out);
        buf_append_byte(out, '\n');
    }
}

static void print_plan(const struct nacre *n, const struct setting *setting,
                       const struct plan *plan, const void *user)
{
    const struct plan_options *wanted = user;
    (void)n;
    (void)setting;
    enum format form = form_of(wanted->json, wanted->format);
    if (form == FORMAT_JSON) {
        struct json j;
        json_init(&j, cli_print_json, NULL);
        plan_write_json(plan, &j);
        cli_print("\n", 1);
    } else {
        struct buf table;
        buf_init(&table, &allocator_libc, TABLE_MAX);
        append_table(plan, &table);
        if (form != FORMAT_TEXT) {
            form_print_plan(&table, form);
            buf_release(&table);
        } else {
            cli_print_buf(&table);
        }
    }
}

static int plan_run(const void *options, const struct options_parsed *words)
{
    const struct plan_options *wanted = options;
    struct err e;
    struct buf text;
    bool from_stdin;
    buf_init(&text, &allocator_libc, TEXT_BUF_MAX);
    int status = EXIT_WRONG_CALL;
    struct reading reading;
    nacre_run_options run_options = place_run_options(&wanted->place);
    struct arena arena;
    arena_init(&arena, &allocator_libc, READING_MAX);
    struct run_subject subject = {.command = "plan"};
    if ((wanted->language ? script_from_words(words, wanted->language, &text, &subject, &e)
                          : text_from_words(words, &text, &from_stdin, &e)) < 0 ||
        decide_run_options(&arena, &wanted->policy, &wanted->call, &run_options, &e) < 0) {
        cli_complain("plan: %s", e.message);
    } else if (wanted->language) {
        run_options.language = subject.language;
        run_options.script_args = subject.args;
        status =
            place_with_plan(&run_options, subject.bytes, subject.len, "plan", print_plan, wanted);
    } else if (engine_read(&arena, text.data, text.len, &reading, &e) < 0) {
        cli_complain("plan: %s", e.message);
        text_show_refusal(text.data, text.len);
    } else {
        status = place_with_plan(&run_options, reading.canonical, 0, "plan", print_plan, wanted);
    }
    arena_release(&arena);
    buf_release(&text);
    return status;
}

const struct command command_plan = {
    .name = "plan",
    .summary = "print the sandbox of a text as data; runs nothing",
    .synopsis = "'TEXT' | -- ARGV... | - | --lang LANGUAGE FILE",
    .description = "Prints every namespace, mount, limit, variable and descriptor with which "
                   "`nacre run` would run TEXT, in the order in which they are set up.",
    .options = plan_options,
    .options_size = sizeof(struct plan_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = plan_run,
};
