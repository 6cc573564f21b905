/*
 * What is kept to be undone has a bound: by age, by number, by size. The oldest goes first, by
 * whole transactions; what is held waits for somebody, and is never dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/beneath.h"
#include "changes/transaction.h"

#define BYTES_MAX (UINT64_C(5) << 30)
enum { COUNT_MAX = 2000, AGE_MAX_S = 30 * 24 * 3600, WARNED_SHARE = 80 };

/* Removes one transaction, wherever its layers are. False: it is to stay. */
static bool drop(const struct store *s, struct arena *arena, const struct store_entry *entry)
{
    const char *path = arena_format(arena, "%s/runs/%s", s->path, entry->id);
    FD_CLEANUP int dir = path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (dir < 0)
        return path && errno == ENOENT;
    struct transaction t = {.arena = arena, .store = *s, .path = path, .dir = dir};
    int r = transaction_read(&t, NULL);
    if (r == 0 && t.journal.state != JOURNAL_APPLIED && t.journal.state != JOURNAL_UNDONE)
        return false;
    return (r == 0 || r == -ENOENT) && transaction_forget(&t, NULL) == 0;
}

/* The log without those that are gone. */
static int rewrite_log(const struct store *s, const struct store_log *log, const bool *gone)
{
    if (unlinkat(s->dir, "log.new", 0) < 0 && errno != ENOENT)
        return -errno;
    FD_CLEANUP int fd =
        openat(s->dir, "log.new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : 0;
    for (size_t i = 0; r == 0 && i < log->count; i++) {
        if (!gone[i])
            r = store_write_entry(fd, &log->items[i]);
    }
    if (r == 0 && renameat(s->dir, "log.new", s->dir, "log") < 0)
        r = -errno;
    return r;
}

int store_prune(const struct store *s, struct arena *arena, struct store_use *ret, struct err *e)
{
    struct store_log log;
    int r = store_read_log(s, arena, &log, e);
    bool *gone = r < 0 ? NULL : arena_alloc_array(arena, log.count + 1, sizeof(*gone));
    if (!gone)
        return r < 0 ? r : err_set(e, -ENOMEM, "out of memory");
    uint64_t bytes = 0, count = log.count;
    for (size_t i = 0; i < log.count; i++)
        bytes += log.items[i].bytes;
    /* What nobody needs goes before anything that somebody may want back: a command that was killed
     * while it wrote may have left much of it. */
    if (bytes + store_aside_bytes(s) > BYTES_MAX)
        store_tidy(s);
    int64_t now = (int64_t)time(NULL);
    size_t dropped = 0;
    /* The newest stays, however large it is. */
    for (size_t i = 0; i + 1 < log.count; i++) {
        bool old = now - log.items[i].time_s > AGE_MAX_S;
        if (!old && bytes <= BYTES_MAX && count <= COUNT_MAX)
            break;
        if (!drop(s, arena, &log.items[i]))
            continue;
        gone[i] = true;
        dropped++;
        count--;
        bytes -= log.items[i].bytes;
    }
    if (dropped)
        r = rewrite_log(s, &log, gone);
    const uint64_t share = bytes * 100 / BYTES_MAX, filled = count * 100 / COUNT_MAX;
    *ret = (struct store_use){.bytes = bytes, .count = count, .dropped = dropped};
    ret->nearly_full = share >= WARNED_SHARE || filled >= WARNED_SHARE;
    for (size_t i = 0; i < log.count && !ret->next[0]; i++) {
        if (!gone[i])
            memcpy(ret->next, log.items[i].id, sizeof(ret->next));
    }
    return r < 0 ? err_errno(e, r, "cannot rewrite '%s/log'", s->path) : 0;
}
