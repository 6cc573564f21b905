/* Streams: the same output however the bytes are cut (R1), bounded memory (R3), failures (R5). */
#include <errno.h>
#include <pthread.h>

#include "redact/redact.h"
#include "redact_examples.h"
#include "tap.h"

enum { OUT_MAX = 256 << 20, TEXT_MAX = 1 << 20, PIECE = 1 << 16, TWO_PIECES = PIECE * 2 };

/* Counts what is held, and fails when it is told to. */
struct tally {
    size_t live, peak, calls, fail_at;
};

struct header {
    size_t size;
    max_align_t align;
};

static void *tally_resize(void *user, void *old, size_t size)
{
    struct tally *t = user;
    struct header *h = old ? (struct header *)old - 1 : NULL;
    size_t old_size = h ? h->size : 0;
    if (size == 0) {
        t->live -= old_size;
        free(h);
        return NULL;
    }
    if (++t->calls == t->fail_at)
        return NULL;
    struct header *grown = realloc(h, sizeof(*h) + size);
    if (!grown)
        return NULL;
    h = grown;
    h->size = size;
    t->live += size - old_size;
    if (t->live > t->peak)
        t->peak = t->live;
    return h + 1;
}

static int append(void *user, const char *bytes, size_t len)
{
    return buf_append(user, bytes, len);
}

static const struct redact_value values[] = {
    {"DEPLOY_KEY", "correct-horse/battery+staple", 28},
    {"LINES", "first line of it 1234\nsecond line of it 5678\n", 45},
};
static const struct redact_rule rules[] = {
    {"corp", "CORP-[0-9]{6}"},
    {"digits", "[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{4}\\b"},
};
static const struct redact_options options = {
    .values = values, .value_count = 2, .rules = rules, .rule_count = 2};

/* --- cutting --------------------------------------------------------------------------------- */

static bool feed_cut(const struct redactor *r, const char *text, size_t len, size_t most,
                     struct buf *out)
{
    struct redact_stream *s;
    buf_clear(out);
    if (redact_stream_new(r, append, out, &s, NULL) < 0)
        return false;
    bool good = true;
    for (size_t at = 0; at < len && good;) {
        size_t n = most ? 1 + example_below(most) : 1;
        if (n > len - at)
            n = len - at;
        good = redact_stream_feed(s, text + at, n, NULL) == 0;
        at += n;
    }
    good = good && redact_stream_finish(s, NULL) == 0;
    redact_stream_free(s);
    return good;
}

