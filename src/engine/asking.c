/*
 * A verdict of CONFIRM becomes a question, and the question an answer; see engine.h.
 *
 * In this order: an answer that was given before (approve.h), the policy's judge, whoever the
 * caller can ask, and else anybody who may, from elsewhere, while the question is pending.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "approve/approve.h"
#include "base/fd.h"
#include "base/path.h"
#include "engine/engine.h"
#include "engine/surroundings.h"

enum {
    VERDICT_BYTES_MAX = QUESTION_VERDICT_MAX,
    INPUT_HASHED_MAX = 16 << 20,
    SWEEP_BYTES_MAX = 1 << 30,
    LOOK_MS = 100, /* how soon an answer is seen */
};

/* One run that asks. */
struct asking {
    nacre_result *r;
    const nacre_run_options *o;
    const struct setting *setting;
    struct question q;
};

const char *asking_user(struct arena *arena, unsigned uid)
{
    /* A static program cannot load other name services: then it is the number alone. */
    FILE *file = fopen("/etc/passwd", "re");
    char room[4096];
    struct passwd entry, *found = NULL;
    while (file && fgetpwent_r(file, &entry, room, sizeof(room), &found) == 0 && found &&
           found->pw_uid != uid)
        found = NULL;
    const char *text = found ? arena_format(arena, "uid %u (%s)", uid, found->pw_name)
                             : arena_format(arena, "uid %u", uid);
    if (file)
        fclose(file);
    return text;
}

/* --- the question ---------------------------------------------------------------------------- */

/*
 * What it reads, where that can be known without taking it away: a file, to its end. What was
 * hashed is what it then gets, whatever becomes of the file.
 */
