/* One record into the index; see internal.h. */
#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "history/internal.h"
#include "history/object.h"
#include "history/when.h"

enum { ARENA_MAX = 256 << 20, PATHS_MAX = 100000 };

struct index_writer {
    struct history *h;
    sqlite3_stmt *begin, *finish, *text, *path, *later;
    struct buf scratch;
};

int index_writer_new(struct history *h, struct index_writer **ret, struct err *e)
{
    struct index_writer *w = alloc_resize(&allocator_libc, NULL, sizeof(*w));
    if (!w)
        return err_set(e, -ENOMEM, "out of memory");
    *w = (struct index_writer){.h = h};
    buf_init(&w->scratch, &allocator_libc, OBJECT_BYTES_MAX);
    int r = index_prepare(h,
                          "INSERT OR REPLACE INTO runs VALUES"
                          "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                          &w->begin, e);
    if (r == 0)
        r = index_prepare(h,
                          "UPDATE runs SET result = ?2, status = ?7, verdict = ?8, rule = ?9,"
                          " lim = ?10, exit_code = ?12, duration = ?13, changes = ?14"
                          " WHERE idx = ?1 AND id = ?3 AND result IS NULL",
                          &w->finish, e);
    if (r == 0)
        r = index_prepare(h, "INSERT INTO run_text(rowid, command) VALUES(?1, ?2)", &w->text, e);
    if (r == 0)
        r = index_prepare(h, "INSERT OR IGNORE INTO paths VALUES(?1, ?2)", &w->path, e);
    if (r == 0)
        r = index_prepare(h, "INSERT OR REPLACE INTO later VALUES(?1, ?2, ?3)", &w->later, e);
    if (r < 0)
        index_writer_free(w);
    else
        *ret = w;
    return r;
}

void index_writer_free(struct index_writer *w)
{
    if (!w)
        return;
    index_finalize(&w->begin);
    index_finalize(&w->finish);
    index_finalize(&w->text);
    index_finalize(&w->path);
    index_finalize(&w->later);
    buf_release(&w->scratch);
    alloc_free(&allocator_libc, w);
}

static int run(struct index_writer *w, sqlite3_stmt *s, struct err *e)
{
    int step = sqlite3_step(s);
    int r = step == SQLITE_DONE ? 0 : index_fail(w->h, "cannot write the index", e);
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return r;
}

static void bind_text(sqlite3_stmt *s, int column, const char *text)
{
    if (text && text[0])
        sqlite3_bind_text(s, column, text, -1, SQLITE_STATIC);
}

/* Whether the bytes can be searched as text: UTF-8 without NUL. */
static bool is_text(const struct entry_text *text)
{
    return utf8_valid(text->bytes, text->len) && !memchr(text->bytes, '\0', text->len);
}

/* Bytes that are none become U+FFFD. */
static void make_text(const struct entry_text *text, struct buf *out)
{
    buf_clear(out);
    for (size_t at = 0; at < text->len;) {
        uint32_t c = 0;
        size_t n = utf8_decode(text->bytes + at, text->len - at, &c, NULL);
        if (n && c)
            buf_append(out, text->bytes + at, n);
        else
            buf_append_text(out, "\xEF\xBF\xBD");
        at += n ? n : 1;
    }
}

static uint64_t count_changes(const struct entry_changes *changes)
{
    uint64_t all = 0;
    for (size_t i = 0; i < ENTRY_CHANGE_KINDS; i++)
        all += changes->counts[i] < INT64_MAX / 8 ? changes->counts[i] : INT64_MAX / 8;
    return all;
}

static void bind_run(sqlite3_stmt *s, uint64_t place, uint64_t index, const struct entry *entry)
{
    sqlite3_bind_int64(s, 1, (sqlite3_int64)place);
    if (entry->kind == ENTRY_RESULT)
        sqlite3_bind_int64(s, 2, (sqlite3_int64)index);
    bind_text(s, 3, entry->id ? entry->id : "-");
    bind_text(s, 7, entry->kind != ENTRY_RESULT ? "-" : entry->status ? entry->status : "?");
    bind_text(s, 8, entry->verdict);
    bind_text(s, 9, entry->rule);
    bind_text(s, 10, entry->limit);
    if (entry->has_exit_code)
        sqlite3_bind_int(s, 12, entry->exit_code);
    if (entry->output.known)
        sqlite3_bind_int64(s, 13, (sqlite3_int64)entry->duration_ms);
    sqlite3_bind_int64(s, 14, (sqlite3_int64)count_changes(&entry->changes));
}

/* The row of a run that has none yet. */
static int begin_run(struct index_writer *w, uint64_t index, const struct entry *entry,
                     struct err *e)
{
    sqlite3_stmt *s = w->begin;
    struct entry_text command = entry->command;
    int64_t time_ms = 0;
    when_parse_rfc3339(entry->time ? entry->time : "", &time_ms);
    bind_run(s, index, index, entry);
    sqlite3_bind_int64(s, 4, time_ms);
    bind_text(s, 5, entry->agent);
    bind_text(s, 6, entry->job);
    bind_text(s, 11, entry->workspace);
    if (command.bytes && !is_text(&command)) {
        make_text(&command, &w->scratch);
        if (w->scratch.failed)
            return err_set(e, -ENOMEM, "out of memory");
        command = (struct entry_text){.bytes = w->scratch.data, .len = w->scratch.len};
    }
    if (!command.bytes)
        command.bytes = "";
    sqlite3_bind_text(s, 15, command.bytes, (int)command.len, SQLITE_STATIC);
    int r = run(w, s, e);
    if (r < 0 || !command.len)
        return r;
    sqlite3_bind_int64(w->text, 1, (sqlite3_int64)index);
    sqlite3_bind_text(w->text, 2, command.bytes, (int)command.len, SQLITE_STATIC);
    return run(w, w->text, e);
}

static int add_path(struct index_writer *w, uint64_t place, const char *path, struct err *e)
{
    if (!path)
        return 0;
    sqlite3_bind_blob(w->path, 1, path, (int)strlen(path), SQLITE_STATIC);
    sqlite3_bind_int64(w->path, 2, (sqlite3_int64)place);
    return run(w, w->path, e);
}

/* All of them if the object with the whole list is kept, else those of the entry. */
static int add_paths(struct index_writer *w, struct arena *arena, uint64_t place,
                     const struct entry_changes *changes, struct err *e)
{
    struct entry_changes all = *changes;
    if (changes->hash[0] && object_get(w->h->objects, changes->hash, &w->scratch, NULL) == 0 &&
        entry_read_changes(arena, w->scratch.data, w->scratch.len, &all, NULL) < 0)
        all = *changes;
    int r = 0;
    for (size_t i = 0; r == 0 && i < all.count && i < PATHS_MAX; i++) {
        r = add_path(w, place, all.items[i].path, e);
        if (r == 0)
            r = add_path(w, place, all.items[i].to, e);
    }
    return r;
}

static int add_result(struct index_writer *w, struct arena *arena, uint64_t index,
                      const struct entry *entry, struct err *e)
{
    uint64_t place = index;
    int r;
    if (entry->has_intent && entry->intent < index) {
        bind_run(w->finish, entry->intent, index, entry);
        r = run(w, w->finish, e);
        if (r < 0)
            return r;
        if (sqlite3_changes(w->h->db) == 1)
            place = entry->intent;
    }
    r = place == index ? begin_run(w, index, entry, e) : 0;
    return r < 0 ? r : add_paths(w, arena, place, &entry->changes, e);
}

static int add_later(struct index_writer *w, uint64_t index, const struct entry *entry,
                     struct err *e)
{
    sqlite3_bind_int64(w->later, 1, (sqlite3_int64)index);
    bind_text(w->later, 2, entry->id);
    bind_text(w->later, 3, entry_kind_names[entry->kind]);
    return run(w, w->later, e);
}

int index_write(struct index_writer *w, const struct ledger_record *record, struct err *e)
{
    struct arena arena;
    struct entry entry;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    int r = entry_read(&arena, record->bytes, record->len, &entry, e);
    if (r == 0) {
        if (entry.kind == ENTRY_INTENT)
            r = begin_run(w, record->index, &entry, e);
        else if (entry.kind == ENTRY_RESULT)
            r = add_result(w, &arena, record->index, &entry, e);
        else
            r = add_later(w, record->index, &entry, e);
    } else if (r == -EBADMSG) {
        r = 0; /* of a later version, or of somebody else's */
    }
    arena_release(&arena);
    return r;
}
