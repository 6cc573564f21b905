/* One run with everything that is known of it, from the ledger; see history.h. */
#include <errno.h>
#include <string.h>

#include "history/internal.h"
#include "history/object.h"
#include "history/running.h"

enum { LATER_MAX = 10000 };

/* The record at `index` must be an entry; what the index says of it is not believed. */
static int read_entry(struct history *h, struct arena *arena, uint64_t index,
                      struct history_entry *ret, struct err *e)
{
    struct buf record;
    struct sha256 hash;
    unsigned char digest[SHA256_BYTES];
    buf_init(&record, &allocator_libc, LEDGER_RECORD_MAX);
    int r = ledger_read(h->ledger, index, &record, e);
    if (r == 0) {
        *ret = (struct history_entry){.index = index, .record_len = record.len};
        ret->record = arena_copy(arena, record.data, record.len);
        r = ret->record ? entry_read(arena, record.data, record.len, &ret->entry, e)
                        : err_set(e, -ENOMEM, "out of memory");
        sha256_start(&hash);
        sha256_add(&hash, "\0", 1);
        sha256_add(&hash, record.data, record.len);
        sha256_end(&hash, digest);
        sha256_hex(digest, ret->hash);
    }
    buf_release(&record);
    return r < 0 ? err_context(e, r, "entry %llu", (unsigned long long)index) : 0;
}

static int find_result(struct history *h, uint64_t index, bool *ret_known, uint64_t *ret,
                       struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    int r = index_prepare(h, "SELECT result FROM runs WHERE idx = ?1", &s, e);
    if (r < 0)
        return r;
    sqlite3_bind_int64(s, 1, (sqlite3_int64)index);
    if (sqlite3_step(s) != SQLITE_ROW)
        return err_set(e, -ENOENT, "there is no run at entry %llu", (unsigned long long)index);
    *ret_known = sqlite3_column_type(s, 0) != SQLITE_NULL;
    *ret = (uint64_t)sqlite3_column_int64(s, 0);
    return 0;
}

static int read_later(struct history *h, struct arena *arena, struct history_run *run,
                      struct err *e)
{
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    size_t count = 0, room = 0;
    struct history_entry *items = NULL;
    if (!run->main->entry.id)
        return 0;
    int step, r = index_prepare(h, "SELECT idx FROM later WHERE id = ?1 ORDER BY idx", &s, e);
    if (r < 0)
        return r;
    sqlite3_bind_text(s, 1, run->main->entry.id, -1, SQLITE_STATIC);
    while ((step = sqlite3_step(s)) == SQLITE_ROW && count < LATER_MAX) {
        if (count == room) {
            room = room ? room * 2 : 8;
            struct history_entry *more = arena_alloc_array(arena, room, sizeof(*more));
            if (!more)
                return err_set(e, -ENOMEM, "out of memory");
            if (count)
                memcpy(more, items, count * sizeof(*more));
            items = more;
        }
        r = read_entry(h, arena, (uint64_t)sqlite3_column_int64(s, 0), &items[count++], e);
        if (r < 0)
            return r;
    }
    run->later = items;
    run->later_count = count;
    return step == SQLITE_ROW || step == SQLITE_DONE ? 0
                                                     : index_fail(h, "cannot read the index", e);
}

/* In the entry or in an object. That they are gone is no failure: the rest can be shown. */
static int read_frames(struct history *h, struct arena *arena, struct history_run *run,
                       struct err *e)
{
    const struct entry_output *output = &run->main->entry.output;
    if (output->frames.bytes) {
        run->frames = output->frames.bytes;
        run->frames_len = output->frames.len;
        if (output->frames.whole_len)
            run->frames_missing = "only the start of it was recorded";
        return 0;
    }
    if (!output->object[0])
        return 0;
    struct buf content;
    struct err why = {0};
    buf_init(&content, &allocator_libc, OBJECT_BYTES_MAX);
    int r = object_get(h->objects, output->object, &content, &why);
    if (r == 0) {
        run->frames = arena_copy(arena, content.data, content.len);
        run->frames_len = content.len;
    } else if (r != -ENOMEM) {
        run->frames_missing = arena_copy(arena, why.message, strlen(why.message));
    }
    buf_release(&content);
    return arena->failed || r == -ENOMEM ? err_set(e, -ENOMEM, "out of memory") : 0;
}

/* Likewise. */
static int read_script(struct history *h, struct arena *arena, struct history_run *run,
                       struct err *e)
{
    const struct entry_script *script = &run->main->entry.script;
    struct buf content;
    struct err why = {0};
    if (!script->language || !script->object[0])
        return 0;
    buf_init(&content, &allocator_libc, OBJECT_BYTES_MAX);
    int r = object_get(h->objects, script->object, &content, &why);
    if (r == 0) {
        run->script = arena_copy(arena, content.data ? content.data : "", content.len);
        run->script_len = content.len;
    } else if (r != -ENOMEM) {
        run->script_missing = arena_copy(arena, why.message, strlen(why.message));
    }
    buf_release(&content);
    return arena->failed || r == -ENOMEM ? err_set(e, -ENOMEM, "out of memory") : 0;
}

int history_read(struct history *h, struct arena *arena, uint64_t index, struct history_run *ret,
                 struct err *e)
{
    uint64_t first = 0, result = 0;
    *ret = (struct history_run){.index = index};
    int r = find_result(h, index, &ret->has_result, &result, e);
    if (r == 0)
        r = ledger_first(h->ledger, &first, e);
    if (r == 0 && ret->has_result)
        r = read_entry(h, arena, result, &ret->result, e);
    ret->has_intent = !ret->has_result || result != index;
    /* The intent may have been dropped already. */
    ret->has_intent &= index >= first || !ret->has_result;
    if (r == 0 && ret->has_intent)
        r = read_entry(h, arena, index, &ret->intent, e);
    if (r < 0)
        return r;
    ret->main = ret->has_result ? &ret->result : &ret->intent;
    ret->status = !ret->has_result ? running_is(h->state, index) ? HISTORY_RUNNING : HISTORY_CUT_OFF
                  : ret->main->entry.status ? ret->main->entry.status
                                            : "?";
    r = read_later(h, arena, ret, e);
    if (r == 0)
        r = read_script(h, arena, ret, e);
    return r < 0 ? r : read_frames(h, arena, ret, e);
}

int history_questions(struct history *h,
                      int (*entry)(void *user, const struct history_entry *entry), void *user,
                      struct err *e)
{
    enum { ENTRY_ARENA_MAX = 64 << 20 };
    STATEMENT_CLEANUP sqlite3_stmt *s = NULL;
    int step, r = index_prepare(h,
                                "SELECT idx FROM later WHERE kind IN ('question', 'answer', 'used',"
                                " 'expired') ORDER BY idx",
                                &s, e);
    while (r == 0 && (step = sqlite3_step(s)) != SQLITE_DONE) {
        struct history_entry found;
        struct arena arena;
        if (step != SQLITE_ROW)
            return index_fail(h, "cannot read the index", e);
        arena_init(&arena, &allocator_libc, ENTRY_ARENA_MAX);
        r = read_entry(h, &arena, (uint64_t)sqlite3_column_int64(s, 0), &found, e);
        if (r == 0)
            r = entry(user, &found);
        arena_release(&arena);
    }
    return r;
}
