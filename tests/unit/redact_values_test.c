/* Exact values in each of their encodings (R2), which values are looked for, and which names. */
#include <stdlib.h>

#include "redact/redact.h"
#include "tap.h"

enum { OUT_MAX = 1 << 20 };

static const char secret[] = "p4ss/w\"o'rd+ $x&<\\y\xc3\xa9>z";

/* The same value as programs print it; made with Python and bash, not with nacre. */
static const struct {
    const char *how, *text;
} forms[] = {
    {"as it is", "p4ss/w\"o'rd+ $x&<\\y\xc3\xa9>z"},
    {"base64", "cDRzcy93Im8ncmQrICR4JjxcecOpPno="},
    {"base64, a byte before it", "IXA0c3MvdyJvJ3JkKyAkeCY8XHnDqT56"},
    {"base64, two bytes before it", "ISFwNHNzL3cibydyZCsgJHgmPFx5w6k+eg=="},
    {"base64, bytes around it", "ISFwNHNzL3cibydyZCsgJHgmPFx5w6k+eiEhIQ=="},
    {"base64 for URLs", "ISFwNHNzL3cibydyZCsgJHgmPFx5w6k-eg=="},
    {"base64 in lines", "cDRzcy93Im8n\ncmQrICR4Jjxc\necOpPno="},
    {"hexadecimal", "703473732f77226f2772642b202478263c5c79c3a93e7a"},
    {"hexadecimal in upper case", "703473732F77226F2772642B202478263C5C79C3A93E7A"},
    {"hexadecimal in lines", "703473732f77226f2772\n642b20247826\r\n3c5c79c3a93e7a"},
    {"bytes in hexadecimal", "\\x70\\x34\\x73\\x73\\x2f\\x77\\x22\\x6f\\x27\\x72\\x64\\x2b\\x20\\x2"
                             "4\\x78\\x26\\x3c\\x5c\\x79"
                             "\\xc3\\xa9\\x3e\\x7a"},
    {"a URL, as Python quotes", "p4ss%2Fw%22o%27rd%2B%20%24x%26%3C%5Cy%C3%A9%3Ez"},
    {"a URL in lower case", "p4ss%2fw%22o%27rd%2b%20%24x%26%3c%5cy%c3%a9%3ez"},
    {"a URL, as JavaScript encodes", "p4ss%2Fw%22o'rd%2B%20%24x%26%3C%5Cy%C3%A9%3Ez"},
    {"a form", "p4ss%2Fw%22o%27rd%2B+%24x%26%3C%5Cy%C3%A9%3Ez"},
    {"JSON", "p4ss/w\\\"o'rd+ $x&<\\\\y\xc3\xa9>z"},
    {"JSON in ASCII", "p4ss/w\\\"o'rd+ $x&<\\\\y\\u00e9>z"},
    {"JSON with slashes", "p4ss\\/w\\\"o'rd+ $x&<\\\\y\xc3\xa9>z"},
    {"single quotes of a shell", "p4ss/w\"o'\\''rd+ $x&<\\y\xc3\xa9>z"},
    {"single quotes, as Python has them", "p4ss/w\"o'\"'\"'rd+ $x&<\\y\xc3\xa9>z"},
    {"double quotes of a shell", "p4ss/w\\\"o'rd+ \\$x&<\\\\y\xc3\xa9>z"},
    {"printf %q", "p4ss/w\\\"o\\'rd+\\ \\$x\\&\\<\\\\y\xc3\xa9\\>z"},
    {"XML", "p4ss/w&quot;o&#39;rd+ $x&amp;&lt;\\y\xc3\xa9&gt;z"},
    {"XML, as Python escapes", "p4ss/w&quot;o&#x27;rd+ $x&amp;&lt;\\y\xc3\xa9&gt;z"},
    {"HTML text", "p4ss/w\"o'rd+ $x&amp;&lt;\\y\xc3\xa9&gt;z"},
    {"with colours", "p4ss\x1b[1m/w\"o'rd+ $x&<\x1b[0m\\y\xc3\xa9>z"},
};

static struct redactor *make(const char *bytes, size_t len)
{
    struct redactor *r;
    const struct redact_value value = {"V", bytes, len};
    const struct redact_options options = {.values = &value, .value_count = 1};
    struct err e;
    if (redactor_new(&options, &r, &e) < 0) {
        printf("# %s\n", e.message);
        exit(1);
    }
    return r;
}

