/*
 * The places of a text that change the shell's state, in their order: what a loop or a function may
 * have changed is asked by span, without walking it twice.
 */
#include "facts/internal.h"

#include <stdlib.h>

struct finder {
    struct walk *w;
    struct site *sites;
    size_t count, capacity;
};

static void add(struct finder *f, enum site_kind kind, uint32_t offset, struct shell_text name)
{
    if (f->count == f->capacity) {
        size_t capacity = f->capacity ? f->capacity * 2 : 16;
        struct site *more = arena_alloc_array(f->w->arena, capacity, sizeof(*more));
        if (!more)
            return;
        if (f->count)
            memcpy(more, f->sites, f->count * sizeof(*more));
        f->sites = more;
        f->capacity = capacity;
    }
    f->sites[f->count++] = (struct site){kind, offset, name};
}

static void add_parts(struct finder *f, const struct shell_part *parts);

/* Names in an expression may be assigned there. */
static void add_expression(struct finder *f, const struct shell_part *parts)
{
    for (const struct shell_part *part = parts; part; part = part->next) {
        if (part->kind == SHELL_TEXT || part->kind == SHELL_QUOTED) {
            const char *text = part->text.bytes;
            for (uint32_t i = 0; i < part->text.len; i++) {
                uint32_t from = i;
                while (i < part->text.len && is_name(text + from, i + 1 - from))
                    i++;
                if (i > from)
                    add(f, SITE_NUMBER, part->span.from,
                        (struct shell_text){text + from, i - from});
            }
        }
    }
    add_parts(f, parts);
}

static void add_parts(struct finder *f, const struct shell_part *parts)
{
    for (const struct shell_part *part = parts; part; part = part->next) {
        switch (part->kind) {
        case SHELL_DOUBLE:
        case SHELL_EXTGLOB:
            add_parts(f, part->parts);
            break;
        case SHELL_ARITH:
            add_expression(f, part->parts);
            break;
        case SHELL_PARAM: {
            const struct shell_param *p = part->param;
            if (p->op.len && p->op.bytes[p->op.len - 1] == '=')
                add(f, SITE_VARIABLE, part->span.from, p->name);
            add_expression(f, p->subscript);
            if (p->op.len == 1 && p->op.bytes[0] == ':')
                add_expression(f, p->operand);
            else
                add_parts(f, p->operand);
            break;
        }
        default: /* what runs in $(…) stays there */
            break;
        }
    }
}

/* Builtins that set the variables they name, or that may do anything. */
static const struct {
    const char *name;
    enum site_kind kind;
    bool words; /* each word is a name, or NAME=VALUE */
} setters[] = {
    {"read", SITE_VARIABLE, true},      {"mapfile", SITE_VARIABLE, true},
    {"readarray", SITE_VARIABLE, true}, {"printf", SITE_VARIABLE, true},
    {"declare", SITE_VARIABLE, true},   {"typeset", SITE_VARIABLE, true},
    {"local", SITE_VARIABLE, true},     {"export", SITE_VARIABLE, true},
    {"readonly", SITE_VARIABLE, true},  {"unset", SITE_VARIABLE, true},
    {"getopts", SITE_VARIABLE, true},   {"let", SITE_VARIABLE, true},
    {"wait", SITE_VARIABLE, true},      {"eval", SITE_ANY, false},
    {"source", SITE_ANY, false},        {".", SITE_ANY, false},
    {"builtin", SITE_ANY, false},       {"command", SITE_VARIABLE, true},
    {"cd", SITE_DIRECTORY, false},      {"pushd", SITE_DIRECTORY, false},
    {"popd", SITE_DIRECTORY, false},    {"break", SITE_JUMP, false},
    {"continue", SITE_JUMP, false},     {"return", SITE_JUMP, false},
};

/* The names at the start of the text of a word: x, x=1, x[1], -x; several in `let`. */
static void add_word_names(struct finder *f, const struct shell_word *word)
{
    const struct shell_part *part = word->parts;
    if (!part || (part->kind != SHELL_TEXT && part->kind != SHELL_QUOTED)) {
        add(f, SITE_ANY, word->span.from, (struct shell_text){0});
        return;
    }
    const char *text = part->text.bytes;
    size_t len = 0;
    while (len < part->text.len && is_name(text, len + 1))
        len++;
    if (len)
        add(f, SITE_VARIABLE, word->span.from, (struct shell_text){text, (uint32_t)len});
}

