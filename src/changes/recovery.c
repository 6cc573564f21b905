/* See recovery.h. */
#include "changes/recovery.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/beneath.h"
#include "changes/closed.h"
#include "changes/durable.h"

enum { RECOVERY_BYTES_MAX = 1 << 30 };

/* --- what has begun -------------------------------------------------------------------------- */

/*
 * A mark is a second name of one file, which takes no inode of its own; where files have one name
 * only, it is a file.
 */
static int make_mark(const struct store *s, const char *name)
{
    static const char all[] = "mark";
    int r = linkat(s->dir, all, s->dir, name, 0);
    if (r < 0 && errno == ENOENT) {
        FD_CLEANUP int made =
            openat(s->dir, all, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        r = made < 0 ? -1 : linkat(s->dir, all, s->dir, name, 0);
    }
    if (r == 0 || errno == EEXIST)
        return 0;
    FD_CLEANUP int own = openat(s->dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return own < 0 ? -errno : 0;
}

/* `ret_ns` may be NULL; else what time it is for the file system. */
int recovery_mark(const struct store *s, const char *id, int64_t *ret_ns)
{
    char name[64];
    struct stat st;
    struct change_side side;
    snprintf(name, sizeof(name), "pending/%s", id);
    int r = make_mark(s, name);
    if (r < 0 || !ret_ns)
        return r;
    if (fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    change_side_of(&st, &side); /* which a new name has changed */
    *ret_ns = side.ctime_ns;
    return 0;
}

void recovery_unmark(const struct store *s, const char *id)
{
    char name[64];
    snprintf(name, sizeof(name), "pending/%s", id);
    unlinkat(s->dir, name, 0);
}

/* Removes the directories of a transaction in all stores that it used; with the first, all is over.
 */
int recovery_remove(const char *path, const struct change_set *set)
{
    int r = 0;
    for (size_t i = set->root_count; i-- > 0;) {
        const char *layer = set->roots[i].layer, *slash = layer ? strrchr(layer, '/') : NULL;
        char run[4096];
        if (!slash || (size_t)(slash - layer) >= sizeof(run))
            continue;
        memcpy(run, layer, (size_t)(slash - layer));
        run[slash - layer] = '\0';
        if (strcmp(run, path) != 0) {
            int removed = beneath_remove(AT_FDCWD, run);
            r = r < 0 ? r : removed;
        }
    }
    int removed = beneath_remove(AT_FDCWD, path);
    return r < 0 ? r : removed;
}

/* --- coming to rest -------------------------------------------------------------------------- */

/*
 * They are on the disk before the journal says that they are done, and directories that nobody may
 * look into are closed again.
 */
static int do_steps(struct transaction *t, bool forward, bool onward, struct err *e)
{
    struct change_set *set = &t->journal.set;
    int r = closed_open(t->arena, set);
    if (r < 0)
        return err_errno(e, r, "cannot look into what was changed");
    int failure = changes_apply(set, forward, onward, e);
    if (failure < 0 && !onward)
        return failure;
    r = closed_open(t->arena, set);
    if (r == 0)
        changes_identify(set, forward, NULL);
    if (r == 0)
        r = closed_restore(t->arena, set, forward);
    if (r == 0)
        r = durable_after(set);
    if (failure < 0)
        return failure;
    return r < 0 ? err_errno(e, r, "cannot write the changes to the disk") : 0;
}

/* Whether it failed by what somebody did to the places, and not by want of anything: then the next
 * use will not fare better. */
static bool is_somebodys_doing(int code)
{
    static const int codes[] = {ENOENT, ENOTDIR, ELOOP,  EEXIST, ENOTEMPTY, EISDIR,
                                ESTALE, EXDEV,   EACCES, EPERM,  EBUSY};
    bool found = false;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]) && !found; i++)
        found = code == -codes[i];
    return found;
}

/* Finishes what had begun; if that cannot be, takes it back, or what can be of it (C3). */
int recovery_finish(struct transaction *t, bool forward, struct err *e)
{
    struct err why = {0};
    const enum journal_state begun = t->journal.state;
    int r = do_steps(t, forward, false, &why), back = 0;
    const bool now = r < 0 ? !forward : forward;
    if (r < 0)
        back = do_steps(t, now, true, &why);
    if (back < 0 && !is_somebodys_doing(back)) {
        if (e)
            *e = why;
        return back;
    }
    if (back < 0) {
        t->journal.state = JOURNAL_STRANDED;
        r = err_context(&why, back,
                        "some of the changes are real and the rest is kept, since somebody "
                        "changed the places (`nacre undo %.8s` when they are as they were)",
                        t->journal.id);
    } else {
        t->journal.state = now ? JOURNAL_APPLIED : forward ? JOURNAL_HELD : JOURNAL_UNDONE;
    }
    int written = journal_write(t->dir, &t->journal, true, e);
    if (written < 0) {
        t->journal.state = begun; /* as the disk has it: the next use finishes it */
        return written;
    }
    if (r < 0 && e)
        *e = why;
    return r;
}

