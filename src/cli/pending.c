/* nacre pending: the questions that are open. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/kept.h"
#include "cli/owner.h"
#include "cli/pager.h"
#include "cli/question_show.h"

enum { HEAD_COLUMNS = 60 };

struct pending_options {
    bool json;
    const char *state_dir;
};

static const struct option pending_options[] = {
    {.name = "state-dir",
     .kind = OPTION_TEXT,
     .value_name = "DIR",
     .completes = COMPLETES_DIRECTORY,
     .help = "the questions of another user, in that user's state directory (for root)",
     .offset = offsetof(struct pending_options, state_dir)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print a JSON array, or one question in full",
     .offset = offsetof(struct pending_options, json)},
    {0},
};

/* Changes that are no longer held need no answer. */
static bool is_open(struct arena *arena, const char *state, const struct question *q)
{
    struct transaction t = TRANSACTION_NONE;
    if (q->kind != QUESTION_CHANGES)
        return true;
    bool held =
        transaction_open(arena, state, q->id, &t, NULL) == 0 && t.journal.state == JOURNAL_HELD;
    transaction_close(&t);
    if (!held)
        approve_withdraw(state, q->id);
    return held;
}

static void append_row(const struct question *q, struct buf *out)
{
    char left[UNITS_TEXT] = "";
    int64_t now = clock_utc_ms();
    if (q->expires_ms > now)
        units_format_duration((uint64_t)(q->expires_ms - now) / 1000 * 1000 + 1000, left);
    buf_append_format(out, "%.8s  %-7s  %-8s  ", q->id,
                      q->kind == QUESTION_CHANGES ? "changes" : "run",
                      q->expires_ms ? left : "held");
    cli_append_escaped(out, q->agent ? q->agent : "-", 64);
    buf_append_text(out, "  ");
    question_show_head(q, HEAD_COLUMNS, !cli_terminal_is_utf8(), out);
    buf_append_byte(out, '\n');
}

static int list(struct arena *arena, const char *state, bool json)
{
    struct question *items;
    size_t count, bad, shown = 0;
    struct err e = {0};
    struct buf out;
    int r = approve_list(arena, state, &items, &count, &bad, &e);
    if (r < 0) {
        cli_complain("pending: %s", e.message);
        return EXIT_NO;
    }
    buf_init(&out, &allocator_libc, SHOWN_QUESTION_MAX);
    if (json)
        buf_append_byte(&out, '[');
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (!is_open(arena, state, &items[i]))
            continue;
        if (json && shown)
            buf_append_byte(&out, ',');
        shown++;
        if (json)
            r = question_write_public(&items[i], &out, &e);
        else
            append_row(&items[i], &out);
    }
    if (json)
        buf_append_text(&out, "]\n");
    if (r < 0) {
        cli_complain("pending: %s", e.message);
        buf_release(&out);
        return EXIT_NO;
    }
    cli_print_buf(&out);
    if (bad)
        cli_warn("%zu question%s cannot be read", bad, bad == 1 ? "" : "s");
    return EXIT_YES;
}

static int show_one(struct arena *arena, const char *state, const char *id, bool json)
{
    struct question q;
    struct err e = {0};
    struct buf out;
    if (approve_find(arena, state, id, &q, &e) < 0) {
        cli_complain("pending: %s", e.message);
        return EXIT_NO;
    }
    buf_init(&out, &allocator_libc, SHOWN_QUESTION_MAX);
    if (json) {
        int r = question_write_public(&q, &out, &e);
        buf_append_byte(&out, '\n');
        if (r < 0)
            cli_complain("pending: %s", e.message);
        cli_print_buf(&out);
        return r < 0 ? EXIT_NO : EXIT_YES;
    }
    struct pager pager;
    question_show(&q, cli_colour(), !cli_terminal_is_utf8(), &out);
    int status = out.failed ? EXIT_NO : EXIT_YES;
    if (out.failed)
        cli_complain("pending: the question is too large to be shown");
    pager_start(&pager);
    if (!out.failed)
        pager_print(&pager, out.data, out.len);
    buf_release(&out);
    return pager_finish(&pager, status);
}

static int run_pending(const void *options, const struct options_parsed *words)
{
    const struct pending_options *wanted = options;
    const char *state = wanted->state_dir ? wanted->state_dir : kept_state_dir();
    struct arena arena;
    if (!state) {
        cli_complain("pending: HOME is not set, so there is no state directory");
        return EXIT_NO;
    }
    struct err e = {0};
    if (wanted->state_dir && owner_become(state, &e) < 0) {
        cli_complain("pending: %s", e.message);
        return EXIT_NO;
    }
    nacre *n = cli_open();
    if (!n)
        return EXIT_NO;
    asking_sweep(n, state);
    nacre_close(n);
    arena_init(&arena, &allocator_libc, KEPT_BYTES_MAX);
    int status = EXIT_YES;
    if (words->count == 0)
        status = list(&arena, state, wanted->json);
    for (int i = 0; status == EXIT_YES && i < words->count; i++)
        status = show_one(&arena, state, words->operands[i], wanted->json);
    arena_release(&arena);
    return cli_finish(status, EXIT_NO);
}

const struct command command_pending = {
    .name = "pending",
    .summary = "list the questions that are open, or show one",
    .synopsis = "[ID...]",
    .description =
        "Each line: the question's id, what it is about (whether a text runs, or whether the "
        "changes of a run become real), how long it is still open, the agent, and the start of "
        "the text. With an ID all of it is shown: why somebody is asked, every command, and the "
        "text with its lines numbered. Characters that cannot be seen, or that would move or hide "
        "others, are shown as escapes; blanks and empty lines that would push something out of "
        "sight are told by their number.\n"
        "\n"
        "    nacre pending\n"
        "    nacre pending --json 616df709",
    .options = pending_options,
    .options_size = sizeof(struct pending_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = run_pending,
};
