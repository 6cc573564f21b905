/* Handle and run; see engine.h and nacre.h. */
#include "engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "changes/fs_hash.h"
#include "engine/version.h"
#include "sandbox/spawn.h"

enum {
    HANDLE_BYTES_MAX = 1 << 20,
    JUDGEMENT_BYTES_MAX = 1 << 30,
};

const char *nacre_version(void)
{
    return NACRE_VERSION;
}

static void tell(nacre_error *error, const struct err *e)
{
    if (!error)
        return;
    error->code = e->code;
    snprintf(error->message, sizeof(error->message), "%s", e->message);
}

static bool do_chores(void *handle)
{
    reversal_tidy_now(handle);
    return early_prepare(handle);
}

int nacre_open(const nacre_options *options, nacre **ret, nacre_error *error)
{
    static const nacre_options defaults = NACRE_OPTIONS_INIT;
    struct err e = {0};
    if (!options)
        options = &defaults;
    if (options->version != NACRE_OPTIONS_VERSION) {
        err_set(&e, -EINVAL, "options of version %u, not %d", options->version,
                NACRE_OPTIONS_VERSION);
        tell(error, &e);
        return e.code;
    }

    struct allocator allocator = allocator_libc;
    if (options->resize)
        allocator = (struct allocator){.resize = options->resize, .user = options->resize_user};
    nacre *n = alloc_resize(&allocator, NULL, sizeof(*n));
    if (!n) {
        err_set(&e, -ENOMEM, "out of memory");
        tell(error, &e);
        return e.code;
    }
    *n = (nacre){.allocator = allocator, .keeper = KEEPER_NONE, .untidy = -1};
    pthread_mutex_init(&n->lock, NULL);
    policy_cache_init(&n->policies, &n->allocator);
    pthread_mutex_init(&n->files.lock, NULL);
    looks_init(&n->looks, &n->allocator);
    crew_init(&n->crew);
    pthread_mutex_init(&n->held_hash.lock, NULL);
    arena_init(&n->arena, &n->allocator, HANDLE_BYTES_MAX);
    const char *launcher = options->launcher ? options->launcher : NACRE_LAUNCHER;
    n->launcher = arena_copy(&n->arena, launcher, strlen(launcher));
    if (!n->launcher) {
        err_set(&e, -ENOMEM, "out of memory");
        nacre_close(n);
        tell(error, &e);
        return e.code;
    }
    int r = pool_begin(&n->pool, &n->allocator, n->launcher, options->warm, engine_held_mount,
                       do_chores, n);
    if (r < 0) {
        err_errno(&e, r, "cannot start a thread");
        nacre_close(n);
        tell(error, &e);
        return r;
    }
    *ret = n;
    return 0;
}

void nacre_close(nacre *n)
{
    if (!n)
        return;
    struct allocator allocator = n->allocator;
    pool_end(&n->pool);
    early_clear(n);
    reversal_tidy_now(n);
    if (n->held_hash.hash)
        fs_hash_close(n->held_hash.hash);
    keeper_end(&n->keeper);
    recording_close(n);
    policy_cache_clear(&n->policies);
    pthread_mutex_destroy(&n->held_hash.lock);
    pthread_mutex_destroy(&n->files.lock);
    looks_clear(&n->looks);
    crew_release(&n->crew);
    pthread_mutex_destroy(&n->lock);
    arena_release(&n->arena);
    alloc_free(&allocator, n);
}

/* --- one run ------------------------------------------------------------------------------ */

static int check_options(const nacre_run_options *o, struct err *e)
{
    if (o->version != NACRE_RUN_OPTIONS_VERSION)
        return err_set(e, -EINVAL, "run options of version %u, not %d", o->version,
                       NACRE_RUN_OPTIONS_VERSION);
    if (o->session && !session_is_name(o->session))
        return err_set(e, -EINVAL,
                       "a session's name has up to %d letters, digits, dots, dashes and "
                       "underscores, not '%.80s'",
                       SESSION_NAME_MAX, o->session);
    if (o->language && o->session)
        return err_set(e, -EINVAL, "a script has no session: each starts anew");
    if (o->script_args && !o->language)
        return err_set(e, -EINVAL, "arguments are for a script, which has a language");
    if (o->job && !work_is_id(o->job))
        return err_set(e, -EINVAL, "a job is called " WORK_PREFIX "UUID, not '%.80s'", o->job);
    if ((unsigned)o->keep > NACRE_KEEP_BOTH)
        return err_set(e, -EINVAL, "run options: unknown value %d of keep", (int)o->keep);
    return 0;
}

static int decide_script(struct arena *arena, const struct setting *setting,
                         const nacre_run_options *o, const char *text, size_t len,
                         struct verdict *ret, const struct shell_tree **ret_tree, struct err *e)
{
    struct script script;
    int r = script_open(arena, setting->decider.policy, setting->box.toolchains.path, o, text, len,
                        &script, e);
    return r < 0 ? r : script_decide(&setting->decider, arena, &script, NULL, ret, ret_tree, e);
}

