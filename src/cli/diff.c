/* nacre diff: what a run changed. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/json.h"
#include "changes/patch.h"
#include "changes/text_diff.h"
#include "cli/cli.h"
#include "cli/diff_stat.h"
#include "cli/kept.h"
#include "cli/pager.h"

enum { PIECE = 1 << 16, LINE_MAX_BYTES = 512 << 20, STAT_MAX_BYTES = 256 << 20 };

struct diff_options {
    bool json, stat, name_only;
};

static const struct option diff_options[] = {
    {.name = "stat",
     .kind = OPTION_FLAG,
     .help = "how many lines of each file, and the sum",
     .offset = offsetof(struct diff_options, stat)},
    {.name = "name-only",
     .kind = OPTION_FLAG,
     .help = "only the paths, one on a line",
     .offset = offsetof(struct diff_options, name_only)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object",
     .offset = offsetof(struct diff_options, json)},
    {0},
};

/* --- on its way to the reader ------------------------------------------------------------------
 */

struct shower {
    struct pager pager;
    bool terminal, colour;
    bool missing;    /* something could not be shown */
    struct buf line; /* what is made safe for a terminal, on its way */
    struct diff_stat stat;
    const struct change *last;
};

static const char *line_colour(bool hunks, char first)
{
    if (!hunks)
        return "\033[1m";
    switch (first) {
    case '@':
        return "\033[36m";
    case '+':
        return "\033[32m";
    case '-':
        return "\033[31m";
    default:
        return NULL;
    }
}

static int flush(struct shower *s)
{
    int r = s->line.failed ? s->line.failed : pager_print(&s->pager, s->line.data, s->line.len);
    buf_clear(&s->line);
    return r;
}

/* What comes from inside files is not for a terminal to obey. */
static int show_lines(struct shower *s, const char *bytes, size_t len, bool hunks)
{
    if (!s->terminal)
        return pager_print(&s->pager, bytes, len);
    int r = 0;
    for (const char *at = bytes, *end = bytes + len; r == 0 && at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            stop = end;
        const char *colour = s->colour ? line_colour(hunks, *at) : NULL;
        struct escape state = {.ascii_only = !cli_terminal_is_utf8()};
        if (colour)
            buf_append_text(&s->line, colour);
        escape_append(&state, at, (size_t)(stop - at), &s->line);
        escape_finish(&state, &s->line);
        if (colour)
            buf_append_text(&s->line, "\033[m");
        buf_append_byte(&s->line, '\n');
        if (s->line.len >= PIECE)
            r = flush(s);
        at = stop + 1;
    }
    return r < 0 ? r : flush(s);
}

static int show_patch(void *user, const struct patch *p)
{
    struct shower *s = user;
    s->missing |= p->missing;
    int r = show_lines(s, p->head.data, p->head.len, false);
    return r < 0 ? r : show_lines(s, p->hunks.data, p->hunks.len, true);
}

static int show_name(void *user, const struct patch *p)
{
    struct shower *s = user;
    if (p->change == s->last)
        return 0; /* a file that became a link is one path */
    s->last = p->change;
    text_append_name("", p->path, &s->line);
    buf_append_byte(&s->line, '\n');
    return s->line.len < PIECE ? s->line.failed : flush(s);
}

static int count_patch(void *user, const struct patch *p)
{
    struct shower *s = user;
    s->missing |= p->missing;
    return diff_stat_add(&s->stat, p);
}

static int show_text(const struct transaction *t, const struct diff_options *wanted)
{
    struct err e = {0};
    struct arena arena;
    arena_init(&arena, &allocator_libc, STAT_MAX_BYTES);
    struct shower s = {
        .terminal = isatty(STDOUT_FILENO), .colour = cli_colour(), .stat = {.arena = &arena}};
    buf_init(&s.line, &allocator_libc, LINE_MAX_BYTES);
    pager_start(&s.pager);
    int r = patches_make(&t->journal, wanted->name_only ? PATCH_NAMES : PATCH_HUNKS,
                         wanted->name_only ? show_name
                         : wanted->stat    ? count_patch
                                           : show_patch,
                         &s, &e);
    if (r == 0 && wanted->stat)
        diff_stat_append(&s.stat, s.colour, &s.line);
    if (r == 0)
        r = flush(&s);
    int status = pager_finish(&s.pager, r < 0 || s.missing);
    if (r < 0 && !s.pager.left && e.code < 0)
        cli_complain("diff: %s", e.message);
    buf_release(&s.line);
    arena_release(&arena);
    return status;
}

/* --- for programs -------------------------------------------------------------------------------
 */

struct writer {
    struct json json;
    bool missing;
};

