/* nacre approve, deny: a person's answer to a question. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/always.h"
#include "cli/cli.h"
#include "cli/kept.h"
#include "cli/owner.h"
#include "cli/pager.h"
#include "cli/passphrase.h"
#include "cli/policy_options.h"
#include "cli/question_show.h"

enum { SHORT_LINES = 40 };

struct answer_options {
    bool once, job, always, yes, json, set_passphrase;
    const char *reason, *passphrase_file, *name, *state_dir;
};

static const struct option approve_options[] = {
    {.name = "once",
     .kind = OPTION_FLAG,
     .help = "for one run (the default)",
     .offset = offsetof(struct answer_options, once)},
    {.name = "job",
     .kind = OPTION_FLAG,
     .help = "for the same call as often as it comes, in this workspace and by this agent, until "
             "approvals.timeout is over",
     .offset = offsetof(struct answer_options, job)},
    {.name = "always",
     .kind = OPTION_FLAG,
     .help = "and write a rule into your configuration that allows just this",
     .offset = offsetof(struct answer_options, always)},
    {.name = "yes",
     .letter = 'y',
     .kind = OPTION_FLAG,
     .help = "do not ask at the terminal; needed where there is none",
     .offset = offsetof(struct answer_options, yes)},
    {.name = "set-passphrase",
     .kind = OPTION_FLAG,
     .help = "make a key of a passphrase, and show the line with which a configuration demands it",
     .offset = offsetof(struct answer_options, set_passphrase)},
    {.name = "name",
     .kind = OPTION_TEXT,
     .value_name = "NAME",
     .help = "the name of that key (default: your user's)",
     .offset = offsetof(struct answer_options, name)},
    {.name = "passphrase-file",
     .kind = OPTION_TEXT,
     .value_name = "FILE",
     .completes = COMPLETES_FILE,
     .help = "read the passphrase from its first line instead of the terminal",
     .offset = offsetof(struct answer_options, passphrase_file)},
    {.name = "state-dir",
     .kind = OPTION_TEXT,
     .value_name = "DIR",
     .completes = COMPLETES_DIRECTORY,
     .help = "the questions of another user, in that user's state directory (for root)",
     .offset = offsetof(struct answer_options, state_dir)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object for each question",
     .offset = offsetof(struct answer_options, json)},
    {0},
};

static const struct option deny_options[] = {
    {.name = "reason",
     .letter = 'r',
     .kind = OPTION_TEXT,
     .value_name = "TEXT",
     .help = "why: the agent is told",
     .offset = offsetof(struct answer_options, reason)},
    {.name = "passphrase-file",
     .kind = OPTION_TEXT,
     .value_name = "FILE",
     .completes = COMPLETES_FILE,
     .help = "read the passphrase from its first line instead of the terminal",
     .offset = offsetof(struct answer_options, passphrase_file)},
    {.name = "state-dir",
     .kind = OPTION_TEXT,
     .value_name = "DIR",
     .completes = COMPLETES_DIRECTORY,
     .help = "the questions of another user, in that user's state directory (for root)",
     .offset = offsetof(struct answer_options, state_dir)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print one JSON object for each question",
     .offset = offsetof(struct answer_options, json)},
    {0},
};

/* One question that is being answered. */
struct answering {
    const char *command; /* approve, deny */
    const struct answer_options *wanted;
    const char *state;
    bool theirs; /* the state directory is another user's */
    nacre *n;
    struct arena arena;
    struct question q;
    struct transaction t; /* of changes that are held */
    struct answer a;
    struct always always;
};

/* --- the question ---------------------------------------------------------------------------- */

/* A run that is held and has no question written down: made from what is known of it. */
static int find_held(struct answering *g, const char *id, struct err *e)
{
    struct question q = {.kind = QUESTION_CHANGES,
                         .text = "",
                         .canonical = "",
                         .input = "none",
                         .mandate_hash = "",
                         .asked_ms = clock_utc_ms()};
    if (transaction_open(&g->arena, g->state, id, &g->t, NULL) < 0)
        return -ENOENT;
    memcpy(q.id, g->t.journal.id, sizeof(q.id));
    q.workspace = q.directory = g->t.journal.set.roots[0].path;
    question_bind(&q);
    g->q = q;
    (void)e;
    return 0;
}

