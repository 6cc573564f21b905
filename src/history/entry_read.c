/*
 * Reading entries; see entry.h. What is there must be of its type; what is not known is passed
 * over. The bytes may come from anybody: everything is bounded by their length.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "history/entry.h"
#include "ledger/base64.h"

enum { ENTRY_READ_MAX = 1 << 16, CHANGES_READ_MAX = 64 << 20 };

struct reader {
    struct arena *arena;
    const char *wrong; /* key of the first value that is not what it should be */
};

static void refuse(struct reader *r, const char *key)
{
    if (!r->wrong)
        r->wrong = key;
}

/* Zeroed; one more than none, so that an empty list has an address. */
static void *take_list(struct reader *r, size_t count, size_t size)
{
    return arena_alloc_array(r->arena, count + 1, size);
}

static const char *take_copy(struct reader *r, const json_t *string, size_t *ret_len)
{
    *ret_len = json_string_length(string);
    return arena_copy(r->arena, json_string_value(string), *ret_len);
}

static const char *take_base64(struct reader *r, const json_t *string, const char *key,
                               size_t *ret_len)
{
    const char *text = json_string_value(string);
    size_t len = json_string_length(string);
    size_t padding = 0;
    while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
        padding++;
    *ret_len = len / 4 * 3 - padding;
    char *bytes =
        len % 4 == 0 && len / 4 * 3 >= padding ? arena_alloc(r->arena, *ret_len + 1) : NULL;
    if (!bytes || base64_read(text, len, bytes, *ret_len) < 0) {
        *ret_len = 0;
        refuse(r, key);
        return "";
    }
    return bytes;
}

static uint64_t read_number(struct reader *r, const json_t *value, const char *key)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        refuse(r, key);
        return 0;
    }
    return (uint64_t)json_integer_value(value);
}

static bool is_hash(const char *text)
{
    return text && strlen(text) == SHA256_HEX && strspn(text, "0123456789abcdef") == SHA256_HEX;
}

/* A string, or an object with `text` or `base64`, and `bytes` and `sha256` for a head. */
static void read_long(struct reader *r, const json_t *value, const char *key,
                      struct entry_text *ret)
{
    *ret = (struct entry_text){0};
    if (!value)
        return;
    const json_t *plain = json_is_string(value) ? value : json_object_get(value, "text");
    const json_t *base64 = json_object_get(value, "base64");
    if (json_is_string(plain) && !base64) {
        ret->bytes = take_copy(r, plain, &ret->len);
    } else if (json_is_string(base64) && !plain) {
        ret->bytes = take_base64(r, base64, key, &ret->len);
    } else {
        refuse(r, key);
        return;
    }
    const json_t *bytes = json_object_get(value, "bytes");
    const json_t *hash = json_object_get(value, "sha256");
    if (!bytes && !hash)
        return;
    ret->whole_len = read_number(r, bytes, key);
    if (!is_hash(json_string_value(hash)) || ret->whole_len < ret->len || ret->whole_len == 0)
        refuse(r, key);
    else
        memcpy(ret->whole_hash, json_string_value(hash), sizeof(ret->whole_hash));
}

/* A text of C: without a NUL in it. */
static const char *read_text(struct reader *r, const json_t *value, const char *key)
{
    struct entry_text text;
    read_long(r, value, key, &text);
    if (text.bytes && memchr(text.bytes, '\0', text.len))
        refuse(r, key);
    return text.bytes;
}

/*
 * Fields of an object, absent ones included.
 */
static const char *get_text(struct reader *r, const json_t *object, const char *key)
{
    return read_text(r, json_object_get(object, key), key);
}

static uint64_t get_number(struct reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value ? read_number(r, value, key) : 0;
}

static bool get_bool(struct reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (value && !json_is_boolean(value))
        refuse(r, key);
    return json_is_true(value);
}

/* NULL and a count of 0 where there is none. */
static const json_t *get_list(struct reader *r, const json_t *object, const char *key,
                              size_t *ret_count)
{
    const json_t *list = json_object_get(object, key);
    if (list && !json_is_array(list)) {
        refuse(r, key);
        list = NULL;
    }
    *ret_count = json_array_size(list);
    return list;
}

