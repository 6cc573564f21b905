/*
 * Any bytes as a journal, with the hash that it should have: refused, or all that it names is below
 * its roots and in its lists.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "changes/changes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *path)
{
    if (!path || !path[0] || path[0] == '/')
        abort();
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        size_t len = strcspn(part, "/");
        if (len == 0 || (len == 2 && part[0] == '.' && part[1] == '.'))
            abort();
    }
}

static void check_set(const struct change_set *set, struct arena *arena)
{
    for (size_t i = 0; i < set->root_count; i++) {
        if (set->roots[i].path[0] != '/' || set->roots[i].layer[0] != '/')
            abort();
    }
    for (size_t i = 0; i < set->step_count; i++) {
        const struct step *step = &set->steps[i];
        check_path(step->path);
        if (step->kind != STEP_META)
            check_path(step->slot);
        if (step->root >= set->root_count || step->kind == STEP_NONE || step->kind >= STEP_KINDS)
            abort();
    }
    for (size_t i = 0; i < set->change_count; i++) {
        const struct change *change = &set->changes[i];
        check_path(change->path);
        if (change->root >= set->root_count || change->step >= set->step_count ||
            change->kind == CHANGE_NONE || change->kind >= CHANGE_KINDS)
            abort();
        const char *slot = change_slot(set, change, arena);
        if (slot && set->steps[change->step].kind != STEP_META)
            check_path(slot);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { BYTES_MAX = 1 << 16, ARENA_MAX = 64 << 20 };
    static char bytes[BYTES_MAX + SHA256_BYTES];
    struct sha256 hash;
    struct arena arena;
    struct journal journal;
    struct err e;
    if (size > BYTES_MAX)
        return 0;
    memcpy(bytes, data, size);
    sha256_start(&hash);
    sha256_add(&hash, bytes, size);
    sha256_end(&hash, (unsigned char *)bytes + size);
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    if (journal_decode(&arena, bytes, size + SHA256_BYTES, &journal, &e) == 0)
        check_set(&journal.set, &arena);
    arena_release(&arena);
    return 0;
}
