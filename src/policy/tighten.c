/*
 * Whether a value permits more than the one before it: what a project's files must not do. The
 * comparison is by what commands could then do, not by what the files say; see keys.h.
 */
#include <string.h>

#include "base/options.h"
#include "policy/keys.h"

/*
 * Whether all that `narrow` matches is matched by `wide`. An option that only `narrow` names may be
 * one that counts only where it is named (find -delete), so it is not covered by a shorter pattern.
 */
static bool covers(const struct policy_pattern *wide, const struct policy_pattern *narrow)
{
    if (wide->lifted || wide->count > narrow->count)
        return false;
    if (wide->exact && (!narrow->exact || wide->count != narrow->count))
        return false;
    for (size_t i = 0; i < wide->count; i++) {
        if (strcmp(wide->words[i], narrow->words[i]) != 0)
            return false;
    }
    for (size_t i = wide->count; i < narrow->count; i++) {
        if (strchr("-+/", narrow->words[i][0]) || strchr(narrow->words[i], '='))
            return false;
    }
    return true;
}

static bool is_covered(const struct policy_patterns *list, const struct policy_pattern *pattern)
{
    for (size_t i = 0; i < list->count; i++) {
        if (covers(&list->items[i], pattern))
            return true;
    }
    return false;
}

static bool has_pattern(const struct policy_patterns *list, const struct policy_pattern *wanted)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct policy_pattern *p = &list->items[i];
        if (!p->lifted && p->count == wanted->count && p->rest == wanted->rest &&
            p->exact == wanted->exact && covers(p, wanted))
            return true;
    }
    return false;
}

static bool has_text(const struct policy_texts *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].text, text) == 0)
            return true;
    }
    return false;
}

/* One of a list's own entries, in the form in which it is reported. */
static bool report(const char *text, const struct policy_origin *origin, struct policy_text *ret)
{
    *ret = (struct policy_text){.text = text, .origin = *origin};
    return true;
}

static bool allow_widens(const struct policy *before, const struct policy *after,
                         struct policy_text *ret)
{
    if (before->unknown == DECISION_ALLOW)
        return false;
    for (size_t i = 0; i < after->allow.count; i++) {
        const struct policy_pattern *p = &after->allow.items[i];
        if (!is_covered(&before->allow, p))
            return report(p->text, &p->origin, ret);
    }
    return false;
}

/* To ask is wider than to deny, and narrower than to allow. */
static bool confirm_widens(const struct policy *before, const struct policy *after,
                           struct policy_text *ret)
{
    for (size_t i = 0; before->unknown == DECISION_DENY && i < after->confirm.count; i++) {
        const struct policy_pattern *p = &after->confirm.items[i];
        if (!is_covered(&before->allow, p) && !is_covered(&before->confirm, p))
            return report(p->text, &p->origin, ret);
    }
    for (size_t i = 0; i < before->confirm.count; i++) {
        const struct policy_pattern *p = &before->confirm.items[i];
        if (!has_pattern(&after->confirm, p))
            return report(p->text, &p->origin, ret);
    }
    return false;
}

static bool patterns_shrink(const struct policy_patterns *before,
                            const struct policy_patterns *after, struct policy_text *ret)
{
    for (size_t i = 0; i < before->count; i++) {
        const struct policy_pattern *p = &before->items[i];
        if (!p->lifted && !has_pattern(after, p))
            return report(p->text, &p->origin, ret);
    }
    return false;
}

/* The first of `some` that is not among `all`. */
static bool texts_exceed(const struct policy_texts *some, const struct policy_texts *all,
                         struct policy_text *ret)
{
    for (size_t i = 0; i < some->count; i++) {
        if (!has_text(all, some->items[i].text))
            return report(some->items[i].text, &some->items[i].origin, ret);
    }
    return false;
}

static bool network_widens(const struct policy *before, const struct policy *after,
                           struct policy_text *ret)
{
    static const int width[] = {[NETWORK_OFF] = 0, [NETWORK_LISTED] = 1, [NETWORK_ON] = 2};
    if (width[after->network] != width[before->network])
        return width[after->network] > width[before->network];
    return after->network == NETWORK_LISTED && texts_exceed(&after->hosts, &before->hosts, ret);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* In their order: it is a command line. */
static bool same_texts(const struct policy_texts *a, const struct policy_texts *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(a->items[i].text, b->items[i].text) == 0;
    return same;
}

static bool same_fields(const struct policy_key *key, const char *const *a, const char *const *b)
{
    const char *rest = key->choices;
    struct options_piece name;
    bool same = true;
    for (size_t i = 0; same && options_next_choice(&rest, &name); i++)
        same = same_text(a[i], b[i]);
    return same;
}

static size_t choice_number(const struct policy_key *key, const char *word)
{
    const char *rest = key->choices;
    struct options_piece choice;
    size_t number = 0;
    while (options_next_choice(&rest, &choice) &&
           (strlen(word) != choice.len || memcmp(word, choice.text, choice.len) != 0))
        number++;
    return number;
}

static uint64_t field_number(const struct policy_key *key, const void *field)
{
    if (key->kind == KEY_WORD)
        return choice_number(key, *(const char *const *)field);
    if (key->kind == KEY_DECISION)
        return *(const enum decision *)field;
    return *(const uint64_t *)field;
}

bool policy_key_widens(const struct policy_key *key, const struct policy *before,
                       const struct policy *after, struct policy_text *ret_text)
{
    const void *old = policy_key_field(before, key), *new = policy_key_field(after, key);
    bool patterns = key->kind == KEY_PATTERNS || key->kind == KEY_UNBLOCK;
    *ret_text = (struct policy_text){0};
    switch (key->rule) {
    case TIGHTER_ALWAYS:
        return false;
    case TIGHTER_NEVER:
        return *(const struct yaml_node *const *)new != *(const struct yaml_node *const *)old;
    case TIGHTER_LESS:
        return field_number(key, new) > field_number(key, old);
    case TIGHTER_SOME:
        return field_number(key, old) &&
               (!field_number(key, new) || field_number(key, new) > field_number(key, old));
    case TIGHTER_TRUE:
        return *(const bool *)old && !*(const bool *)new;
    case TIGHTER_FALSE:
        return !*(const bool *)old && *(const bool *)new;
    case TIGHTER_MORE:
        return patterns ? patterns_shrink(old, new, ret_text) : texts_exceed(old, new, ret_text);
    case TIGHTER_ALLOW:
        return allow_widens(before, after, ret_text);
    case TIGHTER_CONFIRM:
        return confirm_widens(before, after, ret_text);
    case TIGHTER_NETWORK:
        return network_widens(before, after, ret_text);
    case TIGHTER_SCRIPTS:
        return policy_scripts(after) > policy_scripts(before);
    case TIGHTER_SUBSET:
        return texts_exceed(new, old, ret_text);
    case TIGHTER_SAME:
        if (key->kind == KEY_LANGUAGES) {
            const struct policy_language *other = policy_new_language(old, new);
            return other && report(other->name, &other->origin, ret_text);
        }
        if (key->kind == KEY_ARGV)
            return !same_texts(old, new);
        if (key->kind == KEY_FIELDS)
            return !same_fields(key, old, new);
        return key->kind == KEY_TEXT || key->kind == KEY_PUBLIC || key->kind == KEY_TEMPLATE ||
                       key->kind == KEY_PATH
                   ? !same_text(*(const char *const *)old, *(const char *const *)new)
                   : field_number(key, new) != field_number(key, old);
    }
    return true;
}
