/* Questions and answers on the disk; see approve.h. */
#include "approve/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "approve/approve.h"
#include "base/fd.h"
#include "changes/store.h"

enum { NAME_ROOM = UUID_TEXT + 16, NAMES_MAX = 4096 };

static const char question_suffix[] = ".question", answer_suffix[] = ".answer",
                  used_suffix[] = ".used", new_suffix[] = ".new";

/* --- one file -------------------------------------------------------------------------------- */

/* A file of the directory's owner, who alone can have written it. */
static int open_own(int dir, const char *name, struct stat *ret_stat)
{
    struct stat own;
    FD_CLEANUP int fd =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, ret_stat) < 0 || fstat(dir, &own) < 0)
        return -errno;
    if (!S_ISREG(ret_stat->st_mode) || ret_stat->st_uid != own.st_uid || (ret_stat->st_mode & 077))
        return -EPERM;
    return fd_steal(&fd);
}

int folder_read(int dir, const char *name, size_t max, struct buf *out, struct stat *ret_stat)
{
    struct stat st = {0};
    char piece[1 << 14];
    ssize_t n = 0;
    FD_CLEANUP int fd = open_own(dir, name, &st);
    if (fd < 0)
        return fd;
    if (st.st_size < 0 || (uint64_t)st.st_size > max)
        return -EFBIG;
    while (out->len <= max && (n = read(fd, piece, sizeof(piece))) > 0)
        buf_append(out, piece, (size_t)n);
    if (n < 0 || out->failed)
        return n < 0 ? -errno : out->failed;
    if (ret_stat)
        *ret_stat = st;
    return out->len > max ? -EFBIG : 0;
}

int folder_write(int dir, const char *name, const char *bytes, size_t len, bool replace,
                 int *ret_lock)
{
    char temporary[NAME_ROOM + UUID_TEXT], unique[UUID_TEXT + 1];
    int r = uuid_new(unique);
    if (r < 0)
        return r;
    snprintf(temporary, sizeof(temporary), ".%s%s", unique, new_suffix);
    FD_CLEANUP int fd =
        openat(dir, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = fd_write_all(fd, bytes, len);
    if (r == 0 && ret_lock && flock(fd, LOCK_EX | LOCK_NB) < 0)
        r = -errno;
    if (r == 0 && (fdatasync(fd) < 0 ||
                   renameat2(dir, temporary, dir, name, replace ? 0 : RENAME_NOREPLACE) < 0))
        r = -errno;
    if (r < 0)
        unlinkat(dir, temporary, 0);
    else if (ret_lock)
        *ret_lock = fd_steal(&fd);
    return r;
}

/* --- the directory --------------------------------------------------------------------------- */

/* -ENOENT, and no message, where it is not to be made and is not there. */
static int open_folder(const char *state, bool make, struct err *e)
{
    char path[PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(path, sizeof(path), "%s/questions", state) >= sizeof(path))
        return err_set(e, -ENAMETOOLONG, "the state directory's name is too long");
    int r = make ? store_make_dirs(path) : 0;
    FD_CLEANUP int dir = r < 0 ? r : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 && r == 0 && !make && errno == ENOENT)
        return -ENOENT;
    if (dir < 0 || fstat(dir, &st) < 0)
        return err_errno(e, r < 0 ? r : -errno, "cannot open '%s'", path);
    if (st.st_uid != geteuid() || (st.st_mode & 077))
        return err_set(e, -EPERM, "'%s' is open to others, or not yours", path);
    return fd_steal(&dir);
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t len = strlen(name), end = strlen(suffix);
    return len == UUID_TEXT + end && strcmp(name + UUID_TEXT, suffix) == 0 &&
           strspn(name, "0123456789abcdef-") >= UUID_TEXT;
}

static void name_of(const char *id, const char *suffix, char ret[NAME_ROOM])
{
    snprintf(ret, NAME_ROOM, "%.*s%s", UUID_TEXT, id, suffix);
}

