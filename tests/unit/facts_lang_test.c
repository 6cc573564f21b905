/*
 * sed scripts and awk programs, and what is reported of each: "use text" in order, "use ?" where
 * the text is no constant, separated by " | ".
 */
#include <stdlib.h>

#include "base/buf.h"
#include "facts/lang.h"
#include "tap.h"

struct lang_case {
    const char *text, *should;
};

struct reports {
    const char *text; /* what is read */
    size_t len;
    struct buf out;
    bool wrong_offset;
};

static void collect(void *user, enum lang_use use, const char *text, size_t len, size_t offset)
{
    static const char *const NAMES[] = {
        [LANG_UNKNOWN_CODE] = "unknown",
        [LANG_SHELL] = "shell",
        [LANG_READ] = "read",
        [LANG_WRITE] = "write",
    };
    struct reports *r = user;
    if (r->out.len)
        buf_append(&r->out, " | ", 3);
    buf_append(&r->out, NAMES[use], strlen(NAMES[use]));
    buf_append_byte(&r->out, ' ');
    buf_append(&r->out, text ? text : "?", text ? len : 1);
    /* Constants are told with their place, but for escapes that were taken out. */
    if (offset > r->len)
        r->wrong_offset = true;
    else if (text && !memchr(r->text + offset, '\\', r->len - offset))
        r->wrong_offset |= len > r->len - offset || memcmp(r->text + offset, text, len) != 0;
}

enum lang { SED, AWK };

static void read_lang(enum lang lang, const char *text, size_t len, struct reports *r)
{
    *r = (struct reports){.text = text, .len = len};
    buf_init(&r->out, &allocator_libc, 1 << 24);
    if (lang == SED)
        lang_sed(text, len, false, collect, r);
    else
        lang_awk(text, len, collect, r);
    buf_append_byte(&r->out, '\0');
}

/* A copy of its own for each, so that a sanitizer sees a step behind the end. */
static void check_case(enum lang lang, const struct lang_case *c)
{
    size_t len = strlen(c->text);
    char *copy = malloc(len + !len);
    if (!copy)
        abort();
    memcpy(copy, c->text, len);
    struct reports r;
    read_lang(lang, copy, len, &r);
    tap_text(r.out.data, c->should, c->text);
    if (r.wrong_offset)
        tap_check(false, "offsets: %s", c->text);
    buf_release(&r.out);
    free(copy);
}

