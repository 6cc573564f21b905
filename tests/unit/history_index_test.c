/* The index: what it answers, and that it always fits its ledger. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "history/history.h"
#include "history/object.h"
#include "history/running.h"
#include "history/when.h"
#include "tap.h"

enum { RUNS = 300 };

static char top[64] = "/tmp/nacre-history.XXXXXX";
static char state[128], database[160];
static struct err e;

static void remove_all(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", top);
    /* NOLINTNEXTLINE(cert-env33-c): a name of our own */
    if (system(command) != 0)
        abort();
}

static struct ledger *open_ledger(uint64_t segment_bytes)
{
    char dir[160];
    struct ledger *l;
    const struct ledger_options options = {
        .flags = LEDGER_CREATE, .origin = "test", .segment_bytes = segment_bytes};
    snprintf(dir, sizeof(dir), "%s/ledger", state);
    if (ledger_open(dir, &options, &l, &e) < 0) {
        printf("# %s\n", e.message);
        abort();
    }
    return l;
}

static uint64_t append(struct ledger *l, const struct entry *entry)
{
    struct buf text;
    struct ledger_place place;
    buf_init(&text, &allocator_libc, ENTRY_BYTES_MAX);
    if (entry_write(entry, &text, &e) < 0 ||
        ledger_append_later(l, text.data, text.len, &place, &e) < 0)
        abort();
    buf_release(&text);
    return place.index;
}

static void start_state(const char *name)
{
    snprintf(state, sizeof(state), "%s/%s", top, name);
    snprintf(database, sizeof(database), "%s/history.db", state);
    if (mkdir(state, 0700) < 0)
        abort();
}

/* Run `n`: an intent and a result, a minute apart each. */
static void append_run(struct ledger *l, unsigned n)
{
    char id[40], time[32], command[64], path[64];
    snprintf(id, sizeof(id), "%08x-0000-4000-8000-%012u", n * 2654435761U, n);
    snprintf(time, sizeof(time), "2026-01-%02uT%02u:%02u:00.000Z", 1 + n / 1440, n / 60 % 24,
             n % 60);
    snprintf(command, sizeof(command), "tool%u --name '*[%u]?' \xC3\xA9t\xC3\xA9", n % 7, n);
    snprintf(path, sizeof(path), "src/%u/file.c", n % 10);
    const struct entry_change change = {.kind = ENTRY_CREATED, .path = path};
    struct entry entry = {.kind = ENTRY_INTENT,
                          .id = id,
                          .time = time,
                          .agent = n % 3 ? "coder" : "writer",
                          .job = n % 50 == 0 ? "job_1" : NULL,
                          .workspace = "/ws",
                          .command = {.bytes = command, .len = strlen(command)}};
    entry.intent = append(l, &entry);
    entry.kind = ENTRY_RESULT;
    entry.has_intent = true;
    entry.status = n % 4 ? "ok" : "failed";
    entry.verdict = "allow";
    entry.has_exit_code = true;
    entry.exit_code = n % 4 == 0;
    entry.duration_ms = n;
    entry.output.known = true;
    entry.changes = (struct entry_changes){
        .known = true, .counts = {1, 0, 0, 0, 0}, .items = &change, .count = 1};
    append(l, &entry);
}

static void fill(struct ledger *l, unsigned from, unsigned to)
{
    uint64_t last = 0;
    for (unsigned n = from; n < to; n++)
        append_run(l, n);
    if (ledger_append(l, "no entry", 8, NULL, &e) < 0 || ledger_size(l, &last, &e) < 0)
        abort();
}

/* --- asking ---------------------------------------------------------------------------------- */

struct seen {
    unsigned count;
    uint64_t first, last;
    bool descends, ascends;
    char status[32], command[64];
};

static int see(void *user, const struct history_row *row)
{
    struct seen *s = user;
    if (s->count == 0) {
        s->first = row->index;
        s->descends = s->ascends = true;
    } else {
        s->descends &= row->index < s->last;
        s->ascends &= row->index > s->last;
    }
    s->last = row->index;
    s->count++;
    snprintf(s->status, sizeof(s->status), "%s", row->status);
    snprintf(s->command, sizeof(s->command), "%.*s", (int)row->command_len, row->command);
    return 0;
}

