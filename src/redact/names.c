/* Which variables hold secrets, by their names. */
#include <string.h>
#include <strings.h>

#include "redact/redact.h"

/* Parts of names, which stand between underscores and the like: DB_PASSWORD, npmToken is one word.
 */
static const char *const anywhere[] = {
    "PASSWORD",   "PASSWD",      "PASSPHRASE", "PASSCODE",          "SECRET",
    "CREDENTIAL", "APIKEY",      "API_KEY",    "API-KEY",           "ACCESS_KEY",
    "ACCESSKEY",  "PRIVATE_KEY", "PRIVATEKEY", "AUTH_KEY",          "AUTHKEY",
    "TOKEN",      "BEARER",      "COOKIE",     "CONNECTION_STRING",
};
static const char *const words[] = {
    "PWD", "PASS", "PW",        "PAT", "AUTH", "KEY", "PSK",
    "DSN", "SALT", "SIGNATURE", "JWT", "OTP",  "PIN",
};
/* The whole name, or with a word before it. */
static const char *const endings[] = {"DATABASE_URL", "REDIS_URL",   "MONGODB_URI", "MONGO_URL",
                                      "AMQP_URL",     "WEBHOOK_URL", "BROKER_URL",  "POSTGRES_URL"};
/* Names that say where or which it is, not what it is. */
static const char *const harmless_endings[] = {
    "_FILE",     "_PATH",    "_DIR",         "_SOCK",    "_SOCKET",    "_NAME",   "_TYPE",
    "_HOST",     "_PORT",    "_EXPIRY",      "_TTL",     "_TIMEOUT",   "_LENGTH", "_LEN",
    "_LIMIT",    "_COUNT",   "_USER",        "_METHOD",  "_ALGORITHM", "_PREFIX", "_HEADER",
    "_ENDPOINT", "_COMMAND", "_PARALLELISM", "_ENABLED",
};
static const char *const harmless[] = {"PWD",         "OLDPWD", "PUBLIC_KEY", "GIT_ASKPASS",
                                       "SSH_ASKPASS", "KEY",    "MAX_TOKENS", "PASS"};

/* Most differ in the first letter, which is seen without a call. */
static bool same(const char *a, const char *b, size_t len)
{
    return (!len || (*a | 32) == (*b | 32)) && strncasecmp(a, b, len) == 0;
}

static bool ends_with(const char *name, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len >= n && same(name + len - n, end, n);
}

static bool contains(const char *name, size_t len, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= len; i++) {
        if (same(name + i, part, n))
            return true;
    }
    return false;
}

static bool is_word(const char *name, size_t len, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= len; i++) {
        bool begins = i == 0 || strchr("_-.", name[i - 1]);
        bool ends = i + n == len || strchr("_-.0123456789", name[i + n]);
        if (begins && ends && same(name + i, word, n))
            return true;
    }
    return false;
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

bool redact_name_is_secret(const char *name, size_t len)
{
    for (size_t i = 0; i < COUNT(harmless); i++) {
        if (len == strlen(harmless[i]) && same(name, harmless[i], len))
            return false;
    }
    for (size_t i = 0; i < COUNT(harmless_endings); i++) {
        if (ends_with(name, len, harmless_endings[i]))
            return false;
    }
    if (contains(name, len, "PUBLIC_KEY") || contains(name, len, "PUBKEY"))
        return false;
    for (size_t i = 0; i < COUNT(anywhere); i++) {
        /* TOKENIZERS_…, MAX_TOKENS: about tokens, not one. */
        if (contains(name, len, anywhere[i]) &&
            !(strcmp(anywhere[i], "TOKEN") == 0 &&
              (contains(name, len, "TOKENIZ") || contains(name, len, "TOKENS_"))))
            return true;
    }
    for (size_t i = 0; i < COUNT(words); i++) {
        if (is_word(name, len, words[i]))
            return true;
    }
    for (size_t i = 0; i < COUNT(endings); i++) {
        if (ends_with(name, len, endings[i]))
            return true;
    }
    return false;
}