/* By its id it is to be found from anywhere. */
void recovery_make_known(const struct transaction *t)
{
    const char *runs = t->store.state ? arena_format(t->arena, "%s/runs", t->store.state) : NULL;
    const char *link = runs ? arena_format(t->arena, "%s/%s", runs, t->journal.id) : NULL;
    if (link && symlink(t->path, link) < 0 && errno == ENOENT && mkdir(runs, 0700) == 0 &&
        symlink(t->path, link) < 0)
        return;
}

/* What lies in slots when it is committed. */
static uint64_t bytes_before(const struct change_set *set)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < set->change_count; i++) {
        if (S_ISREG(set->changes[i].before.mode))
            bytes += set->changes[i].before.size;
    }
    return bytes;
}

/* It is in the log, once, and can be found. */
void recovery_record(const struct transaction *t)
{
    struct store_log log = {0};
    struct store_entry entry = {.sequence = t->journal.sequence,
                                .bytes = bytes_before(&t->journal.set),
                                .time_s = (int64_t)time(NULL)};
    bool there = store_read_log(&t->store, t->arena, &log, NULL) < 0;
    for (size_t i = log.count; i-- > 0 && !there;)
        there = strcmp(log.items[i].id, t->journal.id) == 0 &&
                log.items[i].sequence == t->journal.sequence;
    memcpy(entry.id, t->journal.id, sizeof(entry.id));
    if (!there)
        store_append_log(&t->store, &entry, NULL);
    recovery_make_known(t);
}

/* --- after a crash --------------------------------------------------------------------------- */

/* Comes to rest: what had begun is finished, what never came to its commit is removed. */
static int settle(struct transaction *t, struct err *e)
{
    int r = transaction_read(t, e);
    if (r == -ENOENT)
        /* Nothing of it is real, and nobody waits for it. */
        return recovery_remove(t->path, &t->journal.set);
    if (r == 0 && t->journal.state == JOURNAL_APPLYING) {
        recovery_finish(t, true, e);
        r = t->journal.state == JOURNAL_APPLYING ? -EIO : 0;
    } else if (r == 0 && t->journal.state == JOURNAL_UNDOING) {
        recovery_finish(t, false, e);
        r = t->journal.state == JOURNAL_UNDOING ? -EIO : 0;
    }
    /* The crash may have been while it was looked at, or just before it was to be found. */
    const bool stranded = t->journal.state == JOURNAL_STRANDED;
    if (r == 0 && !stranded &&
        (r = closed_restore(t->arena, &t->journal.set, t->journal.state == JOURNAL_APPLIED)) < 0)
        err_errno(e, r, "cannot close a directory again");
    if (r == 0 &&
        (t->journal.state == JOURNAL_APPLIED || t->journal.state == JOURNAL_UNDONE || stranded))
        recovery_record(t);
    else if (r == 0)
        recovery_make_known(t);
    return r;
}

/* One that had begun. Whoever still runs it holds its lock. */
static int recover_one(struct store *s, const char *id, struct mended *mended, struct err *e)
{
    struct arena arena;
    struct err why = {0};
    arena_init(&arena, &allocator_libc, RECOVERY_BYTES_MAX);
    struct transaction t = {.arena = &arena, .store = *s, .dir = -1};
    t.path = arena_format(&arena, "%s/runs/%s", s->path, id);
    FD_CLEANUP int dir =
        t.path ? open(t.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    int r = dir < 0 && errno != ENOENT ? -errno : 0;
    bool rests = dir < 0;
    if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0) {
        t.dir = dir;
        r = settle(&t, &why);
        rests = r == 0;
        if (rests && mended->count < MENDED_MAX) {
            snprintf(mended->items[mended->count].id, UUID_TEXT + 1, "%s", id);
            mended->items[mended->count++].state = t.journal.state;
        }
    }
    if (r == 0 && rests)
        recovery_unmark(s, id);
    arena_release(&arena);
    return r < 0 ? err_set(e, r,
                           "run %.8s was cut off while its changes became real, and can be neither "
                           "finished nor taken back: %s",
                           id, why.message[0] ? why.message : strerror(-r))
                 : 0;
}

/* --- after a restart --------------------------------------------------------------------------
 *
 * What was not synced may be lost, and that are the marks, the log and the links (durable.h). So at
 * the first use after a restart every run of the store is looked at once, by the head of its
 * journal: up to 2000 files.
 */

#define BOOT "boot" /* during which the marks were made */

/* Empty: the kernel does not say, and each use counts as the first. */
static void read_boot(int dir, const char *path, char ret[static UUID_TEXT + 1])
{
    FD_CLEANUP int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || read(fd, ret, UUID_TEXT) != UUID_TEXT)
        ret[0] = '\0';
    ret[UUID_TEXT] = '\0';
}

