/* The roles of words: what a value or an operand means; see knowledge.h. */
#include "facts/roles.h"

#include <string.h>
#include <strings.h>

#include "facts/lang.h"
#include "facts/special.h"

struct fact_word word_from(const struct fact_word *word, size_t skip)
{
    struct fact_word part = *word;
    part.text += skip;
    part.len -= (uint32_t)skip;
    part.many = false;
    return part;
}

/* Nothing is known about the word: it may be a path. */
void use_loose(struct reading *r, const struct fact_word *word)
{
    struct fact_word path = *word;
    const char *equals = path.len && path.text[0] == '-' ? memchr(path.text, '=', path.len) : NULL;
    if (equals)
        path = word_from(&path, (size_t)(equals - path.text) + 1);
    else if (path.len && path.text[0] == '-')
        return;
    if (path.state != WORD_KNOWN || path.len == 0 || path.len > 1024 ||
        memchr(path.text, '\n', path.len) || memchr(path.text, ' ', path.len))
        return;
    struct fact_path *paths = path_make(r->w, r->base, &path, PATH_READ);
    for (struct fact_path *p = paths; p; p = p->next)
        p->loose = true;
    act_paths(r->act, paths);
}

static void use_path(struct reading *r, const struct fact_word *word, unsigned mode)
{
    if (word_is(word, "-") || (word->state == WORD_KNOWN && word->len == 0))
        return;
    if (word->len && word->text[0] == '+' && special_is_pager(r->act->name)) {
        finding_add(r->w, FINDING_OPTION, word->text, "is a command for the pager", word->span);
        return;
    }
    act_paths(r->act, path_make(r->w, r->base, word, mode));
    if (mode & PATH_WRITE)
        r->w->writes = true;
    /* git's REVISION:PATH */
    const char *colon = name_is(r->act->name, "git") ? memchr(word->text, ':', word->len) : NULL;
    if (colon && colon > word->text && colon[1]) {
        struct fact_word inside = word_from(word, (size_t)(colon - word->text) + 1);
        act_paths(r->act, path_make(r->w, r->base, &inside, mode));
    }
}

/* Names of what flows in. */
static bool is_stdin(const struct fact_word *word)
{
    return word_is(word, "-") || word_is(word, "/dev/stdin") || word_is(word, "/dev/fd/0") ||
           word_is(word, "/proc/self/fd/0");
}

/* Text of another language, or a file with it, that was decoded or downloaded. */
static void check_code(struct reading *r, const struct fact_word *word)
{
    r->code_given = true;
    /* awk -f, sed -f: to run what is not in the text is not what they are for. */
    enum knowledge_kind kind = r->act->known->kind;
    if (kind != KIND_SHELL && kind != KIND_INTERPRETER && !(r->act->effects & EFFECT_RUNS))
        finding_add(r->w, FINDING_CODE, r->act->name, "runs a program that is not in the text",
                    word->span);
    r->act->effects |= EFFECT_RUNS;
    if (word->state == WORD_KNOWN)
        return;
    if (word->source == SOURCE_DECODED)
        finding_add(r->w, FINDING_DECODED, r->act->name, "runs decoded text", word->span);
    if (word->source == SOURCE_DOWNLOADED)
        finding_add(r->w, FINDING_DOWNLOAD, r->act->name, "runs downloaded text", word->span);
}

void use_stdin_as_code(struct reading *r)
{
    struct fact_word word = {.text = "",
                             .state = r->in.state,
                             .source = r->in.none ? SOURCE_INPUT : r->in.source,
                             .span = r->act->span};
    check_code(r, &word);
}

static void use_file_of_code(struct reading *r, const struct fact_word *word)
{
    if (is_stdin(word)) {
        use_stdin_as_code(r);
        return;
    }
    use_path(r, word, PATH_READ | PATH_RUN);
    check_code(r, word);
}