static struct seen list(struct history *h, struct history_filter filter)
{
    struct seen seen = {0};
    if (history_list(h, &filter, see, &seen, &e) < 0)
        printf("# %s\n", e.message);
    return seen;
}

static unsigned count(struct history *h, struct history_filter filter)
{
    return list(h, filter).count;
}

static struct history *open_history(void)
{
    struct history *h = NULL;
    int r = history_open(state, NULL, &h, &e);
    if (r < 0) {
        printf("# %s\n", e.message);
        abort();
    }
    return h;
}

#define FILTER(...) ((struct history_filter){__VA_ARGS__})

static void test_filters(struct history *h)
{
    int64_t at = 0;
    struct seen seen = list(h, FILTER(0));
    tap_check(seen.count == RUNS && seen.descends && seen.first == 2UL * (RUNS - 1),
              "all of them, newest first");
    seen = list(h, FILTER(.limit = 10));
    tap_check(seen.count == 10 && seen.first == 2UL * (RUNS - 1), "a limit");
    seen = list(h, FILTER(.limit = 10, .before = seen.last));
    tap_check(seen.count == 10 && seen.first == 2UL * (RUNS - 11), "and those before");
    seen = list(h, FILTER(.oldest_first = true, .from = 100));
    tap_check(seen.ascends && seen.first == 100 && seen.count == RUNS - 50, "oldest first");
    tap_number(count(h, FILTER(.agent = "writer")), 100, "by agent");
    tap_number(count(h, FILTER(.agent = "nobody")), 0, "by an agent that is not there");
    tap_number(count(h, FILTER(.job = "job_1")), 6, "by job");
    tap_number(count(h, FILTER(.status = "failed")), 75, "by status");
    tap_number(count(h, FILTER(.status = "failed", .agent = "writer")), 25, "by both");
    tap_number(count(h, FILTER(.verdict = "allow")), RUNS, "by verdict");
    tap_number(count(h, FILTER(.text = "tool3 ")), 43, "by text");
    tap_number(count(h, FILTER(.text = "'*[77]?'")), 1, "by text with signs of patterns");
    tap_number(count(h, FILTER(.text = "TOOL3")), 0, "by text: case counts");
    tap_number(count(h, FILTER(.text = "\xC3\xA9t\xC3\xA9", .limit = 5)), 5,
               "by text that is not ASCII");
    tap_number(count(h, FILTER(.text = "3 ")), 43, "by text that is short");
    tap_number(count(h, FILTER(.text = "tool3", .status = "failed")), 10, "by text and status");
    tap_number(count(h, FILTER(.path = "src/3/file.c")), 30, "by path");
    tap_number(count(h, FILTER(.path = "src/3")), 0, "by path: the whole of it");
    tap_number(count(h, FILTER(.path = "src/3/")), 30, "by directory");
    tap_number(count(h, FILTER(.path = "src/")), RUNS, "by directory above");
    tap_number(count(h, FILTER(.path = "/ws/src/3/")), 30, "by path from the root on");
    tap_number(count(h, FILTER(.path = "/other/src/3/")), 0, "by path in another workspace");
    when_parse_rfc3339("2026-01-01T02:00:00Z", &at);
    seen = list(h, FILTER(.since_ms = at));
    tap_check(seen.count == RUNS - 120 && seen.descends, "since");
    tap_number(count(h, FILTER(.until_ms = at)), 121, "until");
    tap_number(count(h, FILTER(.since_ms = at, .until_ms = at)), 1, "since and until");
    tap_number(count(h, FILTER(.since_ms = at, .text = "tool3")), 26, "since, with a text");
    seen = list(h, FILTER(.since_ms = at, .agent = "writer", .status = "failed", .limit = 4));
    tap_check(seen.count == 4 && seen.descends && seen.first == 576, "since, agent and status");
    tap_number(count(h, FILTER(.job = "job_1", .text = "tool0")), 1, "by job and text");
    char longer[70000];
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    struct seen none = {0};
    tap_number(history_list(h, &FILTER(.text = longer), see, &none, &e), -E2BIG, "too long a text");
    for (size_t i = 0; i < 4000; i += 2)
        memcpy(longer + i, "/a", 2);
    longer[4000] = '\0';
    tap_number(history_list(h, &FILTER(.path = longer), see, &none, &e), -E2BIG, "too deep a path");
}