static bool is_same_boot(struct store *s, char ret_boot[static UUID_TEXT + 1])
{
    if (s->booted)
        return true;
    char marked[UUID_TEXT + 1];
    read_boot(AT_FDCWD, "/proc/sys/kernel/random/boot_id", ret_boot);
    read_boot(s->dir, BOOT, marked);
    s->booted = ret_boot[0] && strcmp(ret_boot, marked) == 0;
    return s->booted;
}

static void remember_boot(const struct store *s, const char *boot)
{
    FD_CLEANUP int fd =
        openat(s->dir, BOOT, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && fd_write_all(fd, boot, strlen(boot)) < 0)
        unlinkat(s->dir, BOOT, 0);
}

static bool is_logged(const struct store_log *log, const char *id)
{
    bool found = false;
    for (size_t i = 0; i < log->count && !found; i++)
        found = strcmp(log->items[i].id, id) == 0;
    return found;
}

/* Marks a run that does not rest, or is not in the log; one that does can be found again. */
static int look_at_run(const struct store *s, struct arena *arena, const struct store_log *log,
                       const char *id)
{
    const char *path = arena_format(arena, "%s/runs/%s", s->path, id);
    FD_CLEANUP int dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (dir < 0)
        return path ? -errno : -ENOMEM;
    enum journal_state state;
    int r = journal_peek(dir, &state);
    /* Without a journal and a first layer it belongs to a run that began in another store. */
    if (r == -ENOENT)
        return faccessat(dir, "layer0", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? recovery_mark(s, id, NULL)
                                                                        : 0;
    if (r < 0)
        return 0; /* not ours to read: it is told when somebody asks for it */
    if (state == JOURNAL_APPLYING || state == JOURNAL_UNDOING ||
        (state != JOURNAL_HELD && !is_logged(log, id)))
        return recovery_mark(s, id, NULL);
    struct transaction t = {.arena = arena, .store = *s, .path = path, .dir = -1};
    memcpy(t.journal.id, id, UUID_TEXT + 1);
    recovery_make_known(&t);
    return 0;
}

static int mark_again(const struct store *s, struct err *e)
{
    struct arena arena;
    struct store_log log;
    struct names names = {0};
    arena_init(&arena, &allocator_libc, RECOVERY_BYTES_MAX);
    FD_CLEANUP int runs = openat(s->dir, "runs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = store_read_log(s, &arena, &log, e);
    if (r == 0 && (r = runs < 0 ? -errno : names_open(&names, runs)) < 0)
        err_errno(e, r, "cannot look for what a crash has left in '%s'", s->path);
    for (const char *name; r == 0 && (name = names_next(&names));) {
        char id[UUID_TEXT + 1];
        if (strlen(name) != UUID_TEXT)
            continue;
        memcpy(id, name, sizeof(id));
        r = look_at_run(s, &arena, &log, id);
        if (r < 0)
            err_errno(e, r, "cannot look for what a crash has left in '%s'", s->path);
    }
    names_close(&names);
    arena_release(&arena);
    return r;
}

/* What is marked. Costs a look at a directory that is empty nearly always. */
static int settle_all(struct store *s, int *lock, struct mended *mended, struct err *e)
{
    FD_CLEANUP int dir = openat(s->dir, "pending", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct names names;
    int r = dir < 0 ? -errno : names_open(&names, dir);
    if (r < 0)
        return err_errno(e, r, "cannot look for what a crash has left in '%s'", s->path);
    for (const char *name; r == 0 && (name = names_next(&names));) {
        if (strlen(name) != UUID_TEXT)
            continue;
        if (*lock < 0 && (*lock = store_lock(s, e)) < 0)
            r = *lock;
        else
            r = recover_one(s, name, mended, e);
    }
    names_close(&names);
    return r;
}

bool recovery_is_due(struct store *s)
{
    char boot[UUID_TEXT + 1];
    FD_CLEANUP int dir = openat(s->dir, "pending", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct names names;
    bool due = dir < 0 || names_open(&names, dir) < 0 || names_next(&names);
    if (dir >= 0)
        names_close(&names);
    return due || !is_same_boot(s, boot);
}

int recovery_run(struct store *s, struct mended *ret, struct err *e)
{
    char boot[UUID_TEXT + 1];
    FD_CLEANUP int lock = -1;
    if (is_same_boot(s, boot))
        return settle_all(s, &lock, ret, e);
    lock = store_lock(s, e);
    if (lock < 0)
        return lock;
    /* Somebody else may have been faster, and begun a run since, which is not to be looked at. */
    bool again = !is_same_boot(s, boot);
    int r = again ? mark_again(s, e) : 0;
    if (r == 0)
        r = settle_all(s, &lock, ret, e);
    if (r == 0 && again)
        remember_boot(s, boot);
    return r;
}
