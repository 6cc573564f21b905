/* The way through a tree in the order in which bash would go, and every way where it forks. */
#include "facts/internal.h"

#include <errno.h>

static struct stream unknown_stream(enum word_source source)
{
    return (struct stream){.state = WORD_UNKNOWN, .source = (uint8_t)source, .text = ""};
}

/* What two commands print one after the other. */
static struct stream both(struct stream a, struct stream b)
{
    if (a.state == WORD_KNOWN && a.len == 0)
        return b;
    if (b.state == WORD_KNOWN && b.len == 0)
        return a;
    uint8_t source = SOURCE_OUTPUT;
    if (a.state != WORD_KNOWN && a.source > source)
        source = a.source;
    if (b.state != WORD_KNOWN && b.source > source)
        source = b.source;
    return unknown_stream(source);
}

static const struct stream nothing = {.state = WORD_KNOWN, .text = ""};

/* --- compound commands --------------------------------------------------------------------------
 */

static struct stream walk_branch(struct walk *w, const struct shell_command *c, struct stream in)
{
    struct stream out = walk_list(w, c->branch.condition, in);
    size_t mark = state_mark(w);
    struct stream then = walk_list(w, c->branch.then, in);
    struct branch first = state_leave(w, mark);
    struct stream otherwise = c->branch.otherwise ? walk_list(w, c->branch.otherwise, in) : nothing;
    state_join(w, mark, &first);
    (void)both(then, otherwise);
    uint8_t source = SOURCE_OUTPUT;
    if (then.state != WORD_KNOWN && then.source > source)
        source = then.source;
    if (otherwise.state != WORD_KNOWN && otherwise.source > source)
        source = otherwise.source;
    if (out.state != WORD_KNOWN && out.source > source)
        source = out.source;
    return unknown_stream(source);
}

static struct stream walk_loop(struct walk *w, const struct shell_command *c, struct stream in)
{
    state_forget_sites(w, c->span);
    size_t mark = state_mark(w);
    struct stream out = walk_list(w, c->loop.condition, in);
    out = both(out, walk_list(w, c->loop.body, in));
    state_blur(w, mark);
    return out.state == WORD_KNOWN && out.len ? unknown_stream(SOURCE_OUTPUT) : out;
}

static struct value loop_value(const struct fact_word *word)
{
    return (struct value){.state = word->state,
                          .source = word->source,
                          .set = true,
                          .text = word->text,
                          .len = word->len};
}

/* Round by round where every word is known and no round can be cut short. */
static bool walk_rounds(struct walk *w, const struct shell_command *c, const struct words *words,
                        const char *name, size_t len, struct stream in, struct stream *out)
{
    if (words->count + w->rounds > LOOP_ROUNDS_MAX || state_jumps(w, c->span))
        return false;
    for (size_t i = 0; i < words->count; i++) {
        if (words->items[i].state == WORD_UNKNOWN)
            return false;
    }
    w->rounds += (unsigned)words->count;
    size_t mark = state_mark(w);
    for (size_t i = 0; i < words->count; i++) {
        const struct fact_word *word = &words->items[i];
        struct value value = loop_value(word);
        variable_check(w, name, len, &value, word->span, NULL);
        if (word->state == WORD_PATTERN) /* any number of rounds */
            state_forget_sites(w, c->span);
        state_set(w, name, len, value);
        *out = both(*out, walk_list(w, c->each.body, in));
    }
    for (size_t i = 0; i < words->count; i++) {
        if (words->items[i].state == WORD_PATTERN) {
            state_blur(w, mark);
            break;
        }
    }
    return true;
}

static struct stream walk_each(struct walk *w, const struct shell_command *c, struct stream in)
{
    struct words words = {0};
    expand_words(w, c->each.words, &words);
    struct fact_word name = expand_one(w, c->each.name);
    struct stream out = nothing;
    if (c->kind == SHELL_FOR && name.state == WORD_KNOWN &&
        walk_rounds(w, c, &words, name.text, name.len, in, &out))
        return out;
    state_forget_sites(w, c->span);
    size_t mark = state_mark(w);
    uint8_t source = SOURCE_VARIABLE;
    const char *prefix = NULL;
    for (size_t i = 0; i < words.count; i++) {
        if (words.items[i].state != WORD_KNOWN && words.items[i].source > source)
            source = words.items[i].source;
    }
    struct value value = value_unknown(c->kind == SHELL_SELECT ? SOURCE_INPUT : source);
    (void)prefix;
    if (name.state == WORD_KNOWN) {
        variable_check(w, name.text, name.len, &value, name.span, NULL);
        state_set(w, name.text, name.len, value);
    }
    out = walk_list(w, c->each.body, in);
    state_blur(w, mark);
    return out.state == WORD_KNOWN && out.len ? unknown_stream(SOURCE_OUTPUT) : out;
}

