/*
 * Runs by filter; see history.h. They come in the order of the ledger, but by their time where a
 * time is asked for, which is nearly the same and needs no sorting either.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history/internal.h"
#include "history/running.h"

enum { SQL_MAX = 1 << 16, VALUES_MAX = 160, PATTERN_MAX = 1 << 16, TRIGRAM = 3 };

/* A query on its way: its text, and the values for its question marks. */
struct query {
    struct buf sql;
    struct {
        const char *text;
        int len;
        bool blob;
        sqlite3_int64 number;
    } values[VALUES_MAX];
    int count;
    bool first; /* no condition yet */
    struct buf pattern;
};

static void condition(struct query *q, const char *sql)
{
    buf_append_text(&q->sql, q->first ? " WHERE " : " AND ");
    buf_append_text(&q->sql, sql);
    q->first = false;
}

static void add_value(struct query *q, const char *text, size_t len, bool blob,
                      sqlite3_int64 number)
{
    if (q->count == VALUES_MAX || len > PATTERN_MAX) {
        q->sql.failed = -E2BIG;
        return;
    }
    q->values[q->count].text = text;
    q->values[q->count].len = (int)len;
    q->values[q->count].blob = blob;
    q->values[q->count++].number = number;
}

static void compares(struct query *q, const char *sql, int64_t number)
{
    condition(q, sql);
    add_value(q, NULL, 0, false, number);
}

static size_t count_characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

/* By trigrams where the text has one; the pattern is compared with the command itself besides. */
static void contains(struct query *q, const char *text, bool by_trigrams)
{
    if (!by_trigrams) {
        condition(q, "instr(r.command, ?) > 0");
        add_value(q, text, strlen(text), false, 0);
        return;
    }
    buf_append_byte(&q->pattern, '*');
    for (; *text; text++) {
        if (strchr("*?[", *text))
            buf_append_format(&q->pattern, "[%c]", *text);
        else
            buf_append_byte(&q->pattern, *text);
    }
    buf_append_byte(&q->pattern, '*');
    if (q->pattern.failed)
        q->sql.failed = q->pattern.failed;
    condition(q, "t.command GLOB ?");
    add_value(q, q->pattern.data, q->pattern.len, false, 0);
}

/* One path, or what begins with it where it ends with a slash. */
static void add_path(struct query *q, const char *path)
{
    size_t len = strlen(path);
    bool below = len && path[len - 1] == '/';
    buf_append_text(&q->sql, below ? "p.path >= ? AND p.path < ?" : "p.path = ?");
    add_value(q, path, len, true, 0);
    if (below) {
        /* The bytes behind it: '0' follows '/'. */
        size_t start = q->pattern.len;
        buf_append(&q->pattern, path, len - 1);
        buf_append(&q->pattern, "0", 2);
        if (q->pattern.failed)
            q->sql.failed = q->pattern.failed;
        else
            add_value(q, q->pattern.data + start, len, true, 0);
    }
}

/*
 * Paths are told as in results: from the workspace on. So one that is absolute is looked for as it
 * is, and in each directory above it that was a workspace.
 */
static void changed(struct query *q, const char *path)
{
    condition(q, "r.idx IN (SELECT p.idx FROM paths p WHERE ");
    add_path(q, path);
    for (const char *slash = strchr(path + 1, '/'); path[0] == '/' && slash && slash[1];
         slash = strchr(slash + 1, '/')) {
        buf_append_text(&q->sql, " UNION SELECT p.idx FROM paths p JOIN runs w ON w.idx = p.idx"
                                 " WHERE ");
        add_path(q, slash + 1);
        buf_append_text(&q->sql, " AND w.workspace = ?");
        add_value(q, path, (size_t)(slash - path), false, 0);
    }
    buf_append_text(&q->sql, ")");
}

static bool is_open_status(const char *status)
{
    return status && (strcmp(status, HISTORY_RUNNING) == 0 || strcmp(status, HISTORY_CUT_OFF) == 0);
}

/* --- which filter is the narrowest -------------------------------------------------------------
 *
 * SQLite does not know how many runs a filter has. So the first thousand of each are counted, which
 * takes no time, and the rest of the filters is hidden from its choice of an index (a plus sign).
 */