int nacre_test(nacre *n, const char *text, size_t len, const nacre_run_options *options,
               int (*write)(void *user, const char *bytes, size_t len), void *user,
               nacre_error *error)
{
    static const nacre_run_options defaults = NACRE_RUN_OPTIONS_INIT;
    struct err e = {0};
    struct arena arena;
    struct setting setting;
    struct verdict verdict;
    const struct shell_tree *tree;
    if (!options)
        options = &defaults;
    arena_init(&arena, &n->allocator, JUDGEMENT_BYTES_MAX);
    int failure = check_options(options, &e);
    if (failure == 0)
        failure = engine_open_setting(&arena, NULL, options, &setting, &e);
    if (failure == 0)
        failure =
            options->language
                ? decide_script(&arena, &setting, options, text, len, &verdict, &tree, &e)
                : engine_decide(&setting.decider, &arena, text, len, NULL, &verdict, &tree, &e);
    if (failure == 0) {
        struct json j;
        json_init(&j, write, user);
        verdict_write_json(&verdict, &j);
        failure = json_finish(&j);
        if (failure < 0)
            err_set(&e, failure, "the verdict cannot be written");
    }
    arena_release(&arena);
    if (failure < 0)
        tell(error, &e);
    return failure;
}

/*
 * Namespaces, and what every box of this host has, take about as long to make as the verdict. Why
 * it cannot be is told when it is needed.
 */
static void open_early(nacre_result *r)
{
    struct nacre *n = r->engine;
    struct err later;
    const struct plan_host *host = NULL;
    if (sandbox_open(n->launcher, &r->sandbox, &later) < 0)
        r->sandbox = (struct sandbox)SANDBOX_NONE;
    else if (engine_host(n, &host, &later) == 0)
        spawn_send_head(r->sandbox.control, &n->allocator, host);
}

static void fail(nacre_result *r)
{
    r->status = NACRE_STATUS_ERROR;
    r->exit_code = 125;
}

static bool begin_recording(nacre_result *r, const nacre_run_options *o,
                            const struct setting *setting)
{
    struct err told = r->error;
    r->error = (struct err){0};
    phases_enter(&r->phases, PHASE_LEDGER);
    bool begun = recording_begin(r, o, setting) == 0;
    if (begun)
        r->error = told;
    else
        fail(r);
    return begun;
}

/* What is not in the ledger is not to be real. */
static void finish_recording(nacre_result *r, const nacre_run_options *o,
                             const struct setting *setting)
{
    phases_enter(&r->phases, PHASE_LEDGER);
    int failure = recording_finish(r, o, setting);
    phases_end(&r->phases);
    if (failure == 0)
        return;
    struct err why = {0};
    int back = reversal_take_back(r, setting, &why);
    if (back < 0)
        result_warn(r, "what it changed could not be taken back: %s", why.message);
    else if (back > 0)
        result_warn(r, "what it changed was taken back");
    fail(r);
}

static void run_text(nacre_result *r, const nacre_run_options *options)
{
    nacre_run_options adjusted = *options, *o = &adjusted;
    struct setting setting = {0};
    if (!r->engine->pool.size)
        open_early(r);
    bool runs = decide_text(r, o, &setting);
    if (runs && !o->terminal && !o->all_output && shape_changes_output(setting.decider.policy))
        o->on_output = NULL; /* shape_result gives it */
    /* Without a policy there was no decision. */
    bool recorded = setting.decider.policy && begin_recording(r, o, &setting);
    if (!runs || !recorded || r->asks)
        early_give_up(r);
    if (runs && recorded && r->asks) {
        r->working_dir = setting.workspace.cwd;
        runs = asking_settle(r, o, &setting);
        looks_end(&r->looks); /* that may have taken a while */
    }
    if (!runs || !recorded) {
        sandbox_release(&r->sandbox);
        if (recorded)
            finish_recording(r, o, &setting);
        return;
    }
    r->working_dir = setting.workspace.cwd;
    if (setting.workspace.is_home)
        result_warn(
            r, "the workspace '%s' holds your home directory: all of it can be read and changed",
            setting.workspace.root);
    if (contain_text(r, o, &setting) < 0)
        fail(r);
    sandbox_release(&r->sandbox); /* if it never came to its use */
    finish_recording(r, o, &setting);
    /* All of it is dead since the end was told; its guard had the time of the record to go. */
    pool_bury(&r->engine->pool, &r->ended);
    hashing_end(r);
}

int nacre_run(nacre *n, const char *text, size_t len, const nacre_run_options *options,
              nacre_result **ret, nacre_error *error)
{
    static const nacre_run_options defaults = NACRE_RUN_OPTIONS_INIT;
    struct err e = {0};
    if (!options)
        options = &defaults;
    if (check_options(options, &e) < 0) {
        tell(error, &e);
        return e.code;
    }

    nacre_result *r = result_new(n);
    if (!r) {
        err_set(&e, -ENOMEM, "out of memory");
        tell(error, &e);
        return e.code;
    }
    r->traced = options->trace;
    r->synthesis = options->language != NULL;
    /* A text that is too long is refused below; its head is enough to know it by. */
    r->text_len = len;
    r->text = arena_copy(&r->arena, text, len > NACRE_TEXT_MAX ? NACRE_TEXT_MAX : len);
    int failure = r->text ? uuid_new(r->correlation_id) : -ENOMEM;
    if (failure < 0) {
        err_errno(&e, failure, "cannot start a result");
        nacre_result_free(r);
        tell(error, &e);
        return failure;
    }
    clock_format_rfc3339(clock_utc_ms(), r->timestamp);
    pool_enter(&n->pool);
    run_text(r, options);
    looks_end(&r->looks);
    pool_leave(&n->pool);
    shape_result(r, options);
    *ret = r;
    return 0;
}
