/* The base room's own promises, edge cases first. Text and options have tests of their own. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "base/units.h"
#include "base/uuid.h"
#include "tap.h"

enum { NEVER = -1 };

/* Fails once `left` allocations have succeeded, and counts what is still held. */
struct failing {
    long left;
    long held;
};

static void *failing_resize(void *user, void *old, size_t size)
{
    struct failing *f = user;
    if (size == 0) {
        f->held -= old != NULL;
        free(old);
        return NULL;
    }
    if (f->left == 0)
        return NULL;
    f->left -= f->left > 0;
    f->held += old == NULL;
    return realloc(old, size);
}

static void test_arena(void)
{
    struct failing f = {.left = NEVER};
    const struct allocator allocator = {failing_resize, &f};
    struct arena a;

    arena_init(&a, &allocator, 0);
    tap_check(!arena_alloc(&a, 1) && a.failed, "arena: nothing fits into none");
    arena_release(&a);

    arena_init(&a, &allocator, 100);
    tap_check(arena_alloc(&a, 96) != NULL && a.total <= 100, "arena: up to the maximum fits");
    tap_check(!arena_alloc(&a, 16), "arena: past the maximum does not");
    tap_check(a.failed && !arena_alloc(&a, 1), "arena: failure is sticky");
    arena_release(&a);
    tap_number(f.held, 0, "arena: release gives all back");
    tap_check(!a.failed && arena_alloc(&a, 1), "arena: usable again after release");
    arena_release(&a);

    arena_init(&a, &allocator, SIZE_MAX);
    tap_check(!arena_alloc(&a, SIZE_MAX) && a.failed, "arena: a size that overflows fails");
    arena_release(&a);
    tap_check(!arena_alloc_array(&a, SIZE_MAX / 2, 3) && a.failed, "arena: so does a product");
    arena_release(&a);
    tap_check(!arena_copy(&a, "", SIZE_MAX) && a.failed, "arena: so does a copy");
    arena_release(&a);

    bool aligned = true, zeroed = true, apart = true;
    unsigned char *last = NULL;
    for (size_t size = 1; size < 3000; size += 7) {
        unsigned char *memory = arena_alloc(&a, size);
        if (!memory)
            break;
        aligned = aligned && (uintptr_t)memory % _Alignof(uint64_t) == 0;
        for (size_t i = 0; i < size; i++)
            zeroed = zeroed && memory[i] == 0;
        memset(memory, 0xAA, size);
        apart = apart && (!last || last[0] == 0xAA);
        last = memory;
    }
    tap_check(aligned && !a.failed, "arena: aligned for pointers and numbers of 64 bits");
    tap_check(zeroed && apart, "arena: zeroed, and apart from what was given before");
    char *copy = arena_copy(&a, "a\0b", 3);
    tap_check(copy && memcmp(copy, "a\0b", 4) == 0, "arena: a copy keeps NULs and gets one behind");
    tap_check(arena_copy(&a, NULL, 0) != NULL, "arena: a copy of nothing");
    tap_text(arena_format(&a, "%s-%d", "x", 7), "x-7", "arena: format");
    arena_release(&a);

    long turns = 0;
    bool closed = true;
    for (bool done = false; !done && turns < 100; turns++) {
        f.left = turns;
        arena_init(&a, &allocator, SIZE_MAX);
        for (int i = 0; i < 8; i++) {
            void *memory = arena_alloc(&a, 4000);
            closed = closed && (memory != NULL) == !a.failed;
        }
        done = !a.failed;
        arena_release(&a);
    }
    tap_check(closed && turns > 2 && turns < 100, "arena: each failing allocation is reported");
    tap_number(f.held, 0, "arena: nothing leaks on failure");
}

