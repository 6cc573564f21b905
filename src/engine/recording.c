/*
 * Every decision and every run, in the ledger; see engine.h.
 *
 * E1  Nothing is written down that the redactor has not seen.
 * E2  The intent is durable before anything of the run is real: before the start where it has the
 *     network or cannot be undone, before the commit otherwise. A run that lasts syncs it on the
 *     way; one that is over soon and changed nothing leaves it to the sync of its result.
 * E3  The result is durable before it is given away. Where that fails, what the run made real is
 *     taken back, and the result says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/engine.h"
#include "history/object.h"
#include "history/running.h"

enum {
    ENTRY_BUF_MAX = 1 << 16,
    REDACTED_MAX = 64 << 20,
    INLINE_MAX = 2048, /* bytes of output, likewise */
    REASONS_MAX = 16,
    SAID_MAX = 256,
};

struct opened_ledger {
    struct opened_ledger *next;
    struct ledger *ledger;
    pthread_mutex_t lock; /* for what the ledger says besides, to whichever run is at it */
    /* A crash that the ledger mended when it was opened or written: told in an entry of its own. */
    bool cut;
    char cut_text[SAID_MAX];
    char not_sent[SAID_MAX];  /* why the latest checkpoint was not sent on; empty: it was */
    char key[SHA256_HEX + 1]; /* of where its checkpoints go */
    char state[];             /* directory */
};

/* --- the ledger ------------------------------------------------------------------------------ */

static void take_notice(void *user, const struct ledger_notice *notice)
{
    struct opened_ledger *o = user;
    const char *text = notice->text ? notice->text : "";
    pthread_mutex_lock(&o->lock);
    if (notice->kind == LEDGER_NOTICE_HOOK) {
        snprintf(o->not_sent, sizeof(o->not_sent), "%s", text);
    } else if (notice->kind == LEDGER_NOTICE_CUT) {
        o->cut = true;
        snprintf(o->cut_text, sizeof(o->cut_text), "ledger: %s", text[0] ? text : "cut");
    }
    pthread_mutex_unlock(&o->lock);
}

static int append(struct ledger *ledger, const struct entry *entry, bool wait,
                  struct ledger_place *ret, struct err *e)
{
    struct buf bytes;
    buf_init(&bytes, &allocator_libc, ENTRY_BUF_MAX);
    int r = entry_write(entry, &bytes, e);
    if (r == 0)
        r = wait ? ledger_append(ledger, bytes.data, bytes.len, ret, e)
                 : ledger_append_later(ledger, bytes.data, bytes.len, ret, e);
    buf_release(&bytes);
    return r;
}

/* What happened to the ledger itself, before anything else that is said in it. */
static int tell_cut(struct opened_ledger *o, struct err *e)
{
    char time[CLOCK_RFC3339 + 1], text[sizeof(o->cut_text)];
    pthread_mutex_lock(&o->lock);
    const bool cut = o->cut;
    memcpy(text, o->cut_text, sizeof(text));
    o->cut = false;
    pthread_mutex_unlock(&o->lock);
    if (!cut)
        return 0;
    clock_format_rfc3339(clock_utc_ms(), time);
    const struct entry entry = {.kind = ENTRY_RECOVERY, .time = time, .detail = text};
    struct ledger_place place;
    int r = append(o->ledger, &entry, false, &place, e);
    if (r < 0) {
        pthread_mutex_lock(&o->lock);
        o->cut = true;
        pthread_mutex_unlock(&o->lock);
    }
    return r;
}

/* Why a checkpoint was not sent on; what was not sent before may have been since. */
static void take_not_sent(struct opened_ledger *o, char ret[static SAID_MAX])
{
    pthread_mutex_lock(&o->lock);
    memcpy(ret, o->not_sent, sizeof(o->not_sent));
    o->not_sent[0] = '\0';
    pthread_mutex_unlock(&o->lock);
}

/* Where its checkpoints go, as the policy has it. */
static size_t find_hooks(const struct policy *policy, struct ledger_hook hooks[LEDGER_HOOKS_MAX])
{
    static const struct {
        const char *prefix;
        enum ledger_hook_kind kind;
    } kinds[] = {{"file:", LEDGER_HOOK_FILE},
                 {"command:", LEDGER_HOOK_COMMAND},
                 {"syslog", LEDGER_HOOK_SYSLOG}};
    size_t count = 0;
    for (size_t i = 0; policy && i < policy->ledger.send.count && count < LEDGER_HOOKS_MAX; i++) {
        const char *text = policy->ledger.send.items[i].text;
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            size_t len = strlen(kinds[k].prefix);
            if (strncmp(text, kinds[k].prefix, len) == 0)
                hooks[count++] = (struct ledger_hook){.kind = kinds[k].kind,
                                                      .target = text[len] ? text + len : NULL,
                                                      .every_ms = policy->ledger.every_ms};
        }
    }
    return count;
}

