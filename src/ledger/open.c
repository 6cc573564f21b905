/* Opening and closing a ledger; see ledger.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/internal.h"

/* Record, checkpoint, and their headers. */
enum { OUT_MAX = FRAME_MAX + FRAME_HEADER + NOTE_MAX };

/* A directory that others may write to proves nothing. */
static int check_directory(int dir, struct err *e)
{
    struct stat st;
    if (fstat(dir, &st) < 0)
        return err_errno(e, -errno, "cannot look at the directory");
    if ((st.st_uid != geteuid() && geteuid() != 0) || st.st_mode & (S_IWGRP | S_IWOTH))
        return err_set(e, -EPERM, "the directory must be yours and writable by nobody else");
    return 0;
}

/* Makes what is missing of a new ledger; several may try at once. */
static int create(struct ledger *l, const struct ledger_options *o, struct err *e)
{
    uint64_t *all = NULL;
    size_t count = 0;
    if (mkdirat(l->dir, SEGMENT_DIR, 0700) < 0 && errno != EEXIST)
        return err_errno(e, -errno, "cannot make '" SEGMENT_DIR "'");
    int r = lockfile_lock(&l->state, LOCKFILE_APPEND);
    if (r < 0)
        return err_errno(e, r, "cannot lock the ledger");
    r = segment_list(l->dir, l->allocator, &all, &count, e);
    if (r == 0 && count == 0) {
        bool public = faccessat(l->dir, KEY_PUBLIC_FILE, F_OK, 0) == 0;
        if (!public && !o->key_path && faccessat(l->dir, KEY_FILE, F_OK, 0) == 0) {
            /* Whoever made the secret key died before its public half was there. */
            r = unlinkat(l->dir, KEY_FILE, 0) < 0 ? err_errno(e, -errno, "cannot make the key") : 0;
        }
        if (r == 0 && !public)
            r = key_make(l, o->key_path, o->origin, e);
        if (r == 0)
            r = key_load(l, o->key_path, e);
        if (r == 0) {
            struct merkle empty = {0};
            r = segment_begin(l, &empty, e);
        }
        /* The segment's own directory entry, and the ledger's. */
        if (r == 0 && fsync(l->dir) < 0)
            r = err_errno(e, -errno, "cannot make the ledger durable");
    }
    alloc_free(l->allocator, all);
    lockfile_unlock(&l->state, LOCKFILE_APPEND);
    return r;
}

static int open_files(struct ledger *l, const char *dir, const struct ledger_options *o,
                      struct err *e)
{
    bool make = o->flags & LEDGER_CREATE && !l->read_only;
    l->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (l->dir < 0 && errno == ENOENT && make) {
        if (mkdir(dir, 0700) < 0 && errno != EEXIST)
            return err_errno(e, -errno, "cannot make the directory");
        l->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (l->dir < 0)
        return err_errno(e, -errno, "cannot open the directory");
    if (l->read_only) {
        int r = lockfile_open(l->dir, false, true, &l->state, e);
        if (r < 0 && r != -ENOENT)
            return r;
        return key_load_public(l->dir, &l->signer.public, e);
    }
    int r = check_directory(l->dir, e);
    if (r < 0)
        return r;
    /* Without its lock file it is a ledger still, as long as it has segments. */
    r = lockfile_open(l->dir, make, false, &l->state, e);
    bool is_new = r == 0 && make && l->state.shared->magic[0] == '\0';
    if (r == -ENOENT && faccessat(l->dir, SEGMENT_DIR, F_OK, 0) == 0)
        r = lockfile_open(l->dir, true, false, &l->state, e);
    if (r == -ENOENT)
        return err_set(e, r, "there is no ledger");
    if (r == 0 && is_new)
        r = create(l, o, e);
    return r < 0 ? r : key_load(l, o->key_path, e);
}

int ledger_open(const char *dir, const struct ledger_options *options, struct ledger **ret,
                struct err *e)
{
    static const struct ledger_options none;
    const struct ledger_options *o = options ? options : &none;
    const struct allocator *allocator = o->allocator ? o->allocator : &allocator_libc;
    if (o->hook_count > LEDGER_HOOKS_MAX)
        return err_set(e, -E2BIG, "more than %d hooks", LEDGER_HOOKS_MAX);
    struct ledger *l = alloc_resize(allocator, NULL, sizeof(*l));
    if (!l)
        return err_set(e, -ENOMEM, "out of memory");
    *l = (struct ledger){
        .allocator = allocator,
        .read_only = o->flags & LEDGER_READ_ONLY,
        .owner = getpid(),
        .dir = -1,
        .segment_bytes = o->segment_bytes ? o->segment_bytes : SEGMENT_BYTES,
        .state = {.fd = -1},
        .syncing = -1,
        .append_mutex = PTHREAD_MUTEX_INITIALIZER,
        .sync_mutex = PTHREAD_MUTEX_INITIALIZER,
        .tiles_mutex = PTHREAD_MUTEX_INITIALIZER,
        .hook_count = o->hook_count,
        .notice = o->notice,
        .user = o->user,
    };
    segment_init(&l->segment, allocator);
    buf_init(&l->out, allocator, OUT_MAX);
    int r = 0;
    for (size_t i = 0; i < o->hook_count && r == 0; i++) {
        const char *target = o->hooks[i].target;
        l->hooks[i] = o->hooks[i];
        l->hooks[i].target = NULL;
        if (!target)
            continue;
        size_t len = strlen(target) + 1;
        char *copy = alloc_resize(allocator, NULL, len);
        if (copy)
            memcpy(copy, target, len);
        else
            r = err_set(e, -ENOMEM, "out of memory");
        l->hooks[i].target = copy;
    }
    if (r == 0)
        r = open_files(l, dir, o, e);
    if (r < 0) {
        ledger_close(l);
        return err_context(e, r, "ledger '%s'", dir);
    }
    *ret = l;
    return 0;
}

void ledger_close(struct ledger *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->hook_count; i++)
        alloc_free(l->allocator, (char *)(uintptr_t)l->hooks[i].target);
    segment_close(&l->segment);
    lockfile_close(&l->state);
    fd_close(&l->dir);
    buf_release(&l->out);
    pthread_mutex_destroy(&l->append_mutex);
    pthread_mutex_destroy(&l->sync_mutex);
    pthread_mutex_destroy(&l->tiles_mutex);
    explicit_bzero(&l->signer, sizeof(l->signer));
    alloc_free(l->allocator, l);
}

int ledger_key(struct ledger *l, struct buf *out)
{
    return note_key_write(&l->signer.public, out);
}