static void lang_use(void *user, enum lang_use use, const char *text, size_t len, size_t offset)
{
    struct reading *r = user;
    (void)offset;
    struct walk *w = r->w;
    struct fact_word word = {.text = "", .source = SOURCE_INPUT, .span = r->act->span};
    const char *copy = text ? arena_copy(w->arena, text, len) : NULL;
    if (copy)
        word = (struct fact_word){
            .text = copy, .len = (uint32_t)len, .state = WORD_KNOWN, .span = r->act->span};
    static const char *const streams[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    for (size_t i = 0; copy && i < 3; i++) {
        if (use != LANG_SHELL && name_is(copy, streams[i]))
            return;
    }
    switch (use) {
    case LANG_SHELL:
        if (copy)
            inner_text(w, &word, DIALECT_SH, true);
        else
            finding_add(w, FINDING_CODE, r->act->name, "runs a command that its input makes",
                        r->act->span);
        break;
    case LANG_READ:
        if (copy)
            use_path(r, &word, PATH_READ);
        else
            r->reads_unknown = true;
        break;
    case LANG_WRITE:
        use_path(r, &word, PATH_WRITE);
        break;
    case LANG_UNKNOWN_CODE:
        finding_add(w, FINDING_CODE, r->act->name, "is given a program that cannot be read",
                    r->act->span);
        break;
    }
}

/* Any constant of an awk program may be the name of the file that it reads. */
static void use_constants(struct reading *r, const struct fact_word *program)
{
    const char *at = program->text;
    for (const char *open; (open = strchr(at, '"'));) {
        const char *close = strchr(open + 1, '"');
        if (!close)
            return;
        const char *copy = arena_copy(r->w->arena, open + 1, (size_t)(close - open - 1));
        struct fact_word constant = {.text = copy ? copy : "",
                                     .len = copy ? (uint32_t)(close - open - 1) : 0,
                                     .state = WORD_KNOWN,
                                     .span = program->span};
        use_loose(r, &constant);
        at = close + 1;
    }
}

static void use_language(struct reading *r, const struct fact_word *word, enum role role)
{
    r->code_given = true;
    if (word->state != WORD_KNOWN) {
        /* sed -n "${n}p": any number stands for those that it may be */
        struct fact_word filled = special_fill_numbers(r->w, word);
        if (filled.state == WORD_KNOWN) {
            use_language(r, &filled, role);
            return;
        }
        finding_add(r->w, FINDING_CODE, r->act->name, "is given a program that is not known here",
                    word->span);
        return;
    }
    if (role == ROLE_SED)
        words_add(r->w, &r->scripts, *word);
    else
        lang_awk(word->text, word->len, lang_use, r);
    if (r->reads_unknown)
        use_constants(r, word);
}

/* All scripts of a sed, a line each. */
void use_scripts(struct reading *r)
{
    size_t len = 0;
    for (size_t i = 0; i < r->scripts.count; i++)
        len += r->scripts.items[i].len + 1;
    char *script = len ? arena_alloc(r->w->arena, len + 1) : NULL;
    if (!script)
        return;
    len = 0;
    for (size_t i = 0; i < r->scripts.count; i++) {
        if (i)
            script[len++] = '\n';
        memcpy(script + len, r->scripts.items[i].text, r->scripts.items[i].len);
        len += r->scripts.items[i].len;
    }
    lang_sed(script, len, false, lang_use, r);
}

/* NAME=VALUE into the environment of what runs. */
static void use_variable(struct reading *r, const struct fact_word *word)
{
    const char *equals = word->len ? memchr(word->text, '=', word->len) : NULL;
    if (!equals) {
        if (word->state != WORD_KNOWN)
            finding_add(r->w, FINDING_VARIABLE, "a variable", "whose name is not known is set",
                        word->span);
        return;
    }
    size_t len = (size_t)(equals - word->text);
    struct value value = {.state = word->state,
                          .source = word->source,
                          .set = true,
                          .text = equals + 1,
                          .len = (uint32_t)(word->len - len - 1)};
    const struct fact_word self = r->act->words[0];
    variable_check(r->w, word->text, len, &value, word->span, &self);
    const char *name = arena_copy(r->w->arena, word->text, len);
    if (name) /* what runs with it may look at it */
        state_forget(r->w, name, len, SOURCE_VARIABLE);
}

/* KEY=VALUE of the command's own configuration. */
static void use_setting(struct reading *r, const struct fact_word *word)
{
    const char *equals = word->len ? memchr(word->text, '=', word->len) : NULL;
    size_t len = equals ? (size_t)(equals - word->text) : word->len;
    const struct knowledge_setting *known = word->state == WORD_KNOWN || equals
                                                ? knowledge_setting(r->act->known, word->text, len)
                                                : NULL;
    const char *name = arena_copy(r->w->arena, word->text, len);
    /* what is run is judged by itself; an alias without ! is another command of its own */
    bool alias = name && strncasecmp(name, "alias.", 6) == 0 && !(equals && equals[1] == '!');
    bool runs =
        known && (known->role == ROLE_SHELL || known->role == ROLE_PROGRAM) && equals && !alias;
    if (!known || ((known->flags & MARK_ASK) && !runs)) {
        finding_add(r->w, FINDING_OPTION, name ? name : "a setting",
                    "is set for this command, and may make it run something", word->span);
        return;
    }
    if (known->role == ROLE_TEXT || !equals)
        return;
    struct fact_word value = *word;
    value.text = equals + 1;
    value.len = (uint32_t)(word->len - len - 1);
    if (value.state == WORD_KNOWN && value.len == 0)
        return;
    if (value.state == WORD_KNOWN && value.text[0] == '!') { /* git: a shell's text */
        value.text++;
        value.len--;
    }
    use_role(r, &value, known->role);
}

/* An address, or a plain file. */
static void use_url(struct reading *r, const struct fact_word *word)
{
    if (word->state != WORD_KNOWN) {
        r->act->effects |= EFFECT_NETWORK;
        return;
    }
    const char *colon = memchr(word->text, ':', word->len);
    const char *slash = memchr(word->text, '/', word->len);
    bool file = strncmp(word->text, "file:", 5) == 0;
    if (file || !colon || (slash && slash < colon)) {
        struct fact_word path = *word;
        size_t skip = file ? strncmp(word->text, "file://", 7) == 0 ? 7 : 5 : 0;
        path.text += skip;
        path.len -= (uint32_t)skip;
        use_path(r, &path, PATH_READ);
        return;
    }
    r->act->effects |= EFFECT_NETWORK;
}

/* tar's actions: exec=COMMAND runs, the others only talk. */
static struct fact_word without_action(const struct fact_word *word, bool *runs)
{
    static const char *const actions[] = {"dot",  ".",     "echo",   "ttyout",
                                          "bell", "sleep", "totals", "wait"};
    struct fact_word text = *word;
    *runs = true;
    if (word->state == WORD_KNOWN && strncmp(word->text, "exec=", 5) == 0) {
        text.text += 5;
        text.len -= 5;
        return text;
    }
    for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
        size_t len = strlen(actions[i]);
        if (strncmp(word->text, actions[i], len) == 0 &&
            (word->text[len] == '\0' || word->text[len] == '='))
            *runs = false;
    }
    return text;
}

