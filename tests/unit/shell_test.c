/* The shell room's interface: errors and their places, limits of memory, size and depth, and what
 * can be asked of a tree. How texts are read is in shell_cases_test.c. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "shell_check.h"
#include "tap.h"

/* With the address sanitizer, frames are several times as large. */
#ifdef __has_feature
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

/* A text in which every construct occurs. */
static const char EVERYTHING[] =
    "#!/bin/bash\n"
    "x=1 y+=2 a[3]=$((4 + $[5])) a=(6 [7]=\"8\" $(9)) cmd 'a' \"b $c ${d:-e}\" \\f $'g\\n' $\"h\"\n"
    "cat < in > out 2>> log 3<> rw >| force {fd}>&1 4<&- <<< \"$(here) string\" &> all\n"
    "cat <<A <<-'B' | tr a b |& wc &\n${x} $(y) `z` \\$\nA\n\t$literal\n\tB\n"
    "if a; then b; elif c; then d; else e; fi && ! time -p f || g\n"
    "while a; do b; done; until c; do d; done\n"
    "for i in a {b,c} \"$@\"; do e; done; for j; do f; done; select k in l; do m; done\n"
    "for ((i = 0; i < 10; i++)); do ((x += i)); done\n"
    "case $x in a | b*) c ;; (d) e ;& f) g ;;& *) ;; esac\n"
    "f() { local z=(1 2); return; } 2>&1; function g { h; }\n"
    "coproc NAME { cat; }; coproc cat; (subshell; { group; })\n"
    "[[ -f $x && ! ( $y == @(a|b) || $z =~ ^(c|d)$ ) || a < b && -z w ]]\n"
    "echo ${#x} ${!x} ${!x@} ${x[1]} ${x[@]:1:2} ${x//a/\"b\"} ${x@Q} ${x^^} \"${x%'y'}\" ${bad!}\n"
    "diff <(sort a) >(sort b) `echo \\`inner\\`` \"`echo \\\"q\\\"`\" ~ *.c [a-z]?\n";

/* --- errors ----------------------------------------------------------------------------------- */

static void check_errors(void)
{
    static const struct {
        const char *text;
        unsigned line, column, offset;
        const char *message;
    } ROWS[] = {
        {"a 'b", 1, 3, 2, "no ' closes this"},
        {"a \"b", 1, 3, 2, "no \" closes this"},
        {"a\nb\n  'c", 3, 3, 6, "no ' closes this"},
        {"\xc3\xa4\xc3\xb6 '", 1, 4, 5, "no ' closes this"},
        {"# \xe2\x82\xac\n\xf0\x9f\x98\x80 \"", 2, 3, 11, "no \" closes this"},
        {"\t'", 1, 2, 1, "no ' closes this"},
        {"a $(b", 1, 3, 2, "no ')' closes this"},
        {"a\n$(b\nc", 2, 1, 2, "no ')' closes this"},
        {"a `b \\`c`", 1, 7, 6, "no ` closes this"},
        {"a |", 1, 4, 3, "unexpected end: expected a command"},
        {"a | \n", 2, 1, 5, "unexpected end: expected a command"},
        {"a; )", 1, 4, 3, "unexpected ')': expected a command"},
        {"fi", 1, 1, 0, "unexpected 'fi': expected a command"},
        {"if a\nthen\nfi", 3, 1, 10, "unexpected 'fi': expected a command"},
        {"a >", 1, 4, 3, "unexpected end: expected the target of a redirection"},
        {"a >\nb", 1, 4, 3, "unexpected end of the line: expected the target of a redirection"},
        {"cat <<END\na\n", 1, 5, 4, "no line 'END' ends this here-document"},
        {"cat <<E\n\xc3\xa4 $(b\nE", 2, 3, 11, "no ')' closes this"},
        {"((a) b)", 1, 1, 0,
         "'((' is not closed by '))': write '( (' for a subshell in a subshell"},
    };
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(*ROWS); i++) {
        struct reading_result r;
        size_t len = strlen(ROWS[i].text);
        bool refused = !read_text(&r, ROWS[i].text, len);
        bool right = refused && r.error.code == -EINVAL && r.error.line == ROWS[i].line &&
                     r.error.column == ROWS[i].column && r.error.offset == ROWS[i].offset &&
                     strcmp(r.error.message, ROWS[i].message) == 0 &&
                     place_is_right(&r.error, ROWS[i].text, len);
        if (!tap_check(right, "the place and the message of error %zu", i))
            printf("#   is: %u:%u (%u): %s\n", r.error.line, r.error.column, r.error.offset,
                   r.error.message);
        release_reading(&r);
    }

    struct reading_result r;
    tap_check(!read_text(&r, "a\0b", 3) && r.error.offset == 1 && r.error.column == 2,
              "a NUL byte is refused where it stands");
    release_reading(&r);
    tap_check(!read_text(&r, "a; \x7f", 4) && r.error.column == 4, "so is 0x7f");
    release_reading(&r);
    tap_check(read_text(&r, "", 0) && !r.tree->list->items && r.rendering.len == 0,
              "an empty text is a tree without a command");
    release_reading(&r);
    /* Only `len` bytes count. */
    tap_check(read_text(&r, "a 'b", 1), "what is behind the text is not read");
    release_reading(&r);
}

