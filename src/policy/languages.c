/*
 * The languages of scripts: how each is run, from the map `languages` of a configuration. A name
 * that is there already is said anew as a whole, so that no field of the old one is left in it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/load.h"

enum { WORDS_MAX = 32, LANGUAGES_MAX = 128, NAME_MAX_LEN = 32, ENDING_MAX = 16 };

static const char *const fields[] = {"aliases", "build",    "command", "ending",
                                     "install", "programs", "run",     NULL};

/* --- reading --------------------------------------------------------------------------------- */

/* Letters, digits and what stands in such names; nothing that a path or a shell reads. */
static bool is_name(const char *text, size_t max, const char *others)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if (!isalnum((unsigned char)text[i]) && (i == 0 || !strchr(others, text[i])))
            return false;
    }
    return len >= 1 && len <= max;
}

static int read_name(struct loading *l, const struct yaml_node *at)
{
    if (at->kind != YAML_SCALAR || !is_name(at->text, NAME_MAX_LEN, "+-_.#"))
        return loading_fail(l, at, "a language's name has up to %d letters, digits and + - _ . #",
                            NAME_MAX_LEN);
    return 0;
}

static int read_words(struct loading *l, const struct yaml_node *at, struct policy_texts *ret,
                      bool names)
{
    if (at->kind != YAML_LIST)
        return loading_fail(l, at, "'%s' must be a list, such as [a, b]", at->key->text);
    struct policy_texts list = {0};
    list.items = arena_alloc_array(l->arena, WORDS_MAX, sizeof(*list.items));
    if (!list.items)
        return loading_no_memory(l);
    for (const struct yaml_node *word = at->first; word; word = word->next) {
        if (list.count == WORDS_MAX)
            return loading_fail(l, word, "'%s' has more than %d words", at->key->text, WORDS_MAX);
        int r = names ? read_name(l, word) : value_argument(l, word, &list.items[list.count]);
        if (r < 0)
            return r;
        if (names)
            list.items[list.count] =
                (struct policy_text){.text = word->text, .origin = value_origin(l, word)};
        list.count++;
    }
    *ret = list;
    return 0;
}

static int read_field(struct loading *l, const struct yaml_node *at, struct policy_language *ret)
{
    const char *name = at->key->text;
    if (strcmp(name, "aliases") == 0)
        return read_words(l, at, &ret->aliases, true);
    if (strcmp(name, "programs") == 0)
        return read_words(l, at, &ret->programs, false);
    if (strcmp(name, "run") == 0)
        return read_words(l, at, &ret->run, false);
    if (strcmp(name, "build") == 0)
        return read_words(l, at, &ret->build, false);
    if (strcmp(name, "command") == 0)
        return value_bool(l, at, &ret->command);
    if (strcmp(name, "install") == 0)
        return value_text(l, at, &ret->install);
    if (strcmp(name, "ending") == 0) {
        if (at->kind != YAML_SCALAR || !is_name(at->text, ENDING_MAX, "+-_"))
            return loading_fail(l, at, "'ending' has up to %d letters and digits", ENDING_MAX);
        ret->ending = at->text;
        return 0;
    }
    const char *nearest = policy_nearest(fields, name);
    return loading_fail(l, at->key, "unknown key '%s'%s%s%s", name,
                        nearest ? "; did you mean '" : "", nearest ? nearest : "",
                        nearest ? "'?" : "");
}

static bool has_word(const struct policy_texts *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strstr(list->items[i].text, text))
            return true;
    }
    return false;
}

/* The program stands first, as a name that PATH finds or as a whole path: never in the workspace.
 */
static bool is_program(const char *word)
{
    return word[0] != '-' && (!strchr(word, '/') || word[0] == '/') && !strchr(word, '{');
}

static int check(struct loading *l, const struct yaml_node *at, const struct policy_language *it)
{
    const struct policy_texts *first = it->build.count ? &it->build : &it->run;
    if (it->command && (it->run.count || it->build.count || it->programs.count))
        return loading_fail(l, at, "'%s' is a command: it has no run, build or programs", it->name);
    if (it->command)
        return 0;
    if (!it->run.count)
        return loading_fail(l, at, "'%s' needs run, such as [prog, \"{file}\"]", it->name);
    if (!has_word(first, "{file}"))
        return loading_fail(l, at, "'%s': no word of %s has {file} in it", it->name,
                            it->build.count ? "build" : "run");
    if (it->build.count && !has_word(&it->build, "{out}"))
        return loading_fail(l, at, "'%s': no word of build has {out} in it", it->name);
    if (!it->build.count && has_word(&it->run, "{out}"))
        return loading_fail(l, at, "'%s': {out} is what build makes, and there is none", it->name);
    bool good = is_program(first->items[0].text);
    for (size_t i = 0; i < it->programs.count; i++)
        good = good && is_program(it->programs.items[i].text);
    return good ? 0 : loading_fail(l, at, "'%s': a program is a name, or a whole path", it->name);
}

