/* See transaction.h. */
#include "changes/transaction.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/path_index.h"
#include "changes/beneath.h"
#include "changes/closed.h"
#include "changes/durable.h"
#include "changes/layer.h"
#include "changes/recovery.h"

enum { LATER_BYTES_MAX = 1 << 30 };

/* --- beginning ------------------------------------------------------------------------------- */

/* What lies aside is removed while there is time; where room is scarce, before. */
static bool is_nearly_full(int dir)
{
    enum { SHARE = 20 };
    struct statfs fs;
    return fstatfs(dir, &fs) == 0 &&
           (fs.f_bavail < fs.f_blocks / SHARE || fs.f_ffree < fs.f_files / SHARE);
}

/*
 * It is ours alone by its name. But a spare may still be locked by a descriptor of before, which a
 * process that another thread is about to start has inherited, and keeps until it is executed.
 */
static int lock_own(int dir)
{
    int r;
    do
        r = flock(dir, LOCK_EX);
    while (r < 0 && errno == EINTR);
    return r;
}

int transaction_begin(struct arena *arena, const char *state, const char *id,
                      const struct transaction_root *roots, size_t count, struct transaction *ret,
                      struct err *e)
{
    struct transaction t = {.arena = arena, .store = {.dir = -1}, .dir = -1};
    int r = store_open(arena, state, roots[0].path, &t.store, e);
    if (r < 0)
        return r;
    if (!t.store.temporary && (r = recovery_run(&t.store, &t.mended, e)) < 0) {
        store_close(&t.store);
        return r;
    }
    if (is_nearly_full(t.store.dir))
        store_tidy(&t.store);
    snprintf(t.journal.id, sizeof(t.journal.id), "%s", id);
    const char *run = arena_format(arena, "runs/%s", id);
    t.path = run ? arena_format(arena, "%s/%s", t.store.path, run) : NULL;
    t.journal.set.roots = arena_alloc_array(arena, count, sizeof(*t.journal.set.roots));
    if (!t.path || !t.journal.set.roots || !count) {
        store_close(&t.store);
        return err_set(e, -ENOMEM, "out of memory");
    }
    /* The mark is made before anything is copied: whatever changes from here on is a conflict, or
     * is not lost. */
    bool ready = store_take_spare(&t.store, run);
    if ((!ready && mkdir(t.path, 0700) < 0) ||
        (t.dir = open(t.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
        lock_own(t.dir) < 0 || (r = recovery_mark(&t.store, id, &t.journal.start_ns)) < 0)
        r = err_errno(e, r < 0 ? r : -errno, "cannot make '%s', where changes go", t.path);
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct store other = {.dir = -1};
        if (i)
            r = store_open(arena, state, roots[i].path, &other, e);
        if (r == 0)
            r = layer_make(arena, i ? &other : &t.store, run, i, &roots[i], ready && i == 0,
                           &t.journal.set.roots[i], e);
        store_close(&other);
        t.journal.set.root_count = i + 1;
    }
    if (r < 0) {
        recovery_remove(t.path, &t.journal.set);
        recovery_unmark(&t.store, id);
        transaction_close(&t);
        return r;
    }
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

/* The directories that the overlay works with have no mode at all. Whoever removes the store by
 * hand is to be able to; where that cannot be, they are removed at once. */
static void open_work(int dir, const char *work)
{
    static const char *const inner[] = {"work", "work/incompat", "work/incompat/volatile"};
    char path[64];
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", work, inner[i]);
        if (fchmodat(dir, path, 0700, 0) == 0)
            continue;
        if (errno != ENOENT)
            beneath_remove(dir, work);
        return;
    }
}

/* It is nobody's any more. */
static void remove_work(const struct transaction *t)
{
    const struct change_set *set = &t->journal.set;
    for (size_t i = 0; i < set->root_count; i++) {
        FD_CLEANUP int layer =
            open(set->roots[i].layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        char name[UUID_TEXT + 32];
        snprintf(name, sizeof(name), "%s-work%zu", t->journal.id, i);
        if (layer < 0)
            continue;
        open_work(layer, "work");
        store_put_aside(&t->store, layer, "work", name);
    }
}

/* Everything that is known from the layers and the roots. */
static int look(struct transaction *t, struct conflicts *conflicts, struct err *e)
{
    struct change_set *set = &t->journal.set;
    int r = changes_scan(t->arena, t->journal.start_ns, set, conflicts, e);
    if (r == 0 && set->step_count)
        r = changes_rejoin(t->arena, set, e);
    if (r == 0 && set->step_count)
        r = changes_hash(t->arena, set, e);
    if (r == 0 && set->step_count)
        r = changes_pair_renames(t->arena, set, e);
    return r;
}

int transaction_scan(struct transaction *t, struct conflicts *conflicts, struct err *e)
{
    enum { TRIES = 100, PAUSE_NS = 2000000 };
    struct change_set *set = &t->journal.set;
    struct err why;
    int r = look(t, conflicts, &why);
    /* Nothing of the run lives, so what was there a moment ago and is gone was taken away by
     * somebody else, in a root. The next look sees that as a conflict. */
    for (int i = 0; (r == -ENOENT || r == -ENOTDIR) && i < TRIES; i++) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        set->change_count = set->step_count = set->bytes = set->allocated = 0;
        conflicts->count = 0;
        r = look(t, conflicts, &why);
    }
    if (r < 0 && e)
        *e = why;
    t->journal.met_conflicts = conflicts->count > 0;
    if (set->step_count || conflicts->count)
        remove_work(t);
    return r;
}

/* The state on the disk, under the store's lock: somebody else may have turned it. None yet is
 * fine. */
static int check_state(const struct transaction *t, unsigned allowed, struct err *e)
{
    struct journal now = {0};
    int r = journal_read(t->dir, t->arena, &now, e);
    if (r == -ENOENT)
        return 0;
    if (r == 0 && !(allowed & 1U << now.state))
        r = err_set(e, -EALREADY, "run '%s' is %s", now.id, journal_state_names[now.state]);
    return r;
}

int transaction_discard(struct transaction *t, struct err *e)
{
    enum { DISCARDABLE = 1U << JOURNAL_HELD | 1U << JOURNAL_UNDONE | 1U << JOURNAL_STRANDED };
    FD_CLEANUP int lock = store_lock(&t->store, e);
    int r = lock < 0 ? lock : check_state(t, DISCARDABLE, e);
    return r < 0 ? r : transaction_forget(t, e);
}

int transaction_end_unused(struct transaction *t, struct err *e)
{
    char name[UUID_TEXT + 8];
    snprintf(name, sizeof(name), "runs/%s", t->journal.id);
    if (t->journal.set.root_count != 1)
        return transaction_discard(t, e);
    open_work(t->dir, "layer0/work");
    int r = store_put_aside(&t->store, t->store.dir, name, t->journal.id);
    if (r < 0)
        return err_errno(e, r, "cannot remove '%s'", t->path);
    recovery_unmark(&t->store, t->journal.id);
    return 0;
}

int transaction_forget(struct transaction *t, struct err *e)
{
    /* Without its journal it is a run that never was: what a kill leaves of it is removed, too. */
    recovery_mark(&t->store, t->journal.id, NULL);
    unlinkat(t->dir, "journal", 0);
    int r = recovery_remove(t->path, &t->journal.set);
    if (r < 0)
        return err_errno(e, r, "cannot remove '%s'", t->path);
    if (t->store.state) {
        const char *link = arena_format(t->arena, "%s/runs/%s", t->store.state, t->journal.id);
        if (link)
            unlink(link);
    }
    recovery_unmark(&t->store, t->journal.id);
    return 0;
}

int transaction_hold(struct transaction *t, struct err *e)
{
    /* It may wait for days: what it speaks of is on the disk, too. */
    int r = durable_before(t, true);
    if (r < 0)
        return err_errno(e, r, "cannot write the changes to the disk");
    t->journal.state = JOURNAL_HELD;
    r = journal_write(t->dir, &t->journal, true, e);
    if (r == 0) {
        recovery_make_known(t);
        recovery_unmark(&t->store, t->journal.id);
    }
    return r;
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

/* Whether all is as it has to be. What must be opened up for that is known to a journal on the disk
 * before, and stays open only if there is no conflict. */
static int check(struct transaction *t, bool forward, struct conflicts *conflicts, struct err *e)
{
    struct change_set *set = &t->journal.set;
    int opened = closed_adopt(t->arena, set, !forward, conflicts), r = opened;
    if (opened > 0 && conflicts->count)
        return 0;
    if (opened > 0) {
        const enum journal_state state = t->journal.state;
        t->journal.state = state == JOURNAL_NONE ? JOURNAL_HELD : state;
        r = recovery_mark(&t->store, t->journal.id, NULL);
        if (r == 0)
            r = journal_write(t->dir, &t->journal, true, e);
        t->journal.state = state;
        if (r == 0)
            r = closed_open(t->arena, set);
    }
    if (r < 0)
        return err_errno(e, r, "cannot look into what was changed");
    r = changes_check(set, forward, conflicts, e);
    if (opened > 0 && (r < 0 || conflicts->count)) {
        int closed = closed_restore(t->arena, set, !forward);
        if (r == 0 && closed < 0)
            r = err_errno(e, closed, "cannot close a directory again");
    }
    return r;
}

int transaction_commit(struct transaction *t, struct conflicts *conflicts, struct err *e)
{
    struct change_set *set = &t->journal.set;
    LOCKS_CLEANUP struct locks locks = {0};
    int r = lock_all(t, &locks, e);
    if (r < 0)
        return r;
    r = check_state(t, 1U << JOURNAL_HELD, e);
    if (r == 0 && !t->journal.allowed)
        r = err_set(e, -EPERM,
                    "run '%s' is held for a person to look at: `nacre approve %.8s` makes it real",
                    t->journal.id, t->journal.id);
    if (r < 0)
        return r;
    r = conflicts->count ? 0 : check(t, true, conflicts, e);
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
    if (r == 0 && (r = durable_before(t, log.count == 0)) < 0)
        err_errno(e, r, "cannot write the changes to the disk");
    if (r == 0) {
        t->journal.sequence = 1;
        for (size_t i = 0; i < log.count; i++) {
            if (log.items[i].sequence >= t->journal.sequence)
                t->journal.sequence = log.items[i].sequence + 1;
        }
        t->journal.state = JOURNAL_APPLYING;
        recovery_mark(&t->store, t->journal.id, NULL);
        r = journal_write(t->dir, &t->journal, true, e);
    }
    bool begun = r == 0;
    if (begun)
        r = recovery_finish(t, true, e);
    else
        closed_restore(t->arena, set, false);
    /* Nothing of it is real, and nothing of it is lost; unless it could be neither finished nor
     * taken back: then it is stranded, or if the disk failed the next use tries again. */
    if (r < 0 && begun && t->journal.state == JOURNAL_STRANDED) {
        recovery_record(t);
        recovery_unmark(&t->store, t->journal.id);
    } else if (r < 0 && !(begun && t->journal.state == JOURNAL_APPLYING)) {
        struct err why;
        if (transaction_hold(t, &why) < 0) {
            /* A journal that says `applying` may be there: nobody is to go by it. */
            journal_remove(t->dir);
            t->journal.state = JOURNAL_NONE;
            return err_context(e, r, "the changes could not be kept (%s)", why.message);
        }
    }
    if (r < 0)
        return r;
    recovery_record(t);
    recovery_unmark(&t->store, t->journal.id);
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
    r = recovery_run(&t.store, &t.mended, e);
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
    const enum journal_state while_at_it = forward ? JOURNAL_APPLYING : JOURNAL_UNDOING;
    LOCKS_CLEANUP struct locks locks = {0};
    int r = lock_all(t, &locks, e);
    if (r == 0)
        r = transaction_read(t, e);
    if (r < 0)
        return r;
    const bool stranded = t->journal.state == JOURNAL_STRANDED;
    if (t->journal.state != from && !stranded)
        return err_set(e, -EALREADY, "run '%s' is %s", t->journal.id,
                       journal_state_names[t->journal.state]);
    r = stranded ? changes_check_either(&t->journal.set, conflicts, e)
                 : check(t, forward, conflicts, e);
    if (r == 0 && conflicts->count)
        r = err_set(e, -EBUSY, "%zu path%s changed since", conflicts->count,
                    conflicts->count == 1 ? " was" : "s were");
    if (r < 0) {
        recovery_unmark(&t->store, t->journal.id);
        return r;
    }
    t->journal.state = while_at_it;
    recovery_mark(&t->store, t->journal.id, NULL);
    r = journal_write(t->dir, &t->journal, true, e);
    if (r == 0)
        r = recovery_finish(t, forward, e);
    /* Neither finished nor taken back: the next use tries again. */
    if (t->journal.state != while_at_it)
        recovery_unmark(&t->store, t->journal.id);
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

/* Where a step is, from everywhere. */
static int absolute(const struct change_set *set, const struct step *step,
                    char ret[static PATH_MAX * 2])
{
    int len = snprintf(ret, (size_t)PATH_MAX * 2, "%s/%s", set->roots[step->root].path, step->path);
    return len < 0 || len >= PATH_MAX * 2 ? -ENAMETOOLONG : len;
}

/* The paths that a transaction moves. */
static int index_steps(const struct transaction *t, struct path_index *ret)
{
    const struct change_set *set = &t->journal.set;
    char path[PATH_MAX * 2];
    *ret = (struct path_index){
        arena_alloc_array(t->arena, set->step_count + 1, sizeof(*ret->items)), 0};
    for (size_t i = 0; ret->items && i < set->step_count; i++) {
        if (set->steps[i].kind == STEP_META)
            continue;
        int len = absolute(set, &set->steps[i], path);
        const char *copy = len < 0 ? NULL : arena_copy(t->arena, path, (size_t)len);
        if (!copy)
            return len < 0 ? len : -ENOMEM;
        ret->items[ret->count++] = (struct path_entry){copy, i};
    }
    path_index_sort(ret);
    return ret->items ? 0 : -ENOMEM;
}

/* Whether another one moves one of them, or what is above or below it. */
static bool overlaps(const struct path_index *index, const struct change_set *other)
{
    char path[PATH_MAX * 2];
    for (size_t i = 0; i < other->step_count; i++) {
        const struct step *step = &other->steps[i];
        if (step->kind == STEP_META)
            continue;
        if (absolute(other, step, path) < 0)
            return true; /* cannot be told apart */
        size_t below = path_index_first(index, path);
        if (path_index_above(index, path) ||
            (below < index->count && path_is_below(index->items[below].path, path)))
            return true;
    }
    return false;
}

int transaction_later(const struct transaction *t, const char *const **ret, size_t *ret_count,
                      struct err *e)
{
    struct store_log log;
    struct path_index index;
    int r = store_read_log(&t->store, t->arena, &log, e);
    if (r < 0)
        return r;
    const char **ids = arena_alloc_array(t->arena, log.count + 1, sizeof(*ids));
    *ret_count = 0;
    r = ids ? index_steps(t, &index) : -ENOMEM;
    if (r < 0)
        return err_errno(e, r, "cannot look for later runs");
    for (size_t i = 0; i < log.count; i++) {
        if (log.items[i].sequence <= t->journal.sequence)
            continue;
        const char *path = arena_format(t->arena, "%s/runs/%s", t->store.path, log.items[i].id);
        FD_CLEANUP int dir =
            path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        struct arena arena;
        struct journal other;
        arena_init(&arena, &allocator_libc, LATER_BYTES_MAX);
        if (dir >= 0 && journal_read(dir, &arena, &other, NULL) == 0 &&
            (other.state == JOURNAL_APPLIED || other.state == JOURNAL_STRANDED) &&
            overlaps(&index, &other.set))
            ids[(*ret_count)++] = arena_copy(t->arena, other.id, UUID_TEXT);
        arena_release(&arena);
    }
    *ret = ids;
    return t->arena->failed ? err_set(e, -ENOMEM, "out of memory") : 0;
}
