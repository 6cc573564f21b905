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

/* Of a script: what runs it. */
static int read_script(struct arena *arena, const nacre_run_options *o, const char *bytes,
                       size_t len, struct setting *setting, struct script *script,
                       const char **ret_text, struct err *e)
{
    struct reading reading = {0};
    if (!o->language)
        return 0;
    int r = script_open(arena, setting->decider.policy, setting->box.toolchains.path, o, bytes, len,
                        script, e);
    if (r == 0)
        r = engine_read(arena, script->text, script->text_len, &reading, e);
    if (r < 0)
        return r;
    setting->script = script;
    *ret_text = reading.canonical;
    return 0;
}

int place_with_plan(const nacre_run_options *options, const char *text, size_t len,
                    const char *command, place_user *use, const void *user)
{
    enum { ARENA_MAX = 64 << 20 };
    nacre *n = cli_open();
    if (!n)
        return EXIT_NO;
    struct arena arena;
    struct setting setting;
    struct script script;
    struct plan plan;
    struct err e;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    struct notes notes = {.arena = &arena};
    int status = EXIT_NO;
    if (engine_open_setting(&arena, NULL, options, &setting, &e) < 0 ||
        read_script(&arena, options, text, len, &setting, &script, &text, &e) < 0) {
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
