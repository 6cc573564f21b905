/*
 * Reading questions and answers; see approve.h. The bytes may come from anybody: what is there must
 * be of its type and length, what is not known is refused, and a question must hash to what it says
 * that it is (A3).
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "approve/approve.h"
#include "base/utf8.h"
#include "ledger/base64.h"

enum { FIELD_MAX = 8192, PATH_FIELD_MAX = 8192 };

struct reader {
    struct arena *arena;
    json_t *top;
    size_t known; /* keys that were asked for and are there */
    bool bad;
};

static const json_t *get(struct reader *r, const char *key)
{
    const json_t *value = json_object_get(r->top, key);
    r->known += value != NULL;
    return value;
}

/* A string without a NUL in it; NULL: there is none. */
static const char *get_text(struct reader *r, const char *key, bool needed, size_t max)
{
    const json_t *value = get(r, key);
    if (!value) {
        r->bad |= needed;
        return NULL;
    }
    size_t len = json_string_length(value);
    if (!json_is_string(value) || len > max || strlen(json_string_value(value)) != len) {
        r->bad = true;
        return NULL;
    }
    const char *copy = arena_copy(r->arena, json_string_value(value), len);
    r->bad |= !copy;
    return copy;
}

static const char *get_bytes(struct reader *r, const char *key, bool needed, size_t max,
                             size_t *ret_len)
{
    const json_t *value = get(r, key);
    *ret_len = 0;
    if (!value) {
        r->bad |= needed;
        return NULL;
    }
    const char *text = json_string_value(value);
    size_t len = json_string_length(value), padding = 0;
    while (text && padding < 2 && padding < len && text[len - 1 - padding] == '=')
        padding++;
    if (!text || len % 4 != 0 || len / 4 * 3 > max + 2) {
        r->bad = true;
        return NULL;
    }
    size_t size = len / 4 * 3 - padding;
    char *bytes = arena_alloc(r->arena, size + 1);
    if (!bytes || size > max || base64_read(text, len, bytes, size) < 0) {
        r->bad = true;
        return NULL;
    }
    *ret_len = size;
    return bytes;
}

static const char *get_path(struct reader *r, const char *key, bool needed)
{
    size_t len;
    const char *path = get_bytes(r, key, needed, PATH_FIELD_MAX, &len);
    if (path && strlen(path) != len)
        r->bad = true;
    return path;
}

static int64_t get_time(struct reader *r, const char *key)
{
    const int64_t most = INT64_C(1) << 53;
    const json_t *value = get(r, key);
    int64_t time = json_integer_value(value);
    if (!json_is_integer(value) || time < 0 || time > most) {
        r->bad = true;
        return 0;
    }
    return time;
}

static void get_id(struct reader *r, const char *key, char ret[UUID_TEXT + 1])
{
    const char *text = get_text(r, key, true, UUID_TEXT);
    if (!text || strlen(text) != UUID_TEXT || strspn(text, "0123456789abcdef-") != UUID_TEXT)
        r->bad = true;
    else
        memcpy(ret, text, UUID_TEXT + 1);
}

static void get_hash(struct reader *r, const char *key, char ret[SHA256_HEX + 1])
{
    const char *text = get_text(r, key, true, SHA256_HEX);
    if (!text || strlen(text) != SHA256_HEX || strspn(text, "0123456789abcdef") != SHA256_HEX)
        r->bad = true;
    else
        memcpy(ret, text, SHA256_HEX + 1);
}

/* One of two texts. */
static bool get_either(struct reader *r, const char *key, const char *first, const char *second)
{
    const char *text = get_text(r, key, true, FIELD_MAX);
    bool is_second = text && strcmp(text, second) == 0;
    r->bad |= !text || (!is_second && strcmp(text, first) != 0);
    return is_second;
}

static bool get_bool(struct reader *r, const char *key)
{
    const json_t *value = get(r, key);
    r->bad |= !json_is_boolean(value);
    return json_is_true(value);
}

/* It is handed on as it stands. */
static bool is_object(const char *bytes, size_t len)
{
    json_error_t ignored;
    json_t *value = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &ignored);
    bool object = json_is_object(value);
    json_decref(value);
    return object;
}

static bool begin(struct reader *r, const char *bytes, size_t len, size_t max)
{
    json_error_t ignored;
    r->top = len <= max ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &ignored) : NULL;
    if (!json_is_object(r->top))
        return false;
    const json_t *version = get(r, "version");
    return json_is_integer(version) && json_integer_value(version) == 1;
}

/* A key that nobody asked for may mean something that is not seen here. */
static bool end(struct reader *r)
{
    bool good = !r->bad && json_object_size(r->top) == r->known;
    json_decref(r->top);
    return good && !r->arena->failed;
}