static void key_of(const struct ledger_hook *hooks, size_t count, char ret[SHA256_HEX + 1])
{
    struct sha256 hash;
    unsigned char digest[SHA256_BYTES];
    sha256_start(&hash);
    for (size_t i = 0; i < count; i++) {
        const char *target = hooks[i].target ? hooks[i].target : "";
        sha256_add(&hash, &hooks[i].kind, sizeof(hooks[i].kind));
        sha256_add(&hash, &hooks[i].every_ms, sizeof(hooks[i].every_ms));
        sha256_add(&hash, target, strlen(target) + 1);
    }
    sha256_end(&hash, digest);
    sha256_hex(digest, ret);
}

/* One for each state directory and each way of sending checkpoints on; without a policy, any. */
static int open_ledger(struct nacre *n, const char *state, const struct policy *policy,
                       struct opened_ledger **ret, struct err *e)
{
    int r = 0;
    struct ledger_hook hooks[LEDGER_HOOKS_MAX];
    size_t hook_count = find_hooks(policy, hooks);
    char key[SHA256_HEX + 1];
    key_of(hooks, hook_count, key);
    pthread_mutex_lock(&n->lock);
    struct opened_ledger *o = n->ledgers;
    while (o && (strcmp(o->state, state) != 0 || (policy && strcmp(o->key, key) != 0)))
        o = o->next;
    if (!o) {
        char dir[PATH_MAX];
        size_t len = strlen(state);
        o = alloc_resize(&n->allocator, NULL, sizeof(*o) + len + 1);
        if (o && (size_t)snprintf(dir, sizeof(dir), "%s/ledger", state) < sizeof(dir)) {
            *o = (struct opened_ledger){.next = n->ledgers};
            pthread_mutex_init(&o->lock, NULL);
            memcpy(o->state, state, len + 1);
            memcpy(o->key, key, sizeof(key));
            const struct ledger_options options = {.flags = LEDGER_CREATE,
                                                   .hooks = hooks,
                                                   .hook_count = hook_count,
                                                   .notice = take_notice,
                                                   .user = o};
            r = store_make_dirs(state);
            if (r == 0)
                r = ledger_open(dir, &options, &o->ledger, e);
            else
                err_errno(e, r, "cannot make '%s'", state);
        } else {
            r = err_set(e, -ENOMEM, "out of memory");
        }
        if (r == 0) {
            n->ledgers = o;
        } else if (o) {
            alloc_free(&n->allocator, o);
            o = NULL;
        }
    }
    if (r == 0 && o)
        r = tell_cut(o, e);
    pthread_mutex_unlock(&n->lock);
    if (r == 0)
        *ret = o;
    return r;
}

void recording_close(struct nacre *n)
{
    while (n->ledgers) {
        struct opened_ledger *o = n->ledgers;
        n->ledgers = o->next;
        ledger_close(o->ledger);
        alloc_free(&n->allocator, o);
    }
}

/* --- texts without secrets (E1) -------------------------------------------------------------- */

static const struct redactor *output_redactor(const struct recording *rec)
{
    return rec->output_redactor ? rec->output_redactor : rec->redactor;
}

/* Redacted, in the result's arena. A failure is remembered by the arena or in `*failure`. */
static struct entry_text redact_by(nacre_result *r, const struct redactor *redactor,
                                   const char *bytes, size_t len, int *failure)
{
    struct recording *rec = &r->recording;
    struct entry_text none = {0};
    struct buf out;
    size_t count = 0;
    if (!bytes || *failure < 0)
        return none;
    buf_init(&out, &allocator_libc, REDACTED_MAX);
    *failure = redact_text(redactor, bytes, len, &out, &count, &r->error);
    struct entry_text text = {.len = out.len};
    if (*failure == 0) {
        text.bytes = arena_copy(&r->arena, out.data, out.len);
        rec->redactions += count;
        if (!text.bytes)
            *failure = err_set(&r->error, -ENOMEM, "out of memory for the record");
    }
    buf_release(&out);
    return *failure < 0 ? none : text;
}

