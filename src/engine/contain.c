/* From a verdict to an end: plan, sandbox, capture; see engine.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/units.h"
#include "engine/denials.h"
#include "engine/engine.h"
#include "shell/shell.h"

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
unsigned engine_umask(void)
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

/* Variables that bash reads or sets itself: what it starts has other values of them. */
static bool is_for_bash(const char *variable)
{
    static const char *const names[] = {
        "COLUMNS",  "DIRSTACK", "ENV",        "EPOCHREALTIME",   "EPOCHSECONDS", "EUID",
        "FUNCNAME", "GROUPS",   "HISTCMD",    "HOSTNAME",        "HOSTTYPE",     "IFS",
        "LINENO",   "LINES",    "MACHTYPE",   "OLDPWD",          "OPTARG",       "OPTERR",
        "OPTIND",   "OSTYPE",   "PIPESTATUS", "POSIXLY_CORRECT", "PPID",         "PS4",
        "PWD",      "RANDOM",   "SECONDS",    "SHELLOPTS",       "SHLVL",        "SRANDOM",
        "UID",      "_",
    };
    size_t len = strcspn(variable, "=");
    bool found = strncmp(variable, "BASH", 4) == 0;
    for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++)
        found = strlen(names[i]) == len && memcmp(names[i], variable, len) == 0;
    return found;
}

/* Whether a text is a plain command that bash would execute as it stands. */
static bool needs_no_shell(const struct reading *reading, const struct plan_request *request)
{
    enum { WORDS_MAX = 1000 }; /* a plan has so many steps */
    if (!reading->argc || reading->argc > WORDS_MAX || !reading->argv[0][0] ||
        reading->argv[0][0] == '%' || shell_is_builtin(reading->argv[0]))
        return false;
    for (size_t i = 0; i < request->variables.count; i++) {
        if (is_for_bash(request->variables.items[i]))
            return false;
    }
    return true;
}

/* `r` is NULL where nothing is to run: then no layers are made. */
static int plan_once(struct nacre *n, struct arena *arena, const char *text,
                     const nacre_run_options *o, const struct setting *s,
                     enum plan_strength strength, const char *scratch, nacre_result *result,
                     struct plan *ret, struct git_guard *guard, struct notes *notes, struct err *e)
{
    struct plan_request request;
    int r = box_request(arena, &s->box, s->decider.policy, &s->workspace, s->home, o->environment,
                        strength, &request, guard, notes, e);
    if (o->workspace_only)
        request.write = (struct plan_places){0};
    if (r == 0 && result)
        r = reversal_begin(result, s, &request);
    else if (r == 0)
        r = reversal_show(arena, s, &request, e);
    if (r == 0)
        r = reversal_hide_state(arena, s, &request, e);
    if (r == 0)
        r = reversal_hide_policy(arena, o, &request, e);
    if (r < 0)
        return r;
    request.text = text;
    if (s->script)
        request.script = s->script->file;
    if (o->session) {
        request.session_fd = WIRE_SESSION_FD;
        request.text = session_wrap(arena, text, WIRE_SESSION_FD);
        if (!request.text)
            return err_set(e, -ENOMEM, "out of memory");
    } else if (result && needs_no_shell(&result->reading, &request))
        request.words = (struct plan_texts){result->reading.argv, result->reading.argc};
    request.umask = o->umask >= 0 ? (unsigned)o->umask & 0777 : engine_umask();
    request.deterministic = o->deterministic;
    request.combined = strcmp(s->decider.policy->output.mode, "combined") == 0;
    request.scratch = scratch;
    request.limits.timeout_ms = timeout_of(o);
    const struct plan_host *host;
    r = engine_host(n, &host, e);
    if (r < 0 || (result && warm_take(result, host, &request, o, s, ret)))
        return r;
    return plan_build(arena, host, &request, ret, e);
}

/* The same, once more where something was begun that is not what is wanted now. */
static int plan_with(struct nacre *n, struct arena *arena, const char *text,
                     const nacre_run_options *o, const struct setting *s,
                     enum plan_strength strength, const char *scratch, nacre_result *result,
                     struct plan *ret, struct git_guard *guard, struct notes *notes, struct err *e)
{
    size_t noted = notes ? notes->count : 0;
    int r = plan_once(n, arena, text, o, s, strength, scratch, result, ret, guard, notes, e);
    if (!result || !result->early.of)
        return r;
    early_give_up(result);
    *e = (struct err){0};
    notes->count = noted;
    return plan_once(n, arena, text, o, s, strength, scratch, result, ret, guard, notes, e);
}