static int find(struct answering *g, const char *id, struct err *e)
{
    int r = approve_find(&g->arena, g->state, id, &g->q, e);
    if (r == -ENOENT && find_held(g, id, e) == 0)
        r = 0;
    else if (r == 0 && g->q.kind == QUESTION_CHANGES)
        r = transaction_open(&g->arena, g->state, g->q.id, &g->t, e);
    if (r < 0)
        return r;
    if (g->q.kind == QUESTION_CHANGES && g->t.journal.state != JOURNAL_HELD) {
        approve_withdraw(g->state, g->q.id);
        return err_set(e, -EALREADY, "run '%.8s' is %s, and not held", g->q.id,
                       journal_state_names[g->t.journal.state]);
    }
    if (g->q.kind == QUESTION_CHANGES && g->t.journal.allowed)
        return err_set(e, -EALREADY, "run '%.8s' is staged: `nacre commit %.8s` makes it real",
                       g->q.id, g->q.id);
    if (g->q.expires_ms && g->q.expires_ms <= clock_utc_ms())
        return err_set(e, -ETIME, "question '%.8s' is too old: the run must ask again", g->q.id);
    return 0;
}

static size_t count_lines(const struct buf *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->len; i++)
        lines += text->data[i] == '\n';
    return lines;
}

/* All of it, through a pager where it is long; nothing that cannot be shown whole is asked. */
static int show(const struct answering *g)
{
    struct buf out;
    struct pager pager;
    bool terminal = isatty(STDOUT_FILENO);
    buf_init(&out, &allocator_libc, SHOWN_QUESTION_MAX);
    question_show(&g->q, terminal && cli_colour(), !cli_terminal_is_utf8(), &out);
    if (g->q.kind == QUESTION_CHANGES)
        buf_append_format(&out, "%-10s `nacre diff %.8s` shows them\n", "changes", g->q.id);
    int r = out.failed;
    if (r == 0 && terminal && count_lines(&out) > SHORT_LINES) {
        pager_start(&pager);
        pager_print(&pager, out.data, out.len);
        pager_finish(&pager, 0);
    } else if (r == 0) {
        r = cli_print(out.data, out.len);
    }
    if (r == 0)
        r = cli_flush();
    buf_release(&out);
    return r;
}

static bool ask_person(const struct answering *g)
{
    struct buf out;
    char answer[8];
    size_t used = 0;
    bool whole = true;
    buf_init(&out, &allocator_libc, 1 << 12);
    buf_append_format(&out, "%s %.8s%s? [y/N] ",
                      g->q.kind == QUESTION_CHANGES ? "Make the changes real of" : "Let it run,",
                      g->q.id,
                      g->wanted->always ? " always"
                      : g->wanted->job  ? " for this job"
                                        : "");
    fd_write_all(STDERR_FILENO, out.data, out.len);
    buf_release(&out);
    for (char c; read(STDIN_FILENO, &c, 1) == 1 && c != '\n';) {
        whole &= used < sizeof(answer) - 1;
        if (whole)
            answer[used++] = c;
    }
    answer[used] = '\0';
    return whole && (strcmp(answer, "y") == 0 || strcmp(answer, "yes") == 0);
}

/* --- the answer ------------------------------------------------------------------------------ */

/* Whoever signs has a key of their own. */
static int open_key(const struct answering *g, struct note_signer *ret, struct err *e)
{
    char passphrase[PASSPHRASE_MAX + 1];
    const char *own = kept_state_dir();
    int r = own ? passphrase_read("passphrase: ", g->wanted->passphrase_file, false, passphrase, e)
                : err_set(e, -ENOTDIR, "HOME is not set, so there is no key");
    if (r < 0)
        return r;
    r = approver_open(own, passphrase, ret, e);
    passphrase_forget(passphrase);
    return r;
}