static const json_t *get_object(struct reader *r, const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (value && !json_is_object(value)) {
        refuse(r, key);
        return NULL;
    }
    return value;
}

static bool get_exit_code(struct reader *r, const json_t *object, const char *key, int *ret)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return false;
    json_int_t code = json_is_integer(value) ? json_integer_value(value) : INT64_MAX;
    if (code < INT32_MIN || code > INT32_MAX) {
        refuse(r, key);
        return false;
    }
    *ret = (int)code;
    return true;
}

/* A hash in hexadecimal; empty where there is none. */
static void get_hash(struct reader *r, const json_t *object, const char *key,
                     char ret[SHA256_HEX + 1])
{
    const json_t *value = json_object_get(object, key);
    ret[0] = '\0';
    if (!value)
        return;
    if (is_hash(json_string_value(value)))
        memcpy(ret, json_string_value(value), SHA256_HEX + 1);
    else
        refuse(r, key);
}

static const char *const *get_texts(struct reader *r, const json_t *object, const char *key,
                                    size_t *ret_count)
{
    const json_t *list = get_list(r, object, key, ret_count);
    const char **texts = take_list(r, *ret_count, sizeof(*texts));
    for (size_t i = 0; texts && i < *ret_count; i++)
        texts[i] = read_text(r, json_array_get(list, i), key);
    return texts;
}

/* --- the parts of an entry ------------------------------------------------------------------- */

static void read_reasons(struct reader *r, const json_t *top, struct entry *ret)
{
    const json_t *list = get_list(r, top, "reasons", &ret->reason_count);
    struct entry_reason *reasons = take_list(r, ret->reason_count, sizeof(*reasons));
    for (size_t i = 0; reasons && i < ret->reason_count; i++) {
        const json_t *reason = json_array_get(list, i);
        reasons[i].rule = get_text(r, reason, "rule");
        reasons[i].reason = get_text(r, reason, "reason");
        if (!reasons[i].rule || !reasons[i].reason)
            refuse(r, "reasons");
    }
    ret->reasons = reasons;
    ret->reason_total = get_number(r, top, "reasons_total");
}

static void read_executed(struct reader *r, const json_t *top, struct entry *ret)
{
    const json_t *list = get_list(r, top, "executed", &ret->executed_count);
    struct entry_program *programs = take_list(r, ret->executed_count, sizeof(*programs));
    for (size_t i = 0; programs && i < ret->executed_count; i++) {
        const json_t *program = json_array_get(list, i);
        if (!json_is_object(program))
            refuse(r, "executed");
        programs[i].argv = get_texts(r, program, "argv", &programs[i].argc);
        programs[i].argc_total = get_number(r, program, "argv_total");
        if (!get_exit_code(r, program, "exit_code", &programs[i].exit_code))
            programs[i].exit_code = -1;
    }
    ret->executed = programs;
    ret->executed_total = get_number(r, top, "executed_total");
}

static void read_change(struct reader *r, const json_t *item, enum entry_change_kind kind,
                        struct entry_change *ret)
{
    ret->kind = kind;
    if (kind == ENTRY_RENAMED) {
        ret->path = get_text(r, item, "from");
        ret->to = get_text(r, item, "to");
    } else {
        ret->path = read_text(r, item, entry_change_kind_names[kind]);
    }
    if (!ret->path || (kind == ENTRY_RENAMED && !ret->to))
        refuse(r, entry_change_kind_names[kind]);
}

static void read_change_lists(struct reader *r, const json_t *lists, struct entry_changes *ret)
{
    size_t counts[ENTRY_CHANGE_KINDS], all = 0;
    const json_t *list[ENTRY_CHANGE_KINDS];
    for (enum entry_change_kind kind = 0; kind < ENTRY_CHANGE_KINDS; kind++) {
        list[kind] = get_list(r, lists, entry_change_kind_names[kind], &counts[kind]);
        all += counts[kind];
    }
    struct entry_change *items = take_list(r, all, sizeof(*items));
    size_t count = 0;
    for (enum entry_change_kind kind = 0; items && kind < ENTRY_CHANGE_KINDS; kind++) {
        for (size_t i = 0; i < counts[kind]; i++)
            read_change(r, json_array_get(list[kind], i), kind, &items[count++]);
    }
    ret->items = items;
    ret->count = count;
}

