/* Texts within texts: eval, bash -c, traps, what an option runs. */
#include "facts/internal.h"

#include "facts/special.h"

/* Where some word of the text was decoded, text that is not known may be that. */
static enum finding_kind code_kind(const struct walk *w, uint8_t source)
{
    if (w->worst_source >= SOURCE_DECODED && source < w->worst_source)
        source = w->worst_source;
    return source == SOURCE_DOWNLOADED ? FINDING_DOWNLOAD
           : source == SOURCE_DECODED  ? FINDING_DECODED
                                       : FINDING_CODE;
}

static const char *via_name(const struct walk *w)
{
    return w->via && w->via->name ? w->via->name : "the text";
}

/*
 * Spellings that bash and a plain sh read otherwise, or that only one of them has. Looked for in
 * the bytes, quoted or not: a false alarm costs a question, a missed one a verdict on another text.
 */
static const char *dialect_difference(const char *text, size_t len)
{
    static const struct {
        const char *bytes, *what;
    } differences[] = {
        {"((", "(("},          {"[[", "[["},          {"<(", "<("},
        {">(", ">("},          {"&>", "&>"},          {"|&", "|&"},
        {"$'", "$'"},          {"$\"", "$\""},        {"<<<", "<<<"},
        {"=(", "=("},          {"+=", "+="},          {";&", ";&"},
        {"${!", "${!"},        {"$[", "$["},          {"function ", "function"},
        {"coproc ", "coproc"}, {"select ", "select"}, {"time ", "time"},
        {">&", NULL},          {"{", NULL},           {"//", NULL},
        {"^", NULL},           {"@(", "@("},          {"?(", "?("},
        {"*(", "*("},          {"+(", "+("},          {"!(", "!("},
    };
    for (size_t i = 0; i < sizeof(differences) / sizeof(*differences); i++) {
        const char *bytes = differences[i].bytes, *from = text;
        size_t size = strlen(bytes);
        for (const char *at; (at = memmem(from, len - (size_t)(from - text), bytes, size));
             from = at + 1) {
            size_t left = len - (size_t)(at - text);
            if (differences[i].what)
                return differences[i].what;
            if (bytes[0] == '>' && left > 2 && at[2] != '-' && (at[2] < '0' || at[2] > '9'))
                return ">&";
            if (bytes[0] == '{' && !(at > text && at[-1] == '$')) {
                const char *close = memchr(at, '}', left);
                size_t inside = close ? (size_t)(close - at) : 0;
                if (inside && !memchr(at, ' ', inside) &&
                    (memchr(at, ',', inside) || memmem(at, inside, "..", 2)))
                    return "{,}";
            }
            if ((bytes[0] == '/' || bytes[0] == '^') && memmem(text, len, "${", 2))
                return "${…}";
        }
    }
    return NULL;
}

static void walk_text(struct walk *w, const char *text, size_t len, struct shell_span span,
                      struct stream in)
{
    w->texts_bytes += len;
    if (w->texts_bytes > TEXTS_BYTES_MAX || w->nesting >= NESTING_MAX) {
        finding_add(w, FINDING_BOUND, "texts", "within texts are more than is looked at", span);
        return;
    }
    const struct shell_tree *tree;
    struct shell_error error;
    if (shell_parse(w->arena, text, len, &tree, &error) < 0) {
        const char *why = arena_format(w->arena, "cannot be read: %s", error.message);
        finding_add(w, FINDING_CODE, "text that is run", why ? why : "cannot be read", span);
        return;
    }
    struct unit *unit = arena_take(w->arena, sizeof(*unit)); /* functions of it point here */
    if (!unit)
        return;
    unit->span = span;
    bool sets = sites_find(w, tree, unit);
    state_watch_ifs(w);
    const struct unit *outer = w->unit;
    w->unit = unit;
    w->nesting++;
    walk_list(w, tree->list, in);
    w->nesting--;
    w->unit = outer;
    w->text_sets = sets;
}

