/*
 * Writing entries; see entry.h. Keys stand in the order of their bytes, and numbers are integers,
 * as in RFC 8785. Of its rules one is widened: characters that a terminal would obey or an eye
 * would miss are written by their number, so that a ledger can be looked at with any tool.
 *
 * What is too long is cut by trying: everything whole first, then with a limit for each text and
 * each list that is halved until the whole fits. At the last limit every entry does.
 */
#include "history/entry.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "ledger/base64.h"

enum {
    LIMIT_LAST = 32,
    LIMIT_FIELD = 160, /* a field of the entry's own is never cut to less: hashes, ids, names */
};

const char *const entry_kind_names[ENTRY_KINDS] = {
    [ENTRY_NONE] = "none",       [ENTRY_INTENT] = "intent",     [ENTRY_RESULT] = "result",
    [ENTRY_COMMIT] = "commit",   [ENTRY_DISCARD] = "discard",   [ENTRY_UNDO] = "undo",
    [ENTRY_REDO] = "redo",       [ENTRY_POLICY] = "policy",     [ENTRY_RECOVERY] = "recovery",
    [ENTRY_ANSWER] = "answer",   [ENTRY_QUESTION] = "question", [ENTRY_USED] = "used",
    [ENTRY_EXPIRED] = "expired",
};

const char *const entry_change_kind_names[ENTRY_CHANGE_KINDS] = {
    [ENTRY_CREATED] = "created", [ENTRY_MODIFIED] = "modified", [ENTRY_DELETED] = "deleted",
    [ENTRY_RENAMED] = "renamed", [ENTRY_TOUCHED] = "touched",
};

/* As their names are ordered. */
static const enum entry_change_kind change_order[] = {
    ENTRY_CREATED, ENTRY_DELETED, ENTRY_MODIFIED, ENTRY_RENAMED, ENTRY_TOUCHED,
};

struct writer {
    struct json j;
    size_t limit;                      /* bytes of a text, and of all of a list */
    char changes_hash[SHA256_HEX + 1]; /* of all changes, once it was worked out */
    int failed;
};

static void fail(struct writer *w, int code)
{
    if (code < 0 && !w->failed)
        w->failed = code;
}

/* Nothing more needs to be worked out once it has failed or does not fit. */
static bool is_over(const struct writer *w)
{
    return w->failed || w->j.failed;
}

static void put_base64(struct writer *w, const char *bytes, size_t len)
{
    char *text = alloc_resize(&allocator_libc, NULL, BASE64_LEN(len) + 1);
    if (!text) {
        fail(w, -ENOMEM);
        return;
    }
    base64_write(bytes, len, text);
    json_bytes(&w->j, text, BASE64_LEN(len));
    alloc_free(&allocator_libc, text);
}

/*
 * A text is a string where it is whole and UTF-8. Else it is an object: `text` or `base64`, and for
 * a head `bytes` and `sha256` of the whole.
 */
static void put_text(struct writer *w, const struct entry_text *text, size_t limit, bool as_base64)
{
    struct json *j = &w->j;
    size_t len = text->len > limit ? utf8_cut_before(text->bytes, limit) : text->len;
    bool cut = len < text->len || text->whole_len;
    if (is_over(w))
        return;
    as_base64 |= !utf8_valid(text->bytes, len);
    if (!cut && !as_base64) {
        json_bytes(j, text->bytes, len);
        return;
    }
    json_object_begin(j);
    if (as_base64) {
        json_key(j, "base64");
        put_base64(w, text->bytes, len);
    }
    if (cut) {
        char hex[SHA256_HEX + 1];
        if (text->whole_len) {
            memcpy(hex, text->whole_hash, sizeof(hex));
        } else {
            unsigned char digest[SHA256_BYTES];
            struct sha256 hash;
            sha256_start(&hash);
            sha256_add(&hash, text->bytes, text->len);
            sha256_end(&hash, digest);
            sha256_hex(digest, hex);
        }
        json_key(j, "bytes");
        json_unsigned(j, text->whole_len ? text->whole_len : text->len);
        json_key(j, "sha256");
        json_text(j, hex);
    }
    if (!as_base64) {
        json_key(j, "text");
        json_bytes(j, text->bytes, len);
    }
    json_object_end(j);
}

