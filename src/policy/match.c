/*
 * Whether a pattern of words means an act.
 *
 * To allow, the pattern's words must be the first words of the command, behind the options that
 * come before a subcommand; and the command must be the one that PATH finds. To deny or to ask, the
 * name counts whatever its path, options count in every spelling and anywhere.
 */
#include "policy/verdict.h"

#include <string.h>
#include <strings.h>

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

static bool word_equals(const struct fact_word *word, const char *text)
{
    return word->state == WORD_KNOWN && !word->many && word->text[0] == text[0] &&
           strcmp(word->text, text) == 0;
}

/* The main spelling of an option of the act's command, or the text itself. */
static const char *main_spelling(const struct act *act, const char *option)
{
    const struct knowledge *both[] = {act->sub, act->known};
    for (size_t i = 0; i < 2; i++) {
        const struct knowledge_option *found =
            both[i] ? knowledge_option(both[i], option, strlen(option)) : NULL;
        if (found)
            return found->same;
    }
    return option;
}

static bool has_option(const struct act *act, const char *option)
{
    const char *same = main_spelling(act, option);
    for (size_t i = 0; i < act->option_count; i++) {
        if (strcmp(act->options[i], same) == 0)
            return true;
    }
    return false;
}

/* Other names of a subcommand that people type. */
static const struct {
    const char *command, *name, *other;
} other_names[] = {
    {"npm", "install", "i"},    {"npm", "install", "in"}, {"npm", "install", "add"},
    {"npm", "test", "t"},       {"npm", "test", "tst"},   {"npm", "run", "run-script"},
    {"npm", "run", "rum"},      {"npm", "run", "urn"},    {"npm", "uninstall", "rm"},
    {"npm", "uninstall", "un"}, {"pnpm", "install", "i"}, {"pnpm", "test", "t"},
    {"cargo", "build", "b"},    {"cargo", "test", "t"},   {"cargo", "run", "r"},
    {"cargo", "check", "c"},
};

static bool same_subcommand(const struct act *act, size_t at, const char *wanted)
{
    if (at != act->first_operand || act->words[at].state != WORD_KNOWN ||
        !strchr("npc", act->name[0])) /* none of the table's */
        return false;
    for (size_t i = 0; i < sizeof(other_names) / sizeof(*other_names); i++) {
        if (other_names[i].command[0] == act->name[0] &&
            strcmp(other_names[i].command, act->name) == 0 &&
            strcmp(other_names[i].name, wanted) == 0 &&
            strcmp(other_names[i].other, act->words[at].text) == 0)
            return true;
    }
    return false;
}

static bool starts_with(const struct act *act, size_t from, const struct policy_pattern *pattern,
                        size_t first)
{
    for (size_t i = first; i < pattern->count; i++) {
        if (from >= act->word_count || (!word_equals(&act->words[from], pattern->words[i]) &&
                                        !same_subcommand(act, from, pattern->words[i])))
            return false;
        from++;
    }
    return true;
}

/* Words of a pattern that are options may be spelled otherwise, as long as they come first. */
static bool starts_with_options(const struct act *act, const struct policy_pattern *pattern)
{
    size_t i = 1;
    if (act->sub) {
        if (i >= pattern->count || !word_equals(&act->words[act->first_operand], pattern->words[i]))
            return false;
        i++;
    }
    if (i == pattern->count)
        return false; /* starts_with has looked at that */
    for (; i < pattern->count; i++) {
        if (!is_option(pattern->words[i]) || !has_option(act, pattern->words[i]))
            return false;
    }
    return true;
}

/* `git remote -v` does not mean `git remote -v add`. */
static bool names_another(const struct policy_pattern *pattern, const struct act *act)
{
    if (!act->second_name || pattern->count < 3)
        return false;
    for (size_t i = 2; i < pattern->count; i++) {
        if (word_equals(&act->words[act->second_name], pattern->words[i]))
            return false;
    }
    return true;
}

/* These words and no others, as they are written. */
static bool is_exactly(const struct policy_pattern *pattern, const struct act *act)
{
    bool same = act->word_count == pattern->count &&
                (strchr(pattern->words[0], '/') || !(act->flags & ACT_OTHER_PATH));
    for (size_t i = 0; same && i < pattern->count; i++)
        same = word_equals(&act->words[i], pattern->words[i]);
    return same;
}

bool match_allow(const struct policy_pattern *pattern, const struct act *act)
{
    const char *name = pattern->words[0];
    if (act->name && pattern->exact)
        return is_exactly(pattern, act);
    if (!act->name || names_another(pattern, act))
        return false;
    if (strcmp(name, "./*") == 0)
        return act->flags & ACT_WORKSPACE;
    if (strchr(name, '/')) {
        if (!word_equals(&act->words[0], name))
            return false;
    } else if ((act->flags & ACT_OTHER_PATH) || strcmp(act->name, name) != 0) {
        return false;
    }
    if (starts_with(act, 1, pattern, 1))
        return true;
    if (act->known && act->known->subcommand_count &&
        starts_with(act, act->first_operand, pattern, 1))
        return true;
    return act->known && starts_with_options(act, pattern);
}

/* --- to deny -------------------------------------------------------------------------------- */

static bool same_name(const char *pattern, const char *name)
{
    for (const char *c = pattern; *c; c++) {
        if (*c >= 'A' && *c <= 'Z') /* where such names come from, case does not count */
            return strcasecmp(pattern, name) == 0;
    }
    return strcmp(pattern, name) == 0;
}