static const struct lang_case SED_CASES[] = {
    /* nothing but editing */
    {"", ""},
    {"p", ""},
    {"1,10p", ""},
    {"/a/,/b/p", ""},
    {"$!N;P;D", ""},
    {"$=", ""},
    {"10q", ""},
    {"5{p;q}", ""},
    {"0,/x/s//y/", ""},
    {"1~2d; 2,~4p; 3,+2p", ""},
    {"/x/I,/y/MIp", ""},
    {"\\,/usr/bin,p", ""},
    {"\\wxwp", ""},
    {"1 , 3 ! p", ""},
    {":a;N;$!ba;s/\\n/ /g", ""},
    {": a\nb a", ""},
    {"s/a/b/", ""},
    {"s/a/b/gI2", ""},
    {"s|/usr|/opt|g;s,x,y,p", ""},
    {"s/[/]/x/", ""},
    {"s/[^]/]*/w x/", ""},
    {"s/[[:alpha:]/]/e/", ""},
    {"s/[[.].]/]/e/", ""},
    {"s/a\\/e/b\\/w c/", ""},
    {"s/a/b\\\nw x/", ""},
    {"sxaxbx", ""},
    {"s\\a\\b\\", ""},
    {"seaebew x", "write x"},
    {"y/abc/xyz/;p", ""},
    {"{y/a/b/}", ""},
    {"y/w\\/e/abc/", ""},
    {"l 20;L;l", ""},
    {"F;z;=;x;h;H;g;G;n;N;d;D;P", ""},
    {"v 4.2\np", ""},
    {"# w file\np", ""},
    {"p # e ls", ""},
    {"a text", ""},
    {"a text; w file", ""},
    {"a\\\ntext\\\nw file\np", ""},
    {"$a\\  text", ""},
    {"i\\text\np", ""},
    {"c", "unknown ?"},
    {"a\\", ""},
    {"{p};{p}", ""},
    {"{{p}}", ""},
    {"s/x/y/}", "unknown ?"},
    {"/caf\303\251/p", ""},

    /* commands */
    {"e", "shell ?"},
    {"1e", "shell ?"},
    {"e ls -l", "shell ls -l"},
    {"1e ls; w x", "shell ls; w x"},
    {"p;e id\np", "shell id"},
    {"e\\\nls", "shell ls"},
    {"e l\\s", "shell ?"},
    {"e\\\\ls", "shell ?"},
    {"e ls\\\n-l", "shell ?"},
    {"s/a/b/e", "shell ?"},
    {"s/.*/date/gep", "shell ?"},
    {"s/a/b/ee", "shell ?"},
    {"s/a/b/ e", "shell ?"},
    {"1!{s,a,b,;s,c,d,e}", "shell ?"},
    {":e;s/x/y/;te;e", "shell ?"},

    /* files */
    {"r in.txt", "read in.txt"},
    {"/x/r in;p", "read in;p"},
    {"0r in", "read in"},
    {"R\t in}", "read in}"},
    {"rin", "read in"},
    {"r /dev/stdin", "read /dev/stdin"},
    {"w out", "write out"},
    {"w out ", "write out "},
    {"W /dev/stdout\np", "write /dev/stdout"},
    {"{w out\n}", "write out"},
    {"{w out}", "write out} | unknown ?"},
    {"s/a/b/w out", "write out"},
    {"s/a/b/gpw out # not a comment", "write out # not a comment"},
    {"s/a/b/wout;p\nw x", "write out;p | write x"},
    {"s/a/b/;w x", "write x"},
    {"s/a/b/ew x", "shell ? | write x"},
    {"y/a/b/;w x", "write x"},
    {"ba;w x", "write x"},
    {":a w x", "write x"},
    {"b a w x", "write x"},
    {":a#w x\nw y", "write y"},
    {"a\\\\\nw x", "write x"},
    {"a\\ \nw x", "write x"},
    {"a\\ \\\\\nw x", "write x"},
    {"a\\ \\\nw x", ""},
    {"a x\\\\\nw x", "write x"},
    {"a x\\\nw x", ""},
    {"i\nw x", "write x"},
    {"#n\nw x", "write x"},
    {"# c\\\nw x", "write x"},
    {"v\nw x", "write x"},
    {"vw x", ""},
    {"}w x", "unknown ?"},
    {"{p;}w x", "unknown ?"},
    {"{p};w x", "write x"},
    {"/[/w x", "unknown ?"},
    {"/\\[/w x", "write x"},
    {"/[[]/w x", "write x"},
    {"/[[:]/w x/]/w y", "unknown ?"},
    {"\\[a[w x", "write x"},
    {"s/a/b/\r\nw x", "write x"},

    /* what sed refuses, or versions read differently */
    {"w", "unknown ?"},
    {"r\np", "unknown ?"},
    {"s/a/b", "unknown ?"},
    {"s/a\nb/c/", "unknown ?"},
    {"s/a/b\nc/", "unknown ?"},
    {"s/a/b/x", "unknown ?"},
    {"s/a/b/gg", "unknown ?"},
    {"s\na\nb\n", "unknown ?"},
    {"s\303\251a\303\251b\303\251", "unknown ?"},
    {"s/\\c/w x/g", "unknown ?"},
    {"y/a/b", "unknown ?"},
    {"pp", "unknown ?"},
    {"p w x", "unknown ?"},
    {"Z", "unknown ?"},
    {"1!!p", "unknown ?"},
    {"0p", "unknown ?"},
    {"+3p", "unknown ?"},
    {"1,p", "unknown ?"},
    {"1,2q", "unknown ?"},
    {"1#", "unknown ?"},
    {":", "unknown ?"},
    {"1:a", "unknown ?"},
    {"{p", "unknown ?"},
    {"1}", "unknown ?"},
    {"1", "unknown ?"},
    {"/a", "unknown ?"},
    {"\\", "unknown ?"},
    {"/a/,", "unknown ?"},
    {"s/\377/b/", "unknown ?"},
};

