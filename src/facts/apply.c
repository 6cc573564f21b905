/*
 * What the knowledge says about the words of an act: which are options, which are their values,
 * which are operands; and from their roles the files, the effects and the acts within the act.
 */
#include "facts/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "facts/lang.h"
#include "facts/special.h"

/* One reading of an act's words. */
struct reading {
    struct walk *w;
    struct act *act;
    const struct knowledge *command; /* whose options count: the command, or its subcommand */
    const struct knowledge *outer;   /* whose options count besides; NULL */
    const struct place *base;        /* what paths are relative to */
    struct stream in;
    struct words operands;
    struct words options, asked; /* main spellings */
    bool instead, last;          /* an option stands for the first, the last operand */
    bool code_given;             /* an option or operand has what is to be run */
    bool rest;                   /* the words behind are plain data */
    bool reads_unknown;          /* awk: a file whose name is put together */
    bool writes;                 /* an option makes it write what it would read: sed -i */
    const struct knowledge_option *removal;
    struct words scripts;    /* sed: several -e are one script */
    struct fact_word target; /* cp -t */
};

static void use_role(struct reading *r, const struct fact_word *word, enum role role);

static void note(struct reading *r, struct words *list, const char *text)
{
    words_add(r->w, list, (struct fact_word){.text = text, .state = WORD_KNOWN});
}

static struct fact_word part_of(const struct fact_word *word, size_t skip)
{
    struct fact_word part = *word;
    part.text += skip;
    part.len -= (uint32_t)skip;
    part.many = false;
    return part;
}

