/* From a verdict to an end: plan, sandbox, capture; see engine.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/units.h"
#include "engine/engine.h"

/* --- the plan ------------------------------------------------------------------------------- */

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
    char text[256];
    FD_CLEANUP int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n > 0) {
        text[n] = '\0';
        const char *line = strstr(text, "Umask:");
        if (line && sscanf(line, "Umask: %o", &mask) != 1)
            mask = 022;
    }
    return mask & 0777;
}

/* `r` is NULL where nothing is to run: then no layers are made. */
static int plan_with(struct nacre *n, struct arena *arena, const char *text,
                     const nacre_run_options *o, const struct setting *s,
                     enum plan_strength strength, const char *scratch, nacre_result *result,
                     struct plan *ret, struct git_guard *guard, struct notes *notes, struct err *e)
{
    struct plan_request request;
    int r = box_request(arena, &s->box, s->decider.policy, &s->workspace, s->home, o->environment,
                        strength, &request, guard, notes, e);
    if (r == 0 && result)
        r = reversal_begin(result, s, &request);
    else if (r == 0)
        r = reversal_show(arena, s, &request, e);
    if (r < 0)
        return r;
    request.text = text;
    request.umask = current_umask();
    request.scratch = scratch;
    request.limits.timeout_ms = timeout_of(o);
    const struct plan_host *host;
    r = engine_host(n, &host, e);
    return r < 0 ? r : plan_build(arena, host, &request, ret, e);
}

int engine_plan(struct nacre *n, struct arena *arena, const char *text, const nacre_run_options *o,
                const struct setting *setting, struct plan *ret, struct notes *notes, struct err *e)
{
    struct git_guard guard;
    return plan_with(n, arena, text, o, setting, PLAN_FULL, NULL, NULL, ret, &guard, notes, e);
}

/* --- the result ----------------------------------------------------------------------------- */