static const char *fix_input(nacre_result *r, nacre_run_options *o)
{
    struct stat st;
    struct sha256 hash;
    unsigned char digest[SHA256_BYTES];
    char piece[1 << 14], hex[SHA256_HEX + 1];
    struct buf bytes;
    ssize_t n = 1;
    if (o->stdin_fd < 0)
        return "none";
    off_t at = lseek(o->stdin_fd, 0, SEEK_CUR);
    if (fstat(o->stdin_fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
        return "none"; /* /dev/null, which it gets without one as well */
    if (fstat(o->stdin_fd, &st) < 0 || !S_ISREG(st.st_mode) || at < 0 ||
        st.st_size > INPUT_HASHED_MAX)
        return "unknown";
    buf_init(&bytes, &r->engine->allocator, INPUT_HASHED_MAX);
    for (; n > 0 && !bytes.failed; at += n) {
        n = pread(o->stdin_fd, piece, sizeof(piece), at);
        if (n > 0)
            buf_append(&bytes, piece, (size_t)n);
    }
    int copy = n < 0 || bytes.failed ? -1 : fd_sealed_memory("stdin", bytes.data, bytes.len);
    if (copy >= 0) {
        sha256_start(&hash);
        sha256_add(&hash, bytes.data, bytes.len);
        sha256_end(&hash, digest);
        sha256_hex(digest, hex);
        fd_close(&r->input);
        r->input = o->stdin_fd = copy;
    }
    buf_release(&bytes);
    return copy < 0 ? "unknown" : arena_copy(&r->arena, hex, SHA256_HEX);
}

/* Everything that it is about; the verdict is JSON. */
static void describe(const struct asking *a, enum question_kind kind, const char *verdict,
                     size_t len, struct question *ret)
{
    nacre_result *r = a->r;
    const struct policy *policy = a->setting->decider.policy;
    struct question q = {
        .kind = kind,
        .asked_ms = clock_utc_ms(),
        .waits = kind == QUESTION_RUN && a->o->wait_for_answer,
        .text = r->text,
        .text_len = r->text_len,
        .canonical = r->reading.canonical,
        .canonical_len = r->reading.canonical ? strlen(r->reading.canonical) : 0,
        .language = r->script.language,
        .script = r->script.bytes,
        .script_len = r->script.len,
        .workspace = a->setting->workspace.root,
        .directory = a->setting->workspace.cwd,
        .agent = a->o->agent,
        .profile = a->o->profile,
        .session = a->o->session,
        .config = a->o->config,
        .input = "none",
        .mandate_hash = policy->hash,
        .key = policy->approvals.key,
        .user = asking_user(&r->arena, getuid()),
        .verdict = verdict,
        .verdict_len = len,
    };
    if (kind == QUESTION_RUN)
        q.expires_ms = q.asked_ms + (int64_t)policy->approvals.timeout_ms;
    memcpy(q.id, r->correlation_id, sizeof(q.id));
    question_bind(&q);
    *ret = q;
}

static const char *first_reason(const nacre_result *r)
{
    return r->verdict.reasons ? r->verdict.reasons->reason : "";
}

static int record(const struct asking *a, enum entry_kind kind, const char *id, const char *status,
                  const char *by, const char *detail)
{
    const struct recorded_question what = {
        .kind = kind, .id = id, .status = status, .by = by, .detail = detail};
    return recording_ask(a->r, a->o, a->setting, &what);
}

/* --- the ends -------------------------------------------------------------------------------- */

static bool fail(nacre_result *r)
{
    r->status = NACRE_STATUS_ERROR;
    r->exit_code = 125;
    return false;
}

static bool refuse(nacre_result *r, nacre_status status)
{
    r->status = status;
    r->exit_code = 126;
    return false;
}

/* By which answers count, now. */
static struct approve_rules rules_of(const struct policy *policy)
{
    return (struct approve_rules){.key = policy->approvals.key,
                                  .now_ms = clock_utc_ms(),
                                  .timeout_ms = policy->approvals.timeout_ms};
}

/* An answer that was found, or came. */
static bool obey(struct asking *a, const struct answer *answer)
{
    nacre_result *r = a->r;
    const char *by =
        arena_format(&r->arena, "%s%s%s%s", answer->by, answer->is_signed ? ", signed by " : "",
                     answer->is_signed ? answer->key_name : "",
                     answer->scope == ANSWER_JOB ? ", for this job" : "");
    if (!answer->yes) {
        err_set(&r->error, -EPERM, "denied by %s%s%s", by ? by : "?",
                answer->reason && answer->reason[0] ? ": " : "",
                answer->reason ? answer->reason : "");
        return refuse(r, NACRE_STATUS_DENIED);
    }
    const char *detail = arena_format(&r->arena, "%s, by run %s", answer_scope_names[answer->scope],
                                      r->correlation_id);
    r->recording.confirmed_by =
        arena_format(&r->arena, "%s (question %.8s)", by ? by : "?", answer->id);
    if (r->arena.failed)
        err_set(&r->error, -ENOMEM, "out of memory");
    return !r->arena.failed && record(a, ENTRY_USED, answer->id, NULL, by, detail) == 0 ? true
                                                                                        : fail(r);
}

/* --- a judge --------------------------------------------------------------------------------- */

/* Nothing that the inside can write to, or has led elsewhere, judges it: neither the program nor
 * a file that it is told of, as a script is. `ret` is where the path leads. */
static bool is_out_of_reach(const struct asking *a, const char *path, char ret[PATH_MAX])
{
    struct stat st;
    const char *const *writable = a->setting->box.writable;
    return surroundings_resolve(path, 0, writable, ret, &st) == 0 &&
           !surroundings_is_below(ret, writable) && !path_is_below(ret, a->setting->workspace.root);
}

static bool is_judge_fit(const struct asking *a, const char *const *argv, char ret[PATH_MAX])
{
    char real[PATH_MAX];
    bool fit = is_out_of_reach(a, argv[0], ret);
    for (size_t i = 1; fit && argv[i]; i++)
        fit = argv[i][0] != '/' || is_out_of_reach(a, argv[i], real) ||
              (access(argv[i], F_OK) < 0 &&
               !surroundings_is_below(argv[i], a->setting->box.writable));
    return fit;
}

/* 1: it accepts; 0: it rejects, and the result says so; -EAGAIN: a person is to be asked. */
static int ask_judge(struct asking *a)
{
    nacre_result *r = a->r;
    const struct policy *policy = a->setting->decider.policy;
    const struct policy_texts *words = &policy->approvals.judge;
    const char **argv = arena_alloc_array(&r->arena, words->count + 1, sizeof(*argv));
    struct judge_answer answer = {0};
    struct buf text;
    char program[PATH_MAX];
    if (!argv)
        return -ENOMEM;
    for (size_t i = 0; i < words->count; i++)
        argv[i] = words->items[i].text;
    if (!is_judge_fit(a, argv, program)) {
        result_warn(r,
                    "the judge '%s' was not asked: it is not there, or in reach of what it "
                    "would judge",
                    argv[0]);
        return -EAGAIN;
    }
    buf_init(&text, &r->engine->allocator, QUESTION_BYTES_MAX);
    int failure = question_write_public(&a->q, &text, &r->error);
    if (failure == 0)
        approve_judge(program, argv, policy->approvals.judge_timeout_ms, a->o->cancel_fd, text.data,
                      text.len, &answer);
    buf_release(&text);
    const char *by = arena_format(&r->arena, "judge %s", argv[0]);
    if (failure == 0)
        failure = record(a, ENTRY_ANSWER, NULL, judge_word_names[answer.word], by, answer.reason);
    if (failure < 0)
        return failure;
    if (answer.word == JUDGE_ACCEPT) {
        r->recording.confirmed_by = by;
        return 1;
    }
    if (answer.word == JUDGE_ESCALATE) {
        result_warn(r, "%s: %.200s", by ? by : "judge",
                    answer.reason[0] ? answer.reason : "a person is to be asked");
        return -EAGAIN;
    }
    err_set(&r->error, -EPERM, "denied by %s%s%.300s", by ? by : "a judge",
            answer.reason[0] ? ": " : "", answer.reason);
    refuse(r, NACRE_STATUS_DENIED);
    return 0;
}

/* --- whoever the caller can ask -------------------------------------------------------------- */

static bool may_be_asked(const struct asking *a)
{
    const struct policy *policy = a->setting->decider.policy;
    return a->o->on_confirm && !policy->approvals.key &&
           (a->o->confirm_by == NACRE_CONFIRM_PERSON || policy->approvals.elicit);
}

/* 1: yes; 0: no; -EAGAIN: nobody was there. */
static int ask_here(struct asking *a)
{
    nacre_result *r = a->r;
    int said = a->o->on_confirm(a->o->user, a->q.verdict, a->q.verdict_len);
    if (said < 0)
        return -EAGAIN;
    bool client = a->o->confirm_by == NACRE_CONFIRM_CLIENT;
    const char *who = asking_user(&r->arena, getuid());
    const char *by = client ? arena_format(&r->arena, "client of %s", who ? who : "?") : who;
    int failure = record(a, ENTRY_ANSWER, NULL, said == 1 ? "yes" : "no", by,
                         client ? "elicited through a client" : "at a terminal");
    if (failure < 0)
        return failure;
    if (said == 1) {
        r->recording.confirmed_by = by;
        return 1;
    }
    err_set(&r->error, -EPERM, "not confirmed: %s", first_reason(r));
    refuse(r, NACRE_STATUS_NEEDS_CONFIRMATION);
    return 0;
}

/* --- whoever may, from elsewhere ------------------------------------------------------------- */

static bool is_cancelled(int fd, int timeout_ms)
{
    struct pollfd cancel = {.fd = fd, .events = POLLIN};
    return poll(&cancel, 1, timeout_ms) > 0;
}

/* Waits for the answer to our own question. */
static bool wait_for(struct asking *a)
{
    nacre_result *r = a->r;
    const char *state = a->setting->state_dir;
    const struct policy *policy = a->setting->decider.policy;
    uint64_t deadline = clock_monotonic_ms() + policy->approvals.timeout_ms;
    struct answer answer;
    int taken = 0;
    bool cancelled = false, late = false;
    while (taken == 0 && !cancelled && !late) {
        const struct approve_rules rules = rules_of(policy);
        /* Answers that do not count are read over and over: not into an arena that stays. */
        struct arena look;
        arena_init(&look, &r->engine->allocator, SWEEP_BYTES_MAX);
        taken = approve_take_own(&look, state, &a->q, &rules, &answer, &r->error);
        if (taken > 0) {
            answer.by = answer.by ? arena_copy(&r->arena, answer.by, strlen(answer.by)) : "?";
            answer.reason =
                answer.reason ? arena_copy(&r->arena, answer.reason, strlen(answer.reason)) : NULL;
        }
        arena_release(&look);
        late = taken == 0 && clock_monotonic_ms() >= deadline;
        cancelled = taken == 0 && !late && is_cancelled(a->o->cancel_fd, LOOK_MS);
    }
    if (taken > 0)
        return obey(a, &answer);
    if (taken < 0 && taken != -ENOENT) {
        approve_withdraw(state, a->q.id);
        return fail(r);
    }
    approve_withdraw(state, a->q.id);
    r->error = (struct err){0};
    if (record(a, ENTRY_EXPIRED, NULL, late ? "expired" : "withdrawn", NULL,
               late        ? "nobody answered in time"
               : cancelled ? "the caller did not wait"
                           : "somebody removed it") < 0)
        return fail(r);
    err_set(&r->error, -EPERM, "%s: %s",
            late        ? "denied, since nobody answered in time"
            : cancelled ? "needs confirmation, which was not waited for"
                        : "needs confirmation, and the question was taken away",
            first_reason(r));
    return refuse(r, late ? NACRE_STATUS_DENIED : NACRE_STATUS_NEEDS_CONFIRMATION);
}

/* How to answer, for whoever reads the result. */
static bool tell_pending(struct asking *a, const char *id)
{
    nacre_result *r = a->r;
    const struct policy *policy = a->setting->decider.policy;
    err_set(&r->error, -EPERM,
            "needs confirmation: %s (`nacre approve %.8s` or `nacre deny %.8s` answers; then ask "
            "again)",
            first_reason(r), id, id);
    if (policy->approvals.key)
        result_warn(r, "question %s waits for an answer that is signed with the key of '%.*s'", id,
                    (int)strcspn(policy->approvals.key, "+"), policy->approvals.key);
    return refuse(r, NACRE_STATUS_NEEDS_CONFIRMATION);
}

/* Another call has asked the same while we asked others. */
static bool was_asked(struct asking *a, const char *id)
{
    const char *detail =
        arena_format(&a->r->arena, "the same was asked at the same time, as %s", id);
    if (record(a, ENTRY_EXPIRED, NULL, "withdrawn", NULL, detail) < 0)
        return fail(a->r);
    if (a->o->on_pending)
        a->o->on_pending(a->o->user, id);
    return tell_pending(a, id);
}

static bool be_pending(struct asking *a)
{
    nacre_result *r = a->r;
    const char *state = a->setting->state_dir;
    char id[UUID_TEXT + 1];
    FD_CLEANUP int lock = -1;
    FD_CLEANUP int alone = a->q.waits ? -1 : approve_lock(state);
    int same = a->q.waits ? 0
                          : approve_find_same(&r->arena, state, a->q.binding, a->q.asked_ms, id,
                                              &r->error);
    if (same != 0)
        return same < 0 ? fail(r) : was_asked(a, id);
    int failure = approve_ask(state, &a->q, &lock, &r->error);
    fd_close(&alone); /* whoever asks the same finds it */
    if (failure == -E2BIG || failure == -EMFILE) {
        struct err why = r->error;
        err_set(&r->error, -EPERM, "needs confirmation: %.200s; it cannot be asked: %.200s",
                first_reason(r), why.message);
        return refuse(r, NACRE_STATUS_NEEDS_CONFIRMATION);
    }
    if (failure < 0)
        return fail(r);
    if (a->o->on_pending && a->o->on_pending(a->o->user, a->q.id) != 0) {
        approve_withdraw(state, a->q.id);
        if (record(a, ENTRY_EXPIRED, NULL, "withdrawn", NULL, "the caller did not wait") < 0)
            return fail(r);
        err_set(&r->error, -EPERM, "needs confirmation, which was not waited for: %s",
                first_reason(r));
        return refuse(r, NACRE_STATUS_NEEDS_CONFIRMATION);
    }
    return a->q.waits ? wait_for(a) : tell_pending(a, a->q.id);
}

/* --- all of it ------------------------------------------------------------------------------- */

struct sweeping {
    struct nacre *n;
    const char *state;
};

static void tell_gone(void *user, const char *id, bool withdrawn)
{
    const struct sweeping *s = user;
    const struct recorded_question what = {.kind = ENTRY_EXPIRED,
                                           .id = id,
                                           .status = withdrawn ? "withdrawn" : "expired",
                                           .detail = withdrawn ? "whoever waited for it is gone"
                                                               : "nobody answered in time"};
    struct err ignored;
    recording_note_answer(s->n, s->state, &what, &ignored);
}

void asking_sweep(struct nacre *n, const char *state_dir)
{
    struct arena arena;
    struct sweeping s = {.n = n, .state = state_dir};
    arena_init(&arena, &n->allocator, SWEEP_BYTES_MAX);
    approve_sweep(&arena, state_dir, clock_utc_ms(), tell_gone, &s);
    arena_release(&arena);
}

/* An answer that somebody gave before, to the same question. */
static int take_given(struct asking *a, struct answer *ret)
{
    const struct policy *policy = a->setting->decider.policy;
    const struct approve_rules rules = rules_of(policy);
    if (!a->o->unrecorded)
        asking_sweep(a->r->engine, a->setting->state_dir);
    return approve_take(&a->r->arena, a->setting->state_dir, a->q.binding, &rules, ret,
                        &a->r->error);
}

static bool settle(struct asking *a)
{
    nacre_result *r = a->r;
    const char *state = a->setting->state_dir;
    struct answer answer;
    int said = state ? take_given(a, &answer) : 0;
    if (said < 0)
        return fail(r);
    if (said > 0)
        return obey(a, &answer);
    char id[UUID_TEXT + 1];
    bool waits = a->q.waits || may_be_asked(a);
    int same = waits || !state ? 0
                               : approve_find_same(&r->arena, state, a->q.binding, a->q.asked_ms,
                                                   id, &r->error);
    if (same < 0)
        return fail(r);
    if (same > 0) { /* it was asked, and nobody has answered yet */
        if (a->o->on_pending)
            a->o->on_pending(a->o->user, id);
        return tell_pending(a, id);
    }
    if (record(a, ENTRY_QUESTION, NULL, NULL, NULL, NULL) < 0)
        return fail(r);
    said = -EAGAIN;
    if (a->setting->decider.policy->approvals.judge.count)
        said = ask_judge(a);
    if (said == -EAGAIN && may_be_asked(a))
        said = ask_here(a);
    if (said == -EAGAIN && !state) {
        err_set(&r->error, -EPERM,
                "needs confirmation: %s; there is no state directory in which the question could "
                "be kept",
                first_reason(r));
        return refuse(r, NACRE_STATUS_NEEDS_CONFIRMATION);
    }
    if (said == -EAGAIN)
        return be_pending(a);
    return said < 0 ? fail(r) : said == 1;
}

bool asking_settle(nacre_result *r, nacre_run_options *o, const struct setting *setting)
{
    struct asking a = {.r = r, .o = o, .setting = setting};
    struct buf verdict;
    struct json j;
    phases_enter(&r->phases, PHASE_CONFIRM);
    buf_init(&verdict, &r->engine->allocator, VERDICT_BYTES_MAX);
    json_init_buf(&j, &verdict);
    verdict_write_json(&r->verdict, &j);
    if (json_finish(&j) < 0 || verdict.failed) {
        err_set(&r->error, -EPERM, "needs confirmation: %s; it is too much to be asked about",
                first_reason(r));
        buf_release(&verdict);
        return refuse(r, NACRE_STATUS_NEEDS_CONFIRMATION);
    }
    describe(&a, QUESTION_RUN, verdict.data, verdict.len, &a.q);
    a.q.input = fix_input(r, o);
    question_bind(&a.q);
    bool runs = r->arena.failed ? fail(r) : settle(&a);
    buf_release(&verdict);
    r->asks = false;
    return runs;
}

void asking_hold(nacre_result *r, const nacre_run_options *o, const struct setting *setting,
                 const char *reasons, size_t len)
{
    struct asking a = {.r = r, .o = o, .setting = setting};
    struct err why = {0};
    int ignored = -1;
    if (!setting->state_dir)
        return;
    describe(&a, QUESTION_CHANGES, reasons, len, &a.q);
    struct err told = r->error;
    r->error = (struct err){0};
    int failure = record(&a, ENTRY_QUESTION, NULL, NULL, NULL, "whether the changes become real");
    if (failure == 0)
        failure = approve_ask(setting->state_dir, &a.q, &ignored, &why);
    else
        why = r->error;
    r->error = told;
    /* The changes are held all the same, and can be approved by their id. */
    if (failure < 0)
        result_warn(r, "`nacre pending` does not list it: %s", why.message);
}
