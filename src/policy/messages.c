/* See messages.h. */
#include "policy/messages.h"

#include <string.h>

#include "base/options.h"
#include "policy/verdict.h"

/* The length of a name that stands in braces at `at`, which is behind one; 0: it is none. */
static size_t name_length(const char *at)
{
    size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
    return at[len] == '}' ? len : 0;
}

bool message_find_unknown(const char *text, const char *names, const char **ret_name,
                          size_t *ret_len)
{
    for (const char *brace = strchr(text, '{'); brace; brace = strchr(brace + 1, '{')) {
        size_t len = name_length(brace + 1);
        const char *rest = names;
        struct options_piece name;
        bool known = !len;
        while (!known && names[0] && options_next_choice(&rest, &name))
            known = name.len == len && memcmp(name.text, brace + 1, len) == 0;
        if (known)
            continue;
        *ret_name = brace + 1;
        *ret_len = len;
        return true;
    }
    return false;
}

static const struct message_value *find_value(const struct message_value *values, const char *name,
                                              size_t len)
{
    for (; values->name; values++) {
        if (strlen(values->name) == len && memcmp(values->name, name, len) == 0)
            return values;
    }
    return NULL;
}

int message_append(const char *text, const struct message_value *values, struct buf *out)
{
    while (*text) {
        size_t plain = strcspn(text, "{");
        buf_append(out, text, plain);
        text += plain;
        if (!*text)
            break;
        size_t len = name_length(text + 1);
        const struct message_value *value = len ? find_value(values, text + 1, len) : NULL;
        if (value) {
            buf_append(out, value->bytes, value->len);
            text += len + 2;
        } else {
            buf_append_byte(out, *text++);
        }
    }
    return out->failed;
}

size_t message_characters(const char *text, size_t len)
{
    static const char blanks[] = " \t\n\r\v\f";
    size_t count = 0;
    while (len && memchr(blanks, text[len - 1], sizeof(blanks) - 1))
        len--;
    while (len && memchr(blanks, *text, sizeof(blanks) - 1)) {
        text++;
        len--;
    }
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

const char *policy_decision_name(const struct policy *policy, enum decision decision)
{
    const char *fixed = policy ? policy->messages.decisions[DECISION_ALLOW - decision] : NULL;
    return fixed ? fixed : decision_names[decision];
}