/* An option of a command that nothing is known about, or that is not in its table. */
static enum match loose_option(const struct act *act, const char *option)
{
    size_t len = strlen(option);
    bool is_long = option[0] == '-' && option[1] == '-';
    enum match best = MATCH_NO;
    for (size_t i = 1; i < act->word_count; i++) {
        const struct fact_word *word = &act->words[i];
        if (word->state != WORD_KNOWN || word->many) {
            if (word->len == 0 || word->text[0] == option[0])
                best = MATCH_MAYBE;
            continue;
        }
        if (strcasecmp(word->text, option) == 0)
            return MATCH_YES;
        if (strncasecmp(word->text, option, len) == 0 &&
            (word->text[len] == '=' || word->text[len] == ':'))
            return MATCH_YES;
        if (is_long && word->len > 3 && strncmp(word->text, "--", 2) == 0 &&
            strncmp(option, word->text, strcspn(word->text, "=")) == 0)
            return MATCH_YES; /* an abbreviation */
        if (!is_long && len == 2 && word->text[0] == '-' && word->text[1] != '-' &&
            strchr(word->text, option[1]))
            return MATCH_YES; /* in a bundle */
    }
    return best;
}

static enum match option_match(const struct act *act, const char *option)
{
    if (has_option(act, option))
        return MATCH_YES;
    /* -rf is -r and -f, wherever each is */
    bool bundle = option[0] == '-' && option[1] != '-' && strlen(option) > 2 && act->known &&
                  !(act->known->flags & KNOWN_SINGLE) && main_spelling(act, option) == option;
    if (bundle) {
        enum match all = MATCH_YES;
        for (const char *letter = option + 1; *letter; letter++) {
            const char one[] = {'-', *letter, '\0'};
            enum match match = option_match(act, one);
            all = match < all ? match : all;
        }
        return all;
    }
    const char *same = main_spelling(act, option);
    bool in_table = same != option;
    const struct knowledge *both[] = {act->sub, act->known};
    for (size_t i = 0; i < 2 && !in_table; i++)
        in_table = both[i] && knowledge_option(both[i], option, strlen(option));
    enum match loose = loose_option(act, option);
    return in_table && loose == MATCH_YES ? MATCH_NO : loose;
}

/* The words of an act that patterns count: its subcommands, then its operands. */
static const struct fact_word *counted_word(const struct act *act, size_t i)
{
    size_t names = !act->sub ? 0 : act->second_name ? 2 : 1;
    if (act->known && i < names)
        return &act->words[i ? act->second_name : act->first_operand];
    if (act->known)
        return i - names < act->operand_count ? &act->operands[i - names] : NULL;
    for (size_t k = 1; k < act->word_count; k++) { /* nothing is known about its options */
        if (act->words[k].state == WORD_KNOWN && is_option(act->words[k].text))
            continue;
        if (i-- == 0)
            return &act->words[k];
    }
    return NULL;
}

static bool is_somewhere(const struct act *act, const char *wanted)
{
    for (size_t i = 1; i < act->word_count; i++) {
        if (word_equals(&act->words[i], wanted))
            return true;
    }
    return false;
}

/* The pattern's words that are no options, in order. */
static enum match words_match(const struct act *act, const struct policy_pattern *pattern)
{
    size_t at = 0;
    for (size_t i = 1; i < pattern->count; i++) {
        const char *wanted = pattern->words[i];
        if (is_option(wanted) || wanted[0] == '/')
            continue;
        enum match no =
            (act->flags & ACT_UNCLEAR) && is_somewhere(act, wanted) ? MATCH_MAYBE : MATCH_NO;
        const struct fact_word *word = counted_word(act, at++);
        if (!word)
            return no;
        if (word->state != WORD_KNOWN || word->many)
            return MATCH_MAYBE;
        bool other = act->sub && at == 1 && same_subcommand(act, act->first_operand, wanted);
        if (strcasecmp(word->text, wanted) != 0 && !other)
            return no;
    }
    return MATCH_YES;
}

/* ./deploy.sh, and any other way to write the same path. */
static bool same_path(const char *pattern, const struct act *act, const char *workspace)
{
    if (strcmp(pattern, "./*") == 0)
        return act->flags & ACT_WORKSPACE;
    const char *relative = strncmp(pattern, "./", 2) == 0 ? pattern + 2 : pattern;
    size_t len = strlen(workspace);
    for (const struct fact_path *p = act->paths; p; p = p->next) {
        if (!(p->mode & PATH_RUN) || !p->text)
            continue;
        if (pattern[0] == '/' ? strcmp(p->text, pattern) == 0
                              : strncmp(p->text, workspace, len) == 0 && p->text[len] == '/' &&
                                    strcmp(p->text + len + 1, relative) == 0)
            return true;
    }
    return false;
}

enum match match_deny(const struct policy_pattern *pattern, const struct act *act,
                      const char *workspace)
{
    if (!act->name || (act->flags & ACT_FUNCTION))
        return MATCH_NO;
    if (strchr(pattern->words[0], '/') ? !same_path(pattern->words[0], act, workspace)
                                       : !same_name(pattern->words[0], act->name))
        return MATCH_NO;
    enum match match = words_match(act, pattern);
    for (size_t i = 1; i < pattern->count && match != MATCH_NO; i++) {
        const char *wanted = pattern->words[i];
        if (!is_option(wanted) && wanted[0] != '/')
            continue;
        enum match option = option_match(act, wanted);
        match = option < match ? option : match;
    }
    return match;
}
