/* Handle and run; see engine.h and nacre.h. */
#include "engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/version.h"

enum {
    HANDLE_BYTES_MAX = 1 << 20,
    RESULT_BYTES_MAX = 1 << 30,
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
    *n = (nacre){.allocator = allocator, .keeper = KEEPER_NONE};
    pthread_mutex_init(&n->lock, NULL);
    arena_init(&n->arena, &n->allocator, HANDLE_BYTES_MAX);
    const char *launcher = options->launcher ? options->launcher : NACRE_LAUNCHER;
    n->launcher = arena_copy(&n->arena, launcher, strlen(launcher));
    if (!n->launcher) {
        err_set(&e, -ENOMEM, "out of memory");
        nacre_close(n);
        tell(error, &e);
        return e.code;
    }
    *ret = n;
    return 0;
}

void nacre_close(nacre *n)
{
    if (!n)
        return;
    struct allocator allocator = n->allocator;
    keeper_end(&n->keeper);
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
    if ((unsigned)o->keep > NACRE_KEEP_BOTH)
        return err_set(e, -EINVAL, "run options: unknown value %d of keep", (int)o->keep);
    return 0;
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
        failure = engine_open_setting(&arena, options, &setting, &e);
    if (failure == 0)
        failure = engine_decide(&setting.decider, &arena, text, len, &verdict, &tree, &e);
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

static void run_text(nacre_result *r, const nacre_run_options *options)
{
    nacre_run_options adjusted = *options, *o = &adjusted;
    struct setting setting;
    struct err later; /* why it cannot be opened is told when it is needed */
    /* Namespaces take about as long to make as the verdict. */
    if (sandbox_open(r->engine->launcher, o->stdin_fd >= 0, &r->sandbox, &later) < 0)
        r->sandbox = (struct sandbox)SANDBOX_NONE;
    bool runs = decide_text(r, o, &setting);
    if (!runs) {
        sandbox_release(&r->sandbox);
        return;
    }
    r->working_dir = setting.workspace.cwd;
    if (setting.workspace.is_home)
        result_warn(
            r, "the workspace '%s' holds your home directory: all of it can be read and changed",
            setting.workspace.root);
    if (contain_text(r, o, &setting) < 0) {
        r->status = NACRE_STATUS_ERROR;
        r->exit_code = 125;
    }
    sandbox_release(&r->sandbox); /* if it never came to its use */
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

    nacre_result *r = alloc_resize(&n->allocator, NULL, sizeof(*r));
    if (!r) {
        err_set(&e, -ENOMEM, "out of memory");
        tell(error, &e);
        return e.code;
    }
    *r = (nacre_result){
        .engine = n,
        .status = NACRE_STATUS_ERROR,
        .exit_code = 125,
        .sandbox = SANDBOX_NONE,
        .transaction = TRANSACTION_NONE,
        .hashing = {.root = -1},
    };
    r->conflicts.arena = &r->arena;
    arena_init(&r->arena, &n->allocator, RESULT_BYTES_MAX);
    arena_init(&r->judgement, &n->allocator, JUDGEMENT_BYTES_MAX);
    for (int i = 0; i < RUN_STREAMS; i++) {
        capture_init(&r->captures[i], &n->allocator, CAPTURE_HEAD, 0);
        r->captured[i].text = "";
    }
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
    run_text(r, options);
    *ret = r;
    return 0;
}
