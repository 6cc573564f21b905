/* Writing answers, signing them and checking who signed; see approve.h. */
#include <errno.h>
#include <inttypes.h>
#include <sodium/crypto_sign.h>
#include <stdio.h>
#include <string.h>

#include "approve/approve.h"
#include "base/json.h"
#include "ledger/base64.h"

const char *const answer_scope_names[ANSWER_SCOPES] = {
    [ANSWER_ONCE] = "once", [ANSWER_JOB] = "job", [ANSWER_ALWAYS] = "always"};

int answer_write(const struct answer *a, struct buf *out, struct err *e)
{
    struct json j;
    json_init_buf(&j, out);
    json_object_begin(&j);
    json_key(&j, "version");
    json_unsigned(&j, 1);
    json_key(&j, "id");
    json_text(&j, a->id);
    json_key(&j, "binding");
    json_text(&j, a->binding);
    json_key(&j, "answer");
    json_text(&j, a->yes ? "yes" : "no");
    json_key(&j, "scope");
    json_text(&j, answer_scope_names[a->scope]);
    json_key(&j, "time_ms");
    json_signed(&j, a->time_ms);
    json_key(&j, "expires_ms");
    json_signed(&j, a->expires_ms);
    json_key(&j, "by");
    json_text(&j, a->by ? a->by : "");
    if (a->reason) {
        json_key(&j, "reason");
        json_text(&j, a->reason);
    }
    if (a->is_signed) {
        char signature[BASE64_LEN(NOTE_SIGNATURE_BYTES) + 1] = {0};
        base64_write(a->signature, sizeof(a->signature), signature);
        json_key(&j, "key_name");
        json_text(&j, a->key_name);
        json_key(&j, "signature");
        json_text(&j, signature);
    }
    json_object_end(&j);
    int r = json_finish(&j);
    r = r < 0 ? r : out->failed;
    return r < 0 ? err_errno(e, r, "cannot write the answer") : 0;
}

/* --- signing (A4) ---------------------------------------------------------------------------- */

/* All that it says, each field with its length; what was signed for one thing means no other. */
static void digest_answer(const struct answer *a, unsigned char ret[SHA256_BYTES])
{
    char head[512];
    struct sha256 hash;
    const char *reason = a->reason ? a->reason : "", *by = a->by ? a->by : "";
    int len = snprintf(head, sizeof(head),
                       "nacre answer 1\n%s\n%s\n%s\n%s\n%" PRId64 "\n%" PRId64 "\n%zu\n%zu\n",
                       a->id, a->binding, a->yes ? "yes" : "no", answer_scope_names[a->scope],
                       a->time_ms, a->expires_ms, strlen(by), strlen(reason));
    sha256_start(&hash);
    sha256_add(&hash, head, (size_t)len);
    sha256_add(&hash, by, strlen(by));
    sha256_add(&hash, reason, strlen(reason));
    sha256_end(&hash, ret);
}

void answer_sign(struct answer *a, const struct note_signer *signer)
{
    unsigned char digest[SHA256_BYTES];
    digest_answer(a, digest);
    crypto_sign_detached(a->signature, NULL, digest, sizeof(digest), signer->secret);
    memcpy(a->key_name, signer->public.name, sizeof(a->key_name));
    a->is_signed = true;
}

int answer_check(const struct answer *a, const char *key, struct err *e)
{
    struct note_key public;
    unsigned char digest[SHA256_BYTES];
    int r = note_key_read(key, strlen(key), &public, e);
    if (r < 0)
        return r;
    if (!a->is_signed)
        return err_set(e, -EPERM, "the answer is not signed, and the policy wants it to be");
    digest_answer(a, digest);
    if (strcmp(a->key_name, public.name) != 0 ||
        crypto_sign_verify_detached(a->signature, digest, sizeof(digest), public.key) != 0)
        return err_set(e, -EPERM, "the answer is not signed with the key of '%s'", public.name);
    return 0;
}