static struct stream walk_arith_loop(struct walk *w, const struct shell_command *c,
                                     struct stream in)
{
    arith_check(w, c->arith_loop.init, c->span);
    /* What the expressions set are numbers, before and after. */
    struct shell_span head = {c->span.from, c->arith_loop.body->span.from};
    (void)head;
    state_forget_sites(w, c->arith_loop.body->span);
    size_t mark = state_mark(w);
    arith_check(w, c->arith_loop.init, c->span);
    arith_check(w, c->arith_loop.step, c->span);
    arith_check(w, c->arith_loop.test, c->span);
    struct stream out = walk_list(w, c->arith_loop.body, in);
    arith_check(w, c->arith_loop.step, c->span);
    state_blur(w, mark);
    return out.state == WORD_KNOWN && out.len ? unknown_stream(SOURCE_OUTPUT) : out;
}

static struct stream walk_choice(struct walk *w, const struct shell_command *c, struct stream in)
{
    expand_visit(w, c->choice.subject->parts);
    size_t mark = state_mark(w), count = 0;
    for (const struct shell_clause *clause = c->choice.clauses; clause; clause = clause->next)
        count++;
    struct branch *ways = arena_alloc_array(w->arena, count + 1, sizeof(*ways));
    struct stream out = unknown_stream(SOURCE_OUTPUT);
    size_t i = 0;
    for (const struct shell_clause *clause = c->choice.clauses; clause && ways;
         clause = clause->next) {
        for (const struct shell_word *word = clause->patterns; word; word = word->next)
            expand_visit(w, word->parts);
        out = both(out, walk_list(w, clause->body, in));
        ways[i++] = state_leave(w, mark);
    }
    while (i-- > 0)
        state_join(w, mark, &ways[i]);
    return out;
}

