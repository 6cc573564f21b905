/*
 * In which ways a text sets each variable, before it is walked; see state.c for what follows from
 * it. After eval, source and their like any variable may have been set.
 */
#include "facts/internal.h"

struct finder {
    struct walk *w;
    bool sets;          /* anything was found */
    unsigned functions; /* around this place */
    bool only_once;     /* neither in a loop nor in a function */
    bool risky;         /* met something that can end the line that it stands in */
    bool has_integers;  /* declare -i: assignments are evaluated */
    bool has_functions;
    const struct shell_list *main;
    struct offsets entered; /* where the directory changes */
    struct offsets sure;    /* cd and definitions of functions that surely run */
};

static void add(struct finder *f, struct shell_text name, enum variable_class class,
                const struct shell_list *region, bool number)
{
    if (!name.len)
        return;
    f->sets = true;
    state_classify(f->w, name.bytes, name.len, class, region, number);
}

static void add_any_name(struct finder *f)
{
    f->sets = true;
    f->w->blind = true;
}

static void add_offset(struct finder *f, struct offsets *list, uint32_t offset)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 8;
        uint32_t *more = arena_alloc_array(f->w->arena, capacity, sizeof(*more));
        if (!more)
            return;
        if (list->count)
            memcpy(more, list->items, list->count * sizeof(*more));
        list->items = more;
        list->capacity = capacity;
    }
    list->items[list->count++] = offset;
}

static void add_parts(struct finder *f, const struct shell_part *parts);
static void add_list(struct finder *f, const struct shell_list *list);

/* How many letters at the start of the text are a name. */
static uint32_t name_len(const char *text, uint32_t len)
{
    uint32_t used = 0;
    if (len && text[0] >= '0' && text[0] <= '9')
        return 0;
    while (used < len && is_name(text + used, 1))
        used++;
    while (used && used < len && text[used] >= '0' && text[used] <= '9') {
        used++;
        while (used < len && is_name(text + used, 1))
            used++;
    }
    return used;
}

/* Names in an expression may be given numbers there. */
static void add_expression(struct finder *f, const struct shell_part *parts)
{
    for (const struct shell_part *part = parts; part; part = part->next) {
        if (part->kind != SHELL_TEXT && part->kind != SHELL_QUOTED)
            continue;
        const char *text = part->text.bytes;
        for (uint32_t i = 0; i < part->text.len; i++) {
            uint32_t from = i;
            i += name_len(text + i, part->text.len - i);
            if (i == part->text.len && i > from && part->next)
                add_any_name(f); /* a name that goes on in an expansion */
            if (i > from && arith_assigns(text, part->text.len, from, i))
                add(f, (struct shell_text){text + from, i - from}, CLASS_ANY, NULL, true);
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
            f->risky = true;
            add_expression(f, part->parts);
            break;
        case SHELL_PARAM: {
            const struct shell_param *p = part->param;
            f->risky |=
                p->indirect || p->bad || p->has_subscript ||
                (p->op.len && (strchr("@?", p->op.bytes[p->op.len - 1]) ||
                               (p->op.len == 1 && p->op.bytes[0] == ':') || p->op.bytes[0] == '@'));
            if (p->op.len && p->op.bytes[p->op.len - 1] == '=') {
                if (p->indirect)
                    add_any_name(f);
                add(f, p->name, CLASS_ANY, NULL, false);
            }
            add_expression(f, p->subscript);
            if (p->op.len == 1 && p->op.bytes[0] == ':')
                add_expression(f, p->operand);
            else
                add_parts(f, p->operand);
            break;
        }
        case SHELL_ARRAY:
            for (const struct shell_assignment *a = part->elements; a; a = a->next) {
                f->risky |= a->has_subscript;
                add_expression(f, a->subscript);
                add_parts(f, a->value.parts);
            }
            break;
        case SHELL_COMMAND:
        case SHELL_PROCESS: { /* what fails there ends only that process */
            bool risky = f->risky;
            add_list(f, part->list);
            f->risky = risky;
            break;
        }
        default:
            break;
        }
    }
}

/* --- commands ------------------------------------------------------------------------------- */

enum setter {
    SETS_NAMES = 1, /* the variables that its words name: x, x=1, -vx */
    SETS_ANY,       /* whatever it likes */
    SETS_ARGUMENTS, /* set -- …, shift */
    SETS_DIRECTORY,
};

