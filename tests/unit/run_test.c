/* Capture: what is kept of a stream. The supervision itself is tested through the program. */
#include <stdlib.h>

#include "base/utf8.h"
#include "run/capture.h"
#include "tap.h"

static void keep(enum capture_keep mode, size_t limit, const char *stream, const char *should,
                 bool truncated)
{
    static const char *const modes[] = {"head", "tail", "both"};
    struct capture c;
    struct captured kept;
    capture_init(&c, &allocator_libc, mode, limit);
    for (const char *s = stream; *s; s++)
        capture_add(&c, s, 1);
    capture_finish(&c, &kept);
    bool right = strcmp(kept.text, should) == 0 && kept.truncated == truncated &&
                 kept.len == strlen(should) && c.total == strlen(stream);
    tap_check(right, "%s of %zu bytes, limit %zu", modes[mode], strlen(stream), limit);
    if (!right)
        printf("#   is:     %s\n#   should: %s\n", kept.text, should);
    capture_release(&c);
}

static void test_characters(void)
{
    /* Nothing but characters of 2, 3 and 4 bytes: no limit may cut one. */
    static const char unit[] = "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80";
    char stream[900 + 1] = "";
    for (size_t i = 0; i < 100; i++)
        memcpy(stream + 9 * i, unit, 9);
    bool valid = true, used = true;
    for (size_t limit = 0; limit < 200; limit++) {
        for (enum capture_keep mode = CAPTURE_HEAD; mode <= CAPTURE_BOTH; mode++) {
            struct capture c;
            struct captured kept;
            capture_init(&c, &allocator_libc, mode, limit);
            capture_add(&c, stream, 900);
            capture_finish(&c, &kept);
            valid = valid && utf8_valid(kept.text, kept.len);
            used = used && kept.len + 8 >= limit;
            capture_release(&c);
        }
    }
    tap_check(valid, "no limit cuts a character");
    tap_check(used, "and each keeps as much as it can");
}

static void test_large(void)
{
    struct capture c;
    struct captured kept;
    char chunk[10000];
    memset(chunk, 'x', sizeof(chunk));
    capture_init(&c, &allocator_libc, CAPTURE_BOTH, 1000);
    for (int i = 0; i < 10000; i++)
        capture_add(&c, chunk, sizeof(chunk));
    capture_add(&c, "\nend", 4);
    capture_finish(&c, &kept);
    tap_number((long long)c.total, 100000004, "every byte is counted");
    tap_check(kept.len < 1100 && strcmp(kept.text + kept.len - 4, "\nend") == 0,
              "the end is kept, in little memory");
    tap_check(kept.omitted_from == 500 && kept.omitted_to == 100000004 - 500,
              "and what was left out is told");
    capture_release(&c);
}

int main(void)
{
    keep(CAPTURE_HEAD, 10, "", "", false);
    keep(CAPTURE_HEAD, 0, "x", "", true);
    keep(CAPTURE_TAIL, 0, "x", "", true);
    keep(CAPTURE_HEAD, 6, "ab\ncd\n", "ab\ncd\n", false);
    keep(CAPTURE_TAIL, 6, "ab\ncd\n", "ab\ncd\n", false);
    keep(CAPTURE_BOTH, 6, "ab\ncd\n", "ab\ncd\n", false);
    keep(CAPTURE_HEAD, 5, "ab\ncd\n", "ab\n", true);
    keep(CAPTURE_TAIL, 5, "ab\ncd\n", "cd\n", true);
    keep(CAPTURE_HEAD, 4, "abcdefgh", "abcd", true);
    keep(CAPTURE_TAIL, 4, "abcdefgh", "efgh", true);
    keep(CAPTURE_BOTH, 4, "abcdefgh", "ab\n[4 bytes omitted]\ngh", true);
    keep(CAPTURE_BOTH, 8, "a\nb\nc\nd\ne\nf\n", "a\nb\n[4 bytes omitted]\ne\nf\n", true);
    /* A line end far from the limit is not worth the loss of what lies behind it. */
    keep(CAPTURE_HEAD, 10, "a\nbcdefghijkl", "a\nbcdefghi", true);
    test_characters();
    test_large();
    return tap_done();
}