enum { SAMPLE = 1000 };

struct plain_filter {
    const char *column, *compare;
    const char *text; /* NULL: `number` */
    int64_t number;
    bool is_time;
};

enum { PLAIN_MAX = 6 };

static size_t list_plain(const struct history_filter *f, struct plain_filter ret[PLAIN_MAX])
{
    const struct plain_filter all[PLAIN_MAX] = {
        {"r.time", ">=", NULL, f->since_ms, true},
        {"r.time", "<=", NULL, f->until_ms, true},
        {"r.agent", "=", f->agent, 0, false},
        {"r.job", "=", f->job, 0, false},
        {"r.status", "=", is_open_status(f->status) ? "-" : f->status, 0, false},
        {"r.verdict", "=", f->verdict, 0, false},
    };
    size_t count = 0;
    for (size_t i = 0; i < PLAIN_MAX; i++) {
        if (all[i].text || all[i].number)
            ret[count++] = all[i];
    }
    return count;
}

static int sample(struct history *h, const struct plain_filter *filter, uint64_t *ret,
                  struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    char sql[256];
    sqlite3_snprintf(sizeof(sql), sql,
                     "SELECT count(*) FROM (SELECT 1 FROM runs r WHERE %s %s ? LIMIT %d)",
                     filter->column, filter->compare, SAMPLE);
    int r = index_prepare(h, sql, &s, e);
    if (r < 0)
        return r;
    if (filter->text)
        sqlite3_bind_text(s, 1, filter->text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_int64(s, 1, filter->number);
    if (sqlite3_step(s) != SQLITE_ROW)
        return index_fail(h, "cannot read the index", e);
    *ret = (uint64_t)sqlite3_column_int64(s, 0);
    return 0;
}

/* The first of the narrowest; times stand first, since they are in order without sorting. */
static int find_narrowest(struct history *h, const struct plain_filter *filters, size_t count,
                          size_t *ret_best, uint64_t *ret_rows, struct err *e)
{
    *ret_best = 0;
    *ret_rows = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        uint64_t rows = 0;
        int r = sample(h, &filters[i], &rows, e);
        if (r < 0)
            return r;
        if (rows < *ret_rows) {
            *ret_best = i;
            *ret_rows = rows;
        }
    }
    return 0;
}

static int make_query(struct history *h, struct query *q, const struct history_filter *f,
                      struct err *e)
{
    struct plain_filter plain[PLAIN_MAX];
    size_t best, count = list_plain(f, plain);
    uint64_t rows;
    int r = find_narrowest(h, plain, count, &best, &rows, e);
    if (r < 0)
        return r;
    bool by_text = f->text && count_characters(f->text) >= TRIGRAM && rows >= SAMPLE;
    bool by_time = (f->since_ms || f->until_ms) && !by_text;
    const char *way = f->oldest_first ? "ASC" : "DESC";
    buf_append_text(&q->sql,
                    "SELECT r.idx, r.result, r.id, r.time, r.agent, r.job, r.status, r.verdict,"
                    " r.rule, r.workspace, r.exit_code, r.duration, r.changes, r.command FROM ");
    buf_append_text(&q->sql,
                    by_text ? "run_text t CROSS JOIN runs r ON r.idx = t.rowid" : "runs r");
    if (f->text && f->text[0])
        contains(q, f->text, by_text);
    for (size_t i = 0; i < count; i++) {
        char sql[64];
        bool hidden = i != best && !(plain[i].is_time && plain[best].is_time);
        sqlite3_snprintf(sizeof(sql), sql, "%s%s %s ?", hidden || by_text ? "+" : "",
                         plain[i].column, plain[i].compare);
        condition(q, sql);
        add_value(q, plain[i].text, plain[i].text ? strlen(plain[i].text) : 0, false,
                  plain[i].number);
    }
    if (is_open_status(f->status))
        condition(q, "r.result IS NULL");
    if (f->since_result)
        compares(q, "r.result >= ?", (int64_t)f->since_result);
    if (f->from)
        compares(q, "r.idx >= ?", (int64_t)f->from);
    if (f->before)
        compares(q, "r.idx < ?", (int64_t)(f->before < INT64_MAX ? f->before : INT64_MAX));
    if (f->workspace) {
        condition(q, "r.workspace = ?");
        add_value(q, f->workspace, strlen(f->workspace), false, 0);
    }
    if (f->path && f->path[0])
        changed(q, f->path);
    buf_append_format(&q->sql, " ORDER BY %s %s",
                      f->since_result ? "r.result"
                      : by_text       ? "t.rowid"
                      : by_time       ? "r.time"
                                      : "r.idx",
                      way);
    if (by_time)
        buf_append_format(&q->sql, ", r.idx %s", way);
    return q->sql.failed ? err_set(e, q->sql.failed, "what is looked for is too long") : 0;
}

