/* Handle and run; see engine.h and nacre.h. */
#include "engine/engine.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/units.h"
#include "engine/version.h"

#define NACRE_SYSTEM_DIR "/etc/nacre"

enum {
    HANDLE_BYTES_MAX = 1 << 20,
    RESULT_BYTES_MAX = 32 << 20,
    SCRATCH_BYTES = 1 << 30,
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
    *n = (nacre){.allocator = allocator};
    arena_init(&n->arena, &n->allocator, HANDLE_BYTES_MAX);
    const char *launcher = options->launcher ? options->launcher : NACRE_LAUNCHER;
    n->launcher = arena_copy(&n->arena, launcher, strlen(launcher));
    if (!n->launcher)
        err_set(&e, -ENOMEM, "out of memory");
    else
        host_look(&n->arena, &n->host, &e);
    if (e.code < 0) {
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
    arena_release(&n->arena);
    alloc_free(&allocator, n);
}

/* --- one run ------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void warn(nacre_result *r, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const char *copy = arena_copy(&r->arena, text, strlen(text));
    if (copy && r->warning_count < WARNINGS_MAX)
        r->warnings[r->warning_count++] = copy;
}

/* `value`, or `normal` for 0, but never above `cap`. */
static uint64_t clamp(uint64_t value, uint64_t normal, uint64_t cap)
{
    if (value == 0)
        value = normal;
    return value > cap ? cap : value;
}

static uint64_t timeout_of(const nacre_run_options *o)
{
    return clamp(o->timeout_ms, NACRE_TIMEOUT_DEFAULT_MS, NACRE_TIMEOUT_MAX_MS);
}

/* The umask, without the race of setting it. Kernels from 4.7 tell. */
static unsigned current_umask(void)
{
    unsigned mask = 022;
    char line[256];
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof(line), f)) {
        if (sscanf(line, "Umask: %o", &mask) == 1)
            break;
    }
    if (f)
        fclose(f);
    return mask & 0777;
}

static const char *variable(const char *const *environment, const char *name)
{
    size_t len = strlen(name);
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return *environment + len + 1;
    }
    return NULL;
}

static const char *home_of(const nacre_run_options *o)
{
    return o->environment ? variable(o->environment, "HOME") : secure_getenv("HOME");
}

int engine_plan(struct nacre *n, struct arena *arena, const char *text, const nacre_run_options *o,
                struct workspace *ret_workspace, struct plan *ret, struct err *e)
{
    struct workspace w;
    int r = workspace_resolve(arena, o->workspace, o->cwd, home_of(o), &w, e);
    if (r < 0)
        return r;
    const struct plan_request request = {
        .workspace = w.root,
        .workspace_device = w.device,
        .workspace_inode = w.inode,
        .cwd = w.cwd,
        .text = text,
        .environment = o->environment,
        .umask = current_umask(),
        .scratch_bytes = SCRATCH_BYTES,
        .timeout_ms = timeout_of(o),
    };
    r = plan_build(arena, &n->host, &request, ret, e);
    if (r < 0)
        return r;
    *ret_workspace = w;
    return 0;
}

/* How the run ended, as status and exit code. */
static void judge(nacre_result *r, const struct run_result *run, uint64_t timeout_ms)
{
    char duration[UNITS_TEXT];
    int status = run->outcome.wait_status;
    switch (run->end) {
    case RUN_ENDED:
        if (run->outcome.survivors)
            warn(r, "%u process%s still running when the command ended, and %s killed",
                 run->outcome.survivors, run->outcome.survivors == 1 ? " was" : "es were",
                 run->outcome.survivors == 1 ? "was" : "were");
        if (WIFSIGNALED(status)) {
            r->status = NACRE_STATUS_KILLED;
            r->exit_code = 128 + WTERMSIG(status);
        } else {
            r->exit_code = WEXITSTATUS(status);
            r->status = r->exit_code == 0 ? NACRE_STATUS_OK : NACRE_STATUS_FAILED;
        }
        break;
    case RUN_TIMEOUT:
        r->status = NACRE_STATUS_TIMEOUT;
        r->exit_code = 124;
        units_format_duration(timeout_ms, duration);
        warn(r, "stopped at the time limit of %s; everything it had started was killed", duration);
        break;
    case RUN_CANCELLED:
        warn(r, "cancelled by the caller; everything it had started was killed");
        __attribute__((fallthrough));
    case RUN_KILLED:
        r->status = NACRE_STATUS_KILLED;
        r->exit_code = 137;
        break;
    case RUN_BROKEN:
        r->error = run->outcome.err;
        break;
    }
}

