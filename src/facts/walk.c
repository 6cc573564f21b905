/* The way through a tree in the order in which bash would go. */
#include "facts/internal.h"

#include <errno.h>

/* What may come in when somebody else has read of it, or may come out when somebody else prints. */
static struct stream blurred(struct stream stream, enum word_source least)
{
    if (stream.none)
        return stream;
    bool kept =
        stream.state != WORD_KNOWN &&
        (stream.source > least || stream.source == SOURCE_NUMBER || stream.source == SOURCE_FILES);
    return stream_unknown(kept ? stream.source : least);
}

/* What two commands print one after the other, or one of them. */
static struct stream both(struct stream a, struct stream b)
{
    a = blurred(a, SOURCE_OUTPUT);
    b = blurred(b, SOURCE_OUTPUT);
    return a.source > b.source ? a : b;
}

static const struct stream nothing = {.source = SOURCE_OUTPUT, .text = ""};

/* --- compound commands ---------------------------------------------------------------------- */

static struct stream walk_branch(struct walk *w, const struct shell_command *c, struct stream in)
{
    struct stream out = walk_list(w, c->branch.condition, in);
    const struct place *start = w->cwd;
    out = both(out, walk_list(w, c->branch.then, in));
    const struct place *then = w->cwd;
    w->cwd = start;
    if (c->branch.otherwise)
        out = both(out, walk_list(w, c->branch.otherwise, in));
    w->cwd = state_either(w, then, w->cwd);
    return out;
}

/* A round may follow another: where that one left the shell is not known. */
static void begin_rounds(struct walk *w, struct shell_span span)
{
    if (sites_enter(w, span))
        w->cwd = NULL;
}

static struct stream walk_loop(struct walk *w, const struct shell_command *c, struct stream in)
{
    begin_rounds(w, c->span);
    struct stream out = walk_list(w, c->loop.condition, in);
    return both(out, walk_list(w, c->loop.body, in));
}

static struct value loop_value(const struct fact_word *word)
{
    return (struct value){.state = word->state,
                          .source = word->source,
                          .set = true,
                          .text = word->text,
                          .len = word->len};
}

/* Every round by itself where all words are known, else one for all. */
static struct stream walk_each(struct walk *w, const struct shell_command *c, struct stream in)
{
    struct words words = {0};
    expand_words(w, c->each.words, &words);
    struct fact_word name = expand_one(w, c->each.name);
    struct variable *v = state_variable(w, name.text, name.len);
    struct stream out = nothing;
    bool known = c->kind == SHELL_FOR && words.count + w->rounds <= LOOP_ROUNDS_MAX;
    uint8_t source = c->kind == SHELL_FOR ? SOURCE_NONE : SOURCE_INPUT;
    for (size_t i = 0; i < words.count; i++) {
        known &= words.items[i].state != WORD_UNKNOWN;
        if (words.items[i].state != WORD_KNOWN && words.items[i].source > source)
            source = words.items[i].source;
    }
    if (!v)
        return out;
    begin_rounds(w, c->span);
    bool evaluates = v->integer || state_is_own_number(v->name, v->name_len);
    for (size_t i = 0; evaluates && i < words.count; i++)
        arith_check_word(w, &words.items[i]);
    v->loops++;
    if (known) {
        w->rounds += (unsigned)words.count;
        for (size_t i = 0; i < words.count; i++) {
            struct value value = loop_value(&words.items[i]);
            variable_check(w, v->name, v->name_len, &value, words.items[i].span, NULL);
            state_set(w, v->name, v->name_len, value);
            out = both(out, walk_list(w, c->each.body, in));
        }
    } else {
        struct value value = value_unknown(source ? source : SOURCE_VARIABLE);
        variable_check(w, v->name, v->name_len, &value, name.span, NULL);
        state_set(w, v->name, v->name_len, value);
        out = both(out, walk_list(w, c->each.body, in));
    }
    v->loops--;
    state_set(w, v->name, v->name_len, value_unknown(SOURCE_VARIABLE));
    return out;
}

static struct stream walk_arith_loop(struct walk *w, const struct shell_command *c,
                                     struct stream in)
{
    begin_rounds(w, c->span);
    arith_check(w, c->arith_loop.init, c->span);
    arith_check(w, c->arith_loop.test, c->span);
    struct stream out = walk_list(w, c->arith_loop.body, in);
    arith_check(w, c->arith_loop.step, c->span);
    return out;
}

static struct stream walk_choice(struct walk *w, const struct shell_command *c, struct stream in)
{
    expand_visit(w, c->choice.subject->parts);
    struct stream out = nothing;
    const struct place *start = w->cwd, *end = w->cwd;
    for (const struct shell_clause *clause = c->choice.clauses; clause; clause = clause->next) {
        for (const struct shell_word *word = clause->patterns; word; word = word->next)
            expand_visit(w, word->parts);
        out = both(out, walk_list(w, clause->body, in));
        end = state_either(w, end, w->cwd);
        w->cwd = clause->end == SHELL_CLAUSE_BREAK ? start : state_either(w, start, w->cwd);
    }
    w->cwd = end;
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

/* --- functions ------------------------------------------------------------------------------ */

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
    d->next = w->definitions;
    w->definitions = d;
    if (sites_enter(w, c->span))
        w->function_enters = true;
    state_define(w, name.text, name.len, d, sites_surely_runs(w, c->span.from));
}