static bool same(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Everything that some rule finds or leaves, mixed with noise of all kinds. */
static size_t make_text(char *ret, size_t max)
{
    static const char *const extras[] = {"correct-horse/battery+staple",
                                         "Y29ycmVjdC1ob3JzZS9iYXR0ZXJ5K3N0YXBsZQ==",
                                         "CORP-123456",
                                         "1234-5678-9012-3456",
                                         "\x1b[31mpassword=\x1b[1mhunter2\x1b[0m",
                                         "-----BEGIN",
                                         "-----BEGIN RSA PRIVATE KEY-----",
                                         "-----END RSA PRIVATE KEY-----",
                                         "\r\n",
                                         "\x1b[",
                                         "password=password=password=abc123",
                                         "first line of it 1234",
                                         "Bearer ",
                                         "eyJ",
                                         "://a:b@"};
    char secret[EXAMPLE_MAX], text[EXAMPLE_MAX];
    size_t count = 0, len = 0;
    while (redact_examples[count].rule)
        count++;
    while (len + EXAMPLE_MAX < max) {
        const char *extra;
        size_t n = 0;
        switch (example_below(5)) {
        case 0:
            extra = extras[example_below(sizeof(extras) / sizeof(extras[0]))];
            n = strlen(extra);
            memcpy(text, extra, n);
            break;
        case 1:
            for (n = 0; n < 1 + example_below(40); n++)
                text[n] = (char)example_below(256);
            break;
        default:
            n = example_make(redact_examples[example_below(count)].text, text, secret);
        }
        /* Cut short now and then. */
        if (example_below(4) == 0)
            n = example_below(n + 1);
        memcpy(ret + len, text, n);
        len += n;
        if (example_below(3) > 0)
            ret[len++] = "\n \"\t=;'&"[example_below(8)];
    }
    return len;
}

/* A second block where the first may or may not be over: that must not depend on what is there. */
static void test_block_after_block(void)
{
    struct redactor *r;
    struct buf whole, pieces;
    static char text[4096];
    static const char first[] = "-----BEGIN RSA PRIVATE KEY-----\n"
                                "MIIEpAIBAAKCAQEAr0aXkq1zQ0t8c9b7n3v5MIIEpAIBAAKCAQEA\n",
                      second[] = "\nPrivate-Lines: 14\n",
                      key[] = "Y29ycmVjdC1ob3JzZS9iYXR0ZXJ5K3N0YXBsZQxxyy";
    buf_init(&whole, &allocator_libc, OUT_MAX);
    buf_init(&pieces, &allocator_libc, OUT_MAX);
    if (redactor_new(&options, &r, NULL) < 0)
        exit(1);
    size_t bad = 0, shown = 0;
    for (size_t gap = 0; gap < 600; gap += 7) {
        memset(text, '.', sizeof(text));
        char *at = text;
        memcpy(at, first, sizeof(first) - 1);
        at += sizeof(first) - 1 + gap;
        memcpy(at, second, sizeof(second) - 1);
        at += sizeof(second) - 1 + 300;
        memcpy(at, key, sizeof(key) - 1);
        buf_clear(&whole);
        redact_text(r, text, sizeof(text), &whole, NULL, NULL);
        bad += !feed_cut(r, text, sizeof(text), 0, &pieces) || !same(&whole, &pieces);
        shown += strstr(whole.data, key) != NULL;
    }
    tap_number((long)bad, 0, "R1: a block after a block");
    tap_number((long)shown, 0, "and its key is found");
    redactor_free(r);
    buf_release(&whole);
    buf_release(&pieces);
}

static void test_cuts(void)
{
    struct redactor *r;
    struct buf whole, pieces;
    char *text = malloc(TEXT_MAX);
    buf_init(&whole, &allocator_libc, OUT_MAX);
    buf_init(&pieces, &allocator_libc, OUT_MAX);
    if (!text || redactor_new(&options, &r, NULL) < 0)
        exit(1);
    static const size_t sizes[] = {0, 3, 17, 100, 1000, 5000, 100000};
    for (int round = 0; round < 8; round++) {
        size_t len = make_text(text, round < 6 ? 20000 : 300000), bad = 0;
        buf_clear(&whole);
        redact_text(r, text, len, &whole, NULL, NULL);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            bad += !feed_cut(r, text, len, sizes[i], &pieces) || !same(&whole, &pieces);
        tap_check(bad == 0, "R1: text %d of %zu bytes, cut in seven ways", round, len);
    }
    /* Each example, cut in two at each place. */
    size_t bad = 0, cuts = 0;
    for (const struct redact_example *x = redact_examples; x->rule; x++) {
        char secret[EXAMPLE_MAX];
        size_t len = example_make(x->text, text, secret);
        buf_clear(&whole);
        redact_text(r, text, len, &whole, NULL, NULL);
        for (size_t cut = 0; cut <= len; cut++, cuts++) {
            struct redact_stream *s;
            buf_clear(&pieces);
            if (redact_stream_new(r, append, &pieces, &s, NULL) < 0)
                exit(1);
            redact_stream_feed(s, text, cut, NULL);
            redact_stream_feed(s, text + cut, len - cut, NULL);
            redact_stream_finish(s, NULL);
            redact_stream_free(s);
            bad += !same(&whole, &pieces);
        }
    }
    tap_check(bad == 0, "R1: each example cut in two at each of %zu places", cuts);
    redactor_free(r);
    buf_release(&whole);
    buf_release(&pieces);
    free(text);
}

/* A secret at each offset around the place where the stream takes up the next piece. */
static void test_borders(void)
{
    static const char *const secrets[] = {"ghp_~a36", "password=\"~a20\"", "https://u:~a12@host/",
                                          "correct-horse/battery+staple", "CORP-123456"};
    struct redactor *r;
    struct buf out;
    enum { AROUND = 120 };
    char *text = malloc(TWO_PIECES), one[EXAMPLE_MAX], secret[EXAMPLE_MAX];
    buf_init(&out, &allocator_libc, OUT_MAX);
    if (!text || redactor_new(&options, &r, NULL) < 0)
        exit(1);
    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        size_t bad = 0, len = example_make(secrets[i], one, secret);
        for (size_t at = PIECE - AROUND; at < PIECE + AROUND; at++) {
            memset(text, '.', TWO_PIECES);
            memcpy(text + at, one, len);
            text[at + len] = '\n';
            buf_clear(&out);
            bad += redact_text(r, text, TWO_PIECES, &out, NULL, NULL) < 0 ||
                   memmem(out.data, out.len, secret, strlen(secret)) != NULL;
        }
        tap_check(bad == 0, "'%s' at each offset around a border", secrets[i]);
    }
    redactor_free(r);
    buf_release(&out);
    free(text);
}

