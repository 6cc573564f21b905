/*
 * A signing key that a passphrase makes: Argon2id gives the seed of an Ed25519 key. Whoever checks
 * an answer needs the public key alone; the secret one is nowhere but in the memory of `approve`,
 * for a moment. STATE/approver has a name, a salt and the public key, none of which is secret.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium/core.h>
#include <sodium/crypto_pwhash.h>
#include <sodium/utils.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "approve/approve.h"
#include "approve/folder.h"
#include "base/fd.h"
#include "changes/store.h"
#include "ledger/base64.h"

#define NAME "approver"
#define HEAD "nacre approver 1\n"

enum { SALT = crypto_pwhash_SALTBYTES, FILE_MAX = 1024 };

static int derive(const char *name, const unsigned char *salt, const char *passphrase,
                  struct note_signer *ret, struct err *e)
{
    unsigned char seed[NOTE_KEY_BYTES];
    size_t len = strlen(passphrase);
    if (len < PASSPHRASE_MIN || len > PASSPHRASE_MAX)
        return err_set(e, -EINVAL, "a passphrase has %d to %d bytes", PASSPHRASE_MIN,
                       PASSPHRASE_MAX);
    if (!note_name_valid(name, strlen(name)))
        return err_set(e, -EINVAL, "'%s' cannot be the name of a key", name);
    if (sodium_init() < 0 ||
        crypto_pwhash(seed, sizeof(seed), passphrase, len, salt, crypto_pwhash_OPSLIMIT_MODERATE,
                      crypto_pwhash_MEMLIMIT_MODERATE, crypto_pwhash_ALG_ARGON2ID13) != 0)
        return err_set(e, -ENOMEM, "out of memory for the passphrase");
    note_signer_make(name, seed, ret);
    sodium_memzero(seed, sizeof(seed));
    return 0;
}

/* The name, the salt and the public key, a line each. */
static int parse(char *text, size_t len, unsigned char salt[SALT], struct note_key *ret)
{
    const size_t head = strlen(HEAD);
    struct err ignored;
    if (len < head || memcmp(text, HEAD, head) != 0)
        return -EBADMSG;
    char *line = text + head, *end = memchr(line, '\n', len - head);
    if (!end || base64_read(line, (size_t)(end - line), salt, SALT) < 0)
        return -EBADMSG;
    line = end + 1;
    end = memchr(line, '\n', (size_t)(text + len - line));
    return end && note_key_read(line, (size_t)(end - line), ret, &ignored) == 0 ? 0 : -EBADMSG;
}

bool approver_exists(const char *state)
{
    FD_CLEANUP int dir = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return dir >= 0 && faccessat(dir, NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int approver_make(const char *state, const char *name, const char *passphrase,
                  struct note_signer *ret, struct err *e)
{
    unsigned char salt[SALT];
    char text[BASE64_LEN(SALT) + 1] = {0};
    struct buf out;
    if (getrandom(salt, sizeof(salt), 0) != sizeof(salt))
        return err_errno(e, -errno, "no random numbers");
    int r = derive(name, salt, passphrase, ret, e);
    if (r < 0)
        return r;
    buf_init(&out, &allocator_libc, FILE_MAX);
    base64_write(salt, sizeof(salt), text);
    buf_append_text(&out, HEAD);
    buf_append_format(&out, "%s\n", text);
    note_key_write(&ret->public, &out);
    buf_append_byte(&out, '\n');
    r = store_make_dirs(state);
    FD_CLEANUP int dir = r < 0 ? r : open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = r < 0 ? r : dir < 0 ? -errno : out.failed;
    if (r == 0)
        r = folder_write(dir, NAME, out.data, out.len, true, NULL);
    buf_release(&out);
    return r < 0 ? err_errno(e, r, "cannot write '%s/" NAME "'", state) : 0;
}

int approver_open(const char *state, const char *passphrase, struct note_signer *ret, struct err *e)
{
    unsigned char salt[SALT];
    struct note_key public;
    struct buf text;
    FD_CLEANUP int dir = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_errno(e, -errno, "cannot open '%s'", state);
    buf_init(&text, &allocator_libc, FILE_MAX);
    int r = folder_read(dir, NAME, FILE_MAX, &text, NULL);
    if (r == 0)
        r = parse(text.data, text.len, salt, &public);
    buf_release(&text);
    if (r == -ENOENT)
        return err_set(e, r, "you have no key yet (`nacre approve --set-passphrase` makes one)");
    if (r < 0)
        return err_errno(e, r, "cannot read '%s/" NAME "'", state);
    r = derive(public.name, salt, passphrase, ret, e);
    if (r < 0)
        return r;
    if (memcmp(ret->public.key, public.key, sizeof(public.key)) != 0) {
        sodium_memzero(ret, sizeof(*ret));
        return err_set(e, -EPERM, "that is not the passphrase");
    }
    return 0;
}