static struct stream walk_body(struct walk *w, const struct definition *d,
                               const struct fact_word *args, size_t count, bool known,
                               struct stream in)
{
    const struct value outer = w->arguments;
    const struct unit *unit = w->unit;
    const struct place *cwd = w->cwd;
    w->arguments = known ? value_list(args, count) : value_unknown(SOURCE_ARGUMENT);
    w->unit = d->unit;
    w->forks++;
    struct stream out = walk_command(w, d->body, in);
    w->forks--;
    w->unit = unit;
    w->cwd = state_either(w, cwd, w->cwd); /* it may return early */
    w->arguments = outer;
    return out;
}

static struct stream walk_definition(struct walk *w, struct definition *d,
                                     const struct fact_word *args, size_t count, struct stream in)
{
    bool known = d->active == 0 && ++w->calls <= CALLS_MAX && w->nesting < NESTING_MAX;
    if (!known && (d->worst || d->active > 1)) {
        if (w->function_enters)
            w->cwd = NULL;
        w->blind = true; /* what it sets is not followed */
        return nothing;
    }
    d->followed = true;
    d->worst |= !known;
    d->active++;
    w->nesting++;
    struct stream out = walk_body(w, d, args, count, known, in);
    w->nesting--;
    d->active--;
    return blurred(out, SOURCE_OUTPUT);
}

struct stream walk_call(struct walk *w, struct function *function, const struct fact_word *args,
                        size_t count, struct stream in)
{
    struct stream out = nothing;
    in = blurred(in, SOURCE_INPUT);
    unsigned walked = 0;
    for (struct definition *d = function->definitions; d; d = d->same_name) {
        if (++walked > DEFINITIONS_MAX) { /* the others are walked as if never called */
            w->blind = true;
            break;
        }
        out = both(out, walk_definition(w, d, args, count, in));
    }
    return out;
}

void walk_uncalled(struct walk *w)
{
    for (struct definition *d = w->definitions; d; d = d->next) {
        if (d->followed)
            continue;
        d->followed = true;
        d->active++;
        w->later = true;
        w->cwd = NULL;
        walk_body(w, d, NULL, 0, false, stream_unknown(SOURCE_INPUT));
        d->active--;
    }
}

/* --- commands ------------------------------------------------------------------------------- */

/* Those whose parts may run or not, or several times, or in a process of their own. */
static struct stream walk_fork(struct walk *w, const struct shell_command *c, struct stream in)
{
    in = blurred(in, SOURCE_INPUT);
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
    case SHELL_COPROC: {
        const struct place *cwd = w->cwd;
        walk_command(w, c->coproc.body, stream_unknown(SOURCE_INPUT));
        w->cwd = cwd;
        struct fact_word name = {.text = "COPROC", .len = 6, .state = WORD_KNOWN};
        if (c->coproc.name)
            name = expand_one(w, c->coproc.name);
        arith_check_name(w, &name, SOURCE_NUMBER);
        return nothing;
    }
    default:
        return nothing;
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
    if (c->kind == SHELL_LET) {
        arith_check(w, c->expression, c->span);
        return nothing;
    }
    if (c->kind == SHELL_TEST) {
        walk_test(w, c->test);
        return nothing;
    }
    const struct place *before = w->cwd;
    w->forks++;
    struct stream out = walk_fork(w, c, in);
    w->forks--;
    w->entered_surely = false;
    if (c->redirects) /* one that fails, and nothing of it runs */
        w->cwd = state_either(w, before, w->cwd);
    return blurred(out, SOURCE_OUTPUT);
}

/* --- pipelines and lists -------------------------------------------------------------------- */

static struct stream walk_pipeline(struct walk *w, const struct shell_pipeline *pipeline,
                                   struct stream in)
{
    const struct shell_command *c = pipeline->commands;
    const struct place *before = w->cwd;
    if (!c)
        return nothing;
    if (!c->next) {
        struct stream out = walk_command(w, c, in);
        if (pipeline->negated)
            w->cwd = state_either(w, before, w->cwd);
        return out;
    }
    w->forks++;
    for (; c; c = c->next) {
        bool split = w->split_odd, streams = w->streams_odd;
        in = walk_command(w, c, in);
        in.none = false;
        w->cwd = before;
        w->split_odd = split;
        w->streams_odd = streams;
    }
    w->forks--;
    return in;
}

/* `cd x || exit`, in just these words: what follows runs only where x was entered. */
static bool is_exit(const struct shell_pipeline *pipeline)
{
    const struct shell_command *c = pipeline->commands;
    if (!c || c->next || pipeline->next || pipeline->negated || c->kind != SHELL_SIMPLE ||
        c->redirects || c->simple.assignments || !c->simple.words)
        return false;
    const struct shell_part *part = c->simple.words->parts;
    const struct shell_word *status = c->simple.words->next;
    if (!part || part->next || part->kind != SHELL_TEXT ||
        !text_is(part->text.bytes, part->text.len, "exit"))
        return false;
    if (!status)
        return true;
    part = status->parts;
    return !status->next && part && !part->next && part->kind == SHELL_TEXT &&
           is_number(part->text.bytes, part->text.len);
}