static void check_message_bytes(void)
{
    static const char *const TEXTS[] = {
        "a; \x1b[31m",
        "[[ a \"\x1b[31m\" ]]",
        "cat <<'\x1b[2J'",
        "[[ a \xc3\xa4 ]]",
        "a )\xff",
        "[[ a '\n' ]]",
        "[[ a \xff\xfe ]]",
        "cat <<'\x80'",
        "for \xe2\x82\xac\xe2\x82\xac\n a",
        "[[ a 'b c d e f g h i j k l m n o p' ]]",
    };
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(*TEXTS); i++) {
        struct reading_result r;
        bool refused = !read_text(&r, TEXTS[i], strlen(TEXTS[i]));
        if (!tap_check(refused && message_is_plain(&r.error),
                       "a message has no bytes that a terminal obeys, %zu", i)) {
            printf("#   is:");
            for (const char *c = refused ? r.error.message : ""; *c; c++)
                printf(*c < ' ' || *c > '~' ? "\\x%02x" : "%c", (unsigned char)*c);
            printf("\n");
        }
        release_reading(&r);
    }
}

static void check_shown(const char *text, size_t offset, const char *should, const char *name)
{
    struct shell_error error = {.offset = (uint32_t)offset};
    struct buf out;
    buf_init(&out, &allocator_libc, 4096);
    shell_error_show(&error, text, strlen(text), false, &out);
    tap_text(out.data, should, name);
    buf_release(&out);
}

static void check_carets(void)
{
    check_shown("echo 'x", 5, "  echo 'x\n       ^\n", "a caret under the place");
    check_shown("", 0, "  \n  ^\n", "in an empty text");
    check_shown("a", 1, "  a\n   ^\n", "at the end");
    check_shown("a", 99, "  a\n   ^\n", "behind the end");
    check_shown("a\nbc\nd", 3, "  bc\n   ^\n", "only the line of the place");
    check_shown("\xc3\xa4\xc3\xb6 x", 5, "  \xc3\xa4\xc3\xb6 x\n     ^\n",
                "a character counts once");
    check_shown("\ta b", 3, "  \ta b\n  \t  ^\n", "a tab stays a tab");
    check_shown("a\x1b[31m", 2, "  a\\x1b[31m\n       ^\n", "what a terminal obeys is not shown");

    char line[400];
    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\0';
    struct shell_error error = {.offset = 200};
    struct buf out;
    buf_init(&out, &allocator_libc, 4096);
    shell_error_show(&error, line, strlen(line), false, &out);
    tap_check(out.len < 300, "of a long line only a part is shown");
    buf_release(&out);
}

/* --- memory and size -------------------------------------------------------------------------- */

struct failing {
    size_t count, fail_at; /* the allocation that fails, from 1; and all behind it */
};

static void *failing_resize(void *user, void *old, size_t size)
{
    struct failing *failing = user;
    if (size && ++failing->count >= failing->fail_at)
        return NULL;
    return allocator_libc.resize(allocator_libc.user, old, size);
}

/* Reads with at most `max` bytes. */
static int parse_within(size_t max, struct shell_error *error)
{
    struct arena arena;
    const struct shell_tree *tree = NULL;
    arena_init(&arena, &allocator_libc, max);
    int r = shell_parse(&arena, EVERYTHING, sizeof(EVERYTHING) - 1, &tree, error);
    if (r < 0 && tree)
        r = -EPROTO; /* nothing may be returned with an error */
    arena_release(&arena);
    return r;
}

static void check_memory(void)
{
    struct shell_error error;
    size_t max = 0, refused = 0, wrong = 0;
    int r;
    for (; (r = parse_within(max, &error)) < 0 && max < 1 << 20; max += 16) {
        refused++;
        wrong += r != -ENOMEM || error.code != -ENOMEM || !error.message[0];
    }
    tap_check(r == 0 && refused > 500, "a text needs memory (%zu bytes for %zu)", max,
              sizeof(EVERYTHING) - 1);
    tap_number((long long)wrong, 0, "with less it is refused for lack of memory");

    size_t failures = 0;
    wrong = 0;
    for (size_t n = 1;; n++) {
        struct failing failing = {.fail_at = n};
        struct allocator allocator = {failing_resize, &failing};
        struct arena arena;
        const struct shell_tree *tree = NULL;
        arena_init(&arena, &allocator, SIZE_MAX);
        r = shell_parse(&arena, EVERYTHING, sizeof(EVERYTHING) - 1, &tree, &error);
        arena_release(&arena);
        if (r == 0)
            break;
        failures++;
        wrong += r != -ENOMEM || tree;
    }
    tap_check(failures > 1 && !wrong, "each allocation may fail (%zu)", failures);
}