/* [[ ]]: numbers are evaluated as expressions, and -v takes a name. */
static void walk_test(struct walk *w, const struct shell_test *test)
{
    static const char *const numeric[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    if (!test)
        return;
    walk_test(w, test->left);
    walk_test(w, test->right);
    if (!test->word)
        return;
    struct fact_word word = expand_one(w, test->word);
    struct fact_word other = test->other ? expand_one(w, test->other) : (struct fact_word){0};
    if (test->kind == SHELL_TEST_UNARY && (text_is(test->op.bytes, test->op.len, "-v") ||
                                           text_is(test->op.bytes, test->op.len, "-R"))) {
        if (word.state != WORD_KNOWN || memchr(word.text, '[', word.len))
            arith_check_word(w, &word);
    }
    for (size_t i = 0; test->other && i < sizeof(numeric) / sizeof(*numeric); i++) {
        if (text_is(test->op.bytes, test->op.len, numeric[i])) {
            arith_check_word(w, &word);
            arith_check_word(w, &other);
        }
    }
}

/* A function takes its name away from a program: what is meant by it afterwards is something else.
 */
static void define_function(struct walk *w, const struct shell_command *c)
{
    struct fact_word name = expand_one(w, c->function.name);
    if (name.state != WORD_KNOWN)
        return;
    if (memchr(name.text, '/', name.len))
        finding_add(w, FINDING_SHADOW, name.text, "is a function with the name of a path",
                    name.span);
    else if (knowledge_find(w->host->knowledge, name.text, name.len) ||
             text_is(name.text, name.len, "command_not_found_handle"))
        finding_add(w, FINDING_SHADOW, name.text,
                    "is the name of a command, and the text makes it a function", name.span);
    struct definition *d = arena_take(w->arena, sizeof(*d));
    if (!d)
        return;
    d->body = c->function.body;
    d->unit = w->unit;
    d->span = c->span;
    d->next = w->definitions;
    w->definitions = d;
    state_define(w, name.text, name.len, d);
}

static struct stream walk_body(struct walk *w, const struct definition *d,
                               const struct fact_word *args, size_t count, bool known,
                               struct stream in)
{
    const struct fact_word *positional = w->positional;
    size_t positional_count = w->positional_count;
    bool positional_known = w->positional_known;
    const struct unit *unit = w->unit;
    w->positional = args;
    w->positional_count = count;
    w->positional_known = known;
    w->unit = d->unit;
    struct stream out = walk_command(w, d->body, in);
    state_forget_sites(w, d->span); /* local variables, early returns */
    w->unit = unit;
    w->positional = positional;
    w->positional_count = positional_count;
    w->positional_known = positional_known;
    return out;
}

struct stream walk_call(struct walk *w, struct function *function, const struct fact_word *args,
                        size_t count, struct stream in)
{
    struct definition *d = function->now;
    bool known = d->active == 0 && ++w->calls <= CALLS_MAX && w->nesting < NESTING_MAX;
    if (!known && (d->worst || d->active > 1)) {
        const struct unit *unit = w->unit;
        w->unit = d->unit;
        state_forget_sites(w, d->span);
        w->unit = unit;
        return unknown_stream(SOURCE_OUTPUT);
    }
    d->followed = true;
    d->worst |= !known;
    d->active++;
    w->nesting++;
    struct stream out = walk_body(w, d, args, count, known, in);
    w->nesting--;
    d->active--;
    return out.state == WORD_KNOWN && out.len ? unknown_stream(SOURCE_OUTPUT) : out;
}

void walk_uncalled(struct walk *w)
{
    for (struct definition *d = w->definitions; d; d = d->next) {
        if (d->followed)
            continue;
        d->followed = true;
        size_t mark = state_mark(w);
        state_forget_all(w);
        d->active++;
        walk_body(w, d, NULL, 0, false, unknown_stream(SOURCE_INPUT));
        d->active--;
        state_undo(w, mark);
    }
}

struct stream walk_command(struct walk *w, const struct shell_command *c, struct stream in)
{
    if (c->kind == SHELL_SIMPLE)
        return simple_walk(w, c, in);
    if (c->kind == SHELL_FUNCTION) {
        define_function(w, c);
        return nothing;
    }
    redirect_attach(w, redirect_walk(w, c->redirects, &in), c->span);
    switch (c->kind) {
    case SHELL_SUBSHELL:
        return walk_apart(w, c->body, in);
    case SHELL_GROUP:
        return walk_list(w, c->body, in);
    case SHELL_IF:
        return walk_branch(w, c, in);
    case SHELL_WHILE:
    case SHELL_UNTIL:
        return walk_loop(w, c, in);
    case SHELL_FOR:
    case SHELL_SELECT:
        return walk_each(w, c, in);
    case SHELL_FOR_ARITH:
        return walk_arith_loop(w, c, in);
    case SHELL_CASE:
        return walk_choice(w, c, in);
    case SHELL_LET:
        arith_check(w, c->expression, c->span);
        return nothing;
    case SHELL_TEST:
        walk_test(w, c->test);
        return nothing;
    case SHELL_COPROC: {
        size_t mark = state_mark(w);
        walk_command(w, c->coproc.body, unknown_stream(SOURCE_INPUT));
        state_undo(w, mark);
        return nothing;
    }
    case SHELL_SIMPLE:
    case SHELL_FUNCTION:
        break;
    }
    return nothing;
}

/* --- pipelines and lists ------------------------------------------------------------------------
 */

static struct stream walk_pipeline(struct walk *w, const struct shell_pipeline *pipeline,
                                   struct stream in)
{
    const struct shell_command *c = pipeline->commands;
    if (!c)
        return nothing;
    if (!c->next)
        return walk_command(w, c, in);
    for (; c; c = c->next) {
        size_t mark = state_mark(w);
        in = walk_command(w, c, in);
        in.none = false;
        state_undo(w, mark);
    }
    return in;
}

/* Whether the pipeline never comes back: `cd x || exit`. */
static bool leaves(const struct shell_pipeline *pipeline)
{
    static const char *const names[] = {"exit", "return", "break", "continue"};
    const struct shell_command *c = pipeline->commands;
    if (!c || c->next || c->kind == SHELL_SUBSHELL)
        return false;
    if (c->kind == SHELL_GROUP && c->body && c->body->items) {
        const struct shell_item *last = c->body->items;
        while (last->next)
            last = last->next;
        return !last->pipelines->next && leaves(last->pipelines);
    }
    if (c->kind != SHELL_SIMPLE || !c->simple.words)
        return false;
    const struct shell_part *part = c->simple.words->parts;
    for (size_t i = 0; part && !part->next && part->kind == SHELL_TEXT && i < 4; i++) {
        if (text_is(part->text.bytes, part->text.len, names[i]))
            return true;
    }
    return false;
}

static struct stream walk_item(struct walk *w, const struct shell_item *item, struct stream in)
{
    const struct place *before = w->cwd;
    const struct shell_pipeline *pipeline = item->pipelines;
    struct stream out = walk_pipeline(w, pipeline, in);
    bool sure = w->exits && !pipeline->next;
    size_t mark = state_mark(w);
    for (; pipeline->next; pipeline = pipeline->next) {
        if (pipeline->or_next) { /* the left side failed: a directory may not have been entered */
            const struct place *after = w->cwd;
            size_t fork = state_mark(w);
            if (after != before)
                state_set_cwd(w, state_either(w, before, after));
            out = both(out, walk_pipeline(w, pipeline->next, in));
            if (leaves(pipeline->next)) {
                state_undo(w, fork);
                sure = true;
            }
        } else {
            out = both(out, walk_pipeline(w, pipeline->next, in));
        }
    }
    const struct place *after = w->cwd;
    state_blur(w, mark);
    if (sure && w->cwd != after)
        state_set_cwd(w, after);
    if (!sure && w->cwd != before)
        state_set_cwd(w, state_either(w, before, w->cwd));
    return out;
}

struct stream walk_list(struct walk *w, const struct shell_list *list, struct stream in)
{
    struct stream out = nothing;
    for (const struct shell_item *item = list ? list->items : NULL; item; item = item->next) {
        if (item->end == SHELL_END_BACKGROUND) {
            size_t mark = state_mark(w);
            out = both(out, walk_item(w, item, in));
            state_undo(w, mark);
        } else {
            out = both(out, walk_item(w, item, in));
        }
        if (w->arena->failed)
            break;
    }
    return out;
}

struct stream walk_apart(struct walk *w, const struct shell_list *list, struct stream in)
{
    size_t mark = state_mark(w);
    bool exits = w->exits, split_odd = w->split_odd;
    struct stream out = walk_list(w, list, in);
    w->exits = exits;
    w->split_odd = split_odd;
    state_undo(w, mark);
    return out;
}

/* --- the whole ----------------------------------------------------------------------------------
 */

const char *const effect_names[] = {"reads",   "writes",    "deletes",      "runs",
                                    "network", "privilege", "irreversible", NULL};

int facts_gather(struct arena *arena, const struct facts_host *host, const struct shell_tree *tree,
                 const struct facts **ret, struct err *e)
{
    struct facts *facts = arena_alloc(arena, sizeof(*facts));
    struct unit unit = {.own = true};
    struct walk w = {
        .arena = arena, .host = host, .facts = facts, .unit = &unit, .positional_known = true};
    if (!facts)
        return err_set(e, -ENOMEM, "out of memory");
    w.cwd = state_place(&w, host->cwd);
    facts->text_len = tree->source.len;
    static const char metacharacters[] = ";&|><$`\\!";
    for (uint32_t i = 0; i < tree->source.len; i++) {
        if (memchr(metacharacters, tree->source.bytes[i], sizeof(metacharacters) - 1)) {
            facts->has_metacharacters = true;
            facts->metacharacter = i;
            break;
        }
    }
    sites_find(&w, tree, &unit);
    walk_list(&w, tree->list, (struct stream){.none = true, .source = SOURCE_INPUT, .text = ""});
    walk_uncalled(&w);
    if (arena->failed)
        return err_set(e, -ENOMEM, "the text is too much to judge");
    *ret = facts;
    return 0;
}