void use_role(struct reading *r, const struct fact_word *word, enum role role)
{
    struct walk *w = r->w;
    switch (role) {
    case ROLE_FLAG:
    case ROLE_TEXT:
    case ROLE_ARGV:
    case ROLE_COUNT:
        break;
    case ROLE_READ:
        use_path(r, word, r->writes ? PATH_READ | PATH_WRITE : PATH_READ);
        break;
    case ROLE_WRITE:
        use_path(r, word, PATH_WRITE);
        break;
    case ROLE_DELETE:
        use_path(r, word, PATH_DELETE);
        break;
    case ROLE_MOVE:
        use_path(r, word, PATH_READ | PATH_DELETE);
        break;
    case ROLE_ENTER:
        act_paths(r->act,
                  path_make(w, r->base, word,
                            special_unpacks(r->act) ? PATH_ENTER | PATH_WRITE : PATH_ENTER));
        special_enter(w, r->act, word, r->base);
        r->base = path_enter(w, r->base, word);
        break;
    case ROLE_SHELL:
    case ROLE_BASH: {
        bool runs = true;
        struct fact_word text = *word;
        if (name_is(r->act->name, "tar"))
            text = without_action(word, &runs);
        if (runs)
            inner_text(w, &text, role == ROLE_BASH ? DIALECT_BASH : DIALECT_SH, true);
        r->code_given = true;
        break;
    }
    case ROLE_EVAL:
        inner_later(w, word);
        break;
    case ROLE_SOURCE:
    case ROLE_SCRIPT:
        r->code_given = true;
        if (is_stdin(word)) {
            inner_stream(w, &r->in, DIALECT_BASH, r->act->span);
            break;
        }
        use_file_of_code(r, word);
        w->blind |= role == ROLE_SOURCE;
        break;
    case ROLE_PROGRAM:
    case ROLE_WORDS:
        r->code_given = true;
        inner_words(w, word);
        break;
    case ROLE_CODE:
        check_code(r, word);
        break;
    case ROLE_CODE_FILE:
        use_file_of_code(r, word);
        break;
    case ROLE_SED:
    case ROLE_AWK:
        use_language(r, word, role);
        break;
    case ROLE_HOST:
        r->act->effects |= EFFECT_NETWORK;
        break;
    case ROLE_URL:
        use_url(r, word);
        break;
    case ROLE_VARIABLE:
        use_variable(r, word);
        break;
    case ROLE_NAME:
        arith_check_name(w, word, SOURCE_INPUT);
        break;
    case ROLE_SETTING:
        use_setting(r, word);
        break;
    }
}
