/* From a text to what is judged and run; see engine.h. */
#include <errno.h>
#include <string.h>

#include "engine/engine.h"
#include "shell/shell.h"

/* A tree takes up to some hundred times its text; it is gone when engine_read returns. */
enum {
    CANONICAL_MAX = 7 << 20, /* a plan takes 8 MiB */
    ARGV_MAX = 4096,
};

/* The words of a plain command, where the text is one. */
static int read_argv(struct arena *arena, const struct shell_tree *tree, struct reading *reading)
{
    const struct shell_command *command = shell_plain_command(tree);
    if (!command)
        return 0;
    size_t count = 0;
    for (const struct shell_word *word = command->simple.words; word; word = word->next)
        count++;
    if (count > ARGV_MAX)
        return 0;
    const char **argv = arena_alloc_array(arena, count, sizeof(*argv));
    struct buf text;
    buf_init(&text, arena->allocator, NACRE_TEXT_MAX);
    for (const struct shell_word *word = command->simple.words; word && argv; word = word->next) {
        buf_clear(&text);
        shell_word_known(word, &text);
        argv[reading->argc++] = text.failed ? NULL : arena_copy(arena, text.data, text.len);
    }
    bool failed = text.failed || arena->failed;
    buf_release(&text);
    reading->argv = argv;
    return failed ? -ENOMEM : 0;
}

static int render(struct arena *arena, const struct shell_tree *tree, struct reading *reading,
                  struct err *e)
{
    struct buf canonical;
    buf_init(&canonical, arena->allocator, CANONICAL_MAX);
    shell_render(tree, &canonical);
    int failure = canonical.failed;
    if (!failure) {
        reading->canonical = arena_copy(arena, canonical.data, canonical.len);
        failure = reading->canonical ? read_argv(arena, tree, reading) : -ENOMEM;
    }
    buf_release(&canonical);
    if (failure == -E2BIG)
        return err_set(e, -E2BIG, "the canonical form has more than %d bytes", CANONICAL_MAX);
    return failure ? err_set(e, failure, "out of memory for the text") : 0;
}

int engine_read_tree(struct arena *arena, const struct shell_tree *tree, struct reading *ret,
                     struct err *e)
{
    struct reading reading = {0};
    int failure = render(arena, tree, &reading, e);
    if (failure == 0)
        *ret = reading;
    return failure;
}

int engine_read(struct arena *arena, const char *text, size_t len, struct reading *ret,
                struct err *e)
{
    if (len > NACRE_TEXT_MAX)
        return err_set(e, -E2BIG, "the text has more than %d bytes", NACRE_TEXT_MAX);
    struct arena trees;
    struct shell_error error;
    const struct shell_tree *tree;
    arena_init(&trees, arena->allocator, SHELL_TREE_MAX);
    int failure = shell_parse(&trees, text, len, &tree, &error);
    if (failure < 0)
        err_set(e, failure, "line %u, column %u: %s", error.line, error.column, error.message);
    else
        failure = engine_read_tree(arena, tree, ret, e);
    arena_release(&trees);
    return failure;
}
