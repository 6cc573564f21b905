/* Diffs of texts: they apply, they are small, they cost no more than they may, and patch agrees. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apply_patch.h"
#include "base/fd.h"
#include "changes/text_diff.h"
#include "tap.h"

enum { MEMORY_MAX = 256 << 20, TEXT_MAX = 4096 };

static uint64_t random_state = 0x9E3779B97F4A7C15U;

static size_t random_below(size_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state >> 11) % bound;
}

/* Lines of a small alphabet, so that many are alike; the last one may have no end. */
static size_t random_text(char *ret, size_t lines, size_t alphabet)
{
    size_t len = 0;
    for (size_t i = random_below(lines + 1); i > 0; i--) {
        size_t n = random_below(alphabet);
        for (size_t k = 0; k <= n % 4; k++)
            ret[len++] = (char)('a' + n % 26);
        ret[len++] = '\n';
    }
    return len && random_below(4) == 0 ? len - 1 : len;
}

/* The same text with some lines changed here and there. */
static size_t random_edit(const char *text, size_t len, char *ret)
{
    size_t out = 0;
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t next = end ? (size_t)(end - text) + 1 : len;
        size_t what = random_below(12);
        if (what != 0) {
            memcpy(ret + out, text + at, next - at);
            out += next - at;
        }
        if (what == 1)
            out += random_text(ret + out, 3, 6);
        at = next;
    }
    return out;
}

static bool applies(const struct text_diff *diff, struct buf *shown)
{
    struct buf result;
    buf_init(&result, &allocator_libc, MEMORY_MAX);
    bool good = text_diff_append(diff, shown) == 0 &&
                apply_patch(diff->a, diff->a_len, shown->data, shown->len, &result) &&
                result.len == diff->b_len && memcmp(result.data, diff->b, result.len) == 0;
    buf_release(&result);
    return good;
}

static void test_shown(const char *a, const char *b, const char *should, const char *name)
{
    struct arena arena;
    struct text_diff diff;
    struct buf shown;
    arena_init(&arena, &allocator_libc, MEMORY_MAX);
    buf_init(&shown, &allocator_libc, TEXT_MAX);
    int r = text_diff_make(&arena, a, strlen(a), b, strlen(b), &diff);
    tap_check(r == 0 && applies(&diff, &shown), "%s: applies", name);
    tap_text(shown.data, should, name);
    buf_release(&shown);
    arena_release(&arena);
}

static void test_form(void)
{
    test_shown("a\nb\n", "a\nb\n", "", "alike");
    test_shown("", "", "", "both empty");
    test_shown("", "a\n", "@@ -0,0 +1 @@\n+a\n", "from nothing");
    test_shown("a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n", "to nothing");
    test_shown("a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "end lost");
    test_shown("x\na", "y\na", "@@ -1,2 +1,2 @@\n-x\n+y\n a\n\\ No newline at end of file\n",
               "no end in both");
    test_shown("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n!\n6\n7\n8\n9\n",
               "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+!\n 6\n 7\n 8\n", "three lines around");
    test_shown("!\n1\n2\n3\n4\n5\n6\n!\n", "?\n1\n2\n3\n4\n5\n6\n?\n",
               "@@ -1,8 +1,8 @@\n-!\n+?\n 1\n 2\n 3\n 4\n 5\n 6\n-!\n+?\n",
               "six between: one hunk");
    test_shown("!\n1\n2\n3\n4\n5\n6\n7\n!\n", "?\n1\n2\n3\n4\n5\n6\n7\n?\n",
               "@@ -1,4 +1,4 @@\n-!\n+?\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-!\n+?\n",
               "seven between: two hunks");
    test_shown("f {\n}\nh {\n}\nend\n", "f {\n}\n\ng {\n}\nh {\n}\n!\n",
               "@@ -1,5 +1,8 @@\n f {\n }\n+\n+g {\n+}\n h {\n }\n-end\n+!\n",
               "what was added stands as far down as it can");
    test_shown("a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n", "a carriage return counts");
}

static void test_names(void)
{
    static const struct {
        const char *name, *shown;
    } rows[] = {
        {"plain-name_1.c", "a/plain-name_1.c"},
        {"with blank", "a/with blank"},
        {"\xc3\xa4", "\"a/\\303\\244\""},
        {"tab\tand\nline", "\"a/tab\\tand\\nline\""},
        {"quote\"back\\slash", "\"a/quote\\\"back\\\\slash\""},
        {"\x1b[31m\x7f", "\"a/\\033[31m\\177\""},
    };
    struct buf out;
    buf_init(&out, &allocator_libc, TEXT_MAX);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        buf_clear(&out);
        text_append_name("a/", rows[i].name, &out);
        tap_text(out.data, rows[i].shown, "a name as git has it");
    }
    buf_clear(&out);
    text_append_file("---", "a/", "with blank", &out);
    text_append_file("+++", "b/", NULL, &out);
    tap_text(out.data, "--- a/with blank\t\n+++ /dev/null\n", "lines that name files");
    buf_release(&out);
    tap_check(text_is_binary("a\0b", 3) && !text_is_binary("ab", 2) && !text_is_binary("", 0),
              "a NUL makes it binary");
}

