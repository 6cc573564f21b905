/* Whether what stands in a secret's place can be one; see judge.h. */
#include "redact/judge.h"

#include <string.h>
#include <strings.h>

enum { JUDGED_MAX = 64, ENTROPY_MAX = 64 };

/* What a secret looks like, by its beginning. */
struct looks {
    const char *bytes;
    size_t len;
    size_t lower, upper, digits, symbols, others; /* symbols: none of "._-:/" */
    bool path;                                    /* begins like one */
};

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct looks look_at(const char *bytes, size_t len)
{
    struct looks l = {.bytes = bytes, .len = len};
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];
        if (is_lower(c))
            l.lower++;
        else if (is_upper(c))
            l.upper++;
        else if (is_digit(c))
            l.digits++;
        else if (c == '.' || c == '_' || c == '-' || c == ':' || c == '/')
            l.others++;
        else
            l.symbols++;
    }
    l.path = bytes[0] == '/' || bytes[0] == '~' || (len > 1 && memcmp(bytes, "./", 2) == 0) ||
             (len > 2 && memcmp(bytes, "../", 3) == 0);
    return l;
}

/* --- entropy --------------------------------------------------------------------------------- */

/* log2 of 1 to 64, times 256. */
static const uint16_t log2_256[ENTROPY_MAX + 1] = {
    0,    0,    256,  406,  512,  594,  662,  719,  768,  812,  850,  886,  918,
    947,  975,  1000, 1024, 1046, 1068, 1087, 1106, 1124, 1142, 1158, 1174, 1189,
    1203, 1217, 1231, 1244, 1256, 1268, 1280, 1291, 1302, 1313, 1324, 1334, 1343,
    1353, 1362, 1372, 1380, 1389, 1398, 1406, 1414, 1422, 1430, 1437, 1445, 1452,
    1459, 1466, 1473, 1480, 1487, 1493, 1500, 1506, 1512, 1518, 1524, 1530, 1536,
};

/* Hundredths of a bit for each byte. */
static unsigned entropy_of(const char *bytes, size_t len)
{
    unsigned char counts[256] = {0};
    if (len > ENTROPY_MAX)
        len = ENTROPY_MAX;
    if (len == 0)
        return 0;
    for (size_t i = 0; i < len; i++)
        counts[(unsigned char)bytes[i]]++;
    unsigned sum = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char *count = &counts[(unsigned char)bytes[i]];
        sum += *count * (unsigned)log2_256[*count];
        *count = 0;
    }
    return (log2_256[len] - sum / (unsigned)len) * 100 / 256;
}

/* --- placeholders ---------------------------------------------------------------------------- */

struct word {
    size_t len;
    const char *text;
};

#define WORD(text)                                                                                 \
    {                                                                                              \
        sizeof(text) - 1, text                                                                     \
    }

/* By their length. */
static const struct word common_words[] = {
    WORD("int"),
    WORD("str"),
    WORD("/tmp"),
    WORD("bool"),
    WORD("char"),
    WORD("file"),
    WORD("from"),
    WORD("name"),
    WORD("none"),
    WORD("null"),
    WORD("root"),
    WORD("self"),
    WORD("test"),
    WORD("text"),
    WORD("that"),
    WORD("this"),
    WORD("true"),
    WORD("type"),
    WORD("user"),
    WORD("when"),
    WORD("will"),
    WORD("with"),
    WORD("your"),
    WORD("/home"),
    WORD("/root"),
    WORD("admin"),
    WORD("array"),
    WORD("bytes"),
    WORD("const"),
    WORD("dummy"),
    WORD("empty"),
    WORD("false"),
    WORD("field"),
    WORD("input"),
    WORD("login"),
    WORD("stdin"),
    WORD("token"),
    WORD("unset"),
    WORD("utf-8"),
    WORD("value"),
    WORD("123456"),
    WORD("change"),
    WORD("enable"),
    WORD("foobar"),
    WORD("github"),
    WORD("hidden"),
    WORD("masked"),
    WORD("needed"),
    WORD("number"),
    WORD("object"),
    WORD("passwd"),
    WORD("prompt"),
    WORD("public"),
    WORD("sample"),
    WORD("secret"),
    WORD("string"),
    WORD("/bin/sh"),
    WORD("0.0.0.0"),
    WORD("boolean"),
    WORD("c.utf-8"),
    WORD("default"),
    WORD("defined"),
    WORD("disable"),
    WORD("enabled"),
    WORD("example"),
    WORD("expired"),
    WORD("expires"),
    WORD("integer"),
    WORD("invalid"),
    WORD("keyring"),
    WORD("keyword"),
    WORD("missing"),
    WORD("package"),
    WORD("private"),
    WORD("removed"),
    WORD("session"),
    WORD("staging"),
    WORD("testing"),
    WORD("unknown"),
    WORD("/usr/bin"),
    WORD("/usr/lib"),
    WORD("12345678"),
    WORD("abcdefgh"),
    WORD("changeit"),
    WORD("changeme"),
    WORD("database"),
    WORD("disabled"),
    WORD("filename"),
    WORD("mysecret"),
    WORD("optional"),
    WORD("password"),
    WORD("postgres"),
    WORD("readonly"),
    WORD("redacted"),
    WORD("required"),
    WORD("username"),
    WORD("/bin/bash"),
    WORD("/dev/null"),
    WORD("123456789"),
    WORD("127.0.0.1"),
    WORD("localhost"),
    WORD("redacted:"),
    WORD("somevalue"),
    WORD("undefined"),
    WORD("/usr/local"),
    WORD("1234567890"),
    WORD("[redacted]"),
    WORD("mypassword"),
    WORD("passphrase"),
    WORD("production"),
    WORD("text/plain"),
    WORD("development"),
    WORD("en_us.utf-8"),
    WORD("placeholder"),
    WORD("/usr/bin/env"),
    WORD("xterm-256color"),
    WORD("application/json"),
};

