/* A ledger's life: appending, reading, proving, following, dropping, sending on. */
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

#include "ledger_place.h"
#include "tap.h"

static struct err e;

static struct ledger *open_ledger(uint64_t segment_bytes)
{
    const struct ledger_options options = {.flags = LEDGER_CREATE, .segment_bytes = segment_bytes};
    struct ledger *l = NULL;
    if (ledger_open(place_dir, &options, &l, &e) < 0)
        printf("# %s\n", e.message);
    return l;
}

static bool append_text(struct ledger *l, const char *text)
{
    struct ledger_place place;
    bool done = ledger_append(l, text, strlen(text), &place, &e) == 0;
    if (!done)
        printf("# %s\n", e.message);
    return done;
}

/* Records that would break a format that is not careful. */
static const struct {
    const char *bytes;
    size_t len;
} awkward[] = {
    {"", 0},
    {"\n\n\n", 3},
    {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24},
    {"{\"a\":\"\\u0000\\n\"}", 16},
    {"\xFF\xFE\xC0\x80\xED\xA0\x80", 7},
    {"\x1B]52;c;AAAA\a\x9B", 12},
    {"nacre/ledger\n5\nAAAA\n\n\xE2\x80\x94 nacre/ledger AAAA\n", 43},
    {"nacrelg1", 8},
};

static void test_awkward(void)
{
    enum { COUNT = sizeof(awkward) / sizeof(awkward[0]) };
    struct ledger *l = (place_new(), open_ledger(0));
    static char large[LEDGER_RECORD_MAX + 1];
    struct buf out;
    bool same = true;
    memset(large, '\n', sizeof(large));
    buf_init(&out, &allocator_libc, 1 << 20);
    for (size_t i = 0; i < COUNT; i++)
        same &= ledger_append(l, awkward[i].bytes, awkward[i].len, NULL, &e) == 0;
    same &= ledger_append(l, large, LEDGER_RECORD_MAX, NULL, &e) == 0;
    tap_check(same, "awkward records are appended, and one of 64 KiB less a byte");
    tap_number(ledger_append(l, large, LEDGER_RECORD_MAX + 1, NULL, &e), -E2BIG,
               "a larger one is refused");
    same = true;
    for (size_t i = 0; i < COUNT; i++)
        same &= ledger_read(l, i, &out, &e) == 0 && out.len == awkward[i].len &&
                memcmp(out.data, awkward[i].bytes, out.len) == 0;
    same &= ledger_read(l, COUNT, &out, &e) == 0 && out.len == LEDGER_RECORD_MAX &&
            memcmp(out.data, large, out.len) == 0;
    tap_check(same, "and read again, byte for byte");
    tap_number(ledger_read(l, COUNT + 1, &out, &e), -ERANGE, "there is none behind them");
    /* A frame inside a record is bytes of that record. */
    size_t len;
    unsigned char *segment = place_load(place_file("segment/00000000000000000000"), &len);
    tap_check(len > 60000 && ledger_append(l, segment + 8, 60000, NULL, &e) == 0,
              "a record made of the ledger's own frames");
    free(segment);
    ledger_close(l);
    tap_check(place_good(), "all of it verifies");
    buf_release(&out);
}

/* Every record is there, forward and backward, and has its proof. */
static void check_all(struct ledger *l, uint64_t from, uint64_t count, const char *name)
{
    struct ledger_iterator *i = NULL;
    struct ledger_record record;
    struct buf key, proof;
    char text[32];
    uint64_t at = from;
    bool forward = ledger_iterate(l, from, &i, &e) == 0, backward, proofs = true;
    while (forward && ledger_iterator_next(i, &record, &e) == 1) {
        int len = snprintf(text, sizeof(text), "record %llu", (unsigned long long)at);
        forward = record.index == at && record.len == (size_t)len &&
                  memcmp(record.bytes, text, record.len) == 0;
        at++;
    }
    tap_check(forward && at == count, "%s: forward", name);
    backward = forward;
    while (backward && at > from && ledger_iterator_previous(i, &record, &e) == 1) {
        at--;
        int len = snprintf(text, sizeof(text), "record %llu", (unsigned long long)at);
        backward = record.index == at && record.len == (size_t)len &&
                   memcmp(record.bytes, text, record.len) == 0;
    }
    tap_check(backward && at == from && ledger_iterator_previous(i, &record, &e) == 0,
              "%s: backward", name);
    tap_check(ledger_iterator_next(i, &record, &e) == 1 && record.index == from,
              "%s: and forward again", name);
    ledger_iterator_free(i);
    buf_init(&key, &allocator_libc, 4096);
    buf_init(&proof, &allocator_libc, 65536);
    ledger_key(l, &key);
    for (uint64_t n = from; n < count && proofs; n += 1 + n / 3) {
        uint64_t index = 0, size = 0;
        int len = snprintf(text, sizeof(text), "record %llu", (unsigned long long)n);
        buf_clear(&proof);
        proofs = ledger_prove(l, n, &proof, &e) == 0 &&
                 ledger_check_proof(proof.data, proof.len, key.data, key.len, text, (size_t)len,
                                    &index, &size, &e) == 0 &&
                 index == n && size == count &&
                 ledger_check_proof(proof.data, proof.len, key.data, key.len, text, (size_t)len - 1,
                                    NULL, NULL, NULL) == -EBADMSG;
    }
    tap_check(proofs, "%s: proofs", name);
    if (!forward || !backward || !proofs)
        printf("# %s\n", e.message);
    buf_release(&key);
    buf_release(&proof);
}