static void field_long(struct writer *w, const char *key, const struct entry_text *text)
{
    if (!text->bytes)
        return;
    json_key(&w->j, key);
    put_text(w, text, w->limit, false);
}

static void field_text(struct writer *w, const char *key, const char *text)
{
    if (!text || !text[0])
        return;
    struct entry_text whole = {.bytes = text, .len = strlen(text)};
    json_key(&w->j, key);
    put_text(w, &whole, w->limit > LIMIT_FIELD ? w->limit : LIMIT_FIELD, false);
}

/* Readers have numbers with a sign. */
static void put_number(struct writer *w, uint64_t number)
{
    json_unsigned(&w->j, number < INT64_MAX ? number : INT64_MAX);
}

static void field_number(struct writer *w, const char *key, uint64_t number)
{
    json_key(&w->j, key);
    put_number(w, number);
}

/* Where the list has only the first of `total`, or of all that there were when it was read. */
static void field_total(struct writer *w, const char *key, size_t written, size_t count,
                        uint64_t total)
{
    if (written < count || total > count)
        field_number(w, key, total > count ? total : count);
}

/* Whether an item of `len` bytes still goes into a list that has used up `*used`. */
static bool has_room(const struct writer *w, size_t *used, size_t len)
{
    enum { ITEM = 16 }; /* what an item takes besides its text */
    if (is_over(w) || *used >= w->limit || len > w->limit - *used)
        return false;
    *used += len + ITEM;
    return true;
}

/* A text in a list takes no more than its head. */
static size_t in_list(const struct writer *w, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    return len < w->limit / 2 ? len : w->limit / 2;
}

static void put_list_text(struct writer *w, const char *text)
{
    struct entry_text whole = {.bytes = text ? text : "", .len = text ? strlen(text) : 0};
    put_text(w, &whole, w->limit / 2, false);
}

/* --- changes --------------------------------------------------------------------------------- */

static void put_path(struct writer *w, const char *path)
{
    struct entry_text whole = {.bytes = path ? path : "", .len = path ? strlen(path) : 0};
    put_text(w, &whole, SIZE_MAX, false);
}

static void put_change(struct writer *w, const struct entry_change *change)
{
    if (change->kind != ENTRY_RENAMED) {
        put_path(w, change->path);
        return;
    }
    json_object_begin(&w->j);
    json_key(&w->j, "from");
    put_path(w, change->path);
    json_key(&w->j, "to");
    put_path(w, change->to);
    json_object_end(&w->j);
}

static size_t change_len(const struct entry_change *change)
{
    return (change->path ? strlen(change->path) : 0) + (change->to ? strlen(change->to) : 0);
}

/* Names are whole or not there. Each kind has its own room: what was deleted is not crowded out. */
static size_t count_listed(const struct writer *w, const struct entry_changes *changes,
                           enum entry_change_kind kind)
{
    size_t used = 0, listed = 0;
    for (size_t i = 0; i < changes->count; i++) {
        if (changes->items[i].kind != kind)
            continue;
        if (!has_room(w, &used, change_len(&changes->items[i])))
            break;
        listed++;
    }
    return listed;
}

static void field_changes(struct writer *w, const struct entry_changes *changes,
                          enum entry_change_kind kind)
{
    size_t left = count_listed(w, changes, kind);
    if (!left)
        return;
    json_key(&w->j, entry_change_kind_names[kind]);
    json_array_begin(&w->j);
    for (size_t i = 0; left; i++) {
        if (changes->items[i].kind == kind) {
            put_change(w, &changes->items[i]);
            left--;
        }
    }
    json_array_end(&w->j);
}

