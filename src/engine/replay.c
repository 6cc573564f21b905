/* See replay.h. */
#include "engine/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/beneath.h"
#include "changes/copy.h"
#include "changes/fs_hash.h"
#include "engine/engine.h"
#include "history/object.h"

enum { STEP_BYTES_MAX = 256 << 20 };

struct replay {
    nacre *n;
    const struct replay_request *request;
    const char *place;     /* ours: the copy and a state of its own lie there */
    const char *workspace; /* the copy */
    const char *state;
    struct arena *arena; /* of the step */
    bool started;
    struct err *e;
};

/* --- the start ------------------------------------------------------------------------------- */

static int hash_of(const char *path, char ret[SHA256_HEX + 1], struct err *e)
{
    static const char *const exclude[] = {STORE_IN_ROOT, NULL};
    FD_CLEANUP int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct fs_hash *hash;
    const struct fs_hash_options options = {
        .root_fd = fd, .exclude = exclude, .mark_unreadable = true, .allocator = &allocator_libc};
    if (fd < 0)
        return err_errno(e, -errno, "cannot open '%s'", path);
    int r = fs_hash_open(&options, &hash, e);
    if (r < 0)
        return r;
    fs_hash_root(hash, ret);
    fs_hash_close(hash);
    return 0;
}

/* With the mode of what it stands for, which is part of the hash. */
static int make_start(struct replay *p, const char *from)
{
    struct stat st = {.st_mode = 0755};
    FD_CLEANUP int source = from ? open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (mkdir(p->workspace, 0700) < 0)
        return err_errno(p->e, -errno, "cannot make '%s'", p->workspace);
    FD_CLEANUP int copy = open(p->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0 || (from && (source < 0 || fstat(source, &st) < 0)))
        return err_errno(p->e, -errno, "cannot open '%s'", from ? from : p->workspace);
    int r = from ? copy_tree(source, copy, STORE_IN_ROOT, p->e) : 0;
    if (r == 0 && fchmod(copy, st.st_mode & 07777) < 0)
        r = err_errno(p->e, -errno, "cannot make '%s'", p->workspace);
    return r;
}

/* The directory that was named, else the one of those at hand that has the hash. */
static int start(struct replay *p, const struct entry *first)
{
    const struct replay_request *q = p->request;
    const char *const places[] = {q->start ? q->start : q->workspace, NULL};
    size_t count = q->start ? 1 : 2;
    char hash[SHA256_HEX + 1] = "";
    for (size_t i = 0; i < count; i++) {
        if (places[i] && access(places[i], F_OK) < 0 && !q->start)
            continue;
        int r = make_start(p, places[i]);
        if (r == 0)
            r = hash_of(p->workspace, hash, p->e);
        if (r < 0)
            return r;
        if (strcmp(hash, first->fs_hash_before) == 0)
            return 0;
        beneath_remove(AT_FDCWD, p->workspace);
    }
    return err_set(p->e, -ENOENT,
                   "%s the state before run %.8s (fs_hash %.16s…): give a directory that is with "
                   "--start",
                   q->start ? "that is not" : "neither the workspace nor an empty directory is",
                   first->id, first->fs_hash_before);
}

/* --- comparing ------------------------------------------------------------------------------- */

/* What the copy printed of its own path is told as if it were the workspace. */
static int as_recorded(struct replay *p, const char *text, size_t len, struct buf *out)
{
    size_t own = strlen(p->workspace);
    while (len) {
        const char *found = memmem(text, len, p->workspace, own);
        size_t before = found ? (size_t)(found - text) : len;
        buf_append(out, text, before);
        if (found)
            buf_append_text(out, p->request->workspace);
        text += before + (found ? own : 0);
        len -= before + (found ? own : 0);
    }
    return out->failed;
}

/* The hash of what was printed, redacted, as the record has it. */
static int hash_output(struct replay *p, const nacre_result *r, nacre_stream stream,
                       char ret[SHA256_HEX + 1])
{
    size_t len;
    const char *text = nacre_result_output(r, stream, &len);
    struct buf plain, redacted;
    struct redactor *redactor = NULL;
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    buf_init(&plain, &allocator_libc, STEP_BYTES_MAX);
    buf_init(&redacted, &allocator_libc, STEP_BYTES_MAX);
    int failure = as_recorded(p, text, len, &plain);
    if (failure == 0)
        failure = secrets_redactor(p->arena, p->request->environment,
                                   box_variable(p->request->environment, "HOME"), p->workspace,
                                   &redactor, p->e);
    if (failure == 0)
        failure = redact_text(redactor, plain.data, plain.len, &redacted, NULL, p->e);
    if (failure == 0) {
        sha256_start(&hash);
        sha256_add(&hash, redacted.data, redacted.len);
        sha256_end(&hash, digest);
        sha256_hex(digest, ret);
    }
    redactor_free(redactor);
    buf_release(&plain);
    buf_release(&redacted);
    return failure;
}

