/*
 * The ledger's key pair. Made once, together with the ledger: a ledger that has segments and no key
 * is never given a new one, since that is what somebody would do who replaces a ledger.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/internal.h"

enum { KEY_FILE_MAX = 2 * NOTE_KEY_TEXT_MAX + 16 };

/* Whole or not at all, durable, and never over one that is there. */
static int write_new(int dir, const char *path, const struct buf *text, mode_t mode)
{
    char name[4096];
    int len = snprintf(name, sizeof(name), "%s.new", path);
    if (len < 0 || (size_t)len >= sizeof(name))
        return -ENAMETOOLONG;
    FD_CLEANUP int fd =
        openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    int r = fd_write_all(fd, text->data, text->len);
    if (r == 0 && (fdatasync(fd) < 0 || linkat(dir, name, dir, path, 0) < 0))
        r = -errno;
    unlinkat(dir, name, 0);
    return r;
}

int key_make(struct ledger *l, const char *path, const char *origin, struct err *e)
{
    unsigned char seed[NOTE_KEY_BYTES];
    char name[NOTE_NAME_MAX + 1];
    struct note_signer signer;
    struct buf secret, public;
    if (origin && !note_name_valid(origin, strlen(origin)))
        return err_set(e, -EINVAL,
                       "the ledger's name must be 1 to %d printable characters without space and +",
                       NOTE_NAME_MAX);
    if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
        return err_errno(e, -EIO, "cannot get random bytes for the key");
    note_signer_make("", seed, &signer);
    /* A name of its own, so that notes of two ledgers are never taken for one another. */
    if (origin)
        snprintf(name, sizeof(name), "%s", origin);
    else
        snprintf(name, sizeof(name), "nacre/ledger/%02x%02x%02x%02x%02x%02x%02x%02x",
                 signer.public.key[0], signer.public.key[1], signer.public.key[2],
                 signer.public.key[3], signer.public.key[4], signer.public.key[5],
                 signer.public.key[6], signer.public.key[7]);
    note_signer_make(name, seed, &signer);
    buf_init(&secret, l->allocator, KEY_FILE_MAX);
    buf_init(&public, l->allocator, KEY_FILE_MAX);
    note_signer_write(&signer, &secret);
    note_key_write(&signer.public, &public);
    buf_append_byte(&public, '\n');
    int r = secret.failed ? secret.failed : public.failed;
    if (r == 0) {
        r = write_new(path ? AT_FDCWD : l->dir, path ? path : KEY_FILE, &secret, 0600);
        /* A key that was handed in may serve already. */
        if (r == -EEXIST && path)
            r = key_load(l, path, e) < 0 ? -EKEYREJECTED : 1;
    }
    if (r == 1) {
        buf_clear(&public);
        note_key_write(&l->signer.public, &public);
        buf_append_byte(&public, '\n');
        r = public.failed;
    }
    if (r == 0)
        r = write_new(l->dir, KEY_PUBLIC_FILE, &public, 0644);
    if (r == 0 && fsync(l->dir) < 0)
        r = -errno;
    explicit_bzero(secret.data, secret.len);
    buf_release(&secret);
    buf_release(&public);
    explicit_bzero(seed, sizeof(seed));
    explicit_bzero(&signer, sizeof(signer));
    return r < 0 && r != -EKEYREJECTED ? err_errno(e, r, "cannot make the ledger's key") : r;
}

/* Reads a small file whole. */
static ssize_t read_small(int dir, const char *path, char *ret, size_t max)
{
    FD_CLEANUP int fd = openat(dir, path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, ret, max);
    return n < 0 ? -errno : n;
}

int key_load(struct ledger *l, const char *path, struct err *e)
{
    char text[KEY_FILE_MAX];
    ssize_t len = read_small(path ? AT_FDCWD : l->dir, path ? path : KEY_FILE, text, sizeof(text));
    int r = len < 0 ? (int)len : 0;
    if (r == -ENOENT)
        return err_set(e, r, "the ledger's secret key is not there: '%s'", path ? path : KEY_FILE);
    r = r < 0 ? err_errno(e, r, "cannot read the ledger's secret key")
              : note_signer_read(text, (size_t)len, &l->signer, e);
    explicit_bzero(text, sizeof(text));
    return r;
}

int key_load_public(int dir, struct note_key *ret, struct err *e)
{
    char text[KEY_FILE_MAX];
    ssize_t len = read_small(dir, KEY_PUBLIC_FILE, text, sizeof(text));
    if (len < 0)
        return err_errno(e, (int)len, "cannot read '" KEY_PUBLIC_FILE "'");
    int r = note_key_read(text, (size_t)len, ret, e);
    return r < 0 ? err_context(e, r, "'" KEY_PUBLIC_FILE "'") : 0;
}
