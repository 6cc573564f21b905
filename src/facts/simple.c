/* A simple command: assignments, redirections, and the act that its words are. */
#include "facts/internal.h"

/* --- assignments ---------------------------------------------------------------------------- */

/* Locales in which bash reads text as it was read here. */
static bool is_plain_locale(const struct value *value)
{
    if (value->state != WORD_KNOWN)
        return false;
    if (value->len == 0 || name_is(value->text, "C") || name_is(value->text, "POSIX"))
        return true;
    const char *dot = memrchr(value->text, '.', value->len);
    return dot && (strcasecmp(dot, ".utf-8") == 0 || strcasecmp(dot, ".utf8") == 0);
}

static struct fact_word value_word(const struct value *value, struct shell_span span)
{
    return (struct fact_word){.text = value->text,
                              .len = value->len,
                              .state = value->state == WORD_PATTERN ? WORD_UNKNOWN : value->state,
                              .source = value->source,
                              .span = span};
}

void variable_check(struct walk *w, const char *name, size_t len, const struct value *value,
                    struct shell_span span, const struct fact_word *command)
{
    span = span_of(w, span);
    if ((len >= 3 && memcmp(name, "LC_", 3) == 0) || text_is(name, len, "LANG")) {
        if (!command && !is_plain_locale(value))
            finding_add(w, FINDING_SETTING, arena_copy(w->arena, name, len),
                        "changes which characters the shell takes for letters and blanks", span);
        return;
    }
    const struct knowledge_variable *known = knowledge_variable(w->host->knowledge, name, len);
    if (!known)
        return;
    struct fact_word word = value_word(value, span);
    bool empty = value->state == WORD_KNOWN && value->len == 0;
    bool needed = text_is(name, len, "PATH") || text_is(name, len, "HOME");
    if (empty && !needed)
        return;
    if (known->flags & MARK_ASK) {
        finding_add(w, FINDING_VARIABLE, arena_copy(w->arena, name, len), known->why, span);
        return;
    }
    switch (known->role) {
    case ROLE_SHELL:
    case ROLE_BASH:
    case ROLE_EVAL:
    case ROLE_PROGRAM:
    case ROLE_WORDS:
        if (word.state != WORD_KNOWN)
            finding_add(w, FINDING_VARIABLE, arena_copy(w->arena, name, len), known->why, span);
        else if (known->role == ROLE_SHELL)
            inner_text(w, &word, DIALECT_SH, true);
        else if (known->role == ROLE_PROGRAM || known->role == ROLE_WORDS)
            inner_words(w, &word);
        else
            inner_text(w, &word, DIALECT_BASH, true);
        break;
    case ROLE_READ:
    case ROLE_WRITE:
        redirect_attach(
            w, path_make(w, w->cwd, &word, known->role == ROLE_READ ? PATH_READ : PATH_WRITE),
            span);
        break;
    default:
        break;
    }
}

/* An array's elements as words, where all are plain. */
static struct value array_value(struct walk *w, const struct shell_part *array, bool keyed)
{
    struct words words = {0};
    bool plain = true;
    for (const struct shell_assignment *a = array->elements; a; a = a->next) {
        if (a->has_subscript) {
            plain = false;
            if (keyed)
                expand_visit(w, a->subscript);
            else
                arith_check(w, a->subscript, a->span);
            expand_visit(w, a->value.parts);
        } else {
            expand_word(w, &a->value, &words);
        }
    }
    if (!plain)
        return value_unknown(SOURCE_VARIABLE);
    return (struct value){.state = WORD_KNOWN,
                          .set = true,
                          .list = true,
                          .text = "",
                          .words = words.items,
                          .word_count = words.count};
}