static void test_buf(void)
{
    struct failing f = {.left = NEVER};
    const struct allocator allocator = {failing_resize, &f};
    struct buf b;

    buf_init(&b, &allocator, 5);
    tap_text(b.data, "", "buf: a text before the first append");
    tap_number(buf_append(&b, NULL, 0), 0, "buf: nothing can be appended");
    tap_number(buf_append_text(&b, "12345"), 0, "buf: up to the maximum fits");
    tap_number(buf_append_byte(&b, '6'), -E2BIG, "buf: past the maximum does not");
    tap_text(b.data, "12345", "buf: a failed append changes nothing");
    tap_number(buf_append(&b, "", 0), -E2BIG, "buf: failure is remembered");
    buf_clear(&b);
    tap_check(b.len == 0 && b.data[0] == '\0' && !b.failed, "buf: clear empties and forgets");
    tap_number(buf_append_format(&b, "%d", 123456), -E2BIG, "buf: format past the maximum");
    tap_number((long long)b.len, 0, "buf: a format that does not fit leaves nothing");
    buf_clear(&b);
    tap_number(buf_append_format(&b, "%s%d", "ab", 123), 0, "buf: format up to the maximum");
    tap_text(b.data, "ab123", "buf: format's text");
    tap_number(buf_reserve(&b, SIZE_MAX), -E2BIG, "buf: a huge reserve is too big, not too small");
    buf_release(&b);
    tap_check(b.len == 0 && f.held == 0 && !b.failed, "buf: release gives all back");
    buf_release(&b);
    tap_number(f.held, 0, "buf: release twice");

    buf_init(&b, &allocator, 0);
    tap_number(buf_append_byte(&b, 'x'), -E2BIG, "buf: nothing fits into none");
    buf_release(&b);

    buf_init(&b, &allocator, 100);
    buf_append(&b, "a\0b", 3);
    tap_check(b.len == 3 && memcmp(b.data, "a\0b", 4) == 0, "buf: NULs are bytes");
    buf_release(&b);

    long turns = 0;
    bool consistent = true;
    for (bool done = false; !done && turns < 100; turns++) {
        f.left = turns;
        buf_init(&b, &allocator, 1 << 20);
        size_t reached = 0;
        for (int i = 0; i < 500; i++) {
            int r = i % 2 ? buf_append_text(&b, "0123456789") : buf_append_format(&b, "%010d", i);
            reached += r == 0 ? 10 : 0;
            consistent = consistent && r == b.failed && (r == 0 || r == -ENOMEM);
        }
        consistent = consistent && b.len == reached && strlen(b.data) == reached;
        done = b.failed == 0 && reached == 5000;
        buf_release(&b);
    }
    tap_check(consistent && turns > 3 && turns < 100, "buf: each failing allocation is reported");
    tap_number(f.held, 0, "buf: nothing leaks on failure");
}

static void test_err(void)
{
    struct err e = {0};
    tap_number(err_set(&e, -EINVAL, "no '%s'", "x"), -EINVAL, "err: set returns the code");
    tap_text(e.message, "no 'x'", "err: message");
    tap_number(e.code, -EINVAL, "err: code");
    tap_number(err_context(&e, -EINVAL, "file %d", 3), -EINVAL, "err: context returns the code");
    tap_text(e.message, "file 3: no 'x'", "err: context stands in front");
    tap_number(err_errno(&e, -ENOENT, "cannot open"), -ENOENT, "err: errno returns the code");
    tap_text(e.message, "cannot open: No such file or directory", "err: errno's text");

    tap_number(err_set(NULL, -EIO, "x"), -EIO, "err: set without a place for the message");
    tap_number(err_errno(NULL, -EIO, "x"), -EIO, "err: errno without a place");
    tap_number(err_context(NULL, -EIO, "x"), -EIO, "err: context without a place");

    char longer[2 * ERR_MESSAGE_MAX];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    err_set(&e, -EINVAL, "%s", longer);
    tap_number((long long)strlen(e.message), ERR_MESSAGE_MAX - 1, "err: a long message is cut");
    err_errno(&e, -EINVAL, "%s", longer);
    tap_number((long long)strlen(e.message), ERR_MESSAGE_MAX - 1, "err: with errno too");
    err_context(&e, -EINVAL, "context");
    tap_check(strlen(e.message) == ERR_MESSAGE_MAX - 1 && strncmp(e.message, "context: x", 10) == 0,
              "err: context before a full message");
    err_context(&e, -EINVAL, "%s", longer);
    tap_number((long long)strlen(e.message), ERR_MESSAGE_MAX - 1, "err: a long context is cut");
}