static void write_mode(struct json *j, const char *key, uint32_t mode)
{
    char text[16];
    snprintf(text, sizeof(text), "%06o", mode);
    json_key(j, key);
    json_text(j, mode ? text : NULL);
}

static int write_patch(void *user, const struct patch *p)
{
    struct writer *w = user;
    struct json *j = &w->json;
    w->missing |= p->missing;
    json_object_begin(j);
    json_key(j, "path");
    changes_write_name(j, p->path);
    if (p->from) {
        json_key(j, "from");
        changes_write_name(j, p->from);
    }
    json_key(j, "kind");
    json_text(j, p->from ? "renamed" : change_kind_names[p->change->kind]);
    write_mode(j, "old_mode", p->old_mode);
    write_mode(j, "new_mode", p->new_mode);
    json_key(j, "binary");
    json_bool(j, p->binary);
    json_key(j, "note");
    json_text(j, p->note);
    json_key(j, "added");
    json_unsigned(j, p->added);
    json_key(j, "removed");
    json_unsigned(j, p->removed);
    json_key(j, "diff");
    struct buf whole;
    buf_init(&whole, &allocator_libc, p->head.len + p->hunks.len + 1);
    buf_append(&whole, p->head.data, p->head.len);
    int r = buf_append(&whole, p->hunks.data, p->hunks.len);
    json_bytes(j, whole.data, whole.len);
    buf_release(&whole);
    json_object_end(j);
    return r < 0 ? r : j->failed;
}

static int show_json(const struct transaction *t)
{
    struct err e = {0};
    struct writer w = {.missing = false};
    struct json *j = &w.json;
    json_init(j, cli_print_json, NULL);
    json_object_begin(j);
    json_key(j, "correlation_id");
    json_text(j, t->journal.id);
    json_key(j, "state");
    json_text(j, journal_state_names[t->journal.state]);
    json_key(j, "changes");
    changes_write_json(&t->journal.set, j);
    json_key(j, "diffs");
    json_array_begin(j);
    int r = patches_make(&t->journal, PATCH_HUNKS, write_patch, &w, &e);
    json_array_end(j);
    if (r < 0) {
        json_key(j, "error");
        json_text(j, e.message);
    }
    json_object_end(j);
    if (json_finish(j) == 0)
        cli_print("\n", 1);
    return cli_finish(r < 0 || w.missing, 1);
}

/* --- the command --------------------------------------------------------------------------------
 */

static int run_diff(const void *options, const struct options_parsed *words)
{
    const struct diff_options *wanted = options;
    const char *state = kept_state_dir();
    if (words->count != 1) {
        cli_complain("diff: which run? `nacre run --json` tells its correlation_id");
        return EXIT_WRONG_CALL;
    }
    if (wanted->json + wanted->stat + wanted->name_only > 1) {
        cli_complain("diff: only one of --stat, --name-only and --json");
        return EXIT_WRONG_CALL;
    }
    if (!state) {
        cli_complain("diff: HOME is not set, so there is no state directory");
        return EXIT_NO;
    }
    struct err e = {0};
    struct arena arena;
    struct transaction t = TRANSACTION_NONE;
    int status = EXIT_NO;
    arena_init(&arena, &allocator_libc, KEPT_BYTES_MAX);
    if (transaction_open(&arena, state, words->operands[0], &t, &e) < 0) {
        cli_complain("diff: %s", e.message);
    } else {
        status = wanted->json ? show_json(&t) : show_text(&t, wanted);
    }
    transaction_close(&t);
    arena_release(&arena);
    return status;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "show what a run changed",
    .synopsis = "ID",
    .description =
        "Prints a patch as git does, whether the changes are real, held or undone: it leads from "
        "what was there before the run to what is there after it. `patch -p1` and `git apply` "
        "take it; directories, pipes and files of which only times or attributes changed are a "
        "line of their own, over which they pass. ID is the run's correlation_id or the start of "
        "it.\n"
        "\n"
        "A file that somebody has changed since is named (`changed since: PATH`) and not compared. "
        "A terminal gets colours (unless NO_COLOR is set), a pager ($PAGER, else less) and no "
        "control characters; anything else gets the bytes as they are. In JSON, bytes that are "
        "not UTF-8 become U+FFFD.\n"
        "\n"
        "    nacre diff 616df709\n"
        "    nacre diff --stat 616df709\n"
        "    nacre diff 616df709 | git apply -R\n"
        "\n"
        "Exit status: 0; 1 when it, or a part of it, cannot be shown; 2 for a wrong call.",
    .options = diff_options,
    .options_size = sizeof(struct diff_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = run_diff,
};
