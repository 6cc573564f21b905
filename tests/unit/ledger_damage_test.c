/* Damage: every changed byte, cut tails, order, another key, an old copy; and what heals. */
#include <errno.h>

#include "ledger/frame.h"
#include "ledger/note.h"
#include "ledger_place.h"
#include "tap.h"

#define FIRST "segment/00000000000000000000"

static struct err e;
static struct ledger_report report;
static struct ledger_notice told;

static void on_notice(void *user, const struct ledger_notice *notice)
{
    (void)user;
    told = *notice;
}

static struct ledger *open_ledger(uint64_t segment_bytes)
{
    const struct ledger_options options = {
        .flags = LEDGER_CREATE, .segment_bytes = segment_bytes, .notice = on_notice};
    struct ledger *l = NULL;
    if (ledger_open(place_dir, &options, &l, &e) < 0)
        printf("# %s\n", e.message);
    return l;
}

/* Some batches of several records, in two segments. */
static void fill(uint64_t segment_bytes, unsigned count)
{
    struct ledger *l = (place_new(), open_ledger(segment_bytes));
    char text[64];
    struct ledger_place place;
    for (unsigned i = 0; i < count; i++) {
        int len = snprintf(text, sizeof(text), "{\"entry\":%u}", i);
        ledger_append_later(l, text, (size_t)len, &place, &e);
        if (i % 3 == 2)
            ledger_sync(l, place.index, &e);
    }
    ledger_sync(l, count - 1, &e);
    ledger_publish(l, 0, &e);
    ledger_close(l);
}

/* Whether every changed byte of the file is found; the part that was allocated ahead is none. */
static void flip_all(const char *name, bool located)
{
    char path[256];
    size_t len, used, missed = 0, without_place = 0;
    snprintf(path, sizeof(path), "%s", place_file(name));
    unsigned char *bytes = place_load(path, &len);
    for (used = len; used && !bytes[used - 1]; used--)
        ;
    for (size_t i = 0; i < used; i++) {
        static const unsigned char change[] = {0x01, 0x80, 0xFF};
        for (size_t k = 0; k < sizeof(change); k++) {
            place_poke(path, i, bytes[i] ^ change[k]);
            bool found = ledger_verify(place_dir, NULL, &report, &e) < 0 || !report.good;
            if (!found && missed++ < 3)
                printf("# byte %zu with %02x\n", i, change[k]);
            if (found && located && !report.damages[0].located && without_place++ < 3)
                printf("# byte %zu: %s\n", i, report.damages[0].text);
        }
        place_poke(path, i, bytes[i]);
    }
    tap_check(used > 20 && missed == 0, "%s: every one of %zu bytes counts", name, used);
    if (located)
        tap_check(without_place == 0, "%s: and the place is told", name);
    free(bytes);
}

static void test_flips(void)
{
    fill(1200, 16);
    tap_check(place_good(), "before");
    DIR *dir = opendir(place_file("segment"));
    const struct dirent *entry;
    unsigned segments = 0;
    while (dir && (entry = readdir(dir))) {
        char name[300];
        snprintf(name, sizeof(name), "segment/%s", entry->d_name);
        if (entry->d_name[0] == '.')
            continue;
        segments++;
        flip_all(name, true);
    }
    if (dir)
        closedir(dir);
    tap_check(segments > 1, "there are several segments");
    flip_all("key.pub", false);
    flip_all("checkpoint", false);
    tap_check(place_good(), "after");
}

/* The lock file holds no truth: whatever it says, the writer goes on rightly. */
static void test_lock_file(void)
{
    size_t len, bad = 0, appended = 0;
    fill(0, 8);
    unsigned char *bytes = place_load(place_file("lock"), &len);
    free(bytes);
    /* The fields, and of the many hashes each some bytes. */
    for (size_t i = 0; i < len; i += i < 100 || i + 100 > len ? 1 : 7) {
        size_t now_len;
        unsigned char *now = place_load(place_file("lock"), &now_len);
        place_poke(place_file("lock"), i, now[i] ^ 0xFF);
        free(now);
        struct ledger *l = open_ledger(0);
        struct ledger_place place;
        if (!l || ledger_append(l, "more", 4, &place, &e) < 0 || place.index != 8 + appended) {
            if (bad++ < 3)
                printf("# byte %zu: %s\n", i, e.message);
        }
        appended++;
        ledger_close(l);
    }
    tap_check(len > 3000 && bad == 0, "every part of the lock file may be wrong");
    tap_check(place_good(), "and nothing is lost");
    /* Nor must it be there, nor of this moment. */
    unsigned char *old = place_load(place_file("lock"), &len);
    struct ledger *l = open_ledger(0);
    for (int i = 0; i < 5; i++)
        ledger_append(l, "later", 5, NULL, &e);
    ledger_close(l);
    place_store(place_file("lock"), old, len);
    free(old);
    l = open_ledger(0);
    struct ledger_place place;
    tap_check(ledger_append(l, "x", 1, &place, &e) == 0 && place.index == 8 + appended + 5,
              "an old lock file is seen through");
    ledger_close(l);
    tap_check(place_good(), "and it verifies");
}