static void differ(struct replay_step *step, const char *what, const char *expected,
                   const char *actual)
{
    step->outcome = REPLAY_DIFFERS;
    step->what = what;
    step->expected = expected;
    step->actual = actual;
}

static int compare(struct replay *p, const struct entry *entry, const nacre_result *r,
                   struct replay_step *step)
{
    static const char *const names[] = {[NACRE_STDOUT] = "stdout", [NACRE_STDERR] = "stderr"};
    const struct entry_stream *const streams[] = {[NACRE_STDOUT] = &entry->output.stdout_stream,
                                                  [NACRE_STDERR] = &entry->output.stderr_stream};
    if (strcmp(nacre_result_status_name(r), entry->status) != 0 ||
        nacre_result_exit_code(r) != entry->exit_code) {
        differ(step, "status",
               arena_format(p->arena, "%s, exit code %d", entry->status, entry->exit_code),
               arena_format(p->arena, "%s, exit code %d%s%s", nacre_result_status_name(r),
                            nacre_result_exit_code(r), nacre_result_error(r)[0] ? ": " : "",
                            nacre_result_error(r)));
        return 0;
    }
    for (nacre_stream i = NACRE_STDOUT; entry->output.known && i <= NACRE_STDERR; i++) {
        char actual[SHA256_HEX + 1], expected[SHA256_HEX + 1];
        if (streams[i]->truncated || nacre_result_truncated(r, i))
            continue; /* what is kept of it is not all */
        int failure = hash_output(p, r, i, actual);
        if (failure < 0)
            return failure;
        sha256_hex(streams[i]->hash, expected);
        if (strcmp(actual, expected) != 0) {
            differ(step, names[i], arena_copy(p->arena, expected, SHA256_HEX),
                   arena_copy(p->arena, actual, SHA256_HEX));
            return 0;
        }
    }
    if (entry->fs_hash_after && strcmp(entry->fs_hash_after, r->fs_hash_after) != 0)
        differ(step, "fs_hash", entry->fs_hash_after,
               arena_copy(p->arena, r->fs_hash_after, strlen(r->fs_hash_after)));
    return 0;
}

/* --- one step -------------------------------------------------------------------------------- */

/* What was run: within a session that is what it had left, too. */
static const struct entry_text *text_of(const struct entry *entry)
{
    return entry->session && entry->canonical.bytes ? &entry->canonical : &entry->command;
}

/* Why it cannot be run again; NULL: it can. */
static const char *why_not(const struct entry *entry)
{
    const struct entry_text *text = text_of(entry);
    if (entry->network)
        return "it had the network";
    if (text->whole_len && !entry->script.language)
        return "its text was too long to be recorded in full";
    if (entry->script.language && !entry->script.object[0])
        return "its script was not recorded";
    if (entry->script.redacted)
        return "a secret was taken out of its script";
    if (entry->script.arg_total)
        return "its arguments were too many to be recorded";
    if (text->len && memmem(text->bytes, text->len, "[REDACTED:", 10))
        return "a secret was taken out of its text";
    if (!entry->fs_hash_before)
        return "the hash of the files was not recorded";
    return NULL;
}

static int run_step(struct replay *p, const struct entry *entry, struct replay_step *step)
{
    const struct replay_request *q = p->request;
    size_t len = strlen(q->workspace);
    nacre_run_options o = NACRE_RUN_OPTIONS_INIT;
    o.workspace = p->workspace;
    if (entry->working_dir && strncmp(entry->working_dir, q->workspace, len) == 0 &&
        entry->working_dir[len] == '/')
        o.cwd = entry->working_dir + len + 1;
    o.environment = q->environment;
    o.config_dir = q->config_dir;
    o.agent = entry->agent;
    o.network = "off";
    o.state_dir = p->state;
    o.unjudged = 1; /* it was judged when it ran, and is in a box, on a copy, without network */
    o.deterministic = q->deterministic;
    o.workspace_only = 1;
    nacre_result *r = NULL;
    nacre_error error;
    const char *bytes = text_of(entry)->bytes;
    size_t size = text_of(entry)->len;
    struct buf script;
    buf_init(&script, &allocator_libc, OBJECT_BYTES_MAX);
    if (entry->script.language) {
        const char **args = arena_alloc_array(p->arena, entry->script.arg_count + 1, sizeof(*args));
        const char *objects = arena_format(p->arena, "%s/objects", q->state_dir);
        int failure = !args || !objects ? err_set(p->e, -ENOMEM, "out of memory")
                                        : object_get(objects, entry->script.object, &script, p->e);
        if (failure < 0) {
            buf_release(&script);
            return failure;
        }
        for (size_t i = 0; i < entry->script.arg_count; i++)
            args[i] = entry->script.args[i];
        o.language = entry->script.language;
        o.script_args = entry->script.arg_count ? args : NULL;
        bytes = script.data ? script.data : "";
        size = script.len;
    }
    int ran = nacre_run(p->n, bytes, size, &o, &r, &error);
    buf_release(&script);
    if (ran < 0)
        return err_set(p->e, error.code, "%s", error.message);
    int failure = compare(p, entry, r, step);
    nacre_result_free(r);
    return failure;
}

