/*
 * From the last entry that the index has to the ledger's end. The index remembers which ledger it
 * was made from: its key, how many entries, and the hash of the last of them. If one of these does
 * not fit, it is of another ledger, or of one that was put back from an old copy.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "history/internal.h"

/* Records in one transaction: a rebuild that is interrupted goes on from there. */
enum { BATCH = 20000, PROGRESS = 1024 };

/* What it remembers. */
struct mark {
    bool known;
    char key[512];
    uint64_t next; /* first entry that is not in it */
    unsigned char last[SHA256_BYTES];
    unsigned char head[SHA256_BYTES]; /* of the checkpoint under which all that is */
};

static void hash_record(const void *bytes, size_t len, unsigned char ret[SHA256_BYTES])
{
    struct sha256 hash;
    sha256_start(&hash);
    sha256_add(&hash, bytes, len);
    sha256_end(&hash, ret);
}

static int read_mark(struct history *h, struct mark *ret, struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    *ret = (struct mark){0};
    int r = index_prepare(h,
                          "SELECT k.value, n.value, l.value, h.value"
                          " FROM about k, about n, about l, about h WHERE k.name = 'key'"
                          " AND n.name = 'next' AND l.name = 'last' AND h.name = 'head'",
                          &s, e);
    if (r < 0)
        return r;
    int step = sqlite3_step(s);
    if (step == SQLITE_DONE)
        return 0;
    if (step != SQLITE_ROW)
        return index_fail(h, "cannot read the index", e);
    const char *key = (const char *)sqlite3_column_text(s, 0);
    const void *last = sqlite3_column_blob(s, 2), *head = sqlite3_column_blob(s, 3);
    sqlite3_int64 next = sqlite3_column_int64(s, 1);
    if (!key || strlen(key) >= sizeof(ret->key) || next < 0 || !last ||
        sqlite3_column_bytes(s, 2) != SHA256_BYTES || !head ||
        sqlite3_column_bytes(s, 3) != SHA256_BYTES)
        return -EUCLEAN;
    ret->known = true;
    memcpy(ret->key, key, strlen(key) + 1);
    ret->next = (uint64_t)next;
    memcpy(ret->last, last, SHA256_BYTES);
    memcpy(ret->head, head, SHA256_BYTES);
    return 0;
}