static void put_change_lists(struct writer *w, const struct entry_changes *changes)
{
    json_object_begin(&w->j);
    for (size_t i = 0; i < ENTRY_CHANGE_KINDS; i++)
        field_changes(w, changes, change_order[i]);
    json_object_end(&w->j);
}

static int add_to_hash(void *user, const char *bytes, size_t len)
{
    sha256_add(user, bytes, len);
    return 0;
}

static int hash_changes(const struct entry_changes *changes, char ret_hash[SHA256_HEX + 1])
{
    struct writer w = {.limit = SIZE_MAX / 2};
    struct sha256 hash;
    unsigned char digest[SHA256_BYTES];
    sha256_start(&hash);
    json_init(&w.j, add_to_hash, &hash);
    put_change_lists(&w, changes);
    sha256_end(&hash, digest);
    sha256_hex(digest, ret_hash);
    int r = json_finish(&w.j);
    return w.failed ? w.failed : r;
}

int entry_write_changes(const struct entry_changes *changes, struct buf *out, struct err *e)
{
    struct writer w = {.limit = SIZE_MAX / 2};
    size_t start = out->len;
    json_init_buf(&w.j, out);
    put_change_lists(&w, changes);
    int r = json_finish(&w.j);
    if (w.failed)
        r = w.failed;
    if (r < 0)
        out->len = start;
    return r < 0 ? err_errno(e, r, "cannot write the list of changes") : 0;
}

static void field_all_changes(struct writer *w, const struct entry_changes *changes)
{
    struct json *j = &w->j;
    size_t listed = 0;
    if (!changes->known)
        return;
    for (size_t i = 0; i < ENTRY_CHANGE_KINDS; i++)
        listed += count_listed(w, changes, change_order[i]);
    json_key(j, "changes");
    json_object_begin(j);
    if (changes->hash[0] || listed < changes->count) {
        if (!changes->hash[0] && !w->changes_hash[0] && !is_over(w))
            fail(w, hash_changes(changes, w->changes_hash));
        json_key(j, "all_sha256");
        json_text(j, changes->hash[0] ? changes->hash : w->changes_hash);
    }
    field_number(w, "bytes", changes->bytes);
    json_key(j, "count");
    json_object_begin(j);
    for (size_t i = 0; i < ENTRY_CHANGE_KINDS; i++) {
        if (changes->counts[change_order[i]])
            field_number(w, entry_change_kind_names[change_order[i]],
                         changes->counts[change_order[i]]);
    }
    json_object_end(j);
    for (size_t i = 0; i < ENTRY_CHANGE_KINDS; i++)
        field_changes(w, changes, change_order[i]);
    json_object_end(j);
}

/* --- the other lists ------------------------------------------------------------------------- */

static size_t program_len(const struct writer *w, const struct entry_program *program)
{
    size_t len = 0;
    for (size_t i = 0; i < program->argc && len < w->limit / 2; i++)
        len += in_list(w, program->argv[i]) + 1;
    return len < w->limit / 2 ? len : w->limit / 2;
}

static void put_program(struct writer *w, const struct entry_program *program)
{
    struct json *j = &w->j;
    const size_t limit = w->limit;
    size_t used = 0, written = 0;
    json_object_begin(j);
    json_key(j, "argv");
    json_array_begin(j);
    w->limit /= 2;
    for (; written < program->argc; written++) {
        if (!has_room(w, &used, in_list(w, program->argv[written])))
            break;
        put_list_text(w, program->argv[written]);
    }
    w->limit = limit;
    json_array_end(j);
    field_total(w, "argv_total", written, program->argc, program->argc_total);
    if (program->exit_code >= 0)
        field_number(w, "exit_code", (uint64_t)program->exit_code);
    json_object_end(j);
}