/* Paths and what nacre itself says: files of the workspace have no say in that. */
static struct entry_text redact_bytes(nacre_result *r, const char *bytes, size_t len, int *failure)
{
    return redact_by(r, r->recording.redactor, bytes, len, failure);
}

static const char *redact(nacre_result *r, const char *text, int *failure)
{
    return text ? redact_bytes(r, text, strlen(text), failure).bytes : NULL;
}

/* --- entries --------------------------------------------------------------------------------- */

/* Once for intent and result: its bytes as an object, and its arguments. */
static int fill_script(nacre_result *r, const nacre_run_options *o, struct entry_script *ret)
{
    struct entry_script *script = &r->recording.script;
    size_t count = 0;
    int failure = 0;
    if (r->script.language && !script->language) {
        uint64_t before = r->recording.redactions;
        struct entry_text text =
            redact_by(r, output_redactor(&r->recording), r->script.bytes, r->script.len, &failure);
        script->bytes = r->script.len;
        script->redacted = r->recording.redactions != before;
        r->recording.redactions = before; /* each entry has its own, and this is one of neither */
        while (o->script_args && o->script_args[count])
            count++;
        const char **args = arena_alloc_array(&r->arena, count + 1, sizeof(*args));
        for (size_t i = 0; args && i < count; i++)
            args[i] = redact_by(r, output_redactor(&r->recording), o->script_args[i],
                                strlen(o->script_args[i]), &failure)
                          .bytes;
        if (failure == 0)
            failure = args ? object_put(r->recording.objects, text.bytes, text.len, script->object,
                                        &r->error)
                           : -ENOMEM;
        script->args = args;
        script->arg_count = count;
        if (failure == 0)
            script->language = r->script.language;
    }
    *ret = *script;
    return failure;
}

/* What intent and result share. */
static int fill(nacre_result *r, const nacre_run_options *o, const struct setting *setting,
                struct entry *entry)
{
    static const char *const decisions[] = {
        [DECISION_DENY] = "deny", [DECISION_CONFIRM] = "confirm", [DECISION_ALLOW] = "allow"};
    const struct policy *policy = setting->decider.policy;
    int failure = 0;
    size_t len = r->text_len > NACRE_TEXT_MAX ? NACRE_TEXT_MAX : r->text_len;
    entry->id = r->correlation_id;
    entry->agent = redact(r, o->agent, &failure);
    entry->session = o->session;
    entry->job = o->job;
    entry->profile = redact(r, policy->profile, &failure);
    entry->workspace = redact(r, setting->workspace.root, &failure);
    entry->working_dir = redact(r, r->working_dir, &failure);
    entry->user = arena_format(&r->arena, "%u", (unsigned)getuid());
    entry->command = redact_by(r, output_redactor(&r->recording), r->text, len, &failure);
    if (r->reading.canonical &&
        (strlen(r->reading.canonical) != len || memcmp(r->reading.canonical, r->text, len) != 0))
        entry->canonical = redact_by(r, output_redactor(&r->recording), r->reading.canonical,
                                     strlen(r->reading.canonical), &failure);
    if (r->judged) {
        entry->verdict = decisions[r->verdict.decision];
        entry->rule = redact(r, r->rule, &failure);
    }
    if (failure == 0)
        failure = fill_script(r, o, &entry->script);
    entry->mandate_hash = policy->hash;
    entry->network = r->recording.network;
    entry->confirmed_by = r->recording.confirmed_by;
    return failure < 0 ? failure : r->arena.failed ? -ENOMEM : 0;
}

static int fill_reasons(nacre_result *r, struct entry *entry)
{
    struct entry_reason *reasons = arena_alloc_array(&r->arena, REASONS_MAX, sizeof(*reasons));
    size_t count = 0;
    int failure = reasons ? 0 : -ENOMEM;
    for (const struct verdict_reason *reason = r->judged ? r->verdict.reasons : NULL;
         failure == 0 && reason && count < REASONS_MAX; reason = reason->next)
        reasons[count++] = (struct entry_reason){.rule = redact(r, reason->rule, &failure),
                                                 .reason = redact(r, reason->reason, &failure)};
    entry->reasons = reasons;
    entry->reason_count = count;
    return failure;
}