bool judge_is_common(const char *bytes, size_t len)
{
    for (size_t i = 0; i < sizeof(common_words) / sizeof(common_words[0]); i++) {
        if (common_words[i].len > len)
            return false;
        if (common_words[i].len == len && strncasecmp(common_words[i].text, bytes, len) == 0)
            return true;
    }
    return false;
}

static bool all_alike(const char *bytes, size_t len)
{
    for (size_t i = 1; i < len; i++) {
        if (bytes[i] != bytes[0])
            return false;
    }
    return true;
}

static bool is_name(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];
        if (!is_lower(c) && !is_upper(c) && c != '_' && !(is_digit(c) && i > 0))
            return false;
    }
    return len > 0;
}

/* $NAME, ${…}, $(…), %NAME%, %s, {{…}}, <…>, !tag, [REDACTED… */
static bool is_reference(const char *bytes, size_t len)
{
    switch (bytes[0]) {
    case '$':
        return len > 1 && (bytes[1] == '{' || bytes[1] == '(' || bytes[1] == '$' ||
                           is_name(bytes + 1, len - 1));
    case '%':
        return len == 2 || (len > 2 && (bytes[1] == '(' || bytes[1] == '{' ||
                                        (bytes[len - 1] == '%' && is_name(bytes + 1, len - 2))));
    case '{':
        return len > 1 && (bytes[1] == '{' || bytes[1] == '%' || bytes[len - 1] == '}');
    case '<':
        return true;
    case '[':
        return len >= 9 && strncasecmp(bytes, "[redacted", 9) == 0;
    case '!': /* a tag of YAML */
        return is_name(bytes + 1, len - 1);
    case '#':
        return len > 1 && bytes[1] == '{';
    default:
        return false;
    }
}

static bool is_placeholder(const struct looks *l)
{
    size_t len = l->len;
    while (len > 1 && strchr(";,)]}:.", l->bytes[len - 1]))
        len--;
    if (is_reference(l->bytes, l->len) || judge_is_common(l->bytes, len) ||
        all_alike(l->bytes, len) || (l->digits == len && len < 6))
        return true;
    /* A metavariable: PASSWORD, YOUR_TOKEN. */
    if (l->upper > 0 && l->lower == 0 && l->digits == 0 && is_name(l->bytes, l->len))
        return true;
    static const struct word beginnings[] = {
        WORD("your"),   WORD("my_"),     WORD("my-"),         WORD("example"),  WORD("xxx"),
        WORD("***"),    WORD("..."),     WORD("placeholder"), WORD("changeme"), WORD("change_me"),
        WORD("insert"), WORD("replace"), WORD("dummy"),       WORD("fake")};
    for (size_t i = 0; l->digits == 0 && i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        if (l->len >= beginnings[i].len &&
            strncasecmp(l->bytes, beginnings[i].text, beginnings[i].len) == 0)
            return true;
    }
    return false;
}

/* --- code ------------------------------------------------------------------------------------ */