/* Every way of writing a tree, with an allocation that fails: the buffer knows, or all is there. */
static void check_writing_memory(void)
{
    struct reading_result whole;
    if (!tap_check(read_text(&whole, EVERYTHING, sizeof(EVERYTHING) - 1),
                   "the text with every construct is read"))
        printf("#   %u:%u: %s\n", whole.error.line, whole.error.column, whole.error.message);
    size_t failures = 0, wrong = 0;
    for (size_t n = 1; whole.tree; n++) {
        struct failing failing = {.fail_at = n};
        struct allocator allocator = {failing_resize, &failing};
        struct buf out;
        buf_init(&out, &allocator, SIZE_MAX - 1);
        shell_render(whole.tree, &out);
        bool failed = out.failed;
        wrong += !failed && (out.len != whole.rendering.len ||
                             memcmp(out.data, whole.rendering.data, out.len) != 0);
        buf_release(&out);
        if (!failed)
            break;
        failures++;
    }
    tap_check(failures > 1 && !wrong, "each allocation of a rendering may fail (%zu)", failures);
    wrong = 0;
    for (size_t max = 0; whole.tree && max <= whole.rendering.len; max++) {
        struct buf out;
        buf_init(&out, &allocator_libc, max);
        shell_render(whole.tree, &out);
        wrong += max < whole.rendering.len ? out.failed != -E2BIG : out.failed != 0;
        buf_release(&out);
    }
    tap_number((long long)wrong, 0, "a rendering fits its buffer or says that it does not");
    release_reading(&whole);
}

static void check_size(void)
{
    char *text = malloc(SHELL_TEXT_MAX + 1);
    if (!text) {
        tap_check(false, "memory");
        return;
    }
    memset(text, ' ', SHELL_TEXT_MAX + 1);
    struct reading_result r;
    tap_check(!read_text(&r, text, SHELL_TEXT_MAX + 1) && r.error.code == -E2BIG &&
                  r.error.line == 1 && r.error.column == 1 && r.error.message[0],
              "a text may be too long");
    release_reading(&r);
    tap_check(read_text(&r, text, SHELL_TEXT_MAX) && !r.tree->list->items,
              "the longest one may be blank");
    release_reading(&r);
    free(text);
}

/* --- what can be asked of a tree -------------------------------------------------------------- */

struct visits {
    struct buf names;
    size_t left; /* stops behind this many */
};

static bool note(void *user, const struct shell_command *command)
{
    static const char KINDS[] = "S({iwufsFcxpl[";
    struct visits *v = user;
    if (command->kind == SHELL_SIMPLE && command->simple.words)
        shell_render_word(command->simple.words, &v->names);
    else
        buf_append_byte(&v->names, KINDS[command->kind]);
    buf_append_byte(&v->names, ' ');
    return --v->left > 0;
}

static void check_visit(const char *text, size_t most, const char *should)
{
    struct reading_result r;
    struct visits v = {.left = most};
    buf_init(&v.names, &allocator_libc, 1 << 16);
    if (read_text(&r, text, strlen(text)))
        shell_each_command(r.tree, note, &v);
    else
        printf("# %u:%u: %s\n", r.error.line, r.error.column, r.error.message);
    tap_text(v.names.data, should, text);
    release_reading(&r);
    buf_release(&v.names);
}

