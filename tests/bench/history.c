/*
 * history DIR COUNT: writes COUNT entries to a ledger in DIR, makes the index, and measures what
 * people ask of it, beside a bare SELECT of as many rows by key with the same library, and beside
 * reading as many records from the ledger's tail. Median of several rounds each.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "history/history.h"
#include "history/when.h"

enum { ROUNDS = 21, LISTED = 50 };

static struct err e;
static char state[4000];

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void require(bool holds)
{
    if (holds)
        return;
    fprintf(stderr, "history: %s\n", e.message);
    exit(1);
}

static const char *const commands[] = {
    "git status",
    "make -j4 test",
    "npm run build -- --mode=production",
    "grep -rn 'needle%u' src | head -20",
    "python3 scripts/tool%u.py --flag value",
    "sed -n '1,%up' src/module/file.c",
    "cargo build --release",
    "ls -la dir%u/sub",
    "cat src/module%u/file.c | sort | uniq -c | sort -rn",
};

/* An intent and a result, as a run leaves them. */
static void append_run(struct ledger *l, unsigned n, struct buf *text)
{
    static const char *const agents[] = {"coder", "coder", "coder", "writer", "debugger"};
    static const char *const statuses[] = {"ok", "ok", "ok", "ok", "ok", "ok", "failed", "timeout"};
    char id[40], time[32], command[128], path[64], fill[256];
    time_t at = 1700000000 + (time_t)n * 20;
    struct tm utc;
    snprintf(id, sizeof(id), "%08x-%04x-4000-8000-%012u", n * 2654435761U, n & 0xFFFF, n);
    gmtime_r(&at, &utc);
    strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%S.000Z", &utc);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(command, sizeof(command), commands[n % (sizeof(commands) / sizeof(commands[0]))], n);
#pragma GCC diagnostic pop
    snprintf(path, sizeof(path), "src/module%u/file%u.c", n % 1000, n);
    memset(fill, 'x', sizeof(fill) - 1);
    fill[sizeof(fill) - 1] = '\0';
    const struct entry_change change = {.kind = ENTRY_MODIFIED, .path = path};
    struct entry entry = {.kind = ENTRY_INTENT,
                          .id = id,
                          .time = time,
                          .agent = n % 9999 == 0 ? "rare" : agents[n % 5],
                          .workspace = "/home/user/project",
                          .verdict = "allow",
                          .command = {.bytes = command, .len = strlen(command)}};
    struct ledger_place place;
    buf_clear(text);
    require(entry_write(&entry, text, &e) == 0 &&
            ledger_append_later(l, text->data, text->len, &place, &e) == 0);
    entry.kind = ENTRY_RESULT;
    entry.has_intent = true;
    entry.intent = place.index;
    entry.status = statuses[n % 8];
    entry.has_exit_code = true;
    entry.duration_ms = n % 5000;
    entry.output.known = true;
    entry.output.frames = (struct entry_text){.bytes = fill, .len = sizeof(fill) - 1};
    entry.changes = (struct entry_changes){
        .known = true, .counts = {0, 1, 0, 0, 0}, .items = &change, .count = 1};
    buf_clear(text);
    require(entry_write(&entry, text, &e) == 0 &&
            ledger_append_later(l, text->data, text->len, &place, &e) == 0);
    if (n % 1000 == 999)
        require(ledger_sync(l, place.index, &e) == 0);
}

static void write_ledger(const char *dir, unsigned runs)
{
    struct ledger *l;
    struct buf text;
    const struct ledger_options options = {.flags = LEDGER_CREATE, .origin = "bench"};
    double start = seconds();
    buf_init(&text, &allocator_libc, ENTRY_BYTES_MAX);
    require(ledger_open(dir, &options, &l, &e) == 0);
    for (unsigned n = 0; n < runs; n++)
        append_run(l, n, &text);
    require(ledger_append(l, "end", 3, NULL, &e) == 0);
    ledger_close(l);
    buf_release(&text);
    printf("  %-52s %8.1f s\n", "writing the entries", seconds() - start);
}

/* --- measuring ------------------------------------------------------------------------------- */

static int count_row(void *user, const struct history_row *row)
{
    (void)row;
    ++*(unsigned *)user;
    return 0;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double median(double times[ROUNDS])
{
    qsort(times, ROUNDS, sizeof(times[0]), compare);
    return times[ROUNDS / 2];
}

static double bare_select(const char *database)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        sqlite3 *db;
        sqlite3_stmt *s;
        double start = seconds();
        require(sqlite3_open_v2(database, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK);
        require(sqlite3_prepare_v2(db, "SELECT * FROM runs ORDER BY idx DESC LIMIT 50", -1, &s,
                                   NULL) == SQLITE_OK);
        while (sqlite3_step(s) == SQLITE_ROW)
            (void)sqlite3_column_text(s, 14);
        sqlite3_finalize(s);
        sqlite3_close(db);
        times[i] = seconds() - start;
    }
    return median(times);
}

