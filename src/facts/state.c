/*
 * The shell's state as the walk knows it: variables, functions, the directory. Every change is
 * written down, so that a way that may not be taken can be undone and two ways can be joined.
 */
#include "facts/internal.h"

#include <stdlib.h>

/* Variables that bash sets by itself, to numbers and to other things. */
static const char *const own_numbers[] = {
    "RANDOM",  "SECONDS", "SRANDOM", "UID",        "EUID",         "PPID",
    "BASHPID", "LINENO",  "SHLVL",   "OPTIND",     "EPOCHSECONDS", "BASH_SUBSHELL",
    "HISTCMD", "COLUMNS", "LINES",   "COMP_POINT", "COMP_TYPE"};
static const char *const own_texts[] = {
    "_",      "OLDPWD",     "HOSTNAME", "HOSTTYPE",  "MACHTYPE", "OSTYPE",       "DIRSTACK",
    "GROUPS", "PIPESTATUS", "FUNCNAME", "OPTARG",    "REPLY",    "MAPFILE",      "COPROC",
    "PS1",    "PS2",        "PS4",      "SHELLOPTS", "OPTERR",   "EPOCHREALTIME"};

static uint32_t hash_of(const char *name, size_t len)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

static bool is_listed(const char *const *list, size_t count, const char *name, size_t len)
{
    for (size_t i = 0; i < count; i++) {
        if (text_is(name, len, list[i]))
            return true;
    }
    return false;
}

/* What a variable is before the text sets it. */
static struct value first_value(struct walk *w, const char *name, size_t len)
{
    if (text_is(name, len, "HOME") && w->host->home)
        return value_known(w->host->home, strlen(w->host->home));
    if (text_is(name, len, "PATH"))
        return value_unknown(SOURCE_VARIABLE);
    if (text_is(name, len, "IFS"))
        return value_known(" \t\n", 3);
    for (size_t i = 0; i < w->host->variable_count; i++) {
        const struct facts_variable *v = &w->host->variables[i];
        if (text_is(name, len, v->name))
            return v->value ? value_known(v->value, strlen(v->value))
                            : value_unknown(SOURCE_VARIABLE);
    }
    if (is_listed(own_numbers, sizeof(own_numbers) / sizeof(*own_numbers), name, len))
        return value_unknown(SOURCE_NUMBER);
    if (is_listed(own_texts, sizeof(own_texts) / sizeof(*own_texts), name, len) ||
        (len >= 4 && memcmp(name, "BASH", 4) == 0) || (len >= 5 && memcmp(name, "COMP_", 5) == 0))
        return value_unknown(SOURCE_VARIABLE);
    return (struct value){.state = WORD_KNOWN, .text = ""};
}

/* NULL only when memory is out. */
struct variable *state_variable(struct walk *w, const char *name, size_t len)
{
    uint32_t hash = hash_of(name, len);
    struct variable **bucket = &w->variables[hash % BUCKETS];
    for (struct variable *v = *bucket; v; v = v->chain) {
        if (v->hash == hash && v->name_len == len && memcmp(v->name, name, len) == 0)
            return v;
    }
    struct variable *v = arena_take(w->arena, sizeof(*v));
    if (!v)
        return NULL;
    v->name = name;
    v->name_len = (uint32_t)len;
    v->hash = hash;
    v->value = first_value(w, name, len);
    v->chain = *bucket;
    *bucket = v;
    return v;
}

static struct change *note(struct walk *w)
{
    if (w->change_count == w->change_capacity) {
        size_t capacity = w->change_capacity ? w->change_capacity * 2 : 16;
        struct change *more = arena_alloc_array(w->arena, capacity, sizeof(*more));
        if (!more)
            return NULL;
        if (w->change_count)
            memcpy(more, w->changes, w->change_count * sizeof(*more));
        w->changes = more;
        w->change_capacity = capacity;
    }
    struct change *change = &w->changes[w->change_count++];
    *change = (struct change){0};
    return change;
}

static void set(struct walk *w, struct variable *v, struct value value)
{
    struct change *change = note(w);
    if (!change)
        return;
    change->variable = v;
    change->value = v->value;
    v->value = value;
}

void state_set(struct walk *w, const char *name, size_t len, struct value value)
{
    struct variable *v = state_variable(w, name, len);
    if (!v)
        return;
    if (v->value.odd) { /* what is assigned is not what it will be */
        bool keyed = v->value.keyed;
        value = value_unknown(value.source ? value.source : SOURCE_VARIABLE);
        value.odd = true;
        value.keyed = keyed;
    }
    set(w, v, value);
}