static struct value assigned_value(struct walk *w, const struct shell_assignment *a)
{
    struct variable *v = state_variable(w, a->name.bytes, a->name.len);
    bool keyed = v && v->keyed;
    const struct shell_part *parts = a->value.parts;
    bool array = parts && parts->kind == SHELL_ARRAY;
    struct value value = array ? array_value(w, parts, keyed) : expand_value(w, parts);
    if (a->has_subscript) {
        if (keyed)
            expand_visit(w, a->subscript);
        else
            arith_check(w, a->subscript, a->span);
        return value_unknown(value.state == WORD_KNOWN ? SOURCE_VARIABLE : value.source);
    }
    if (!a->append || !v)
        return value;
    struct value before = state_value(w, a->name.bytes, a->name.len);
    if (before.state == WORD_KNOWN && value.state == WORD_KNOWN && !before.list && !value.list) {
        bool small = (size_t)before.len + value.len <= WORDS_MAX;
        char *text = small ? arena_alloc(w->arena, (size_t)before.len + value.len + 1) : NULL;
        if (!text)
            return value_unknown(SOURCE_TOO_MUCH);
        memcpy(text, before.text, before.len);
        memcpy(text + before.len, value.text, value.len);
        return value_known(text, (size_t)before.len + value.len);
    }
    if (array && value.list && before.state == WORD_KNOWN && (before.list || !before.set)) {
        struct words all = {0};
        for (size_t i = 0; before.list && i < before.word_count; i++)
            words_add(w, &all, before.words[i]);
        for (size_t i = 0; i < value.word_count; i++)
            words_add(w, &all, value.words[i]);
        if (all.count <= WORDS_MAX) {
            value.words = all.items;
            value.word_count = all.count;
            return value;
        }
    }
    uint8_t source = SOURCE_VARIABLE;
    if (before.state != WORD_KNOWN && before.source > source)
        source = before.source;
    if (value.state != WORD_KNOWN && value.source > source)
        source = value.source;
    return value_unknown(source);
}

void assign_walk(struct walk *w, const struct shell_assignment *list, bool lasting,
                 const struct fact_word *command)
{
    for (const struct shell_assignment *a = list; a; a = a->next) {
        struct value value = assigned_value(w, a);
        struct variable *v = state_variable(w, a->name.bytes, a->name.len);
        if (v && (v->integer || state_is_own_number(v->name, v->name_len))) {
            struct value part = a->append ? expand_value(w, a->value.parts) : value;
            const struct fact_word word = value_word(&part, span_of(w, a->span));
            arith_check_word(w, &word);
            value = value_unknown(SOURCE_NUMBER);
        }
        variable_check(w, a->name.bytes, a->name.len, &value, a->span, lasting ? NULL : command);
        state_set(w, a->name.bytes, a->name.len, value);
    }
}

/* --- redirections --------------------------------------------------------------------------- */

static struct fact_word target_of(struct walk *w, const struct shell_redirect *r)
{
    struct words words = {0};
    expand_word(w, &r->target, &words);
    if (words.count == 1 && !(words.items[0].many && words.items[0].state == WORD_UNKNOWN))
        return words.items[0];
    uint8_t source = words.count ? words.items[0].source : SOURCE_VARIABLE;
    return (struct fact_word){.text = "", .source = source, .span = span_of(w, r->target.span)};
}

static struct stream value_stream(const struct value *value, bool newline, struct walk *w)
{
    if (value->state != WORD_KNOWN)
        return (struct stream){.source = value->source ? value->source : SOURCE_VARIABLE,
                               .text = ""};
    const char *text = value->text;
    uint32_t len = value->len;
    if (newline) {
        char *copy = arena_alloc(w->arena, (size_t)len + 2);
        if (!copy)
            return (struct stream){.source = SOURCE_TOO_MUCH, .text = ""};
        memcpy(copy, text, len);
        copy[len++] = '\n';
        text = copy;
    }
    return (struct stream){.state = WORD_KNOWN, .text = text, .len = len};
}

