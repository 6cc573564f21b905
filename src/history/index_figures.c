/* Figures over all runs; see history.h. */
#include <errno.h>
#include <string.h>

#include "history/internal.h"
#include "history/running.h"

const unsigned history_quantiles[HISTORY_QUANTILES] = {50, 90, 99};

enum { NAMES_MAX = 10000 };

/* Without a time, each is read off an index of its own. */
static const char *const counted[HISTORY_COUNTED] = {
    [HISTORY_BY_STATUS] = "SELECT status, count(*) FROM runs WHERE status <> '-'",
    [HISTORY_BY_VERDICT] = "SELECT verdict, count(*) FROM runs WHERE verdict IS NOT NULL",
    [HISTORY_BY_DENIED_RULE] = "SELECT rule, count(*) FROM runs WHERE verdict = 'deny'",
    [HISTORY_BY_LIMIT] = "SELECT lim, count(*) FROM runs WHERE lim IS NOT NULL",
    [HISTORY_BY_AGENT] = "SELECT agent, count(*) FROM runs WHERE agent IS NOT NULL",
};

static const char *time_condition(int64_t since_ms)
{
    return since_ms ? " AND time >= ?1" : "";
}

static int add_count(struct arena *arena, struct history_counts *counts, size_t *room,
                     const char *name, uint64_t count)
{
    if (counts->count == *room) {
        *room = *room ? *room * 2 : 8;
        struct history_count *more = arena_alloc_array(arena, *room, sizeof(*more));
        if (!more)
            return -ENOMEM;
        if (counts->count)
            memcpy(more, counts->items, counts->count * sizeof(*more));
        counts->items = more;
    }
    const char *copy = arena_copy(arena, name, strlen(name));
    if (!copy)
        return -ENOMEM;
    counts->items[counts->count++] = (struct history_count){copy, count};
    return 0;
}

static int count_by(struct history *h, struct arena *arena, const char *sql, int64_t since_ms,
                    struct history_counts *ret, struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    struct buf ordered;
    size_t room = 0;
    buf_init(&ordered, &allocator_libc, 1 << 12);
    buf_append_format(&ordered, "%s%s GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %d", sql,
                      time_condition(since_ms), NAMES_MAX);
    int step = SQLITE_DONE, r = index_prepare(h, ordered.data, &s, e);
    buf_release(&ordered);
    if (r < 0)
        return r;
    sqlite3_bind_int64(s, 1, since_ms);
    while (r == 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(s, 0);
        r = add_count(arena, ret, &room, name ? name : "-", (uint64_t)sqlite3_column_int64(s, 1));
    }
    if (r < 0)
        return err_set(e, r, "out of memory");
    return step == SQLITE_DONE ? 0 : index_fail(h, "cannot read the index", e);
}

/* Those without a result: few, and each is looked at. */
static int count_open(struct history *h, struct arena *arena, int64_t since_ms,
                      struct history_counts *ret, struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    uint64_t running = 0, cut_off = 0;
    size_t room = ret->count;
    int step,
        r = index_prepare(h, "SELECT idx FROM runs WHERE result IS NULL AND time >= ?1", &s, e);
    if (r < 0)
        return r;
    sqlite3_bind_int64(s, 1, since_ms);
    while ((step = sqlite3_step(s)) == SQLITE_ROW) {
        bool is = running_is(h->state, (uint64_t)sqlite3_column_int64(s, 0));
        running += is;
        cut_off += !is;
    }
    if (step != SQLITE_DONE)
        return index_fail(h, "cannot read the index", e);
    if ((running && add_count(arena, ret, &room, HISTORY_RUNNING, running) < 0) ||
        (cut_off && add_count(arena, ret, &room, HISTORY_CUT_OFF, cut_off) < 0))
        return err_set(e, -ENOMEM, "out of memory");
    return 0;
}

/* One number for each of `count` columns. */
static int get_numbers(struct history *h, const char *sql, int64_t since_ms, uint64_t offset,
                       uint64_t *ret, int count, struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    int r = index_prepare(h, sql, &s, e);
    if (r < 0)
        return r;
    sqlite3_bind_int64(s, 1, since_ms);
    sqlite3_bind_int64(s, 2, (sqlite3_int64)offset);
    if (sqlite3_step(s) != SQLITE_ROW)
        return index_fail(h, "cannot read the index", e);
    for (int i = 0; i < count; i++)
        ret[i] = (uint64_t)sqlite3_column_int64(s, i);
    return 0;
}

/* The least duration that is not shorter than so many per cent of them (nearest rank). */
static int find_quantiles(struct history *h, int64_t since_ms, struct history_figures *ret,
                          struct err *e)
{
    struct buf sql;
    int r = 0;
    buf_init(&sql, &allocator_libc, 1 << 12);
    buf_append_format(&sql,
                      "SELECT duration FROM runs WHERE duration IS NOT NULL%s"
                      " ORDER BY duration LIMIT 1 OFFSET ?2",
                      time_condition(since_ms));
    for (size_t i = 0; r == 0 && ret->timed && i < HISTORY_QUANTILES; i++) {
        uint64_t rank = (ret->timed * history_quantiles[i] + 99) / 100;
        r = get_numbers(h, sql.data, since_ms, rank ? rank - 1 : 0, &ret->duration_ms[i], 1, e);
    }
    buf_release(&sql);
    return r;
}

static int sum(struct history *h, struct arena *arena, int64_t since_ms,
               struct history_figures *ret, struct err *e)
{
    uint64_t sums[5];
    int r = 0;
    *ret = (struct history_figures){0};
    /* All at one point of time. */
    r = index_execute(h, "BEGIN", e);
    for (size_t i = 0; r == 0 && i < HISTORY_COUNTED; i++)
        r = count_by(h, arena, counted[i], since_ms, &ret->by[i], e);
    if (r == 0)
        r = count_open(h, arena, since_ms, &ret->by[HISTORY_BY_STATUS], e);
    if (r == 0)
        r = get_numbers(h,
                        "SELECT count(*), count(duration), ifnull(sum(duration), 0),"
                        " ifnull(max(duration), 0), ifnull(sum(changes), 0)"
                        " FROM runs WHERE time >= ?1",
                        since_ms, 0, sums, 5, e);
    if (r == 0) {
        ret->runs = sums[0];
        ret->timed = sums[1];
        ret->duration_sum_ms = sums[2];
        ret->duration_max_ms = sums[3];
        ret->changes = sums[4];
        r = find_quantiles(h, since_ms, ret, e);
    }
    if (r == 0)
        r = ledger_size(h->ledger, &ret->entries, e);
    if (!sqlite3_get_autocommit(h->db))
        sqlite3_exec(h->db, "COMMIT", NULL, NULL, NULL);
    return r;
}

int history_sum(struct history *h, struct arena *arena, int64_t since_ms,
                struct history_figures *ret, struct err *e)
{
    int r = sum(h, arena, since_ms, ret, e);
    if (r != -EUCLEAN)
        return r;
    r = index_rebuild(h, e);
    return r < 0 ? r : sum(h, arena, since_ms, ret, e);
}