static const struct lang_case AWK_CASES[] = {
    /* nothing but its operands */
    {"", ""},
    {"{print $1}", ""},
    {"NR==1", ""},
    {"NR>1 && $3 >= 10 {print $1, $2}", ""},
    {"!seen[$0]++", ""},
    {"NR==FNR{a[$1];next} $1 in a", ""},
    {"BEGIN{FS=\":\"; OFS=\"\\t\"} {print $1, $NF}", ""},
    {"{s+=$1} END{print s, s/NR}", ""},
    {"{printf \"%-10s|%5.2f\\n\", $1, $2/$3}", ""},
    {"/a|b/ {n++} END{print n+0}", ""},
    {"/start/,/end/", ""},
    {"/\\/usr\\/bin/", ""},
    {"{sub(/[^/]*$/, \"\"); print}", ""},
    {"/[[:digit:]/]+/", ""},
    {"/[]/]/", ""},
    {"/\\[error]/", ""},
    {"{print ($1 > 5)}", ""},
    {"{print($1 > 5 ? \"a\" : \"b\")}", ""},
    {"{if ($1 > 5) print $1; else print \"no\"}", ""},
    {"{x = $1 > 5; print x}", ""},
    {"{print a[$1 > 2]}", ""},
    {"{print \"a > b | c\"}", ""},
    {"{print /x > y/}", ""},
    {"# system(\"x\")\n{print}", ""},
    {"{print} # | \"sh\"", ""},
    {"{a = b / c; d /= 2; e = f[1] / (g) / 3}", ""},
    {"{x = i++ / 2}", ""},
    {"$1 ~ /x/ || /y/", ""},
    {"{getline; getline x; while (getline line) n++}", ""},
    {"(getline x) < 5", ""},
    {"{if ((getline x) > 0 && a < b) print}", ""},
    {"{close(\"cmd\"); fflush()}", ""},
    {"{print ENVIRON[\"HOME\"], ARGV[1], ARGC}", ""},
    {"BEGIN{for (i in ARGV) if (ARGV[i] == \"x\") delete ARGV[i]}", ""},
    {"BEGIN{print length(ARGV)}", ""},
    {"function max(a, b) { return a > b ? a : b }\n{print max($1, $2)}", ""},
    {"{switch ($1) {case /x/: print; break; default: next}}", ""},
    {"@namespace \"x\"\n{print}", ""},
    {"{if ($0 ~ @/x/) print}", ""},
    {"{x = 1e3 + .5 + 0x1f + 5.}", ""},
    {"{system_x = 1; xsystem(2)}", ""},
    {"{print $1 \\\n, $2}", ""},
    {"{ print \"caf\303\251\" }", ""},

    /* commands */
    {"BEGIN{system(\"ls -l\")}", "shell ls -l"},
    {"BEGIN { system ( \"id\" ) }", "shell id"},
    {"BEGIN{system(\"a\" \"b\")}", "shell ?"},
    {"{system(\"rm \" $1)}", "shell ?"},
    {"{system($0)}", "shell ?"},
    {"{system(x = \"ls\")}", "shell ?"},
    {"{system((\"ls\"))}", "shell ?"},
    {"{system}", "shell ?"},
    {"{r = system(\"true\") / 2; print r / 3}", "shell true"},
    {"{system(\"echo \\\"a\\\" \\\\ \\/\\n\")}", "shell echo \"a\" \\ /\n"},
    {"{system(\"echo \\x41\")}", "shell ?"},
    {"{system(\"\\163udo\")}", "shell ?"},
    {"BEGIN{awk::system(\"id\")}", "shell id"},
    {"1system(\"id\")", "unknown ?"},
    {"1 system(\"id\")", "shell id"},
    {"{\"date\" | getline}", "shell date"},
    {"{\"date\" | getline d; print d}", "shell date"},
    {"BEGIN{while ((\"ls\" | getline f) > 0) print f}", "shell ls"},
    {"BEGIN{while (\"ls\" | getline) n++}", "shell ls"},
    {"{if (x) \"date\" | getline y}", "shell date"},
    {"{x = \"date\" | getline y}", "shell date"},
    {"{\"a\" \"b\" | getline}", "shell ?"},
    {"{(\"a\") | getline}", "shell ?"},
    {"{(x) \"a\" | getline}", "shell ?"},
    {"{x \"a\" | getline}", "shell ?"},
    {"{1 + \"a\" | getline}", "shell ?"},
    {"{cmd = \"date\"; cmd | getline}", "shell ?"},
    {"{\"date\" |\n getline}", "shell ?"},
    {"{\"cat\" |& getline x}", "shell cat"},
    {"{print | \"sort -n\"}", "shell sort -n"},
    {"{print $1, $2 | \"sort\"; close(\"sort\")}", "shell sort"},
    {"{print $1 | \"sort \" opt}", "shell ?"},
    {"{print $1 | cmd}", "shell ?"},
    {"{print |& \"cat\"}", "shell cat"},
    {"{printf(\"%s\", $1) | \"sh\"}", "shell sh"},
    {"{print \"ls\" | getline}", "shell ? | shell ?"},
    {"{print 1, \"ls\" | getline}", "shell ? | shell ls"},
    {"{print \"x\" |\"sh\"#c\n}", "shell sh"},
    {"{x = y /a/ system(\"id\")}", "shell id"},
    {"{x = (y) /a/ system(\"id\")}", "shell id"},
    {"{a[1] /x\"/ system(\"id\") }", "unknown ?"},
    {"{print /\"/ system(\"id\") /\"/}", "shell id | unknown ?"},
    {"{print \"\\\"\" system(\"id\") \"\"}", "shell id"},
    {"{print \"\\\\\" system(\"id\") \"\"}", "shell id"},

    /* files */
    {"{print > \"out\"}", "write out"},
    {"{print $1 > \"out\"; print $2 > \"out2\"}", "write out | write out2"},
    {"{print $1 >> \"log\"}", "write log"},
    {"{print > $1}", "write ?"},
    {"{print > \"a\" \".txt\"}", "write ?"},
    {"{print > (\"a\")}", "write ?"},
    {"{print > \"/dev/stderr\"}", "write /dev/stderr"},
    {"{print a > b ? c : d}", "write ?"},
    {"{print a,\n\n  b > \"out\"}", "write out"},
    {"{print a &&\n# c\n\nb > \"out\"}", "write out"},
    {"{print \\\n > \"out\"}", "write out"},
    {"{print(1)(2) > \"out\"}", "write out"},
    {"{print (1 > 2) > \"out\"}", "write out"},
    {"{if (x > 1) print x > \"out\"; else y = x > 2}", "write out"},
    {"{printf \"%s\\n\", $0 > FILENAME \".bak\"}", "write ?"},
    {"{for (i in a) print i > \"out\"}", "write out"},
    {"{print > \"/inet/tcp/0/h/80\"}", "write /inet/tcp/0/h/80"},
    {"BEGIN{while ((getline l < \"in\") > 0) n++}", "read in"},
    {"BEGIN{while (getline < \"in\") n++}", "read in"},
    {"{getline x < \"in\"}", "read in"},
    {"{getline a[i] < \"in\"; b = c < d}", "read in"},
    {"{getline $1 < FILENAME}", "read ?"},
    {"{getline x < \"a\" \"b\"}", "read ?"},
    {"{getline x < \"in\" && y < 3}", "read in"},
    {"BEGIN{ARGV[1] = \"x\"}", "read ?"},
    {"BEGIN{ARGC = 3}", "read ?"},
    {"BEGIN{ARGC++}", "read ?"},
    {"BEGIN{++ARGC}", "read ?"},
    {"BEGIN{ARGV[ARGC - 1] /= 2}", "read ?"},
    {"BEGIN{split(\"a b\", ARGV)}", "read ?"},
    {"BEGIN{sub(/a/, \"b\", ARGV[1])}", "read ?"},
    {"function f(a) {a[1] = 2} BEGIN{f(ARGV)}", "read ?"},
    {"BEGIN{getline ARGV[1]}", "read ?"},
    {"BEGIN{for (ARGV[1] in x) break}", "read ?"},

    /* what cannot be told */
    {"@include \"lib\"", "unknown ?"},
    {"@load \"fork\"", "unknown ?"},
    {"{f = \"g\"; @f(1)}", "unknown ?"},
    {"BEGIN{SYMTAB[x] = 1}", "unknown ?"},
    {"{print", "unknown ?"},
    {"{print}}", "unknown ?"},
    {"{print (1]}", "unknown ?"},
    {"{print \"a", "unknown ?"},
    {"{print \"a\n\"}", "unknown ?"},
    {"/a", "unknown ?"},
    {"/a\n/", "unknown ?"},
    {"{if (x) /a/ }", "unknown ?"},
    {"{print length / 2 / 3}", "unknown ?"},
    {"/a][/]/", "unknown ?"},
    {"/[a[/]/", "unknown ?"},
    {"{print `id`}", "unknown ?"},
    {"{print '$1'}", "unknown ?"},
    {"\377", "unknown ?"},
    {"{print \\ }", "unknown ?"},
    {"{x = 1e}", "unknown ?"},
};

