/* The text that a command is given; see text.h. */
#include "cli/text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "shell/shell.h"

static bool is_plain_word(const char *word, bool first)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./,:+@";
    size_t len = strlen(word);
    return len && strspn(word, plain) == len && !(first && shell_is_reserved(word, len));
}

/* One word that the shell reads back as it is. */
static void append_quoted(struct buf *out, const char *word, bool first)
{
    if (is_plain_word(word, first)) {
        buf_append_text(out, word);
        return;
    }
    buf_append_byte(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buf_append_text(out, "'\\''");
        else
            buf_append_byte(out, *word);
    }
    buf_append_byte(out, '\'');
}

/* Up to one byte more than the engine takes: enough to be refused for it. */
static int read_stdin(struct buf *out, struct err *e)
{
    if (cli_stdin_is_closed())
        return err_set(e, -EBADF, "standard input is closed");
    while (out->len < out->max) {
        char chunk[1 << 16];
        size_t room = out->max - out->len;
        ssize_t n = read(STDIN_FILENO, chunk, room < sizeof(chunk) ? room : sizeof(chunk));
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return err_errno(e, -errno, "standard input");
        if (n > 0 && buf_append(out, chunk, (size_t)n) < 0)
            return err_set(e, -ENOMEM, "out of memory");
    }
    return 0;
}

int text_from_words(const struct options_parsed *words, struct buf *ret, bool *ret_from_stdin,
                    struct err *e)
{
    *ret_from_stdin = false;
    if (words->count == 0)
        return err_set(e, -EINVAL, "no command text; give it as one word, such as 'ls -l'");
    if (words->separator) {
        for (int i = 0; i < words->count; i++) {
            if (i)
                buf_append_byte(ret, ' ');
            append_quoted(ret, words->operands[i], i == 0);
        }
    } else if (words->count > 1) {
        return err_set(e, -EINVAL,
                       "the text must be one word: quote it, or put -- before separate words");
    } else if (strcmp(words->operands[0], "-") == 0) {
        *ret_from_stdin = true;
        return read_stdin(ret, e);
    } else {
        buf_append_text(ret, words->operands[0]);
    }
    if (ret->failed == -E2BIG)
        return err_set(e, -E2BIG, "the text has more than %d bytes", NACRE_TEXT_MAX);
    return ret->failed ? err_set(e, -ENOMEM, "out of memory") : 0;
}

void text_show_refusal(const char *text, size_t len)
{
    enum { SHOWN_MAX = 4096 };
    struct arena arena;
    struct shell_error error;
    const struct shell_tree *tree;
    arena_init(&arena, &allocator_libc, SHELL_TREE_MAX);
    if (shell_parse(&arena, text, len, &tree, &error) == -EINVAL) {
        struct buf shown;
        buf_init(&shown, &allocator_libc, SHOWN_MAX);
        shell_error_show(&error, text, len, !cli_terminal_is_utf8(), &shown);
        fd_write_all(STDERR_FILENO, shown.data, shown.len);
        buf_release(&shown);
    }
    arena_release(&arena);
}
