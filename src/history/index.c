/*
 * The index: opened, made anew where it does not fit; see history.h.
 *
 * It is derived, so it is never repaired: where it is damaged, of another ledger or of another
 * version, it is removed and made again. Whoever does so holds the lock; who reads meanwhile keeps
 * the file that was there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "history/internal.h"

enum { SCHEMA_VERSION = 1, BUSY_MS = 10000, PATH_BYTES = 4096 };

/*
 * `runs.idx` is a run's place: the index of its intent, else of its result. The columns behind each
 * index are what it is ordered by, so that the newest come first without sorting, or what figures
 * need of each run.
 */
static const char schema[] =
    "CREATE TABLE about(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE runs(idx INTEGER PRIMARY KEY, result INTEGER, id TEXT, time INTEGER,"
    " agent TEXT, job TEXT, status TEXT, verdict TEXT, rule TEXT, lim TEXT, workspace TEXT,"
    " exit_code INTEGER, duration INTEGER, changes INTEGER, command TEXT);"
    "CREATE INDEX runs_id ON runs(id);"
    "CREATE INDEX runs_result ON runs(result);"
    "CREATE INDEX runs_time ON runs(time, idx, duration, changes);"
    "CREATE INDEX runs_agent ON runs(agent, idx) WHERE agent IS NOT NULL;"
    "CREATE INDEX runs_job ON runs(job, idx) WHERE job IS NOT NULL;"
    "CREATE INDEX runs_status ON runs(status, idx);"
    "CREATE INDEX runs_verdict ON runs(verdict, idx);"
    "CREATE INDEX runs_limit ON runs(lim) WHERE lim IS NOT NULL;"
    "CREATE INDEX runs_duration ON runs(duration) WHERE duration IS NOT NULL;"
    "CREATE TABLE later(idx INTEGER PRIMARY KEY, id TEXT, kind TEXT);"
    "CREATE INDEX later_id ON later(id, idx);"
    "CREATE TABLE paths(path BLOB, idx INTEGER, PRIMARY KEY(path, idx)) WITHOUT ROWID;"
    "CREATE INDEX paths_idx ON paths(idx);"
    "CREATE VIRTUAL TABLE run_text USING fts5(command, content='runs', content_rowid='idx',"
    " tokenize='trigram case_sensitive 1', detail=none);";

int index_fail(struct history *h, const char *what, struct err *e)
{
    int code = h->db ? sqlite3_errcode(h->db) & 0xFF : SQLITE_NOMEM;
    int r = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_SCHEMA ||
                    code == SQLITE_ERROR
                ? -EUCLEAN
            : code == SQLITE_NOMEM                           ? -ENOMEM
            : code == SQLITE_FULL                            ? -ENOSPC
            : code == SQLITE_BUSY || code == SQLITE_LOCKED   ? -EBUSY
            : code == SQLITE_READONLY || code == SQLITE_PERM ? -EACCES
                                                             : -EIO;
    return err_set(e, r, "%s '%s': %s", what, h->database,
                   h->db ? sqlite3_errmsg(h->db) : "out of memory");
}

