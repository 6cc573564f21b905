/* Look-ups in what is known about commands; see knowledge.h. */
#include "facts/knowledge.h"

#include <string.h>

/* Like strcmp of `name` with the bytes of a word, which has no NUL. */
static int compare(const char *name, const char *word, size_t len)
{
    int order = strncmp(name, word, len);
    /* strncmp has seen len bytes of the name, so the next one is there to be read. */
    return order ? order : name[len] != '\0';
}

/* The first row of a sorted table that is not below the word. Every row starts with its name. */
static size_t lower_bound(const void *rows, size_t count, size_t size, const char *word, size_t len)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *const *name = (const void *)((const char *)rows + middle * size);
        if (compare(*name, word, len) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const void *find_row(const void *rows, size_t count, size_t size, const char *word,
                            size_t len)
{
    /* No name holds a NUL, and strncmp stops at one. */
    if (memchr(word, '\0', len))
        return NULL;
    size_t at = lower_bound(rows, count, size, word, len);
    if (at == count)
        return NULL;
    const char *row = (const char *)rows + at * size;
    return compare(*(const char *const *)(const void *)row, word, len) == 0 ? row : NULL;
}

const struct knowledge *knowledge_find(const struct knowledge_base *base, const char *name,
                                       size_t len)
{
    for (; base; base = base->next) {
        const struct knowledge *found =
            find_row(base->commands, base->command_count, sizeof(*found), name, len);
        if (found)
            return found;
    }
    return NULL;
}

const struct knowledge *knowledge_subcommand(const struct knowledge *command, const char *name,
                                             size_t len)
{
    return find_row(command->subcommands, command->subcommand_count, sizeof(struct knowledge), name,
                    len);
}

/* Whether it makes a difference that this option is there. */
static bool matters(const struct knowledge_option *option)
{
    return option->effects || option->as || option->flags & MARK_ASK ||
           (option->role != ROLE_FLAG && option->role != ROLE_TEXT);
}

const struct knowledge_option *knowledge_option(const struct knowledge *command, const char *name,
                                                size_t len)
{
    const struct knowledge_option *options = command->options;
    const struct knowledge_option *found =
        find_row(options, command->option_count, sizeof(*options), name, len);
    if (found || len < 3 || memcmp(name, "--", 2) != 0 || memchr(name, '\0', len))
        return found;
    /* Names with one prefix stand side by side. */
    for (size_t i = lower_bound(options, command->option_count, sizeof(*options), name, len);
         i < command->option_count && strncmp(options[i].name, name, len) == 0; i++) {
        if (matters(&options[i]))
            return &options[i];
        if (!found)
            found = &options[i];
    }
    return found;
}

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Whether a name with stars, each for any text, matches; letters without regard to case. */
static bool matches(const char *pattern, const char *name, size_t len)
{
    const char *star = NULL;
    size_t at = 0, star_at = 0;
    while (at < len) {
        if (*pattern == '*') {
            star = pattern++;
            star_at = at;
        } else if (*pattern && lower(*pattern) == lower(name[at])) {
            pattern++;
            at++;
        } else if (star) {
            /* The last star takes one more; earlier ones need not be tried again. */
            pattern = star + 1;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

const struct knowledge_setting *knowledge_setting(const struct knowledge *command, const char *name,
                                                  size_t len)
{
    const struct knowledge_setting *best = NULL;
    size_t best_len = 0;
    for (size_t i = 0; i < command->setting_count; i++) {
        const struct knowledge_setting *setting = &command->settings[i];
        if (!matches(setting->name, name, len))
            continue;
        if (!strchr(setting->name, '*'))
            return setting;
        size_t setting_len = strlen(setting->name);
        if (!best || setting_len > best_len) {
            best = setting;
            best_len = setting_len;
        }
    }
    return best;
}

/* The variable NAME, or the longest PREFIX* that it has. */
static const struct knowledge_variable *find_variable(const struct knowledge_base *base,
                                                      const char *name, size_t len)
{
    const struct knowledge_variable *found =
        find_row(base->variables, base->variable_count, sizeof(*found), name, len);
    if (found)
        return found;
    size_t best_len = 0;
    for (size_t i = 0; i < base->variable_count; i++) {
        const char *pattern = base->variables[i].name;
        if (pattern[0] != name[0] && pattern[0] != '*')
            continue;
        size_t prefix = strlen(pattern) - 1;
        if (prefix <= len && pattern[prefix] == '*' && (!found || prefix > best_len) &&
            memcmp(pattern, name, prefix) == 0) {
            found = &base->variables[i];
            best_len = prefix;
        }
    }
    return found;
}

const struct knowledge_variable *knowledge_variable(const struct knowledge_base *base,
                                                    const char *name, size_t len)
{
    for (; base; base = base->next) {
        const struct knowledge_variable *found = find_variable(base, name, len);
        if (found)
            return found;
    }
    return NULL;
}
