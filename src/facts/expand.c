/*
 * What bash makes of words: braces, tildes, parameters, substitutions, splitting, globs. Where the
 * outcome is certain it is known text; otherwise the word says why not. What runs in a word is
 * walked on the way, so every part is looked at exactly once.
 */
#include "facts/internal.h"

/* A word in the making. */
struct field {
    struct walk *w;
    struct words *out; /* NULL: one value, neither split nor globbed */
    struct shell_span span;
    char *text;
    char *live; /* for each letter: whether glob characters count */
    size_t len, capacity;
    size_t sure;       /* letters before anything unknown or any glob */
    bool tilde_places; /* ~ counts at the start and behind = and : */
    bool made;         /* of expansions */
    bool quoted;       /* an empty word stays a word */
    bool unknown, pattern, many;
    uint8_t source;
};

static bool grow(struct field *f, size_t more)
{
    if (f->len + more < f->capacity)
        return true;
    size_t capacity = f->capacity ? f->capacity * 2 : 64;
    while (capacity <= f->len + more)
        capacity *= 2;
    char *text = arena_alloc(f->w->arena, capacity), *live = arena_alloc(f->w->arena, capacity);
    if (!text || !live)
        return false;
    if (f->len) {
        memcpy(text, f->text, f->len);
        memcpy(live, f->live, f->len);
    }
    f->text = text;
    f->live = live;
    f->capacity = capacity;
    return true;
}

static void append(struct field *f, const char *bytes, size_t len, bool live)
{
    if (f->made && f->len + len > VALUE_MAX) { /* put together: x=$x$x */
        f->unknown = true;
        f->many |= f->out != NULL;
        f->source = f->source > SOURCE_TOO_MUCH ? f->source : SOURCE_TOO_MUCH;
        return;
    }
    if (len == 0 || !grow(f, len))
        return;
    memcpy(f->text + f->len, bytes, len);
    memset(f->live + f->len, live, len);
    f->len += len;
    if (!f->unknown && !f->pattern)
        f->sure = f->len;
}

static void append_pattern(struct field *f, const char *pattern, size_t len,
                           enum word_source source);

static void append_unknown(struct field *f, enum word_source source, bool many)
{
    if (source > f->w->worst_source)
        f->w->worst_source = (uint8_t)source;
    if (source == SOURCE_NUMBER) { /* digits: the rest of the word stays what it is */
        append_pattern(f, "*", 1, source);
        f->many |= many && f->out;
        return;
    }
    if (!f->unknown && !f->pattern)
        f->sure = f->len;
    f->unknown = true;
    f->many |= many && f->out;
    if (source > f->source)
        f->source = (uint8_t)source;
}

/* The text of a glob, quoted letters behind a backslash. */
static void append_pattern(struct field *f, const char *pattern, size_t len,
                           enum word_source source)
{
    if (!f->unknown && !f->pattern)
        f->sure = f->len;
    f->pattern = true;
    for (size_t i = 0; i < len; i++) {
        bool quoted = pattern[i] == '\\' && i + 1 < len;
        i += quoted;
        if (!grow(f, 1))
            return;
        f->text[f->len] = pattern[i];
        f->live[f->len++] = (char)!quoted;
    }
    if (f->source < source)
        f->source = (uint8_t)source;
}

static bool is_glob_letter(char c)
{
    return c == '*' || c == '?' || c == '[';
}

/* Where the first live glob begins, or the length. */
static size_t first_glob(const struct field *f)
{
    const char *close = f->len ? memrchr(f->text, ']', f->len) : NULL;
    for (size_t i = 0; i < f->len; i++) {
        if (f->live[i] && is_glob_letter(f->text[i]) && (f->text[i] != '[' || f->text + i < close))
            return i;
    }
    return f->len;
}

static struct fact_word finish_pattern(struct field *f)
{
    struct fact_word word = {
        .state = WORD_PATTERN, .source = f->source ? f->source : SOURCE_FILES, .span = f->span};
    char *text = arena_alloc(f->w->arena, f->len * 2 + 1);
    if (!text) {
        word.state = WORD_UNKNOWN;
        word.text = "";
        return word;
    }
    size_t len = 0;
    for (size_t i = 0; i < f->len; i++) {
        if (!f->live[i] && (is_glob_letter(f->text[i]) || f->text[i] == '\\' || f->text[i] == ']'))
            text[len++] = '\\';
        text[len++] = f->text[i];
    }
    word.text = text;
    word.len = (uint32_t)len;
    word.many = f->many || f->out;
    return word;
}

