/* Asking a person; see confirm.h. */
#include "cli/confirm.h"
#include <errno.h>

#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/question_show.h"
#include "cli/text.h"
#include "cli/verdict_show.h"

enum { JUDGEMENT_MAX = 1 << 30, QUESTION_MAX = 32 << 20 };

bool confirm_is_possible(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* What is judged: the text, behind what its session left. */
struct asked {
    struct arena arena;
    struct setting setting;
    const char *text;
    size_t len;
    struct script script; /* its language is NULL where it is a command */
    bool good;
};

static void open_question(struct asked *q, const struct place_options *place,
                          const struct policy_options *policy,
                          const struct policy_call_options *call, const struct confirm_text *what)
{
    const char *session = what->session;
    struct session_state state;
    struct place_options there = *place;
    struct err e;
    arena_init(&q->arena, &allocator_libc, JUDGEMENT_MAX);
    q->text = what->bytes;
    q->len = what->len;
    q->script = (struct script){0};
    q->good = decide_open(&q->arena, place, policy, call, &q->setting, &e) == 0;
    if (q->good && what->language) {
        const nacre_run_options o = {.language = what->language, .script_args = what->args};
        q->good = script_open(&q->arena, q->setting.decider.policy, q->setting.box.toolchains.path,
                              &o, what->bytes, what->len, &q->script, &e) == 0;
        q->text = q->script.text;
        q->len = q->script.text_len;
    }
    if (!q->good || !session)
        return;
    int r = q->setting.state_dir ? session_peek(&q->arena, q->setting.state_dir,
                                                q->setting.workspace.root, session, &state, &e)
                                 : -ENOTDIR;
    q->good = (r == 0 || r == -ENOENT) &&
              remember_text(&q->arena, &state, what->bytes, what->len, &q->text, &q->len) == 0;
    there.cwd = q->good && !place->cwd ? state.cwd : NULL;
    /* Where it is gone, the run starts at the top, as does the question. */
    if (there.cwd)
        decide_open(&q->arena, &there, policy, call, &q->setting, &e);
}

static void append_verdict(struct asked *q, struct buf *out)
{
    struct verdict verdict;
    const struct shell_tree *tree;
    struct err e;
    if (!q->good)
        return;
    int r = q->script.language ? script_decide(&q->setting.decider, &q->arena, &q->script, NULL,
                                               &verdict, &tree, &e)
                               : engine_decide(&q->setting.decider, &q->arena, q->text, q->len,
                                               NULL, &verdict, &tree, &e);
    if (r == 0 && tree)
        verdict_show(&verdict, q->text, q->len, isatty(STDERR_FILENO) && cli_colour(),
                     !cli_terminal_is_utf8(), out);
}

static void print_error(struct buf *out)
{
    fd_write_all(STDERR_FILENO, out->data, out->len);
    buf_release(out);
}

void confirm_show(const struct place_options *place, const struct policy_options *policy,
                  const struct policy_call_options *call, const struct confirm_text *what)
{
    struct buf out;
    struct asked q;
    buf_init(&out, &allocator_libc, QUESTION_MAX);
    open_question(&q, place, policy, call, what);
    append_verdict(&q, &out);
    if (!out.len) /* it cannot be read, and the place says why */
        text_show_refusal(what->bytes, what->len);
    arena_release(&q.arena);
    print_error(&out);
}

int confirm_ask(const struct place_options *place, const struct policy_options *policy,
                const struct policy_call_options *call, const struct confirm_text *what)
{
    struct buf out;
    struct asked q;
    buf_init(&out, &allocator_libc, QUESTION_MAX);
    open_question(&q, place, policy, call, what);
    /* Of a script all of it is shown, and then the command that runs it. */
    if (q.good && q.script.file.path) {
        buf_append_format(&out, "script, %s:\n", q.script.language);
        question_show_oddities(what->bytes, what->len, &out);
        question_show_text(what->bytes, what->len, !cli_terminal_is_utf8(), &out);
        buf_append_text(&out, "is run by:\n");
    }
    question_show_oddities(q.text, q.len, &out);
    question_show_text(q.text, q.len, !cli_terminal_is_utf8(), &out);
    size_t before = out.len;
    append_verdict(&q, &out);
    arena_release(&q.arena);
    bool shown = out.len > before; /* what cannot be shown whole, with its reasons, is not asked */
    buf_append_text(&out, "Run it? Type yes to run it, anything else not to: ");
    if (out.failed || !shown) {
        buf_release(&out);
        return 0;
    }
    print_error(&out);
    char answer[16];
    size_t used = 0;
    bool whole = true; /* the line is read to its end: the rest is not for whoever reads next */
    for (char c; read(STDIN_FILENO, &c, 1) == 1 && c != '\n';) {
        whole &= used < sizeof(answer) - 1;
        if (whole)
            answer[used++] = c;
    }
    answer[used] = '\0';
    return whole && strcmp(answer, "yes") == 0;
}