/* Bytes that no argument can hold are not read as if it ended there. */
static void test_nul(void)
{
    static const struct {
        enum lang lang;
        const char *text;
        size_t len;
    } CASES[] = {{SED, "p\0w x", 5}, {AWK, "{print}\0{print}", 15}, {AWK, "#\0\n", 3}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct reports r;
        read_lang(CASES[i].lang, CASES[i].text, CASES[i].len, &r);
        tap_text(r.out.data, "unknown ?", "a NUL byte");
        buf_release(&r.out);
    }
}

/* One piece many times: deep nesting ends in a report and never in a crash. */
static void test_repeated(enum lang lang, const char *piece, const char *should)
{
    enum { BYTES = 1 << 20 };
    size_t len = strlen(piece), times = BYTES / len;
    char *text = malloc(times * len);
    if (!text)
        abort();
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * len, piece, len);
    struct reports r;
    read_lang(lang, text, times * len, &r);
    char name[64];
    snprintf(name, sizeof(name), "a megabyte of %s", piece);
    tap_text(r.out.data, should, name);
    buf_release(&r.out);
    free(text);
}

static void test_long_string(void)
{
    enum { LEN = 5000 };
    static char text[LEN + 16];
    int from = snprintf(text, sizeof(text), "{system(\"\\\"");
    memset(text + from, 'a', LEN);
    memcpy(text + from + LEN, "\")}", 3);
    struct reports r;
    read_lang(AWK, text, (size_t)from + LEN + 3, &r);
    tap_text(r.out.data, "shell ?", "a string with escapes that is too long to be told");
    buf_release(&r.out);
}

int main(void)
{
    for (size_t i = 0; i < sizeof(SED_CASES) / sizeof(SED_CASES[0]); i++)
        check_case(SED, &SED_CASES[i]);
    for (size_t i = 0; i < sizeof(AWK_CASES) / sizeof(AWK_CASES[0]); i++)
        check_case(AWK, &AWK_CASES[i]);
    test_nul();
    test_repeated(SED, "{", "unknown ?");
    test_repeated(SED, "/[", "unknown ?");
    test_repeated(SED, "1,$p;", "");
    test_repeated(AWK, "(", "unknown ?");
    test_repeated(AWK, "{{", "unknown ?");
    test_repeated(AWK, "x / ", "");
    test_repeated(AWK, "/a/ ", "");
    test_long_string();
    return tap_done();
}