static void end_word(struct field *f)
{
    struct fact_word word = {.span = f->span, .made = true};
    size_t glob = f->out || f->pattern ? first_glob(f) : f->len;
    if (f->unknown) {
        word.state = WORD_UNKNOWN;
        word.source = f->source;
        word.many = f->many;
        size_t sure = f->sure < glob ? f->sure : glob;
        word.text = arena_copy(f->w->arena, sure ? f->text : "", sure);
        word.len = (uint32_t)sure;
    } else if (f->pattern || glob < f->len) {
        word = finish_pattern(f);
        word.made = true;
        if (f->pattern && !f->many)
            word.many = glob < f->len && !f->pattern;
    } else if (f->len == 0 && !f->quoted) {
        return;
    } else {
        word.state = WORD_KNOWN;
        word.text = arena_copy(f->w->arena, f->len ? f->text : "", f->len);
        word.len = (uint32_t)f->len;
    }
    if (!word.text)
        word = (struct fact_word){.text = "", .span = f->span};
    words_add(f->w, f->out, word);
}

static void next_word(struct field *f)
{
    end_word(f);
    f->len = f->sure = 0;
    f->quoted = f->unknown = f->pattern = f->many = false;
    f->source = SOURCE_NONE;
}

/* Known text without quotes around it: split at blanks, globs live. */
static void append_split(struct field *f, const char *text, size_t len)
{
    if (!f->out) {
        append(f, text, len, false);
        return;
    }
    if (f->w->split_odd) {
        append_unknown(f, SOURCE_SETTINGS, true);
        return;
    }
    for (size_t i = 0; i < len;) {
        size_t from = i;
        while (i < len && !char_in(text[i], " \t\n"))
            i++;
        append(f, text + from, i - from, true);
        if (i == len)
            break;
        while (i < len && char_in(text[i], " \t\n"))
            i++;
        if (f->len || f->quoted || f->unknown || f->pattern)
            next_word(f);
    }
}

static void append_value(struct field *f, const struct value *value, bool quoted)
{
    switch (value->state) {
    case WORD_KNOWN:
        if (quoted)
            append(f, value->text, value->len, false);
        else
            append_split(f, value->text, value->len);
        break;
    case WORD_PATTERN:
        append_pattern(f, value->text, value->len, value->source);
        f->many |= !quoted && f->out;
        break;
    default:
        if (value->len && !f->unknown && !f->pattern)
            append(f, value->text, value->len, false);
        append_unknown(f, value->source, !quoted);
    }
}

/* "$@" and its like: each element a word of its own, joined to what stands around. */
static void append_list(struct field *f, const struct fact_word *words, size_t count, bool quoted,
                        bool starred)
{
    bool apart = f->out && !(quoted && starred);
    if (!apart && count > 1 && f->w->split_odd) {
        append_unknown(f, SOURCE_SETTINGS, false);
        return;
    }
    for (size_t i = 0; words && i < count; i++) {
        if (i) {
            if (apart)
                next_word(f);
            else
                append(f, " ", 1, false);
        }
        const struct value value = {.state = words[i].state,
                                    .source = words[i].source,
                                    .text = words[i].text,
                                    .len = words[i].len};
        append_value(f, &value, quoted);
        f->many |= words[i].many && f->out;
        f->quoted |= quoted;
    }
}

/* The home directory that a ~ at `text` stands for; how many letters it takes, 0 for none. */
static size_t append_tilde(struct field *f, const char *text, size_t len, bool last)
{
    size_t end = 1;
    while (end < len && text[end] != '/' && text[end] != ':')
        end++;
    if (end == len && !last)
        return 0; /* the name goes on in a quoted part: no tilde to bash */
    struct value home = end == 1 ? state_value(f->w, "HOME", 4) : value_unknown(SOURCE_VARIABLE);
    if (end == 2 && text[1] == '+' && f->w->cwd && !f->w->cwd->next) {
        append(f, f->w->cwd->path, strlen(f->w->cwd->path), false);
    } else if (home.state == WORD_KNOWN && end == 1) {
        append(f, home.text, home.len, false);
    } else if (end == 1 || text[1] == '+' || text[1] == '-') {
        append_unknown(f, SOURCE_VARIABLE, false);
    } else {
        append(f, "/home/", 6, false); /* somebody's home, wherever it is */
        append_unknown(f, SOURCE_VARIABLE, false);
    }
    return end;
}

static void append_live(struct field *f, const struct shell_part *part, bool first)
{
    const char *text = part->text.bytes;
    size_t len = part->text.len;
    bool assigns = f->tilde_places;
    size_t from = 0;
    const char *tilde = memchr(text, '~', len);
    if (!tilde) {
        append(f, text, len, true);
        return;
    }
    const char *equals = memchr(text, '=', len);
    if (first && equals && is_name(text, (size_t)(equals - text)))
        assigns = true;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '~')
            continue;
        bool place = i == 0 ? first : assigns && (text[i - 1] == ':' || text[i - 1] == '=');
        if (!place)
            continue;
        append(f, text + from, i - from, true);
        size_t taken =
            append_tilde(f, text + i, len - i, !part->next || part->next->kind == SHELL_PARAM);
        from = i + taken;
        i += taken ? taken - 1 : 0;
    }
    append(f, text + from, len - from, true);
}