static void check_visits(void)
{
    check_visit("", 9, "");
    check_visit("a; b | c && d & e", 99, "a b c d e ");
    check_visit("a; b | c && d & e", 3, "a b c ");
    check_visit("a $(b $(c) d `e`) <(f) \"${x:-$(g)}\"", 99, "a b c e f g ");
    check_visit("a $(b $(c))", 1, "a ");
    check_visit("a $(b $(c)) $(d)", 2, "a b ");
    check_visit("if a; then b; elif c; then d; else e; fi; f", 99, "i a b i c d e f ");
    check_visit("if a; then b; elif c; then d; else e; fi; f", 4, "i a b i ");
    check_visit("while a; do b; done; until c; do d; done", 99, "w a b u c d ");
    check_visit("for i in $(a); do b; done; select j in $(c); do d; done", 99, "f a b s c d ");
    check_visit("for ((i=$(a); i<$(b); i+=$(c))); do d; done", 99, "F a b c d ");
    check_visit("case $(a) in $(b) | c) d ;; *) e ;; esac", 99, "c a b d e ");
    check_visit("f() { a; g() ( b ); }; h", 99, "x { a x ( b h ");
    check_visit("coproc N { a; }; coproc b", 99, "p { a p b ");
    check_visit("(($(a) + $[`b`]))", 99, "l a b ");
    check_visit("[[ -f $(a) && ( $(b) == @($(c)|d) || $(e) =~ $(f) ) ]]", 99, "[ a b c e f ");
    check_visit("x=$(a) y[$(b)]=$(c) z=($(d) [$(e)]=$(f)) $(g) h", 99, "$(g) a b c d e f g ");
    check_visit("x=$(a)", 99, "S a ");
    check_visit("a > $(b) < <(c) <<< $(d)", 99, "a b c d ");
    check_visit("{ a; } > $(b)", 99, "{ a b ");
    check_visit("cat <<A; d\n$(b) `c`\nA\ne", 99, "cat b c d e ");
    check_visit("a \"$(b \"$(c)\")\" ${x[$(d)]} ${x:$(e):1} ${x//$(f)/$(g)} ${!$(h)}", 99,
                "a b c d e f g h ");
    check_visit("a `b \\`c \\\\\\`d\\\\\\`\\``", 99, "a b c d ");
    check_visit("time ! a", 99, "a ");
    check_visit("time", 99, "S ");
}

static void check_known_words(void)
{
    static const struct {
        const char *word, *known; /* NULL: not known */
    } ROWS[] = {
        {"a", "a"},
        {"a.b/c-d_e", "a.b/c-d_e"},
        {"'a b'", "a b"},
        {"\"a b\"", "a b"},
        {"a\\ b", "a b"},
        {"''", ""},
        {"\"\"", ""},
        {"$'a\\tb'", "a\tb"},
        {"$\"a\"", "a"},
        {"a'b'\"c\"\\d", "abcd"},
        {"$x", NULL},
        {"\"$x\"", NULL},
        {"${x}", NULL},
        {"$(a)", NULL},
        {"`a`", NULL},
        {"$((1))", NULL},
        {"<(a)", NULL},
        {"a$", "a$"},
        {"$", "$"},
        /* globs */
        {"*", NULL},
        {"a?", NULL},
        {"[ab]", NULL},
        {"a[", "a["},
        {"a]", "a]"},
        {"[", "["},
        {"'*'", "*"},
        {"\\*", "*"},
        {"\"[ab]\"", "[ab]"},
        {"[a\"b\"]", NULL},
        {"[\"a\"]", NULL},
        {"\\[ab]", "[ab]"},
        {"a\\?*", NULL},
        /* tildes */
        {"~", NULL},
        {"~/a", NULL},
        {"~b", NULL},
        {"a~", "a~"},
        {"a~b", "a~b"},
        {"'~'", "~"},
        {"\\~/a", "~/a"},
        {"a=~", NULL},
        {"a=b:~", NULL},
        {"a='~'", "a=~"},
        {"~\"a\"", NULL},
        {"\"a=\"~", "a=~"},
        {"a=\"b\":~", NULL},
        /* braces */
        {"{a,b}", NULL},
        {"{1..3}", NULL},
        {"x{a,b}y", NULL},
        {"{a}", "{a}"},
        {"{}", "{}"},
        {"{", "{"},
        {"}", "}"},
        {"{a,b", "{a,b"},
        {"a,b}", "a,b}"},
        {"a}b,{c", "a}b,{c"},
        {"'{a,b}'", "{a,b}"},
        {"\\{a,b}", "{a,b}"},
        {"{a\\,b}", "{a,b}"},
        {"{a,b\\}", "{a,b}"},
        {"{'a',b}", NULL},
        {"{\"a\",\"b\"}", NULL},
        {"{'a','b'", "{a,b"},
        {"{,}", NULL},
        {"{a..}", NULL},
        {"{\"1\"..3}", NULL},
        {"a=b", "a=b"},
        {"-x", "-x"},
        {"--a=b", "--a=b"},
        {"if", "if"},
        {"!", "!"},
        {"!!", "!!"},
        {"a^b", "a^b"},
        {"a#b", "a#b"},
        {"%1", "%1"},
        {"\xc3\xa4\xff", "\xc3\xa4\xff"},
    };
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(*ROWS); i++) {
        char text[64];
        struct reading_result r;
        struct buf out;
        buf_init(&out, &allocator_libc, 4096);
        snprintf(text, sizeof(text), "echo %s", ROWS[i].word);
        bool read = read_text(&r, text, strlen(text));
        const struct shell_word *word =
            read ? r.tree->list->items->pipelines->commands->simple.words->next : NULL;
        bool known = word && shell_word_known(word, &out);
        tap_text(!word ? "refused" : known ? out.data : NULL, ROWS[i].known, ROWS[i].word);
        if (word && shell_word_known(word, NULL) != known)
            tap_check(false, "%s is known without a buffer, too", ROWS[i].word);
        if (!known && out.len)
            tap_check(false, "%s leaves the buffer alone", ROWS[i].word);
        release_reading(&r);
        buf_release(&out);
    }
}