static void test_forms(void)
{
    struct redactor *r = make(secret, strlen(secret));
    struct buf out;
    buf_init(&out, &allocator_libc, OUT_MAX);
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text), "one \n%s\n two", forms[i].text);
        buf_clear(&out);
        redact_text(r, text, strlen(text), &out, NULL, NULL);
        /* Of base64 a few digits that say nothing of the value may stay. */
        const char *mark = strstr(out.data, "[REDACTED:V]");
        bool good = mark && strncmp(out.data, "one \n", 5) == 0 && out.len < 5 + 12 + 14;
        tap_check(good, "R2: %s", forms[i].how);
        if (!good)
            printf("#   %s\n", out.data);
    }
    redactor_free(r);
    buf_release(&out);
}

/* Every length from the least, in base64 at each offset. */
static void test_base64(void)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t bad = 0, tries = 0;
    struct buf out;
    buf_init(&out, &allocator_libc, OUT_MAX);
    for (size_t len = 8; len < 60; len++) {
        char value[64], around[128], text[256] = "";
        for (size_t i = 0; i < len; i++)
            value[i] = digits[(i * 37 + len * 11) % 64];
        struct redactor *r = make(value, len);
        for (size_t before = 0; before < 6; before++, tries++) {
            size_t n = 0, total = before + len + before;
            memset(around, '.', sizeof(around));
            memcpy(around + before, value, len);
            for (size_t i = 0; i < total; i += 3) {
                unsigned char b[3] = {0};
                memcpy(b, around + i, total - i < 3 ? total - i : 3);
                text[n++] = digits[b[0] >> 2];
                text[n++] = digits[(b[0] & 3) << 4 | b[1] >> 4];
                text[n++] = digits[(b[1] & 15) << 2 | b[2] >> 6];
                text[n++] = digits[b[2] & 63];
            }
            buf_clear(&out);
            redact_text(r, text, n, &out, NULL, NULL);
            /* What is left of the digits is what stood around it, and no more. */
            size_t left = out.len - strlen("[REDACTED:V]");
            bad += !strstr(out.data, "[REDACTED:V]") || left > before * 2 * 4 / 3 + 4;
        }
        redactor_free(r);
    }
    tap_check(bad == 0, "R2: base64 of %zu lengths and offsets", tries);
    buf_release(&out);
}

static void test_long_value(void)
{
    enum { LEN = 20000 };
    char *value = malloc(LEN), *text = malloc(LEN + 200);
    struct buf out;
    if (!value || !text)
        exit(1);
    buf_init(&out, &allocator_libc, OUT_MAX);
    uint32_t state = 1;
    for (size_t i = 0; i < LEN; i++) {
        state = state * 1664525 + 1013904223;
        value[i] = (char)('!' + (state >> 24) % 90);
    }
    struct redactor *r = make(value, LEN);
    memset(text, '.', LEN + 200);
    memcpy(text + 100, value, LEN);
    redact_text(r, text, LEN + 200, &out, NULL, NULL);
    tap_number((long long)out.len, 200 + 12, "a long value is one");
    redactor_free(r);
    free(value);
    free(text);
    buf_release(&out);
}

static void test_usable(void)
{
    static const char *const usable[] = {"hunter22", "a1b2c3", "correct horse", "Tr0ub4dor&3",
                                         "/AbC1+dEf2"};
    static const char *const not_usable[] = {
        "",        "1",      "yes",   "true",     "localhost",       "/usr/bin",
        "aaaaaaa", "secret", "12345", "password", "/home/user/.ssh", "postgres"};
    for (size_t i = 0; i < sizeof(usable) / sizeof(usable[0]); i++)
        tap_check(redact_value_is_usable(usable[i], strlen(usable[i])), "looked for: '%s'",
                  usable[i]);
    for (size_t i = 0; i < sizeof(not_usable) / sizeof(not_usable[0]); i++)
        tap_check(!redact_value_is_usable(not_usable[i], strlen(not_usable[i])),
                  "not looked for: '%s'", not_usable[i]);
    struct redactor *r = make("1", 1);
    struct buf out;
    buf_init(&out, &allocator_libc, OUT_MAX);
    redact_text(r, "11 of 111 passed", 16, &out, NULL, NULL);
    tap_text(out.data, "11 of 111 passed", "PASSWORD=1 blanks nothing");
    redactor_free(r);
    buf_release(&out);
}