/* The reader takes its time, so that a large write comes in pieces. */
static void test_fd_write_all(void)
{
    enum { SIZE = 1 << 20 };
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        unsigned char piece[1000], should = 0;
        ssize_t n;
        long total = 0;
        while ((n = read(ends[0], piece, sizeof(piece))) > 0) {
            for (ssize_t i = 0; i < n; i++, should = (unsigned char)(should + 7)) {
                if (piece[i] != should)
                    _exit(2);
            }
            total += n;
        }
        _exit(total == SIZE ? 0 : 3);
    }
    close(ends[0]);
    unsigned char *bytes = malloc(SIZE);
    if (!bytes)
        abort();
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char)(i * 7);
    tap_number(fd_write_all(ends[1], bytes, SIZE), 0, "fd: a large write goes out whole");
    free(bytes);
    close(ends[1]);
    int status = -1;
    waitpid(child, &status, 0);
    tap_number(status, 0, "fd: and arrives whole and in order");
}

static void test_fd_write_quietly(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    tap_number(fd_write_quietly(ends[1], "abc", 3), 3, "fd: a quiet write writes");
    close(ends[0]);
    /* SIGPIPE would end this program here. */
    signal(SIGPIPE, SIG_DFL);
    tap_number(fd_write_quietly(ends[1], "abc", 3), -EPIPE, "fd: no reader, no signal");
    sigset_t mask, pipe_signal;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    tap_check(!sigismember(&mask, SIGPIPE), "fd: the signal mask is as before");

    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL);
    fd_write_quietly(ends[1], "abc", 3);
    sigpending(&mask);
    tap_check(!sigismember(&mask, SIGPIPE), "fd: where it was blocked, none is left waiting");
    raise(SIGPIPE);
    fd_write_quietly(ends[1], "abc", 3);
    const struct timespec none = {0};
    tap_number(sigtimedwait(&pipe_signal, NULL, &none), SIGPIPE, "fd: one from before still waits");
    pthread_sigmask(SIG_UNBLOCK, &pipe_signal, NULL);
    close(ends[1]);
    tap_number(fd_write_quietly(-1, "abc", 3), -EBADF, "fd: other failures come through");
}

static int scoped_fd;

static void open_in_scope(void)
{
    FD_CLEANUP int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    scoped_fd = fd;
}

static void test_fd(void)
{
    errno = 77;
    int fd = -1;
    fd_close(&fd);
    fd = 1000000;
    fd_close(&fd);
    tap_check(errno == 77 && fd == -1, "fd: close keeps errno and forgets the number");
    open_in_scope();
    tap_check(scoped_fd >= 0 && fcntl(scoped_fd, F_GETFD) == -1, "fd: closed at the scope's end");
    fd = 5;
    tap_check(fd_steal(&fd) == 5 && fd == -1, "fd: steal hands over");
    tap_number(fd_write_all(-1, "x", 1), -EBADF, "fd: write to none fails");
    tap_number(fd_write_all(-1, NULL, 0), 0, "fd: nothing is written anywhere");

    FD_CLEANUP int memory = fd_sealed_memory("test", "hello", 5);
    char text[8] = "";
    tap_check(read(memory, text, sizeof(text)) == 5 && strcmp(text, "hello") == 0,
              "fd: sealed memory reads from its start");
    tap_check(write(memory, "x", 1) == -1 && errno == EPERM, "fd: sealed against writes");
    tap_check(ftruncate(memory, 0) == -1 && errno == EPERM, "fd: sealed against shrinking");
    tap_check(ftruncate(memory, 50) == -1 && errno == EPERM, "fd: sealed against growing");
    tap_check(fcntl(memory, F_ADD_SEALS, 0) == -1 && errno == EPERM, "fd: seals are sealed");
    tap_number(fcntl(memory, F_GETFD), FD_CLOEXEC, "fd: sealed memory is close-on-exec");
    FD_CLEANUP int nothing = fd_sealed_memory("test", NULL, 0);
    tap_check(nothing >= 0, "fd: sealed memory may be empty");

    FD_CLEANUP int copy = fd_copy_above(memory, 50);
    tap_check(copy >= 50 && fcntl(copy, F_GETFD) == FD_CLOEXEC, "fd: a copy above, close-on-exec");
    tap_number(fd_copy_above(-1, 50), -EBADF, "fd: a copy of none fails");
    test_fd_write_all();
    test_fd_write_quietly();
}