static const struct {
    const char *name;
    enum setter sets;
} setters[] = {
    {"read", SETS_NAMES},      {"mapfile", SETS_NAMES}, {"readarray", SETS_NAMES},
    {"printf", SETS_NAMES},    {"declare", SETS_NAMES}, {"typeset", SETS_NAMES},
    {"local", SETS_NAMES},     {"export", SETS_NAMES},  {"readonly", SETS_NAMES},
    {"unset", SETS_NAMES},     {"getopts", SETS_NAMES}, {"let", SETS_NAMES},
    {"wait", SETS_NAMES},      {"eval", SETS_ANY},      {"source", SETS_ANY},
    {".", SETS_ANY},           {"fc", SETS_ANY},        {"set", SETS_ARGUMENTS},
    {"shift", SETS_ARGUMENTS}, {"cd", SETS_DIRECTORY},  {"pushd", SETS_DIRECTORY},
    {"popd", SETS_DIRECTORY},
};

static enum setter setter_of(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(setters) / sizeof(*setters); i++) {
        if (text_is(name, len, setters[i].name))
            return setters[i].sets;
    }
    return 0;
}

bool sites_is_setter(const char *name)
{
    return setter_of(name, strlen(name)) != 0;
}

static const struct shell_text *literal(const struct shell_word *word)
{
    const struct shell_part *part = word ? word->parts : NULL;
    return part && !part->next && (part->kind == SHELL_TEXT || part->kind == SHELL_QUOTED)
               ? &part->text
               : NULL;
}

/* The name that a word sets: `skip` letters of an option stand before it. */
static void add_name_at(struct finder *f, const struct shell_text *text, uint32_t skip,
                        enum variable_class class)
{
    uint32_t len = name_len(text->bytes + skip, text->len - skip);
    add(f, (struct shell_text){text->bytes + skip, len}, class, NULL, false);
}

static void add_names(struct finder *f, const struct shell_word *words, enum variable_class class)
{
    for (const struct shell_word *word = words; word; word = word->next) {
        const struct shell_part *part = word->parts;
        if (!part)
            continue;
        /* x=$y is a word with more parts, and its first one has the name */
        if (part->kind != SHELL_TEXT && part->kind != SHELL_QUOTED) {
            if (part->kind == SHELL_DOUBLE && part->parts && part->parts->kind != SHELL_PARAM &&
                part->parts->kind != SHELL_COMMAND)
                add_name_at(f, &part->parts->text, 0, CLASS_ANY);
            else
                add_any_name(f); /* nobody knows which */
            continue;
        }
        bool plain = !part->next && is_name(part->text.bytes, part->text.len);
        add_name_at(f, &part->text, 0, plain ? class : CLASS_ANY);
        for (uint32_t i = 1; part->text.bytes[0] == '-' && i < part->text.len; i++)
            add_name_at(f, &part->text, i, CLASS_ANY);
        if (part->next && !memchr(part->text.bytes, '=', part->text.len) && part->text.len &&
            part->text.bytes[0] != '-' && part->next->kind != SHELL_ARRAY)
            add_any_name(f); /* a name put together */
    }
}

/* printf only with -v, whose name is one word; formats are no names. */
static void add_printf(struct finder *f, const struct shell_word *words)
{
    const struct shell_text *first = literal(words);
    if (words && !first && words->parts && words->parts->kind != SHELL_DOUBLE)
        add_any_name(f);
    if (!words || !first || first->len < 2 || memcmp(first->bytes, "-v", 2) != 0)
        return;
    struct shell_word one = *words;
    if (first->len == 2 && words->next)
        one = *words->next;
    one.next = NULL;
    add_names(f, &one, CLASS_ANY);
}

/* let x=1, let "x += 1" */
static void add_let(struct finder *f, const struct shell_word *words)
{
    for (; words; words = words->next) {
        if (literal(words))
            add_expression(f, words->parts);
        else
            add_any_name(f);
    }
}

/* set -e sets no arguments. */
static bool sets_arguments(const struct shell_word *words)
{
    for (; words; words = words->next) {
        const struct shell_text *text = literal(words);
        if (!text || text->len < 2 || (text->bytes[0] != '-' && text->bytes[0] != '+') ||
            text_is(text->bytes, text->len, "--"))
            return true;
        if (text->bytes[text->len - 1] == 'o' && words->next)
            words = words->next;
    }
    return false;
}

