/*
 * Signed notes; see note.h.
 *
 * sodium_init is not called: it looks for random numbers and for what the processor can do, and
 * Ed25519 needs neither. In a virtual machine that look would cost more than a signature.
 */
#include "ledger/note.h"

#include <errno.h>
#include <sodium/crypto_sign.h>
#include <stdio.h>
#include <string.h>

#include "ledger/base64.h"

#define DASH   "\xE2\x80\x94 " /* — and a space */
#define SECRET "PRIVATE+KEY+"

enum { ED25519 = 1, SIGNATURES_MAX = 16 };

/* --- keys ------------------------------------------------------------------------------------ */

void note_key_id(struct note_key *key)
{
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    sha256_start(&hash);
    sha256_add(&hash, key->name, strlen(key->name));
    sha256_add(&hash, "\n\x01", 2);
    sha256_add(&hash, key->key, sizeof(key->key));
    sha256_end(&hash, digest);
    memcpy(key->id, digest, sizeof(key->id));
}

bool note_name_valid(const char *name, size_t len)
{
    if (len == 0 || len > NOTE_NAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (name[i] <= ' ' || name[i] > '~' || name[i] == '+')
            return false;
    }
    return true;
}

static void write_key(const char *before, const struct note_key *name, const unsigned char *key,
                      struct buf *out)
{
    unsigned char typed[1 + NOTE_KEY_BYTES] = {ED25519};
    char text[BASE64_LEN(sizeof(typed))];
    memcpy(typed + 1, key, NOTE_KEY_BYTES);
    base64_write(typed, sizeof(typed), text);
    buf_append_format(out, "%s%s+%02x%02x%02x%02x+", before, name->name, name->id[0], name->id[1],
                      name->id[2], name->id[3]);
    buf_append(out, text, sizeof(text));
    explicit_bzero(typed, sizeof(typed));
    explicit_bzero(text, sizeof(text));
}