static void sha256_of(const char *bytes, size_t len, size_t cut, char ret_text[SHA256_HEX + 1])
{
    struct sha256 s;
    unsigned char digest[SHA256_BYTES];
    sha256_start(&s);
    sha256_add(&s, bytes, cut);
    sha256_add(&s, bytes + cut, len - cut);
    sha256_end(&s, digest);
    sha256_hex(digest, ret_text);
}

static void test_sha256(void)
{
    char text[SHA256_HEX + 1], pieces[SHA256_HEX + 1];
    sha256_of("", 0, 0, text);
    tap_text(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
             "sha256: nothing");
    sha256_of("abc", 3, 3, text);
    tap_text(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
             "sha256: abc");
    const char *blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    sha256_of(blocks, 56, 56, text);
    tap_text(text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
             "sha256: two blocks");

    struct sha256 s;
    unsigned char digest[SHA256_BYTES];
    sha256_start(&s);
    for (int i = 0; i < 100000; i++)
        sha256_add(&s, "aaaaaaaaaa", 10);
    sha256_end(&s, digest);
    sha256_hex(digest, text);
    tap_text(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
             "sha256: a million letters");

    char bytes[200];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 37);
    bool same = true;
    sha256_of(bytes, sizeof(bytes), 0, text);
    for (size_t cut = 1; cut <= sizeof(bytes); cut++) {
        sha256_of(bytes, sizeof(bytes), cut, pieces);
        same = same && strcmp(text, pieces) == 0;
    }
    tap_check(same, "sha256: pieces do not matter");
}

static void test_uuid(void)
{
    char seen[64][UUID_TEXT + 1];
    bool shape = true, distinct = true;
    unsigned variants = 0;
    for (size_t i = 0; i < 64; i++) {
        if (uuid_new(seen[i]) < 0 || strlen(seen[i]) != UUID_TEXT) {
            shape = false;
            break;
        }
        for (size_t at = 0; at < UUID_TEXT; at++) {
            bool dash = at == 8 || at == 13 || at == 18 || at == 23;
            shape = shape &&
                    (dash ? seen[i][at] == '-' : strchr("0123456789abcdef", seen[i][at]) != NULL);
        }
        const char *variant = strchr("89ab", seen[i][19]);
        shape = shape && seen[i][14] == '4' && variant;
        variants |= variant ? 1U << (variant[0] & 0xF) : 0;
        for (size_t before = 0; before < i; before++)
            distinct = distinct && strcmp(seen[i], seen[before]) != 0;
    }
    tap_check(shape, "uuid: shape, version and variant");
    tap_check(distinct && (variants & (variants - 1)), "uuid: no two alike");
}

static void test_clock(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } times[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {-1000, "1969-12-31T23:59:59.000Z"},
        {951782400007, "2000-02-29T00:00:00.007Z"},
        {1767323045678, "2026-01-02T03:04:05.678Z"},
        {INT64_MIN, "0001-01-01T00:00:00.000Z"},
        {-62135596800000, "0001-01-01T00:00:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {253402300800000, "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
    };
    setenv("TZ", "Asia/Tokyo", 1);
    tzset();
    char text[CLOCK_RFC3339 + 1];
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        clock_format_rfc3339(times[i].ms, text);
        tap_text(text, times[i].text, "clock: rfc 3339");
    }
    size_t other = 0;
    for (time_t at = -62135596800; at <= 253402300799; at += 1000003) {
        struct tm t;
        char wanted[CLOCK_RFC3339 + 1];
        gmtime_r(&at, &t);
        strftime(wanted, sizeof(wanted), "%Y-%m-%dT%H:%M:%S.000Z", &t);
        clock_format_rfc3339((int64_t)at * 1000, text);
        other += strcmp(strchr(wanted, '-'), strchr(text, '-')) != 0;
    }
    tap_check(other == 0, "clock: every date is the C library's");
    uint64_t before = clock_monotonic_ms();
    int64_t utc = clock_utc_ms();
    usleep(5000);
    uint64_t passed = clock_monotonic_ms() - before;
    tap_check(passed >= 4 && passed < 60000, "clock: monotonic counts milliseconds");
    tap_check(utc / 1000 - time(NULL) <= 1 && time(NULL) - utc / 1000 < 60, "clock: utc is now");
}