static int replay_one(struct replay *p, const struct entry *entry, struct replay_step *step)
{
    bool ran = entry->has_exit_code && entry->has_intent;
    char now[SHA256_HEX + 1];
    step->outcome = REPLAY_SAME;
    if (!ran || (strcmp(entry->status, "denied") == 0) ||
        strcmp(entry->status, "needs_confirmation") == 0) {
        step->outcome = REPLAY_SKIPPED;
        return 0;
    }
    step->what = why_not(entry);
    if (step->what) {
        step->outcome = REPLAY_CANNOT;
        return 0;
    }
    int r = p->started ? 0 : start(p, entry);
    p->started = true;
    if (r == 0)
        r = hash_of(p->workspace, now, p->e);
    if (r < 0)
        return r;
    if (strcmp(now, entry->fs_hash_before) != 0) {
        /* Somebody edited, or undid, between two runs. */
        differ(step, "fs_hash before the run", entry->fs_hash_before,
               arena_copy(p->arena, now, SHA256_HEX));
        return 0;
    }
    return run_step(p, entry, step);
}

/* --- the range ------------------------------------------------------------------------------- */

/* Whether a bound names this entry: by its index, or the start of its run's id. */
static bool is_named(const char *bound, uint64_t index, const struct entry *entry)
{
    char *end;
    uint64_t number = strtoull(bound, &end, 10);
    if (!*end && end != bound && strlen(bound) < 8)
        return number == index;
    return entry->id && strncmp(entry->id, bound, strlen(bound)) == 0;
}

static int replay_range(struct replay *p, struct ledger *ledger,
                        void (*tell)(void *user, const struct replay_step *step), void *user)
{
    const struct replay_request *q = p->request;
    struct ledger_iterator *iterator = NULL;
    struct ledger_record record;
    uint64_t first = 0;
    bool inside = !q->from, over = false, same = true;
    int r = ledger_first(ledger, &first, p->e);
    if (r == 0)
        r = ledger_iterate(ledger, first, &iterator, p->e);
    if (r < 0)
        return r;
    while (!over && same && (r = ledger_iterator_next(iterator, &record, p->e)) == 1) {
        struct entry entry;
        struct arena *arena = p->arena;
        arena_init(arena, &allocator_libc, STEP_BYTES_MAX);
        r = entry_read(arena, record.bytes, record.len, &entry, p->e);
        bool ours = r == 0 && entry.kind == ENTRY_RESULT && entry.workspace &&
                    strcmp(entry.workspace, q->workspace) == 0;
        inside = inside || (ours && is_named(q->from, record.index, &entry));
        if (ours && inside) {
            struct replay_step step = {.index = record.index, .id = entry.id};
            step.command = arena_copy(arena, entry.command.bytes, entry.command.len);
            r = replay_one(p, &entry, &step);
            if (r == 0)
                tell(user, &step);
            same = step.outcome == REPLAY_SAME || step.outcome == REPLAY_SKIPPED;
            over = q->to && is_named(q->to, record.index, &entry);
        }
        arena_release(arena);
        if (r < 0)
            break;
    }
    ledger_iterator_free(iterator);
    if (r >= 0 && !inside)
        return err_set(p->e, -ENOENT, "no run '%s' of this workspace is in the ledger", q->from);
    if (r >= 0 && same && q->to && !over)
        return err_set(p->e, -ENOENT, "no run '%s' of this workspace is in the ledger", q->to);
    return r < 0 ? r : same;
}

int replay_run(nacre *n, const struct replay_request *request,
               void (*tell)(void *user, const struct replay_step *step), void *user, struct err *e)
{
    struct arena arena, step;
    struct ledger *ledger = NULL;
    struct replay p = {.n = n, .request = request, .arena = &step, .e = e};
    arena_init(&arena, &allocator_libc, 1 << 20);
    const char *dir = arena_format(&arena, "%s/ledger", request->state_dir);
    char *place = arena_alloc(&arena, PATH_MAX);
    const struct ledger_options options = {.flags = LEDGER_READ_ONLY};
    int r = dir && place ? ledger_open(dir, &options, &ledger, e)
                         : err_set(e, -ENOMEM, "out of memory");
    if (r < 0 || !place) {
        arena_release(&arena);
        return r;
    }
    /* Not in the state directory, of which no box sees anything. */
    snprintf(place, PATH_MAX, "/tmp/nacre-replay-XXXXXX");
    if (!mkdtemp(place)) {
        r = err_errno(e, -errno, "cannot make '%s'", place);
    } else {
        p.place = place;
        p.workspace = arena_format(&arena, "%s/workspace", place);
        p.state = arena_format(&arena, "%s/state", place);
        r = p.workspace && p.state ? replay_range(&p, ledger, tell, user)
                                   : err_set(e, -ENOMEM, "out of memory");
        beneath_remove(AT_FDCWD, place);
    }
    ledger_close(ledger);
    arena_release(&arena);
    return r;
}
