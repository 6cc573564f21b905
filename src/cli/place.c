/* Where a text would run; see place.h. */
#include "cli/place.h"

#include "cli/cli.h"

nacre_run_options place_run_options(const struct place_options *place)
{
    nacre_run_options options = NACRE_RUN_OPTIONS_INIT;
    options.workspace = place->workspace;
    options.cwd = place->cwd;
    options.environment = cli_environment();
    options.unjudged = !cli_judges;
    return options;
}

int place_with_plan(const struct place_options *place, const char *text, const char *command,
                    place_user *use, const void *user)
{
    enum { ARENA_MAX = 32 << 20 };
    nacre *n = cli_open();
    if (!n)
        return EXIT_NO;
    nacre_run_options options = place_run_options(place);
    struct arena arena;
    struct workspace workspace;
    struct plan plan;
    struct err e;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    int status = EXIT_NO;
    if (engine_plan(n, &arena, text, &options, &workspace, &plan, &e) < 0) {
        cli_complain("%s: %s", command, e.message);
    } else {
        use(n, &workspace, &plan, user);
        status = cli_finish(EXIT_YES, EXIT_NO);
    }
    arena_release(&arena);
    nacre_close(n);
    return status;
}