static void add_call(struct finder *f, const struct shell_word *name)
{
    const struct shell_text *text = literal(name);
    /* command and builtin stand before the builtin that is meant */
    while (text &&
           (text_is(text->bytes, text->len, "command") ||
            text_is(text->bytes, text->len, "builtin") || (text->len && text->bytes[0] == '-'))) {
        name = name->next;
        text = name ? literal(name) : NULL;
    }
    f->risky |= f->has_functions || !text;
    if (!text || !name)
        return; /* what it is called is asked when it is known */
    f->risky |= text_is(text->bytes, text->len, "readonly");
    switch (setter_of(text->bytes, text->len)) {
    case SETS_NAMES:
        f->risky = true; /* subscripts, integers, what is read-only */
        for (const struct shell_word *word = name->next; word; word = word->next) {
            const struct shell_text *flag = literal(word);
            f->has_integers |=
                flag && flag->len && flag->bytes[0] == '-' && memchr(flag->bytes, 'i', flag->len);
        }
        if (text_is(text->bytes, text->len, "printf"))
            add_printf(f, name->next);
        else if (text_is(text->bytes, text->len, "let"))
            add_let(f, name->next);
        else
            add_names(f, name->next,
                      text_is(text->bytes, text->len, "read") ? CLASS_READ : CLASS_ANY);
        break;
    case SETS_ANY:
        add_any_name(f);
        break;
    case SETS_ARGUMENTS:
        if (text->bytes[1] == 'h' || sets_arguments(name->next)) {
            f->sets = true;
            f->w->arguments_change = true;
        }
        break;
    case SETS_DIRECTORY:
        f->sets = true;
        add_offset(f, &f->entered, name->span.from);
        break;
    }
}

/* x=1, x=$((…)) */
static bool sets_number(const struct shell_assignment *a)
{
    const struct shell_part *part = a->value.parts;
    if (a->append || !part || part->next)
        return false;
    return part->kind == SHELL_ARITH ||
           (part->kind == SHELL_TEXT && is_number(part->text.bytes, part->text.len));
}

/* export x=1, readonly x=1, as they are mostly written: no options, values that are there. */
static bool is_plain_setting(const struct finder *f, const struct shell_word *words, bool *once)
{
    const struct shell_text *name = literal(words);
    *once = false;
    if (!name)
        return false;
    *once = text_is(name->bytes, name->len, "readonly") && f->only_once;
    if (!*once && !text_is(name->bytes, name->len, "export") &&
        !text_is(name->bytes, name->len, "declare") &&
        !(f->functions && text_is(name->bytes, name->len, "local")))
        return false;
    for (const struct shell_word *word = words->next; word; word = word->next) {
        const struct shell_part *part = word->parts;
        if (!part || part->kind != SHELL_TEXT || !memchr(part->text.bytes, '=', part->text.len) ||
            memchr(part->text.bytes, '+', part->text.len) ||
            memchr(part->text.bytes, '[', part->text.len))
            return false;
    }
    return words->next != NULL;
}

/* IFS in front of read splits what is read, and nothing else. */
static bool is_reader(const struct shell_word *words)
{
    const struct shell_text *name = words ? literal(words) : NULL;
    return name &&
           (text_is(name->bytes, name->len, "read") || text_is(name->bytes, name->len, "mapfile") ||
            text_is(name->bytes, name->len, "readarray"));
}

/* `region`: the list of which the command is an item that surely runs; NULL: it may not. */
static void add_simple(struct finder *f, const struct shell_command *command,
                       const struct shell_list *region)
{
    const struct shell_word *words = command->simple.words;
    if (command->redirects) /* one may fail, and then nothing is set */
        region = NULL;
    /* what fails in one of them leaves the others as they were */
    for (const struct shell_assignment *a = command->simple.assignments; a; a = a->next) {
        f->risky |= a->has_subscript || f->has_integers ||
                    state_is_read_only(a->name.bytes, a->name.len) ||
                    state_is_own_number(a->name.bytes, a->name.len);
        add_expression(f, a->subscript);
        add_parts(f, a->value.parts);
    }
    if (f->risky && command->simple.assignments && region == f->main)
        region = NULL;
    for (const struct shell_assignment *a = command->simple.assignments; a; a = a->next) {
        bool plain = region && !words && !a->has_subscript;
        bool for_read = text_is(a->name.bytes, a->name.len, "IFS") && is_reader(words);
        if (!for_read)
            add(f, a->name, plain ? CLASS_STRAIGHT : CLASS_ANY, plain ? region : NULL,
                !words && sets_number(a));
    }
    for (const struct shell_word *word = words; word; word = word->next)
        add_parts(f, word->parts);
    if (!words)
        return;
    bool once;
    if (region && !command->simple.assignments && is_plain_setting(f, words, &once)) {
        for (const struct shell_word *word = words->next; word; word = word->next) {
            const struct shell_text *text = &word->parts->text;
            const char *equals = memchr(text->bytes, '=', text->len);
            struct shell_text one = {text->bytes, (uint32_t)(equals - text->bytes)};
            add(f, one, CLASS_STRAIGHT, region, false);
            struct variable *v = state_variable(f->w, one.bytes, one.len);
            if (once && v) {
                if (v->class == CLASS_STRAIGHT && v->once)
                    v->class = CLASS_ANY;
                v->once = true;
            }
        }
        f->risky |= once;
        return;
    }
    add_call(f, words);
}