static void read_changes(struct reader *r, const json_t *top, struct entry_changes *ret)
{
    const json_t *changes = get_object(r, top, "changes");
    if (!changes)
        return;
    const json_t *counts = get_object(r, changes, "count");
    ret->known = true;
    ret->bytes = get_number(r, changes, "bytes");
    for (size_t kind = 0; kind < ENTRY_CHANGE_KINDS; kind++)
        ret->counts[kind] = get_number(r, counts, entry_change_kind_names[kind]);
    get_hash(r, changes, "all_sha256", ret->hash);
    read_change_lists(r, changes, ret);
}

static unsigned hex_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10U;
}

static void read_stream(struct reader *r, const json_t *output, const char *key,
                        struct entry_stream *ret)
{
    char hex[SHA256_HEX + 1];
    const json_t *stream = get_object(r, output, key);
    get_hash(r, stream, "sha256", hex);
    if (!hex[0]) {
        refuse(r, key);
        return;
    }
    for (size_t i = 0; i < SHA256_BYTES; i++)
        ret->hash[i] = (unsigned char)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
    ret->bytes = get_number(r, stream, "bytes");
    ret->truncated = get_bool(r, stream, "truncated");
}

static void read_output(struct reader *r, const json_t *top, struct entry_output *ret)
{
    const json_t *output = get_object(r, top, "output");
    if (!output)
        return;
    ret->known = true;
    read_stream(r, output, "stdout", &ret->stdout_stream);
    read_stream(r, output, "stderr", &ret->stderr_stream);
    read_long(r, json_object_get(output, "frames"), "frames", &ret->frames);
    get_hash(r, output, "object", ret->object);
}

static void read_resources(struct reader *r, const json_t *top, struct entry *ret)
{
    const json_t *used = get_object(r, top, "resource_usage");
    if (!used)
        return;
    ret->has_resources = true;
    ret->cpu_ms = get_number(r, used, "cpu_ms");
    ret->memory_peak_bytes = get_number(r, used, "memory_peak_bytes");
    ret->processes_peak = get_number(r, used, "processes_peak");
    ret->bytes_written = get_number(r, used, "bytes_written");
}

static void read_script(struct reader *r, const json_t *top, struct entry_script *ret)
{
    const json_t *script = get_object(r, top, "script");
    if (!script)
        return;
    ret->language = get_text(r, script, "language");
    if (!ret->language)
        refuse(r, "language");
    ret->bytes = get_number(r, script, "bytes");
    ret->redacted = get_bool(r, script, "redacted");
    get_hash(r, script, "object", ret->object);
    ret->args = get_texts(r, script, "args", &ret->arg_count);
    ret->arg_total = get_number(r, script, "args_total");
}

static enum entry_kind read_kind(struct reader *r, const json_t *top)
{
    const char *name = get_text(r, top, "kind");
    for (enum entry_kind kind = ENTRY_NONE + 1; name && kind < ENTRY_KINDS; kind++) {
        if (strcmp(name, entry_kind_names[kind]) == 0)
            return kind;
    }
    refuse(r, "kind");
    return ENTRY_NONE;
}