int index_execute(struct history *h, const char *sql, struct err *e)
{
    return sqlite3_exec(h->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : index_fail(h, "cannot write the index", e);
}

int index_prepare(struct history *h, const char *sql, sqlite3_stmt **ret, struct err *e)
{
    return sqlite3_prepare_v2(h->db, sql, -1, ret, NULL) == SQLITE_OK
               ? 0
               : index_fail(h, "cannot read the index", e);
}

static int read_version(struct history *h, int *ret, struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    int r = index_prepare(h, "PRAGMA user_version", &s, e);
    if (r < 0)
        return r;
    if (sqlite3_step(s) != SQLITE_ROW)
        return index_fail(h, "cannot read the index", e);
    *ret = sqlite3_column_int(s, 0);
    return 0;
}

static int make_schema(struct history *h, struct err *e)
{
    char version[64];
    snprintf(version, sizeof(version), "PRAGMA user_version = %d; COMMIT", SCHEMA_VERSION);
    int r = index_execute(h, "BEGIN IMMEDIATE", e);
    if (r == 0)
        r = index_execute(h, schema, e);
    return r < 0 ? r : index_execute(h, version, e);
}

static void close_database(struct history *h)
{
    if (h->db)
        sqlite3_close_v2(h->db);
    h->db = NULL;
}

static int open_database(struct history *h, struct err *e)
{
    int version = 0;
    /* Made here, so that it is for the owner alone; SQLite gives its other files the same mode. */
    FD_CLEANUP int made =
        open(h->database, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (made < 0)
        return errno == ELOOP || errno == EISDIR ? -EUCLEAN
                                                 : err_errno(e, -errno, "'%s'", h->database);
    if (sqlite3_open_v2(h->database, &h->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
                        NULL) != SQLITE_OK)
        return index_fail(h, "cannot open the index", e);
    sqlite3_busy_timeout(h->db, BUSY_MS);
    sqlite3_db_config(h->db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_db_config(h->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    /* Not synced: what a crash takes is made again. */
    int r = index_execute(h,
                          "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
                          "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536;",
                          e);
    if (r == 0)
        r = read_version(h, &version, e);
    if (r == 0 && version == 0)
        return make_schema(h, e);
    return r == 0 && version != SCHEMA_VERSION ? -EUCLEAN : r;
}

static int remove_database(struct history *h, struct err *e)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    char path[PATH_BYTES + 16];
    close_database(h);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        snprintf(path, sizeof(path), "%s%s", h->database, ends[i]);
        if (unlink(path) < 0 && errno != ENOENT && rmdir(path) < 0)
            return err_errno(e, -errno, "cannot remove the index '%s'", path);
    }
    return 0;
}

static int hold_lock(const struct history *h, int *ret, struct err *e)
{
    *ret = open(h->lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
    if (*ret < 0)
        return err_errno(e, -errno, "cannot open '%s'", h->lock_path);
    while (flock(*ret, LOCK_EX) < 0) {
        if (errno != EINTR)
            return err_errno(e, -errno, "cannot lock '%s'", h->lock_path);
    }
    return 0;
}

int history_update(struct history *h, struct err *e)
{
    FD_CLEANUP int lock = -1;
    int r = hold_lock(h, &lock, e);
    if (r < 0)
        return r;
    for (int attempt = 0; attempt < 2; attempt++) {
        r = h->db ? 0 : open_database(h, e);
        if (r == 0)
            r = index_update(h, e);
        if (r != -EUCLEAN || attempt)
            break;
        int removed = remove_database(h, e);
        if (removed < 0)
            return removed;
    }
    return r;
}

int index_rebuild(struct history *h, struct err *e)
{
    FD_CLEANUP int lock = -1;
    int r = hold_lock(h, &lock, e);
    if (r == 0)
        r = remove_database(h, e);
    if (r == 0)
        r = open_database(h, e);
    return r < 0 ? r : index_update(h, e);
}

static char *join(const char *state, const char *name)
{
    size_t len = strlen(state) + strlen(name) + 2;
    char *path = alloc_resize(&allocator_libc, NULL, len);
    if (path)
        snprintf(path, len, "%s/%s", state, name);
    return path;
}

int history_open(const char *state, const struct history_options *options, struct history **ret,
                 struct err *e)
{
    struct history *h = alloc_resize(&allocator_libc, NULL, sizeof(*h));
    const struct ledger_options read_only = {.flags = LEDGER_READ_ONLY};
    if (!h)
        return err_set(e, -ENOMEM, "out of memory");
    *h = (struct history){.state = join(state, ""),
                          .objects = join(state, "objects"),
                          .database = join(state, "history.db"),
                          .lock_path = join(state, "history.lock")};
    if (options)
        h->options = *options;
    char *ledger = join(state, "ledger");
    int r = 0;
    if (!h->state || !h->objects || !h->database || !h->lock_path || !ledger)
        r = err_set(e, -ENOMEM, "out of memory");
    else if (strlen(h->database) > PATH_BYTES)
        r = err_set(e, -ENAMETOOLONG, "'%s' is too long", state);
    if (r == 0 && access(ledger, F_OK) < 0 && errno == ENOENT)
        r = err_set(e, -ENOENT, "nothing is recorded in '%s' yet", state);
    if (r == 0)
        r = ledger_open(ledger, &read_only, &h->ledger, e);
    if (r == 0)
        r = history_update(h, e);
    alloc_free(&allocator_libc, ledger);
    if (r < 0)
        history_close(h);
    else
        *ret = h;
    return r;
}

void history_close(struct history *h)
{
    if (!h)
        return;
    close_database(h);
    if (h->ledger)
        ledger_close(h->ledger);
    alloc_free(&allocator_libc, h->state);
    alloc_free(&allocator_libc, h->objects);
    alloc_free(&allocator_libc, h->database);
    alloc_free(&allocator_libc, h->lock_path);
    alloc_free(&allocator_libc, h);
}

struct ledger *history_ledger(struct history *h)
{
    return h->ledger;
}
