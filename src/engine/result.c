/* What a caller can ask of a result; see nacre.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "engine/engine.h"

void result_warn(nacre_result *r, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const char *copy = arena_copy(&r->arena, text, strlen(text));
    if (copy && r->warning_count < WARNINGS_MAX)
        r->warnings[r->warning_count++] = copy;
}

static const char *const status_names[] = {
    [NACRE_STATUS_ERROR] = "error",
    [NACRE_STATUS_DENIED] = "denied",
    [NACRE_STATUS_NEEDS_CONFIRMATION] = "needs_confirmation",
    [NACRE_STATUS_TIMEOUT] = "timeout",
    [NACRE_STATUS_LIMIT] = "limit",
    [NACRE_STATUS_KILLED] = "killed",
    [NACRE_STATUS_FAILED] = "failed",
    [NACRE_STATUS_OK] = "ok",
};

nacre_status nacre_result_status(const nacre_result *r)
{
    return r->status;
}

const char *nacre_result_status_name(const nacre_result *r)
{
    return status_names[r->status];
}

int nacre_result_exit_code(const nacre_result *r)
{
    return r->exit_code;
}

static const struct captured *stream_of(const nacre_result *r, nacre_stream stream)
{
    return &r->captured[stream == NACRE_STDERR ? RUN_STDERR : RUN_STDOUT];
}

const char *nacre_result_output(const nacre_result *r, nacre_stream stream, size_t *ret_len)
{
    const struct captured *captured = stream_of(r, stream);
    if (ret_len)
        *ret_len = captured->len;
    return captured->text;
}

int nacre_result_truncated(const nacre_result *r, nacre_stream stream)
{
    return stream_of(r, stream)->truncated;
}

int nacre_result_ran(const nacre_result *r)
{
    return r->ran;
}

const char *nacre_result_error(const nacre_result *r)
{
    return r->error.message;
}

const char *nacre_result_warning(const nacre_result *r, size_t index)
{
    return index < r->warning_count ? r->warnings[index] : NULL;
}

const char *nacre_result_answer(const nacre_result *r)
{
    return r->answer;
}

const char *nacre_result_analysis(const nacre_result *r, size_t *ret_len)
{
    if (ret_len)
        *ret_len = r->analysis ? r->analysis_len : 0;
    return r->analysis;
}

static void write_stream(struct json *j, const nacre_result *r, enum run_stream stream,
                         const char *const names[4])
{
    const struct captured *captured = &r->captured[stream];
    json_key(j, names[0]);
    json_bytes(j, captured->text, captured->len);
    json_key(j, names[1]);
    json_unsigned(j, r->captures[stream].total);
    json_key(j, names[2]);
    json_bool(j, captured->truncated);
    if (captured->truncated) {
        json_key(j, names[3]);
        json_array_begin(j);
        json_unsigned(j, captured->omitted_from);
        json_unsigned(j, captured->omitted_to);
        json_array_end(j);
    }
}

static void write_args(struct json *j, const nacre_result *r)
{
    const char *const shell[] = {"bash", "-c", "--", r->reading.canonical};
    bool plain = r->reading.argv;
    const char *const *args = plain ? r->reading.argv : shell;
    size_t count = plain ? r->reading.argc : sizeof(shell) / sizeof(shell[0]);
    json_key(j, "args");
    json_array_begin(j);
    for (size_t i = 0; i < count; i++)
        json_text(j, args[i]);
    json_array_end(j);
}

static void write_script(struct json *j, const nacre_result *r)
{
    if (r->synthesis) {
        json_key(j, "synthesis");
        json_bool(j, true);
    }
    if (!r->script.language)
        return;
    json_key(j, "script");
    json_object_begin(j);
    json_key(j, "language");
    json_text(j, r->script.language);
    json_key(j, "bytes");
    json_unsigned(j, r->script.len);
    json_key(j, "sha256");
    json_text(j, r->script.sha256);
    json_object_end(j);
}

int nacre_result_write_json(const nacre_result *r,
                            int (*write)(void *user, const char *bytes, size_t len), void *user)
{
    static const char *const out[] = {"stdout", "stdout_bytes", "stdout_truncated",
                                      "stdout_omitted"};
    static const char *const err[] = {"stderr", "stderr_bytes", "stderr_truncated",
                                      "stderr_omitted"};
    struct json json, *j = &json;
    if (r->told_json)
        return write(user, r->told_json, r->told_json_len);
    json_init(j, write, user);
    json_object_begin(j);
    json_key(j, "correlation_id");
    json_text(j, r->correlation_id);
    json_key(j, "status");
    json_text(j, nacre_result_status_name(r));
    json_key(j, "command");
    json_bytes(j, r->text, r->text_len > NACRE_TEXT_MAX ? NACRE_TEXT_MAX : r->text_len);
    if (r->ran)
        write_args(j, r);
    if (r->working_dir) {
        json_key(j, "working_dir");
        json_text(j, r->working_dir);
    }
    write_script(j, r);
    json_key(j, "exit_code");
    json_signed(j, r->exit_code);
    write_stream(j, r, RUN_STDOUT, out);
    write_stream(j, r, RUN_STDERR, err);
    if (r->analysis) {
        json_key(j, "analysis");
        json_bytes(j, r->analysis, r->analysis_len);
    }
    if (r->answer) {
        json_key(j, "answer");
        json_text(j, r->answer);
    }
    json_key(j, "duration_ms");
    json_unsigned(j, r->duration_ms);
    if (r->ran) {
        json_key(j, "resource_usage");
        json_object_begin(j);
        json_key(j, "cpu_ms");
        json_unsigned(j, r->usage.cpu_us / 1000);
        json_key(j, "memory_peak_bytes");
        json_unsigned(j, r->usage.memory_peak_bytes);
        json_key(j, "processes_peak");
        json_unsigned(j, r->usage.processes_peak);
        json_key(j, "bytes_written");
        json_unsigned(j, r->usage.bytes_written);
        json_object_end(j);
        json_key(j, "strength");
        json_text(j, r->strength);
        programs_write_json(&r->programs, j);
        if (r->changes_known) {
            json_key(j, "changes");
            changes_write_json(&r->changes, j);
        }
        if (r->commit_point) {
            json_key(j, "commit_point");
            json_text(j, r->commit_point);
        }
        static const char *const hashes[] = {"fs_hash_before", "fs_hash_after"};
        const char *const values[] = {r->fs_hash_before, r->fs_hash_after};
        for (size_t i = 0; i < 2; i++) {
            if (!values[i][0])
                continue;
            json_key(j, hashes[i]);
            json_text(j, values[i]);
        }
        if (r->conflicts.count) {
            json_key(j, "conflicts");
            conflicts_write_json(&r->conflicts, j);
        }
        json_key(j, "reversible");
        json_bool(j, r->reversible);
        if (r->reversible_reason) {
            json_key(j, "reversible_reason");
            json_text(j, r->reversible_reason);
        }
    }
    if (r->limit.name) {
        json_key(j, "limit");
        json_object_begin(j);
        json_key(j, "name");
        json_text(j, r->limit.name);
        json_key(j, "value");
        json_unsigned(j, r->limit.value);
        json_key(j, "kept_by");
        json_text(j, r->limit.kept_by);
        json_object_end(j);
    }
    if (r->rule) {
        json_key(j, "policy_rule_matched");
        json_text(j, r->rule);
    }
    if (r->judged) {
        json_key(j, "verdict");
        verdict_write_json(&r->verdict, j);
    }
    if (r->recording.placed) {
        char hash[SHA256_HEX + 1];
        sha256_hex(r->recording.place.leaf, hash);
        json_key(j, "ledger");
        json_object_begin(j);
        json_key(j, "index");
        json_unsigned(j, r->recording.place.index);
        json_key(j, "hash");
        json_text(j, hash);
        json_object_end(j);
    }
    json_key(j, "redactions");
    json_unsigned(j, r->recording.redactions);
    if (r->error.code < 0) {
        json_key(j, "error");
        json_text(j, r->error.message);
    }
    json_key(j, "warnings");
    json_array_begin(j);
    for (size_t i = 0; i < r->warning_count; i++)
        json_text(j, r->warnings[i]);
    json_array_end(j);
    if (r->traced) {
        json_key(j, "trace");
        phases_write_json(&r->phases, j);
    }
    json_key(j, "timestamp");
    json_text(j, r->timestamp);
    json_object_end(j);
    return json_finish(j);
}

int nacre_result_write_trace(const nacre_result *r,
                             int (*write)(void *user, const char *bytes, size_t len), void *user)
{
    struct json j;
    json_init(&j, write, user);
    phases_write_events(&r->phases, &j);
    return json_finish(&j);
}

enum { RESULT_BYTES_MAX = 1 << 30, JUDGEMENT_BYTES_MAX = 1 << 30 };

nacre_result *result_new(struct nacre *n)
{
    nacre_result *r = alloc_resize(&n->allocator, NULL, sizeof(*r));
    if (!r)
        return NULL;
    *r = (nacre_result){
        .engine = n,
        .status = NACRE_STATUS_ERROR,
        .exit_code = 125,
        .input = -1,
        .sandbox = SANDBOX_NONE,
        .ended = SANDBOX_NONE,
        .transaction = TRANSACTION_NONE,
        .hashing = {.root = -1},
        .recording = {.running = -1},
        .programs = {.socket = -1},
        .remembered = {.session = SESSION_NONE},
    };
    buf_init(&r->remembered.came, &n->allocator, SESSION_BYTES_MAX);
    r->conflicts.arena = &r->arena;
    arena_init(&r->arena, &n->allocator, RESULT_BYTES_MAX);
    arena_init(&r->judgement, &n->allocator, JUDGEMENT_BYTES_MAX);
    for (int i = 0; i < RUN_STREAMS; i++) {
        capture_init(&r->captures[i], &n->allocator, CAPTURE_HEAD, 0);
        r->captured[i].text = "";
    }
    return r;
}

void nacre_result_free(nacre_result *r)
{
    if (!r)
        return;
    recording_release(r);
    fd_close(&r->input);
    if (r->cached)
        policy_cache_release(&r->engine->policies, r->cached);
    programs_release(&r->programs);
    remember_release(r);
    for (int i = 0; i < RUN_STREAMS; i++)
        capture_release(&r->captures[i]);
    arena_release(&r->arena);
    arena_release(&r->judgement);
    alloc_free(&r->engine->allocator, r);
}