static int sign(struct answering *g, struct err *e)
{
    struct note_signer signer;
    int r = owner_suspend(true, e);
    if (r == 0)
        r = open_key(g, &signer, e);
    int back = owner_suspend(false, r < 0 ? NULL : e);
    if (r < 0 || back < 0)
        return r < 0 ? r : back;
    answer_sign(&g->a, &signer);
    memset(&signer, 0, sizeof(signer));
    __asm__ volatile("" ::"r"(&signer) : "memory");
    return answer_check(&g->a, g->q.key, e);
}

static int record(const struct answering *g, enum entry_kind kind, const char *status,
                  const char *detail, struct err *e)
{
    const struct recorded_question what = {
        .kind = kind, .id = g->q.id, .status = status, .by = g->a.by, .detail = detail};
    return recording_note_answer(g->n, g->state, &what, e);
}

/* Changes that are held become real, or are thrown away. */
static int turn_changes(struct answering *g, struct err *e)
{
    struct conflicts conflicts = {.arena = &g->arena};
    struct err why = {0};
    enum entry_kind kind = g->a.yes ? ENTRY_COMMIT : ENTRY_DISCARD;
    int r = 0;
    if (g->a.yes) {
        g->t.journal.allowed = true; /* a person's word stands for the policy's */
        r = transaction_commit(&g->t, &conflicts, e);
    } else {
        r = transaction_discard(&g->t, e);
    }
    for (size_t i = 0; i < conflicts.count && i < KEPT_SHOWN_MAX && !g->wanted->json; i++)
        kept_complain_path(conflicts.items[i].root, conflicts.items[i].path,
                           conflicts.items[i].why);
    int noted = recording_note(g->n, g->state, kind, g->q.id, r < 0 ? e->message : "done", &why);
    if (r == 0)
        approve_withdraw(g->state, g->q.id);
    if (r == 0 && noted < 0)
        r = err_set(e, noted, "it is done, but that is not in the ledger: %s", why.message);
    return r;
}

static int say(struct answering *g, struct err *e)
{
    const char *scope = answer_scope_names[g->a.scope];
    const char *detail = arena_format(
        &g->arena, "%s%s%s%s", g->a.yes ? scope : "", g->a.is_signed ? ", signed by " : "",
        g->a.is_signed ? g->a.key_name : "", g->a.reason ? g->a.reason : "");
    int r = record(g, ENTRY_ANSWER, g->a.yes ? "yes" : "no", detail ? detail : "", e);
    if (r < 0)
        return r;
    if (g->q.kind == QUESTION_CHANGES)
        return turn_changes(g, e);
    r = approve_say(g->state, &g->a, e);
    struct err ignored;
    if (r < 0)
        record(g, ENTRY_ANSWER, "void", e->message, &ignored);
    return r;
}

/* Held changes are turned here, and not by an engine that would ask its policy: so it is asked. */
static int find_key(struct answering *g, struct err *e)
{
    const struct policy_options options = {.agent = g->q.agent, .config = g->q.config};
    struct policy_request request;
    const struct policy *policy = NULL;
    int r = owner_suspend(true, e);
    if (r == 0)
        r = policy_options_request(&g->arena, &options, NULL, g->q.workspace, &request, e);
    if (r == 0)
        r = policy_load(&g->arena, &request, &policy, e);
    if (owner_suspend(false, r < 0 ? NULL : e) < 0)
        r = -EPERM;
    if (r < 0 || !policy)
        return err_context(e, r < 0 ? r : -EINVAL, "whose answers count cannot be known");
    if (policy->approvals.key)
        g->q.key = policy->approvals.key;
    return 0;
}

static int answer(struct answering *g, bool yes, struct err *e)
{
    const struct answer_options *wanted = g->wanted;
    int64_t lasts = g->q.expires_ms ? g->q.expires_ms - g->q.asked_ms : 0;
    g->a = (struct answer){
        .yes = yes,
        .scope = wanted->always ? ANSWER_ALWAYS
                 : wanted->job  ? ANSWER_JOB
                                : ANSWER_ONCE,
        .time_ms = clock_utc_ms(),
        .by = asking_user(&g->arena, getuid()),
        .reason = wanted->reason,
    };
    g->a.expires_ms = g->a.time_ms + lasts;
    memcpy(g->a.id, g->q.id, sizeof(g->a.id));
    memcpy(g->a.binding, g->q.binding, sizeof(g->a.binding));
    int r = g->q.kind == QUESTION_CHANGES ? find_key(g, e) : 0;
    if (r == 0 && g->q.key)
        r = sign(g, e);
    if (r == 0 && yes && wanted->always)
        r = always_write(&g->arena, &g->q, &g->always, e);
    return r < 0 ? r : say(g, e);
}