static void check_plain(const char *text, bool should)
{
    struct reading_result r;
    bool plain = read_text(&r, text, strlen(text)) && shell_plain_command(r.tree);
    tap_check(plain == should, "%s is%s one plain command", text, should ? "" : " not");
    release_reading(&r);
}

static void check_plain_commands(void)
{
    static const char *const PLAIN[] = {"a",      "a b 'c d' \"e\" \\f", "a;",      "a # b", "\\if",
                                        "a\\\nb", "/bin/ls -l",          "[ -f x ]"};
    static const char *const OTHER[] = {
        "a &",     "a; b",  "a | b",   "a && b", "! a",        "time a", "x=1 a",
        "x=1",     "a > f", "a 2>&1",  "a $x",   "a *",        "a ~",    "a {b,c}",
        "a $(b)",  "(a)",   "",        "{ a; }", "f() { a; }", "time",   "!",
        "a <<< b", "> f",   "[[ a ]]", "((a))",  "coproc a"};
    for (size_t i = 0; i < sizeof(PLAIN) / sizeof(*PLAIN); i++)
        check_plain(PLAIN[i], true);
    for (size_t i = 0; i < sizeof(OTHER) / sizeof(*OTHER); i++)
        check_plain(OTHER[i], false);
}

static void check_reserved(void)
{
    static const char *const RESERVED[] = {
        "!",    "[[", "]]",  "{",        "}",  "case", "coproc", "do",   "done", "elif",  "else",
        "esac", "fi", "for", "function", "if", "in",   "select", "then", "time", "until", "while"};
    static const char *const OTHER[] = {"",   "[",    "]",         "i",         "iff",
                                        "If", "echo", "{}",        "ifi",       "!!",
                                        "fo", "don",  "functions", "function ", "-p"};
    for (size_t i = 0; i < sizeof(RESERVED) / sizeof(*RESERVED); i++)
        tap_check(shell_is_reserved(RESERVED[i], strlen(RESERVED[i])), "%s is reserved",
                  RESERVED[i]);
    for (size_t i = 0; i < sizeof(OTHER) / sizeof(*OTHER); i++)
        tap_check(!shell_is_reserved(OTHER[i], strlen(OTHER[i])), "'%s' is not reserved", OTHER[i]);
    tap_check(!shell_is_reserved("if", 1) && shell_is_reserved("ifx", 2),
              "only `len` bytes are looked at");
}

/* --- long texts ------------------------------------------------------------------------------- */

/* Without the tree as text, which is many times as long. */
static bool render_text(struct reading_result *r, const char *text, size_t len)
{
    arena_init(&r->arena, &allocator_libc, SIZE_MAX);
    buf_init(&r->rendering, &allocator_libc, SIZE_MAX - 1);
    buf_init(&r->dump, &allocator_libc, 0);
    if (shell_parse(&r->arena, text, len, &r->tree, &r->error) < 0)
        return false;
    shell_render(r->tree, &r->rendering);
    return true;
}

/* `first`, then `piece` up to a megabyte (less where all is slow), then `last`: read, and steady.
 */
static void check_long(const char *name, const char *first, const char *piece, const char *last)
{
    const size_t enough = SANITIZED ? 1 << 18 : 1 << 20;
    struct buf text;
    struct reading_result r, again;
    buf_init(&text, &allocator_libc, enough * 2);
    buf_append_text(&text, first);
    while (text.len < enough)
        buf_append_text(&text, piece);
    buf_append_text(&text, last);
    bool read = render_text(&r, text.data, text.len);
    if (!tap_check(read, "a megabyte of %s is read", name))
        printf("#   %u:%u: %s\n", r.error.line, r.error.column, r.error.message);
    if (read) {
        bool read_again = render_text(&again, r.rendering.data, r.rendering.len);
        tap_check(read_again && r.rendering.len == again.rendering.len &&
                      memcmp(r.rendering.data, again.rendering.data, r.rendering.len) == 0,
                  "and steady");
        release_reading(&again);
    }
    release_reading(&r);
    buf_release(&text);
}