static int collect_output(nacre_result *r, uint64_t limit)
{
    static const char *const names[] = {"stdout", "stderr"};
    char size[UNITS_TEXT];
    units_format_size(limit, size);
    for (int i = 0; i < RUN_STREAMS; i++) {
        int failure = capture_finish(&r->captures[i], &r->captured[i]);
        if (failure < 0)
            return failure;
        if (r->captured[i].truncated)
            warn(r, "%s was truncated at %s: bytes %llu to %llu of %llu are left out", names[i],
                 size, (unsigned long long)r->captured[i].omitted_from,
                 (unsigned long long)r->captured[i].omitted_to,
                 (unsigned long long)r->captures[i].total);
    }
    return 0;
}

static int forward_output(void *user, enum run_stream stream, const char *bytes, size_t len)
{
    const nacre_run_options *o = user;
    return o->on_output(o->user, stream == RUN_STDOUT ? NACRE_STDOUT : NACRE_STDERR, bytes, len);
}

/* Contains and captures. On failure `r->error` says why and the status stays ERROR. */
static int run_plan(nacre_result *r, const struct plan *plan, const nacre_run_options *o)
{
    static const enum capture_keep keeps[] = {
        [NACRE_KEEP_HEAD] = CAPTURE_HEAD,
        [NACRE_KEEP_TAIL] = CAPTURE_TAIL,
        [NACRE_KEEP_BOTH] = CAPTURE_BOTH,
    };
    uint64_t limit = clamp(o->output_limit, NACRE_OUTPUT_DEFAULT, NACRE_OUTPUT_MAX);
    uint64_t timeout_ms = timeout_of(o);
    char most[UNITS_TEXT];
    if (limit < o->output_limit) {
        units_format_size(limit, most);
        warn(r, "the output limit was lowered to the largest that is possible, %s", most);
    }
    if (timeout_ms < o->timeout_ms) {
        units_format_duration(timeout_ms, most);
        warn(r, "the time limit was lowered to the largest that is possible, %s", most);
    }
    for (int i = 0; i < RUN_STREAMS; i++)
        capture_init(&r->captures[i], &r->engine->allocator, keeps[o->keep], limit);

    struct sandbox sandbox = SANDBOX_NONE;
    int failure = sandbox_start(&r->engine->allocator, r->engine->launcher, plan, o->stdin_fd >= 0,
                                &sandbox, &r->error);
    if (failure < 0)
        return failure;
    r->ran = true;

    const struct run_options run_options = {
        .timeout_ms = timeout_ms,
        .stdin_fd = o->stdin_fd,
        .cancel_fd = o->cancel_fd,
        .on_output = o->on_output ? forward_output : NULL,
        .user = (void *)o,
    };
    struct run_result run;
    failure = run_supervise(&sandbox, &run_options, r->captures, &run, &r->error);
    sandbox_release(&sandbox);
    if (failure == 0) {
        judge(r, &run, timeout_ms);
        failure = r->error.code;
    }
    r->duration_ms = run.duration_ms;
    r->cpu_us = run.outcome.cpu_us;
    r->memory_peak_bytes = run.outcome.memory_peak_bytes;
    int collected = collect_output(r, limit);
    if (collected < 0 && failure == 0)
        failure = err_set(&r->error, collected, "out of memory for the output");
    return failure;
}