static int write_mark(struct history *h, const struct mark *mark, struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    int r = index_prepare(h,
                          "INSERT OR REPLACE INTO about VALUES('key', ?1), ('next', ?2),"
                          " ('last', ?3), ('head', ?4)",
                          &s, e);
    if (r < 0)
        return r;
    sqlite3_bind_text(s, 1, mark->key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, (sqlite3_int64)mark->next);
    sqlite3_bind_blob(s, 3, mark->last, SHA256_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob(s, 4, mark->head, SHA256_BYTES, SQLITE_STATIC);
    return sqlite3_step(s) == SQLITE_DONE ? 0 : index_fail(h, "cannot write the index", e);
}

/* Whether the index was made from the start of this ledger. */
static int check_fit(struct history *h, const struct mark *mark, const char *key, uint64_t first,
                     uint64_t size, struct err *e)
{
    struct buf record;
    unsigned char is[SHA256_BYTES];
    if (strcmp(mark->key, key) != 0 || mark->next > size)
        return -EUCLEAN;
    if (mark->next == 0 || mark->next <= first)
        return 0; /* the record is gone; the key has to do */
    buf_init(&record, &allocator_libc, LEDGER_RECORD_MAX);
    int r = ledger_read(h->ledger, mark->next - 1, &record, e);
    if (r == 0) {
        hash_record(record.data, record.len, is);
        r = memcmp(is, mark->last, sizeof(is)) == 0 ? 0 : -EUCLEAN;
    }
    buf_release(&record);
    return r;
}

/* What the ledger has dropped is no part of the history any more. */
static int drop_before(struct history *h, uint64_t first, struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *any = NULL;
    char sql[512];
    int r = index_prepare(h, "SELECT min(idx) FROM runs", &any, e);
    if (r < 0 || first == 0)
        return r;
    bool some = sqlite3_step(any) == SQLITE_ROW && sqlite3_column_type(any, 0) != SQLITE_NULL &&
                (uint64_t)sqlite3_column_int64(any, 0) < first;
    index_finalize(&any);
    if (!some)
        return 0;
    /* A run stays for as long as its result does. */
    sqlite3_snprintf(sizeof(sql), sql,
                     "CREATE TEMP TABLE gone AS SELECT idx FROM runs"
                     " WHERE idx < %llu AND ifnull(result, idx) < %llu;"
                     "INSERT INTO run_text(run_text, rowid, command)"
                     " SELECT 'delete', idx, command FROM runs WHERE idx IN gone;"
                     "DELETE FROM paths WHERE idx IN gone;"
                     "DELETE FROM runs WHERE idx IN gone;"
                     "DELETE FROM later WHERE idx < %llu; DROP TABLE gone;",
                     (unsigned long long)first, (unsigned long long)first,
                     (unsigned long long)first);
    return index_execute(h, sql, e);
}

static int report_progress(struct history *h, uint64_t done, uint64_t all)
{
    return h->options.progress ? h->options.progress(h->options.user, done, all) : 0;
}

/* One transaction. Returns 1 while there is more. */
static int take_batch(struct history *h, struct index_writer *w, struct ledger_iterator *i,
                      struct mark *mark, uint64_t from, uint64_t size, struct err *e)
{
    struct ledger_record record;
    int r = 1;
    for (unsigned n = 0; n < BATCH && mark->next < size; n++) {
        r = ledger_iterator_next(i, &record, e);
        if (r <= 0)
            return r < 0 ? r : err_set(e, -EBADMSG, "the ledger ends before its end");
        r = index_write(w, &record, e);
        if (r < 0)
            return r;
        mark->next = record.index + 1;
        if (n == BATCH - 1 || mark->next == size)
            hash_record(record.bytes, record.len, mark->last);
        if (n % PROGRESS == PROGRESS - 1) {
            r = report_progress(h, mark->next - from, size - from);
            if (r < 0)
                return err_set(e, r, "interrupted");
        }
    }
    r = write_mark(h, mark, e);
    return r < 0 ? r : mark->next < size;
}

static int take_all(struct history *h, struct mark *mark, uint64_t size, struct err *e)
{
    struct index_writer *w = NULL;
    struct ledger_iterator *i = NULL;
    const uint64_t from = mark->next;
    int r = index_writer_new(h, &w, e);
    if (r == 0)
        r = ledger_iterate(h->ledger, mark->next, &i, e);
    for (bool more = r == 0; more;) {
        r = index_execute(h, "BEGIN IMMEDIATE", e);
        if (r == 0)
            r = take_batch(h, w, i, mark, from, size, e);
        more = r > 0;
        if (r >= 0)
            r = index_execute(h, "COMMIT", e);
        if (r < 0 && !sqlite3_get_autocommit(h->db))
            sqlite3_exec(h->db, "ROLLBACK", NULL, NULL, NULL);
        more &= r == 0;
    }
    if (i)
        ledger_iterator_free(i);
    index_writer_free(w);
    return r;
}

/* What the ledger is now. */
struct now {
    char key[sizeof(((struct mark *)0)->key)];
    uint64_t first, size;
    unsigned char head[SHA256_BYTES];
};

static int look(struct history *h, struct now *ret, struct err *e)
{
    struct buf text;
    buf_init(&text, &allocator_libc, 1 << 16);
    int r = ledger_key(h->ledger, &text);
    if (r < 0)
        err_errno(e, r, "cannot read the ledger's key");
    else if (text.len >= sizeof(ret->key))
        r = err_set(e, -EBADMSG, "the ledger's key is too long");
    else
        memcpy(ret->key, text.data, text.len + 1);
    buf_clear(&text);
    /* The checkpoint first: what the size says more is taken in once more. */
    if (r == 0)
        r = ledger_checkpoint(h->ledger, &text, e);
    if (r == 0) {
        hash_record(text.data, text.len, ret->head);
        r = ledger_size(h->ledger, &ret->size, e);
    }
    if (r == 0)
        r = ledger_first(h->ledger, &ret->first, e);
    buf_release(&text);
    return r;
}

int index_update(struct history *h, struct err *e)
{
    struct mark mark = {0};
    struct now now = {0};
    int r = look(h, &now, e);
    if (r == 0)
        r = read_mark(h, &mark, e);
    if (r < 0)
        return r;
    /* Under the same signature stands the same: then nothing of it needs to be read. */
    bool same = mark.known && strcmp(mark.key, now.key) == 0 && mark.next == now.size &&
                memcmp(mark.head, now.head, SHA256_BYTES) == 0;
    if (!same && mark.known)
        r = check_fit(h, &mark, now.key, now.first, now.size, e);
    if (!mark.known)
        memcpy(mark.key, now.key, sizeof(mark.key));
    if (r == 0 && now.first)
        r = drop_before(h, now.first, e);
    if (r < 0 || same)
        return r;
    if (mark.next < now.first)
        mark.next = now.first;
    memcpy(mark.head, now.head, sizeof(mark.head));
    return mark.next < now.size ? take_all(h, &mark, now.size, e) : write_mark(h, &mark, e);
}