/* --- tails ----------------------------------------------------------------------------------- */

/* Where the last byte stands that is not zero, and one more. */
static size_t used_bytes(const unsigned char *bytes, size_t len)
{
    while (len && !bytes[len - 1])
        len--;
    return len;
}

static void test_tails(void)
{
    size_t len, bad = 0, silent = 0;
    fill(0, 9);
    unsigned char *bytes = place_load(place_file(FIRST), &len);
    size_t used = used_bytes(bytes, len);
    /* With the lock file, which knows what was durable: each cut is damage, and stops a writer. */
    for (size_t cut = 8; cut < used; cut += 5) {
        place_store(place_file(FIRST), bytes, cut);
        struct ledger *l = open_ledger(0);
        bad += ledger_verify(place_dir, NULL, &report, &e) == 0 && report.good;
        bad += l && ledger_append(l, "x", 1, NULL, &e) == 0;
        ledger_close(l);
        place_store(place_file(FIRST), bytes, used);
    }
    tap_number((long long)bad, 0, "every cut into what was durable is found and stops the writer");
    /* Garbage behind the end is an unfinished write: cut, and told. */
    bad = 0;
    for (size_t more = 1; more < 60; more++) {
        unsigned char *longer = malloc(used + more);
        if (!longer)
            abort();
        memcpy(longer, bytes, used);
        for (size_t i = 0; i < more; i++)
            longer[used + i] = (unsigned char)(i * 37 + 3);
        place_store(place_file(FIRST), longer, used + more);
        free(longer);
        bad += ledger_verify(place_dir, NULL, &report, &e) < 0 || !report.good ||
               report.torn_bytes != more;
        struct ledger *l = open_ledger(0);
        told.kind = LEDGER_NOTICE_NONE;
        bad += !l || ledger_append(l, "x", 1, NULL, &e) < 0;
        silent += told.kind != LEDGER_NOTICE_CUT || told.bytes != more;
        ledger_close(l);
        bad += !place_good();
        free(bytes);
        bytes = place_load(place_file(FIRST), &len);
        used = used_bytes(bytes, len);
    }
    tap_number((long long)bad, 0, "an unfinished write behind the end does no harm");
    tap_number((long long)silent, 0, "each time it is told");
    /* Without lock file and checkpoint file a cut between two batches is an old state. */
    struct ledger_verify_options kept = {0};
    struct buf note;
    buf_init(&note, &allocator_libc, 4096);
    struct ledger *l = open_ledger(0);
    ledger_append(l, "last", 4, NULL, &e);
    ledger_checkpoint(l, &note, &e);
    ledger_close(l);
    place_store(place_file(FIRST), bytes, used);
    unlink(place_file("lock"));
    unlink(place_file("checkpoint"));
    tap_check(place_good(), "an old copy of everything is not seen from inside");
    kept.checkpoints = note.data;
    kept.checkpoints_len = note.len;
    tap_check(ledger_verify(place_dir, &kept, &report, &e) == 0 && !report.good &&
                  strncmp(report.damages[0].text, "cut:", 4) == 0,
              "but with a checkpoint kept elsewhere");
    l = open_ledger(0);
    ledger_append(l, "other", 5, NULL, &e);
    ledger_close(l);
    tap_check(ledger_verify(place_dir, &kept, &report, &e) == 0 && !report.good,
              "also when it was written to since");
    buf_release(&note);
    free(bytes);
}