static int check_options(const nacre_run_options *o, struct err *e)
{
    if (o->version != NACRE_RUN_OPTIONS_VERSION)
        return err_set(e, -EINVAL, "run options of version %u, not %d", o->version,
                       NACRE_RUN_OPTIONS_VERSION);
    if ((unsigned)o->keep > NACRE_KEEP_BOTH)
        return err_set(e, -EINVAL, "run options: unknown value %d of keep", (int)o->keep);
    return 0;
}

/* --- decide ------------------------------------------------------------------------------- */

/* The policy for these options, ready for the workspace that they mean. */
static int open_decider(struct arena *arena, const nacre_run_options *o, struct decider *ret,
                        struct err *e)
{
    struct workspace w;
    int r = workspace_resolve(arena, o->workspace, o->cwd, home_of(o), &w, e);
    if (r < 0)
        return r;
    const struct policy_request request = {
        .profile = o->profile,
        .agent = o->agent,
        .config = o->config,
        .workspace = w.root,
        .system_dir = NACRE_SYSTEM_DIR,
        .user_dir = o->config_dir,
        .allow = o->allow,
        .network = o->network,
        .read_paths = o->read_paths,
        .write_paths = o->write_paths,
        .limits = o->limits,
    };
    return engine_decider(arena, &request, &w, home_of(o), ret, e);
}

static int append_json(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

/* Whether somebody is there and says yes. */
static bool is_confirmed(const nacre_result *r, const nacre_run_options *o)
{
    if (!o->on_confirm)
        return false;
    struct buf text;
    struct json j;
    buf_init(&text, &r->engine->allocator, RESULT_BYTES_MAX);
    json_init(&j, append_json, &text);
    verdict_write_json(&r->verdict, &j);
    bool yes = json_finish(&j) == 0 && o->on_confirm(o->user, text.data, text.len) == 1;
    buf_release(&text);
    return yes;
}

static void refuse(nacre_result *r, nacre_status status, const char *what)
{
    const struct verdict_reason *first = r->verdict.reasons;
    r->status = status;
    r->exit_code = 126;
    err_set(&r->error, -EPERM, "%s%s", what, first ? first->reason : "");
}

/* What the policy says of this run's limits, where the caller leaves them open or goes past them.
 */
static void limit_by(nacre_result *r, const struct policy *policy, nacre_run_options *o)
{
    char most[UNITS_TEXT];
    if (o->timeout_ms == 0)
        o->timeout_ms = policy->default_timeout_ms;
    if (policy->limits.timeout_max_ms && o->timeout_ms > policy->limits.timeout_max_ms) {
        o->timeout_ms = policy->limits.timeout_max_ms;
        units_format_duration(o->timeout_ms, most);
        warn(r, "the time limit was lowered to the largest that the policy allows, %s", most);
    }
    uint64_t output = policy->limits.output_bytes;
    if (output && o->output_limit > output)
        warn(r, "the output limit was lowered to what the policy allows");
    if (output && (o->output_limit == 0 || o->output_limit > output))
        o->output_limit = output;
    if (policy->network == NETWORK_ON)
        warn(r, "the network stays off: sharing the host's is not built yet");
    static const struct {
        size_t offset;
        const char *name;
    } lists[] = {{offsetof(struct policy, hide), "paths.hide"},
                 {offsetof(struct policy, protect), "paths.protect"},
                 {offsetof(struct policy, read), "paths.read"},
                 {offsetof(struct policy, write), "paths.write"},
                 {offsetof(struct policy, env_pass), "env.pass"},
                 {offsetof(struct policy, env_set), "env.set"}};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        const struct policy_texts *texts =
            (const struct policy_texts *)((const char *)policy + lists[i].offset);
        for (size_t k = 0; k < texts->count; k++) {
            if (texts->items[k].origin.layer != LAYER_BUILTIN) {
                warn(r, "%s is judged, but not built into the sandbox yet", lists[i].name);
                break;
            }
        }
    }
    for (size_t i = 0; i < policy->warnings.count; i++)
        warn(r, "%s", policy->warnings.items[i].text);
}