/* x=1, x=$((…)) */
static bool sets_number(const struct shell_assignment *a)
{
    const struct shell_part *part = a->value.parts;
    if (a->append || a->has_subscript || !part || part->next)
        return false;
    return part->kind == SHELL_ARITH ||
           (part->kind == SHELL_TEXT && is_number(part->text.bytes, part->text.len));
}

static void add_simple(struct finder *f, const struct shell_command *command)
{
    for (const struct shell_assignment *a = command->simple.assignments; a; a = a->next) {
        add(f, sets_number(a) ? SITE_NUMBER : SITE_VARIABLE, a->span.from, a->name);
        add_expression(f, a->subscript);
        add_parts(f, a->value.parts);
    }
    const struct shell_word *name = command->simple.words;
    for (const struct shell_word *word = name; word; word = word->next)
        add_parts(f, word->parts);
    if (!name)
        return;
    const struct shell_part *part = name->parts;
    bool literal = part && !part->next && (part->kind == SHELL_TEXT || part->kind == SHELL_QUOTED);
    if (!literal) { /* whatever it is */
        add(f, SITE_ANY, name->span.from, (struct shell_text){0});
        return;
    }
    for (size_t i = 0; i < sizeof(setters) / sizeof(*setters); i++) {
        if (!text_is(part->text.bytes, part->text.len, setters[i].name))
            continue;
        if (!setters[i].words)
            add(f, setters[i].kind, name->span.from, (struct shell_text){0});
        else if (text_is(part->text.bytes, part->text.len, "command") && name->next &&
                 name->next->parts && name->next->parts->kind == SHELL_TEXT &&
                 name->next->parts->text.len && name->next->parts->text.bytes[0] != '-')
            add(f, SITE_ANY, name->span.from, (struct shell_text){0});
        static const char *const fixed[] = {"REPLY", "MAPFILE", "OPTARG", "OPTIND"};
        for (size_t k = 0; setters[i].words && k < sizeof(fixed) / sizeof(*fixed); k++)
            add(f, SITE_VARIABLE, name->span.from,
                (struct shell_text){fixed[k], (uint32_t)strlen(fixed[k])});
        for (const struct shell_word *word = name->next; setters[i].words && word;
             word = word->next)
            add_word_names(f, word);
    }
}

static bool add_command(void *user, const struct shell_command *command)
{
    struct finder *f = user;
    switch (command->kind) {
    case SHELL_SIMPLE:
        add_simple(f, command);
        break;
    case SHELL_FOR:
    case SHELL_SELECT:
        add_word_names(f, command->each.name);
        for (const struct shell_word *word = command->each.words; word; word = word->next)
            add_parts(f, word->parts);
        break;
    case SHELL_FOR_ARITH:
        add_expression(f, command->arith_loop.init);
        add_expression(f, command->arith_loop.test);
        add_expression(f, command->arith_loop.step);
        break;
    case SHELL_LET:
        add_expression(f, command->expression);
        break;
    case SHELL_CASE:
        add_parts(f, command->choice.subject->parts);
        break;
    case SHELL_COPROC:
        if (command->coproc.name)
            add_word_names(f, command->coproc.name);
        break;
    default:
        break;
    }
    for (const struct shell_redirect *r = command->redirects; r; r = r->next) {
        if (r->fd_name.len)
            add(f, SITE_VARIABLE, r->span.from, r->fd_name);
        add_parts(f, r->target.parts);
    }
    return true;
}

static int by_offset(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void sites_find(struct walk *w, const struct shell_tree *tree, struct unit *unit)
{
    struct finder f = {.w = w};
    shell_each_command(tree, add_command, &f);
    bool sorted = true;
    for (size_t i = 1; i < f.count; i++)
        sorted &= f.sites[i - 1].offset <= f.sites[i].offset;
    if (!sorted)
        qsort(f.sites, f.count, sizeof(*f.sites), by_offset);
    unit->sites = f.sites;
    unit->site_count = f.count;
}