static bool exists(int dir, const char *id, const char *suffix)
{
    char name[NAME_ROOM];
    name_of(id, suffix, name);
    return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void drop(int dir, const char *id, const char *suffix)
{
    char name[NAME_ROOM];
    name_of(id, suffix, name);
    unlinkat(dir, name, 0);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The ids of the files with this suffix, in their order; NULL: all names. */
static int list_ids(struct arena *arena, int dir, const char *suffix, const char ***ret,
                    size_t *ret_count)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    const char **ids = arena_alloc_array(arena, NAMES_MAX, sizeof(*ids));
    size_t count = 0;
    if (!stream) {
        int r = -errno;
        fd_close(&copy);
        return r;
    }
    for (const struct dirent *entry; ids && count < NAMES_MAX && (entry = readdir(stream));) {
        if (suffix && !has_suffix(entry->d_name, suffix))
            continue;
        size_t len = suffix ? (size_t)UUID_TEXT : strlen(entry->d_name);
        ids[count++] = arena_copy(arena, entry->d_name, len);
    }
    closedir(stream);
    if (!ids || arena->failed)
        return -ENOMEM;
    qsort(ids, count, sizeof(*ids), compare_ids);
    *ret = ids;
    *ret_count = count;
    return 0;
}

static int read_question(struct arena *arena, int dir, const char *id, struct question *ret,
                         struct err *e)
{
    char name[NAME_ROOM];
    struct buf bytes;
    name_of(id, question_suffix, name);
    buf_init(&bytes, &allocator_libc, QUESTION_BYTES_MAX + (1 << 15));
    int r = folder_read(dir, name, QUESTION_BYTES_MAX, &bytes, NULL);
    if (r < 0)
        err_errno(e, r, "cannot read question '%.8s'", id);
    else
        r = question_read(arena, bytes.data, bytes.len, ret, e);
    if (r == 0 && strcmp(ret->id, id) != 0)
        r = err_set(e, -EBADMSG, "question '%.8s' is another one", id);
    buf_release(&bytes);
    return r;
}

/* What its first bytes say (question_read_head): some are long, and there may be many. */
static int read_head(int dir, const char *id, struct question *ret)
{
    char name[NAME_ROOM], bytes[QUESTION_HEAD_MAX];
    struct stat st;
    name_of(id, question_suffix, name);
    FD_CLEANUP int fd = open_own(dir, name, &st);
    ssize_t n = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));
    int r = fd < 0 ? fd : n < 0 ? -errno : question_read_head(bytes, (size_t)n, ret);
    return r == 0 && strcmp(ret->id, id) != 0 ? -EBADMSG : r;
}

/* `ret_inode` is the file that it was read from. */
static int read_answer(struct arena *arena, int dir, const char *id, const char *suffix,
                       struct answer *ret, ino_t *ret_inode, struct err *e)
{
    char name[NAME_ROOM];
    struct buf bytes;
    struct stat st = {0};
    name_of(id, suffix, name);
    buf_init(&bytes, &allocator_libc, ANSWER_BYTES_MAX + (1 << 15));
    int r = folder_read(dir, name, ANSWER_BYTES_MAX, &bytes, &st);
    if (r < 0)
        err_errno(e, r, "cannot read the answer to '%.8s'", id);
    else
        r = answer_read(arena, bytes.data, bytes.len, ret, e);
    if (r == 0 && strcmp(ret->id, id) != 0)
        r = err_set(e, -EBADMSG, "the answer to '%.8s' is to another question", id);
    *ret_inode = st.st_ino;
    buf_release(&bytes);
    return r;
}

/* --- asking ---------------------------------------------------------------------------------- */

/* How much is in the questions that are open. */
static uint64_t count_bytes(int dir, const char *const *ids, size_t count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        char name[NAME_ROOM];
        struct stat st;
        name_of(ids[i], question_suffix, name);
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0)
            bytes += (uint64_t)st.st_size;
    }
    return bytes;
}