/* --- roles --------------------------------------------------------------------------------------
 */

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
    const char *colon =
        strcmp(r->act->name, "git") == 0 ? memchr(word->text, ':', word->len) : NULL;
    if (colon && colon > word->text && colon[1]) {
        struct fact_word inside = part_of(word, (size_t)(colon - word->text) + 1);
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

static void check_code_stream(struct reading *r)
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
        check_code_stream(r);
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
        if (use != LANG_SHELL && strcmp(copy, streams[i]) == 0)
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

static void use_loose(struct reading *r, const struct fact_word *word);

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
static void use_scripts(struct reading *r)
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

static void use_role(struct reading *r, const struct fact_word *word, enum role role)
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
        if (strcmp(r->act->name, "tar") == 0)
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

/* --- options ------------------------------------------------------------------------------------
 */

static void met_option(struct reading *r, const struct knowledge_option *option)
{
    note(r, &r->options, option->same);
    if (option->flags & MARK_ASK)
        note(r, &r->asked, option->same);
    r->act->effects |= option->effects;
    r->instead |= (option->flags & MARK_INSTEAD) != 0;
    r->last |= (option->flags & MARK_LAST) != 0;
    r->rest |= (option->flags & MARK_REST) != 0;
    r->writes |= (option->flags & MARK_ASK) && (option->effects & EFFECT_WRITES) &&
                 (option->role == ROLE_FLAG || (option->flags & MARK_OPTIONAL));
    if (option->as)
        r->removal = option;
}

static const struct knowledge_option *find_option(const struct reading *r, const char *name,
                                                  size_t len)
{
    const struct knowledge_option *option = knowledge_option(r->command, name, len);
    if (!option && r->outer)
        option = knowledge_option(r->outer, name, len);
    return option;
}

/* A word that may be none, or several: what looks like the command may be another word. */
static void check_vanishes(struct reading *r, const struct fact_word *word)
{
    if (word->many)
        finding_add(r->w, FINDING_OPTION, r->act->name,
                    "gets a word that may vanish, and then runs another command; quote it",
                    word->span);
}

/* find -exec COMMAND … ; with the files it finds in place of {}. */
static size_t use_until(struct reading *r, size_t i)
{
    size_t end = i;
    while (
        end < r->act->word_count && !word_is(&r->act->words[end], ";") &&
        !(word_is(&r->act->words[end], "+") && end > i && word_is(&r->act->words[end - 1], "{}")))
        end++;
    const struct place *cwd = r->w->cwd;
    const char *option = r->act->words[i - 1].text;
    if (strstr(option, "dir")) /* -execdir: where the file is */
        r->w->cwd = NULL;
    special_found_files(r->w, r->act, r->act->words + i, end - i, r->in);
    r->w->cwd = cwd;
    return end + 1;
}

/* The value of an option at `i`; where the words go on. */
static size_t use_value(struct reading *r, const struct knowledge_option *option,
                        const struct fact_word *attached, size_t i)
{
    if (option->role == ROLE_FLAG || (!attached && (option->flags & MARK_OPTIONAL)))
        return i;
    if (option->role == ROLE_ARGV && (option->flags & MARK_UNTIL))
        return use_until(r, i);
    if (option->role == ROLE_ARGV) {
        struct act *inner = NULL;
        const struct place *cwd = r->w->cwd;
        r->w->cwd = r->base;
        special_run(r->w, r->act->words + i, r->act->word_count - i, r->act->span, r->in, &inner);
        r->w->cwd = cwd;
        return r->act->word_count;
    }
    if (option->flags & MARK_LAST)
        r->target = attached ? *attached : i < r->act->word_count ? r->act->words[i] : r->target;
    if (attached) {
        use_role(r, attached, option->role);
        return i;
    }
    if (option->flags & MARK_PAIR)
        i++;
    if (i < r->act->word_count && r->act->known->kind == KIND_WRAPPER)
        check_vanishes(r, &r->act->words[i]);
    if (i < r->act->word_count)
        use_role(r, &r->act->words[i], option->role);
    return i + 1;
}

/* Of a command that runs another: its value may be what looks like the command. */
static void unknown_option(struct reading *r, const struct fact_word *word)
{
    if (r->command->subcommand_count && !r->act->sub && !memchr(word->text, '=', word->len))
        r->act->flags |= ACT_UNCLEAR;
    bool digits = is_number(word->text + 1, word->len - 1); /* nice -5 */
    if (r->act->known->kind == KIND_WRAPPER && !digits)
        finding_add(r->w, FINDING_OPTION, r->act->name, "has an option that is not known",
                    word->span);
}

/* --name, --name=VALUE, -name; of a word that is not wholly known the name at least. */
static size_t long_option(struct reading *r, size_t i)
{
    const struct fact_word *word = &r->act->words[i];
    const char *equals = memchr(word->text, '=', word->len);
    size_t len = equals ? (size_t)(equals - word->text) : word->len;
    const struct knowledge_option *option = find_option(r, word->text, len);
    if (!option) {
        unknown_option(r, word);
        return i + 1;
    }
    met_option(r, option);
    struct fact_word value = equals ? part_of(word, len + 1) : (struct fact_word){0};
    return use_value(r, option, equals ? &value : NULL, i + 1);
}

/* -abc, -oVALUE. */
static size_t short_options(struct reading *r, size_t i, size_t from)
{
    const struct fact_word *word = &r->act->words[i];
    size_t next = i + 1;
    for (size_t k = from; k < word->len; k++) {
        char name[3] = {'-', word->text[k], '\0'};
        const struct knowledge_option *option = find_option(r, name, 2);
        if (!option) {
            unknown_option(r, word);
            continue;
        }
        met_option(r, option);
        if (option->role == ROLE_FLAG)
            continue;
        if (from == 0) { /* tar cf: the values follow in order */
            next = use_value(r, option, NULL, next);
            continue;
        }
        struct fact_word value = part_of(word, k + 1);
        if (value.len && value.text[0] == '=' && (option->flags & MARK_OPTIONAL))
            value = part_of(word, k + 2);
        return use_value(r, option, value.len || word->state != WORD_KNOWN ? &value : NULL, next);
    }
    return next;
}

/* Whether the command has options that run something, write, or change what it is for. */
static bool has_sharp_options(const struct knowledge *command)
{
    for (size_t i = 0; command && i < command->option_count; i++) {
        const struct knowledge_option *o = &command->options[i];
        switch (o->role) {
        case ROLE_WRITE:
        case ROLE_DELETE:
        case ROLE_SHELL:
        case ROLE_BASH:
        case ROLE_EVAL:
        case ROLE_PROGRAM:
        case ROLE_WORDS:
        case ROLE_ARGV:
        case ROLE_CODE:
        case ROLE_CODE_FILE:
        case ROLE_SED:
        case ROLE_AWK:
        case ROLE_SETTING:
            return true;
        default:
            if (o->as || (o->flags & MARK_ASK) || (o->effects & ~(unsigned)(EFFECT_READS)))
                return true;
        }
    }
    return false;
}

/* A word that is not known may turn out to be an option. */
static void check_hidden_option(struct reading *r, const struct fact_word *word)
{
    if (!has_sharp_options(r->command) && !has_sharp_options(r->outer))
        return;
    bool dash = word->len && (word->text[0] == '-' ||
                              (word->state == WORD_PATTERN && char_in(word->text[0], "[?")));
    bool open = word->len == 0 && word->state == WORD_UNKNOWN && word->source > SOURCE_FILES;
    /* -n"$x" has its letters before; only the value is unknown */
    if (dash && word->state == WORD_UNKNOWN && word->len >= 2 && !word->many) {
        bool is_long = word->text[1] == '-' || (r->command->flags & KNOWN_SINGLE);
        if (is_long ? memchr(word->text, '=', word->len) != NULL : true)
            return;
    }
    if (dash || open)
        finding_add(r->w, FINDING_OPTION, r->act->name,
                    "gets a word that is not known here and may be an option; put -- before it",
                    word->span);
}

static bool is_option_word(const struct reading *r, const struct fact_word *word)
{
    if (r->command->flags & KNOWN_NO_OPTIONS)
        return false;
    if (word->state == WORD_PATTERN)
        return false;
    return word->len > 1 &&
           (word->text[0] == '-' || ((r->command->flags & KNOWN_SWITCHES) && word->text[0] == '/'));
}

/* cipher /w:C */
static size_t switch_option(struct reading *r, size_t i)
{
    const struct fact_word *word = &r->act->words[i];
    size_t len = 1;
    while (len < word->len && (isalnum((unsigned char)word->text[len]) || word->text[len] == '-'))
        len++;
    char name[32];
    if (len >= sizeof(name))
        return i + 1;
    for (size_t k = 0; k < len; k++)
        name[k] = (char)tolower((unsigned char)word->text[k]);
    const struct knowledge_option *option = find_option(r, name, len);
    if (!option)
        return i + 1;
    met_option(r, option);
    struct fact_word value = part_of(word, len + (len < word->len));
    return use_value(r, option, value.len ? &value : NULL, i + 1);
}

static size_t use_option(struct reading *r, size_t i)
{
    const struct fact_word *word = &r->act->words[i];
    if (word->text[0] == '/')
        return switch_option(r, i);
    if (word->state == WORD_UNKNOWN)
        check_hidden_option(r, word);
    if (r->command->flags & KNOWN_SINGLE || word->text[1] == '-')
        return long_option(r, i);
    /* A few commands have a long option with one dash among their short ones. */
    const struct knowledge_option *whole = NULL;
    for (size_t k = 0; word->len > 2 && k < r->command->option_count && !whole; k++) {
        if (strcmp(r->command->options[k].name, word->text) == 0)
            whole = &r->command->options[k];
    }
    if (whole) {
        met_option(r, whole);
        return use_value(r, whole, NULL, i + 1);
    }
    return short_options(r, i, 1);
}

/* --- operands -----------------------------------------------------------------------------------
 */

/* Nothing is known about the word: it may be a path. */
static void use_loose(struct reading *r, const struct fact_word *word)
{
    struct fact_word path = *word;
    const char *equals = path.len && path.text[0] == '-' ? memchr(path.text, '=', path.len) : NULL;
    if (equals)
        path = part_of(&path, (size_t)(equals - path.text) + 1);
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

/* The role of operand `i` of `count`, by the command's list. */
static const struct knowledge_operand *operand_role(const struct reading *r, size_t i, size_t count)
{
    const struct knowledge *k = r->command;
    size_t first = r->instead && k->operand_count ? 1 : 0;
    size_t end = k->operand_count - (r->last && k->operand_count > first ? 1 : 0);
    if (first >= end)
        return NULL;
    size_t roles = end - first;
    const struct knowledge_operand *list = k->operands + first;
    for (size_t k2 = 0; k2 < roles; k2++) {
        if (!list[k2].repeat)
            continue;
        size_t behind = roles - k2 - 1;
        if (i < k2)
            return &list[i];
        if (behind && i + behind >= count && count > behind + k2)
            return &list[roles - (count - i)];
        return &list[k2];
    }
    return i < roles ? &list[i] : list[roles - 1].role == ROLE_ARGV ? &list[roles - 1] : NULL;
}

static bool is_assignment(const struct fact_word *word)
{
    const char *equals = word->len ? memchr(word->text, '=', word->len) : NULL;
    return equals && is_name(word->text, (size_t)(equals - word->text));
}

static void use_operands(struct reading *r)
{
    const struct words *all = &r->operands;
    size_t skip = 0;
    if (!all->count)
        return;
    if (r->command->flags & KNOWN_ASSIGNMENTS) {
        enum role role = r->act->known->setting_count ? ROLE_SETTING : ROLE_VARIABLE;
        bool anywhere = role == ROLE_SETTING;
        while (skip < all->count && is_assignment(&all->items[skip]))
            use_role(r, &all->items[skip++], role);
        for (size_t i = skip; anywhere && i < all->count; i++) {
            if (is_assignment(&all->items[i]))
                use_role(r, &all->items[i], role);
        }
    }
    size_t count = all->count - skip;
    const struct fact_word *words = all->items + skip;
    const struct place *base = r->base;
    bool links = strcmp(r->act->name, "ln") == 0 && count > 1;
    if (links) /* what they point to is relative to where the link is */
        r->base = special_link_base(r->w, r->act, &words[count - 1], base);
    for (size_t i = 0; i < count; i++) {
        if (r->rest && r->instead) /* bash -c TEXT NAME ARGS */
            break;
        const struct knowledge_operand *operand = operand_role(r, i, count);
        if (links && i + 1 == count)
            r->base = base;
        if (!operand) {
            use_loose(r, &words[i]);
            continue;
        }
        if (operand->flags & MARK_ASK)
            note(r, &r->asked, words[i].text);
        if (r->act->known->kind == KIND_WRAPPER && operand->role != ROLE_ARGV)
            check_vanishes(r, &words[i]);
        if (operand->role == ROLE_ARGV) {
            r->code_given = true;
            const struct place *cwd = r->w->cwd;
            r->w->cwd = r->base; /* env -C */
            special_argv(r->w, r->act, words + i, count - i, r->in);
            r->w->cwd = cwd;
            break;
        }
        /* words that are joined to one text; hyperfine's are texts each */
        if (operand->role == ROLE_EVAL || (operand->role == ROLE_SHELL && operand->repeat &&
                                           strcmp(r->act->name, "hyperfine") != 0)) {
            size_t joined = operand->repeat ? count - i : 1;
            struct fact_word text = special_join(r->w, words + i, joined);
            if (operand->role == ROLE_EVAL && strcmp(r->act->name, "eval") == 0) {
                if (text.state == WORD_KNOWN)
                    r->act->flags |= ACT_TRANSPARENT;
                inner_text(r->w, &text, DIALECT_BASH, false);
            } else {
                use_role(r, &text, operand->role);
            }
            i += joined - 1;
            continue;
        }
        use_role(r, &words[i], operand->role);
    }
}

/* cp FILE… DIRECTORY: what is written is in there, by the name that each file has. */
static void use_directory_target(struct reading *r)
{
    const struct words *all = &r->operands;
    size_t roles = r->command->operand_count;
    bool copies =
        roles > 1 && r->command->operands[roles - 1].role == ROLE_WRITE &&
        (r->command->operands[0].role == ROLE_READ || r->command->operands[0].role == ROLE_MOVE);
    if (!copies || all->count == 0 || (!r->target.len && all->count < 2))
        return;
    const struct fact_word *target = r->target.len ? &r->target : &all->items[all->count - 1];
    size_t sources = r->target.len ? all->count : all->count - 1;
    for (size_t i = 0; i < sources && target->state == WORD_KNOWN; i++) {
        const struct fact_word *source = &all->items[i];
        size_t len = source->len;
        while (len && source->text[len - 1] == '/')
            len--;
        const char *slash = len ? memrchr(source->text, '/', len) : NULL;
        const char *name = slash ? slash + 1 : source->text;
        char *path = arena_format(r->w->arena, "%s/%.*s", target->text,
                                  (int)(source->text + len - name), name);
        if (!path || source->state == WORD_UNKNOWN)
            continue;
        struct fact_word inside = *source;
        inside.text = path;
        inside.len = (uint32_t)strlen(path);
        act_paths(r->act, path_make(r->w, r->base, &inside, PATH_WRITE));
    }
}

/* --- all of it ----------------------------------------------------------------------------------
 */

static const char *const *names_of(struct walk *w, const struct words *words)
{
    const char **names =
        words->count ? arena_alloc_array(w->arena, words->count, sizeof(*names)) : NULL;
    for (size_t i = 0; names && i < words->count; i++)
        names[i] = words->items[i].text;
    return names;
}

/* The word is the subcommand, or would be. */
static void enter_subcommand(struct reading *r, size_t i)
{
    const struct fact_word *word = &r->act->words[i];
    r->act->first_operand = i;
    if (word->state != WORD_KNOWN) {
        finding_add(r->w, FINDING_OPTION, r->act->name, "gets a subcommand that is not known here",
                    word->span);
        return;
    }
    const struct knowledge *sub = knowledge_subcommand(r->command, word->text, word->len);
    if (!sub)
        return;
    r->outer = r->act->known->flags & KNOWN_PERSISTENT ? r->act->known : NULL;
    r->command = sub;
    r->act->sub = sub;
    r->act->effects |= sub->effects;
}

static void read_words(struct reading *r)
{
    struct act *act = r->act;
    bool options_over = false, named = false;
    size_t i = 1;
    if ((r->command->flags & KNOWN_NO_DASH) && act->word_count > 1 &&
        act->words[1].state == WORD_KNOWN && act->words[1].text[0] != '-')
        i = short_options(r, 1, 0);
    while (i < act->word_count) {
        const struct fact_word *word = &act->words[i];
        if (!options_over && word_is(word, "--") && !(r->command->flags & KNOWN_NO_OPTIONS)) {
            options_over = true;
            i++;
            continue;
        }
        if (!options_over && is_option_word(r, word)) {
            i = use_option(r, i);
            options_over |= r->rest;
            continue;
        }
        if (!options_over && word->state != WORD_KNOWN)
            check_hidden_option(r, word);
        if (r->command->subcommand_count && !(named && !r->act->sub)) {
            bool deeper = r->act->sub != NULL;
            const struct knowledge *before = r->command;
            size_t first = act->first_operand;
            if (!deeper || knowledge_subcommand(before, word->text, word->len)) {
                enter_subcommand(r, i);
                if (deeper) { /* git remote add: the first one names it */
                    act->second_name = i;
                    act->first_operand = first;
                }
                named = true;
                if (r->command != before) {
                    i++;
                    options_over = false;
                    continue;
                }
            }
        }
        if (act->first_operand > i)
            act->first_operand = i;
        words_add(r->w, &r->operands, *word);
        options_over |= (r->command->flags & KNOWN_FIRST) != 0;
        i++;
    }
}

/* Without anything else to run, some run what flows in. */
static void use_stdin(struct reading *r)
{
    if (!(r->act->known->flags & KNOWN_STDIN_CODE) || r->code_given || r->operands.count)
        return;
    check_code_stream(r);
}

/* -j$(nproc): which option it is does not depend on the number. */
static void fill_options(struct walk *w, struct act *act)
{
    struct fact_word *copy = NULL;
    for (size_t i = 1; i < act->word_count; i++) {
        if (act->words[i].state != WORD_PATTERN || act->words[i].source != SOURCE_NUMBER ||
            act->words[i].text[0] != '-')
            continue;
        if (!copy) {
            copy = arena_alloc_array(w->arena, act->word_count, sizeof(*copy));
            if (!copy)
                return;
            memcpy(copy, act->words, act->word_count * sizeof(*copy));
            act->words = copy;
        }
        copy[i] = special_fill_numbers(w, &copy[i]);
    }
}

struct stream apply_knowledge(struct walk *w, struct act *act, struct stream in)
{
    fill_options(w, act);
    struct reading r = {.w = w, .act = act, .command = act->known, .base = w->cwd, .in = in};
    if (!act->known) {
        for (size_t i = 1; i < act->word_count; i++)
            use_loose(&r, &act->words[i]);
        return in;
    }
    if (act->known->kind == KIND_SHELL) {
        special_shell(w, act, in);
        return in;
    }
    if (act->known->kind == KIND_WRAPPER)
        act->flags |= ACT_TRANSPARENT;
    read_words(&r);
    use_operands(&r);
    use_directory_target(&r);
    use_scripts(&r);
    use_stdin(&r);
    if (r.removal)
        special_removal(w, act, r.removal, &r.operands, r.options.count);
    act->operands = r.operands.items;
    act->operand_count = r.operands.count;
    if (strcmp(act->name, "ln") == 0)
        special_note_link(w, act);
    const char *implied = special_implied(act, &r.operands);
    if (implied)
        note(&r, &r.options, implied);
    act->options = names_of(w, &r.options);
    act->option_count = r.options.count;
    act->asked = names_of(w, &r.asked);
    act->asked_count = r.asked.count;
    if (act->known->kind == KIND_WRAPPER && !r.code_given && strcmp(act->name, "xargs") != 0)
        act->flags &= ~(unsigned)ACT_TRANSPARENT;
    return in;
}