/* In the order of the list; a file that was renamed is told once. */
static int fill_changes(nacre_result *r, struct entry_changes *ret)
{
    static const enum entry_change_kind kinds[CHANGE_KINDS] = {
        [CHANGE_CREATED] = ENTRY_CREATED,
        [CHANGE_MODIFIED] = ENTRY_MODIFIED,
        [CHANGE_DELETED] = ENTRY_DELETED,
        [CHANGE_TOUCHED] = ENTRY_TOUCHED,
    };
    const struct change_set *set = &r->changes;
    struct entry_change *items =
        arena_alloc_array(&r->arena, set->change_count + 1, sizeof(*items));
    int failure = items ? 0 : -ENOMEM;
    ret->known = true;
    ret->bytes = set->bytes;
    ret->items = items;
    for (size_t i = 0; failure == 0 && i < set->change_count; i++) {
        const struct change *c = &set->changes[i];
        if (c->kind == CHANGE_KEPT || c->kind == CHANGE_NONE || c->from)
            continue;
        struct entry_change item = {.kind = c->to ? ENTRY_RENAMED : kinds[c->kind]};
        item.path = redact(r, changes_show_path(set, c->root, c->path, &r->arena), &failure);
        if (c->to)
            item.to = redact(r, changes_show_path(set, c->root, c->to, &r->arena), &failure);
        ret->counts[item.kind]++;
        items[ret->count++] = item;
    }
    if (failure < 0 || ret->count <= ENTRY_CHANGES_MAX)
        return failure;
    struct buf all;
    buf_init(&all, &allocator_libc, REDACTED_MAX);
    failure = entry_write_changes(ret, &all, &r->error);
    if (failure == -E2BIG) {
        /* Too long even for an object: their number and their hash are in the entry. */
        r->error = (struct err){0};
        buf_release(&all);
        return 0;
    }
    if (failure == 0)
        failure = object_put(r->recording.objects, all.data, all.len, ret->hash, &r->error);
    buf_release(&all);
    return failure;
}

/* Takes the frames, and puts those that are too large for an entry where objects are. */
static void *file_output(void *user)
{
    struct recording *rec = user;
    struct filing *f = &rec->filing;
    f->failure = transcript_take(&rec->transcript, &f->frames, f->hashes);
    if (f->failure < 0)
        err_set(&f->err, f->failure, "out of memory for the record");
    else if (f->frames.len > INLINE_MAX)
        f->failure = object_put(rec->objects, f->frames.data, f->frames.len, f->object, &f->err);
    return NULL;
}

void recording_file_output(nacre_result *r)
{
    struct recording *rec = &r->recording;
    if (!rec->ledger || r->captures[RUN_STDOUT].total + r->captures[RUN_STDERR].total <= INLINE_MAX)
        return; /* is done in less time than a thread takes to start */
    crew_start(&r->engine->crew, &rec->filing.task, file_output, rec); /* else it is done later */
}

static int fill_output(nacre_result *r, struct entry_output *ret)
{
    struct recording *rec = &r->recording;
    const struct filing *f = &rec->filing;
    if (f->task.started)
        crew_wait(&r->engine->crew, &rec->filing.task);
    else
        file_output(rec);
    int failure = f->failure;
    if (failure < 0)
        r->error = f->err;
    struct entry_stream *const streams[] = {
        [RUN_STDOUT] = &ret->stdout_stream, [RUN_STDERR] = &ret->stderr_stream};
    ret->known = true;
    for (enum run_stream i = 0; i < RUN_STREAMS; i++) {
        streams[i]->bytes = r->captures[i].total;
        streams[i]->truncated = r->captured[i].truncated || rec->transcript.omitted;
        memcpy(streams[i]->hash, f->hashes[i], SHA256_BYTES);
    }
    if (failure == 0 && f->frames.len > INLINE_MAX) {
        memcpy(ret->object, f->object, sizeof(ret->object));
    } else if (failure == 0 && f->frames.len) {
        ret->frames.bytes = arena_copy(&r->arena, f->frames.data, f->frames.len);
        ret->frames.len = f->frames.len;
    }
    rec->redactions += transcript_redactions(&rec->transcript);
    return failure;
}

static int fill_warnings(nacre_result *r, struct entry *entry)
{
    const char **warnings = arena_alloc_array(&r->arena, WARNINGS_MAX, sizeof(*warnings));
    int failure = warnings ? 0 : -ENOMEM;
    for (size_t i = 0; failure == 0 && i < r->warning_count; i++)
        warnings[i] = redact(r, r->warnings[i], &failure);
    entry->warnings = warnings;
    entry->warning_count = failure == 0 ? r->warning_count : 0;
    return failure;
}