/* Reads and judges. False: the run is over, and the result says why. */
static bool decide(nacre_result *r, nacre_run_options *o)
{
    struct decider d;
    const struct shell_tree *tree;
    if (r->text_len > NACRE_TEXT_MAX) {
        err_set(&r->error, -E2BIG, "the text has more than %d bytes", NACRE_TEXT_MAX);
        r->status = NACRE_STATUS_DENIED;
        r->exit_code = 126;
        r->rule = "parse";
        return false;
    }
    if (o->unjudged) {
        if (open_decider(&r->judgement, o, &d, &r->error) < 0)
            return false;
        limit_by(r, d.policy, o); /* its limits hold all the same */
        int failure = engine_read(&r->arena, r->text, r->text_len, &r->reading, &r->error);
        if (failure < 0 && failure != -ENOMEM) {
            r->status = NACRE_STATUS_DENIED;
            r->exit_code = 126;
            r->rule = "parse";
        }
        return failure == 0;
    }
    if (open_decider(&r->judgement, o, &d, &r->error) < 0 ||
        engine_decide(&d, &r->judgement, r->text, r->text_len, &r->verdict, &tree, &r->error) < 0)
        return false;
    r->judged = true;
    r->rule = r->verdict.rule;
    if (r->verdict.decision == DECISION_DENY) {
        refuse(r, NACRE_STATUS_DENIED, "");
        return false;
    }
    if (r->verdict.decision == DECISION_CONFIRM && !is_confirmed(r, o)) {
        refuse(r, NACRE_STATUS_NEEDS_CONFIRMATION, "needs confirmation: ");
        return false;
    }
    if (d.policy->workspace_read_only) { /* asked for, and no wall keeps it yet */
        err_set(&r->error, -ENOTSUP, "workspace: ro cannot be built into the sandbox yet");
        r->status = NACRE_STATUS_DENIED;
        r->exit_code = 126;
        r->rule = "workspace: ro";
        return false;
    }
    limit_by(r, d.policy, o);
    int failure = engine_read_tree(&r->arena, tree, &r->reading, &r->error);
    if (failure == -E2BIG) {
        r->status = NACRE_STATUS_DENIED;
        r->exit_code = 126;
        r->rule = "parse";
    }
    return failure == 0;
}

int nacre_test(nacre *n, const char *text, size_t len, const nacre_run_options *options,
               int (*write)(void *user, const char *bytes, size_t len), void *user,
               nacre_error *error)
{
    static const nacre_run_options defaults = NACRE_RUN_OPTIONS_INIT;
    struct err e = {0};
    struct arena arena;
    struct decider d;
    struct verdict verdict;
    const struct shell_tree *tree;
    if (!options)
        options = &defaults;
    arena_init(&arena, &n->allocator, JUDGEMENT_BYTES_MAX);
    int failure = check_options(options, &e);
    if (failure == 0)
        failure = open_decider(&arena, options, &d, &e);
    if (failure == 0)
        failure = engine_decide(&d, &arena, text, len, &verdict, &tree, &e);
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
    if (!decide(r, o))
        return;
    struct workspace w;
    struct plan plan;
    if (engine_plan(r->engine, &r->arena, r->reading.canonical, o, &w, &plan, &r->error) < 0)
        return;
    r->working_dir = w.cwd;
    if (w.is_home)
        warn(r, "the workspace '%s' holds your home directory: all of it can be read and changed",
             w.root);
    if (run_plan(r, &plan, o) < 0) {
        r->status = NACRE_STATUS_ERROR;
        r->exit_code = 125;
    }
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
    *r = (nacre_result){.engine = n, .status = NACRE_STATUS_ERROR, .exit_code = 125};
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