static void add_test(struct finder *f, const struct shell_test *test)
{
    if (!test)
        return;
    f->risky |= test->kind == SHELL_TEST_BINARY || text_is(test->op.bytes, test->op.len, "-v");
    add_test(f, test->left);
    add_test(f, test->right);
    if (test->word)
        add_parts(f, test->word->parts);
    if (test->other)
        add_parts(f, test->other->parts);
}

static void add_words(struct finder *f, const struct shell_word *words)
{
    for (; words; words = words->next)
        add_parts(f, words->parts);
}

static void add_command(struct finder *f, const struct shell_command *command,
                        const struct shell_list *region)
{
    const struct shell_text *name;
    switch (command->kind) {
    case SHELL_SIMPLE:
        if (region)
            add_offset(f, &f->sure, command->span.from);
        add_simple(f, command, region);
        break;
    case SHELL_SUBSHELL:
    case SHELL_GROUP:
        add_list(f, command->body);
        break;
    case SHELL_IF:
        add_list(f, command->branch.condition);
        add_list(f, command->branch.then);
        add_list(f, command->branch.otherwise);
        break;
    case SHELL_WHILE:
    case SHELL_UNTIL:
        add_list(f, command->loop.condition);
        add_list(f, command->loop.body);
        break;
    case SHELL_FOR:
    case SHELL_SELECT:
        name = literal(command->each.name);
        if (name)
            add(f, *name, command->kind == SHELL_FOR ? CLASS_LOOP : CLASS_ANY, NULL, false);
        add_words(f, command->each.words);
        add_list(f, command->each.body);
        break;
    case SHELL_FOR_ARITH:
        add_expression(f, command->arith_loop.init);
        add_expression(f, command->arith_loop.test);
        add_expression(f, command->arith_loop.step);
        add_list(f, command->arith_loop.body);
        break;
    case SHELL_CASE:
        add_parts(f, command->choice.subject->parts);
        for (const struct shell_clause *c = command->choice.clauses; c; c = c->next) {
            add_words(f, c->patterns);
            add_list(f, c->body);
        }
        break;
    case SHELL_FUNCTION:
        f->has_functions = true;
        if (region)
            add_offset(f, &f->sure, command->span.from);
        f->functions++;
        add_command(f, command->function.body, NULL);
        f->functions--;
        break;
    case SHELL_COPROC:
        name = command->coproc.name ? literal(command->coproc.name) : NULL;
        if (name)
            add(f, *name, CLASS_ANY, NULL, false);
        add_command(f, command->coproc.body, NULL);
        break;
    case SHELL_LET:
        f->risky = true;
        add_expression(f, command->expression);
        break;
    case SHELL_TEST:
        add_test(f, command->test);
        break;
    }
    for (const struct shell_redirect *r = command->redirects; r; r = r->next) {
        if (r->fd_name.len)
            add(f, r->fd_name, CLASS_ANY, NULL, false);
        add_parts(f, r->target.parts);
    }
}

static void add_list(struct finder *f, const struct shell_list *list)
{
    bool cut_short = false;
    for (const struct shell_item *item = list ? list->items : NULL; item; item = item->next) {
        bool risky = f->risky;
        f->risky = false;
        for (const struct shell_pipeline *p = item->pipelines; p; p = p->next) {
            bool surely = p == item->pipelines && p->commands && !p->commands->next &&
                          item->end != SHELL_END_BACKGROUND && !cut_short;
            f->only_once = list == f->main;
            for (const struct shell_command *c = p->commands; c; c = c->next)
                add_command(f, c, surely ? list : NULL);
        }
        /* An expansion that fails, or an assignment to what is read-only, ends the line of the
         * text, and the next line runs all the same. */
        cut_short = list == f->main && !item->line_ends && (cut_short || f->risky);
        f->risky |= risky;
    }
}

bool sites_find(struct walk *w, const struct shell_tree *tree, struct unit *unit)
{
    struct finder f = {.w = w, .main = tree->list};
    add_list(&f, tree->list);
    unit->entered = f.entered;
    unit->sure = f.sure;
    return f.sets;
}

bool sites_enter(const struct walk *w, struct shell_span span)
{
    for (size_t i = 0; i < w->unit->entered.count; i++) {
        if (w->unit->entered.items[i] >= span.from && w->unit->entered.items[i] < span.to)
            return true;
    }
    return w->function_enters;
}

bool sites_surely_runs(const struct walk *w, uint32_t offset)
{
    const struct offsets *sure = &w->unit->sure; /* in the order of the text */
    size_t low = 0, high = sure->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sure->items[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sure->count && sure->items[low] == offset;
}