/*
 * One program's words, redacted. What is secret only with the word before it (--password X) is
 * found in the whole line; then it is the line that is kept, cut where it has spaces.
 */
static int fill_program(nacre_result *r, const struct executed *from, struct entry_program *to)
{
    const struct redactor *redactor = output_redactor(&r->recording);
    uint64_t before = r->recording.redactions;
    int failure = 0;
    struct buf line;
    const char **argv = arena_alloc_array(&r->arena, from->argc + 1, sizeof(*argv));
    if (!argv)
        return -ENOMEM;
    buf_init(&line, &allocator_libc, REDACTED_MAX);
    for (size_t i = 0; failure == 0 && i < from->argc; i++) {
        size_t len = strlen(from->argv[i]);
        argv[i] = redact_by(r, redactor, from->argv[i], len, &failure).bytes;
        if (failure == 0)
            failure = buf_append(&line, from->argv[i], len);
        if (failure == 0)
            failure = buf_append_byte(&line, ' ');
    }
    *to = (struct entry_program){
        .argv = argv,
        .argc = from->argc,
        .argc_total = from->argc_total > from->argc ? from->argc_total : 0,
        .exit_code = from->exit_code,
    };
    uint64_t words = r->recording.redactions - before;
    struct entry_text whole =
        redact_by(r, redactor, line.len ? line.data : NULL, line.len, &failure);
    uint64_t all = r->recording.redactions - before - words;
    buf_release(&line);
    r->recording.redactions = before + (all > words ? all : words);
    if (failure < 0 || all <= words)
        return failure;
    char *at = arena_copy(&r->arena, whole.bytes, whole.len);
    if (!at)
        return -ENOMEM;
    for (to->argc = 0; to->argc < from->argc && *at; to->argc++) {
        argv[to->argc] = at;
        at += strcspn(at, " ");
        if (*at && to->argc + 1 < from->argc)
            *at++ = '\0';
    }
    return 0;
}

int recording_redact_programs(nacre_result *r)
{
    struct programs *p = &r->programs;
    int failure = 0;
    for (size_t i = 0; failure == 0 && !r->recording.sees_secrets && i < p->count; i++) {
        struct entry_program redacted;
        failure = fill_program(r, &p->items[i], &redacted);
        if (failure < 0)
            break;
        p->items[i].argv = redacted.argv;
        p->items[i].argc = redacted.argc;
    }
    return failure;
}

static int fill_executed(nacre_result *r, struct entry *entry)
{
    const struct programs *p = &r->programs;
    struct entry_program *programs = arena_alloc_array(&r->arena, p->count + 1, sizeof(*programs));
    int failure = programs ? 0 : -ENOMEM;
    for (size_t i = 0; failure == 0 && i < p->count; i++)
        failure = fill_program(r, &p->items[i], &programs[i]);
    entry->executed = programs;
    entry->executed_count = failure == 0 ? p->count : 0;
    entry->executed_total = p->total - p->replaced > p->count ? p->total - p->replaced : 0;
    return failure;
}

static int fill_run(nacre_result *r, struct entry *entry)
{
    entry->strength = r->strength;
    entry->has_exit_code = true;
    entry->exit_code = r->exit_code;
    entry->duration_ms = r->duration_ms;
    entry->has_resources = true;
    entry->cpu_ms = r->usage.cpu_us / 1000;
    entry->memory_peak_bytes = r->usage.memory_peak_bytes;
    entry->processes_peak = r->usage.processes_peak;
    entry->bytes_written = r->usage.bytes_written;
    entry->limit = r->limit.name;
    entry->fs_hash_before = r->fs_hash_before[0] ? r->fs_hash_before : NULL;
    entry->fs_hash_after = r->fs_hash_after[0] ? r->fs_hash_after : NULL;
    entry->has_reversible = true;
    entry->reversible = r->reversible;
    int failure = r->changes_known ? fill_changes(r, &entry->changes) : 0;
    if (failure == 0)
        failure = fill_executed(r, entry);
    return failure < 0 ? failure : fill_output(r, &entry->output);
}