/* --- telling --------------------------------------------------------------------------------- */

static void tell_json(const struct answering *g, const struct err *e)
{
    struct json j;
    json_init(&j, cli_print_json, NULL);
    json_object_begin(&j);
    json_key(&j, "id");
    json_text(&j, g->q.id);
    json_key(&j, "status");
    json_text(&j, e->code < 0 ? "error" : g->a.yes ? "approved" : "denied");
    if (e->code < 0) {
        json_key(&j, "error");
        json_text(&j, e->message);
    } else {
        json_key(&j, "scope");
        json_text(&j, answer_scope_names[g->a.scope]);
        json_key(&j, "by");
        json_text(&j, g->a.by);
        json_key(&j, "signed");
        json_bool(&j, g->a.is_signed);
    }
    if (g->always.file) {
        json_key(&j, "rules");
        json_array_begin(&j);
        for (size_t i = 0; i < g->always.count; i++) {
            json_object_begin(&j);
            json_key(&j, "file");
            json_text(&j, g->always.file);
            json_key(&j, "line");
            json_unsigned(&j, g->always.lines[i]);
            json_key(&j, "pattern");
            json_text(&j, g->always.patterns[i]);
            json_object_end(&j);
        }
        json_array_end(&j);
    }
    json_object_end(&j);
    if (json_finish(&j) == 0)
        cli_print("\n", 1);
}

static void tell_text(const struct answering *g)
{
    struct buf out;
    buf_init(&out, &allocator_libc, 1 << 16);
    for (size_t i = 0; g->always.file && i < g->always.count; i++) {
        cli_append_escaped(&out, g->always.file, 1 << 12);
        buf_append_format(&out, ":%zu: \"%s\"\n", g->always.lines[i], g->always.patterns[i]);
    }
    buf_append_format(&out, "%.8s %s", g->q.id,
                      g->q.kind == QUESTION_CHANGES ? g->a.yes ? "approved: the changes are real"
                                                               : "denied: the changes are gone"
                      : g->a.yes                    ? "approved"
                                                    : "denied");
    if (g->a.yes && g->q.kind == QUESTION_RUN)
        buf_append_text(&out, g->q.waits ? ", and its run goes on"
                              : g->a.scope == ANSWER_JOB
                                  ? " for the same call in this workspace and by this agent, until "
                                    "approvals.timeout is over"
                              : g->a.scope == ANSWER_ALWAYS ? ": the call needs no answer any more"
                                                            : ": the same call goes through once");
    buf_append_byte(&out, '\n');
    cli_print_buf(&out);
}

static int answer_one(struct answering g, const char *id, bool yes)
{
    const char *command = g.command;
    const struct answer_options *wanted = g.wanted;
    struct err e = {0};
    int status = EXIT_YES;
    arena_init(&g.arena, &allocator_libc, KEPT_BYTES_MAX);
    int r = find(&g, id, &e);
    if (r == 0 && yes && wanted->always && g.theirs)
        r = err_set(&e, -EINVAL, "a rule for another user is not written: it would be yours");
    bool asks = yes && !wanted->yes;
    if (r == 0 && yes && (wanted->always || wanted->job) && g.q.kind == QUESTION_CHANGES)
        r = err_set(&e, -EINVAL, "changes are approved one by one");
    if (r == 0 && yes && !wanted->json && (r = show(&g)) < 0)
        err_errno(&e, r, "the question cannot be shown, and so not be answered");
    if (r == 0 && asks && !ask_person(&g)) {
        cli_complain("%s: nothing was answered", command);
        status = EXIT_NO;
    } else {
        r = r < 0 ? r : answer(&g, yes, &e);
        if (r < 0)
            cli_complain("%s %.8s: %s", command, g.q.id[0] ? g.q.id : id, e.message);
        if (wanted->json && g.q.id[0])
            tell_json(&g, &e);
        else if (r == 0)
            tell_text(&g);
        status = r < 0 ? EXIT_NO : EXIT_YES;
    }
    transaction_close(&g.t);
    arena_release(&g.arena);
    return status;
}