/* --- long things ----------------------------------------------------------------------------- */

struct repeat {
    const char *text;
    size_t times;
};

static void test_long(const char *name, const struct repeat *parts, size_t count,
                      const char *should)
{
    struct tally tally = {0};
    const struct allocator a = {tally_resize, &tally};
    struct redact_options o = options;
    struct redactor *r;
    struct redact_stream *s;
    struct buf out;
    o.allocator = &a;
    buf_init(&out, &allocator_libc, OUT_MAX);
    if (redactor_new(&o, &r, NULL) < 0 || redact_stream_new(r, append, &out, &s, NULL) < 0)
        exit(1);
    size_t before = tally.live;
    int error = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t n = 0; n < parts[i].times && error == 0; n++)
            error = redact_stream_feed(s, parts[i].text, strlen(parts[i].text), NULL);
    }
    if (error == 0)
        error = redact_stream_finish(s, NULL);
    tap_number(error, 0, name);
    if (should)
        tap_text(out.data, should, name);
    tap_check(tally.peak - before < (1 << 20), "%s: memory is bounded: %zu", name,
              tally.peak - before);
    redact_stream_free(s);
    redactor_free(r);
    tap_check(tally.live == 0, "%s: all is given back", name);
    buf_release(&out);
}

#define LINE64 "MIIEpAIBAAKCAQEAr0aXkq1zQ0t8c9b7n3v5x1y2z4w6u8s0q2o4m6k8i0g2e4c6"

static void test_lengths(void)
{
    /* What begins within another secret and goes on behind it. */
    const struct repeat both[] = {{"cookie: a=1; b=~-----BEGIN RSA PRIVATE KEY-----\n" LINE64
                                   "\n" LINE64 "\n-----END RSA PRIVATE KEY-----\nb\n",
                                   1}};
    test_long("a key that begins in a cookie", both, 1, "cookie: [REDACTED:cookie]\nb\n");
    const struct repeat key[] = {{"a -----BEGIN RSA PRIVATE KEY-----\n", 1},
                                 {LINE64 "\n", 50000},
                                 {"Zm9v\n-----END RSA PRIVATE KEY-----\nb\n", 1}};
    test_long("a key of megabytes", key, 3, "a [REDACTED:private-key]\nb\n");
    const struct repeat open[] = {{"a -----BEGIN RSA PRIVATE KEY-----\n", 1},
                                  {LINE64 "\n", 100},
                                  {"Zm9v\n", 1},
                                  {"words of an ordinary kind\n", 50}};
    test_long("a key without an end", open, 4, NULL);
    const struct repeat nested[] = {{"-----BEGIN RSA PRIVATE KEY-----\n" LINE64 "\n", 20000},
                                    {"-----END RSA PRIVATE KEY-----\nb\n", 1}};
    test_long("keys in keys", nested, 2, "[REDACTED:private-key]\nb\n");
    const struct repeat token[] = {{"x ghp_", 1}, {"aB3dE6gH9j", 300000}, {" y", 1}};
    test_long("a token of megabytes", token, 3, "x [REDACTED:github-token] y");
    const struct repeat again[] = {{"password=", 300000}, {"abc123 y", 1}};
    test_long("a keyword over and over", again, 2, NULL);
    const struct repeat line[] = {{"no secret in a line without end, ", 1000000}};
    test_long("a line of megabytes", line, 1, NULL);
    const struct repeat value[] = {{"correct-horse/battery+staple", 100000}, {"\n", 1}};
    test_long("a value over and over", value, 2, "[REDACTED:DEPLOY_KEY]\n");
}

