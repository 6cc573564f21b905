/*
 * The shell's state as the walk knows it.
 *
 * A variable is only followed where that is certain. sites.c tells in which ways the text sets it.
 * A plain assignment that is an item of a list holds from there to the end of that list, in
 * whatever stands within; a loop over words holds in its body. Everything else that sets a variable
 * makes it unknown everywhere. So there are no ways to be joined, and none to be missed.
 */
#include "facts/internal.h"

/* Variables that bash sets by itself, to numbers and to other things. */
static const char *const own_numbers[] = {
    "RANDOM", "SECONDS", "SRANDOM", "UID",          "EUID",          "PPID",    "BASHPID", "LINENO",
    "SHLVL",  "OPTIND",  "OPTERR",  "EPOCHSECONDS", "BASH_SUBSHELL", "HISTCMD", "COLUMNS", "LINES",
};
static const char *const own_texts[] = {
    "_",       "OLDPWD",    "PWD",           "HOSTNAME",   "HOSTTYPE", "MACHTYPE",
    "OSTYPE",  "DIRSTACK",  "GROUPS",        "OPTARG",     "FUNCNAME", "REPLY",
    "MAPFILE", "COPROC",    "PIPESTATUS",    "READLINE",   "PS1",      "PS2",
    "PS4",     "SHELLOPTS", "EPOCHREALTIME", "COPROC_PID",
};

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

bool state_is_own_number(const char *name, size_t len)
{
    return is_listed(own_numbers, sizeof(own_numbers) / sizeof(*own_numbers), name, len);
}

static bool is_own_text(const char *name, size_t len)
{
    return is_listed(own_texts, sizeof(own_texts) / sizeof(*own_texts), name, len) ||
           (len >= 4 && memcmp(name, "BASH", 4) == 0) ||
           (len >= 5 && memcmp(name, "COMP_", 5) == 0) ||
           (len >= 9 && memcmp(name, "READLINE_", 9) == 0);
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
    if (state_is_own_number(name, len))
        return value_unknown(SOURCE_NUMBER);
    if (is_own_text(name, len))
        return value_unknown(SOURCE_VARIABLE);
    return (struct value){.state = WORD_KNOWN, .text = ""};
}

bool state_begin(struct walk *w, size_t text_len)
{
    w->bucket_count = BUCKETS_MIN;
    while (w->bucket_count < BUCKETS_MAX && w->bucket_count * 16 < text_len)
        w->bucket_count *= 2;
    w->variables = arena_alloc_array(w->arena, w->bucket_count, sizeof(struct variable *));
    w->functions = arena_alloc_array(w->arena, w->bucket_count, sizeof(struct function *));
    return w->variables && w->functions;
}

/* NULL only when memory is out. */
struct variable *state_variable(struct walk *w, const char *name, size_t len)
{
    uint32_t hash = hash_of(name, len);
    struct variable **bucket = &w->variables[hash & (w->bucket_count - 1)];
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
    v->numbers = true;
    v->chain = *bucket;
    *bucket = v;
    return v;
}

static bool is_under_way(const struct walk *w, unsigned id)
{
    for (const struct body *body = w->body; body; body = body->outer) {
        if (body->id == id)
            return true;
    }
    return false;
}

/* Whether the value that the walk has is the one that it would have here. */
static bool is_certain(const struct walk *w, const struct variable *v)
{
    if (v->class == CLASS_NONE)
        return true;
    if (w->blind || w->later)
        return false;
    switch (v->class) {
    case CLASS_STRAIGHT:
        /* not set yet: nothing else could have, but in a body that may have run before */
        return v->body ? is_under_way(w, v->body) : v->region == w->main && w->process == 0;
    case CLASS_SEVERAL:
        return v->body && w->body && v->body == w->body->id;
    case CLASS_LOOP:
        return v->loops > 0;
    default:
        return false;
    }
}

struct value state_value(struct walk *w, const char *name, size_t len)
{
    struct variable *v = state_variable(w, name, len);
    if (!v)
        return value_unknown(SOURCE_TOO_MUCH);
    bool of_the_host = v->class == CLASS_NONE && v->value.set;
    if (is_certain(w, v) && !(of_the_host && (w->blind || w->bare_environment)) &&
        !(w->blind && !of_the_host))
        return v->value;
    if (v->class != CLASS_NONE && v->class != CLASS_LOOP && v->numbers && !w->blind)
        return value_unknown(SOURCE_NUMBER);
    if (v->class == CLASS_READ && v->value.state != WORD_KNOWN && !w->blind && !w->later)
        return value_unknown(v->value.source);
    enum word_source source = SOURCE_VARIABLE;
    if (v->value.state != WORD_KNOWN && v->value.source > source)
        source = v->value.source;
    return value_unknown(source);
}