static void test_find(struct history *h)
{
    uint64_t index = 0;
    struct arena arena;
    struct history_run run;
    tap_check(history_find(h, "00000000-0000-4000-8000-000000000000", &index, &e) == 0 &&
                  index == 0,
              "find: an id");
    tap_check(history_find(h, "9e3779b1", &index, &e) == 0 && index == 2, "find: the start of one");
    tap_check(history_find(h, "9", &index, &e) == 0 && index == 8,
              "find: an index, here of a result");
    tap_number(history_find(h, "a", &index, &e), -ENOTUNIQ, "find: several");
    tap_number(history_find(h, "zz", &index, &e), -ENOENT, "find: none");
    tap_number(history_find(h, "", &index, &e), -ENOENT, "find: nothing");
    tap_number(history_find(h, "99999", &index, &e), -ENOENT, "find: no such entry");
    tap_number(history_find(h, "%", &index, &e), -ENOENT, "find: no pattern");
    arena_init(&arena, &allocator_libc, 1 << 24);
    tap_check(history_read(h, &arena, 8, &run, &e) == 0 && run.has_intent && run.has_result &&
                  run.intent.index == 8 && run.result.index == 9 &&
                  strcmp(run.status, "failed") == 0 && run.main->entry.duration_ms == 4,
              "read: intent and result");
    tap_number(history_read(h, &arena, 9, &run, &e), -ENOENT, "read: no run has this place");
    arena_release(&arena);
}

static void test_figures(struct history *h)
{
    struct arena arena;
    struct history_figures f;
    int64_t at;
    arena_init(&arena, &allocator_libc, 1 << 24);
    tap_number(history_sum(h, &arena, 0, &f, &e), 0, "figures");
    tap_check(f.runs == RUNS && f.entries == 2 * RUNS + 1 && f.timed == RUNS && f.changes == RUNS,
              "figures: runs and entries");
    tap_check(f.duration_ms[0] == 149 && f.duration_ms[1] == 269 && f.duration_ms[2] == 296 &&
                  f.duration_max_ms == 299 && f.duration_sum_ms == 299 * 300 / 2,
              "figures: durations");
    tap_check(f.by[HISTORY_BY_STATUS].count == 2 &&
                  strcmp(f.by[HISTORY_BY_STATUS].items[0].name, "ok") == 0 &&
                  f.by[HISTORY_BY_STATUS].items[0].count == 225 &&
                  f.by[HISTORY_BY_AGENT].items[0].count == 200,
              "figures: most first");
    when_parse_rfc3339("2026-01-01T02:00:00Z", &at);
    tap_check(history_sum(h, &arena, at, &f, &e) == 0 && f.runs == RUNS - 120 &&
                  f.duration_ms[0] == 209,
              "figures: since");
    arena_release(&arena);
}

/* --- unfinished runs, and what comes later ------------------------------------------------------
 */