/* --- small things ---------------------------------------------------------------------------- */

static void test_texts(void)
{
    static const struct {
        const char *text, *should;
    } rows[] = {
        {"", ""},
        {"a", "a"},
        {"echo hello", "echo hello"},
        {"\x1b[01;31m\x1b[Kpassword\x1b[m\x1b[K=hunter2\n",
         "\x1b[01;31m\x1b[Kpassword\x1b[m\x1b[K=[REDACTED:assigned-password]\n"},
        {"password=\x1b[31mhunter2\x1b[0m x",
         "password=\x1b[31m[REDACTED:assigned-password]\x1b[0m x"},
        {"correct-\x1b[1mhorse\x1b[0m/battery+staple", "[REDACTED:DEPLOY_KEY]"},
        {"CORP-123456 CORP-12345", "[REDACTED:corp] CORP-12345"},
        {"pay 1234-5678-9012-3456.", "pay [REDACTED:digits]."},
        {"password=CORP-123456", "password=[REDACTED:corp]"},
        {"\tsecond line of it 5678\r\n", "\t[REDACTED:LINES]\r\n"},
        {"password=hunter2\rpassword=hunter3\r",
         "password=[REDACTED:assigned-password]\rpassword=[REDACTED:assigned-password]\r"},
        {"\xff\xfepassword=hunter2\xff\n", "\xff\xfepassword=[REDACTED:assigned-password]\n"},
    };
    struct redactor *r;
    struct buf out;
    buf_init(&out, &allocator_libc, OUT_MAX);
    if (redactor_new(&options, &r, NULL) < 0)
        exit(1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        buf_clear(&out);
        redact_text(r, rows[i].text, strlen(rows[i].text), &out, NULL, NULL);
        tap_text(out.data, rows[i].should, "a text");
    }
    buf_clear(&out);
    redact_text(r, "a\0password=hunter2\0b", 20, &out, NULL, NULL);
    tap_check(out.len == 2 + 9 + 28 + 2 && memcmp(out.data, "a\0password=[REDACTED", 20) == 0,
              "NULs stay and end a secret");
    size_t count = 0;
    buf_clear(&out);
    redact_text(r, "CORP-123456 CORP-123456 password=hunter2", 40, &out, &count, NULL);
    tap_number((long long)count, 3, "how many");
    redactor_free(r);

    struct redact_options plain = {.replacement = "[REDACTED]"};
    if (redactor_new(&plain, &r, NULL) < 0)
        exit(1);
    buf_clear(&out);
    redact_text(r, "password=hunter2", 16, &out, NULL, NULL);
    tap_text(out.data, "password=[REDACTED]", "another replacement");
    /* What was redacted once stays as it is. */
    redactor_free(r);
    if (redactor_new(NULL, &r, NULL) < 0)
        exit(1);
    static const char done[] = "password=[REDACTED:assigned-password] token: [REDACTED:jwt]";
    buf_clear(&out);
    redact_text(r, done, strlen(done), &out, NULL, NULL);
    tap_text(out.data, done, "redacted already");
    redactor_free(r);
    buf_release(&out);
}

static void test_counts(void)
{
    struct redactor *r;
    struct redact_stream *s;
    struct buf out;
    buf_init(&out, &allocator_libc, OUT_MAX);
    if (redactor_new(&options, &r, NULL) < 0 || redact_stream_new(r, append, &out, &s, NULL) < 0)
        exit(1);
    redact_stream_feed(s, "CORP-123456 x CORP-654321 correct-horse/battery+staple", 54, NULL);
    redact_stream_finish(s, NULL);
    size_t n = redactor_rule_count(r);
    tap_text(redactor_rule_name(r, n - 4), "corp", "names of rules");
    tap_text(redactor_rule_name(r, n - 2), "DEPLOY_KEY", "names of values");
    tap_check(redactor_rule_name(r, n) == NULL, "no name behind the last");
    tap_number((long long)redact_stream_count_of(s, n - 4), 2, "counted by rule");
    tap_number((long long)redact_stream_count_of(s, n - 2), 1, "counted by value");
    tap_number((long long)redact_stream_count(s), 3, "counted");
    tap_check(redact_stream_feed(s, "x", 1, NULL) < 0, "nothing can be fed behind the end");
    redact_stream_free(s);
    struct redact_found found;
    tap_number(redact_find(r, "a\nb CORP-123456", 15, &found, NULL), 1, "found");
    tap_text(found.rule, "corp", "which");
    tap_number((long long)found.offset, 4, "where");
    tap_number(redact_find(r, "a\nb CORP-12345x", 15, &found, NULL), 0, "not found");
    redactor_free(r);
    buf_release(&out);
}