int approve_ask(const char *state, const struct question *q, int *ret_lock, struct err *e)
{
    enum { LIST_MAX = 1 << 20 };
    char name[NAME_ROOM];
    const char **ids;
    size_t count = 0;
    struct arena arena;
    struct buf bytes;
    *ret_lock = -1;
    FD_CLEANUP int dir = open_folder(state, true, e);
    if (dir < 0)
        return dir;
    arena_init(&arena, &allocator_libc, LIST_MAX);
    int r = list_ids(&arena, dir, question_suffix, &ids, &count);
    uint64_t open = r < 0 ? 0 : count_bytes(dir, ids, count);
    arena_release(&arena);
    if (r < 0)
        return err_errno(e, r, "cannot list the questions");
    if (count >= QUESTIONS_MAX)
        return err_set(e, -EMFILE, "%zu questions are open already (`nacre pending` lists them)",
                       count);
    name_of(q->id, question_suffix, name);
    buf_init(&bytes, &allocator_libc, QUESTION_BYTES_MAX);
    r = question_write(q, &bytes, e);
    if (r == 0 && open + bytes.len > QUESTIONS_BYTES_MAX)
        r = err_set(e, -EMFILE,
                    "the questions that are open have %" PRIu64
                    " MB already (`nacre pending` lists them)",
                    open >> 20);
    if (r == 0) {
        r = folder_write(dir, name, bytes.data, bytes.len, false, q->waits ? ret_lock : NULL);
        if (r < 0)
            err_errno(e, r, "cannot write the question down");
    }
    buf_release(&bytes);
    return r;
}

int approve_lock(const char *state)
{
    enum { TRIES = 100, PAUSE_MS = 10 };
    struct err ignored;
    FD_CLEANUP int dir = open_folder(state, true, &ignored);
    for (int i = 0; dir >= 0 && i < TRIES; i++) {
        if (flock(dir, LOCK_EX | LOCK_NB) == 0)
            return fd_steal(&dir);
        poll(NULL, 0, PAUSE_MS);
    }
    return -1;
}

void approve_withdraw(const char *state, const char *id)
{
    FD_CLEANUP int dir = open_folder(state, false, NULL);
    if (dir < 0)
        return;
    drop(dir, id, question_suffix);
    drop(dir, id, answer_suffix);
}

int approve_say(const char *state, const struct answer *a, struct err *e)
{
    char name[NAME_ROOM];
    struct buf bytes;
    FD_CLEANUP int dir = open_folder(state, false, e);
    if (dir < 0 && dir != -ENOENT)
        return dir;
    if (dir < 0 || !exists(dir, a->id, question_suffix))
        return err_set(e, -ENOENT, "there is no question '%.8s' any more", a->id);
    if (exists(dir, a->id, used_suffix))
        return err_set(e, -EEXIST, "question '%.8s' was answered, and the answer used", a->id);
    name_of(a->id, answer_suffix, name);
    buf_init(&bytes, &allocator_libc, ANSWER_BYTES_MAX);
    int r = answer_write(a, &bytes, e);
    if (r == 0) {
        r = folder_write(dir, name, bytes.data, bytes.len, false, NULL);
        if (r == -EEXIST)
            err_set(e, r, "question '%.8s' is answered already", a->id);
        else if (r < 0)
            err_errno(e, r, "cannot write the answer down");
    }
    buf_release(&bytes);
    return r;
}

/* --- taking ---------------------------------------------------------------------------------- */

/* Whether it counts for this binding, now (A1, A4, A5). */
static bool counts(const struct answer *a, const char *binding, const struct approve_rules *rules)
{
    struct err ignored;
    /* Until when it counts was taken from the question's file; when it was given was not. */
    bool late =
        rules->now_ms >= a->expires_ms ||
        (rules->now_ms > a->time_ms && (uint64_t)(rules->now_ms - a->time_ms) >= rules->timeout_ms);
    return strcmp(a->binding, binding) == 0 && !late &&
           (!rules->key || answer_check(a, rules->key, &ignored) == 0);
}