/* The number of a descriptor, or the - that closes it. */
static bool is_descriptor(const struct fact_word *word)
{
    if (word->state != WORD_KNOWN)
        return word->source == SOURCE_NUMBER;
    size_t len = word->len;
    if (len > 1 && word->text[len - 1] == '-')
        len--;
    return word_is(word, "-") || (is_number(word->text, len) && word->text[0] != '-');
}

/* Files whose names other commands take for options. */
static void check_created(struct walk *w, const struct fact_word *word)
{
    const char *slash = word->len ? memrchr(word->text, '/', word->len) : NULL;
    const char *name = slash ? slash + 1 : word->text;
    if (*name == '-' && name[1])
        finding_add(w, FINDING_NAME_FILE, word->text,
                    "makes a file that other commands take for an option", word->span);
}

struct fact_path *redirect_walk(struct walk *w, const struct shell_redirect *redirects,
                                struct stream *in)
{
    struct fact_path *paths = NULL, **last = &paths;
    for (const struct shell_redirect *r = redirects; r; r = r->next) {
        if (r->fd_name.len) {
            const char *copy = arena_copy(w->arena, r->fd_name.bytes, r->fd_name.len);
            struct fact_word name = {.text = copy ? copy : "",
                                     .len = copy ? r->fd_name.len : 0,
                                     .state = WORD_KNOWN,
                                     .span = span_of(w, r->span)};
            arith_check_name(w, &name, SOURCE_NUMBER);
        }
        if (r->kind == SHELL_REDIRECT_STRING || r->kind == SHELL_REDIRECT_DOCUMENT) {
            struct value value;
            if (r->quoted) {
                const struct shell_part *part = r->target.parts;
                struct shell_text body = part ? part->text : (struct shell_text){"", 0};
                const char *copy = arena_copy(w->arena, body.bytes, body.len);
                value = copy ? value_known(copy, body.len) : value_unknown(SOURCE_TOO_MUCH);
                if (part && part->next) /* never, by the tree's promise: but not to be trusted */
                    value = expand_value(w, part);
            } else {
                struct fact_word body = expand_one(w, &r->target);
                value = (struct value){.state = body.state,
                                       .source = body.source,
                                       .set = true,
                                       .text = body.text,
                                       .len = body.len};
            }
            if (r->fd == 0 && !r->fd_name.len)
                *in = value_stream(&value, r->kind == SHELL_REDIRECT_STRING, w);
            continue;
        }
        struct fact_word target = target_of(w, r);
        unsigned mode = 0;
        switch (r->kind) {
        case SHELL_REDIRECT_IN:
            mode = PATH_READ;
            break;
        case SHELL_REDIRECT_BOTH_WAYS:
            mode = PATH_READ | PATH_WRITE;
            break;
        case SHELL_REDIRECT_DUP_IN:
        case SHELL_REDIRECT_DUP_OUT:
            mode = is_descriptor(&target)             ? 0
                   : r->kind == SHELL_REDIRECT_DUP_IN ? PATH_READ
                                                      : PATH_WRITE;
            break;
        default:
            mode = PATH_WRITE;
        }
        if (r->fd == 0 && !r->fd_name.len) /* whatever it was, now it is another */
            *in = stream_unknown(target.state == WORD_UNKNOWN && target.source >= SOURCE_DECODED
                                     ? target.source
                                     : SOURCE_INPUT);
        if (!mode)
            continue;
        if (mode & PATH_WRITE) {
            check_created(w, &target);
            w->writes |= !word_is(&target, "/dev/null");
        }
        bool pipe = target.state == WORD_UNKNOWN && name_is(target.text, "/dev/fd/");
        if (!pipe) /* > >(…) */
            *last = path_make(w, w->cwd, &target, mode);
        while (*last)
            last = &(*last)->next;
    }
    return paths;
}

