/* nacre test: the verdict on a text; nothing runs. */
#include <stdlib.h>
#include <string.h>

#include "cli/batch.h"
#include "cli/cli.h"
#include "cli/decide.h"
#include "cli/form.h"
#include "cli/script.h"
#include "cli/text.h"
#include "cli/verdict_show.h"

enum { POLICY_MAX = 64 << 20, JUDGEMENT_MAX = 1 << 30 };

struct test_options {
    struct place_options place;
    struct policy_options policy;
    struct policy_call_options call;
    const char *language;
    bool json;
    bool batch;
    const char *format;
};

static const struct option test_options[] = {
    PLACE_OPTIONS(struct test_options),
    POLICY_OPTIONS(struct test_options),
    POLICY_CALL_OPTIONS(struct test_options),
    SCRIPT_LANGUAGE_OPTION(struct test_options, language),
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print decision, reasons, acts and mandate_hash as one line of JSON",
     .offset = offsetof(struct test_options, json)},
    {.name = "batch",
     .kind = OPTION_FLAG,
     .help = "read one JSON string a line, answer each with one line of JSON",
     .offset = offsetof(struct test_options, batch)},
    FORM_OPTION(struct test_options),
    {0},
};

static const int exit_codes[] = {
    [DECISION_DENY] = EXIT_NO, [DECISION_CONFIRM] = EXIT_CONFIRM, [DECISION_ALLOW] = EXIT_YES};

static void print_json(const struct verdict *verdict)
{
    struct json j;
    json_init(&j, cli_print_json, NULL);
    verdict_write_json(verdict, &j);
    cli_print("\n", 1);
}

/* One text; its decision. */
static enum decision answer(const struct decider *d, const struct script *script, const char *text,
                            size_t len, enum format form)
{
    struct arena arena;
    struct verdict verdict = {0};
    const struct shell_tree *tree;
    struct err e;
    arena_init(&arena, &allocator_libc, JUDGEMENT_MAX);
    int r = script ? script_decide(d, &arena, script, NULL, &verdict, &tree, &e)
                   : engine_decide(d, &arena, text, len, NULL, &verdict, &tree, &e);
    if (r < 0) {
        cli_complain("test: %s", e.message);
        verdict = (struct verdict){.rule = "error", .mandate_hash = d->policy->hash};
    }
    if (form == FORMAT_JSON) {
        print_json(&verdict);
    } else if (form != FORMAT_TEXT) {
        form_print_verdict(&verdict, text, len, form);
    } else {
        struct buf shown;
        buf_init(&shown, &allocator_libc, SHOWN_VERDICT_MAX);
        verdict_show(&verdict, text, len, cli_colour(), !cli_terminal_is_utf8(), &shown);
        cli_print_buf(&shown);
    }
    enum decision decision = verdict.decision;
    arena_release(&arena);
    return decision;
}

static void answer_line(void *user, const char *text, size_t len, const char *failure)
{
    const struct decider *d = user;
    if (!failure) {
        answer(d, NULL, text, len, FORMAT_JSON);
        return;
    }
    struct verdict_reason reason = {.rule = "parse", .reason = failure};
    struct verdict verdict = {
        .rule = "parse", .reasons = &reason, .reason_count = 1, .mandate_hash = d->policy->hash};
    print_json(&verdict);
}

static int test_texts(const struct decider *d, const struct test_options *wanted,
                      const struct options_parsed *words)
{
    struct err e;
    if (wanted->batch) {
        if (words->count) {
            cli_complain("test: --batch reads standard input and takes no text");
            return EXIT_WRONG_CALL;
        }
        if (batch_each(answer_line, (void *)d, &e) < 0) {
            cli_complain("test: %s", e.message);
            return EXIT_WRONG_CALL;
        }
        return cli_finish(EXIT_YES, EXIT_WRONG_CALL);
    }
    struct buf text;
    bool from_stdin;
    buf_init(&text, &allocator_libc, TEXT_BUF_MAX);
    int status = EXIT_WRONG_CALL;
    if (text_from_words(words, &text, &from_stdin, &e) < 0)
        cli_complain("test: %s", e.message);
    else
        status = cli_finish(
            exit_codes[answer(d, NULL, text.data, text.len, form_of(wanted->json, wanted->format))],
            EXIT_WRONG_CALL);
    buf_release(&text);
    return status;
}

static int test_script(struct arena *arena, const struct setting *s,
                       const struct test_options *wanted, const struct options_parsed *words)
{
    struct run_subject subject = {.command = "test"};
    struct script script = {0};
    struct buf bytes;
    struct err e;
    buf_init(&bytes, &allocator_libc, TEXT_BUF_MAX);
    int status = EXIT_WRONG_CALL;
    int r = script_from_words(words, wanted->language, &bytes, &subject, &e);
    if (r == 0) {
        const nacre_run_options o = {.language = subject.language, .script_args = subject.args};
        r = script_open(arena, s->decider.policy, s->box.toolchains.path, &o, subject.bytes,
                        subject.len, &script, &e);
    }
    if (r < 0)
        cli_complain("test: %s", e.message);
    else
        status = cli_finish(exit_codes[answer(&s->decider, &script, script.text, script.text_len,
                                              form_of(wanted->json, wanted->format))],
                            EXIT_WRONG_CALL);
    buf_release(&bytes);
    return status;
}

static int test_run(const void *options, const struct options_parsed *words)
{
    const struct test_options *wanted = options;
    struct arena arena;
    struct setting s;
    struct err e;
    arena_init(&arena, &allocator_libc, POLICY_MAX);
    int status = EXIT_WRONG_CALL;
    if (decide_open(&arena, &wanted->place, &wanted->policy, &wanted->call, &s, &e) < 0)
        cli_complain("test: %s", e.message);
    else if (wanted->language)
        status = test_script(&arena, &s, wanted, words);
    else
        status = test_texts(&s.decider, wanted, words);
    arena_release(&arena);
    return status;
}

const struct command command_test = {
    .name = "test",
    .summary = "the verdict on a text, with its reasons; runs nothing",
    .synopsis = "'TEXT' | -- ARGV... | - | --batch | --lang LANGUAGE FILE",
    .description =
        "Judges TEXT by the policy that `nacre run` would use and prints the verdict: ALLOW, "
        "CONFIRM or DENY with the rule that decided, then every reason with its place in the "
        "text. With --json the verdict also has the acts: every command that the text could run, "
        "with its words (null for one that is not known), the wrappers through which it is "
        "reached, its effects and its span.\n"
        "\n"
        "    nacre test 'git log | head'\n"
        "    nacre test --json 'find . -name x -exec rm {} +'\n"
        "    printf '%s\\n' '\"ls\"' '\"sudo ls\"' | nacre test --batch\n"
        "\n"
        "Exit status: 0 ALLOW, 1 DENY, 3 CONFIRM, 2 a wrong call or a configuration that does not "
        "load. With --batch 0 whatever the texts.",
    .options = test_options,
    .options_size = sizeof(struct test_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = test_run,
};
