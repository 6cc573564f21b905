/*
 * Any bytes as a command: a tree whose spans are right and that can be shown in every form, or a
 * refusal with a message and a place within the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/shell_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct shell_error *error, const char *text, size_t len)
{
    if (error->code >= 0 || !message_is_plain(error) || !place_is_right(error, text, len))
        abort();
    struct buf shown;
    buf_init(&shown, &allocator_libc, 4096);
    shell_error_show(error, text, len, false, &shown);
    if (shown.failed)
        abort();
    buf_release(&shown);
}

static bool visit(void *user, const struct shell_command *command)
{
    (void)command;
    ++*(size_t *)user;
    return true;
}

static void check_tree(const struct shell_tree *tree)
{
    struct span_walk spans;
    if (!spans_are_right(&spans, tree)) {
        fprintf(stderr, "%s\n", spans.message);
        abort();
    }
    struct buf text;
    struct json json;
    buf_init(&text, &allocator_libc, SIZE_MAX - 1);
    json_init_buf(&json, &text);
    shell_dump_json(tree, &json);
    if (json_finish(&json) < 0)
        abort();
    buf_release(&text);
    size_t commands = 0;
    shell_each_command(tree, visit, &commands);
    const struct shell_command *plain = shell_plain_command(tree);
    if (plain && commands != 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading_result reading;
    if (read_text(&reading, (const char *)data, size))
        check_tree(reading.tree);
    else
        check_refusal(&reading.error, (const char *)data, size);
    release_reading(&reading);
    return 0;
}