static void test_rotation(void)
{
    enum { COUNT = 1500 };
    struct ledger *l = (place_new(), open_ledger(16 << 10));
    struct ledger_place place = {0};
    char text[32];
    bool done = true;
    uint64_t first = 0, again = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        int len = snprintf(text, sizeof(text), "record %u", i);
        done &= ledger_append_later(l, text, (size_t)len, &place, &e) == 0 && place.index == i;
        if (i % 97 == 0)
            done &= ledger_sync(l, place.index, &e) == 0;
    }
    done &= ledger_sync(l, COUNT - 1, &e) == 0;
    tap_check(done, "%d records in many segments", COUNT);
    tap_number(ledger_sync(l, COUNT, &e), -ERANGE, "what is not there cannot be made durable");
    check_all(l, 0, COUNT, "all");
    tap_check(place_good(), "they verify");
    tap_check(ledger_retain(l, 40 << 10, 0, &first, &e) == 0 && first > 256 && first < COUNT,
              "old segments are dropped");
    tap_check(ledger_first(l, &again, &e) == 0 && again == first, "the first that is left");
    check_all(l, first, COUNT, "the rest");
    struct buf out;
    buf_init(&out, &allocator_libc, 65536);
    tap_number(ledger_read(l, first - 1, &out, &e), -ERANGE, "a dropped record is gone");
    tap_check(ledger_prove(l, 3, &out, &e) == 0, "its proof is not");
    static struct ledger_report report;
    tap_check(ledger_verify(place_dir, NULL, &report, &e) == 0 && report.good &&
                  report.first == first && report.size == COUNT,
              "it verifies, and says from where on records are there");
    tap_check(ledger_publish(l, LEDGER_PUBLISH_ANEW | LEDGER_PUBLISH_ENTRIES, &e) == 0 &&
                  place_good(),
              "published anew it verifies too");
    place_poke(place_file("tile/0/000"), 77, 1);
    tap_check(!place_good(), "a changed hash of dropped records is found");
    buf_clear(&out);
    tap_number(ledger_prove(l, 300, &out, &e), -EBADMSG, "and no false proof is handed out");
    buf_release(&out);
    ledger_close(l);
}

/* --- several at once ------------------------------------------------------------------------- */

enum { THREADS = 8, EACH = 60 };

struct writer {
    struct ledger *l;
    unsigned number;
    bool failed;
};

static void *write_some(void *user)
{
    struct writer *w = user;
    char text[32];
    for (unsigned i = 0; i < EACH; i++) {
        int len = snprintf(text, sizeof(text), "%u %u", w->number, i);
        w->failed |= ledger_append(w->l, text, (size_t)len, NULL, NULL) < 0;
    }
    return NULL;
}

static bool each_once(struct ledger *l, unsigned writers)
{
    static unsigned char seen[64][EACH];
    struct ledger_iterator *i;
    struct ledger_record record;
    unsigned count = 0;
    memset(seen, 0, sizeof(seen));
    if (ledger_iterate(l, 0, &i, &e) < 0)
        return false;
    while (ledger_iterator_next(i, &record, &e) == 1) {
        char text[32] = {0}, *rest;
        memcpy(text, record.bytes, record.len < 31 ? record.len : 31);
        unsigned long w = strtoul(text, &rest, 10), n = strtoul(rest, NULL, 10);
        if (w >= 64 || n >= EACH || seen[w][n]++)
            break;
        count++;
    }
    ledger_iterator_free(i);
    return count == writers * EACH;
}

static void test_together(void)
{
    pthread_t threads[THREADS];
    struct writer writers[2 * THREADS];
    struct ledger *l = (place_new(), open_ledger(8 << 10)), *other = open_ledger(8 << 10);
    bool failed = false;
    for (unsigned i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){.l = i % 3 ? l : other, .number = i};
        pthread_create(&threads[i], NULL, write_some, &writers[i]);
    }
    pid_t children[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct ledger *own = NULL;
            const struct ledger_options options = {.segment_bytes = 8 << 10};
            struct writer w = {.number = THREADS + i, .failed = false};
            bool inherited = ledger_append(l, "x", 1, NULL, NULL) == -EPERM;
            if (ledger_open(place_dir, &options, &own, NULL) == 0) {
                w.l = own;
                write_some(&w);
            }
            _exit(!own || w.failed || !inherited);
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        int status = 1;
        pthread_join(threads[i], NULL);
        waitpid(children[i], &status, 0);
        failed |= writers[i].failed || status != 0;
    }
    tap_check(!failed, "threads and processes write at once; an inherited handle is refused");
    tap_check(each_once(l, 2 * THREADS), "each record is there once");
    tap_check(place_good(), "it verifies");
    ledger_close(other);
    ledger_close(l);
}

