/* Asking a person; see confirm.h. */
#include "cli/confirm.h"

#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "cli/verdict_show.h"

enum { JUDGEMENT_MAX = 1 << 30, QUESTION_MAX = 32 << 20 };

bool confirm_is_possible(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static void append_verdict(const struct place_options *place, const struct policy_options *policy,
                           const struct policy_call_options *call, const char *text, size_t len,
                           struct buf *out)
{
    struct arena arena;
    struct setting s;
    struct verdict verdict;
    const struct shell_tree *tree;
    struct err e;
    arena_init(&arena, &allocator_libc, JUDGEMENT_MAX);
    if (decide_open(&arena, place, policy, call, &s, &e) == 0 &&
        engine_decide(&s.decider, &arena, text, len, &verdict, &tree, &e) == 0 && tree)
        verdict_show(&verdict, text, len, isatty(STDERR_FILENO) && cli_colour(),
                     !cli_terminal_is_utf8(), out);
    arena_release(&arena);
}

static void print_error(struct buf *out)
{
    fd_write_all(STDERR_FILENO, out->data, out->len);
    buf_release(out);
}

void confirm_show(const struct place_options *place, const struct policy_options *policy,
                  const struct policy_call_options *call, const char *text, size_t len)
{
    struct buf out;
    buf_init(&out, &allocator_libc, QUESTION_MAX);
    append_verdict(place, policy, call, text, len, &out);
    if (!out.len) /* it cannot be read, and the place says why */
        text_show_refusal(text, len);
    print_error(&out);
}

int confirm_ask(const struct place_options *place, const struct policy_options *policy,
                const struct policy_call_options *call, const char *text, size_t len)
{
    struct buf out;
    struct escape state = {.ascii_only = !cli_terminal_is_utf8()};
    buf_init(&out, &allocator_libc, QUESTION_MAX);
    escape_append(&state, text, len, &out);
    escape_finish(&state, &out);
    buf_append_byte(&out, '\n');
    size_t before = out.len;
    append_verdict(place, policy, call, text, len, &out);
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