static double read_tail(struct history *h)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        struct ledger_iterator *at;
        struct ledger_record record;
        uint64_t size;
        double start = seconds();
        require(ledger_size(history_ledger(h), &size, &e) == 0 &&
                ledger_iterate(history_ledger(h), size, &at, &e) == 0);
        for (int n = 0; n < 2 * LISTED; n++)
            require(ledger_iterator_previous(at, &record, &e) >= 0);
        ledger_iterator_free(at);
        times[i] = seconds() - start;
    }
    return median(times);
}

static void measure(struct history *h, const char *name, struct history_filter filter, double bare)
{
    double times[ROUNDS];
    unsigned rows = 0;
    filter.limit = LISTED;
    for (int i = 0; i < ROUNDS; i++) {
        double start = seconds();
        rows = 0;
        require(history_list(h, &filter, count_row, &rows, &e) == 0);
        times[i] = seconds() - start;
    }
    double each = median(times);
    printf("  %-52s %8.2f ms  %6.1f x  %3u rows\n", name, each * 1e3, each / bare, rows);
}

static double measure_open(void)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        struct history *h;
        unsigned rows = 0;
        const struct history_filter filter = {.limit = LISTED};
        double start = seconds();
        require(history_open(state, NULL, &h, &e) == 0 &&
                history_list(h, &filter, count_row, &rows, &e) == 0);
        history_close(h);
        times[i] = seconds() - start;
    }
    return median(times);
}

static void measure_figures(struct history *h)
{
    struct arena arena;
    struct history_figures figures;
    double start = seconds();
    arena_init(&arena, &allocator_libc, 1 << 24);
    require(history_sum(h, &arena, 0, &figures, &e) == 0);
    arena_release(&arena);
    printf("  %-52s %8.1f ms\n", "all figures", (seconds() - start) * 1e3);
}

int main(int argc, char **argv)
{
    char path[4096], text[64];
    struct history *h;
    struct stat st;
    unsigned long entries = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (entries < 1000 || strlen(argv[1]) >= sizeof(state)) {
        fputs("usage: history DIR COUNT\n", stderr);
        return 2;
    }
    unsigned runs = (unsigned)(entries / 2);
    snprintf(state, sizeof(state), "%s", argv[1]);
    snprintf(path, sizeof(path), "%s/ledger", state);
    printf("history, %lu entries of %u runs\n", entries, runs);
    write_ledger(path, runs);
    double start = seconds();
    require(history_open(state, NULL, &h, &e) == 0);
    double made = seconds() - start;
    snprintf(path, sizeof(path), "%s/history.db", state);
    require(stat(path, &st) == 0);
    printf("  %-52s %8.1f s, %.1f us an entry, %.0f MB\n", "making the index", made,
           made / (double)entries * 1e6, (double)st.st_size / 1e6);

    double bare = bare_select(path);
    printf("  %-52s %8.2f ms  %6.1f x\n", "bare SELECT of the last 50 rows, opened each time",
           bare * 1e3, 1.0);
    printf("  %-52s %8.2f ms  %6.1f x\n", "the last 100 records of the ledger, one by one",
           read_tail(h) * 1e3, read_tail(h) / bare);
    double opened = measure_open();
    printf("  %-52s %8.2f ms  %6.1f x\n", "the last 50 runs, opened each time", opened * 1e3,
           opened / bare);
    measure(h, "the last 50 runs", (struct history_filter){0}, bare);
    measure(h, "by an agent that most have", (struct history_filter){.agent = "coder"}, bare);
    measure(h, "by an agent that few have", (struct history_filter){.agent = "rare"}, bare);
    measure(h, "by status", (struct history_filter){.status = "timeout"}, bare);
    measure(h, "by agent and status", (struct history_filter){.agent = "rare", .status = "timeout"},
            bare);
    measure(h, "by a text that many have", (struct history_filter){.text = "git status"}, bare);
    snprintf(text, sizeof(text), "tool%u.py", runs / 9 / 2 * 9 + 4);
    measure(h, "by a text that one has", (struct history_filter){.text = text}, bare);
    measure(h, "by a text that none has", (struct history_filter){.text = "nowhere to be"}, bare);
    measure(h, "by a text of two letters that none has", (struct history_filter){.text = "~~"},
            bare);
    snprintf(text, sizeof(text), "src/module7/file%u.c", 7 + runs / 2000 * 1000);
    measure(h, "by path", (struct history_filter){.path = text}, bare);
    measure(h, "by directory", (struct history_filter){.path = "src/module77/"}, bare);
    int64_t since = (1700000000 + (int64_t)(runs - 20) * 20) * 1000;
    measure(h, "since: few", (struct history_filter){.since_ms = since}, bare);
    measure(h, "since: all", (struct history_filter){.since_ms = 1}, bare);
    int64_t until = (1700000000 + 20 * 20) * (int64_t)1000;
    measure(h, "until: the first of all", (struct history_filter){.until_ms = until}, bare);
    measure(h, "since and agent", (struct history_filter){.since_ms = since, .agent = "writer"},
            bare);
    measure_figures(h);
    history_close(h);
    return 0;
}
