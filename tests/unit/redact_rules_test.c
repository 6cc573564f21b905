/* Every rule of data/secrets, held to its own examples. */
#include "redact/redact.h"
#include "redact/rules.h"
#include "redact_examples.h"
#include "tap.h"

enum { TRIES = 20, RULES_MIN = 150 };

/* Which rules replaced something of the text, in `ret_by`. */
static bool redact(const struct redactor *r, const char *text, size_t len, const char *rule,
                   struct buf *out)
{
    char mark[256];
    buf_clear(out);
    snprintf(mark, sizeof(mark), "[REDACTED:%s]", rule);
    if (redact_text(r, text, len, out, NULL, NULL) < 0)
        return false;
    return strstr(out->data, mark) != NULL;
}

static void check(const struct redactor *r, const struct redact_example *x, struct buf *out)
{
    char text[EXAMPLE_MAX], secret[EXAMPLE_MAX];
    size_t good = 0;
    bool known = strchr(x->text, '~') != NULL;
    for (int i = 0; i < TRIES; i++) {
        size_t len = example_make(x->text, text, secret);
        bool found = redact(r, text, len, x->rule, out);
        /* What was random is gone, whichever rule saw to it. */
        if (found == x->wanted && !(x->wanted && known && strstr(out->data, secret)))
            good++;
        else if (i == 0 || good == (size_t)i)
            printf("#   text: %s\n#   is:   %s\n", text, out->data);
        if (!known && good)
            good = TRIES;
    }
    /* A random token may fall short of an entropy by chance. */
    tap_check(good + 1 >= TRIES, "%s: %s '%.100s'", x->rule, x->wanted ? "finds" : "leaves",
              x->text);
}

int main(void)
{
    struct redactor *r;
    struct buf out;
    buf_init(&out, &allocator_libc, 1 << 20);
    if (redactor_new(NULL, &r, NULL) < 0)
        return 1;
    tap_check(rules_builtin.rule_count >= RULES_MIN, "there are %u rules",
              (unsigned)rules_builtin.rule_count);
    for (const struct redact_example *x = redact_examples; x->rule; x++)
        check(r, x, &out);
    redactor_free(r);
    buf_release(&out);
    return tap_done();
}