void state_forget(struct walk *w, const char *name, size_t len, enum word_source source)
{
    struct variable *v = state_variable(w, name, len);
    if (!v)
        return;
    struct value value = value_unknown(source);
    value.odd = v->value.odd;
    value.keyed = v->value.keyed;
    set(w, v, value);
}

void state_forget_all(struct walk *w)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct variable *v = w->variables[i]; v; v = v->chain) {
            struct value value = value_unknown(SOURCE_VARIABLE);
            value.odd = v->value.odd;
            value.keyed = v->value.keyed;
            set(w, v, value);
        }
    }
    w->split_odd = true;
    state_set_cwd(w, NULL);
}

static bool same_value(const struct value *a, const struct value *b)
{
    return a->state == WORD_KNOWN && b->state == WORD_KNOWN && a->set == b->set &&
           a->list == b->list && !a->list && a->odd == b->odd && a->len == b->len &&
           memcmp(a->text, b->text, a->len) == 0;
}

/* What a child process does not get, unless it was exported: nobody knows here. */
void state_forget_set(struct walk *w)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct variable *v = w->variables[i]; v; v = v->chain) {
            struct value first = first_value(w, v->name, v->name_len);
            if (!same_value(&v->value, &first))
                set(w, v, value_unknown(SOURCE_VARIABLE));
        }
    }
}