/* --- small ones against the plain definition ----------------------------------------------------
 */

enum { SMALL = 24 };

struct lines {
    const char *at[SMALL * 2];
    size_t len[SMALL * 2], count;
};

static struct lines lines_of(const char *text, size_t len)
{
    struct lines l = {.count = 0};
    for (size_t at = 0; at < len; l.count++) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t next = end ? (size_t)(end - text) + 1 : len;
        l.at[l.count] = text + at;
        l.len[l.count] = next - at;
        at = next;
    }
    return l;
}

static size_t fewest_edits(const struct lines *a, const struct lines *b)
{
    static size_t table[SMALL * 2 + 1][SMALL * 2 + 1];
    for (size_t i = 0; i <= a->count; i++) {
        for (size_t j = 0; j <= b->count; j++) {
            if (i == 0 || j == 0)
                table[i][j] = i + j;
            else if (a->len[i - 1] == b->len[j - 1] &&
                     memcmp(a->at[i - 1], b->at[j - 1], a->len[i - 1]) == 0)
                table[i][j] = table[i - 1][j - 1];
            else
                table[i][j] =
                    1 + (table[i - 1][j] < table[i][j - 1] ? table[i - 1][j] : table[i][j - 1]);
        }
    }
    return table[a->count][b->count];
}

static void test_small(void)
{
    enum { PAIRS = 20000 };
    size_t wrong = 0, larger = 0;
    for (size_t i = 0; i < PAIRS; i++) {
        char a[TEXT_MAX], b[TEXT_MAX];
        size_t alphabet = 1 + random_below(12);
        size_t a_len = random_text(a, SMALL, alphabet), b_len = random_text(b, SMALL, alphabet);
        struct arena arena;
        struct text_diff diff;
        struct buf shown;
        arena_init(&arena, &allocator_libc, MEMORY_MAX);
        buf_init(&shown, &allocator_libc, 1 << 20);
        bool made = text_diff_make(&arena, a, a_len, b, b_len, &diff) == 0;
        wrong += !made || !applies(&diff, &shown);
        struct lines x = lines_of(a, a_len), y = lines_of(b, b_len);
        larger += made && diff.removed + diff.added != fewest_edits(&x, &y);
        buf_release(&shown);
        arena_release(&arena);
    }
    tap_number((long long)wrong, 0, "every random pair applies");
    tap_number((long long)larger, 0, "no pair has fewer edits than ours");
}

/* --- patch(1) as a witness ----------------------------------------------------------------------
 */

static bool write_file(int dir, const char *name, const char *bytes, size_t len)
{
    FD_CLEANUP int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return fd >= 0 && fd_write_all(fd, bytes, len) == 0;
}

static bool is_content(int dir, const char *name, const char *bytes, size_t len)
{
    char content[2 * TEXT_MAX];
    FD_CLEANUP int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) /* patch removes a file that has become empty */
        return errno == ENOENT && len == 0;
    ssize_t n = read(fd, content, sizeof(content));
    return n == (ssize_t)len && memcmp(content, bytes, len) == 0;
}