/* Redirections of a command that is no act itself. */
void redirect_attach(struct walk *w, struct fact_path *paths, struct shell_span span)
{
    if (!paths)
        return;
    struct act *act = act_add(w, NULL, 0, span_of(w, span));
    if (act)
        act_paths(act, paths);
}

/* --- the command ---------------------------------------------------------------------------- */

/* Whether what it prints still goes where its output goes. */
static bool prints_elsewhere(const struct shell_redirect *redirects)
{
    for (const struct shell_redirect *r = redirects; r; r = r->next) {
        /* any other may fail, and nothing is printed */
        if (r->fd == 1 || (r->kind != SHELL_REDIRECT_STRING && r->kind != SHELL_REDIRECT_DOCUMENT))
            return true;
    }
    return false;
}

/* Builtins whose NAME=VALUE words are expanded like assignments: neither split nor globbed. */
static bool is_declaration(const struct shell_word *words)
{
    static const char *const names[] = {"export", "declare", "typeset", "local", "readonly"};
    const struct shell_part *part = words ? words->parts : NULL;
    for (size_t i = 0; part && !part->next && part->kind == SHELL_TEXT && i < 5; i++) {
        if (text_is(part->text.bytes, part->text.len, names[i]))
            return true;
    }
    return false;
}

static void expand_declaration(struct walk *w, const struct shell_word *words, struct words *out)
{
    for (; words; words = words->next) {
        const struct shell_part *part = words->parts;
        const char *equals =
            part && part->kind == SHELL_TEXT ? memchr(part->text.bytes, '=', part->text.len) : NULL;
        size_t len = equals ? (size_t)(equals - part->text.bytes) : 0;
        len -= len && part->text.bytes[len - 1] == '+';
        if (!equals || !is_name(part->text.bytes, len)) {
            expand_word(w, words, out);
            continue;
        }
        struct value value = expand_value(w, part);
        if (w->plain_shell && part->next) { /* some of them do split it */
            size_t sure = (size_t)(equals - part->text.bytes) + 1;
            const char *name = arena_copy(w->arena, part->text.bytes, sure);
            value = value_unknown(SOURCE_VARIABLE);
            value.text = name ? name : "";
            value.len = name ? (uint32_t)sure : 0;
        }
        words_add(w, out,
                  (struct fact_word){.text = value.text,
                                     .len = value.len,
                                     .state = value.state,
                                     .source = value.source,
                                     .made = part->next != NULL,
                                     .span = span_of(w, words->span)});
    }
}

struct stream simple_walk(struct walk *w, const struct shell_command *c, struct stream in)
{
    struct words words = {0};
    if (is_declaration(c->simple.words))
        expand_declaration(w, c->simple.words, &words);
    else
        expand_words(w, c->simple.words, &words);
    if (w->streams_odd && !in.none)
        in = stream_unknown(in.source > SOURCE_INPUT ? in.source : SOURCE_INPUT);
    struct fact_path *paths = c->redirects ? redirect_walk(w, c->redirects, &in) : NULL;
    if (words.count == 0) {
        assign_walk(w, c->simple.assignments, true, NULL);
        redirect_attach(w, paths, c->span);
        return stream_unknown(in.none || in.source < SOURCE_OUTPUT ? SOURCE_OUTPUT : in.source);
    }
    assign_walk(w, c->simple.assignments, false, &words.items[0]);
    struct act *act = NULL;
    w->command = c->span.from;
    struct stream out = act_run(w, words.items, words.count, span_of(w, c->span), in, &act);
    if (paths && act)
        act_paths(act, paths);
    else
        redirect_attach(w, paths, c->span);
    if (c->redirects || c->simple.assignments) /* one may fail */
        w->entered_surely = false;
    if (c->redirects && word_is(&words.items[0], "exec"))
        w->streams_odd = true;
    if (out.state == WORD_KNOWN && (w->streams_odd || prints_elsewhere(c->redirects)))
        out = stream_unknown(SOURCE_OUTPUT);
    return out;
}