static size_t first_site(const struct unit *unit, uint32_t offset)
{
    size_t low = 0, high = unit->site_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unit->sites[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool state_jumps(const struct walk *w, struct shell_span span)
{
    const struct unit *unit = w->unit;
    for (size_t i = first_site(unit, span.from);
         i < unit->site_count && unit->sites[i].offset < span.to; i++) {
        if (unit->sites[i].kind == SITE_JUMP)
            return true;
    }
    return false;
}

/* The variables that this part of the text sets: a loop may come back with any of their values. */
void state_forget_sites(struct walk *w, struct shell_span span)
{
    const struct unit *unit = w->unit;
    for (size_t i = first_site(unit, span.from);
         i < unit->site_count && unit->sites[i].offset < span.to; i++) {
        const struct site *site = &unit->sites[i];
        struct variable *v;
        switch (site->kind) {
        case SITE_ANY:
            state_forget_all(w);
            return;
        case SITE_DIRECTORY:
            state_set_cwd(w, NULL);
            break;
        case SITE_NUMBER:
            v = state_variable(w, site->name.bytes, site->name.len);
            if (v && v->value.state != WORD_KNOWN)
                break; /* no better than it is */
            if (v)
                state_forget(w, site->name.bytes, site->name.len,
                             !v->value.len || is_number(v->value.text, v->value.len)
                                 ? SOURCE_NUMBER
                                 : SOURCE_VARIABLE);
            break;
        case SITE_VARIABLE:
            v = state_variable(w, site->name.bytes, site->name.len);
            if (v && (v->value.state != WORD_UNKNOWN || v->value.source == SOURCE_NUMBER))
                state_forget(w, site->name.bytes, site->name.len, SOURCE_VARIABLE);
            break;
        case SITE_JUMP:
            break;
        }
    }
}

/* --- functions and the directory ----------------------------------------------------------------
 */

struct function *state_function(struct walk *w, const char *name, size_t len)
{
    for (struct function *f = w->functions; f; f = f->next) {
        if (f->name_len == len && memcmp(f->name, name, len) == 0)
            return f;
    }
    return NULL;
}

static void define(struct walk *w, struct function *f, struct definition *definition, bool maybe)
{
    struct change *change = note(w);
    if (!change)
        return;
    change->function = f;
    change->definition = f->now;
    change->maybe = f->maybe;
    f->now = definition;
    f->maybe = maybe;
}

void state_define(struct walk *w, const char *name, size_t len, struct definition *definition)
{
    struct function *f = state_function(w, name, len);
    if (!f) {
        f = arena_take(w->arena, sizeof(*f));
        if (!f)
            return;
        f->name = name;
        f->name_len = (uint32_t)len;
        f->next = w->functions;
        w->functions = f;
    }
    define(w, f, definition, false);
}

void state_set_cwd(struct walk *w, const struct place *cwd)
{
    struct change *change = note(w);
    if (!change)
        return;
    change->cwd = w->cwd;
    w->cwd = cwd;
}

const struct place *state_place(struct walk *w, const char *path)
{
    struct place *place = arena_take(w->arena, sizeof(*place));
    if (place)
        place->path = path;
    return place;
}

const struct place *state_either(struct walk *w, const struct place *a, const struct place *b)
{
    if (!a || !b || a == b)
        return a ? b : NULL;
    const struct place *all = a;
    size_t count = 0;
    for (; b; b = b->next) {
        bool there = false;
        for (const struct place *p = all; p; p = p->next)
            there |= strcmp(p->path, b->path) == 0;
        if (there)
            continue;
        struct place *more = arena_take(w->arena, sizeof(*more));
        if (!more || ++count > PLACES_MAX)
            return NULL;
        more->path = b->path;
        more->next = all;
        all = more;
    }
    return all;
}

/* --- ways ----------------------------------------------------------------------------------- */

size_t state_mark(const struct walk *w)
{
    return w->change_count;
}

static void take_back(struct walk *w, const struct change *change)
{
    if (change->variable) {
        change->variable->value = change->value;
    } else if (change->function) {
        change->function->now = change->definition;
        change->function->maybe = change->maybe;
    } else {
        w->cwd = change->cwd;
    }
}

void state_undo(struct walk *w, size_t mark)
{
    while (w->change_count > mark)
        take_back(w, &w->changes[--w->change_count]);
}

static struct value joined(const struct value *a, const struct value *b)
{
    if (same_value(a, b))
        return *a;
    struct value value = value_unknown(SOURCE_VARIABLE);
    bool numbers = true;
    const struct value *both[] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        const struct value *v = both[i];
        if (v->state == WORD_KNOWN ? v->list || (v->set && !is_number(v->text, v->len))
                                   : v->source != SOURCE_NUMBER)
            numbers = false;
        if (v->state != WORD_KNOWN && v->source > value.source)
            value.source = v->source;
    }
    if (numbers)
        value.source = SOURCE_NUMBER;
    value.odd = a->odd || b->odd;
    value.keyed = a->keyed && b->keyed;
    return value;
}

void state_blur(struct walk *w, size_t mark)
{
    struct branch taken = state_leave(w, mark);
    state_join(w, mark, &taken);
}

struct branch state_leave(struct walk *w, size_t mark)
{
    struct branch branch = {.count = w->change_count - mark};
    if (branch.count) {
        branch.after = arena_alloc_array(w->arena, branch.count, sizeof(*branch.after));
        if (!branch.after) {
            branch.count = 0;
            return branch;
        }
    }
    for (size_t i = 0; i < branch.count; i++) {
        branch.after[i] = w->changes[mark + i];
        struct change *after = &branch.after[i];
        if (after->variable)
            after->value = after->variable->value;
        else if (after->function)
            after->definition = after->function->now;
        else
            after->cwd = w->cwd;
    }
    state_undo(w, mark);
    return branch;
}

/* The first way's end against the second's, which is the state now. */
void state_join(struct walk *w, size_t mark, const struct branch *first)
{
    size_t second = w->change_count;
    if (first->count * (second - mark) > JOIN_MAX) { /* never quadratic */
        state_forget_all(w);
        return;
    }
    for (size_t i = 0; i < first->count; i++) {
        const struct change *after = &first->after[i];
        if (after->variable) {
            set(w, after->variable, joined(&after->value, &after->variable->value));
        } else if (after->function) {
            struct function *f = after->function;
            if (f->now != after->definition)
                define(w, f, f->now ? f->now : after->definition, true);
        } else {
            state_set_cwd(w, state_either(w, after->cwd, w->cwd));
        }
    }
    /* What only the second way changed may also not have happened. */
    for (size_t i = mark; i < second; i++) {
        struct change change = w->changes[i];
        bool in_first = false;
        for (size_t k = 0; k < first->count && !in_first; k++)
            in_first = first->after[k].variable == change.variable &&
                       first->after[k].function == change.function;
        if (in_first)
            continue;
        if (change.variable) {
            set(w, change.variable, joined(&change.value, &change.variable->value));
        } else if (change.function) {
            struct function *f = change.function;
            if (f->now != change.definition)
                define(w, f, f->now ? f->now : change.definition, true);
        } else {
            state_set_cwd(w, state_either(w, change.cwd, w->cwd));
        }
    }
}