static void test_names(void)
{
    static const char *const names[] = {"PASSWORD",
                                        "DB_PASSWORD",
                                        "PGPASSWORD",
                                        "MYSQL_PWD",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_ACCESS_KEY_ID",
                                        "GITHUB_TOKEN",
                                        "npm_config__authToken",
                                        "OPENAI_API_KEY",
                                        "apikey",
                                        "STRIPE_KEY",
                                        "GH_PAT",
                                        "DATABASE_URL",
                                        "APP_DATABASE_URL",
                                        "SENTRY_DSN",
                                        "JWT_SECRET",
                                        "SESSION_COOKIE",
                                        "GOOGLE_CREDENTIALS",
                                        "ENCRYPTION_KEY",
                                        "DOCKER_AUTH",
                                        "SIGNING_KEY_2"};
    static const char *const others[] = {"PATH",
                                         "HOME",
                                         "PWD",
                                         "OLDPWD",
                                         "SSH_AUTH_SOCK",
                                         "KEYBOARD",
                                         "SSH_PUBLIC_KEY",
                                         "LANG",
                                         "TOKENIZERS_PARALLELISM",
                                         "MAX_TOKENS",
                                         "PASSWORD_FILE",
                                         "API_KEY_PATH",
                                         "KEY",
                                         "COMPASS",
                                         "GPG_TTY",
                                         "AUTHOR",
                                         "DESKTOP_SESSION",
                                         "XDG_SESSION_TYPE",
                                         "MONKEY",
                                         "GIT_ASKPASS",
                                         "PATTERN",
                                         "DISPLAY",
                                         "SECRET_NAME"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        tap_check(redact_name_is_secret(names[i], strlen(names[i])), "a secret: %s", names[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        tap_check(!redact_name_is_secret(others[i], strlen(others[i])), "no secret: %s", others[i]);
}

static void test_refusals(void)
{
    static const struct {
        struct redact_rule rule;
        const char *message;
    } rows[] = {
        {{"x", "a["}, "rule 'x': pattern, at 3: a class that does not end"},
        {{"x", "(a)(b)"}, "rule 'x': pattern, at 5: a second secret; other groups are (?:…)"},
        {{"x", "(?:(a)|b)(c)"},
         "rule 'x': pattern, at 11: a second secret; other groups are (?:…)"},
        {{"x", "a**"}, "rule 'x': pattern, at 3: a repeat of a repeat"},
        {{"x", "(?:a"}, "rule 'x': pattern, at 5: a ')' is missing"},
        {{"x", "a)"}, "rule 'x': pattern, at 2: a ')' too many"},
        {{"x", "^a"},
         "rule 'x': pattern, at 1: '^' and '$' are not known; \\b is where a word begins "
         "or ends"},
        {{"x", "[a-z]+abc"},
         "rule 'x': pattern: a repeat takes what should come after it; repeats "
         "give nothing back"},
        {{"x", "a{3,2}"}, "rule 'x': pattern, at 6: a repeat is {n}, {n,} or {n,m}"},
        {{"x", "(?:ab){99}"}, "rule 'x': pattern, at 11: a group is repeated 32 times at most"},
        {{"x", "\\1"}, "rule 'x': pattern, at 2: an escape that is not known"},
        {{"x", ""}, "rule 'x': pattern, at 1: empty"},
        {{"x y", "abcd"},
         "the name of a redaction rule has 1 to 128 letters, digits, '_', '-' and '.'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct redactor *r;
        struct err e = {0};
        const struct redact_options options = {.rules = &rows[i].rule, .rule_count = 1};
        tap_check(redactor_new(&options, &r, &e) < 0, "refused: %s", rows[i].rule.pattern);
        tap_text(e.message, rows[i].message, "with the reason");
    }
    struct redactor *r;
    struct err e = {0};
    const struct redact_options options = {.replacement = ""};
    tap_check(redactor_new(&options, &r, &e) < 0, "no replacement is refused");
    /* Many ways to begin, and groups that could be read in very many ways: made in no time. */
    static const struct redact_rule many[] = {
        {"wide", ".{4}[0-9]"},
        {"deep", "(?:a?b?c?){0,32}(?:d?e?f?){0,32}x"},
    };
    const struct redact_options wide = {.rules = many, .rule_count = 1};
    int made = redactor_new(&wide, &r, &e);
    tap_number(made, 0, "a rule that can begin with anything");
    if (made == 0) {
        struct buf out;
        buf_init(&out, &allocator_libc, OUT_MAX);
        redact_text(r, "x abcd1 y", 9, &out, NULL, NULL);
        tap_text(out.data, "x [REDACTED:wide] y", "is found anywhere");
        buf_release(&out);
        redactor_free(r);
    }
    const struct redact_options deep = {.rules = many + 1, .rule_count = 1};
    if (redactor_new(&deep, &r, &e) == 0)
        redactor_free(r);
    tap_check(true, "a pattern of many ways ends");
}

int main(void)
{
    test_forms();
    test_base64();
    test_long_value();
    test_usable();
    test_names();
    test_refusals();
    return tap_done();
}