static void test_unfinished(struct ledger *l, struct history *h)
{
    static const char id[] = "ffffffff-0000-4000-8000-000000000000";
    struct entry entry = {.kind = ENTRY_INTENT,
                          .id = id,
                          .time = "2026-02-01T00:00:00.000Z",
                          .command = {.bytes = "sleep\0 9\xFF", .len = 9}};
    uint64_t intent = append(l, &entry);
    int fd = -1;
    if (ledger_sync(l, intent, &e) < 0)
        abort();
    tap_number(history_update(h, &e), 0, "unfinished: taken in");
    struct seen seen = list(h, FILTER(.limit = 1));
    tap_text(seen.status, "cut off", "unfinished: nobody runs it");
    tap_text(seen.command, "sleep\xEF\xBF\xBD 9\xEF\xBF\xBD", "unfinished: bytes that are no text");
    tap_number(running_begin(state, intent, &fd, &e), 0, "unfinished: somebody does");
    tap_text(list(h, FILTER(.limit = 1)).status, "running", "unfinished: running");
    tap_number(count(h, FILTER(.status = "running")), 1, "unfinished: by status running");
    tap_number(count(h, FILTER(.status = "cut off")), 0, "unfinished: by status cut off");
    tap_check(!running_is(state, intent + 1), "unfinished: the others are not");
    pid_t child = fork();
    if (child == 0)
        _exit(running_is(state, intent) ? 0 : 1);
    int ended = 1;
    waitpid(child, &ended, 0);
    tap_number(ended, 0, "unfinished: another process sees it");
    fd_close(&fd);
    tap_check(!running_is(state, intent), "unfinished: its end is seen");

    entry.kind = ENTRY_RESULT;
    entry.has_intent = true;
    entry.intent = intent;
    entry.status = "killed";
    uint64_t result = append(l, &entry);
    entry.kind = ENTRY_UNDO;
    entry.has_intent = false;
    uint64_t undo = append(l, &entry);
    /* Of another run, that says it belongs to this intent. */
    entry.kind = ENTRY_RESULT;
    entry.has_intent = true;
    entry.status = "ok";
    entry.id = "eeeeeeee-0000-4000-8000-000000000000";
    uint64_t foreign = append(l, &entry);
    if (ledger_sync(l, foreign, &e) < 0)
        abort();
    struct arena arena;
    struct history_run run = {0};
    uint64_t index = 0;
    arena_init(&arena, &allocator_libc, 1 << 24);
    tap_check(history_update(h, &e) == 0 && history_find(h, id, &index, &e) == 0 &&
                  index == intent && history_read(h, &arena, index, &run, &e) == 0 &&
                  run.result.index == result && strcmp(run.status, "killed") == 0,
              "later: its result");
    tap_check(run.later_count == 1 && run.later[0].index == undo &&
                  run.later[0].entry.kind == ENTRY_UNDO,
              "later: its undo");
    tap_check(history_find(h, "eeee", &index, &e) == 0 && index == foreign,
              "later: a result of another run is a run of its own");
    seen = list(h, FILTER(.since_result = result, .oldest_first = true));
    tap_check(seen.count == 2 && seen.first == intent && seen.last == foreign,
              "later: what ended since");
    arena_release(&arena);
}

/* --- that it fits -------------------------------------------------------------------------------
 */

static void check_rebuilt(const char *name, unsigned runs)
{
    struct history *h = open_history();
    tap_check(count(h, FILTER(0)) == runs && count(h, FILTER(.text = "tool3 ")) == 43, "%s", name);
    history_close(h);
}

