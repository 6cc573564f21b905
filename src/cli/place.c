/* Where a text would run; see place.h. */
#include "cli/place.h"

#include "cli/cli.h"

nacre_run_options place_run_options(const struct place_options *place)
{
    nacre_run_options options = NACRE_RUN_OPTIONS_INIT;
    options.workspace = place->workspace;
    options.cwd = place->cwd;
    options.job = place->job;
    options.environment = cli_environment();
    options.unjudged = !cli_judges;
    return options;
}

int place_with_plan(const nacre_run_options *options, const char *text, const char *command,
                    place_user *use, const void *user)
{
    enum { ARENA_MAX = 64 << 20 };
    nacre *n = cli_open();
    if (!n)
        return EXIT_NO;
    struct arena arena;
    struct setting setting;
    struct plan plan;
    struct err e;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    struct notes notes = {.arena = &arena};
    int status = EXIT_NO;
    if (engine_open_setting(&arena, NULL, options, &setting, &e) < 0) {
        cli_complain("%s: %s", command, e.message);
        status = EXIT_WRONG_CALL;
    } else if (engine_plan(n, &arena, text, options, &setting, &plan, &notes, &e) < 0) {
        cli_complain("%s: %s", command, e.message);
    } else {
        for (size_t i = 0; i < notes.count; i++)
            cli_complain("warning: %s", notes.items[i]);
        use(n, &setting, &plan, user);
        status = cli_finish(EXIT_YES, EXIT_NO);
    }
    arena_release(&arena);
    nacre_close(n);
    return status;
}
