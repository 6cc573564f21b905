/* S-expressions: what is read, where forms end, and that what is written can be read again. */
#include "base/sexp.h"

#include <string.h>

#include "tap.h"

static struct arena arena;

static const struct sexp *read(const char *text)
{
    const struct sexp *form = NULL;
    size_t offset;
    return sexp_read(&arena, text, strlen(text), &form, &offset, NULL) == 0 ? form : NULL;
}

static void test_values(void)
{
    const struct sexp *s = read("(:Type :REQUEST :n -12 :text \"a\\\"\\\\b\" :list ('a `b ,c) "
                                ":no nil :none () ; end\n :yes T #| x #| y |# |# :last +3)");
    tap_check(s && s->kind == SEXP_LIST, "a property list is read");
    tap_check(sexp_is(sexp_get(s, "type"), SEXP_KEYWORD, "request"), "keywords in lower case");
    tap_check(sexp_get(s, "n") && sexp_get(s, "n")->number == -12, "an integer");
    tap_check(sexp_is(sexp_get(s, "text"), SEXP_STRING, "a\"\\b"), "a string with both escapes");
    tap_check(sexp_is(sexp_get(s, "list")->first->next, SEXP_SYMBOL, "b"),
              "quotes are passed over");
    tap_check(sexp_is_nil(sexp_get(s, "no")) && sexp_is_nil(sexp_get(s, "none")), "nil and ()");
    tap_check(sexp_is(sexp_get(s, "yes"), SEXP_SYMBOL, "t"), "t");
    tap_check(sexp_get(s, "last")->number == 3 && !sexp_get(s, "nothing"), "behind a comment");
    tap_check(read("-9223372036854775808")->number == INT64_MIN &&
                  read("9223372036854775807")->number == INT64_MAX &&
                  read("9223372036854775808")->kind == SEXP_SYMBOL,
              "integers within their bounds");
}

static void test_refusals(void)
{
    static const char *const texts[] = {
        "",        "(",    ")", "(a . b)",  "#.(a)",  "#'a", "(#\\a)", "|a|",    "\"a", "\"\\n\"",
        "(a) (b)", "a\\b", ":", "\"\xff\"", "(\x01)", "#|",  "\"\\",   "(a #b)", "'",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        tap_check(!read(texts[i]), "refused: %s", texts[i][0] > ' ' ? texts[i] : "(not shown)");
    char deep[4 * SEXP_DEPTH_MAX + 1] = "";
    memset(deep, '(', SEXP_DEPTH_MAX);
    memset(deep + SEXP_DEPTH_MAX, ')', SEXP_DEPTH_MAX);
    tap_check(read(deep) != NULL, "as deep as may be");
    memset(deep, '(', SEXP_DEPTH_MAX + 1);
    memset(deep + SEXP_DEPTH_MAX + 1, ')', SEXP_DEPTH_MAX + 1);
    tap_check(!read(deep), "and no deeper");
}

static void note_form(void *user, const char *bytes, size_t len, const char *why, size_t line,
                      size_t column)
{
    struct buf *out = user;
    buf_append_format(out, "%zu:%zu ", line, column);
    if (why)
        buf_append_text(out, "!");
    else
        buf_append(out, bytes, len);
    buf_append_byte(out, '\n');
}

static void splits(const char *text, const char *wanted, const char *name)
{
    for (size_t piece = 1; piece < 40; piece += 19) {
        struct sexp_split s;
        struct buf out;
        buf_init(&out, &allocator_libc, 1 << 16);
        sexp_split_init(&s, 64);
        for (size_t at = 0, len = strlen(text); at < len; at += piece)
            sexp_split_feed(&s, text + at, len - at < piece ? len - at : piece, note_form, &out);
        sexp_split_finish(&s, note_form, &out);
        tap_text(out.data, wanted, name);
        sexp_split_release(&s);
        buf_release(&out);
    }
}

static void test_split(void)
{
    splits("(a)(b \")\")\n (c\n)", "1:1 (a)\n1:4 (b \")\")\n2:2 (c\n)\n", "forms");
    splits("; (x)\n#| (y) |# '(z ; )\n)", "2:12 (z ; )\n)\n", "comments");
    splits("word (a)", "1:1 !\n1:6 (a)\n", "a word alone");
    splits(") (a)", "1:1 !\n1:3 (a)\n", "one that was never opened");
    splits("#.(a (b)) (c)", "1:2 !\n1:11 (c)\n", "what stands at a # goes with it");
    splits("(a #b) (c)", "1:5 !\n1:8 (c)\n", "a # within");
    splits("(a \"b", "1:6 !\n", "no end");
    splits("(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa \")\") "
           "(b)",
           "1:84 !\n1:86 (b)\n", "too long");
    splits("(a \\\" b) (c)", "1:4 !\n", "a quote behind a backslash outside of a string opens one");
}

static void test_writing(void)
{
    struct buf out;
    buf_init(&out, &allocator_libc, 1 << 16);
    sexp_append_string(&out, "a\"b\\c\n\x1b\xff", 8);
    tap_text(out.data, "\"a\\\"b\\\\c\n\\\\x1b\\\\xff\"", "a string");
    tap_check(read(out.data) != NULL, "which is read again");
    buf_clear(&out);
    sexp_append_keyword(&out, "exit_code");
    tap_check(strcmp(out.data, ":exit-code") == 0, "a keyword");
    buf_release(&out);
}

int main(void)
{
    arena_init(&arena, &allocator_libc, 1 << 20);
    test_values();
    test_refusals();
    test_split();
    test_writing();
    arena_release(&arena);
    return tap_done();
}