static int run_patch(const char *directory)
{
    pid_t child = fork();
    if (child == 0) {
        if (chdir(directory) == 0)
            execlp("patch", "patch", "-s", "-p1", "--fuzz=0", "-i", "all.patch", (char *)NULL);
        _exit(127);
    }
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static void test_patch(void)
{
    enum { FILES = 3000 };
    static char b[FILES][2 * TEXT_MAX];
    static size_t b_len[FILES];
    char directory[] = "/tmp/nacre-diff.XXXXXX", name[32];
    struct buf all;
    buf_init(&all, &allocator_libc, MEMORY_MAX);
    FD_CLEANUP int dir =
        mkdtemp(directory) ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    size_t wrong = dir < 0;
    for (size_t i = 0; !wrong && i < FILES; i++) {
        char a[TEXT_MAX];
        size_t a_len = random_text(a, 200, 1 + random_below(60));
        b_len[i] = random_edit(a, a_len, b[i]);
        struct arena arena;
        struct text_diff diff;
        arena_init(&arena, &allocator_libc, MEMORY_MAX);
        snprintf(name, sizeof(name), "f%zu", i);
        wrong += !write_file(dir, name, a, a_len) ||
                 text_diff_make(&arena, a, a_len, b[i], b_len[i], &diff) < 0;
        if (!wrong && diff.count) {
            text_append_file("---", "a/", name, &all);
            text_append_file("+++", "b/", name, &all);
            text_diff_append(&diff, &all);
        }
        arena_release(&arena);
    }
    tap_check(!wrong && write_file(dir, "all.patch", all.data, all.len), "a patch of %d files",
              FILES);
    tap_number(run_patch(directory), 0, "patch takes it without a doubt");
    for (size_t i = 0; dir >= 0 && i < FILES; i++) {
        snprintf(name, sizeof(name), "f%zu", i);
        wrong += !is_content(dir, name, b[i], b_len[i]);
        unlinkat(dir, name, 0);
    }
    tap_number((long long)wrong, 0, "and comes to the second texts");
    unlinkat(dir, "all.patch", 0);
    rmdir(directory);
    buf_release(&all);
}

/* --- texts that are made to hurt ----------------------------------------------------------------
 */

enum hostile { ALL_DIFFER, ALL_ALIKE, SHUFFLED, TWO_KINDS, EMPTY_LINES, HOSTILE_KINDS };

static const char *const hostile_names[] = {
    [ALL_DIFFER] = "lines that all differ",  [ALL_ALIKE] = "lines that are all alike",
    [SHUFFLED] = "the same lines shuffled",  [TWO_KINDS] = "two kinds of lines at random",
    [EMPTY_LINES] = "nothing but line ends",
};

static size_t hostile_text(enum hostile kind, bool second, char *ret, size_t max)
{
    size_t len = 0;
    for (size_t i = 0; len + 32 < max; i++) {
        int n = 0;
        if (kind == ALL_DIFFER)
            n = snprintf(ret + len, 32, "%c%zu\n", second ? 'b' : 'a', i);
        else if (kind == ALL_ALIKE)
            n = snprintf(ret + len, 32, i == 0 ? "%c\n" : "x\n", second ? 'b' : 'a');
        else if (kind == SHUFFLED)
            n = snprintf(ret + len, 32, "%zu\n", second ? random_below(100000) : i % 100000);
        else if (kind == TWO_KINDS)
            n = snprintf(ret + len, 32, "%zu\n", random_below(2));
        else
            n = snprintf(ret + len, 32, i == 0 ? "%c\n" : "\n", second ? 'b' : 'a');
        len += (size_t)n;
        if (kind == ALL_ALIKE && second && len > max / 2)
            break;
    }
    if (!second && kind == EMPTY_LINES)
        ret[len - 1] = '!';
    return len;
}

static void test_hostile(void)
{
    static const size_t sizes[] = {1 << 20, TEXT_DIFF_BYTES_MAX};
    char *a = malloc(TEXT_DIFF_BYTES_MAX), *b = malloc(TEXT_DIFF_BYTES_MAX);
    for (size_t i = 0; a && b && i < (size_t)HOSTILE_KINDS * 2; i++) {
        enum hostile kind = (enum hostile)(i / 2);
        size_t a_len = hostile_text(kind, false, a, sizes[i % 2]);
        size_t b_len = hostile_text(kind, true, b, sizes[i % 2]);
        struct arena arena;
        struct text_diff diff = {0};
        struct buf shown;
        arena_init(&arena, &allocator_libc, MEMORY_MAX);
        buf_init(&shown, &allocator_libc, MEMORY_MAX);
        int r = text_diff_make(&arena, a, a_len, b, b_len, &diff);
        tap_check(r == 0 && applies(&diff, &shown), "%s, %zu bytes: applies", hostile_names[kind],
                  sizes[i % 2]);
        tap_check(diff.work <= 110000000 && arena.total <= 128 << 20,
                  "%s: bounded (%llu steps, %zu bytes)", hostile_names[kind],
                  (unsigned long long)diff.work, arena.total);
        buf_release(&shown);
        arena_release(&arena);
    }
    struct arena arena;
    struct text_diff diff;
    arena_init(&arena, &allocator_libc, MEMORY_MAX);
    tap_number(text_diff_make(&arena, "", 0, a, TEXT_DIFF_BYTES_MAX + 1, &diff), -E2BIG,
               "what is larger is refused");
    arena_release(&arena);
    free(a);
    free(b);
}

/* Out of memory at every place where it is asked for. */
static void test_memory(void)
{
    char a[TEXT_MAX], b[2 * TEXT_MAX];
    size_t a_len = random_text(a, 400, 50), b_len = random_edit(a, a_len, b), failures = 0;
    for (size_t max = 0; max < 1 << 18; max += 512) {
        struct arena arena;
        struct text_diff diff;
        arena_init(&arena, &allocator_libc, max);
        int r = text_diff_make(&arena, a, a_len, b, b_len, &diff);
        failures += r == -ENOMEM;
        if (r != 0 && r != -ENOMEM)
            tap_number(r, -ENOMEM, "without memory");
        arena_release(&arena);
    }
    tap_check(failures > 0, "without memory it fails and says so");
}

int main(void)
{
    test_form();
    test_names();
    test_small();
    test_patch();
    test_hostile();
    test_memory();
    return tap_done();
}