static void field_executed(struct writer *w, const struct entry *entry)
{
    size_t used = 0, written = 0;
    if (!entry->executed_count && !entry->executed_total)
        return;
    json_key(&w->j, "executed");
    json_array_begin(&w->j);
    for (; written < entry->executed_count; written++) {
        if (!has_room(w, &used, program_len(w, &entry->executed[written])))
            break;
        put_program(w, &entry->executed[written]);
    }
    json_array_end(&w->j);
    field_total(w, "executed_total", written, entry->executed_count, entry->executed_total);
}

static void field_reasons(struct writer *w, const struct entry *entry)
{
    struct json *j = &w->j;
    size_t used = 0, written = 0;
    if (!entry->reason_count && !entry->reason_total)
        return;
    json_key(j, "reasons");
    json_array_begin(j);
    for (; written < entry->reason_count; written++) {
        const struct entry_reason *reason = &entry->reasons[written];
        if (!has_room(w, &used, in_list(w, reason->rule) + in_list(w, reason->reason)))
            break;
        json_object_begin(j);
        json_key(j, "reason");
        put_list_text(w, reason->reason);
        json_key(j, "rule");
        put_list_text(w, reason->rule);
        json_object_end(j);
    }
    json_array_end(j);
    field_total(w, "reasons_total", written, entry->reason_count, entry->reason_total);
}

static void field_warnings(struct writer *w, const struct entry *entry)
{
    size_t used = 0, written = 0;
    if (!entry->warning_count && !entry->warning_total)
        return;
    json_key(&w->j, "warnings");
    json_array_begin(&w->j);
    for (; written < entry->warning_count; written++) {
        if (!has_room(w, &used, in_list(w, entry->warnings[written])))
            break;
        put_list_text(w, entry->warnings[written]);
    }
    json_array_end(&w->j);
    field_total(w, "warnings_total", written, entry->warning_count, entry->warning_total);
}

/* --- the entry ------------------------------------------------------------------------------- */

static void field_stream(struct writer *w, const char *key, const struct entry_stream *stream)
{
    char hex[SHA256_HEX + 1];
    sha256_hex(stream->hash, hex);
    json_key(&w->j, key);
    json_object_begin(&w->j);
    field_number(w, "bytes", stream->bytes);
    json_key(&w->j, "sha256");
    json_text(&w->j, hex);
    if (stream->truncated) {
        json_key(&w->j, "truncated");
        json_bool(&w->j, true);
    }
    json_object_end(&w->j);
}

/* Colours and the like would take six bytes for one: then base64 is the shorter. */
static bool is_shorter_as_base64(const struct entry_text *text)
{
    size_t odd = 0;
    for (size_t i = 0; i < text->len; i++)
        odd += ((unsigned char)text->bytes[i] < ' ' && text->bytes[i] != '\n') ||
               text->bytes[i] == 0x7F;
    return odd > text->len / 16;
}

static void field_output(struct writer *w, const struct entry_output *output)
{
    if (!output->known)
        return;
    json_key(&w->j, "output");
    json_object_begin(&w->j);
    if (output->frames.bytes) {
        json_key(&w->j, "frames");
        put_text(w, &output->frames, ENTRY_FRAMES_MAX, is_shorter_as_base64(&output->frames));
    }
    field_text(w, "object", output->object);
    field_stream(w, "stderr", &output->stderr_stream);
    field_stream(w, "stdout", &output->stdout_stream);
    json_object_end(&w->j);
}

static void field_resources(struct writer *w, const struct entry *entry)
{
    if (!entry->has_resources)
        return;
    json_key(&w->j, "resource_usage");
    json_object_begin(&w->j);
    field_number(w, "bytes_written", entry->bytes_written);
    field_number(w, "cpu_ms", entry->cpu_ms);
    field_number(w, "memory_peak_bytes", entry->memory_peak_bytes);
    field_number(w, "processes_peak", entry->processes_peak);
    json_object_end(&w->j);
}