/* Makes it ours (A2): the file that was read, and nobody else has it. */
static int use(int dir, const char *id, ino_t inode)
{
    char from[NAME_ROOM], to[NAME_ROOM];
    struct stat st;
    name_of(id, answer_suffix, from);
    name_of(id, used_suffix, to);
    if (renameat2(dir, from, dir, to, RENAME_NOREPLACE) < 0)
        return errno == ENOENT || errno == EEXIST ? 0 : -errno;
    if (fstatat(dir, to, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_ino != inode)
        return 0;
    fsync(dir);
    drop(dir, id, question_suffix);
    return 1;
}

static int take(struct arena *arena, int dir, const char *id, const char *binding, bool own,
                const struct approve_rules *rules, struct answer *ret, struct err *e)
{
    struct question q;
    struct answer a;
    ino_t inode;
    if (read_answer(arena, dir, id, answer_suffix, &a, &inode, NULL) < 0 ||
        !counts(&a, binding, rules))
        return 0;
    /* What was said to a run that waits is for that run, but for what is said for a while. */
    bool lasts = !a.yes || a.scope == ANSWER_JOB;
    if (!own && (read_question(arena, dir, id, &q, NULL) < 0 || (q.waits && !lasts) ||
                 q.kind != QUESTION_RUN || strcmp(q.binding, binding) != 0))
        return 0;
    int r = lasts ? 1 : use(dir, id, inode);
    if (r == 1)
        *ret = a;
    return r < 0 ? err_errno(e, r, "cannot use the answer") : r;
}

int approve_take(struct arena *arena, const char *state, const char *binding,
                 const struct approve_rules *rules, struct answer *ret, struct err *e)
{
    const char **ids;
    size_t count = 0;
    FD_CLEANUP int dir = open_folder(state, false, e);
    if (dir == -ENOENT)
        return 0;
    int r = dir < 0 ? dir : list_ids(arena, dir, answer_suffix, &ids, &count);
    if (r < 0)
        return dir < 0 ? r : err_errno(e, r, "cannot list the answers");
    for (size_t i = 0; r == 0 && i < count; i++)
        r = take(arena, dir, ids[i], binding, false, rules, ret, e);
    return r;
}

int approve_take_own(struct arena *arena, const char *state, const struct question *q,
                     const struct approve_rules *rules, struct answer *ret, struct err *e)
{
    FD_CLEANUP int dir = open_folder(state, false, e);
    if (dir < 0 && dir != -ENOENT)
        return dir;
    if (dir < 0 || !exists(dir, q->id, question_suffix))
        return err_set(e, -ENOENT, "the question is gone");
    return exists(dir, q->id, answer_suffix)
               ? take(arena, dir, q->id, q->binding, true, rules, ret, e)
               : 0;
}

/* --- looking --------------------------------------------------------------------------------- */

int approve_find_same(struct arena *arena, const char *state, const char *binding, int64_t now_ms,
                      char ret_id[UUID_TEXT + 1], struct err *e)
{
    const char **ids;
    size_t count = 0;
    FD_CLEANUP int dir = open_folder(state, false, e);
    if (dir == -ENOENT)
        return 0;
    int r = dir < 0 ? dir : list_ids(arena, dir, question_suffix, &ids, &count);
    if (r < 0)
        return dir < 0 ? r : err_errno(e, r, "cannot list the questions");
    for (size_t i = 0; i < count; i++) {
        struct question q;
        if (exists(dir, ids[i], answer_suffix) || exists(dir, ids[i], used_suffix) ||
            read_head(dir, ids[i], &q) < 0 || strcmp(q.binding, binding) != 0)
            continue;
        /* So it says; whether it is true is seen by the whole. */
        if (read_question(arena, dir, ids[i], &q, NULL) < 0 || q.waits || q.kind != QUESTION_RUN ||
            (q.expires_ms && q.expires_ms <= now_ms) || strcmp(q.binding, binding) != 0)
            continue;
        memcpy(ret_id, q.id, sizeof(q.id));
        return 1;
    }
    return 0;
}

int approve_find(struct arena *arena, const char *state, const char *id, struct question *ret,
                 struct err *e)
{
    const char **ids, *found = NULL;
    size_t count = 0, len = strlen(id);
    FD_CLEANUP int dir = open_folder(state, false, e);
    int r = dir == -ENOENT ? 0
            : dir < 0      ? dir
                           : list_ids(arena, dir, question_suffix, &ids, &count);
    if (r < 0)
        return dir < 0 ? r : err_errno(e, r, "cannot list the questions");
    for (size_t i = 0; len && i < count; i++) {
        if (strncmp(ids[i], id, len) != 0)
            continue;
        if (found)
            return err_set(e, -ENOTUNIQ, "several questions start with '%.40s'", id);
        found = ids[i];
    }
    if (!found)
        return err_set(e, -ENOENT, "there is no question '%.40s' (`nacre pending` lists them)", id);
    return read_question(arena, dir, found, ret, e);
}

/* A question that says that it is waited for, and is not, is nobody's any more. */
static bool is_abandoned(int dir, const struct question *q)
{
    char name[NAME_ROOM];
    if (!q->waits || exists(dir, q->id, answer_suffix))
        return false;
    name_of(q->id, question_suffix, name);
    FD_CLEANUP int fd =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
}

static int compare_asked(const void *a, const void *b)
{
    const struct question *x = a, *y = b;
    return x->asked_ms < y->asked_ms ? -1 : x->asked_ms > y->asked_ms;
}

int approve_list(struct arena *arena, const char *state, struct question **ret, size_t *ret_count,
                 size_t *ret_bad, struct err *e)
{
    const char **ids = NULL;
    size_t count = 0;
    *ret = NULL;
    *ret_count = *ret_bad = 0;
    FD_CLEANUP int dir = open_folder(state, false, e);
    if (dir == -ENOENT)
        return 0;
    int r = dir < 0 ? dir : list_ids(arena, dir, question_suffix, &ids, &count);
    if (r < 0)
        return dir < 0 ? r : err_errno(e, r, "cannot list the questions");
    struct question *items = arena_alloc_array(arena, count + 1, sizeof(*items));
    for (size_t i = 0; items && i < count; i++) {
        if (exists(dir, ids[i], answer_suffix))
            continue;
        if (read_question(arena, dir, ids[i], &items[*ret_count], NULL) < 0)
            *ret_bad += 1;
        else
            *ret_count += 1;
    }
    if (!items || arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    qsort(items, *ret_count, sizeof(*items), compare_asked);
    *ret = items;
    return 0;
}

/* --- tidying --------------------------------------------------------------------------------- */

/* Whoever renames it tells of it: two that sweep at once do not both. */
static bool claim(int dir, const char *id)
{
    char from[NAME_ROOM], to[NAME_ROOM];
    name_of(id, question_suffix, from);
    snprintf(to, sizeof(to), ".%.*s%s", UUID_TEXT, id, new_suffix);
    bool ours = renameat2(dir, from, dir, to, RENAME_NOREPLACE) == 0;
    if (ours)
        unlinkat(dir, to, 0);
    return ours;
}

static void sweep_question(int dir, const char *id, int64_t now_ms,
                           void (*gone)(void *user, const char *id, bool withdrawn), void *user)
{
    struct question q = {0};
    if (read_head(dir, id, &q) < 0)
        return; /* somebody should look at it */
    bool abandoned = is_abandoned(dir, &q);
    bool late = q.expires_ms && q.expires_ms <= now_ms;
    if ((abandoned || (late && !q.waits && !exists(dir, id, answer_suffix))) && claim(dir, id))
        gone(user, id, abandoned);
}

static void sweep_answer(struct arena *arena, int dir, const char *id, const char *suffix,
                         int64_t now_ms)
{
    struct answer a;
    ino_t inode;
    bool bad = read_answer(arena, dir, id, suffix, &a, &inode, NULL) < 0;
    if (bad && suffix == answer_suffix)
        return;
    if (bad || a.expires_ms <= now_ms) {
        if (suffix == answer_suffix)
            drop(dir, id, question_suffix);
        drop(dir, id, suffix);
    }
}

/* What a kill left half written. */
static void sweep_temporary(int dir, const char *name, int64_t now_ms)
{
    enum { OLD_S = 3600 };
    struct stat st;
    size_t len = strlen(name), end = strlen(new_suffix);
    if (name[0] == '.' && len > end && strcmp(name + len - end, new_suffix) == 0 &&
        fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime + OLD_S < now_ms / 1000)
        unlinkat(dir, name, 0);
}

void approve_sweep(struct arena *arena, const char *state, int64_t now_ms,
                   void (*gone)(void *user, const char *id, bool withdrawn), void *user)
{
    const char **names;
    size_t count = 0;
    FD_CLEANUP int dir = open_folder(state, false, NULL);
    if (dir < 0 || list_ids(arena, dir, NULL, &names, &count) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        char id[UUID_TEXT + 1];
        snprintf(id, sizeof(id), "%.*s", UUID_TEXT, names[i]);
        if (has_suffix(names[i], question_suffix))
            sweep_question(dir, id, now_ms, gone, user);
        else if (has_suffix(names[i], answer_suffix))
            sweep_answer(arena, dir, id, answer_suffix, now_ms);
        else if (has_suffix(names[i], used_suffix))
            sweep_answer(arena, dir, id, used_suffix, now_ms);
        else
            sweep_temporary(dir, names[i], now_ms);
    }
}