static struct stream walk_item(struct walk *w, const struct shell_item *item, struct stream in)
{
    const struct place *before = w->cwd;
    w->entered_surely = false;
    const struct shell_pipeline *pipeline = item->pipelines;
    bool alone = !pipeline->next;
    struct stream out = walk_pipeline(w, pipeline, alone ? in : blurred(in, SOURCE_INPUT));
    if (alone) {
        if (w->cwd != before && !w->entered_surely)
            w->cwd = state_either(w, before, w->cwd); /* it may have failed */
        return out;
    }
    if (pipeline->or_next && is_exit(pipeline->next) && !state_function(w, "exit", 4)) {
        walk_pipeline(w, pipeline->next, in);
        return both(out, nothing);
    }
    in = blurred(in, SOURCE_INPUT);
    bool only_and = true; /* so far: all before it has worked */
    const struct place *all =
        w->entered_surely && !pipeline->or_next ? w->cwd : state_either(w, before, w->cwd);
    w->forks++;
    for (; pipeline->next; pipeline = pipeline->next) {
        only_and &= !pipeline->or_next;
        if (!only_and)
            w->cwd = all;
        w->entered_surely = false;
        out = both(out, walk_pipeline(w, pipeline->next, in));
        all = state_either(w, all, w->cwd);
    }
    w->forks--;
    w->cwd = all;
    w->entered_surely = false;
    return out;
}

static struct stream walk_items(struct walk *w, const struct shell_item *item, struct stream in)
{
    if (item && !item->next && item->end != SHELL_END_BACKGROUND)
        return walk_item(w, item, in);
    struct stream out = nothing;
    in = blurred(in, SOURCE_INPUT);
    for (; item && !w->arena->failed; item = item->next) {
        if (item->end == SHELL_END_BACKGROUND) {
            const struct place *cwd = w->cwd;
            w->forks++;
            out = both(out, walk_item(w, item, in));
            w->forks--;
            w->cwd = cwd;
        } else {
            out = both(out, walk_item(w, item, in));
        }
    }
    return out;
}

struct stream walk_list(struct walk *w, const struct shell_list *list, struct stream in)
{
    const struct body body = {.id = ++w->body_count, .outer = w->body};
    w->body = &body;
    struct stream out = walk_items(w, list ? list->items : NULL, in);
    w->body = body.outer;
    return out;
}

struct stream walk_apart(struct walk *w, const struct shell_list *list, struct stream in)
{
    const struct place *cwd = w->cwd;
    bool split_odd = w->split_odd, streams_odd = w->streams_odd;
    w->forks++;
    struct stream out = walk_list(w, list, in);
    w->forks--;
    w->split_odd = split_odd;
    w->streams_odd = streams_odd;
    w->cwd = cwd;
    return out;
}

/* --- the whole ------------------------------------------------------------------------------ */

const char *const effect_names[] = {"reads",   "writes",    "deletes",      "runs",
                                    "network", "privilege", "irreversible", NULL};

static size_t count_characters(const char *at, const char *end)
{
    size_t count = 0;
    while (at < end && strchr(" \t\n", *at))
        at++;
    while (end > at && strchr(" \t\n", end[-1]))
        end--;
    for (; at < end; at++)
        count += ((unsigned char)*at & 0xC0) != 0x80;
    return count;
}

int facts_gather(struct arena *arena, const struct facts_host *host, const struct shell_tree *tree,
                 const struct facts **ret, struct err *e)
{
    struct facts *facts = arena_alloc(arena, sizeof(*facts));
    struct unit unit = {.own = true};
    struct walk w = {.arena = arena, .host = host, .facts = facts, .unit = &unit};
    if (!facts || !state_begin(&w, tree->source.len))
        return err_set(e, -ENOMEM, "out of memory");
    w.cwd = state_place(&w, host->cwd);
    w.main = tree->list;
    w.arguments = value_list(NULL, 0); /* bash -c TEXT, and nothing behind it */
    facts->text_len = tree->source.len;
    static const char metacharacters[] = ";&|><$`\\!";
    uint32_t own = host->before <= tree->source.len ? (uint32_t)host->before : 0;
    const char *bytes = tree->source.bytes;
    facts->characters = count_characters(bytes + own, bytes + tree->source.len);
    for (uint32_t i = own; i < tree->source.len; i++) {
        if (memchr(metacharacters, tree->source.bytes[i], sizeof(metacharacters) - 1)) {
            facts->has_metacharacters = true;
            facts->metacharacter = i;
            break;
        }
    }
    sites_find(&w, tree, &unit);
    state_watch_ifs(&w);
    walk_list(&w, tree->list, (struct stream){.none = true, .source = SOURCE_INPUT, .text = ""});
    walk_uncalled(&w);
    if (arena->failed)
        return err_set(e, -ENOMEM, "the text is too much to judge");
    *ret = facts;
    return 0;
}