static void append_parts(struct field *f, const struct shell_part *parts, bool quoted);

/* $@ or ${x[@]}; with "*" the other form. */
static bool is_list(const struct shell_param *p, const char *sign)
{
    const struct shell_part *sub = p->subscript;
    return text_is(p->name.bytes, p->name.len, sign) ||
           (sub && sub->kind == SHELL_TEXT && text_is(sub->text.bytes, sub->text.len, sign));
}

static bool has_quotes(const struct shell_part *parts)
{
    for (; parts; parts = parts->next) {
        if (parts->kind == SHELL_QUOTED || parts->kind == SHELL_DOUBLE)
            return true;
    }
    return false;
}

static void append_param(struct field *f, const struct shell_part *part, bool quoted)
{
    const struct fact_word *words = NULL;
    size_t count = 0;
    struct value value = param_value(f->w, part->param, quoted, &words, &count);
    const struct shell_param *p = part->param;
    if (words || (value.list && value.state == WORD_KNOWN)) {
        append_list(f, words, count, quoted, is_list(p, "*"));
        return;
    }
    if (value.state != WORD_KNOWN && is_list(p, "@") && f->out) {
        append_unknown(f, value.source, true);
        return;
    }
    /* ${x:-"a b"}: what is quoted there is not split, and what is not is */
    if (!quoted && f->out && value.state == WORD_KNOWN && has_quotes(p->operand))
        append_unknown(f, SOURCE_VARIABLE, true);
    else
        append_value(f, &value, quoted);
}

static void append_output(struct field *f, const struct shell_part *part, bool quoted)
{
    struct stream out = walk_apart(
        f->w, part->list, (struct stream){.none = true, .source = SOURCE_INPUT, .text = ""});
    if (out.state == WORD_KNOWN) {
        size_t len = out.len;
        while (len && out.text[len - 1] == '\n')
            len--;
        if (quoted)
            append(f, out.text, len, false);
        else
            append_split(f, out.text, len);
        return;
    }
    if (out.len) /* how it starts is known */
        append(f, out.text, out.len, false);
    append_unknown(f, out.source ? out.source : SOURCE_OUTPUT, !quoted);
}

static void append_part(struct field *f, const struct shell_part *part, bool first, bool quoted)
{
    switch (part->kind) {
    case SHELL_TEXT:
    case SHELL_QUOTED:
        f->quoted |= part->kind == SHELL_QUOTED;
        if (quoted || part->kind == SHELL_QUOTED)
            append(f, part->text.bytes, part->text.len, false);
        else
            append_live(f, part, first);
        break;
    case SHELL_DOUBLE: {
        /* "$@" alone may be no word at all */
        const struct shell_part *only = part->parts && !part->parts->next ? part->parts : NULL;
        f->quoted |= !only || only->kind != SHELL_PARAM || !is_list(only->param, "@");
        append_parts(f, part->parts, true);
        break;
    }
    case SHELL_PARAM:
        f->made = true;
        append_param(f, part, quoted);
        break;
    case SHELL_COMMAND:
        append_output(f, part, quoted);
        break;
    case SHELL_ARITH:
        arith_check(f->w, part->parts, part->span);
        append_unknown(f, SOURCE_NUMBER, false);
        break;
    case SHELL_PROCESS: {
        struct stream out = walk_apart(
            f->w, part->list, (struct stream){.none = true, .source = SOURCE_INPUT, .text = ""});
        if (!f->unknown && !f->pattern)
            append(f, "/dev/fd/", 8, false);
        append_unknown(f, out.source >= SOURCE_DECODED ? out.source : SOURCE_PROCESS, false);
        break;
    }
    case SHELL_EXTGLOB:
        expand_visit(f->w, part->parts);
        if (f->out)
            append_pattern(f, "*", 1, SOURCE_FILES);
        else
            append_unknown(f, SOURCE_VARIABLE, false);
        break;
    case SHELL_ARRAY:
        for (const struct shell_assignment *a = part->elements; a; a = a->next) {
            expand_visit(f->w, a->subscript);
            expand_visit(f->w, a->value.parts);
        }
        append_unknown(f, SOURCE_LIST, false);
        break;
    }
}

static void append_parts(struct field *f, const struct shell_part *parts, bool quoted)
{
    bool first = f->len == 0 && !f->quoted && !f->unknown && !f->pattern;
    for (const struct shell_part *part = parts; part; part = part->next) {
        append_part(f, part, first, quoted);
        first = false;
    }
}