/* Should it be lost, the entry comes once more, which does no harm. */
static void leave_mark(const char *path)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    if (!slash ||
        (size_t)snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path) >= sizeof(dir))
        return;
    int fd = store_make_dirs(dir) < 0
                 ? -1
                 : open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    fd_close(&fd);
}

/* A policy that was not met before is kept as an object, so that its hash can be understood. */
static int note_policy(nacre_result *r, const struct setting *setting, struct opened_ledger *o)
{
    const struct policy *policy = setting->decider.policy;
    const char *mark = arena_format(&r->arena, "%s/policies/%s", o->state, policy->hash);
    char name[SHA256_HEX + 1], time[CLOCK_RFC3339 + 1];
    if (!mark)
        return err_set(&r->error, -ENOMEM, "out of memory");
    if (access(mark, F_OK) == 0)
        return 0;
    struct buf text;
    struct json j;
    int failure = 0;
    buf_init(&text, &allocator_libc, REDACTED_MAX);
    json_init_buf(&j, &text);
    policy_write_canonical(policy, &j);
    failure = json_finish(&j);
    struct entry_text redacted = redact_bytes(r, text.data, text.len, &failure);
    if (failure == 0)
        failure = object_put(r->recording.objects, redacted.bytes, redacted.len, name, &r->error);
    buf_release(&text);
    clock_format_rfc3339(clock_utc_ms(), time);
    const struct entry entry = {.kind = ENTRY_POLICY,
                                .time = time,
                                .mandate_hash = policy->hash,
                                .agent = policy->agent,
                                .profile = policy->profile,
                                .object = name};
    struct ledger_place place;
    if (failure == 0)
        failure = append(o->ledger, &entry, false, &place, &r->error);
    if (failure == 0)
        leave_mark(mark);
    return failure;
}

/* --- the life of one ------------------------------------------------------------------------- */

int recording_begin(nacre_result *r, const nacre_run_options *o, const struct setting *setting)
{
    struct recording *rec = &r->recording;
    struct opened_ledger *opened = NULL;
    rec->sees_secrets = !setting->decider.policy->redact_all;
    rec->network = setting->decider.policy->network == NETWORK_ON;
    const char *replacement = setting->decider.policy->redact_as;
    const char *workspace = setting->workspace.in_memory ? NULL : setting->workspace.root;
    int failure =
        secrets_redactors(&r->arena, o->environment, setting->home, workspace, replacement,
                          setting->box.looks, &rec->redactor, &rec->output_redactor, &r->error);
    if (failure < 0)
        return err_context(&r->error, failure, "cannot record");
    if (o->unrecorded)
        return 0;
    if (!setting->state_dir) {
        result_warn(r, "not recorded: there is no state directory (HOME or XDG_STATE_HOME)");
        return 0;
    }
    failure =
        open_ledger(r->engine, setting->state_dir, setting->decider.policy, &opened, &r->error);
    if (failure == 0) {
        rec->ledger = opened->ledger;
        rec->state = opened->state;
        rec->opened = opened;
        rec->objects = arena_format(&r->arena, "%s/objects", opened->state);
        failure = rec->objects ? note_policy(r, setting, opened) : -ENOMEM;
    }
    return failure < 0 ? err_context(&r->error, failure, "cannot record") : 0;
}

int recording_note_mended(nacre_result *r)
{
    static const char *const what[JOURNAL_STATES] = {
        [JOURNAL_NONE] = "it was cut off before its changes were real: they were removed",
        [JOURNAL_HELD] = "it was cut off: its changes are held",
        [JOURNAL_APPLYING] = "it was cut off: its changes are not whole",
        [JOURNAL_APPLIED] = "it was cut off while its changes became real: that was finished",
        [JOURNAL_UNDOING] = "it was cut off: its changes are not whole",
        [JOURNAL_UNDONE] = "it was cut off while its changes were taken back: that was finished",
        [JOURNAL_STRANDED] =
            "it was cut off, and is real in part: somebody changed its places since",
    };
    const struct mended *mended = &r->transaction.mended;
    int failure = 0;
    for (size_t i = 0; r->recording.ledger && failure == 0 && i < mended->count; i++) {
        char time[CLOCK_RFC3339 + 1];
        clock_format_rfc3339(clock_utc_ms(), time);
        if (mended->items[i].state == JOURNAL_STRANDED)
            result_warn(r, "run %.8s: %s (`nacre undo %.8s` when they are as they were)",
                        mended->items[i].id, what[JOURNAL_STRANDED], mended->items[i].id);
        const struct entry entry = {.kind = ENTRY_RECOVERY,
                                    .time = time,
                                    .id = mended->items[i].id,
                                    .detail = what[mended->items[i].state]};
        struct ledger_place place;
        failure = append(r->recording.ledger, &entry, false, &place, &r->error);
    }
    return failure;
}