static void run_sql(const char *sql)
{
    sqlite3 *db;
    if (sqlite3_open(database, &db) != SQLITE_OK ||
        sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        abort();
    sqlite3_close(db);
}

static void overwrite(const char *bytes, size_t len, off_t at, bool cut)
{
    FD_CLEANUP int fd = open(database, O_WRONLY | O_CLOEXEC | (cut ? O_TRUNC : 0));
    if (fd < 0 || pwrite(fd, bytes, len, at) != (ssize_t)len)
        abort();
}

static void test_fit(unsigned runs)
{
    struct stat st;
    char zeros[8192] = {0};
    tap_check(stat(database, &st) == 0 && (st.st_mode & 0777) == 0600, "fit: for the owner alone");
    run_sql("DELETE FROM runs WHERE idx = 0");
    check_rebuilt("fit: while it does, it is left as it is", runs - 1);
    unlink(database);
    check_rebuilt("fit: removed", runs);
    run_sql("DELETE FROM runs; PRAGMA user_version = 99");
    check_rebuilt("fit: of another version", runs);
    run_sql("DELETE FROM runs; UPDATE about SET value = 'other' WHERE name = 'key'");
    check_rebuilt("fit: of another ledger", runs);
    run_sql("DELETE FROM runs; UPDATE about SET value = 999999 WHERE name = 'next'");
    check_rebuilt("fit: longer than the ledger", runs);
    run_sql("DELETE FROM runs; UPDATE about SET value = zeroblob(32)"
            " WHERE name IN ('last', 'head')");
    check_rebuilt("fit: another last entry", runs);
    run_sql("DROP TABLE runs");
    check_rebuilt("fit: a table is gone", runs);
    overwrite("not a database", 14, 0, true);
    check_rebuilt("fit: no database", runs);
    overwrite("", 0, 0, true);
    check_rebuilt("fit: empty", runs);
    overwrite(zeros, sizeof(zeros), 4096, false);
    check_rebuilt("fit: damaged inside", runs);
    unlink(database);
    if (symlink("/etc/passwd", database) < 0)
        abort();
    check_rebuilt("fit: a link in its place", runs);
    tap_check(lstat(database, &st) == 0 && S_ISREG(st.st_mode), "fit: and the link is gone");
}

/* Records that the ledger has dropped are no part of the history. */
static void test_dropped(void)
{
    uint64_t first = 0;
    start_state("dropped");
    struct ledger *l = open_ledger(20000);
    for (unsigned n = 0; n < RUNS; n += 50)
        fill(l, n, n + 50);
    struct history *h = open_history();
    tap_number(count(h, FILTER(0)), RUNS, "dropped: all at first");
    tap_check(ledger_retain(l, 60000, 0, &first, &e) == 0 && first > 0, "dropped: from %llu on",
              (unsigned long long)first);
    history_close(h);
    h = open_history();
    struct seen seen = list(h, FILTER(.oldest_first = true));
    tap_check(seen.count > 0 && seen.count < RUNS && seen.first + 1 >= first,
              "dropped: %u are left", seen.count);
    tap_number(count(h, FILTER(.text = "tool")), seen.count, "dropped: from the texts too");
    struct arena arena;
    struct history_run run;
    arena_init(&arena, &allocator_libc, 1 << 24);
    tap_number(history_read(h, &arena, seen.first, &run, &e), 0, "dropped: the first can be read");
    arena_release(&arena);
    history_close(h);
    unlink(database);
    h = open_history();
    tap_check(count(h, FILTER(0)) == seen.count, "dropped: made anew, it is the same");
    history_close(h);
    ledger_close(l);
}

/* A list of changes that is too long for its entry is found by its object. */
static void test_long_list(void)
{
    enum { MANY = 3000 };
    static char names[MANY][32];
    static struct entry_change items[MANY];
    char objects[160], name[SHA256_HEX + 1];
    struct buf text;
    start_state("long");
    struct ledger *l = open_ledger(0);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "dir/of/many/files/%zu", i);
        items[i] = (struct entry_change){.kind = ENTRY_CREATED, .path = names[i]};
    }
    struct entry entry = {
        .kind = ENTRY_RESULT,
        .id = "aaaa",
        .changes = {.known = true, .counts = {MANY, 0, 0, 0, 0}, .items = items, .count = MANY}};
    snprintf(objects, sizeof(objects), "%s/objects", state);
    buf_init(&text, &allocator_libc, 1 << 20);
    if (entry_write_changes(&entry.changes, &text, &e) < 0 ||
        object_put(objects, text.data, text.len, name, &e) < 0)
        abort();
    buf_release(&text);
    uint64_t last = append(l, &entry);
    if (ledger_sync(l, last, &e) < 0)
        abort();
    struct history *h = open_history();
    tap_number(count(h, FILTER(.path = "dir/of/many/files/2999")), 1, "a path past the list's cut");
    history_close(h);
    ledger_close(l);
}

static void test_when(void)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-01-02T03:04:05.678Z", 1767323045678},
        {"2026-01-02T04:04:05.678+01:00", 1767323045678},
        {"2026-01-01t22:04:05.6789-05:00", 1767323045678},
        {"2024-02-29", 1709164800000},
        {"2026-02-29", -1},
        {"2026-13-01", -1},
        {"2026-01-02T03:04:05", -1},
        {"2026-01-02T25:04:05Z", -1},
        {"2026-01-02T03:04:05Zx", -1},
        {"2h", 1000000000000 - 7200000},
        {"3d", 1000000000000 - 3 * 86400000LL},
        {"1w", 1000000000000 - 7 * 86400000LL},
        {"1.5h", 1000000000000 - 5400000},
        {"90s", 1000000000000 - 90000},
        {"12", -1},
        {"d", -1},
        {"", -1},
        {"-1h", -1},
        {"yesterday", -1},
        {"99999999999999999999d", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ms = -1;
        if (when_parse(cases[i].text, 1000000000000, &ms) < 0)
            ms = -1;
        tap_number(ms, cases[i].ms, cases[i].text[0] ? cases[i].text : "no time at all");
    }
}

int main(void)
{
    struct history *h = NULL;
    if (!mkdtemp(top))
        return 1;
    test_when();
    start_state("main");
    tap_number(history_open(state, NULL, &h, &e), -ENOENT, "nothing recorded yet");
    struct ledger *l = open_ledger(0);
    fill(l, 0, RUNS);
    h = open_history();
    test_filters(h);
    test_find(h);
    test_figures(h);
    test_unfinished(l, h);
    history_close(h);
    test_fit(RUNS + 2);
    ledger_close(l);
    test_dropped();
    test_long_list();
    remove_all();
    return tap_done();
}