static int run_answer(const char *command, const struct answer_options *wanted,
                      const struct options_parsed *words, bool yes)
{
    const char *state = wanted->state_dir ? wanted->state_dir : kept_state_dir();
    if (!state) {
        cli_complain("%s: HOME is not set, so there is no state directory", command);
        return EXIT_NO;
    }
    if (words->count == 0) {
        cli_complain("%s: which question? `nacre pending` lists them", command);
        return EXIT_WRONG_CALL;
    }
    if (wanted->once + wanted->job + wanted->always > 1) {
        cli_complain("%s: --once, --job and --always exclude each other", command);
        return EXIT_WRONG_CALL;
    }
    if (wanted->reason && strlen(wanted->reason) > ANSWER_REASON_MAX / 4) {
        cli_complain("%s: --reason is too long", command);
        return EXIT_WRONG_CALL;
    }
    if (yes && !wanted->yes && (wanted->json || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))) {
        cli_complain("%s: nobody can be asked here: look at the question with `nacre pending %s`, "
                     "then say --yes",
                     command, words->operands[0]);
        return EXIT_WRONG_CALL;
    }
    struct err e = {0};
    int theirs = wanted->state_dir ? owner_become(state, &e) : 0;
    if (theirs < 0) {
        cli_complain("%s: %s", command, e.message);
        return EXIT_NO;
    }
    nacre *n = cli_open();
    const struct answering answering = {.command = command,
                                        .wanted = wanted,
                                        .state = state,
                                        .theirs = theirs,
                                        .n = n,
                                        .t = TRANSACTION_NONE};
    int status = n ? EXIT_YES : EXIT_NO;
    if (n)
        asking_sweep(n, state);
    for (int i = 0; status == EXIT_YES && i < words->count; i++)
        status = answer_one(answering, words->operands[i], yes);
    nacre_close(n);
    return cli_finish(status, EXIT_NO);
}

static int run_approve(const void *options, const struct options_parsed *words)
{
    const struct answer_options *wanted = options;
    if (wanted->set_passphrase && words->count == 0)
        return passphrase_set(wanted->name, wanted->passphrase_file);
    return run_answer("approve", wanted, words, true);
}

static int run_deny(const void *options, const struct options_parsed *words)
{
    return run_answer("deny", options, words, false);
}

const struct command command_approve = {
    .name = "approve",
    .summary = "say yes to a question, or make held changes real",
    .synopsis = "ID...",
    .description =
        "Shows the question and, at a terminal, asks whether to say yes. ID is the run's "
        "correlation_id or the start of it; `nacre pending` lists what is open.\n"
        "\n"
        "A run that waits (`nacre run --wait`) goes on; otherwise the same call goes through once "
        "when it comes again: the same text by the same agent under the same policy, in the same "
        "workspace and directory with the same input. For changes that are held, approving makes "
        "them real.\n"
        "\n"
        "--always adds a rule to shell.allow in your configuration, or in your file of the agent "
        "that asked, which means these words and no others (`= git push origin main`), and says "
        "where it was written. What a rule cannot say exactly is refused.\n"
        "\n"
        "    nacre approve 616df709\n"
        "    nacre approve --yes --job 616df709\n"
        "    nacre approve --set-passphrase\n"
        "\n"
        "Exit status: 0; 1 when it is not answered; 2 for a wrong call.",
    .options = approve_options,
    .options_size = sizeof(struct answer_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = run_approve,
};

const struct command command_deny = {
    .name = "deny",
    .summary = "say no to a question, or throw held changes away",
    .synopsis = "ID...",
    .description = "The agent is told, with the reason; the same call is denied until "
                   "approvals.timeout is over. Changes that are held are thrown away.\n"
                   "\n"
                   "    nacre deny 616df709 --reason 'use the staging server'",
    .options = deny_options,
    .options_size = sizeof(struct answer_options),
    .wrong_call = EXIT_WRONG_CALL,
    .run = run_deny,
};
