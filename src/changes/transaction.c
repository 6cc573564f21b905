/* See transaction.h. */
#include "changes/transaction.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "changes/attributes.h"
#include "changes/beneath.h"
#include "changes/copy.h"

enum { RECOVERY_BYTES_MAX = 1 << 30, SYNC_SINGLY_MAX = 32 };

/* --- beginning ------------------------------------------------------------------------------- */

/* The upper directory stands for the root itself inside, so it is like it. */
static int imitate(int layer, const char *root)
{
    FD_CLEANUP int upper = openat(layer, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_CLEANUP int lower = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (upper < 0 || lower < 0 || fstat(lower, &st) < 0)
        return -errno;
    /* Root's layers belong to the root's owner, as which the inside sees itself. */
    if (geteuid() == 0 && (fchown(upper, st.st_uid, st.st_gid) < 0 ||
                           fchownat(layer, "work", st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
                           fchown(layer, st.st_uid, st.st_gid) < 0))
        return -errno;
    struct arena arena;
    const char *bytes;
    size_t len;
    char path[ATTRIBUTES_PATH];
    arena_init(&arena, &allocator_libc, 1 << 20);
    attributes_path(lower, ".", path);
    int r = attributes_read(&arena, path, &bytes, &len);
    attributes_path(upper, ".", path);
    if (r == 0 && len)
        r = attributes_write(path, bytes, len);
    arena_release(&arena);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, st.st_mtim};
    if (r == 0 && (fchmod(upper, st.st_mode & 07777) < 0 || futimens(upper, times) < 0))
        r = -errno;
    return r;
}

/* The file system's clock goes by steps: waits for the next, so that nothing is as old as this. */
static int wait_for_tick(int layer, int64_t *ret_ns)
{
    enum { TRIES = 100 };
    int64_t first = 0;
    for (int i = 0; i < TRIES; i++) {
        struct stat st;
        struct change_side side;
        if (mkdirat(layer, "tick", 0700) < 0 || fstatat(layer, "tick", &st, 0) < 0 ||
            unlinkat(layer, "tick", AT_REMOVEDIR) < 0)
            return -errno;
        change_side_of(&st, &side);
        *ret_ns = side.ctime_ns;
        if (first && side.ctime_ns > first)
            return 0;
        first = first ? first : side.ctime_ns;
        const struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
    return 0; /* a clock that stands still: everything is compared */
}

/* The whole root, but for the store if that lies in it. What is newer than the mark that is made
 * last is the run's work. */
static int make_copy(struct arena *arena, int layer, struct change_root *root, struct err *e)
{
    FD_CLEANUP int from = open(root->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_CLEANUP int into = openat(layer, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || into < 0)
        return err_errno(e, -errno, "cannot copy '%s'", root->path);
    size_t len = strlen(root->path);
    const char *except = NULL;
    if (path_is_below(root->layer, root->path)) {
        const char *store = store_of_layer(arena, root->layer);
        if (!store || strlen(store) <= len)
            return err_set(e, -ENOMEM, "out of memory");
        except = store + len + 1;
    }
    int r = copy_tree(from, into, except, e);
    if (r < 0)
        return err_context(e, r, "no overlay can be laid over '%s', and it cannot be copied",
                           root->path);
    r = wait_for_tick(layer, &root->copied_ns);
    return r < 0 ? err_errno(e, r, "cannot copy '%s'", root->path) : 0;
}

/* A layer in the store of its root, by an overlay or, where none can be had, the second way. */
static int make_layer(struct arena *arena, const struct store *store, const char *id, size_t index,
                      const struct transaction_root *root, struct change_root *ret, struct err *e)
{
    int r;
    if (root->copy)
        store_remember_copy(store, true);
    bool copy = root->copy || store_needs_copy(store, root->uid, root->gid);
    const char *run = arena_format(arena, "%s/runs/%s", store->path, id);
    const char *layer = run ? arena_format(arena, "%s/layer%zu", run, index) : NULL;
    if (!layer)
        return err_set(e, -ENOMEM, "out of memory");
    FD_CLEANUP int dir = -1;
    if ((mkdir(run, 0700) < 0 && errno != EEXIST) || mkdir(layer, 0700) < 0 ||
        (dir = open(layer, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
        mkdirat(dir, "upper", 0700) < 0 || mkdirat(dir, "work", 0700) < 0)
        return err_errno(e, -errno, "cannot make '%s', where changes go", layer);
    *ret = (struct change_root){
        .path = root->path, .device = root->device, .inode = root->inode, .layer = layer};
    if (copy && (r = make_copy(arena, dir, ret, e)) < 0)
        return r;
    r = imitate(dir, root->path);
    return r < 0 ? err_errno(e, r, "cannot make '%s', where changes go", layer) : 0;
}

static int mark_pending(const struct store *s, const char *id)
{
    char name[64];
    snprintf(name, sizeof(name), "pending/%s", id);
    FD_CLEANUP int fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : 0;
}

static void unmark_pending(const struct store *s, const char *id)
{
    char name[64];
    snprintf(name, sizeof(name), "pending/%s", id);
    unlinkat(s->dir, name, 0);
}

/* Removes the directories of a transaction in all stores that it used; with the first, all is over.
 */
static int remove_all(const char *path, const struct change_set *set)
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

/* --- recovery -------------------------------------------------------------------------------- */

/* Finishes what had begun; if that cannot be, takes it back (C3). */
static int finish(struct transaction *t, bool forward, struct err *e)
{
    struct err why = {0};
    const enum journal_state begun = t->journal.state;
    int r = changes_apply(&t->journal.set, forward, &why);
    bool now = forward;
    if (r < 0) {
        now = !forward;
        int back = changes_apply(&t->journal.set, now, e);
        if (back < 0)
            return back;
    }
    changes_identify(&t->journal.set, now, e);
    t->journal.state = now ? JOURNAL_APPLIED : forward ? JOURNAL_HELD : JOURNAL_UNDONE;
    int written = journal_write(t->dir, &t->journal, true, e);
    if (written < 0) {
        t->journal.state = begun; /* as the disk has it: the next use finishes it */
        return written;
    }
    if (r < 0 && e)
        *e = why;
    return r;
}

static void make_known(const struct transaction *t);

/*
 * The locks of all stores that a transaction uses, in the order of their paths, so that two that
 * share some of them do not wait for each other: a listed path may be written to from two
 * workspaces.
 */
struct locks {
    int fds[TRANSACTION_ROOTS_MAX];
    size_t count;
};

static void release_locks(struct locks *l)
{
    while (l->count)
        fd_close(&l->fds[--l->count]);
}

#define LOCKS_CLEANUP __attribute__((cleanup(release_locks)))

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int lock_all(const struct transaction *t, struct locks *l, struct err *e)
{
    const struct change_set *set = &t->journal.set;
    const char *paths[TRANSACTION_ROOTS_MAX];
    if (set->root_count > TRANSACTION_ROOTS_MAX)
        return err_set(e, -E2BIG, "too many directories are written to");
    for (size_t i = 0; i < set->root_count; i++) {
        paths[i] = store_of_layer(t->arena, set->roots[i].layer);
        if (!paths[i])
            return err_set(e, -ENOMEM, "out of memory");
    }
    qsort(paths, set->root_count, sizeof(paths[0]), compare_paths);
    for (size_t i = 0; i < set->root_count; i++) {
        FD_CLEANUP int dir = open(paths[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (i && strcmp(paths[i], paths[i - 1]) == 0)
            continue;
        if (dir < 0)
            return err_errno(e, -errno, "cannot open '%s'", paths[i]);
        int fd = store_lock(&(struct store){.path = paths[i], .dir = dir}, e);
        if (fd < 0)
            return fd;
        l->fds[l->count++] = fd;
    }
    return 0;
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
static void record(const struct transaction *t)
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
    make_known(t);
}

/*
 * The journal of a transaction, if it speaks of what is its own: of this run, this root, and layers
 * in the stores of its roots. Everything else is somebody else's word.
 */
int transaction_read(struct transaction *t, struct err *e)
{
    struct journal journal;
    int r = journal_read(t->dir, t->arena, &journal, e);
    if (r < 0)
        return r;
    const char *path = arena_format(t->arena, "%s/runs/%s", t->store.path, journal.id);
    bool own = path && strcmp(path, t->path) == 0 && journal.set.root_count &&
               strcmp(journal.set.roots[0].path, t->store.root) == 0;
    for (size_t i = 0; own && i < journal.set.root_count; i++) {
        const struct change_root *root = &journal.set.roots[i];
        const char *store = i ? store_place(t->arena, t->store.state, root->path) : t->store.path;
        const char *layer =
            store ? arena_format(t->arena, "%s/runs/%s/layer%zu", store, journal.id, i) : NULL;
        own = layer && strcmp(layer, root->layer) == 0;
    }
    if (!own)
        return err_set(e, -EBADMSG, "the journal in '%s' is not of that run", t->path);
    t->journal = journal;
    return 0;
}

/* Comes to rest: what had begun is finished, what never came to its commit is removed. */
static int settle(struct transaction *t, struct err *e)
{
    int r = transaction_read(t, e);
    if (r == -ENOENT)
        /* Nothing of it is real, and nobody waits for it. */
        return remove_all(t->path, &t->journal.set);
    if (r == 0 && t->journal.state == JOURNAL_APPLYING) {
        finish(t, true, e);
        r = t->journal.state == JOURNAL_APPLYING ? -EIO : 0;
    } else if (r == 0 && t->journal.state == JOURNAL_UNDOING) {
        finish(t, false, e);
        r = t->journal.state == JOURNAL_UNDOING ? -EIO : 0;
    }
    /* The crash may have been just before it was to be found. */
    if (r == 0 && t->journal.state == JOURNAL_APPLIED)
        record(t);
    else if (r == 0)
        make_known(t);
    return r;
}

/* One that had begun. Whoever still runs it holds its lock. */
static int recover_one(struct store *s, const char *id, struct err *e)
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
    }
    if (r == 0 && rests)
        unmark_pending(s, id);
    arena_release(&arena);
    return r < 0 ? err_set(e, r,
                           "run %.8s was cut off while its changes became real, and can be neither "
                           "finished nor taken back: %s",
                           id, why.message[0] ? why.message : strerror(-r))
                 : 0;
}

/* What crashes have left. Costs a look at a directory that is empty nearly always. */
static int recover(struct store *s, struct err *e)
{
    FD_CLEANUP int dir = openat(s->dir, "pending", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct names names;
    FD_CLEANUP int lock = -1;
    int r = dir < 0 ? -errno : names_open(&names, dir);
    if (r < 0)
        return err_errno(e, r, "cannot look for what a crash has left in '%s'", s->path);
    for (const char *name; r == 0 && (name = names_next(&names));) {
        if (lock < 0)
            r = lock = store_lock(s, e);
        if (r >= 0 && strlen(name) == UUID_TEXT)
            r = recover_one(s, name, e);
    }
    names_close(&names);
    return r < 0 ? r : 0;
}

int transaction_begin(struct arena *arena, const char *state, const char *id,
                      const struct transaction_root *roots, size_t count, struct transaction *ret,
                      struct err *e)
{
    struct transaction t = {.arena = arena, .store = {.dir = -1}, .dir = -1};
    int r = store_open(arena, state, roots[0].path, &t.store, e);
    if (r < 0)
        return r;
    if (!t.store.temporary && (r = recover(&t.store, e)) < 0) {
        store_close(&t.store);
        return r;
    }
    snprintf(t.journal.id, sizeof(t.journal.id), "%s", id);
    t.path = arena_format(arena, "%s/runs/%s", t.store.path, id);
    t.journal.set.roots = arena_alloc_array(arena, count, sizeof(*t.journal.set.roots));
    if (!t.path || !t.journal.set.roots || !count)
        r = err_set(e, -ENOMEM, "out of memory");
    else if (mkdir(t.path, 0700) < 0 ||
             (t.dir = open(t.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
             flock(t.dir, LOCK_EX | LOCK_NB) < 0 || (r = mark_pending(&t.store, id)) < 0)
        r = err_errno(e, r < 0 ? r : -errno, "cannot make '%s', where changes go", t.path);
    /* Before anything is copied: whatever changes from here on is a conflict, or is not lost. */
    struct stat st = {0};
    if (r == 0 && fstat(t.dir, &st) < 0)
        r = err_errno(e, -errno, "cannot look at '%s'", t.path);
    for (size_t i = 0; r == 0 && t.journal.set.roots && i < count; i++) {
        struct store other = {.dir = -1};
        if (i)
            r = store_open(arena, state, roots[i].path, &other, e);
        if (r == 0)
            r = make_layer(arena, i ? &other : &t.store, id, i, &roots[i], &t.journal.set.roots[i],
                           e);
        store_close(&other);
        t.journal.set.root_count = i + 1;
    }
    if (r < 0) {
        if (t.path)
            remove_all(t.path, &t.journal.set);
        unmark_pending(&t.store, id);
        transaction_close(&t);
        return r;
    }
    struct change_side side;
    change_side_of(&st, &side);
    t.journal.start_ns = side.ctime_ns;
    *ret = t;
    return 0;
}

/* Stores for the moment go with the transaction, whatever became of it. */
static void remove_temporary(const struct transaction *t)
{
    for (size_t i = 0; t->store.temporary && i < t->journal.set.root_count; i++) {
        const char *layer = t->journal.set.roots[i].layer;
        const char *store = layer ? store_of_layer(t->arena, layer) : NULL;
        if (store)
            beneath_remove(AT_FDCWD, store);
    }
}

void transaction_close(struct transaction *t)
{
    if (t->store.dir >= 0)
        remove_temporary(t);
    fd_close(&t->dir);
    store_close(&t->store);
}

/* --- ending ---------------------------------------------------------------------------------- */

/* What the overlay worked with is nobody's any more; some of it cannot be entered by its owner. */
static void remove_work(const struct change_set *set)
{
    for (size_t i = 0; i < set->root_count; i++) {
        FD_CLEANUP int layer =
            open(set->roots[i].layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (layer >= 0)
            beneath_remove(layer, "work");
    }
}

int transaction_scan(struct transaction *t, struct conflicts *conflicts, struct err *e)
{
    struct change_set *set = &t->journal.set;
    remove_work(set);
    int r = changes_scan(t->arena, t->journal.start_ns, set, conflicts, e);
    t->journal.met_conflicts = conflicts->count > 0;
    if (r == 0 && set->step_count)
        r = changes_rejoin(t->arena, set, e);
    if (r == 0 && set->step_count)
        r = changes_hash(t->arena, set, e);
    if (r == 0 && set->step_count)
        r = changes_pair_renames(t->arena, set, e);
    return r;
}

/* The state on the disk, under the store's lock: somebody else may have turned it. None yet is
 * fine. */
static int check_state(const struct transaction *t, enum journal_state a, enum journal_state b,
                       struct err *e)
{
    struct journal now = {0};
    int r = journal_read(t->dir, t->arena, &now, e);
    if (r == -ENOENT)
        return 0;
    if (r == 0 && now.state != a && now.state != b)
        r = err_set(e, -EALREADY, "run '%s' is %s", now.id, journal_state_names[now.state]);
    return r;
}

int transaction_discard(struct transaction *t, struct err *e)
{
    FD_CLEANUP int lock = store_lock(&t->store, e);
    int r = lock < 0 ? lock : check_state(t, JOURNAL_HELD, JOURNAL_UNDONE, e);
    return r < 0 ? r : transaction_forget(t, e);
}

int transaction_forget(struct transaction *t, struct err *e)
{
    int r = remove_all(t->path, &t->journal.set);
    if (r < 0)
        return err_errno(e, r, "cannot remove '%s'", t->path);
    if (t->store.state) {
        const char *link = arena_format(t->arena, "%s/runs/%s", t->store.state, t->journal.id);
        if (link)
            unlink(link);
    }
    unmark_pending(&t->store, t->journal.id);
    return 0;
}

/* By its id it is to be found from anywhere. */
static void make_known(const struct transaction *t)
{
    const char *runs = t->store.state ? arena_format(t->arena, "%s/runs", t->store.state) : NULL;
    const char *link = runs ? arena_format(t->arena, "%s/%s", runs, t->journal.id) : NULL;
    if (link && symlink(t->path, link) < 0 && errno == ENOENT && mkdir(runs, 0700) == 0 &&
        symlink(t->path, link) < 0)
        return;
}

int transaction_hold(struct transaction *t, struct err *e)
{
    t->journal.state = JOURNAL_HELD;
    int r = journal_write(t->dir, &t->journal, true, e);
    if (r == 0) {
        make_known(t);
        unmark_pending(&t->store, t->journal.id);
    }
    return r;
}

/* The new content, before anything says that it is there: a few files by themselves, else all. */
static int make_durable(const struct transaction *t)
{
    const struct change_set *set = &t->journal.set;
    size_t files = 0;
    for (size_t i = 0; i < set->change_count; i++)
        files += S_ISREG(set->changes[i].after.mode) && set->changes[i].kind != CHANGE_KEPT;
    for (size_t root = 0; root < set->root_count; root++) {
        FD_CLEANUP int layer =
            open(set->roots[root].layer, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (layer < 0)
            return -errno;
        if (files > SYNC_SINGLY_MAX) {
            if (syncfs(layer) < 0)
                return -errno;
            continue;
        }
        for (size_t i = 0; i < set->change_count; i++) {
            const struct change *c = &set->changes[i];
            if (c->root != root || !S_ISREG(c->after.mode) || c->kind == CHANGE_KEPT)
                continue;
            const char *slot = change_slot(set, c, t->arena);
            FD_CLEANUP int fd = slot ? beneath_open_file(layer, slot) : -1;
            if (fd < 0 ? syncfs(layer) < 0 : fdatasync(fd) < 0)
                return -errno;
        }
    }
    return 0;
}

static int make_slots(const struct change_set *set)
{
    for (size_t i = 0; i < set->root_count; i++) {
        FD_CLEANUP int layer =
            open(set->roots[i].layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (layer < 0 || (mkdirat(layer, "slots", 0700) < 0 && errno != EEXIST))
            return -errno;
    }
    return 0;
}

/* What others committed to the same paths since this one began. */
static bool overlaps(const struct change_set *a, const struct change_set *b, const char **ret)
{
    for (size_t i = 0; i < a->step_count; i++) {
        const struct step *x = &a->steps[i];
        if (x->kind == STEP_META)
            continue;
        for (size_t k = 0; k < b->step_count; k++) {
            const struct step *y = &b->steps[k];
            if (y->kind != STEP_META &&
                strcmp(a->roots[x->root].path, b->roots[y->root].path) == 0 &&
                (path_is_below(x->path, y->path) || path_is_below(y->path, x->path))) {
                *ret = x->path;
                return true;
            }
        }
    }
    return false;
}

int transaction_commit(struct transaction *t, struct conflicts *conflicts, struct err *e)
{
    struct change_set *set = &t->journal.set;
    LOCKS_CLEANUP struct locks locks = {0};
    int r = lock_all(t, &locks, e);
    if (r < 0)
        return r;
    r = check_state(t, JOURNAL_HELD, JOURNAL_HELD, e);
    if (r < 0)
        return r;
    r = conflicts->count ? 0 : changes_check(set, true, conflicts, e);
    if (r == 0 && conflicts->count)
        r = err_set(e, -EBUSY, "%zu path%s changed by somebody else meanwhile", conflicts->count,
                    conflicts->count == 1 ? " was" : "s were");
    else if (r == 0 && t->journal.met_conflicts)
        r = err_set(e, -EBUSY,
                    "what it changed was changed by somebody else while it ran: discard it, and "
                    "run it again");
    struct store_log log = {0};
    if (r == 0)
        r = store_read_log(&t->store, t->arena, &log, e);
    if (r == 0 && (r = make_slots(set)) < 0)
        err_errno(e, r, "cannot make room for what is replaced");
    if (r == 0 && (r = make_durable(t)) < 0)
        err_errno(e, r, "cannot write the changes to the disk");
    if (r == 0) {
        t->journal.sequence = log.count ? log.items[log.count - 1].sequence + 1 : 1;
        t->journal.state = JOURNAL_APPLYING;
        mark_pending(&t->store, t->journal.id);
        r = journal_write(t->dir, &t->journal, true, e);
    }
    bool begun = r == 0;
    if (begun)
        r = finish(t, true, e);
    /* Nothing of it is real, and nothing of it is lost; unless it could be neither finished nor
     * taken back, and the next use tries again. */
    if (r < 0 && !(begun && t->journal.state == JOURNAL_APPLYING)) {
        struct err why;
        if (transaction_hold(t, &why) < 0) {
            t->journal.state = JOURNAL_NONE;
            return err_context(e, r, "the changes could not be kept (%s)", why.message);
        }
    }
    if (r < 0)
        return r;
    record(t);
    unmark_pending(&t->store, t->journal.id);
    struct store_use use;
    if (store_prune(&t->store, t->arena, &use, NULL) < 0)
        return 0;
    if (use.dropped)
        change_note(set, t->arena, "%zu older runs can no longer be undone: too much was kept",
                    use.dropped);
    else if (use.nearly_full)
        change_note(set, t->arena,
                    "what is kept to be undone is nearly at its bound: run %.8s goes first",
                    use.next);
    return 0;
}

/* --- later ----------------------------------------------------------------------------------- */

int transaction_open(struct arena *arena, const char *state, const char *id,
                     struct transaction *ret, struct err *e)
{
    struct transaction t = {.arena = arena, .store = {.dir = -1}, .dir = -1};
    int r = store_find(arena, state, id, &t.path, e);
    if (r < 0)
        return r;
    t.dir = open(t.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (t.dir < 0)
        return err_set(e, -ENOENT, "what run '%s' changed is no longer kept", id);
    r = journal_read(t.dir, arena, &t.journal, e);
    if (r == -ENOENT)
        r = err_set(e, r, "run '%s' has not ended", id);
    if (r == 0 && !t.journal.set.root_count)
        r = err_set(e, -EBADMSG, "the journal of run '%s' is damaged", id);
    if (r == 0)
        r = store_open(arena, state, t.journal.set.roots[0].path, &t.store, e);
    if (r < 0) {
        transaction_close(&t);
        return r;
    }
    /* A crash may have left this very one, or another. */
    r = recover(&t.store, e);
    if (r == 0)
        r = transaction_read(&t, e);
    if (r < 0)
        transaction_close(&t);
    else
        *ret = t;
    return r;
}

/* The way back, or forth again: `forward` is where it leads. */
static int turn(struct transaction *t, bool forward, struct conflicts *conflicts, struct err *e)
{
    const enum journal_state from = forward ? JOURNAL_UNDONE : JOURNAL_APPLIED;
    LOCKS_CLEANUP struct locks locks = {0};
    int r = lock_all(t, &locks, e);
    if (r == 0)
        r = transaction_read(t, e);
    if (r < 0)
        return r;
    if (t->journal.state != from)
        return err_set(e, -EALREADY, "run '%s' is %s", t->journal.id,
                       journal_state_names[t->journal.state]);
    r = changes_check(&t->journal.set, forward, conflicts, e);
    if (r == 0 && conflicts->count)
        r = err_set(e, -EBUSY, "%zu path%s changed since", conflicts->count,
                    conflicts->count == 1 ? " was" : "s were");
    if (r < 0)
        return r;
    t->journal.state = forward ? JOURNAL_APPLYING : JOURNAL_UNDOING;
    mark_pending(&t->store, t->journal.id);
    r = journal_write(t->dir, &t->journal, true, e);
    if (r == 0)
        r = finish(t, forward, e);
    /* Neither finished nor taken back: the next use tries again. */
    if (t->journal.state != (forward ? JOURNAL_APPLYING : JOURNAL_UNDOING))
        unmark_pending(&t->store, t->journal.id);
    return r;
}

int transaction_undo(struct transaction *t, struct conflicts *conflicts, struct err *e)
{
    return turn(t, false, conflicts, e);
}

int transaction_redo(struct transaction *t, struct conflicts *conflicts, struct err *e)
{
    return turn(t, true, conflicts, e);
}

int transaction_later(const struct transaction *t, const char *const **ret, size_t *ret_count,
                      struct err *e)
{
    struct store_log log;
    int r = store_read_log(&t->store, t->arena, &log, e);
    const char **ids = r < 0 ? NULL : arena_alloc_array(t->arena, log.count + 1, sizeof(*ids));
    *ret_count = 0;
    if (r < 0 || !ids)
        return r < 0 ? r : err_set(e, -ENOMEM, "out of memory");
    for (size_t i = 0; i < log.count; i++) {
        if (log.items[i].sequence <= t->journal.sequence)
            continue;
        const char *path = arena_format(t->arena, "%s/runs/%s", t->store.path, log.items[i].id);
        FD_CLEANUP int dir =
            path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        struct journal other;
        const char *shared;
        if (dir < 0 || journal_read(dir, t->arena, &other, NULL) < 0 ||
            other.state != JOURNAL_APPLIED || !overlaps(&t->journal.set, &other.set, &shared))
            continue;
        ids[(*ret_count)++] = arena_copy(t->arena, other.id, UUID_TEXT);
    }
    *ret = ids;
    return t->arena->failed ? err_set(e, -ENOMEM, "out of memory") : 0;
}