static void read_texts(struct reader *r, const json_t *top, struct entry *ret)
{
    ret->time = get_text(r, top, "time");
    ret->id = get_text(r, top, "id");
    ret->agent = get_text(r, top, "agent");
    ret->profile = get_text(r, top, "profile");
    ret->job = get_text(r, top, "job");
    ret->session = get_text(r, top, "session");
    ret->workspace = get_text(r, top, "workspace");
    ret->working_dir = get_text(r, top, "working_dir");
    ret->user = get_text(r, top, "user");
    read_long(r, json_object_get(top, "command"), "command", &ret->command);
    read_long(r, json_object_get(top, "canonical"), "canonical", &ret->canonical);
    ret->status = get_text(r, top, "status");
    ret->verdict = get_text(r, top, "verdict");
    ret->rule = get_text(r, top, "rule");
    ret->mandate_hash = get_text(r, top, "mandate_hash");
    ret->confirmed_by = get_text(r, top, "confirmed_by");
    ret->strength = get_text(r, top, "strength");
    ret->limit = get_text(r, top, "limit");
    ret->fs_hash_before = get_text(r, top, "fs_hash_before");
    ret->fs_hash_after = get_text(r, top, "fs_hash_after");
    ret->error = get_text(r, top, "error");
    ret->object = get_text(r, top, "object");
    ret->detail = get_text(r, top, "detail");
}

static void read_entry(struct reader *r, const json_t *top, struct entry *ret)
{
    if (get_number(r, top, "v") < 1)
        refuse(r, "v");
    ret->kind = read_kind(r, top);
    read_texts(r, top, ret);
    read_reasons(r, top, ret);
    read_executed(r, top, ret);
    read_changes(r, top, &ret->changes);
    read_output(r, top, &ret->output);
    read_resources(r, top, ret);
    read_script(r, top, &ret->script);
    ret->network = get_bool(r, top, "network");
    ret->has_exit_code = get_exit_code(r, top, "exit_code", &ret->exit_code);
    ret->duration_ms = get_number(r, top, "duration_ms");
    ret->has_reversible = json_object_get(top, "reversible") != NULL;
    ret->reversible = get_bool(r, top, "reversible");
    ret->redactions = get_number(r, top, "redactions");
    ret->warnings = get_texts(r, top, "warnings", &ret->warning_count);
    ret->warning_total = get_number(r, top, "warnings_total");
    ret->has_intent = json_object_get(top, "intent") != NULL;
    ret->intent = get_number(r, top, "intent");
}

/* --- */

static int load(const void *bytes, size_t len, const char *what, json_t **ret, struct err *e)
{
    json_error_t error;
    *ret = json_loadb(bytes, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (json_is_object(*ret))
        return 0;
    bool memory = !*ret && json_error_code(&error) == json_error_out_of_memory;
    json_decref(*ret);
    if (memory)
        return err_set(e, -ENOMEM, "out of memory");
    return err_set(e, -EBADMSG, "%s is damaged: it is no JSON object", what);
}

static int answer(const struct reader *r, const char *what, struct err *e)
{
    if (r->arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    if (r->wrong)
        return err_set(e, -EBADMSG, "%s is damaged: '%s'", what, r->wrong);
    return 0;
}

int entry_read(struct arena *arena, const void *bytes, size_t len, struct entry *ret, struct err *e)
{
    struct reader r = {.arena = arena};
    struct entry entry = {0};
    json_t *top;
    if (len > ENTRY_READ_MAX)
        return err_set(e, -EBADMSG, "the entry is damaged: it is too long");
    int code = load(bytes, len, "the entry", &top, e);
    if (code < 0)
        return code;
    read_entry(&r, top, &entry);
    json_decref(top);
    code = answer(&r, "the entry", e);
    if (code == 0)
        *ret = entry;
    return code;
}

int entry_read_changes(struct arena *arena, const void *bytes, size_t len,
                       struct entry_changes *ret, struct err *e)
{
    struct reader r = {.arena = arena};
    struct entry_changes changes = {.known = true};
    json_t *top;
    if (len > CHANGES_READ_MAX)
        return err_set(e, -EBADMSG, "the list of changes is damaged: it is too long");
    int code = load(bytes, len, "the list of changes", &top, e);
    if (code < 0)
        return code;
    read_change_lists(&r, top, &changes);
    json_decref(top);
    for (size_t i = 0; i < changes.count; i++)
        changes.counts[changes.items[i].kind]++;
    code = answer(&r, "the list of changes", e);
    if (code == 0)
        *ret = changes;
    return code;
}