/* --- failures -------------------------------------------------------------------------------- */

static void test_no_memory(void)
{
    static const char text[] = "CORP-123456 password=hunter2 correct-horse/battery+staple";
    size_t failures = 0, wrong = 0;
    for (size_t n = 1; n < 200; n++) {
        struct tally tally = {.fail_at = n};
        const struct allocator a = {tally_resize, &tally};
        struct redact_options o = options;
        struct redactor *r = NULL;
        struct buf out;
        o.allocator = &a;
        buf_init(&out, &allocator_libc, OUT_MAX);
        buf_append_text(&out, "kept");
        int error = redactor_new(&o, &r, NULL);
        if (error == 0)
            error = redact_text(r, text, strlen(text), &out, NULL, NULL);
        bool failed = tally.calls >= n;
        failures += failed;
        wrong += failed && (error != -ENOMEM || strcmp(out.data, "kept") != 0);
        wrong += !failed && error != 0;
        redactor_free(r);
        wrong += tally.live != 0;
        buf_release(&out);
        if (!failed)
            break;
    }
    tap_check(failures > 5 && wrong == 0, "R5: %zu allocations that failed", failures);
}

struct broken {
    size_t calls, after;
};

static int break_sink(void *user, const char *bytes, size_t len)
{
    struct broken *b = user;
    (void)bytes;
    (void)len;
    if (b->after)
        b->after++;
    if (++b->calls == 2) {
        b->after = 1;
        return -EPIPE;
    }
    return 0;
}

static void test_sink(void)
{
    struct redactor *r;
    struct redact_stream *s;
    struct broken b = {0};
    if (redactor_new(NULL, &r, NULL) < 0 || redact_stream_new(r, break_sink, &b, &s, NULL) < 0)
        exit(1);
    char text[8192];
    memset(text, '.', sizeof(text));
    int error = 0;
    for (int i = 0; i < 10; i++)
        error = redact_stream_feed(s, text, sizeof(text), NULL);
    tap_number(error, -EPIPE, "R5: the sink's failure is the stream's");
    tap_number(redact_stream_finish(s, NULL), -EPIPE, "R5: to the end");
    tap_number((long long)b.after, 1, "R5: nothing is handed on after it");
    redact_stream_free(s);
    redactor_free(r);
}

/* --- threads --------------------------------------------------------------------------------- */

struct job {
    const struct redactor *redactor;
    const char *text;
    size_t len, bad;
    const struct buf *should;
};

static void *run_job(void *user)
{
    struct job *job = user;
    struct buf out;
    buf_init(&out, &allocator_libc, OUT_MAX);
    for (int i = 0; i < 10; i++) {
        buf_clear(&out);
        job->bad += redact_text(job->redactor, job->text, job->len, &out, NULL, NULL) < 0 ||
                    !same(&out, job->should);
    }
    buf_release(&out);
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 4, LEN = 100000 };
    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    struct redactor *r;
    struct buf should;
    char *text = malloc(LEN);
    buf_init(&should, &allocator_libc, OUT_MAX);
    if (!text || redactor_new(&options, &r, NULL) < 0)
        exit(1);
    size_t len = make_text(text, LEN), bad = 0;
    redact_text(r, text, len, &should, NULL, NULL);
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){r, text, len, 0, &should};
        if (pthread_create(&threads[i], NULL, run_job, &jobs[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        bad += jobs[i].bad;
    }
    tap_check(bad == 0 && should.len > 0, "one redactor, several threads");
    redactor_free(r);
    buf_release(&should);
    free(text);
}

int main(void)
{
    test_texts();
    test_counts();
    test_cuts();
    test_block_after_block();
    test_borders();
    test_lengths();
    test_no_memory();
    test_sink();
    test_threads();
    return tap_done();
}
