/* A program that was really started becomes an act; see facts.h. */
#include <errno.h>

#include "facts/internal.h"

static const char *no_real_path(void *user, struct arena *arena, const char *path)
{
    (void)user;
    (void)arena;
    (void)path;
    return NULL;
}

static bool no_file(void *user, const char *path)
{
    (void)user;
    (void)path;
    return false;
}

int facts_of_program(struct arena *arena, const struct facts_host *host, const char *const *words,
                     size_t count, const struct act **ret, struct err *e)
{
    struct facts_host blind = *host;
    blind.real_path = no_real_path;
    blind.exists = blind.is_directory = no_file;
    struct facts *facts = arena_alloc(arena, sizeof(*facts));
    struct fact_word *known = arena_alloc_array(arena, count + 1, sizeof(*known));
    struct unit unit = {.own = true};
    struct walk w = {.arena = arena,
                     .host = &blind,
                     .facts = facts,
                     .unit = &unit,
                     .programs_only = true,
                     /* What it runs comes by itself, when it does. */
                     .nesting = NESTING_MAX - 1};
    if (!facts || !known || !count || !state_begin(&w, 0))
        return err_set(e, -ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        known[i] = (struct fact_word){
            .text = words[i], .len = (uint32_t)strlen(words[i]), .state = WORD_KNOWN};
    w.cwd = state_place(&w, host->cwd);
    w.arguments = value_list(NULL, 0);
    struct act *act = NULL;
    act_run(&w, known, count, (struct shell_span){0},
            (struct stream){.none = true, .source = SOURCE_INPUT, .text = ""}, &act);
    if (arena->failed || !act)
        return err_set(e, -ENOMEM, "out of memory");
    *ret = act;
    return 0;
}