/* --- */

static const char *column(sqlite3_stmt *s, int number)
{
    return (const char *)sqlite3_column_text(s, number);
}

static void read_row(const struct history *h, sqlite3_stmt *s, struct history_row *ret)
{
    *ret = (struct history_row){
        .index = (uint64_t)sqlite3_column_int64(s, 0),
        .result = sqlite3_column_type(s, 1) == SQLITE_NULL ? HISTORY_NONE
                                                           : (uint64_t)sqlite3_column_int64(s, 1),
        .id = column(s, 2),
        .time_ms = sqlite3_column_int64(s, 3),
        .agent = column(s, 4),
        .job = column(s, 5),
        .status = column(s, 6),
        .verdict = column(s, 7),
        .rule = column(s, 8),
        .workspace = column(s, 9),
        .has_exit_code = sqlite3_column_type(s, 10) != SQLITE_NULL,
        .exit_code = sqlite3_column_int(s, 10),
        .has_duration = sqlite3_column_type(s, 11) != SQLITE_NULL,
        .duration_ms = (uint64_t)sqlite3_column_int64(s, 11),
        .changes = (uint64_t)sqlite3_column_int64(s, 12),
        .command = column(s, 13),
        .command_len = (size_t)sqlite3_column_bytes(s, 13),
    };
    if (!ret->id)
        ret->id = "";
    if (!ret->command)
        ret->command = "";
    if (ret->result == HISTORY_NONE)
        ret->status = running_is(h->state, ret->index) ? HISTORY_RUNNING : HISTORY_CUT_OFF;
}

static int bind_values(const struct query *q, sqlite3_stmt *s)
{
    int r = SQLITE_OK;
    for (int i = 0; i < q->count && r == SQLITE_OK; i++) {
        if (!q->values[i].text)
            r = sqlite3_bind_int64(s, i + 1, q->values[i].number);
        else if (q->values[i].blob)
            r = sqlite3_bind_blob(s, i + 1, q->values[i].text, q->values[i].len, SQLITE_TRANSIENT);
        else
            r = sqlite3_bind_text(s, i + 1, q->values[i].text, q->values[i].len, SQLITE_TRANSIENT);
    }
    return r;
}

/* Which of those without a result are meant is known only when they are looked at; so the limit
 * is counted here. */
static int run_query(struct history *h, const struct query *q, const struct history_filter *f,
                     int (*row)(void *user, const struct history_row *row), void *user,
                     uint64_t *given, struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    int step, r = index_prepare(h, q->sql.data, &s, e);
    if (r < 0)
        return r;
    if (bind_values(q, s) != SQLITE_OK)
        return index_fail(h, "cannot read the index", e);
    while ((step = sqlite3_step(s)) == SQLITE_ROW) {
        struct history_row found;
        read_row(h, s, &found);
        if (is_open_status(f->status) && strcmp(found.status, f->status) != 0)
            continue;
        r = row(user, &found);
        ++*given;
        if (r != 0 || *given == f->limit)
            return r;
    }
    return step == SQLITE_DONE ? 0 : index_fail(h, "cannot read the index", e);
}