int note_key_write(const struct note_key *key, struct buf *out)
{
    write_key("", key, key->key, out);
    return out->failed;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NAME+ID+KEY; the id is only read. */
static int read_key(const char *text, size_t len, struct note_key *ret)
{
    const char *plus = memchr(text, '+', len);
    size_t name_len = plus ? (size_t)(plus - text) : 0;
    unsigned char typed[1 + NOTE_KEY_BYTES];
    if (!plus || !note_name_valid(text, name_len) ||
        len != name_len + 10 + BASE64_LEN(sizeof(typed)) || plus[9] != '+')
        return -EBADMSG;
    memcpy(ret->name, text, name_len);
    ret->name[name_len] = '\0';
    for (size_t i = 0; i < 4; i++) {
        int high = hex_digit(plus[1 + 2 * i]), low = hex_digit(plus[2 + 2 * i]);
        if (high < 0 || low < 0)
            return -EBADMSG;
        ret->id[i] = (unsigned char)(high << 4 | low);
    }
    int r = base64_read(plus + 10, BASE64_LEN(sizeof(typed)), typed, sizeof(typed));
    if (r == 0 && typed[0] != ED25519)
        r = -EBADMSG;
    memcpy(ret->key, typed + 1, NOTE_KEY_BYTES);
    explicit_bzero(typed, sizeof(typed));
    return r;
}

int note_key_read(const char *text, size_t len, struct note_key *ret, struct err *e)
{
    struct note_key key = {0};
    if (len && text[len - 1] == '\n')
        len--;
    int r = read_key(text, len, &key);
    struct note_key again = key;
    note_key_id(&again);
    if (r < 0 || memcmp(again.id, key.id, sizeof(key.id)) != 0)
        return err_set(e, -EBADMSG, "not the text of an Ed25519 key (NAME+ID+KEY)");
    *ret = key;
    return 0;
}

int note_signer_write(const struct note_signer *signer, struct buf *out)
{
    write_key(SECRET, &signer->public, signer->secret, out);
    buf_append_byte(out, '\n');
    write_key("", &signer->public, signer->public.key, out);
    buf_append_byte(out, '\n');
    return out->failed;
}

int note_signer_read(const char *text, size_t len, struct note_signer *ret, struct err *e)
{
    const size_t before = strlen(SECRET);
    const char *newline = memchr(text, '\n', len);
    struct note_key secret = {0};
    struct note_signer signer = {0};
    int r = -EBADMSG;
    if (newline && len > before && memcmp(text, SECRET, before) == 0 &&
        (size_t)(newline - text) > before)
        r = read_key(text + before, (size_t)(newline - text) - before, &secret);
    if (r == 0)
        r = note_key_read(newline + 1, len - (size_t)(newline + 1 - text), &signer.public, NULL);
    if (r == 0 && (strcmp(secret.name, signer.public.name) != 0 ||
                   memcmp(secret.id, signer.public.id, sizeof(secret.id)) != 0))
        r = -EBADMSG;
    if (r == 0) {
        memcpy(signer.secret, secret.key, NOTE_KEY_BYTES);
        memcpy(signer.secret + NOTE_KEY_BYTES, signer.public.key, NOTE_KEY_BYTES);
        *ret = signer;
    }
    explicit_bzero(&secret, sizeof(secret));
    explicit_bzero(&signer, sizeof(signer));
    return r < 0 ? err_set(e, r, "not the file of a secret key") : 0;
}

void note_signer_make(const char *name, const unsigned char *seed, struct note_signer *ret)
{
    size_t len = strlen(name);
    memset(ret, 0, sizeof(*ret));
    memcpy(ret->public.name, name, len <= NOTE_NAME_MAX ? len : NOTE_NAME_MAX);
    crypto_sign_seed_keypair(ret->public.key, ret->secret, seed);
    note_key_id(&ret->public);
}

/* --- writing --------------------------------------------------------------------------------- */

size_t note_write(const struct note_signer *signer, uint64_t size, const struct merkle_hash *root,
                  char ret_text[NOTE_MAX])
{
    char hash[BASE64_LEN(SHA256_BYTES) + 1] = {0};
    char line[BASE64_LEN(4 + NOTE_SIGNATURE_BYTES) + 1] = {0};
    unsigned char signature[4 + NOTE_SIGNATURE_BYTES];
    base64_write(root->bytes, SHA256_BYTES, hash);
    /* The name has at most NOTE_NAME_MAX bytes, so all of it fits. */
    int text = snprintf(ret_text, NOTE_MAX, "%s\n%llu\n%s\n", signer->public.name,
                        (unsigned long long)size, hash);
    memcpy(signature, signer->public.id, 4);
    crypto_sign_detached(signature + 4, NULL, (const unsigned char *)ret_text,
                         (unsigned long long)text, signer->secret);
    base64_write(signature, sizeof(signature), line);
    int rest = snprintf(ret_text + text, (size_t)(NOTE_MAX - text), "\n" DASH "%s %s\n",
                        signer->public.name, line);
    return (size_t)text + (size_t)rest;
}

/* --- reading --------------------------------------------------------------------------------- */

/* The next line of `*at` without its newline; false if there is no whole one. */
static bool next_line(const char **at, const char *end, const char **ret, size_t *ret_len)
{
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    if (!newline)
        return false;
    *ret = *at;
    *ret_len = (size_t)(newline - *at);
    *at = newline + 1;
    return true;
}

static bool read_number(const char *text, size_t len, uint64_t *ret)
{
    uint64_t number = 0;
    if (len == 0 || len > 17 || (text[0] == '0' && len > 1))
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    *ret = number;
    return number >> MERKLE_LEVELS == 0;
}

static bool is_signature(const char *line, size_t len)
{
    return len > strlen(DASH) && memcmp(line, DASH, strlen(DASH)) == 0;
}

int note_read(const char *text, size_t len, struct note *ret, struct err *e)
{
    struct note note = {.text = text};
    const char *at = text, *end = text + (len < NOTE_READ_MAX ? len : NOTE_READ_MAX), *line;
    size_t line_len, signatures = 0;
    if (!next_line(&at, end, &note.origin, &note.origin_len) ||
        !note_name_valid(note.origin, note.origin_len) || !next_line(&at, end, &line, &line_len) ||
        !read_number(line, line_len, &note.size) || !next_line(&at, end, &line, &line_len) ||
        base64_read(line, line_len, note.root.bytes, SHA256_BYTES) < 0)
        return err_set(e, -EBADMSG, "not a checkpoint");
    note.text_len = (size_t)(at - text);
    if (!next_line(&at, end, &line, &line_len) || line_len != 0)
        return err_set(e, -EBADMSG, "not a checkpoint: no empty line behind its text");
    note.signatures = at;
    const char *behind = at;
    while (next_line(&at, end, &line, &line_len) && is_signature(line, line_len)) {
        behind = at;
        if (++signatures > SIGNATURES_MAX)
            return err_set(e, -EBADMSG, "a checkpoint with too many signatures");
    }
    if (signatures == 0)
        return err_set(e, -EBADMSG, "a checkpoint without a signature");
    note.signatures_len = (size_t)(behind - note.signatures);
    note.len = (size_t)(behind - text);
    *ret = note;
    return 0;
}

/* The signature by this key's name and id. Lines of other keys are passed over, as they must. */
static bool find_signature(const struct note *note, const struct note_key *key,
                           unsigned char ret[4 + NOTE_SIGNATURE_BYTES])
{
    const char *at = note->signatures, *end = at + note->signatures_len, *line;
    size_t line_len, name_len = strlen(key->name);
    while (next_line(&at, end, &line, &line_len)) {
        const char *name = line + strlen(DASH);
        size_t rest = line_len - strlen(DASH);
        if (rest > name_len + 1 && memcmp(name, key->name, name_len) == 0 &&
            name[name_len] == ' ' &&
            base64_read(name + name_len + 1, rest - name_len - 1, ret, 4 + NOTE_SIGNATURE_BYTES) ==
                0 &&
            memcmp(ret, key->id, 4) == 0)
            return true;
    }
    return false;
}

static int check_name(const struct note *note, const struct note_key *key,
                      unsigned char signature[4 + NOTE_SIGNATURE_BYTES], struct err *e)
{
    if (note->origin_len != strlen(key->name) ||
        memcmp(note->origin, key->name, note->origin_len) != 0)
        return err_set(e, -EKEYREJECTED, "the checkpoint is of another ledger, '%.*s'",
                       (int)note->origin_len, note->origin);
    if (!find_signature(note, key, signature))
        return err_set(e, -EKEYREJECTED, "the checkpoint is signed with another key");
    return 0;
}

int note_check_name(const struct note *note, const struct note_key *key, struct err *e)
{
    unsigned char signature[4 + NOTE_SIGNATURE_BYTES];
    return check_name(note, key, signature, e);
}

int note_check(const struct note *note, const struct note_key *key, struct err *e)
{
    unsigned char signature[4 + NOTE_SIGNATURE_BYTES];
    int r = check_name(note, key, signature, e);
    if (r < 0)
        return r;
    if (crypto_sign_verify_detached(signature + 4, (const unsigned char *)note->text,
                                    note->text_len, key->key) != 0)
        return err_set(e, -EKEYREJECTED, "the checkpoint's signature is wrong");
    return 0;
}