static void field_script(struct writer *w, const struct entry_script *script)
{
    size_t used = 0, written = 0;
    if (!script->language)
        return;
    json_key(&w->j, "script");
    json_object_begin(&w->j);
    if (script->arg_count || script->arg_total) {
        json_key(&w->j, "args");
        json_array_begin(&w->j);
        for (; written < script->arg_count; written++) {
            if (!has_room(w, &used, in_list(w, script->args[written])))
                break;
            put_list_text(w, script->args[written]);
        }
        json_array_end(&w->j);
        field_total(w, "args_total", written, script->arg_count, script->arg_total);
    }
    field_number(w, "bytes", script->bytes);
    field_text(w, "language", script->language);
    field_text(w, "object", script->object);
    if (script->redacted) {
        json_key(&w->j, "redacted");
        json_bool(&w->j, true);
    }
    json_object_end(&w->j);
}

/* In the order of their names; the reader has the same keys. */
static void put_entry(struct writer *w, const struct entry *entry)
{
    struct json *j = &w->j;
    json_object_begin(j);
    field_text(w, "agent", entry->agent);
    field_long(w, "canonical", &entry->canonical);
    field_all_changes(w, &entry->changes);
    field_long(w, "command", &entry->command);
    field_text(w, "confirmed_by", entry->confirmed_by);
    field_text(w, "detail", entry->detail);
    if (entry->duration_ms)
        field_number(w, "duration_ms", entry->duration_ms);
    field_text(w, "error", entry->error);
    field_executed(w, entry);
    if (entry->has_exit_code) {
        json_key(j, "exit_code");
        json_signed(j, entry->exit_code);
    }
    field_text(w, "fs_hash_after", entry->fs_hash_after);
    field_text(w, "fs_hash_before", entry->fs_hash_before);
    field_text(w, "id", entry->id);
    if (entry->has_intent)
        field_number(w, "intent", entry->intent);
    field_text(w, "job", entry->job);
    field_text(w, "kind", entry_kind_names[entry->kind]);
    field_text(w, "limit", entry->limit);
    field_text(w, "mandate_hash", entry->mandate_hash);
    if (entry->network) {
        json_key(j, "network");
        json_bool(j, true);
    }
    field_text(w, "object", entry->object);
    field_output(w, &entry->output);
    field_text(w, "profile", entry->profile);
    field_reasons(w, entry);
    if (entry->redactions)
        field_number(w, "redactions", entry->redactions);
    field_resources(w, entry);
    if (entry->has_reversible) {
        json_key(j, "reversible");
        json_bool(j, entry->reversible);
    }
    field_text(w, "rule", entry->rule);
    field_script(w, &entry->script);
    field_text(w, "session", entry->session);
    field_text(w, "status", entry->status);
    field_text(w, "strength", entry->strength);
    field_text(w, "time", entry->time);
    field_text(w, "user", entry->user);
    field_number(w, "v", ENTRY_VERSION);
    field_text(w, "verdict", entry->verdict);
    field_warnings(w, entry);
    field_text(w, "working_dir", entry->working_dir);
    field_text(w, "workspace", entry->workspace);
    json_object_end(j);
}

int entry_write(const struct entry *entry, struct buf *out, struct err *e)
{
    struct writer w = {.limit = ENTRY_BYTES_MAX};
    struct buf text;
    int r;
    if (entry->kind <= ENTRY_NONE || entry->kind >= ENTRY_KINDS)
        return err_set(e, -EINVAL, "cannot write an entry of no kind");
    buf_init(&text, &allocator_libc, ENTRY_BYTES_MAX);
    for (;; w.limit /= 2) {
        buf_clear(&text);
        json_init_buf(&w.j, &text);
        put_entry(&w, entry);
        r = w.failed ? w.failed : json_finish(&w.j);
        if (r != -E2BIG || w.limit <= LIMIT_LAST)
            break;
    }
    if (r == 0)
        r = buf_append(out, text.data, text.len);
    buf_release(&text);
    return r < 0 ? err_errno(e, r, "cannot write an entry") : 0;
}