/* In a process of its own: nothing that it sets comes back, and it has no functions of ours. */
static void walk_process(struct walk *w, const char *text, size_t len, enum dialect dialect,
                         struct shell_span span, const struct value *args)
{
    const struct walk before = *w;
    if (dialect == DIALECT_SH) {
        const char *difference = dialect_difference(text, len);
        if (difference)
            finding_add(w, FINDING_DIALECT, difference, "means something else to sh than to bash",
                        span);
    }
    w->body = NULL; /* what is set around it may be there or not */
    w->arguments = *args;
    w->arguments_change = false;
    w->process = ++w->process_count;
    w->plain_shell = dialect == DIALECT_SH;
    w->programs_only = false;
    w->split_odd = false;
    w->streams_odd = false;
    w->blind = false;
    w->later = before.later || before.blind;
    walk_text(w, text, len, span, stream_unknown(SOURCE_INPUT));
    w->body = before.body;
    w->arguments = before.arguments;
    w->arguments_change = before.arguments_change;
    w->process = before.process;
    w->plain_shell = before.plain_shell;
    w->programs_only = before.programs_only;
    w->split_odd = before.split_odd;
    w->streams_odd = before.streams_odd;
    w->blind = before.blind;
    w->later = before.later;
    w->cwd = before.cwd;
    w->function_enters = before.function_enters;
}

static void run_unknown_text(struct walk *w, const struct fact_word *text)
{
    finding_add(w, code_kind(w, text->source), via_name(w), "runs text that is not known here",
                text->span);
}

void inner_process(struct walk *w, const struct fact_word *text, enum dialect dialect,
                   const struct fact_word *args, size_t count)
{
    const struct value list = value_list(args, count);
    if (text->state != WORD_KNOWN || text->many)
        run_unknown_text(w, text);
    else
        walk_process(w, text->text, text->len, dialect, text->span, &list);
}

void inner_text(struct walk *w, const struct fact_word *text, enum dialect dialect, bool apart)
{
    if (text->state != WORD_KNOWN || text->many) {
        run_unknown_text(w, text);
        w->blind |= !apart;
        return;
    }
    if (apart) { /* who runs it may give it arguments */
        const struct value args = value_unknown(SOURCE_ARGUMENT);
        walk_process(w, text->text, text->len, dialect, text->span, &args);
        return;
    }
    bool programs = w->programs_only;
    w->programs_only = false;
    walk_text(w, text->text, text->len, text->span, stream_unknown(SOURCE_INPUT));
    w->programs_only = programs;
}

void inner_stream(struct walk *w, const struct stream *in, enum dialect dialect,
                  struct shell_span span)
{
    if (in->state == WORD_KNOWN && !in->none) {
        const struct value args = value_unknown(SOURCE_ARGUMENT);
        walk_process(w, in->text, in->len, dialect, span, &args);
        return;
    }
    uint8_t source = in->none ? SOURCE_INPUT : in->source;
    finding_add(w, code_kind(w, source), via_name(w),
                source == SOURCE_DOWNLOADED ? "runs what comes from another machine"
                : source == SOURCE_DECODED  ? "runs what another command has decoded"
                                            : "runs what comes on its standard input",
                span);
}

void inner_words(struct walk *w, const struct fact_word *text)
{
    const struct shell_tree *tree;
    struct shell_error error;
    struct words words = {0};
    const struct shell_command *command = NULL;
    if (text->state == WORD_KNOWN && !text->many && w->texts_bytes + text->len <= TEXTS_BYTES_MAX &&
        shell_parse(w->arena, text->text, text->len, &tree, &error) == 0)
        command = shell_plain_command(tree);
    w->texts_bytes += text->len;
    if (!command) {
        finding_add(w, code_kind(w, text->source), via_name(w),
                    "runs a program that is not known here", text->span);
        return;
    }
    const struct unit unit = {.span = text->span}, *outer = w->unit;
    w->unit = &unit;
    expand_words(w, command->simple.words, &words);
    w->unit = outer;
    struct act *act = NULL;
    special_run(w, words.items, words.count, text->span, stream_unknown(SOURCE_INPUT), &act);
}

void inner_later(struct walk *w, const struct fact_word *text)
{
    const struct walk before = *w;
    w->later = true;
    w->cwd = NULL;
    w->text_sets = false;
    w->forks++;
    inner_text(w, text, DIALECT_BASH, false);
    /* It may run between any two commands: nothing that it sets is known from here on. */
    if (w->text_sets || w->calls != before.calls) {
        finding_add(w, FINDING_SETTING, via_name(w),
                    "runs text between other commands that may change variables", text->span);
        w->blind = true;
    }
    w->forks--;
    w->later = before.later;
    w->cwd = before.cwd;
    w->split_odd = before.split_odd;
}