static int list(struct history *h, const struct history_filter *filter,
                int (*row)(void *user, const struct history_row *row), void *user, uint64_t *given,
                struct err *e)
{
    struct query *q = alloc_resize(&allocator_libc, NULL, sizeof(*q));
    if (!q)
        return err_set(e, -ENOMEM, "out of memory");
    memset(q, 0, sizeof(*q));
    q->first = true;
    buf_init(&q->sql, &allocator_libc, SQL_MAX);
    buf_init(&q->pattern, &allocator_libc, PATTERN_MAX);
    /* Values point into it: it must not move. */
    int r = buf_reserve(&q->pattern, PATTERN_MAX) < 0 ? err_set(e, -ENOMEM, "out of memory") : 0;
    if (r == 0)
        r = make_query(h, q, filter, e);
    if (r == 0)
        r = run_query(h, q, filter, row, user, given, e);
    buf_release(&q->sql);
    buf_release(&q->pattern);
    alloc_free(&allocator_libc, q);
    return r;
}

int history_list(struct history *h, const struct history_filter *filter,
                 int (*row)(void *user, const struct history_row *row), void *user, struct err *e)
{
    uint64_t given = 0;
    int r = list(h, filter, row, user, &given, e);
    /* What was handed on already cannot be taken back. */
    if (r != -EUCLEAN || given)
        return r;
    r = index_rebuild(h, e);
    return r < 0 ? r : list(h, filter, row, user, &given, e);
}

/* --- one run --------------------------------------------------------------------------------- */

static bool is_index(const char *id, uint64_t *ret)
{
    char *end;
    errno = 0;
    if (id[0] < '0' || id[0] > '9')
        return false;
    *ret = strtoull(id, &end, 10);
    return !*end && errno == 0 && *ret < INT64_MAX;
}

/* Up to two runs for which the condition holds. */
static int find_by(struct history *h, const char *sql, const char *text, size_t len,
                   uint64_t number, uint64_t ret[2], struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    int count = 0, step, r = index_prepare(h, sql, &s, e);
    if (r < 0)
        return r;
    if (text)
        sqlite3_bind_text(s, 1, text, (int)len, SQLITE_STATIC);
    else
        sqlite3_bind_int64(s, 1, (sqlite3_int64)number);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && count < 2)
        ret[count++] = (uint64_t)sqlite3_column_int64(s, 0);
    return step == SQLITE_ROW || step == SQLITE_DONE ? count
                                                     : index_fail(h, "cannot read the index", e);
}

static int find(struct history *h, const char *id, uint64_t *ret_index, struct err *e)
{
    enum { ID_MAX = 128 };
    uint64_t found[2] = {0}, number = 0;
    size_t len = strlen(id);
    if (len == 0 || len > ID_MAX)
        return err_set(e, -ENOENT, "there is no run '%s'", id);
    /* Ids are UUIDs, in lower case: '~' follows all that they have. */
    int count = find_by(h, "SELECT idx FROM runs WHERE id >= ?1 AND id < ?1 || '~' LIMIT 2", id,
                        len, 0, found, e);
    /* A short number may start an id as well, but means an index where that is one of a run's. */
    if (count >= 0 && is_index(id, &number) && len < 8) {
        uint64_t by_index[2];
        int other = find_by(h,
                            "SELECT idx FROM runs WHERE idx = ?1 UNION"
                            " SELECT idx FROM runs WHERE result = ?1 UNION"
                            " SELECT r.idx FROM later l JOIN runs r ON r.id = l.id"
                            " WHERE l.idx = ?1 LIMIT 2",
                            NULL, 0, number, by_index, e);
        if (other != 0) {
            count = other;
            memcpy(found, by_index, sizeof(found));
        }
    }
    if (count < 0)
        return count;
    if (count == 0)
        return err_set(e, -ENOENT, "there is no run '%s'", id);
    if (count > 1)
        return err_set(e, -ENOTUNIQ, "several runs begin with '%s'", id);
    *ret_index = found[0];
    return 0;
}

int history_find(struct history *h, const char *id, uint64_t *ret_index, struct err *e)
{
    int r = find(h, id, ret_index, e);
    if (r != -EUCLEAN)
        return r;
    r = index_rebuild(h, e);
    return r < 0 ? r : find(h, id, ret_index, e);
}
