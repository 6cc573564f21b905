/* Whether the objects are what the entries say; see history.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "history/history.h"
#include "history/object.h"

enum { ARENA_MAX = 256 << 20, PATH_BYTES = 4200, PROGRESS = 64 };

struct checker {
    char objects[PATH_BYTES];
    struct buf content;
    void (*bad)(void *user, uint64_t index, const char *name, const char *why);
    void *user;
    uint64_t checked, missing;
};

static int check_object(struct checker *c, uint64_t index, const char *name)
{
    struct err why = {0};
    if (!name || !name[0])
        return 0;
    int r = object_get(c->objects, name, &c->content, &why);
    c->checked += r == 0;
    c->missing += r == -ENOENT; /* dropped, as it may be: the entry has its hash */
    if (r == -ENOMEM)
        return r;
    if (r < 0 && r != -ENOENT)
        c->bad(c->user, index, name, why.message);
    return 0;
}

static int check_record(struct checker *c, const struct ledger_record *record)
{
    struct arena arena;
    struct entry entry;
    arena_init(&arena, &allocator_libc, ARENA_MAX);
    int r = entry_read(&arena, record->bytes, record->len, &entry, NULL);
    if (r == 0)
        r = check_object(c, record->index, entry.output.object);
    if (r == 0)
        r = check_object(c, record->index, entry.object);
    if (r == 0)
        r = check_object(c, record->index, entry.script.object);
    /* A list of changes need not be an object; if it is one, it must be whole. */
    if (r == 0 && entry.changes.hash[0]) {
        uint64_t missing = c->missing;
        r = check_object(c, record->index, entry.changes.hash);
        c->missing = missing;
    }
    arena_release(&arena);
    return r == -EBADMSG ? 0 : r;
}

static int check_all(struct checker *c, struct ledger *l,
                     int (*progress)(void *user, uint64_t done, uint64_t all), struct err *e)
{
    struct ledger_iterator *i = NULL;
    struct ledger_record record;
    uint64_t first = 0, size = 0;
    int r = ledger_first(l, &first, e);
    if (r == 0)
        r = ledger_size(l, &size, e);
    if (r == 0)
        r = ledger_iterate(l, first, &i, e);
    if (r < 0 || !i)
        return r;
    while ((r = ledger_iterator_next(i, &record, e)) > 0) {
        r = check_record(c, &record);
        if (r == 0 && progress && record.index % PROGRESS == 0)
            r = progress(c->user, record.index - first, size - first);
        if (r < 0) {
            err_errno(e, r, "entry %llu", (unsigned long long)record.index);
            break;
        }
    }
    ledger_iterator_free(i);
    return r;
}

int history_verify_objects(const char *state,
                           int (*progress)(void *user, uint64_t done, uint64_t all),
                           void (*bad)(void *user, uint64_t index, const char *name,
                                       const char *why),
                           void *user, uint64_t *ret_checked, uint64_t *ret_missing, struct err *e)
{
    const struct ledger_options read_only = {.flags = LEDGER_READ_ONLY};
    struct checker c = {.bad = bad, .user = user};
    char path[PATH_BYTES];
    struct ledger *l;
    if (strlen(state) > PATH_BYTES - 16)
        return err_set(e, -ENAMETOOLONG, "'%s' is too long", state);
    snprintf(path, sizeof(path), "%s/ledger", state);
    snprintf(c.objects, sizeof(c.objects), "%s/objects", state);
    int r = ledger_open(path, &read_only, &l, e);
    if (r < 0)
        return r;
    buf_init(&c.content, &allocator_libc, OBJECT_BYTES_MAX);
    r = check_all(&c, l, progress, e);
    buf_release(&c.content);
    ledger_close(l);
    if (r < 0)
        return r;
    *ret_checked = c.checked;
    *ret_missing = c.missing;
    return 0;
}
