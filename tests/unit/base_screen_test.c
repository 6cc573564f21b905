/* What a program may draw on the person's terminal, however it comes in. */
#include "base/screen.h"
#include "tap.h"

/* All at once, and a byte at a time: the same. */
static void check(const char *in, size_t len, const char *wanted, const char *name)
{
    struct buf whole, pieces;
    struct screen one = {0}, other = {0};
    buf_init(&whole, &allocator_libc, 1 << 16);
    buf_init(&pieces, &allocator_libc, 1 << 16);
    screen_append(&one, in, len, &whole);
    for (size_t i = 0; i < len; i++)
        screen_append(&other, in + i, 1, &pieces);
    tap_text(whole.data, wanted, name);
    tap_check(strcmp(whole.data, pieces.data) == 0, "%s: in pieces", name);
    buf_release(&whole);
    buf_release(&pieces);
}

#define CHECK(in, wanted, name) check(in, sizeof(in) - 1, wanted, name)

int main(void)
{
    CHECK("plain\r\n\ttext\b\a", "plain\r\n\ttext\b\a", "text and its controls");
    CHECK("\xC3\xA4\xE2\x82\xAC", "\xC3\xA4\xE2\x82\xAC", "characters");
    CHECK("\xE2\x80\xAE", "\xEF\xBF\xBD", "an invisible one");
    CHECK("a\xFF\xC3z", "a\xEF\xBF\xBD\xEF\xBF\xBDz", "bytes that are no characters");
    CHECK("\xC2\x9B"
          "31m",
          "\xEF\xBF\xBD"
          "31m",
          "C1");
    CHECK("a\x01\x05\x7F"
          "b\x00"
          "c",
          "abc", "other controls");
    CHECK("\033[31;1mx\033[m", "\033[31;1mx\033[m", "colours");
    CHECK("\033[38:2:1:2:3m", "\033[38:2:1:2:3m", "colours with colons");
    CHECK("\033[2;3H\033[A\033[K\033[2J\033[3L", "\033[2;3H\033[A\033[K\033[2J\033[3L", "moves");
    CHECK("a\033[cb\033[6nc\033[21td\033[>0qe\033[!pf", "abcdef", "questions and resets");
    CHECK("a\033]52;c;AAAA\ab", "ab", "the clipboard");
    CHECK("a\033]0;t\033\\b\033Px\033\\c\033_x\033\\d\033^x\033\\e\033Xx\033\\f", "abcdef",
          "strings");
    CHECK("a\033]0;\033[31mb", "a\033[31mb", "a string that another sequence ends");
    CHECK("a\033]0;\033]52;x\ab", "ab", "a string within a string");
    CHECK("a\033]0;x\xC2\x9Cy\ab", "ab", "a string that C1 does not end");
    CHECK("a\033[31\033[32mb", "a\033[32mb", "a torn sequence");
    CHECK("a\033[3\n1mb", "a\n1mb", "a control within one");
    CHECK("a\033\033[1mb", "a\033[1mb", "two escapes");
    CHECK("\033[?25l\033[?1049h", "\033[?25l\033[?1049h", "modes of the list");
    CHECK("a\033[?9999hb\033[?25;9999hc\033[?hd\033[5ie", "abcde", "and no others");
    CHECK("a\033[11111111111111111111111111111111111111111111111111111mb", "ab", "too long");
    CHECK("\033(0q\033(B\033)x\0337\0338\033c\033#8",
          "\033(0q\033(B\0337\0338"
          "8",
          "short sequences");
    struct screen s = {0};
    struct buf out;
    buf_init(&out, &allocator_libc, 1 << 16);
    static const char left[] = "\033[?25l\033[?1049h\033[?7l\033[?7h";
    screen_append(&s, left, sizeof(left) - 1, &out);
    buf_clear(&out);
    screen_finish(&s, &out);
    tap_text(out.data, "\033[?25h\033[?1049l\033[m\033(B\017\033>\033[4l\0337\033[r\0338\033[0 q",
             "what is put back");
    buf_release(&out);
    return tap_done();
}