static int read_language(struct loading *l, const struct yaml_node *at, struct policy_language *ret)
{
    struct policy_language it = {.name = at->key->text, .origin = value_origin(l, at->key)};
    int r = read_name(l, at->key);
    if (r == 0 && at->kind != YAML_MAP)
        r = loading_fail(l, at, "'%s' must be a map with run, such as {run: [prog, \"{file}\"]}",
                         it.name);
    for (const struct yaml_node *field = at->first; r == 0 && field; field = field->next)
        r = read_field(l, field, &it);
    if (r == 0)
        r = check(l, at, &it);
    if (r == 0)
        *ret = it;
    return r;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct policy_language *)a)->name,
                  ((const struct policy_language *)b)->name);
}

int value_languages(struct loading *l, const struct yaml_node *value,
                    struct policy_languages *field)
{
    if (value->kind != YAML_MAP)
        return loading_fail(l, value, "must be a map, such as {name: {run: [prog, \"{file}\"]}}");
    size_t more = 0;
    for (const struct yaml_node *at = value->first; at; at = at->next)
        more++;
    if (field->count + more > LANGUAGES_MAX)
        return loading_fail(l, value, "has more than %d languages", LANGUAGES_MAX);
    struct policy_languages list = {.count = field->count};
    list.items = arena_alloc_array(l->arena, field->count + more + 1, sizeof(*list.items));
    if (!list.items)
        return loading_no_memory(l);
    if (field->count)
        memcpy(list.items, field->items, field->count * sizeof(*list.items));
    for (const struct yaml_node *at = value->first; at; at = at->next) {
        struct policy_language it = {.name = ""};
        int r = read_language(l, at, &it);
        if (r < 0)
            return r;
        size_t i = 0;
        while (i < list.count && strcmp(list.items[i].name, it.name) != 0)
            i++;
        list.items[i] = it;
        list.count += i == list.count;
    }
    qsort(list.items, list.count, sizeof(*list.items), by_name);
    *field = list;
    return 0;
}

/* --- what is asked of them ------------------------------------------------------------------- */

const struct policy_language *policy_find_language(const struct policy *policy, const char *name)
{
    const struct policy_languages *list = &policy->languages;
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    }
    /* A name of its own comes before another one's alias. */
    for (size_t i = 0; i < list->count; i++) {
        const struct policy_texts *aliases = &list->items[i].aliases;
        for (size_t k = 0; k < aliases->count; k++) {
            if (strcmp(aliases->items[k].text, name) == 0)
                return &list->items[i];
        }
    }
    return NULL;
}

static bool same_words(const struct policy_texts *a, const struct policy_texts *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(a->items[i].text, b->items[i].text) == 0;
    return same;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The first of `after` that is not in `before` as it stands; NULL: all are. */
const struct policy_language *policy_new_language(const struct policy_languages *before,
                                                  const struct policy_languages *after)
{
    for (size_t i = 0; i < after->count; i++) {
        const struct policy_language *b = &after->items[i], *found = NULL;
        for (size_t k = 0; k < before->count && !found; k++) {
            const struct policy_language *a = &before->items[k];
            if (strcmp(a->name, b->name) == 0 && a->command == b->command &&
                same_text(a->ending, b->ending) && same_text(a->install, b->install) &&
                same_words(&a->run, &b->run) && same_words(&a->build, &b->build) &&
                same_words(&a->programs, &b->programs) && same_words(&a->aliases, &b->aliases))
                found = a;
        }
        if (!found)
            return b;
    }
    return NULL;
}

enum decision policy_scripts(const struct policy *policy)
{
    if (!policy->scripts || strcmp(policy->scripts, "unknown") == 0)
        return policy->unknown;
    return strcmp(policy->scripts, "allow") == 0     ? DECISION_ALLOW
           : strcmp(policy->scripts, "confirm") == 0 ? DECISION_CONFIRM
                                                     : DECISION_DENY;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_words(const char *key, const struct policy_texts *list, struct json *out)
{
    if (!list->count)
        return;
    json_key(out, key);
    json_array_begin(out);
    for (size_t i = 0; i < list->count; i++)
        json_text(out, list->items[i].text);
    json_array_end(out);
}

static void write_text(const char *key, const char *text, struct json *out)
{
    if (!text)
        return;
    json_key(out, key);
    json_text(out, text);
}

void policy_write_languages(const struct policy_languages *list, struct json *out)
{
    json_object_begin(out);
    for (size_t i = 0; i < list->count; i++) {
        const struct policy_language *it = &list->items[i];
        json_key(out, it->name);
        json_object_begin(out);
        write_words("aliases", &it->aliases, out);
        write_words("build", &it->build, out);
        if (it->command) {
            json_key(out, "command");
            json_bool(out, true);
        }
        write_text("ending", it->ending, out);
        write_text("install", it->install, out);
        write_words("programs", &it->programs, out);
        write_words("run", &it->run, out);
        json_object_end(out);
    }
    json_object_end(out);
}