/* The power fails in the middle of a batch: its blocks reach the disk in any order. */
static void test_lost_blocks(void)
{
    size_t len, before_len;
    fill(0, 6);
    unsigned char *before = place_load(place_file(FIRST), &before_len);
    size_t start = used_bytes(before, before_len);
    struct ledger *l = open_ledger(0);
    struct ledger_place place;
    char large[3000];
    memset(large, 'x', sizeof(large));
    for (int i = 0; i < 3; i++)
        ledger_append_later(l, large, sizeof(large), &place, &e);
    ledger_sync(l, place.index, &e);
    ledger_close(l);
    unsigned char *bytes = place_load(place_file(FIRST), &len);
    memset(bytes + start + 1000, 0, 2000); /* in the first record of the batch */
    place_store(place_file(FIRST), bytes, len);
    tap_check(!place_good(), "a hole in a signed batch is damage to the verifier");
    unlink(place_file("lock"));
    unlink(place_file("checkpoint"));
    l = open_ledger(0);
    told.kind = LEDGER_NOTICE_NONE;
    tap_check(ledger_append(l, "x", 1, &place, &e) == 0 && place.index == 6 &&
                  told.kind == LEDGER_NOTICE_CUT && told.signed_size == 9,
              "one that cannot know cuts the last batch, and says that it was signed");
    ledger_close(l);
    tap_check(place_good(), "then it verifies");
    char kept[64];
    snprintf(kept, sizeof(kept), "cut-0-%zu", start);
    tap_check(access(place_file(kept), F_OK) == 0, "what was cut is kept aside");
    /* Two checkpoints behind the hole: the first of them had been durable. */
    place_store(place_file(FIRST), before, before_len);
    unlink(place_file("lock"));
    before[100] ^= 1;
    for (size_t i = 300; i < 340; i++)
        before[i] = 0;
    place_store(place_file(FIRST), before, before_len);
    l = open_ledger(0);
    tap_check(!l || ledger_append(l, "x", 1, NULL, &e) < 0,
              "a hole before older batches stops everybody");
    ledger_close(l);
    free(before);
    free(bytes);
}

/* A record that is full of the ledger's own frames and notes, and was not finished. */
static void test_torn_forgery(void)
{
    size_t len;
    struct buf note, out;
    struct frame_chain chain = {0};
    fill(0, 6);
    buf_init(&note, &allocator_libc, 4096);
    buf_init(&out, &allocator_libc, 1 << 20);
    struct ledger *l = open_ledger(0);
    ledger_checkpoint(l, &note, &e);
    ledger_close(l);
    unsigned char *bytes = place_load(place_file(FIRST), &len);
    size_t used = used_bytes(bytes, len);
    buf_append(&out, bytes, used);
    buf_append(&out, "\x10\x27\0\0torn", 8);
    for (uint64_t i = 0; i < 5; i++)
        frame_write(&out, &chain, FRAME_CHECKPOINT, 100 + i, note.data, note.len);
    place_store(place_file(FIRST), out.data, out.len);
    tap_check(ledger_verify(place_dir, NULL, &report, &e) == 0 && report.good &&
                  report.torn_bytes == out.len - used,
              "old checkpoints in an unfinished record are nothing");
    l = open_ledger(0);
    tap_check(ledger_append(l, "x", 1, NULL, &e) == 0, "they stop no writer");
    ledger_close(l);
    tap_check(place_good(), "and it verifies");
    free(bytes);
    buf_release(&note);
    buf_release(&out);
}

/* --- somebody who knows the format ----------------------------------------------------------- */

/* Writes all frames of the first segment anew, with sums and chain as they should be. */
static void rewrite(void (*change)(unsigned number, struct frame *f))
{
    size_t len;
    unsigned char *bytes = place_load(place_file(FIRST), &len);
    struct buf out;
    struct frame_chain chain = {0};
    struct frame f;
    unsigned number = 0;
    buf_init(&out, &allocator_libc, 1 << 20);
    buf_append(&out, bytes, 8);
    for (size_t at = 8; frame_read(bytes + at, len - at, &f) == FRAME_FOUND_WHOLE;) {
        at += frame_bytes(&f);
        change(number++, &f);
        if (f.type != FRAME_NONE)
            frame_write(&out, &chain, f.type, f.index, f.payload, f.length);
    }
    place_store(place_file(FIRST), out.data, out.len);
    buf_release(&out);
    free(bytes);
}

static struct frame held;

