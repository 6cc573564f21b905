/* Texts within texts: eval, bash -c, traps, what an option runs. */
#include "facts/internal.h"

#include "facts/special.h"

static enum finding_kind code_kind(uint8_t source)
{
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
        {"((", "(("},     {"[[", "[["},       {"<(", "<("},         {">(", ">("},
        {"&>", "&>"},     {"|&", "|&"},       {"$'", "$'"},         {"$\"", "$\""},
        {"<<<", "<<<"},   {"=(", "=("},       {"+=", "+="},         {";&", ";&"},
        {"${!", "${!"},   {"$[", "$["},       {"function ", "function"}, {"coproc ", "coproc"},
        {"select ", "select"}, {"time ", "time"}, {">&", NULL},     {"{", NULL},
        {"//", NULL},     {"^", NULL},        {"@(", "@("},         {"?(", "?("},
        {"*(", "*("},     {"+(", "+("},       {"!(", "!("},
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
    *unit = (struct unit){.outer = w->unit, .span = span};
    sites_find(w, tree, unit);
    const struct unit *outer = w->unit;
    w->unit = unit;
    w->nesting++;
    walk_list(w, tree->list, in);
    w->nesting--;
    w->unit = outer;
}

/* In a process of its own: nothing that it sets comes back, and it has no functions of ours. */
static void walk_process(struct walk *w, const char *text, size_t len, enum dialect dialect,
                         struct shell_span span, struct stream in)
{
    size_t mark = state_mark(w);
    struct function *functions = w->functions;
    bool plain = w->plain_shell, programs = w->programs_only, split = w->split_odd,
         exits = w->exits;
    if (dialect == DIALECT_SH) {
        const char *difference = dialect_difference(text, len);
        if (difference)
            finding_add(w, FINDING_DIALECT, difference,
                        "means something else to sh than to bash", span);
    }
    state_forget_set(w);
    w->functions = NULL;
    w->plain_shell = dialect == DIALECT_SH;
    w->programs_only = false;
    w->split_odd = false;
    w->exits = false;
    walk_text(w, text, len, span, in);
    w->functions = functions;
    w->plain_shell = plain;
    w->programs_only = programs;
    w->split_odd = split;
    w->exits = exits;
    state_undo(w, mark);
}

void inner_text(struct walk *w, const struct fact_word *text, enum dialect dialect, bool apart)
{
    if (text->state != WORD_KNOWN || text->many) {
        finding_add(w, code_kind(text->source), via_name(w), "runs text that is not known here",
                    text->span);
        if (!apart)
            state_forget_all(w);
        return;
    }
    struct stream in = {.source = SOURCE_INPUT, .text = ""};
    if (apart) {
        const struct fact_word *positional = w->positional;
        size_t count = w->positional_count;
        bool known = w->positional_known;
        if (!w->positional_given)
            w->positional_known = false;
        w->positional_given = false;
        walk_process(w, text->text, text->len, dialect, text->span, in);
        w->positional = positional;
        w->positional_count = count;
        w->positional_known = known;
    } else {
        bool programs = w->programs_only;
        w->programs_only = false;
        walk_text(w, text->text, text->len, text->span, in);
        w->programs_only = programs;
    }
}

void inner_stream(struct walk *w, const struct stream *in, enum dialect dialect,
                  struct shell_span span)
{
    if (in->state == WORD_KNOWN && !in->none) {
        walk_process(w, in->text, in->len, dialect, span,
                     (struct stream){.source = SOURCE_INPUT, .text = ""});
        return;
    }
    uint8_t source = in->none ? SOURCE_INPUT : in->source;
    finding_add(w, code_kind(source), via_name(w), "runs what comes on its standard input", span);
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
        finding_add(w, code_kind(text->source), via_name(w),
                    "runs a program that is not known here", text->span);
        return;
    }
    const struct unit unit = {.outer = w->unit, .span = text->span}, *outer = w->unit;
    w->unit = &unit;
    expand_words(w, command->simple.words, &words);
    w->unit = outer;
    struct act *act = NULL;
    special_run(w, words.items, words.count, text->span,
                (struct stream){.source = SOURCE_INPUT, .text = ""}, &act);
}

void inner_later(struct walk *w, const struct fact_word *text)
{
    size_t mark = state_mark(w);
    bool split = w->split_odd;
    state_forget_all(w);
    w->split_odd = split;
    inner_text(w, text, DIALECT_BASH, false);
    w->split_odd = split;
    state_undo(w, mark);
}