static void check_long_texts(void)
{
    check_long("words", "a", " b", "");
    check_long("one word", "a ", "b", "");
    check_long("one quoted word", "a '", "b", "'");
    check_long("one word of many quotes", "a ", "'b'c", "");
    check_long("escaped characters", "a ", "\\b", "");
    check_long("one word in double quotes", "a \"", "\\$x ", "\"");
    check_long("one ANSI quote", "a $'", "\\n", "'");
    check_long("lines", "", "a b c\n", "");
    check_long("short lines", "", "a\n", "");
    check_long("empty lines", "a", "\n", "b");
    check_long("a comment", "a #", "b", "\nc");
    check_long("continuations", "a ", "\\\n", "b");
    check_long("continued words", "a", " \\\nb", "");
    check_long("commands on a line", "a", ";b", "");
    check_long("jobs", "a", "& b", "");
    check_long("a pipeline", "a", "|b", "");
    check_long("an and-or list", "a", "&&b||c", "");
    check_long("parameters", "a ", "$x", "");
    check_long("quoted parameters", "a \"", "$x ", "\"");
    check_long("substitutions", "a", " $(b)", "");
    check_long("backquotes", "a", " `b`", "");
    check_long("lines in a substitution", "a $(", "b\n", ")");
    check_long("lines in backquotes", "a `", "b\n", "`");
    check_long("escapes in backquotes", "a `b", " \\$x", "`");
    check_long("arithmetic", "((1", "+1", "))");
    check_long("an array", "a=(", " b", ")");
    check_long("lines of an array", "a=(", "b\n", ")");
    check_long("members", "a", "[1]=b a", "[2]=c");
    check_long("assignments", "a=1", " b=2", "");
    check_long("redirections", "a", " >b", "");
    check_long("a here-document", "cat <<E\n", "line\n", "E\n");
    check_long("a quoted here-document", "cat <<'E'\n", "$line\n", "E\n");
    check_long("a here-document with expansions", "cat <<E\n", "$x `y` \\$\n", "E\n");
    check_long("a here-document without tabs", "cat <<-E\n", "\t\tline\n", "\tE\n");
    check_long("a joined line of a here-document", "cat <<E\n", "a\\\n", "\nE\n");
    check_long("here-documents", "", "cat <<E\na\nE\n", "");
    check_long("here-documents in substitutions", "", "a $(cat <<E\nb\nE\n)\n", "");
    check_long("here-documents like the delimiter", "cat <<E\n", "E \n", "E\n");
    check_long("clauses", "case x in ", "a) b;; ", "esac");
    check_long("patterns", "case x in a", "|b", ") c;; esac");
    check_long("groups", "", "{ a; }\n", "");
    check_long("groups over lines", "", "{\na\n}\n", "");
    check_long("ifs over lines", "", "if a\nthen b\nfi\n", "");
    check_long("cases over lines", "", "case x in\nx)\na\n;;\nesac\n", "");
    check_long("loops over lines", "", "for i in a\ndo\nb\ndone\n", "");
    check_long("subshells with here-documents", "", "(\ncat <<E\nE\n)\n", "");
    check_long("here-documents with substitutions", "", "cat <<E\n$(a)\nE\n", "");
    check_long("lines of tests", "", "[[ a &&\nb ]]\n", "");
    check_long("functions", "", "f() { a; }\n", "");
    check_long("ifs", "", "if a; then b; else c; fi\n", "");
    check_long("tests", "", "[[ a == b ]]\n", "");
    check_long("negations", "", "! ! ", "a");
    check_long("a regular expression", "[[ a =~ ", "b|", "c ]]");
    check_long("an operand", "a ${x:-", "b ", "}");
    check_long("a quoted operand", "a \"${x:-", "b ", "}\"");
    check_long("braces", "a ", "{b,c}", "");
}

/* --- deep texts ------------------------------------------------------------------------------- */

/* What opens a level and what closes it, with `x` in the middle. */
static const struct nest {
    const char *name, *open, *middle, *close;
} NESTS[] = {
    {"command substitutions", "$(", "x", ")"},
    {"quoted command substitutions", "\"$(", "x", ")\""},
    {"process substitutions", "<(", "x", ")"},
    {"subshells", "( ", "x", " )"},
    {"groups", "{ ", "x", "; }"},
    {"expansions", "${x:-", "x", "}"},
    {"quoted expansions", "\"${x:-", "x", "}\""},
    {"subscripts", "${x[", "x", "]}"},
    {"arithmetic", "$((", "x", "))"},
    {"old arithmetic", "$[", "x", "]"},
    {"arithmetic with commands", "$(($(x ", "x", ")))"},
    {"ifs", "if ", "x", "; then x; fi"},
    {"thens", "if x; then ", "x", "; fi"},
    {"elses", "if x; then x; else ", "x", "; fi"},
    {"whiles", "while ", "x", "; do x; done"},
    {"untils", "until x; do ", "x", "; done"},
    {"fors", "for i in x; do ", "x", "; done"},
    {"arithmetic fors", "for ((;;)); do ", "x", "; done"},
    {"selects", "select i in x; do ", "x", "; done"},
    {"cases", "case x in x) ", "x", ";; esac"},
    {"functions", "f() { ", "x", "; }"},
    {"functions of functions", "function f { ", "x", "; }"},
    {"coprocesses", "coproc { ", "x", "; }"},
    {"arrays of substitutions", "a=($(", "x", "))"},
    {"words of substitutions", "a $(", "x", ")"},
    {"members", "a[$(", "x", ")]=1"},
    {"here-strings", "a <<< $(", "x", ")"},
    {"targets", "a > $(", "x", ")"},
    {"negated subshells", "! ( ", "x", " )"},
    {"timed subshells", "time ( ", "x", " )"},
};

