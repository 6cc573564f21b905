/*
 * redact: what redaction costs. Ordinary output of builds, hostile texts, a short command; each
 * beside memcpy and SHA-256 over the same bytes in the same run: best of several rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/sha256.h"
#include "redact/redact.h"

enum { TEXT = 16 << 20, HOSTILE = 4 << 20, ROUNDS = 5, SHORT_TIMES = 20000 };

static double seconds(void)
{
    struct timespec now;
    /* This program's own time: others may be at work. */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t random_state = 88172645463325252u;

static size_t random_below(size_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state >> 11) % bound;
}

static int drop(void *user, const char *bytes, size_t len)
{
    (void)bytes;
    *(size_t *)user += len;
    return 0;
}

/* --- texts ----------------------------------------------------------------------------------- */

/* Lines as compilers, test runners and package managers print them. */
static size_t make_build(char *ret, size_t len)
{
    static const char *const lines[] = {
        "  CC    build/release/src/engine/decide_%u.o\n",
        "gcc -O2 -Wall -Wextra -Iinclude -c src/base/buf_%u.c -o build/obj/buf_%u.o\n",
        "src/policy/judge.c:%u:17: warning: unused parameter 'token' [-Wunused-parameter]\n",
        "ok %u - unit/base_test (release): passes the password prompt through\n",
        "npm WARN deprecated inflight@1.0.%u: This module is not supported, and leaks memory\n",
        "   Compiling serde_json v1.0.%u\n",
        "test result: ok. %u passed; 0 failed; 2 ignored; finished in 1.23s\n",
        "commit 3f785a1c9d0b7e6f5a4b3c2d1e0f9a8b7c6d%04u\nAuthor: A U Thor <author@example.com>\n",
        "\x1b[32mINFO\x1b[0m request id=7c9e6679-7425-40de-944b-e07fc1f9%04u path=/api/v1/users\n",
        "added %u packages, and audited 1024 packages in 7s\n",
        "Downloading https://registry.example.org/pkg/-/pkg-1.2.%u.tgz (34 kB)\n",
        "    at Object.<anonymous> (/home/user/project/src/index.test.ts:%u:11)\n",
    };
    size_t at = 0;
    while (at + 200 < len) {
        const char *line = lines[random_below(sizeof(lines) / sizeof(lines[0]))];
        unsigned n = (unsigned)random_below(1000);
        /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral) */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        at += (size_t)snprintf(ret + at, len - at, line, n, n);
#pragma GCC diagnostic pop
    }
    return at;
}

static size_t make_repeated(char *ret, size_t len, const char *text)
{
    size_t n = strlen(text), at = 0;
    for (; at + n <= len; at += n)
        memcpy(ret + at, text, n);
    return at;
}

static size_t make_random(char *ret, size_t len, const char *alphabet)
{
    size_t count = strlen(alphabet);
    for (size_t i = 0; i < len; i++)
        ret[i] = alphabet[random_below(count)];
    return len;
}

/* --- measuring ------------------------------------------------------------------------------- */

static double best_redact(const struct redactor *r, const char *text, size_t len)
{
    double least = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        struct redact_stream *s;
        size_t out = 0;
        double start = seconds();
        if (redact_stream_new(r, drop, &out, &s, NULL) < 0)
            exit(1);
        for (size_t at = 0; at < len; at += 4096) {
            if (redact_stream_feed(s, text + at, len - at < 4096 ? len - at : 4096, NULL) < 0)
                exit(1);
        }
        if (redact_stream_finish(s, NULL) < 0)
            exit(1);
        redact_stream_free(s);
        double time = seconds() - start;
        least = time < least ? time : least;
    }
    return least;
}

static double best_copy(const char *text, size_t len)
{
    double least = 1e9;
    char *copy = malloc(len);
    if (!copy)
        exit(1);
    for (int i = 0; i < ROUNDS; i++) {
        double start = seconds();
        memcpy(copy, text, len);
        __asm__ volatile("" : : "r"(copy) : "memory");
        double time = seconds() - start;
        least = time < least ? time : least;
    }
    free(copy);
    return least;
}

static double best_hash(const char *text, size_t len)
{
    double least = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        struct sha256 s;
        unsigned char digest[SHA256_BYTES];
        double start = seconds();
        sha256_start(&s);
        sha256_add(&s, text, len);
        sha256_end(&s, digest);
        double time = seconds() - start;
        least = time < least ? time : least;
    }
    return least;
}

