/* Writing questions, and what they are bound to; see approve.h. read.c reads them. */
#include <errno.h>
#include <string.h>

#include "approve/approve.h"
#include "base/clock.h"
#include "base/json.h"
#include "ledger/base64.h"

/* --- binding (A1) ---------------------------------------------------------------------------- */

/* Each with its length: no two lists of fields give the same bytes. */
static void add_bytes(struct sha256 *hash, const char *bytes, size_t len)
{
    unsigned char head[9] = {bytes ? 1 : 0};
    for (size_t i = 0; i < 8; i++)
        head[i + 1] = (unsigned char)((uint64_t)len >> (8 * i));
    sha256_add(hash, head, sizeof(head));
    if (len)
        sha256_add(hash, bytes, len);
}

static void add_text(struct sha256 *hash, const char *text)
{
    add_bytes(hash, text, text ? strlen(text) : 0);
}

void question_bind(struct question *q)
{
    struct sha256 hash;
    unsigned char digest[SHA256_BYTES];
    sha256_start(&hash);
    add_text(&hash, q->kind == QUESTION_RUN ? "nacre run 1" : "nacre changes 1");
    /* Changes are those of one run. */
    add_text(&hash, q->kind == QUESTION_RUN ? NULL : q->id);
    add_bytes(&hash, q->canonical, q->canonical_len);
    add_text(&hash, q->mandate_hash);
    add_text(&hash, q->workspace);
    add_text(&hash, q->directory);
    add_text(&hash, q->agent);
    add_text(&hash, q->session);
    add_text(&hash, q->input);
    if (q->language) {
        add_text(&hash, "script");
        add_text(&hash, q->language);
        add_bytes(&hash, q->script, q->script_len);
    }
    sha256_end(&hash, digest);
    sha256_hex(digest, q->binding);
}

/* --- as bytes -------------------------------------------------------------------------------- */

/* Any bytes, so that what is shown is what was asked. */
static void field_bytes(struct json *j, const char *key, const char *bytes, size_t len, int *failed)
{
    if (!bytes)
        return;
    char *text = alloc_resize(&allocator_libc, NULL, BASE64_LEN(len) + 1);
    if (!text) {
        *failed = -ENOMEM;
        return;
    }
    base64_write(bytes, len, text);
    json_key(j, key);
    json_bytes(j, text, BASE64_LEN(len));
    alloc_free(&allocator_libc, text);
}

static void field_path(struct json *j, const char *key, const char *text, int *failed)
{
    field_bytes(j, key, text, text ? strlen(text) : 0, failed);
}

static void field_text(struct json *j, const char *key, const char *text)
{
    if (!text)
        return;
    json_key(j, key);
    json_text(j, text);
}

int question_write(const struct question *q, struct buf *out, struct err *e)
{
    struct json j;
    int failed = 0;
    if (q->text_len > QUESTION_TEXT_MAX || q->canonical_len > QUESTION_TEXT_MAX ||
        q->script_len > QUESTION_TEXT_MAX || q->verdict_len > QUESTION_VERDICT_MAX)
        return err_set(e, -E2BIG, "the text is too long for a question (more than %d kB)",
                       QUESTION_TEXT_MAX >> 10);
    json_init_buf(&j, out);
    json_object_begin(&j);
    json_key(&j, "version");
    json_unsigned(&j, 1);
    field_text(&j, "id", q->id);
    field_text(&j, "kind", q->kind == QUESTION_RUN ? "run" : "changes");
    json_key(&j, "asked_ms");
    json_signed(&j, q->asked_ms);
    json_key(&j, "expires_ms");
    json_signed(&j, q->expires_ms);
    json_key(&j, "waits");
    json_bool(&j, q->waits);
    field_text(&j, "binding", q->binding);
    /* question_read_head reads up to here. */
    field_bytes(&j, "text", q->text, q->text_len, &failed);
    field_bytes(&j, "canonical", q->canonical, q->canonical_len, &failed);
    field_text(&j, "language", q->language);
    field_bytes(&j, "script", q->script, q->script_len, &failed);
    field_path(&j, "workspace", q->workspace, &failed);
    field_path(&j, "directory", q->directory, &failed);
    field_path(&j, "config", q->config, &failed);
    field_path(&j, "agent", q->agent, &failed);
    field_text(&j, "profile", q->profile);
    field_text(&j, "session", q->session);
    field_text(&j, "input", q->input);
    field_text(&j, "mandate_hash", q->mandate_hash);
    field_text(&j, "key", q->key);
    field_text(&j, "user", q->user);
    field_bytes(&j, "verdict", q->verdict, q->verdict_len, &failed);
    json_object_end(&j);
    int r = json_finish(&j);
    r = failed < 0 ? failed : r < 0 ? r : out->failed;
    return r < 0 ? err_errno(e, r, "cannot write the question") : 0;
}

/* --- for others ------------------------------------------------------------------------------ */

static int put_raw(struct json *j, struct buf *out, const char *key, const char *value, size_t len)
{
    /* A key with a place for the value, which is JSON already, written by ourselves. */
    json_key(j, key);
    json_unsigned(j, 0);
    if (out->failed || !out->len)
        return out->failed ? out->failed : -EINVAL;
    out->len--;
    return buf_append(out, value, len);
}

int question_write_public(const struct question *q, struct buf *out, struct err *e)
{
    struct json j;
    json_init_buf(&j, out);
    json_object_begin(&j);
    field_text(&j, "id", q->id);
    field_text(&j, "kind", q->kind == QUESTION_RUN ? "run" : "changes");
    char time[CLOCK_RFC3339 + 1];
    clock_format_rfc3339(q->asked_ms, time);
    field_text(&j, "asked", time);
    if (q->expires_ms) {
        clock_format_rfc3339(q->expires_ms, time);
        field_text(&j, "expires", time);
    }
    json_key(&j, "waits");
    json_bool(&j, q->waits);
    json_key(&j, "command");
    json_bytes(&j, q->text ? q->text : "", q->text_len);
    json_key(&j, "canonical");
    json_bytes(&j, q->canonical ? q->canonical : "", q->canonical_len);
    field_text(&j, "language", q->language);
    if (q->script) {
        json_key(&j, "script");
        json_bytes(&j, q->script, q->script_len);
    }
    field_text(&j, "workspace", q->workspace);
    field_text(&j, "working_dir", q->directory);
    field_text(&j, "agent", q->agent);
    field_text(&j, "profile", q->profile);
    field_text(&j, "session", q->session);
    field_text(&j, "stdin", q->input);
    field_text(&j, "mandate_hash", q->mandate_hash);
    field_text(&j, "user", q->user);
    json_key(&j, "signed");
    json_bool(&j, q->key != NULL);
    field_text(&j, "binding", q->binding);
    int r = q->verdict_len ? put_raw(&j, out, "verdict", q->verdict, q->verdict_len) : 0;
    json_object_end(&j);
    int finished = json_finish(&j);
    r = r < 0 ? r : finished < 0 ? finished : out->failed;
    return r < 0 ? err_errno(e, r, "cannot write the question") : 0;
}