/* Nested inside [[ ]], where the level cannot stand by itself. */
static const struct nest TEST_NESTS[] = {
    {"groups of tests", "( ", "x", " )"},
    {"negations of tests", "! ", "x", ""},
    {"negated groups of tests", "! ( ", "x", " )"},
    {"conjunctions", "x && ", "x", ""},
    {"disjunctions", "x || ", "x", ""},
    {"patterns", "x == @(", "x", ")"},
    {"substitutions in tests", "x == $([[ ", "x", " ]])"},
};

static void append_nest(struct buf *text, const struct nest *nest, unsigned levels)
{
    for (unsigned i = 0; i < levels; i++)
        buf_append_text(text, nest->open);
    buf_append_text(text, nest->middle);
    for (unsigned i = 0; i < levels; i++)
        buf_append_text(text, nest->close);
}

enum { STACK = 16 << 20, STACK_UNTOUCHED = 0xa5 };

/* One text on a stack of its own: how it was read, and how much of the stack was needed. */
struct deep {
    const char *text;
    size_t len;
    bool read, steady, too_deep;
    size_t stack_used;
};

static bool ignore(void *user, const struct shell_command *command)
{
    (void)user;
    (void)command;
    return true;
}

static void *read_deep(void *argument)
{
    struct deep *deep = argument;
    static struct json json; /* not on the stack that is measured */
    struct reading_result first, again;
    deep->read = read_text(&first, deep->text, deep->len);
    deep->too_deep = !deep->read && strstr(first.error.message, "deep");
    if (deep->read) {
        struct buf out;
        buf_init(&out, &allocator_libc, SIZE_MAX - 1);
        json_init_buf(&json, &out);
        shell_dump_json(first.tree, &json);
        shell_each_command(first.tree, ignore, NULL);
        deep->steady = json_finish(&json) == 0 &&
                       read_text(&again, first.rendering.data, first.rendering.len) &&
                       again.dump.len == first.dump.len &&
                       memcmp(again.dump.data, first.dump.data, again.dump.len) == 0;
        if (!json.failed)
            release_reading(&again);
        buf_release(&out);
    }
    release_reading(&first);
    return NULL;
}

static bool run_deep(struct deep *deep)
{
    pthread_t thread;
    pthread_attr_t attributes;
    unsigned char *stack =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return false;
    enum { LOOKED_AT = 2 << 20 };
    memset(stack + STACK - LOOKED_AT, STACK_UNTOUCHED, LOOKED_AT);
    bool ran = pthread_attr_init(&attributes) == 0 &&
               pthread_attr_setstack(&attributes, stack, STACK) == 0 &&
               pthread_create(&thread, &attributes, read_deep, deep) == 0 &&
               pthread_join(thread, NULL) == 0;
    const unsigned char *at = stack + STACK - LOOKED_AT;
    while (at < stack + STACK && *at == STACK_UNTOUCHED)
        at++;
    deep->stack_used = (size_t)(stack + STACK - at);
    munmap(stack, STACK);
    return ran;
}

/* `levels` of it, within `before` and `behind`. */
static bool read_nest(const struct nest *nest, const char *before, const char *behind,
                      unsigned levels, struct deep *deep)
{
    struct buf text;
    buf_init(&text, &allocator_libc, SIZE_MAX - 1);
    buf_append_text(&text, before);
    append_nest(&text, nest, levels);
    buf_append_text(&text, behind);
    *deep = (struct deep){.text = text.data, .len = text.len};
    bool ran = run_deep(deep);
    buf_release(&text);
    return ran;
}

static size_t deepest_stack;