static void change_record(unsigned number, struct frame *f)
{
    if (number == 2)
        f->payload = (const unsigned char *)"{\"entry\":X}";
}

static void swap_records(unsigned number, struct frame *f)
{
    if (number == 1) {
        held = *f;
        f->payload = (const unsigned char *)"{\"entry\":1}";
    } else if (number == 2) {
        f->payload = (const unsigned char *)"{\"entry\":0}";
    }
}

static void drop_record(unsigned number, struct frame *f)
{
    if (number == 2)
        f->type = FRAME_NONE;
    else if (number > 2 && f->type == FRAME_RECORD)
        f->index--;
}

static void keep_all(unsigned number, struct frame *f)
{
    (void)number;
    (void)f;
}

static void test_forgery(void)
{
    fill(0, 6);
    rewrite(keep_all);
    tap_check(place_good(), "frames written anew as they were");
    rewrite(change_record);
    tap_check(!place_good(), "a changed record with right sums is found");
    fill(0, 6);
    rewrite(swap_records);
    tap_check(!place_good(), "two records in another order");
    fill(0, 6);
    rewrite(drop_record);
    tap_check(!place_good(), "a record taken out and the rest moved up");

    /* Another key, with everything signed again: as good as the first, but for who kept the key. */
    struct buf key, note;
    buf_init(&key, &allocator_libc, 4096);
    buf_init(&note, &allocator_libc, 4096);
    fill(0, 6);
    struct ledger *l = open_ledger(0);
    ledger_key(l, &key);
    ledger_checkpoint(l, &note, &e);
    ledger_close(l);
    fill(0, 6);
    tap_check(place_good(), "another ledger with the same entries is good by its own key");
    struct note_signer signer;
    const unsigned char seed[NOTE_KEY_BYTES] = {9};
    struct buf secret;
    size_t secret_len;
    unsigned char *own = place_load(place_file("key"), &secret_len);
    ledger_verify(place_dir, NULL, &report, &e);
    note_signer_make(report.origin, seed, &signer);
    buf_init(&secret, &allocator_libc, 4096);
    note_signer_write(&signer, &secret);
    place_store(place_file("key"), secret.data, secret.len);
    l = open_ledger(0);
    tap_number(ledger_append(l, "x", 1, NULL, &e), -EKEYREJECTED,
               "a writer with another key is refused");
    ledger_close(l);
    place_store(place_file("key"), own, secret_len);
    buf_release(&secret);
    free(own);
    struct ledger_verify_options kept = {.key = key.data, .key_len = key.len};
    tap_check(ledger_verify(place_dir, &kept, &report, &e) == 0 && !report.good,
              "but not by the key that was kept");
    kept = (struct ledger_verify_options){.checkpoints = note.data, .checkpoints_len = note.len};
    tap_check(ledger_verify(place_dir, &kept, &report, &e) == 0 && !report.good,
              "nor by a checkpoint that was kept");
    kept.checkpoints = "no checkpoint";
    kept.checkpoints_len = 13;
    tap_number(ledger_verify(place_dir, &kept, &report, &e), -EINVAL,
               "what is no checkpoint is a wrong call");
    buf_release(&key);
    buf_release(&note);
}

static void test_since(void)
{
    struct buf note;
    fill(2000, 30);
    buf_init(&note, &allocator_libc, 4096);
    struct ledger *l = open_ledger(2000);
    ledger_checkpoint(l, &note, &e);
    for (int i = 0; i < 30; i++)
        ledger_append(l, "more", 4, NULL, &e);
    ledger_close(l);
    struct ledger_verify_options kept = {
        .checkpoints = note.data, .checkpoints_len = note.len, .since = true};
    tap_check(ledger_verify(place_dir, &kept, &report, &e) == 0 && report.good &&
                  report.size == 60 && report.since > 0 && report.since <= 30,
              "since a checkpoint: only from its segment on");
    kept.since = false;
    kept.all_signatures = true;
    tap_check(ledger_verify(place_dir, &kept, &report, &e) == 0 && report.good &&
                  report.signatures >= report.checkpoints,
              "with every signature");
    buf_release(&note);
}

int main(void)
{
    test_flips();
    test_lock_file();
    test_tails();
    test_lost_blocks();
    test_torn_forgery();
    test_forgery();
    test_since();
    place_remove();
    return tap_done();
}