static void print(const char *what, size_t len, double time, double hash_rate)
{
    double rate = (double)len / time / 1e6;
    printf("  %-52s %8.0f MB/s   %6.2f × SHA-256\n", what, rate, rate / hash_rate);
}

static void measure_short(const struct redactor *r)
{
    static const char *const texts[] = {"git status --short", "make -j2 test",
                                        "curl -u me:hunter2 https://x"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct buf out;
        buf_init(&out, &allocator_libc, 4096);
        double start = seconds();
        for (int n = 0; n < SHORT_TIMES; n++) {
            buf_clear(&out);
            if (redact_text(r, texts[i], strlen(texts[i]), &out, NULL, NULL) < 0)
                exit(1);
        }
        printf("  %-52s %8.3f µs\n", texts[i], (seconds() - start) / SHORT_TIMES * 1e6);
        buf_release(&out);
    }
}

static void measure_making(void)
{
    static const struct redact_value value = {"TOKEN", "correct-horse-battery-staple", 28};
    const struct redact_options options = {.values = &value, .value_count = 1};
    for (int with = 0; with < 2; with++) {
        double start = seconds();
        for (int n = 0; n < 1000; n++) {
            struct redactor *r;
            if (redactor_new(with ? &options : NULL, &r, NULL) < 0)
                exit(1);
            redactor_free(r);
        }
        printf("  %-52s %8.3f µs\n", with ? "a redactor for one value" : "a redactor",
               (seconds() - start) / 1000 * 1e6);
    }
}

int main(void)
{
    static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const struct {
        const char *name, *text;
    } hostile[] = {
        {"hostile: 'password=' over and over", "password="},
        {"hostile: 'password=' with a colour each", "password=\x1b[1m"},
        {"hostile: 'A' over and over", "A"},
        {"hostile: '-' over and over", "-"},
        {"hostile: 'AKIA' over and over", "AKIA"},
        {"hostile: 'ghp_' over and over", "ghp_"},
        {"hostile: 'eyJ' over and over", "eyJ"},
        {"hostile: 'eyJabcdefghij.' over and over", "eyJabcdefghij."},
        {"hostile: '://a:b' over and over", "://a:b"},
        {"hostile: BEGIN lines over and over", "-----BEGIN RSA PRIVATE KEY-----"},
        {"hostile: BEGIN lines with half a key",
         "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAr0aXkq1zQ0t8c9b7n3v5\n"},
        {"hostile: 'cookie: a=b; ' over and over", "cookie: a=b; "},
        {"hostile: 'mysql -u a ' over and over", "mysql -u a "},
        {"hostile: 'aws aws aws' over and over", "aws "},
        {"hostile: 'secret_key_base' over and over", "secret_key_base"},
        {"hostile: '\"d\":\"' over and over", "\"d\":\""},
    };
    struct redactor *r, *valued;
    char *text = malloc(TEXT);
    static const struct redact_value values[] = {{"A", "correct-horse-battery-staple", 28},
                                                 {"B", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 32}};
    const struct redact_options options = {.values = values, .value_count = 2};
    if (!text || redactor_new(NULL, &r, NULL) < 0 || redactor_new(&options, &valued, NULL) < 0)
        return 1;
    size_t len = make_build(text, TEXT);
    double hash_rate = (double)len / best_hash(text, len) / 1e6;
    print("memcpy", len, best_copy(text, len), hash_rate);
    print("SHA-256", len, best_hash(text, len), hash_rate);
    print("ordinary build output", len, best_redact(r, text, len), hash_rate);
    print("ordinary build output, with two exact values", len, best_redact(valued, text, len),
          hash_rate);
    len = make_random(text, HOSTILE, base64);
    print("random base64", len, best_redact(r, text, len), hash_rate);
    double worst = 1e9;
    const char *which = "";
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        len = make_repeated(text, HOSTILE, hostile[i].text);
        double spent = best_redact(r, text, len);
        print(hostile[i].name, len, spent, hash_rate);
        if ((double)len / spent / 1e6 < worst) {
            worst = (double)len / spent / 1e6;
            which = hostile[i].name;
        }
    }
    len = make_repeated(text, HOSTILE, "aaaaaaaaaaaaaaaa");
    double time = best_redact(valued, text, len), rate = (double)len / time / 1e6;
    print("hostile: the beginning of an exact value", len, time, hash_rate);
    if (rate < worst) {
        worst = rate;
        which = "the beginning of an exact value";
    }
    printf("  the worst is %s: %.0f MB/s\n", which, worst);
    measure_short(r);
    measure_making();
    redactor_free(r);
    redactor_free(valued);
    free(text);
    return 0;
}
