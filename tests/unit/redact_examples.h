/*
 * The examples of data/secrets, and what makes them: no secret stands in the repository, not even
 * an invented one, so "~a36" in an example is 36 random letters and digits.
 *
 *   ~a letters and digits   ~l lower case and digits   ~u upper case and digits   ~d digits
 *   ~h hexadecimal          ~b base64 without padding   ~w base64 for URLs
 */
#ifndef NACRE_TESTS_REDACT_EXAMPLES_H
#define NACRE_TESTS_REDACT_EXAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct redact_example {
    const char *rule; /* NULL: the last */
    bool wanted;
    const char *text;
};

extern const struct redact_example redact_examples[];

enum { EXAMPLE_MAX = 2048 };

static uint64_t example_state = 0x9E3779B97F4A7C15U;

__attribute__((unused)) static size_t example_below(size_t bound)
{
    example_state ^= example_state << 13;
    example_state ^= example_state >> 7;
    example_state ^= example_state << 17;
    return bound ? (size_t)(example_state >> 11) % bound : 0;
}

/* `ret_secret` gets the longest random part, or the whole text if there is none. */
__attribute__((unused)) static size_t example_make(const char *text, char ret[static EXAMPLE_MAX],
                                                   char ret_secret[static EXAMPLE_MAX])
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    static const char all[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/";
    static const char url[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    size_t len = 0, longest = 0;
    while (*text && len < EXAMPLE_MAX - 1) {
        const char *from = all;
        size_t count = 0;
        if (*text == '~') {
            switch (text[1]) {
            case 'a':
                count = 62;
                break;
            case 'l':
                from = letters;
                count = 36;
                break;
            case 'u':
                count = 36;
                break;
            case 'd':
                count = 10;
                break;
            case 'h':
                from = letters;
                count = 16;
                break;
            case 'b':
                count = 64;
                break;
            case 'w':
                from = url;
                count = 64;
                break;
            default:
                break;
            }
        }
        if (count == 0) {
            ret[len++] = *text++;
            continue;
        }
        char *end;
        size_t n = strtoul(text + 2, &end, 10);
        for (size_t i = 0; i < n && len < EXAMPLE_MAX - 1; i++)
            ret[len++] = from[example_below(count)];
        if (n > longest) {
            longest = n;
            memcpy(ret_secret, ret + len - n, n);
            ret_secret[n] = '\0';
        }
        text = end;
    }
    ret[len] = '\0';
    if (longest == 0)
        memcpy(ret_secret, ret, len + 1);
    return len;
}

#endif