static void test_units(void)
{
    static const struct {
        const char *text;
        int duration, size; /* returned */
        uint64_t ms, bytes;
    } parses[] = {
        {"", -EINVAL, -EINVAL, 0, 0},
        {" ", -EINVAL, -EINVAL, 0, 0},
        {"s", -EINVAL, -EINVAL, 0, 0},
        {"-1", -EINVAL, -EINVAL, 0, 0},
        {"+1", -EINVAL, -EINVAL, 0, 0},
        {" 1", -EINVAL, -EINVAL, 0, 0},
        {"1 ", -EINVAL, -EINVAL, 0, 0},
        {"1.", -EINVAL, -EINVAL, 0, 0},
        {".5", -EINVAL, -EINVAL, 0, 0},
        {"1.5.5", -EINVAL, -EINVAL, 0, 0},
        {"1e3", -EINVAL, -EINVAL, 0, 0},
        {"0x10", -EINVAL, -EINVAL, 0, 0},
        {"1  s", -EINVAL, -EINVAL, 0, 0},
        {"1.0001", -EINVAL, -EINVAL, 0, 0},
        {"5x", -EINVAL, -EINVAL, 0, 0},
        {"0", 0, 0, 0, 0},
        {"0.0", 0, 0, 0, 0},
        {"1", 0, 0, 1000, 1},
        {"1.5", 0, 0, 1500, 1},
        {"0.5", 0, -EINVAL, 500, 0},
        {"1.5000000", 0, 0, 1500, 1},
        {"30s", 0, -EINVAL, 30000, 0},
        {"500ms", 0, -EINVAL, 500, 0},
        {"0.5ms", -EINVAL, -EINVAL, 0, 0},
        {"1.5 h", 0, -EINVAL, 5400000, 0},
        {"0.001s", 0, -EINVAL, 1, 0},
        {"2m", 0, 0, 120000, 2097152},
        {"64KiB", -EINVAL, 0, 0, 65536},
        {"512MB", -EINVAL, 0, 0, 536870912},
        {"1gb", -EINVAL, 0, 0, 1073741824},
        {"0.5T", -EINVAL, 0, 0, 549755813888},
        {"18446744073709551615", -ERANGE, 0, 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, -ERANGE, 0, 0},
        {"16777215T", -EINVAL, 0, 0, 16777215ULL << 40},
        {"16777216T", -EINVAL, -ERANGE, 0, 0},
        {"18446744073709551.615s", 0, -EINVAL, UINT64_MAX, 0},
        {"18446744073709551.616s", -ERANGE, -EINVAL, 0, 0},
    };
    for (size_t i = 0; i < sizeof(parses) / sizeof(parses[0]); i++) {
        uint64_t ms = 42, bytes = 42;
        int r = units_parse_duration(parses[i].text, &ms);
        tap_check(r == parses[i].duration && ms == (r < 0 ? 42 : parses[i].ms),
                  "units: '%s' as a duration", parses[i].text);
        r = units_parse_size(parses[i].text, &bytes);
        tap_check(r == parses[i].size && bytes == (r < 0 ? 42 : parses[i].bytes),
                  "units: '%s' as a size", parses[i].text);
    }

    static const struct {
        uint64_t value;
        const char *duration, *size;
    } formats[] = {
        {0, "0 ms", "0 B"},
        {999, "999 ms", "999 B"},
        {1000, "1 s", "1000 B"},
        {1023, "1 s", "1023 B"},
        {1024, "1 s", "1 KB"},
        {1536, "1.5 s", "1.5 KB"},
        {1999, "1.9 s", "1.9 KB"},
        {120000, "120 s", "117.1 KB"},
        {1048575, "1048.5 s", "1023.9 KB"},
        {1048576, "1048.5 s", "1 MB"},
        {1610612736, "1610612.7 s", "1.5 GB"},
        {UINT64_MAX, "18446744073709551.6 s", "16777215.9 TB"},
    };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        char text[UNITS_TEXT];
        units_format_duration(formats[i].value, text);
        tap_text(text, formats[i].duration, "units: a duration's text");
        units_format_size(formats[i].value, text);
        tap_text(text, formats[i].size, "units: a size's text");
    }
}

int main(void)
{
    /* A write to the closed output of a child must not be repeated there. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_arena();
    test_buf();
    test_err();
    test_fd();
    test_sha256();
    test_uuid();
    test_clock();
    test_units();
    return tap_done();
}