int recording_intend(nacre_result *r, const nacre_run_options *o, const struct setting *setting)
{
    struct recording *rec = &r->recording;
    if (!rec->ledger)
        return 0;
    if (recording_note_mended(r) < 0)
        return err_context(&r->error, r->error.code, "cannot record");
    struct entry entry = {.kind = ENTRY_INTENT, .time = r->timestamp};
    int failure = fill(r, o, setting, &entry);
    struct ledger_place place = {0};
    if (failure == 0)
        failure = append(rec->ledger, &entry, false, &place, &r->error);
    if (failure < 0)
        return err_context(&r->error, failure, "cannot record");
    rec->intended = true;
    rec->intent = place.index;
    /* Only for whoever looks meanwhile. */
    struct err ignored;
    if (running_begin(rec->state, rec->intent, &rec->running, &ignored) < 0)
        rec->running = -1;
    return 0;
}

int recording_start(nacre_result *r, const nacre_run_options *o, const struct setting *setting)
{
    struct recording *rec = &r->recording;
    int failure = 0;
    transcript_release(&rec->transcript); /* of a first try, which ran nothing */
    buf_init(&rec->filing.frames, &allocator_libc, REDACTED_MAX);
    rec->transcribes = rec->ledger || !rec->sees_secrets;
    if (rec->transcribes)
        failure =
            transcript_begin(&rec->transcript, output_redactor(rec), &r->engine->allocator,
                             o->output_limit ? o->output_limit : NACRE_OUTPUT_DEFAULT, &r->error);
    bool waits =
        rec->network || (!r->reversible && (!setting->workspace.in_memory || r->writes_outside));
    return failure == 0 && waits ? recording_sync(r) : failure;
}

int recording_sync(nacre_result *r)
{
    struct recording *rec = &r->recording;
    if (!rec->intended || rec->durable)
        return 0;
    int failure = ledger_sync(rec->ledger, rec->intent, &r->error);
    rec->durable = failure == 0;
    return failure < 0 ? err_context(&r->error, failure, "cannot record") : 0;
}

static int to_caller(void *user, enum run_stream stream, const char *bytes, size_t len)
{
    nacre_result *r = user;
    int failure = capture_add(&r->captures[stream], bytes, len);
    return failure == 0 && r->tee ? r->tee(r->tee_user, stream, bytes, len) : failure;
}

int recording_read(nacre_result *r, enum run_stream stream, const char *bytes, size_t len)
{
    struct recording *rec = &r->recording;
    struct transcript *t = &rec->transcript;
    struct err why = {0};
    int failure = 0;
    if (!rec->transcribes)
        return bytes ? to_caller(r, stream, bytes, len) : 0;
    t->pass_on = rec->sees_secrets ? NULL : to_caller;
    t->user = r;
    if (bytes && rec->sees_secrets)
        failure = to_caller(r, stream, bytes, len);
    if (failure == 0)
        failure = bytes ? transcript_add(t, stream, bytes, len, &why)
                        : transcript_finish(t, stream, &why);
    if (failure < 0 && !r->error.code)
        r->error = why;
    return failure;
}

int recording_ask(nacre_result *r, const nacre_run_options *o, const struct setting *setting,
                  const struct recorded_question *what)
{
    struct recording *rec = &r->recording;
    char time[CLOCK_RFC3339 + 1];
    struct ledger_place place;
    if (!rec->ledger)
        return 0;
    clock_format_rfc3339(clock_utc_ms(), time);
    struct entry entry = {.kind = what->kind, .time = time};
    int failure = what->kind == ENTRY_QUESTION ? fill(r, o, setting, &entry) : 0;
    if (failure == 0 && what->kind == ENTRY_QUESTION)
        failure = fill_reasons(r, &entry);
    entry.id = what->id ? what->id : r->correlation_id;
    entry.status = what->status;
    entry.confirmed_by = redact(r, what->by, &failure);
    entry.detail = redact(r, what->detail, &failure);
    if (failure == 0)
        failure = append(rec->ledger, &entry, false, &place, &r->error);
    return failure < 0 ? err_context(&r->error, failure, "cannot record") : 0;
}