/* How the run ended, as status and exit code. */
static void judge(nacre_result *r, const struct run_result *run, uint64_t timeout_ms)
{
    char duration[UNITS_TEXT];
    int status = run->outcome.wait_status;
    switch (run->end) {
    case RUN_ENDED:
        if (run->outcome.survivors)
            result_warn(r, "%u process%s still running when the command ended, and %s killed",
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
        result_warn(r, "stopped at the time limit of %s; everything it had started was killed",
                    duration);
        break;
    case RUN_LIMIT:
        r->status = NACRE_STATUS_LIMIT;
        r->exit_code = 137;
        break;
    case RUN_CANCELLED:
        result_warn(r, "cancelled by the caller; everything it had started was killed");
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

/* Which limit was passed, what it was, and by what it was kept. */
static void tell_limit(nacre_result *r, const struct run_result *run, const struct policy *policy,
                       uint64_t timeout_ms)
{
    static const char *const means[] = {
        [WIRE_BY_WATCHING] = "watching",
        [WIRE_BY_CGROUP_V2] = "cgroup v2",
        [WIRE_BY_CGROUP_V1] = "cgroup v1",
    };
    const struct {
        const char *name;
        uint64_t value;
        void (*format)(uint64_t value, char ret[static UNITS_TEXT]);
    } limits[] = {
        [WIRE_LIMIT_NONE] = {NULL, 0, NULL},
        [WIRE_LIMIT_WALL] = {"timeout", timeout_ms, units_format_duration},
        [WIRE_LIMIT_CPU] = {"cpu", policy->limits.cpu_ms, units_format_duration},
        [WIRE_LIMIT_MEMORY] = {"memory", policy->limits.memory_bytes, units_format_size},
        [WIRE_LIMIT_DISK] = {"disk", policy->limits.disk_bytes, units_format_size},
    };
    char text[UNITS_TEXT];
    enum wire_limit limit = run->end == RUN_TIMEOUT ? WIRE_LIMIT_WALL : run->outcome.limit;
    if ((run->end != RUN_TIMEOUT && run->end != RUN_LIMIT) || limit > WIRE_LIMIT_DISK)
        limit = WIRE_LIMIT_NONE;
    /* Only memory has more than one keeper. */
    enum wire_means by = limit == WIRE_LIMIT_MEMORY ? run->outcome.means : WIRE_BY_WATCHING;
    r->limit.name = limits[limit].name;
    r->limit.value = limits[limit].value;
    r->limit.kept_by = limit == WIRE_LIMIT_WALL           ? "clock"
                       : (unsigned)by > WIRE_BY_CGROUP_V1 ? "?"
                                                          : means[by];
    if (run->end == RUN_LIMIT && limits[limit].name) {
        limits[limit].format(limits[limit].value, text);
        result_warn(r,
                    "stopped at the %s limit of %s (kept by %s); everything it had started was "
                    "killed",
                    limits[limit].name, text, r->limit.kept_by);
    }
    if (run->outcome.usage.spawns_refused)
        result_warn(r, "%u process%s not started: at most %llu may run at once",
                    run->outcome.usage.spawns_refused,
                    run->outcome.usage.spawns_refused == 1 ? " was" : "es were",
                    (unsigned long long)policy->limits.processes);
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
            result_warn(r, "%s was truncated at %s: bytes %llu to %llu of %llu are left out",
                        names[i], size, (unsigned long long)r->captured[i].omitted_from,
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

/* --- the run -------------------------------------------------------------------------------- */

/* The workspace in memory: made at its first use, kept as long as the handle. */
static int held_mount(struct nacre *n, const struct policy *policy, struct err *e)
{
    uint64_t bytes = policy->limits.disk_bytes ? policy->limits.disk_bytes : UINT64_C(1) << 30;
    if (policy->limits.memory_bytes && policy->limits.memory_bytes < bytes)
        bytes = policy->limits.memory_bytes;
    pthread_mutex_lock(&n->lock);
    int r = n->keeper.control >= 0 ? 0 : keeper_start(n->launcher, bytes, &n->keeper, e);
    if (r == 0)
        r = keeper_mount(&n->keeper, e);
    pthread_mutex_unlock(&n->lock);
    return r;
}

/* Starts the plan and waits for its end; the sandbox that was opened before is used first. */
static int run_plan(nacre_result *r, const struct plan *plan, const nacre_run_options *o,
                    const struct setting *setting, struct run_result *run)
{
    struct sandbox sandbox = r->sandbox;
    r->sandbox = (struct sandbox)SANDBOX_NONE;
    int failure = sandbox.launcher > 0
                      ? 0
                      : sandbox_open(r->engine->launcher, o->stdin_fd >= 0, &sandbox, &r->error);
    FD_CLEANUP int held = -1;
    if (failure == 0 && setting->workspace.in_memory)
        failure = held = held_mount(r->engine, setting->decider.policy, &r->error);
    if (failure >= 0)
        failure = sandbox_start(&sandbox, &r->engine->allocator, plan, held, &r->error);
    if (failure < 0) {
        sandbox_release(&sandbox);
        return failure;
    }
    const struct run_options run_options = {
        .timeout_ms = timeout_of(o),
        .stdin_fd = o->stdin_fd,
        .cancel_fd = o->cancel_fd,
        .on_output = o->on_output ? forward_output : NULL,
        .user = (void *)o,
    };
    failure = run_supervise(&sandbox, &run_options, r->captures, run, &r->error);
    if (failure == -ETIMEDOUT)
        sandbox_abandon(&sandbox);
    sandbox_release(&sandbox);
    return failure;
}

/* What landlock strength does without; said with every run that has to. */
static void tell_losses(nacre_result *r, unsigned abi)
{
    result_warn(r,
                "landlock strength: there are no namespaces here, so the inside sees which files "
                "and processes the host has, can change modes and times of the user's files "
                "outside, and has no /tmp of its own, no Unix sockets and no protected paths");
    if (abi < 6)
        result_warn(r, "landlock strength: this kernel's Landlock does not keep signals to the "
                       "user's other processes back; Linux 6.12 does");
}

/* The same in landlock strength, if the policy accepts that. */
static int run_weaker(nacre_result *r, const nacre_run_options *o, const struct setting *setting,
                      struct git_guard *guard, struct notes *notes, struct run_result *run)
{
    struct nacre *n = r->engine;
    const struct workspace *w = &setting->workspace;
    struct plan plan;
    const char *scratch = NULL;
    bool root = geteuid() == 0;
    uint32_t uid = root ? w->uid : geteuid(), gid = root ? w->gid : getegid();
    struct workspace owned = *w;
    owned.uid = uid;
    owned.gid = gid;
    struct setting weaker = *setting;
    weaker.workspace = owned;
    int failure = scratch_make(&r->arena, uid, gid, &scratch, &r->error);
    if (failure < 0)
        return failure;
    failure = plan_with(n, &r->arena, r->reading.canonical, o, &weaker, PLAN_LANDLOCK_ONLY, scratch,
                        r, &plan, guard, notes, &r->error);
    if (failure == 0) {
        r->strength = "landlock";
        tell_losses(r, n->host.landlock_abi); /* known since the plan was made */
        failure = run_plan(r, &plan, o, &weaker, run);
    }
    scratch_remove(scratch);
    return failure;
}

int contain_text(nacre_result *r, const nacre_run_options *o, const struct setting *setting)
{
    static const enum capture_keep keeps[] = {
        [NACRE_KEEP_HEAD] = CAPTURE_HEAD,
        [NACRE_KEEP_TAIL] = CAPTURE_TAIL,
        [NACRE_KEEP_BOTH] = CAPTURE_BOTH,
    };
    const struct policy *policy = setting->decider.policy;
    uint64_t limit = clamp(o->output_limit, NACRE_OUTPUT_DEFAULT, NACRE_OUTPUT_MAX);
    uint64_t timeout_ms = timeout_of(o);
    char most[UNITS_TEXT];
    if (limit < o->output_limit) {
        units_format_size(limit, most);
        result_warn(r, "the output limit was lowered to the largest that is possible, %s", most);
    }
    if (timeout_ms < o->timeout_ms) {
        units_format_duration(timeout_ms, most);
        result_warn(r, "the time limit was lowered to the largest that is possible, %s", most);
    }
    for (int i = 0; i < RUN_STREAMS; i++)
        capture_init(&r->captures[i], &r->engine->allocator, keeps[o->keep], limit);

    struct plan plan;
    struct run_result run = {0};
    struct notes notes = {.arena = &r->arena};
    struct git_guard guard;
    int failure = plan_with(r->engine, &r->arena, r->reading.canonical, o, setting, PLAN_FULL, NULL,
                            r, &plan, &guard, &notes, &r->error);
    if (failure < 0) {
        reversal_give_up(r);
        return failure;
    }
    for (size_t i = 0; i < notes.count; i++)
        result_warn(r, "%s", notes.items[i]);
    r->strength = "full";
    if (!o->without_hash && !setting->workspace.in_memory)
        hashing_begin(r, setting);
    failure = run_plan(r, &plan, o, setting, &run);
    if (failure == 0 && run.end == RUN_BROKEN && run.outcome.no_layer) {
        /* Once more, the second way; nothing has run yet. */
        reversal_give_up(r);
        r->no_layer = true;
        notes.count = 0;
        failure = plan_with(r->engine, &r->arena, r->reading.canonical, o, setting, PLAN_FULL, NULL,
                            r, &plan, &guard, &notes, &r->error);
        if (failure == 0)
            failure = run_plan(r, &plan, o, setting, &run);
    }
    if (failure == 0 && run.end == RUN_BROKEN && run.outcome.no_namespaces &&
        strcmp(policy->strength, "landlock") == 0) {
        notes.count = 0;
        reversal_give_up(r);
        failure = run_weaker(r, o, setting, &guard, &notes, &run);
    }
    notes.count = 0;
    git_guard_finish(&guard, &notes);
    for (size_t i = 0; i < notes.count; i++)
        result_warn(r, "%s", notes.items[i]);
    r->ran = failure == 0;
    if (failure == 0) {
        judge(r, &run, timeout_ms);
        tell_limit(r, &run, policy, timeout_ms);
        failure = r->error.code;
    }
    reversal_forbid(r, guard.absent, guard.absent_count);
    if (failure == 0)
        reversal_end(r, o, setting);
    else
        reversal_give_up(r);
    hashing_end(r);
    r->duration_ms = run.duration_ms;
    r->usage = run.outcome.usage;
    int collected = collect_output(r, limit);
    if (collected < 0 && failure == 0)
        failure = err_set(&r->error, collected, "out of memory for the output");
    return failure;
}