static void get_head(struct reader *r, struct question *q)
{
    get_id(r, "id", q->id);
    q->kind = get_either(r, "kind", "run", "changes") ? QUESTION_CHANGES : QUESTION_RUN;
    q->asked_ms = get_time(r, "asked_ms");
    q->expires_ms = get_time(r, "expires_ms");
    q->waits = get_bool(r, "waits");
    get_hash(r, "binding", q->binding);
}

int question_read_head(const char *bytes, size_t len, struct question *ret)
{
    static const char stop[] = ",\"text\":";
    char head[QUESTION_HEAD_MAX + 1];
    struct arena arena;
    struct question q = {0};
    const char *end_of_it =
        len <= QUESTION_HEAD_MAX ? memmem(bytes, len, stop, strlen(stop)) : NULL;
    if (!end_of_it)
        return -EBADMSG;
    len = (size_t)(end_of_it - bytes);
    memcpy(head, bytes, len);
    head[len] = '}';
    arena_init(&arena, &allocator_libc, 1 << 16);
    struct reader r = {.arena = &arena};
    bool good = begin(&r, head, len + 1, QUESTION_HEAD_MAX);
    if (good)
        get_head(&r, &q);
    good = end(&r) && good;
    arena_release(&arena);
    if (good)
        *ret = q;
    return good ? 0 : -EBADMSG;
}

int question_read(struct arena *arena, const char *bytes, size_t len, struct question *ret,
                  struct err *e)
{
    struct reader r = {.arena = arena};
    struct question q = {0};
    if (!begin(&r, bytes, len, QUESTION_BYTES_MAX)) {
        json_decref(r.top);
        return err_set(e, -EBADMSG, "the question is not one, or of another version");
    }
    char binding[SHA256_HEX + 1] = "";
    get_head(&r, &q);
    memcpy(binding, q.binding, sizeof(binding));
    q.text = get_bytes(&r, "text", true, QUESTION_TEXT_MAX, &q.text_len);
    q.canonical = get_bytes(&r, "canonical", true, QUESTION_TEXT_MAX, &q.canonical_len);
    q.language = get_text(&r, "language", false, FIELD_MAX);
    q.script = get_bytes(&r, "script", q.language != NULL, QUESTION_TEXT_MAX, &q.script_len);
    r.bad |= q.script && !q.language;
    q.workspace = get_path(&r, "workspace", true);
    q.directory = get_path(&r, "directory", true);
    q.config = get_path(&r, "config", false);
    q.agent = get_path(&r, "agent", false);
    q.profile = get_text(&r, "profile", false, FIELD_MAX);
    q.session = get_text(&r, "session", false, FIELD_MAX);
    q.input = get_text(&r, "input", true, SHA256_HEX);
    q.mandate_hash = get_text(&r, "mandate_hash", true, SHA256_HEX);
    q.key = get_text(&r, "key", false, FIELD_MAX);
    q.user = get_text(&r, "user", false, FIELD_MAX);
    q.verdict = get_bytes(&r, "verdict", false, QUESTION_VERDICT_MAX, &q.verdict_len);
    r.bad |= q.verdict && !is_object(q.verdict, q.verdict_len);
    if (!end(&r))
        return err_set(e, -EBADMSG, "the question is damaged");
    question_bind(&q);
    if (memcmp(binding, q.binding, sizeof(binding)) != 0)
        return err_set(e, -EBADMSG, "the question is not the one that it says it is");
    *ret = q;
    return 0;
}

int answer_read(struct arena *arena, const char *bytes, size_t len, struct answer *ret,
                struct err *e)
{
    struct reader r = {.arena = arena};
    struct answer a = {0};
    if (!begin(&r, bytes, len, ANSWER_BYTES_MAX)) {
        json_decref(r.top);
        return err_set(e, -EBADMSG, "the answer is not one, or of another version");
    }
    get_id(&r, "id", a.id);
    get_hash(&r, "binding", a.binding);
    a.yes = get_either(&r, "answer", "no", "yes");
    const char *scope = get_text(&r, "scope", true, FIELD_MAX);
    bool known = false;
    for (enum answer_scope i = 0; scope && i < ANSWER_SCOPES; i++) {
        if (strcmp(scope, answer_scope_names[i]) == 0) {
            a.scope = i;
            known = true;
        }
    }
    r.bad |= !known;
    a.time_ms = get_time(&r, "time_ms");
    a.expires_ms = get_time(&r, "expires_ms");
    a.by = get_text(&r, "by", true, FIELD_MAX);
    a.reason = get_text(&r, "reason", false, ANSWER_REASON_MAX);
    const char *name = get_text(&r, "key_name", false, NOTE_NAME_MAX);
    const char *signature = get_text(&r, "signature", name != NULL, FIELD_MAX);
    a.is_signed = name && signature;
    if (name)
        memcpy(a.key_name, name, strlen(name) + 1);
    if (signature &&
        (!name || base64_read(signature, strlen(signature), a.signature, sizeof(a.signature)) < 0))
        r.bad = true;
    if (!end(&r))
        return err_set(e, -EBADMSG, "the answer is damaged");
    *ret = a;
    return 0;
}
