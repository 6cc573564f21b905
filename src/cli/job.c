/* See job.h. */
#include "cli/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/kept.h"
#include "cli/record.h"
#include "cli/show.h"
#include "engine/engine.h"
#include "history/format.h"
#include "history/frames.h"

enum { RECORD_MAX = 1 << 30 };

static int copy_id(const struct history_run *run, void *user)
{
    snprintf(user, UUID_TEXT + 1, "%s", run->main->entry.id ? run->main->entry.id : "");
    return EXIT_YES;
}

bool job_resolve(const char *command, const char *word, char ret_id[UUID_TEXT + 1])
{
    const char *state = kept_state_dir();
    struct err e = {0};
    int r = state ? job_find(state, word, ret_id, &e) : -ENOENT;
    if (r == 0)
        return true;
    if (r != -ENOENT || !state) {
        cli_complain("%s: %s", command, state ? e.message : "HOME is not set");
        return false;
    }
    ret_id[0] = '\0';
    return job_with_record(command, word, copy_id, ret_id) == EXIT_YES && job_is_id(ret_id);
}

int job_watch(int fd, enum job_kind asks, struct err *e)
{
    static struct job_message message; /* large */
    int r = job_ask(fd, asks, 0, NULL, 0, e);
    while (r == 0 && (r = job_hear(fd, &message, e)) > 0) {
        if (message.kind == JOB_ENDED)
            return 0;
        if (message.kind == JOB_REFUSED)
            return err_set(e, -EPERM, "%.*s", (int)message.len, message.bytes);
        r = 0;
    }
    /* It is over, and the ledger knows how. */
    return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}

int job_with_record(const char *command, const char *id, job_use *use, void *user)
{
    struct history *h = NULL;
    struct history_run run = {0};
    struct arena arena;
    struct err e = {0};
    uint64_t index;
    int status = EXIT_NO, r = record_open(command, &h);
    if (r < 0) {
        if (r == -ENOENT)
            cli_complain("%s: nothing is recorded yet", command);
        return status;
    }
    arena_init(&arena, &allocator_libc, RECORD_MAX);
    r = history_find(h, id, &index, &e);
    if (r == 0)
        r = history_read(h, &arena, index, &run, &e);
    if (r < 0 || !run.main)
        cli_complain("%s: %s", command, e.message);
    else
        status = use(&run, user);
    arena_release(&arena);
    history_close(h);
    return status;
}

int job_print_output(const struct history_run *run)
{
    const char *at = run->frames, *end = at ? at + run->frames_len : at;
    struct show shows[2];
    struct frame frame;
    int r = 0;
    show_init(&shows[0], STDOUT_FILENO, -1);
    show_init(&shows[1], STDERR_FILENO, -1);
    while (r == 0 && at && frames_next(&at, end, &frame) > 0) {
        if (frame.left_out)
            cli_warn("some of the output is left out here");
        else
            r = show_bytes(&shows[frame.stream == 2], frame.bytes, frame.len, false);
    }
    if (r == 0)
        r = show_bytes(&shows[0], "", 0, true);
    if (r == 0)
        r = show_bytes(&shows[1], "", 0, true);
    if (r == 0 && run->frames_missing)
        cli_warn("not all of the output is there: %s", run->frames_missing);
    return r;
}

/* --- the result ------------------------------------------------------------------------------ */

static void put_stream(struct json *j, const struct history_run *run, int stream)
{
    enum { STREAM_MAX = 64 << 20 };
    const struct entry_stream *s = stream == 2 ? &run->main->entry.output.stderr_stream
                                               : &run->main->entry.output.stdout_stream;
    static const char *const names[][3] = {{"stdout", "stdout_bytes", "stdout_truncated"},
                                           {"stderr", "stderr_bytes", "stderr_truncated"}};
    struct buf text;
    bool left_out;
    buf_init(&text, &allocator_libc, STREAM_MAX);
    format_stream(run, stream, &text, &left_out);
    json_key(j, names[stream - 1][0]);
    json_bytes(j, text.data, text.len);
    json_key(j, names[stream - 1][1]);
    json_unsigned(j, s->bytes);
    json_key(j, names[stream - 1][2]);
    json_bool(j, s->truncated);
    buf_release(&text);
}

static void put_changes(struct json *j, const struct entry_changes *changes)
{
    json_key(j, "changes");
    json_object_begin(j);
    for (enum entry_change_kind kind = 0; kind < ENTRY_CHANGE_KINDS; kind++) {
        json_key(j, entry_change_kind_names[kind]);
        json_array_begin(j);
        for (size_t i = 0; i < changes->count; i++) {
            const struct entry_change *c = &changes->items[i];
            if (c->kind != kind)
                continue;
            if (c->to) {
                json_object_begin(j);
                json_key(j, "from");
                changes_write_name(j, c->path);
                json_key(j, "to");
                changes_write_name(j, c->to);
                json_object_end(j);
            } else {
                changes_write_name(j, c->path);
            }
        }
        json_array_end(j);
    }
    json_key(j, "bytes");
    json_unsigned(j, changes->bytes);
    json_object_end(j);
}

