/*
 * The ledger against SQLite (WAL, synchronous=FULL) on the same disk in the same run, verification
 * against plain SHA-256 of the same bytes, and one append by a program of its own against the
 * fdatasync that it needs.
 *
 *   ledger DIR [RECORDS]
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "ledger/ledger.h"

enum { RECORD = 300, ROUNDS = 5, ONE_SHOTS = 400 };

static char place[4096];
static char record[RECORD];

static void die(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *path(const char *name)
{
    static char text[5000];
    snprintf(text, sizeof(text), "%s/%s", place, name);
    return text;
}

/* --- many writers ---------------------------------------------------------------------------- */

static void write_ledger(unsigned count)
{
    struct ledger *l;
    struct err e;
    if (ledger_open(path("ledger"), NULL, &l, &e) < 0)
        die(e.message);
    for (unsigned i = 0; i < count; i++) {
        if (ledger_append(l, record, sizeof(record), NULL, &e) < 0)
            die(e.message);
    }
    ledger_close(l);
}

static sqlite3 *open_database(void)
{
    sqlite3 *db;
    if (sqlite3_open(path("database"), &db) != SQLITE_OK)
        die("cannot open the database");
    sqlite3_busy_timeout(db, 60000);
    if (sqlite3_exec(db,
                     "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                     "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, r BLOB)",
                     NULL, NULL, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    return db;
}

static void write_database(unsigned count)
{
    sqlite3 *db = open_database();
    sqlite3_stmt *insert;
    if (sqlite3_prepare_v2(db, "INSERT INTO t(r) VALUES(?)", -1, &insert, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    for (unsigned i = 0; i < count; i++) {
        sqlite3_bind_blob(insert, 1, record, sizeof(record), SQLITE_STATIC);
        if (sqlite3_step(insert) != SQLITE_DONE)
            die(sqlite3_errmsg(db));
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    sqlite3_close(db);
}

/* Durable records a second by so many processes. */
static double rate(unsigned writers, unsigned each, void (*write_some)(unsigned count))
{
    bool failed = false;
    double start = now();
    for (unsigned i = 0; i < writers; i++) {
        pid_t child = fork();
        if (child == 0) {
            write_some(each);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < writers; i++) {
        int status = 1;
        wait(&status);
        failed |= status != 0;
    }
    if (failed)
        die("a writer failed");
    return writers * each / (now() - start);
}

static void compare_writers(void)
{
    static const struct {
        unsigned writers, ledger_each, database_each;
    } cases[] = {{1, 1000, 1000}, {8, 1000, 100}, {64, 300, 10}};
    struct ledger *l;
    struct err e;
    const struct ledger_options create = {.flags = LEDGER_CREATE};
    if (ledger_open(path("ledger"), &create, &l, &e) < 0)
        die(e.message);
    ledger_close(l);
    sqlite3_close(open_database());
    puts("durable appends of 300 bytes a second, best of 5");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double ours = 0, theirs = 0;
        /* In turns, so that both meet the same moments. */
        for (int round = 0; round < ROUNDS; round++) {
            double one = rate(cases[i].writers, cases[i].ledger_each, write_ledger);
            double other = rate(cases[i].writers, cases[i].database_each, write_database);
            ours = one > ours ? one : ours;
            theirs = other > theirs ? other : theirs;
        }
        printf("  %2u writers   ledger %8.0f   SQLite WAL FULL %8.0f   ratio %.1f\n",
               cases[i].writers, ours, theirs, ours / theirs);
    }
}

/* --- one large ledger ------------------------------------------------------------------------ */

static void fill(unsigned long records)
{
    struct ledger *l;
    struct err e;
    struct ledger_place at = {0};
    const struct ledger_options create = {.flags = LEDGER_CREATE};
    double start = now();
    if (ledger_open(path("large"), &create, &l, &e) < 0)
        die(e.message);
    for (unsigned long i = 0; i < records; i++) {
        memcpy(record, &i, sizeof(i));
        if (ledger_append_later(l, record, sizeof(record), &at, &e) < 0)
            die(e.message);
    }
    if (ledger_sync(l, at.index, &e) < 0)
        die(e.message);
    ledger_close(l);
    printf("%lu records without waiting, then one sync: %.0f a second\n", records,
           (double)records / (now() - start));
}

/* Reads and hashes a file as it is; the bytes. */
static size_t hash_file(const char *name)
{
    static char part[1 << 20];
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    size_t all = 0;
    ssize_t n;
    FD_CLEANUP int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    sha256_start(&hash);
    while ((n = read(fd, part, sizeof(part))) > 0) {
        sha256_add(&hash, part, (size_t)n);
        all += (size_t)n;
    }
    sha256_end(&hash, digest);
    return all;
}

static void compare_verify(unsigned long records)
{
    static struct ledger_report report;
    struct err e;
    double best = 1e9, plain = 1e9;
    size_t bytes = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        if (ledger_verify(path("large"), NULL, &report, &e) < 0 || !report.good ||
            report.size < records)
            die("the ledger does not verify");
        double this = now() - start;
        best = this < best ? this : best;
        start = now();
        bytes = 0;
        DIR *segments = opendir(path("large/segment"));
        const struct dirent *entry;
        while (segments && (entry = readdir(segments))) {
            char name[300];
            snprintf(name, sizeof(name), "large/segment/%s", entry->d_name);
            if (entry->d_name[0] != '.')
                bytes += hash_file(path(name));
        }
        if (segments)
            closedir(segments);
        this = now() - start;
        plain = this < plain ? this : plain;
    }
    printf("verify %.0f MB/s, SHA-256 of the same bytes %.0f MB/s, ratio %.2f\n",
           (double)report.bytes / best / 1e6, (double)bytes / plain / 1e6,
           ((double)report.bytes / best) / ((double)bytes / plain));
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Open, append one, close; against a write and fdatasync of as many bytes in a file like it. */
static void compare_one(void)
{
    static double ours[ONE_SHOTS], theirs[ONE_SHOTS];
    char bytes[600];
    struct err e;
    memset(bytes, 'x', sizeof(bytes));
    FD_CLEANUP int fd = open(path("plain"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || fallocate(fd, 0, 0, 4 << 20) < 0 || fsync(fd) < 0)
        die("cannot make a file");
    for (int i = 0; i < ONE_SHOTS; i++) {
        struct ledger *l;
        double start = now();
        if (ledger_open(path("large"), NULL, &l, &e) < 0 ||
            ledger_append(l, record, sizeof(record), NULL, &e) < 0)
            die(e.message);
        ledger_close(l);
        ours[i] = now() - start;
        start = now();
        if (pwrite(fd, bytes, sizeof(bytes), (off_t)i * (off_t)sizeof(bytes)) < 0 ||
            fdatasync(fd) < 0)
            die("cannot write a file");
        theirs[i] = now() - start;
    }
    qsort(ours, ONE_SHOTS, sizeof(double), by_value);
    qsort(theirs, ONE_SHOTS, sizeof(double), by_value);
    double mine = ours[ONE_SHOTS / 2] * 1e6, plain = theirs[ONE_SHOTS / 2] * 1e6;
    printf("open, append one durable record, close: %.0f us; write and fdatasync alone %.0f us, "
           "ratio %.2f\n",
           mine, plain, mine / plain);
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3)
        die("usage: ledger DIR [RECORDS]");
    snprintf(place, sizeof(place), "%s", argv[1]);
    unsigned long records = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
    setvbuf(stdout, NULL, _IOLBF, 0);
    memset(record, 'r', sizeof(record));
    compare_writers();
    fill(records);
    compare_verify(records);
    compare_one();
    return 0;
}