void state_set(struct walk *w, const char *name, size_t len, struct value value)
{
    struct variable *v = state_variable(w, name, len);
    if (!v)
        return;
    if (state_is_own_number(name, len) || is_own_text(name, len))
        value = value_unknown(value.source > SOURCE_VARIABLE ? value.source : SOURCE_VARIABLE);
    if (v->value.list && !value.list) /* only its first element */
        value = value_unknown(SOURCE_VARIABLE);
    v->value = value;
    v->body = w->body ? w->body->id : 0;
}

/* From here on nothing is known about it. */
void state_forget(struct walk *w, const char *name, size_t len, enum word_source source)
{
    struct variable *v = state_variable(w, name, len);
    if (!v)
        return;
    v->value = value_unknown(source);
    if (v->class != CLASS_READ)
        v->class = CLASS_ANY;
    v->numbers &= source == SOURCE_NUMBER;
}

/* One more way in which the text sets it. */
void state_classify(struct walk *w, const char *name, size_t len, enum variable_class class,
                    const struct shell_list *region, bool number)
{
    struct variable *v = state_variable(w, name, len);
    if (!v)
        return;
    v->numbers &= number;
    if (v->class == CLASS_NONE) {
        v->class = class;
        v->region = region;
    } else if (v->class == class && v->region == region && class != CLASS_READ && !v->once) {
        return;
    } else if ((v->class == CLASS_STRAIGHT || v->class == CLASS_SEVERAL) &&
               class == CLASS_STRAIGHT && !v->once) {
        v->class = CLASS_SEVERAL;
    } else if (v->class != class || class != CLASS_LOOP) {
        v->class = CLASS_ANY;
    }
}

bool state_is_read_only(const char *name, size_t len)
{
    static const char *const names[] = {"UID",       "EUID",     "PPID",
                                        "SHELLOPTS", "BASHOPTS", "BASH_VERSINFO"};
    return is_listed(names, sizeof(names) / sizeof(*names), name, len);
}

void state_watch_ifs(struct walk *w)
{
    const struct variable *v = state_variable(w, "IFS", 3);
    w->split_odd |= w->blind || !v || v->class != CLASS_NONE;
}

struct value state_arguments(const struct walk *w)
{
    return w->arguments_change || w->blind || w->later ? value_unknown(SOURCE_ARGUMENT)
                                                       : w->arguments;
}

struct value value_list(const struct fact_word *words, size_t count)
{
    return (struct value){.state = WORD_KNOWN,
                          .set = count > 0,
                          .list = true,
                          .text = "",
                          .words = words,
                          .word_count = count};
}

/* --- functions ------------------------------------------------------------------------------ */

static struct function **function_bucket(struct walk *w, const char *name, size_t len)
{
    return &w->functions[hash_of(name, len) & (w->bucket_count - 1)];
}

struct function *state_function(struct walk *w, const char *name, size_t len)
{
    for (struct function *f = *function_bucket(w, name, len); f; f = f->next) {
        if (f->process == w->process && f->name_len == len && memcmp(f->name, name, len) == 0)
            return f;
    }
    return NULL;
}

void state_define(struct walk *w, const char *name, size_t len, struct definition *definition,
                  bool surely)
{
    struct function *f = state_function(w, name, len);
    if (!f) {
        f = arena_take(w->arena, sizeof(*f));
        if (!f)
            return;
        *f = (struct function){.name = name, .name_len = (uint32_t)len, .process = w->process};
        f->next = *function_bucket(w, name, len);
        *function_bucket(w, name, len) = f;
        /* on some ways only, or taken away again: the program of that name is meant as well */
        f->maybe = w->forks > 0 || !surely;
    } else if (f->definitions != definition) {
        f->maybe = true;
    }
    if (definition) {
        definition->same_name = f->definitions;
        f->definitions = definition;
    }
}

/* --- the directory -------------------------------------------------------------------------- */

const struct place *state_place(struct walk *w, const char *path)
{
    bool usable = path && strlen(path) < WORDS_MAX; /* longer than any path */
    struct place *place = usable ? arena_take(w->arena, sizeof(*place)) : NULL;
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
    for (const struct place *p = a; p; p = p->next)
        count++;
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