int recording_finish(nacre_result *r, const nacre_run_options *o, const struct setting *setting)
{
    struct recording *rec = &r->recording;
    char time[CLOCK_RFC3339 + 1];
    if (!rec->ledger)
        return 0;
    struct err told = r->error;
    r->error = (struct err){0};
    rec->redactions = 0; /* those of the intent are the same */
    clock_format_rfc3339(clock_utc_ms(), time);
    struct entry entry = {.kind = ENTRY_RESULT,
                          .time = time,
                          .status = nacre_result_status_name(r),
                          .has_intent = rec->intended,
                          .intent = rec->intent};
    int failure = fill(r, o, setting, &entry);
    if (failure == 0)
        failure = fill_reasons(r, &entry);
    if (failure == 0 && r->ran)
        failure = fill_run(r, &entry);
    if (failure == 0)
        failure = fill_warnings(r, &entry);
    if (failure == 0 && told.code)
        entry.error = redact(r, told.message, &failure);
    entry.redactions = rec->redactions;
    if (failure == 0)
        failure = append(rec->ledger, &entry, true, &rec->place, &r->error);
    rec->placed = failure == 0;
    char not_sent[SAID_MAX];
    take_not_sent(rec->opened, not_sent);
    if (not_sent[0])
        result_warn(r, "a checkpoint of the ledger was not sent on: %s", not_sent);
    if (failure < 0)
        return err_context(&r->error, failure, "cannot record the result");
    r->error = told;
    return 0;
}

void recording_tidy(nacre_result *r, const struct policy *policy)
{
    enum { SELDOM = 256 };
    const uint64_t objects_max = UINT64_C(5) << 30;
    struct recording *rec = &r->recording;
    struct err ignored;
    uint64_t dropped;
    unsigned char chance;
    /* A look at everything that is kept: not each time. */
    if (!rec->ledger || getrandom(&chance, 1, 0) != 1 || chance % SELDOM != 0)
        return;
    object_retain(rec->objects, objects_max, &dropped, &ignored);
    if (policy->ledger.max_bytes || policy->ledger.max_age_ms)
        ledger_retain(rec->ledger, policy->ledger.max_bytes, policy->ledger.max_age_ms / 1000, NULL,
                      &ignored);
}

void recording_release(nacre_result *r)
{
    fd_close(&r->recording.running);
    crew_wait(&r->engine->crew, &r->recording.filing.task);
    if (r->recording.filing.frames.allocator)
        buf_release(&r->recording.filing.frames);
    transcript_release(&r->recording.transcript);
    redactor_free(r->recording.redactor);
    redactor_free(r->recording.output_redactor);
    r->recording.redactor = r->recording.output_redactor = NULL;
}

int recording_note(struct nacre *n, const char *state_dir, enum entry_kind kind, const char *id,
                   const char *detail, struct err *e)
{
    const struct recorded_question what = {.kind = kind, .id = id, .detail = detail};
    return recording_note_answer(n, state_dir, &what, e);
}

int recording_note_answer(struct nacre *n, const char *state_dir,
                          const struct recorded_question *what, struct err *e)
{
    enum { NOTE_BYTES_MAX = 1 << 20 };
    struct opened_ledger *opened = NULL;
    struct redactor *redactor = NULL;
    struct arena arena;
    struct buf text;
    char time[CLOCK_RFC3339 + 1];
    if (!state_dir)
        return 0;
    arena_init(&arena, &n->allocator, NOTE_BYTES_MAX);
    buf_init(&text, &n->allocator, NOTE_BYTES_MAX);
    clock_format_rfc3339(clock_utc_ms(), time);
    int r = open_ledger(n, state_dir, NULL, &opened, e);
    if (r == 0)
        r = secrets_redactor(&arena, (const char *const *)environ, NULL, NULL, &redactor, e);
    if (r == 0 && what->detail)
        r = redact_text(redactor, what->detail, strlen(what->detail), &text, NULL, e);
    const struct entry entry = {.kind = what->kind,
                                .time = time,
                                .id = what->id,
                                .status = what->status,
                                .confirmed_by = what->by,
                                .detail = text.data};
    struct ledger_place place;
    if (r == 0)
        r = append(opened->ledger, &entry, true, &place, e);
    redactor_free(redactor);
    buf_release(&text);
    arena_release(&arena);
    return r;
}