/* A call, an index, a member, an operator: something that a program works out. */
static bool is_code(const struct looks *l)
{
    const char *bytes = l->bytes;
    if (l->len > 1 && memchr(bytes + 1, '(', l->len - 1) && is_name(bytes, 1))
        return true;
    for (size_t i = 0; i + 1 < l->len; i++) {
        if ((bytes[i] == '-' && bytes[i + 1] == '>') || (bytes[i] == ':' && bytes[i + 1] == ':') ||
            (i > 0 && bytes[i] == '[' && is_name(bytes, 1)))
            return true;
    }
    if (bytes[l->len - 1] == '[' || bytes[l->len - 1] == '(')
        return true;
    /* Names with dots between them: user.password, process.env.TOKEN1, os.environ */
    size_t start = 0, parts = 0;
    for (size_t i = 0; i <= l->len; i++) {
        if (i < l->len && bytes[i] != '.')
            continue;
        size_t end = i;
        while (end > start && strchr("?!,;)", bytes[end - 1]))
            end--;
        if (!is_name(bytes + start, end - start))
            return false;
        parts++;
        start = i + 1;
    }
    return parts > 1 && l->digits < 4;
}

static bool is_quote(unsigned char c)
{
    return c == '"' || c == '\'' || c == '`';
}

/* Digits among letters, or letters of both cases: chance, not a word. */
static bool is_mixed(const struct looks *l)
{
    return (l->digits > 0 && l->digits < l->len) || (l->upper > 1 && l->lower > 1);
}

/* What stands in quotes: a sentence or a label is none, nor what a token is called; other words
 * may be passwords. */
static bool can_be_quoted(const struct view *v, size_t at, const struct match *m,
                          const struct looks *l)
{
    bool word = l->digits == 0 && l->symbols == 0;
    bool closed = m->to < v->len && is_quote(v->data[m->to]);
    if (!closed && word)
        return false;
    if (word && (v->data[at] | 0x20) != 'p')
        return l->len >= 20 && is_mixed(l);
    bool label = l->upper == 1 && is_upper(l->bytes[0]) && l->lower == l->len - 1;
    return !(word && (label || l->len < 6 || (v->data[m->from - 1] == '`'))) && !l->path;
}

/* What stands there bare: names of variables and words of sentences are none. */
static bool can_be_bare(const struct view *v, size_t at, const struct match *m,
                        const struct looks *l)
{
    /* What closes a call or ends a statement is no part of a value, as far as this goes. */
    size_t len = l->len;
    while (len > 1 && strchr(");,]}", l->bytes[len - 1]))
        len--;
    struct looks trimmed = look_at(l->bytes, len);
    l = &trimmed;
    if (strchr("([{", l->bytes[0]) && l->digits == 0)
        return false;
    size_t letters = l->lower + l->upper;
    bool for_password = (v->data[at] | 0x20) == 'p';
    if (l->path && l->digits == 0)
        return false;
    if (letters == 0)
        return l->digits >= 6 && for_password && l->others == 0;
    if (l->digits > 0 || l->symbols > 0)
        return !is_code(l) && (l->symbols > 0 || l->digits > 1 || l->len >= 6);
    /* Letters alone: where a shell or a URL has it, NAME=value and ?name=value. */
    bool tight = m->from > 0 && v->data[m->from - 1] == '=';
    bool shell = v->data[at] >= 'A' && v->data[at] <= 'Z';
    bool url = at > 0 && (v->data[at - 1] == '?' || v->data[at - 1] == '&');
    return tight && (shell || url) && l->len >= 6 && !is_code(l) && !l->path;
}

/* What follows an option: without '=' or quotes, words are those of a sentence about it. */
static bool can_be_option(const struct view *v, const struct match *m, const struct looks *l)
{
    bool word = l->digits == 0 && l->symbols == 0;
    unsigned char before = m->from > 0 ? v->data[m->from - 1] : ' ';
    return !word || before == '=' || is_quote(before);
}

bool judge_secret(const struct rule *rule, const struct view *v, size_t at, const struct match *m)
{
    const char *bytes = (const char *)v->data + m->from;
    size_t len = m->to - m->from < JUDGED_MAX ? m->to - m->from : JUDGED_MAX;
    if (rule->entropy > 0 && entropy_of(bytes, len) < rule->entropy)
        return false;
    if (rule->judge == JUDGE_ANY)
        return true;
    struct looks l = look_at(bytes, len);
    if (is_placeholder(&l))
        return false;
    if (rule->judge == JUDGE_FILLED)
        return true;
    if (rule->judge == JUDGE_MIXED)
        return l.digits > 0 && l.lower + l.upper > 0;
    if (rule->judge == JUDGE_OPTION)
        return can_be_option(v, m, &l);
    return m->from > 0 && is_quote(v->data[m->from - 1]) ? can_be_quoted(v, at, m, &l)
                                                         : can_be_bare(v, at, m, &l);
}
