/* See kept.h. */
#include "cli/kept.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "cli/cli.h"

const char *kept_state_dir(void)
{
    static char path[PATH_MAX];
    struct arena arena;
    arena_init(&arena, &allocator_libc, 1 << 16);
    const char *found = store_state_dir(&arena, getenv("XDG_STATE_HOME"), getenv("HOME"));
    if (found)
        snprintf(path, sizeof(path), "%s", found);
    arena_release(&arena);
    return path[0] ? path : NULL;
}

void kept_print_summary(const struct transaction *t, const char *done)
{
    size_t counts[CHANGE_KINDS] = {0}, renamed = 0;
    for (size_t i = 0; i < t->journal.set.change_count; i++) {
        const struct change *c = &t->journal.set.changes[i];
        renamed += c->from != NULL;
        counts[c->kind] += !c->from && !c->to;
    }
    char line[256];
    int n = snprintf(line, sizeof(line),
                     "%.8s %s: %zu created, %zu modified, %zu deleted, %zu renamed, %zu touched\n",
                     t->journal.id, done, counts[CHANGE_CREATED], counts[CHANGE_MODIFIED],
                     counts[CHANGE_DELETED], renamed, counts[CHANGE_TOUCHED]);
    cli_print(line, (size_t)n);
}

void kept_complain_path(const char *root, const char *path, const char *why)
{
    struct buf out;
    struct escape state = {.ascii_only = !cli_terminal_is_utf8()};
    buf_init(&out, &allocator_libc, 1 << 16);
    escape_append(&state, root, strlen(root), &out);
    escape_append(&state, "/", 1, &out);
    escape_append(&state, path, strlen(path), &out);
    escape_finish(&state, &out);
    cli_complain("  %s %s", out.data, why);
    buf_release(&out);
}