/* --- hooks ----------------------------------------------------------------------------------- */

static unsigned notices;

static void count_notice(void *user, const struct ledger_notice *notice)
{
    (void)user;
    notices += notice->kind == LEDGER_NOTICE_HOOK;
}

static void test_hooks(void)
{
    char file[256], copy[256], command[512];
    place_new();
    snprintf(file, sizeof(file), "%s", place_file("sent"));
    snprintf(copy, sizeof(copy), "%s", place_file("copy"));
    snprintf(command, sizeof(command), "cat >> '%s'", copy);
    const struct ledger_hook hooks[] = {
        {.kind = LEDGER_HOOK_FILE, .target = file},
        {.kind = LEDGER_HOOK_COMMAND, .target = command},
        {.kind = LEDGER_HOOK_COMMAND, .target = "exit 3"},
        {.kind = LEDGER_HOOK_SYSLOG, .target = "/nonexistent/socket"},
        {.kind = LEDGER_HOOK_FILE, .target = file, .every_ms = 3600000},
    };
    const struct ledger_options options = {
        .flags = LEDGER_CREATE, .hooks = hooks, .hook_count = 5, .notice = count_notice};
    struct ledger *l;
    tap_check(ledger_open(place_dir, &options, &l, &e) == 0, "with hooks");
    tap_check(append_text(l, "a") && append_text(l, "b"), "failing hooks fail no append");
    tap_number(notices, 4, "they are told");
    size_t len, copy_len;
    unsigned char *bytes = place_load(file, &len), *other = place_load(copy, &copy_len);
    static struct ledger_report report;
    struct ledger_verify_options kept = {.checkpoints = (char *)bytes, .checkpoints_len = len};
    tap_check(len > 300 && copy_len > 200 && ledger_verify(place_dir, &kept, &report, &e) == 0 &&
                  report.good && report.signatures >= 3,
              "what was sent fits the ledger");
    kept.checkpoints = (char *)other;
    kept.checkpoints_len = copy_len;
    tap_check(ledger_verify(place_dir, &kept, &report, &e) == 0 && report.good,
              "what a command was given too");
    unsigned lines = 0;
    for (size_t i = 0; i < len; i++)
        lines += bytes[i] == '\n';
    tap_number(lines, 15, "one for each batch, and one at most every hour");
    free(bytes);
    free(other);
    ledger_close(l);
}

static void test_opening(void)
{
    struct ledger *l = NULL;
    const struct ledger_options reading = {.flags = LEDGER_READ_ONLY};
    const struct ledger_options bad = {.flags = LEDGER_CREATE, .origin = "two words"};
    struct buf out;
    place_new();
    buf_init(&out, &allocator_libc, 4096);
    tap_number(ledger_open(place_dir, NULL, &l, &e), -ENOENT, "there is none");
    tap_number(ledger_open(place_dir, &bad, &l, &e), -EINVAL, "a name that no note can have");
    l = open_ledger(0);
    append_text(l, "x");
    ledger_close(l);
    struct stat st;
    tap_check(stat(place_file("key"), &st) == 0 && (st.st_mode & 0777) == 0600,
              "the secret key is for the owner alone");
    tap_check(ledger_open(place_dir, &reading, &l, &e) == 0 &&
                  ledger_append(l, "y", 1, NULL, &e) == -EROFS &&
                  ledger_read(l, 0, &out, &e) == 0 && out.len == 1,
              "for reading only");
    ledger_close(l);
    chmod(place_dir, 0770);
    tap_number(ledger_open(place_dir, NULL, &l, &e), -EPERM, "a directory that others may write");
    chmod(place_dir, 0700);
    l = open_ledger(0);
    append_text(l, "z");
    unlink(place_file("lock"));
    tap_number(ledger_append(l, "z", 1, NULL, &e), -ESTALE, "the lock file was removed meanwhile");
    ledger_close(l);
    l = open_ledger(0);
    tap_check(append_text(l, "again") && place_good(), "opened again, without the lock file");
    ledger_close(l);
    unlink(place_file("key"));
    tap_number(ledger_open(place_dir, &(struct ledger_options){.flags = LEDGER_CREATE}, &l, &e),
               -ENOENT, "a ledger without its key gets no new one");
    buf_release(&out);
}

int main(void)
{
    test_opening();
    test_awkward();
    test_rotation();
    test_together();
    test_hooks();
    place_remove();
    return tap_done();
}
