/*
 * A text that is accepted: its canonical form is accepted, too, has the same tree, and is its own
 * canonical form.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/shell_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_same(const struct buf *first, const struct buf *again, const char *what)
{
    if (first->failed || again->failed)
        abort();
    if (first->len == again->len && memcmp(first->data, again->data, first->len) == 0)
        return;
    fprintf(stderr, "the %s differs:\n%s\n---\n%s\n", what, first->data, again->data);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading_result first, again;
    if (read_text(&first, (const char *)data, size)) {
        if (!read_text(&again, first.rendering.data, first.rendering.len)) {
            fprintf(stderr, "refused: %u:%u: %s\n%s\n", again.error.line, again.error.column,
                    again.error.message, first.rendering.data);
            abort();
        }
        require_same(&first.dump, &again.dump, "tree");
        require_same(&first.rendering, &again.rendering, "canonical form");
        release_reading(&again);
    }
    release_reading(&first);
    return 0;
}