static void put_texts(struct json *j, const struct entry *entry)
{
    const struct {
        const char *key, *value;
    } texts[] = {
        {"working_dir", entry->working_dir},       {"strength", entry->strength},
        {"fs_hash_before", entry->fs_hash_before}, {"fs_hash_after", entry->fs_hash_after},
        {"policy_rule_matched", entry->rule},      {"error", entry->error},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (!texts[i].value)
            continue;
        json_key(j, texts[i].key);
        json_text(j, texts[i].value);
    }
}

static void put_run(struct json *j, const struct history_run *run)
{
    const struct entry *entry = &run->main->entry;
    put_stream(j, run, 1);
    put_stream(j, run, 2);
    json_key(j, "duration_ms");
    json_unsigned(j, entry->duration_ms);
    if (entry->has_resources) {
        json_key(j, "resource_usage");
        json_object_begin(j);
        json_key(j, "cpu_ms");
        json_unsigned(j, entry->cpu_ms);
        json_key(j, "memory_peak_bytes");
        json_unsigned(j, entry->memory_peak_bytes);
        json_key(j, "processes_peak");
        json_unsigned(j, entry->processes_peak);
        json_key(j, "bytes_written");
        json_unsigned(j, entry->bytes_written);
        json_object_end(j);
    }
    if (entry->changes.known)
        put_changes(j, &entry->changes);
    if (entry->has_reversible) {
        json_key(j, "commit_point");
        json_text(j, "end");
        json_key(j, "reversible");
        json_bool(j, entry->reversible);
    }
}

static void put_executed(struct json *j, const struct entry *entry)
{
    json_key(j, "executed");
    json_array_begin(j);
    for (size_t i = 0; i < entry->executed_count; i++) {
        const struct entry_program *program = &entry->executed[i];
        json_object_begin(j);
        json_key(j, "argv");
        json_array_begin(j);
        for (size_t k = 0; k < program->argc; k++)
            json_text(j, program->argv[k]);
        json_array_end(j);
        json_key(j, "exit_code");
        if (program->exit_code < 0)
            json_nothing(j);
        else
            json_signed(j, program->exit_code);
        json_object_end(j);
    }
    json_array_end(j);
}

/* Without its acts. */
static void put_verdict(struct json *j, const struct entry *entry)
{
    json_key(j, "verdict");
    json_object_begin(j);
    json_key(j, "decision");
    json_text(j, entry->verdict);
    json_key(j, "rule");
    json_text(j, entry->rule);
    json_key(j, "reasons");
    json_array_begin(j);
    for (size_t i = 0; i < entry->reason_count; i++) {
        json_object_begin(j);
        json_key(j, "rule");
        json_text(j, entry->reasons[i].rule);
        json_key(j, "reason");
        json_text(j, entry->reasons[i].reason);
        json_object_end(j);
    }
    json_array_end(j);
    json_key(j, "mandate_hash");
    json_text(j, entry->mandate_hash);
    json_object_end(j);
}

/* The names are those of `nacre run --json`; what only the supervisor knew is not there. */
static int print_json(const struct history_run *run, int exit_code)
{
    const struct entry *entry = &run->main->entry;
    struct json json, *j = &json;
    json_init(j, cli_print_json, NULL);
    json_object_begin(j);
    json_key(j, "correlation_id");
    json_text(j, entry->id);
    json_key(j, "status");
    json_text(j, run->status);
    json_key(j, "command");
    json_bytes(j, entry->command.bytes ? entry->command.bytes : "", entry->command.len);
    json_key(j, "exit_code");
    json_signed(j, exit_code);
    put_run(j, run);
    put_texts(j, entry);
    put_executed(j, entry);
    if (entry->verdict)
        put_verdict(j, entry);
    json_key(j, "ledger");
    json_object_begin(j);
    json_key(j, "index");
    json_unsigned(j, run->main->index);
    json_key(j, "hash");
    json_text(j, run->main->hash);
    json_object_end(j);
    json_key(j, "redactions");
    json_unsigned(j, entry->redactions);
    json_key(j, "warnings");
    json_array_begin(j);
    for (size_t i = 0; i < entry->warning_count; i++)
        json_text(j, entry->warnings[i]);
    json_array_end(j);
    json_key(j, "timestamp");
    json_text(j, run->has_intent ? run->intent.entry.time : entry->time);
    json_object_end(j);
    int r = json_finish(j);
    cli_print("\n", 1);
    return r;
}

int job_print_result(const struct history_run *run, bool json)
{
    const struct entry *entry = &run->main->entry;
    bool refused =
        strcmp(run->status, "denied") == 0 || strcmp(run->status, "needs_confirmation") == 0;
    int own = run->has_result && entry->has_exit_code ? entry->exit_code : EXIT_BROKEN;
    int status = refused ? EXIT_REFUSED : own;
    if (json) {
        print_json(run, own);
        return cli_finish(status, EXIT_BROKEN);
    }
    int r = job_print_output(run);
    if (r < 0 && r != -EPIPE)
        cli_complain("standard output: %s", strerror(-r));
    if (!run->has_result)
        cli_complain("run '%.8s' was cut off: its supervisor died, and everything with it",
                     entry->id ? entry->id : "?");
    if (entry->error)
        cli_complain("%s", entry->error);
    for (size_t i = 0; i < entry->warning_count; i++)
        cli_warn("%s", entry->warnings[i]);
    return r < 0 ? EXIT_BROKEN : status;
}