static void check_nest(const struct nest *nest, const char *before, const char *behind)
{
    struct deep deep = {0};
    bool ran = read_nest(nest, before, behind, 10000, &deep);
    tap_check(ran && deep.too_deep, "10000 %s are refused as too deep", nest->name);
    if (deep.stack_used > deepest_stack)
        deepest_stack = deep.stack_used;
    ran = read_nest(nest, before, behind, SHELL_DEPTH_MAX + 1, &deep);
    tap_check(ran && deep.too_deep, "%d %s are refused", SHELL_DEPTH_MAX + 1, nest->name);
    ran = read_nest(nest, before, behind, 40, &deep);
    tap_check(ran && deep.read && deep.steady, "40 %s are read", nest->name);

    /* The deepest that is read: its stack is the most that any text needs. */
    unsigned low = 40, high = SHELL_DEPTH_MAX + 1;
    size_t used = deep.stack_used;
    while (high - low > 1) {
        unsigned levels = (low + high) / 2;
        if (!read_nest(nest, before, behind, levels, &deep))
            break;
        if (deep.too_deep) {
            high = levels;
            continue;
        }
        low = levels;
        used = deep.stack_used;
        if (!deep.read || !deep.steady) {
            tap_check(false, "%u %s are read and steady", levels, nest->name);
            break;
        }
    }
    printf("# %s: %u levels, %zu KiB of stack\n", nest->name, low, used >> 10);
    if (used > deepest_stack)
        deepest_stack = used;
}

/* Backquotes within backquotes need twice the backslashes and one more at each level. */
static void check_backquotes(void)
{
    struct buf text;
    struct deep deep;
    for (unsigned levels = 2; levels <= 16; levels += 7) {
        buf_init(&text, &allocator_libc, SIZE_MAX - 1);
        for (unsigned i = 0; i < levels * 2; i++) {
            unsigned level = i < levels ? i : levels * 2 - 1 - i;
            buf_append_text(&text, i < levels ? "a " : "");
            for (unsigned n = 0; n < (1U << level) - 1; n++)
                buf_append_byte(&text, '\\');
            buf_append_byte(&text, '`');
            buf_append_text(&text, i == levels - 1 ? "b" : "");
        }
        deep = (struct deep){.text = text.data, .len = text.len};
        bool ran = run_deep(&deep);
        tap_check(ran && deep.read && deep.steady, "%u backquotes in each other are read", levels);
        buf_release(&text);
    }
    static const struct nest PAIRS = {"backquotes", "`", "x", "`"};
    tap_check(read_nest(&PAIRS, "", "", 10000, &deep) && deep.read && deep.steady,
              "20000 backquotes side by side are read");
}

static void check_depth(void)
{
    for (size_t i = 0; i < sizeof(NESTS) / sizeof(*NESTS); i++)
        check_nest(&NESTS[i], "", "");
    for (size_t i = 0; i < sizeof(TEST_NESTS) / sizeof(*TEST_NESTS); i++)
        check_nest(&TEST_NESTS[i], "[[ ", " ]]");
    static const struct nest ELIFS = {"elifs", "elif x; then x; ", "", ""};
    check_nest(&ELIFS, "if x; then x; ", "fi");
    check_backquotes();

    /* What is only opened is refused as well, wherever the end comes. */
    static const char *const OPENS[] = {"$(",
                                        "(",
                                        "{ ",
                                        "${x:-",
                                        "\"$(",
                                        "`",
                                        "$((",
                                        "[[ ( ",
                                        "if ",
                                        "a=(",
                                        "\"${x:-",
                                        "<(",
                                        "case x in x) ",
                                        "\\`",
                                        "a[",
                                        "${x[",
                                        "$[",
                                        "f() {",
                                        "((",
                                        "[[ ! ",
                                        "time ",
                                        "coproc ",
                                        "function f ",
                                        "[[ x == @(",
                                        "a=($(",
                                        "'",
                                        "\"",
                                        "<<E\n$(",
                                        "while ",
                                        "for i in x; do "};
    for (size_t i = 0; i < sizeof(OPENS) / sizeof(*OPENS); i++) {
        static const struct nest EMPTY = {"", "", "", ""};
        struct nest nest = EMPTY;
        struct deep deep;
        nest.open = OPENS[i];
        bool ran = read_nest(&nest, "", "", 10000, &deep);
        tap_check(ran, "10000 times %.*s does no harm", (int)strcspn(OPENS[i], "\n"), OPENS[i]);
        if (deep.stack_used > deepest_stack)
            deepest_stack = deep.stack_used;
    }
    size_t most = SANITIZED ? 1024 << 10 : 256 << 10;
    tap_check(deepest_stack < most, "no text needs more than %zu KiB of stack (%zu)", most >> 10,
              deepest_stack >> 10);
}

int main(void)
{
    check_errors();
    check_message_bytes();
    check_carets();
    check_memory();
    check_writing_memory();
    check_size();
    check_visits();
    check_known_words();
    check_plain_commands();
    check_reserved();
    check_long_texts();
    check_depth();
    return tap_done();
}
