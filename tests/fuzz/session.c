/*
 * What comes out of a box as the state of its shell: refused, or made a text that can be read, with
 * an absolute directory, and a few names of what was left out.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/shell_check.h"
#include "session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const environment[] = {"HOME=/root", "PATH=/usr/bin", "LANG=C.UTF-8"};
    struct arena arena;
    struct session_state state;
    struct err e;
    arena_init(&arena, &allocator_libc, 64 << 20);
    if (session_read(&arena, (const char *)data, size, environment, 3, &state, &e) == 0) {
        struct reading_result reading;
        require(state.len == strlen(state.text));
        require(!state.cwd || state.cwd[0] == '/');
        require(state.dropped_count <= SESSION_DROPPED_MAX);
        require(read_text(&reading, state.text, state.len) || !state.len);
        release_reading(&reading);
    }
    arena_release(&arena);
    return 0;
}