int engine_plan(struct nacre *n, struct arena *arena, const char *text, const nacre_run_options *o,
                const struct setting *setting, struct plan *ret, struct notes *notes, struct err *e)
{
    struct git_guard guard;
    return plan_with(n, arena, text, o, setting, PLAN_FULL, NULL, NULL, ret, &guard, notes, e);
}

/* --- the result ----------------------------------------------------------------------------- */

/* How the run ended, as status and exit code. */
static void judge(nacre_result *r, const struct run_result *run, uint64_t timeout_ms,
                  uint64_t input_timeout_ms)
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
        if (run->waits)
            result_warn(r,
                        "it waited for standard input, on which nothing came: `< /dev/null` says "
                        "that there is none");
        break;
    case RUN_STARVED:
        r->status = NACRE_STATUS_TIMEOUT;
        r->exit_code = 124;
        result_warn(r,
                    "stopped: the command waited for input that %s; everything it had started "
                    "was killed",
                    input_timeout_ms ? "did not come in the time it may take" : "cannot come");
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

/* Programs that were stopped before they began: which, by what, and what would let them run. */
static void tell_stopped(nacre_result *r)
{
    const struct programs *p = &r->programs;
    for (size_t i = 0; i < p->stopped_count; i++) {
        const struct stopped *s = &p->stopped[i];
        char times[32] = "";
        if (s->times > 1)
            snprintf(times, sizeof(times), ", %llu times", (unsigned long long)s->times);
        result_warn(r, "'%.120s' was stopped before it began%s: %.160s%s%.120s%s", s->name, times,
                    s->rule, s->key ? " (" : "", s->key ? s->key : "",
                    s->key ? " decides that)" : "");
    }
    if (p->stopped_more)
        result_warn(r, "%llu more programs were stopped before they began",
                    (unsigned long long)p->stopped_more);
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

/* What a model is to make of a script's end. */
static int analyse(nacre_result *r, const struct policy *policy)
{
    const struct captured *out = &r->captured[RUN_STDOUT], *err = &r->captured[RUN_STDERR];
    const struct script_outcome outcome = {
        .command = r->text,
        .command_len = r->text_len,
        .exit_code = r->exit_code,
        .output = out->text,
        .output_len = out->len,
        .errors = err->text,
        .errors_len = err->len,
    };
    struct buf text;
    buf_init(&text, &r->engine->allocator, 4 * (size_t)NACRE_OUTPUT_MAX);
    int failure = script_analyse(policy->messages.analysis, &outcome, &text);
    if (failure == 0) {
        r->analysis = arena_copy(&r->arena, text.data, text.len);
        r->analysis_len = text.len;
        failure = r->analysis ? 0 : -ENOMEM;
    }
    buf_release(&text);
    return failure;
}

/* Of a run that failed: which walls explain what it said. */
static void tell_denials(nacre_result *r, const struct plan *plan, bool combined)
{
    const char *texts[DENIALS_MAX];
    const struct captured *errors = &r->captured[combined ? RUN_STDOUT : RUN_STDERR];
    size_t count = denials_find(&r->arena, plan, errors->text, errors->len, texts);
    for (size_t i = 0; i < count; i++)
        result_warn(r, "%s", texts[i]);
}

/* What the supervision calls back with. */
struct caller {
    nacre_result *result;
    const struct policy *policy;
    const nacre_run_options *options;
    const struct setting *setting;
};

/* Whoever is told the id finds the run in the ledger by it. */
static int tell_start(const struct caller *caller)
{
    nacre_result *r = caller->result;
    const nacre_run_options *o = caller->options;
    if (!o->on_start || r->start_told)
        return 0;
    int failure = recording_sync(r);
    if (failure < 0)
        return failure;
    r->start_told = true;
    return o->on_start(o->user, r->correlation_id) != 0 ? -ECANCELED : 0;
}

static int use_the_time(void *user)
{
    const struct caller *caller = user;
    hashing_begin(caller->result, caller->options, caller->setting);
    reversal_tidy(caller->result);
    recording_tidy(caller->result, caller->policy);
    return 0;
}

static int sync_intent(void *user)
{
    const struct caller *caller = user;
    return recording_sync(caller->result);
}

static int note_start(void *user)
{
    const struct caller *caller = user;
    phases_enter(&caller->result->phases, PHASE_RUN);
    return tell_start(caller);
}

static int take_output(void *user, enum run_stream stream, const char *bytes, size_t len)
{
    const struct caller *caller = user;
    return recording_read(caller->result, stream, bytes, len);
}

static int forward_output(void *user, enum run_stream stream, const char *bytes, size_t len)
{
    const struct caller *caller = user;
    const nacre_run_options *o = caller->options;
    return !o->on_output ? 0
                         : o->on_output(o->user, stream == RUN_STDOUT ? NACRE_STDOUT : NACRE_STDERR,
                                        bytes, len);
}

/* --- the run -------------------------------------------------------------------------------- */

/* The workspace in memory: made at its first use, kept as long as the handle. */
int engine_memory_mount(struct nacre *n, const struct policy *policy, struct err *e)
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

int engine_held_mount(void *handle)
{
    struct nacre *n = handle;
    struct err ignored;
    pthread_mutex_lock(&n->lock);
    int r = n->keeper.control >= 0 ? keeper_mount(&n->keeper, &ignored) : -EAGAIN;
    pthread_mutex_unlock(&n->lock);
    return r;
}

static unsigned flags_of(const nacre_run_options *o)
{
    return (o->stdin_fd >= 0 ? SANDBOX_INPUT : 0) | (o->session ? SANDBOX_SESSION : 0) |
           (o->terminal ? SANDBOX_TERMINAL : 0);
}

/* Whether the text has a command that is not the shell's own, as far as is known. */
static bool starts_programs(const nacre_result *r)
{
    const struct act *act = r->judged && r->verdict.facts ? r->verdict.facts->acts : NULL;
    bool builtins = act != NULL;
    for (; builtins && act; act = act->next)
        builtins = act->name && act->word_count && shell_is_builtin(act->words[0].text);
    return !builtins;
}

/* Starts the plan and waits for its end; the sandbox that was opened before is used first. */
static int run_plan(nacre_result *r, const struct plan *plan, const nacre_run_options *o,
                    const struct setting *setting, struct run_result *run)
{
    struct sandbox sandbox = r->sandbox;
    r->sandbox = (struct sandbox)SANDBOX_NONE;
    sandbox_release(&r->ended); /* of a first try */
    int failure = sandbox.launcher > 0 ? 0 : sandbox_open(r->engine->launcher, &sandbox, &r->error);
    FD_CLEANUP int held = -1;
    if (failure == 0 && setting->workspace.in_memory && !r->warm)
        failure = held = engine_memory_mount(r->engine, setting->decider.policy, &r->error);
    if (failure >= 0)
        failure = recording_start(r, o, setting);
    if (failure >= 0 && r->warm) {
        const struct plan rest = {plan->steps + r->built, plan->count - r->built};
        failure = sandbox_go(&sandbox, &r->engine->allocator, &rest, o->stdin_fd >= 0, &r->error);
    } else if (failure >= 0)
        failure =
            sandbox_start(&sandbox, &r->engine->allocator, plan, flags_of(o), held, &r->error);
    const char *waiting_for = r->warm ? r->reading.canonical : NULL;
    const struct programs how = {
        .socket = sandbox.programs,
        .crew = &r->engine->crew,
        .judges = !o->unjudged,
        .expected = starts_programs(r),
        .setting = setting,
        .memory = &r->engine->files,
        .confirmed = r->judged && r->verdict.decision == DECISION_CONFIRM ? &r->verdict : NULL,
        .plan = plan,
        .waiting_for = waiting_for,
        .replaced = waiting_for && r->plain,
    };
    if (failure >= 0)
        failure = programs_begin(&r->programs, &how, &r->engine->allocator, &r->error);
    if (failure < 0) {
        sandbox_release(&sandbox);
        return failure;
    }
    struct caller caller = {
        .result = r, .policy = setting->decider.policy, .options = o, .setting = setting};
    r->tee = o->all_output ? forward_output : NULL;
    /* Both are taken away again below. */
    /* cppcheck-suppress autoVariables */
    r->tee_user = &caller;
    const struct run_options run_options = {
        .timeout_ms = timeout_of(o),
        .stdin_fd = o->stdin_fd,
        .cancel_fd = o->cancel_fd,
        .terminal = o->terminal,
        .size_fd = o->terminal_size_fd,
        .input_timeout_ms = o->input_timeout_ms,
        .on_output = o->on_output && !o->all_output ? forward_output : NULL,
        .on_start = use_the_time,
        .on_lasting = sync_intent,
        .on_built = note_start,
        .on_read = take_output,
        .user = &caller,
        .session = o->session ? &r->remembered.came : NULL,
    };
    failure = run_supervise(&sandbox, &run_options, r->captures, run, &r->error);
    programs_end(&r->programs);
    r->tee = NULL;
    r->tee_user = NULL;
    if (failure == -ETIMEDOUT)
        sandbox_abandon(&sandbox);
    else if (failure == 0 && run->end != RUN_BROKEN)
        tell_start(&caller); /* it was over before it was seen to begin: too late to kill */
    r->ended = sandbox;
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
    /* There is no place for a script that is not the host's own: it lies with the rest. */
    struct script script = r->script;
    const struct policy *policy = setting->decider.policy;
    if (setting->script && script.file.path) {
        failure = script_move(&r->arena, policy, setting->box.toolchains.path, o, scratch, &script,
                              &r->error);
        if (failure == 0)
            failure = engine_read(&r->arena, script.text, script.text_len, &r->reading, &r->error);
        weaker.script = &script;
    }
    if (failure == 0)
        failure = plan_with(n, &r->arena, r->reading.canonical, o, &weaker, PLAN_LANDLOCK_ONLY,
                            scratch, r, &plan, guard, notes, &r->error);
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

    phases_enter(&r->phases, PHASE_PLAN);
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
    phases_enter(&r->phases, PHASE_LEDGER);
    failure = recording_intend(r, o, setting);
    if (failure < 0) {
        reversal_give_up(r);
        return failure;
    }
    phases_enter(&r->phases, PHASE_WALLS);
    if (r->transaction.dir < 0) /* without a layer it is to be looked at before */
        hashing_begin(r, o, setting);
    failure = run_plan(r, &plan, o, setting, &run);
    bool no_pool = r->warm && !run.outcome.built;
    if (failure == 0 && run.end == RUN_BROKEN && (run.outcome.no_layer || no_pool)) {
        /* Once more, the second way; nothing has run yet. */
        reversal_give_up(r);
        r->no_layer = r->no_layer || run.outcome.no_layer;
        r->no_pool = no_pool;
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
    phases_enter(&r->phases, PHASE_CHANGES);
    if (failure == 0)
        recording_file_output(r);
    notes.count = 0;
    git_guard_finish(&guard, &notes);
    for (size_t i = 0; i < notes.count; i++)
        result_warn(r, "%s", notes.items[i]);
    r->ran = failure == 0;
    if (failure == 0) {
        judge(r, &run, timeout_ms, o->input_timeout_ms);
        tell_limit(r, &run, policy, timeout_ms);
        tell_stopped(r);
        failure = recording_redact_programs(r);
        failure = failure < 0 ? failure : r->error.code;
    }
    reversal_forbid(r, guard.absent, guard.absent_count);
    if (failure == 0 && o->session) /* which is kept, whatever becomes of its changes */
        failure = recording_sync(r);
    /* A session lasts longer than its commands, and each of them has its own. */
    if (r->transaction.dir >= 0)
        r->commit_point = o->stage ? "commit" : o->session ? "command" : "end";
    if (failure == 0)
        reversal_end(r, o, setting);
    else
        reversal_give_up(r);
    if (o->session)
        remember_end(r, &plan);
    r->duration_ms = run.duration_ms;
    r->usage = run.outcome.usage;
    int collected = collect_output(r, limit);
    if (collected == 0 && r->ran && r->exit_code != 0)
        tell_denials(r, &plan, strcmp(policy->output.mode, "combined") == 0);
    /* What was ended by a limit, or by somebody, has not ended a task. */
    bool cut_off = r->status == NACRE_STATUS_TIMEOUT || r->status == NACRE_STATUS_LIMIT ||
                   r->status == NACRE_STATUS_KILLED;
    if (collected == 0 && r->ran && !cut_off && policy->output.submit)
        r->answer =
            answer_find(&r->arena, r->captured[RUN_STDOUT].text, r->captured[RUN_STDOUT].len);
    if (collected == 0 && r->ran && r->script.language)
        collected = analyse(r, policy);
    if (collected < 0 && failure == 0)
        failure = err_set(&r->error, collected, "out of memory for the output");
    return failure;
}