/* --- from outside ----------------------------------------------------------------------------- */

/* The common word: letters alone, nothing live in them. */
static bool is_simple(const struct shell_word *word)
{
    const struct shell_part *part = word->parts;
    if (!part || part->next || part->kind > SHELL_QUOTED)
        return false;
    if (part->kind == SHELL_QUOTED)
        return true;
    for (uint32_t i = 0; i < part->text.len; i++) {
        switch (part->text.bytes[i]) {
        case '*':
        case '?':
        case '[':
        case '{':
        case '~':
            return false;
        default:
            break;
        }
    }
    return true;
}

/* $x$: bash does not split a word that ends in a bare $. */
static bool ends_in_dollar(const struct shell_part *parts)
{
    for (const struct shell_part *part = parts; part; part = part->next) {
        if (part != parts && !part->next &&
            (part->kind == SHELL_TEXT || part->kind == SHELL_QUOTED) && part->text.len)
            return part->text.bytes[part->text.len - 1] == '$';
    }
    return false;
}

struct expansion {
    struct words *out;
    struct shell_span span;
};

static void expand_parts(struct walk *w, const struct shell_part *parts, void *user)
{
    const struct expansion *e = user;
    struct field f = {.w = w, .out = e->out, .span = e->span};
    append_parts(&f, parts, false);
    end_word(&f);
}

void expand_word(struct walk *w, const struct shell_word *word, struct words *out)
{
    struct shell_span span = span_of(w, word->span);
    if (is_simple(word)) {
        const struct shell_text *text = &word->parts->text;
        const char *copy = arena_copy(w->arena, text->bytes, text->len);
        words_add(w, out,
                  (struct fact_word){.text = copy ? copy : "",
                                     .len = copy ? text->len : 0,
                                     .state = copy ? WORD_KNOWN : WORD_UNKNOWN,
                                     .span = span});
        return;
    }
    struct expansion e = {.out = out, .span = span};
    if (ends_in_dollar(word->parts) || brace_has(word)) {
        if (ends_in_dollar(word->parts) || brace_joins(word)) {
            expand_visit(w, word->parts);
            words_add(w, out,
                      (struct fact_word){
                          .text = "", .source = SOURCE_VARIABLE, .many = true, .span = span});
        } else if (!brace_expand(w, word, expand_parts, &e)) {
            finding_add(w, FINDING_BOUND, "braces", "make too many words", span);
            expand_visit(w, word->parts);
            words_add(w, out,
                      (struct fact_word){
                          .text = "", .source = SOURCE_TOO_MUCH, .many = true, .span = span});
        }
        return;
    }
    expand_parts(w, word->parts, &e);
}

void expand_words(struct walk *w, const struct shell_word *list, struct words *out)
{
    for (; list; list = list->next)
        expand_word(w, list, out);
}

static struct value expand_whole(struct walk *w, const struct shell_part *parts, bool tilde)
{
    if (!parts)
        return value_known("", 0);
    if (!parts->next && parts->kind == SHELL_QUOTED) {
        const char *copy = arena_copy(w->arena, parts->text.bytes, parts->text.len);
        return copy ? value_known(copy, parts->text.len) : value_unknown(SOURCE_TOO_MUCH);
    }
    struct field f = {.w = w, .tilde_places = tilde};
    append_parts(&f, parts, false);
    if (f.unknown) {
        struct value value = value_unknown(f.source);
        value.len = (uint32_t)f.sure;
        const char *copy = arena_copy(w->arena, f.sure ? f.text : "", f.sure);
        value.text = copy ? copy : "";
        value.len = copy ? value.len : 0;
        return value;
    }
    if (f.pattern) {
        struct fact_word word = finish_pattern(&f);
        return (struct value){.state = word.state,
                              .source = word.source,
                              .set = true,
                              .text = word.text,
                              .len = word.len};
    }
    const char *copy = arena_copy(w->arena, f.len ? f.text : "", f.len);
    return copy ? value_known(copy, f.len) : value_unknown(SOURCE_TOO_MUCH);
}

struct value expand_value(struct walk *w, const struct shell_part *parts)
{
    return expand_whole(w, parts, true);
}

struct fact_word expand_one(struct walk *w, const struct shell_word *word)
{
    struct value value = expand_whole(w, word->parts, false);
    return (struct fact_word){.text = value.text,
                              .len = value.len,
                              .state = value.state,
                              .source = value.source,
                              .span = span_of(w, word->span)};
}

void expand_visit(struct walk *w, const struct shell_part *parts)
{
    if (parts)
        (void)expand_whole(w, parts, false);
}
