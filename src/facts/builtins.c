/* Builtins that change the shell itself: directory, variables, settings, names. */
#include "facts/internal.h"

typedef bool builtin_apply(struct walk *w, struct act *act, struct stream in);

static bool is_flag(const struct fact_word *word)
{
    return word->state == WORD_KNOWN && word->len > 1 &&
           (word->text[0] == '-' || word->text[0] == '+');
}

static bool has_flag(const struct act *act, char letter)
{
    for (size_t i = 1; i < act->word_count && is_flag(&act->words[i]); i++) {
        if (act->words[i].text[0] == '-' && strchr(act->words[i].text + 1, letter))
            return true;
    }
    return false;
}

static size_t first_operand(const struct act *act)
{
    size_t i = 1;
    while (i < act->word_count && is_flag(&act->words[i])) {
        if (word_is(&act->words[i++], "--"))
            break;
    }
    return i;
}

/* A directory now, and nothing before could have removed it. */
static bool is_there(const struct walk *w, const char *path)
{
    return !w->removes && sites_surely_runs(w, w->command) && w->host->is_directory &&
           w->host->is_directory(w->host->user, path);
}

static void enter(struct walk *w, struct act *act, const struct fact_word *word)
{
    struct value cdpath = state_value(w, "CDPATH", 6);
    act_paths(act, path_make(w, w->cwd, word, PATH_ENTER));
    const struct place *place = path_enter(w, w->cwd, word);
    /* A link leads elsewhere, and what is relative from then on is there. */
    for (struct fact_path *p = act->paths; p && place; p = p->next) {
        if (p->real && strcmp(p->real, p->text) != 0)
            place = state_either(w, place, state_place(w, p->real));
    }
    w->visited = w->visited ? state_either(w, w->visited, w->cwd) : w->cwd;
    w->cwd = cdpath.state == WORD_KNOWN && !cdpath.set ? place : NULL;
    bool plain = name_is(act->name, "cd") &&
                 (act->word_count == 2 || (act->word_count == 3 && word_is(&act->words[1], "--")));
    w->entered_surely = plain && w->cwd && !w->cwd->next && is_there(w, w->cwd->path);
}

/* Some directory where the shell was before: cd -, popd. */
static void enter_again(struct walk *w)
{
    w->cwd = w->visited ? state_either(w, w->visited, w->cwd) : NULL;
    w->visited = w->cwd;
    w->entered_surely = false;
}

static bool run_cd(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    size_t i = first_operand(act);
    if (i >= act->word_count) {
        struct value home = state_value(w, "HOME", 4);
        struct fact_word word = {.text = home.text,
                                 .len = home.len,
                                 .state = home.state,
                                 .source = home.source,
                                 .span = act->span};
        if (act->name[0] == 'c')
            enter(w, act, &word);
        else
            enter_again(w);
        return true;
    }
    const struct fact_word *word = &act->words[i];
    bool stack = act->name[0] != 'c' && word->state == WORD_KNOWN &&
                 (word->text[0] == '+' || word->text[0] == '-');
    if (word_is(word, "-") || stack)
        enter_again(w);
    else
        enter(w, act, word);
    return true;
}

static bool run_popd(struct walk *w, struct act *act, struct stream in)
{
    (void)act;
    (void)in;
    enter_again(w);
    return true;
}

/* One word of declare and its like: NAME or NAME=VALUE. */
static void declare_one(struct walk *w, struct act *act, const struct fact_word *word, bool integer,
                        bool keyed)
{
    const char *equals = word->len ? memchr(word->text, '=', word->len) : NULL;
    size_t len = equals ? (size_t)(equals - word->text) : word->len;
    len -= len && equals && word->text[len - 1] == '+';
    if (!equals && word->state != WORD_KNOWN) {
        finding_add(w, FINDING_VALUE, act->name, "sets a variable whose name is not known here",
                    word->span);
        w->blind = true;
        return;
    }
    const char *name = arena_copy(w->arena, word->text, len);
    if (!name)
        return;
    if (!is_name(name, len)) {
        struct fact_word other = {
            .text = name, .len = (uint32_t)len, .state = WORD_KNOWN, .span = word->span};
        arith_check_name(w, &other, SOURCE_VARIABLE);
        return;
    }
    struct variable *v = state_variable(w, name, len);
    if (!v)
        return;
    v->integer |= integer;
    v->keyed = keyed || (v->keyed && w->forks == 0);
    if (!equals) {
        struct value value = state_value(w, name, len);
        if (name_is(act->name, "export"))
            variable_check(w, name, len, &value, word->span, NULL);
        return;
    }
    struct value value = {.state = word->state,
                          .source = word->source,
                          .set = true,
                          .text = equals + 1,
                          .len = (uint32_t)(word->len - (size_t)(equals - word->text) - 1)};
    if (value.state != WORD_KNOWN && value.source == SOURCE_LIST)
        value = value_unknown(SOURCE_VARIABLE); /* x=(…), whose elements were looked at */
    else if (value.len && value.text[0] == '(')
        finding_add(w, FINDING_VALUE, name, "may be an array made from a text that is expanded",
                    word->span);
    if (v->integer || state_is_own_number(name, len)) {
        const struct fact_word expression = {.text = value.text,
                                             .len = value.len,
                                             .state = value.state,
                                             .source = value.source,
                                             .span = word->span};
        arith_check_word(w, &expression);
        value = value_unknown(SOURCE_NUMBER);
    }
    variable_check(w, name, len, &value, word->span, NULL);
    state_set(w, name, len, value);
}

/* declare, local, export, readonly, with attributes. */
static bool run_declare(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    if (has_flag(act, 'f') || has_flag(act, 'F')) {
        if (name_is(act->name, "export"))
            finding_add(w, FINDING_SETTING, "export -f", "gives functions to programs", act->span);
        return true;
    }
    bool declares = !name_is(act->name, "export") && !name_is(act->name, "readonly");
    bool integer = declares && has_flag(act, 'i');
    if (declares && has_flag(act, 'n'))
        finding_add(w, FINDING_VALUE, "declare -n", "makes a name stand for another variable",
                    act->span);
    if (integer && w->forks)
        finding_add(w, FINDING_VALUE, "declare -i",
                    "may make what is assigned elsewhere an expression that is evaluated",
                    act->span);
    /* On some ways only, subscripts would be evaluated on the others. */
    bool keyed = declares && has_flag(act, 'A') && w->forks == 0;
    for (size_t i = first_operand(act); i < act->word_count; i++)
        declare_one(w, act, &act->words[i], integer, keyed);
    return true;
}

/* Settings that change how text is read, or what names mean. */
static const struct {
    const char *builtin, *name;
    const char *why;
} settings[] = {
    {"set", "posix", "changes how the shell reads text"},
    {"set", "histexpand", "makes ! in later text run earlier text"},
    {"set", "history", "keeps and runs earlier text"},
    {"set", "keyword", "turns arguments into variables"},
    {"set", "allexport", NULL},
    {"shopt", "expand_aliases", "lets aliases change what later words mean"},
    {"shopt", "extglob", "changes how later text is read"},
    {"shopt", "extdebug", "lets a trap change what runs"},
    {"shopt", "dotglob", "lets patterns match hidden files"},
    {"shopt", "sourcepath", NULL},
    {"shopt", "lastpipe", "changes which process a command runs in"},
    {"shopt", "cdable_vars", "changes where cd goes"},
    {"shopt", "autocd", "makes names of directories commands"},
    {"shopt", "assoc_expand_once", NULL},
    {"shopt", "shift_verbose", NULL},
    {"shopt", "globstar", "lets patterns reach any depth"},
    {"shopt", "nullglob", NULL},
    {"shopt", "failglob", "lets a pattern without a match end the line"},
    {"shopt", "nocaseglob", "lets patterns match more files"},
    {"shopt", "nocasematch", NULL},
    {"shopt", "inherit_errexit", NULL},
    {"shopt", "checkwinsize", NULL},
    {"shopt", "huponexit", NULL},
    {"shopt", "xpg_echo", "changes what echo prints"},
    {"set", "errexit", NULL},
    {"set", "nounset", NULL},
    {"set", "pipefail", NULL},
    {"set", "xtrace", NULL},
    {"set", "verbose", NULL},
    {"set", "noglob", NULL},
    {"set", "noclobber", NULL},
    {"set", "noexec", NULL},
    {"set", "physical", NULL},
    {"set", "functrace", NULL},
    {"set", "errtrace", NULL},
    {"set", "monitor", NULL},
    {"set", "notify", NULL},
    {"set", "hashall", NULL},
    {"set", "braceexpand", "changes which words braces make"},
    {"set", "ignoreeof", NULL},
    {"set", "nolog", NULL},
    {"set", "privileged", NULL},
    {"set", "vi", NULL},
    {"set", "emacs", NULL},
    {"set", "interactive-comments", "changes how later text is read"},
};

void builtin_check_setting(struct walk *w, const char *builtin, const struct fact_word *word)
{
    if (word->state != WORD_KNOWN) {
        finding_add(w, FINDING_SETTING, builtin, "changes a setting that is not known here",
                    word->span);
        return;
    }
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        if (strcmp(settings[i].builtin, builtin) == 0 && word_is(word, settings[i].name)) {
            if (settings[i].why)
                finding_add(w, FINDING_SETTING, word->text, settings[i].why, word->span);
            return;
        }
    }
    finding_add(w, FINDING_SETTING, word->text,
                "is a setting of the shell that is not known to be harmless", word->span);
}

static bool run_set(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    size_t i = 1;
    for (; i < act->word_count; i++) {
        const struct fact_word *word = &act->words[i];
        if (word->state != WORD_KNOWN) {
            if (word->len == 0)
                finding_add(w, FINDING_SETTING, "set", "gets a word that is not known here",
                            word->span);
            break;
        }
        if (word_is(word, "--") || word_is(word, "-")) {
            i++;
            break;
        }
        if (!is_flag(word))
            break;
        bool on = word->text[0] == '-';
        for (size_t k = 1; k < word->len; k++) {
            char c = word->text[k];
            if (c == 'o') {
                if (i + 1 < act->word_count) {
                    i++;
                    if (on || word_is(&act->words[i], "braceexpand"))
                        builtin_check_setting(w, "set", &act->words[i]);
                }
            } else if (c == 'k' && on) {
                finding_add(w, FINDING_SETTING, "set -k", "turns arguments into variables",
                            word->span);
            } else if (c == 'H' && on) {
                finding_add(w, FINDING_SETTING, "set -H", "makes ! in later text run earlier text",
                            word->span);
            } else if (c == 'B' && !on) {
                finding_add(w, FINDING_SETTING, "set +B", "changes which words braces make",
                            word->span);
            }
        }
    }
    return true;
}

static bool run_shopt(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    bool turns = has_flag(act, 's'), off = has_flag(act, 'u'), set_o = has_flag(act, 'o');
    for (size_t i = first_operand(act); i < act->word_count && (turns || off); i++) {
        const struct fact_word *word = &act->words[i];
        if (turns || word->state != WORD_KNOWN)
            builtin_check_setting(w, set_o ? "set" : "shopt", word);
    }
    return true;
}

/* read, mapfile: variables from what flows in. */
static bool run_read(struct walk *w, struct act *act, struct stream in)
{
    bool array = !name_is(act->name, "read");
    const char *valued = array ? "dnOsucC" : "adinNptu";
    uint8_t source = SOURCE_INPUT;
    if (in.state != WORD_KNOWN && !in.none &&
        (in.source > source || in.source == SOURCE_NUMBER || in.source == SOURCE_FILES))
        source = in.source;
    for (size_t i = 1; i < act->word_count; i++) {
        const struct fact_word *word = &act->words[i];
        if (!is_flag(word)) {
            arith_check_name(w, word, source);
            continue;
        }
        for (size_t k = 1; k < word->len; k++) {
            char c = word->text[k];
            if (!strchr(valued, c))
                continue;
            struct fact_word value = *word;
            value.text += k + 1;
            value.len -= (uint32_t)(k + 1);
            if (value.len == 0 && i + 1 < act->word_count)
                value = act->words[++i];
            if (c == 'a')
                arith_check_name(w, &value, source);
            if (c == 'C')
                inner_later(w, &value);
            break;
        }
    }
    return true;
}

static bool run_unset(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    for (size_t i = first_operand(act); i < act->word_count; i++) {
        const struct fact_word *word = &act->words[i];
        if (word->state == WORD_KNOWN && is_name(word->text, word->len)) {
            state_define(w, word->text, word->len, NULL,
                         false); /* a function, where there is no variable */
            if (has_flag(act, 'f'))
                continue;
            static const char *const needed[] = {"PATH", "HOME", "IFS"};
            for (size_t k = 0; k < 3; k++) {
                if (word_is(word, needed[k]))
                    finding_add(w, FINDING_VARIABLE, word->text,
                                "is taken away, which changes what later words mean", word->span);
            }
            struct variable *v = state_variable(w, word->text, word->len);
            if (v)
                v->keyed = false;
        } else {
            arith_check_name(w, word, SOURCE_VARIABLE);
        }
    }
    return true;
}

static bool run_let(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    for (size_t i = 1; i < act->word_count; i++)
        arith_check_word(w, &act->words[i]);
    return true;
}

/* test -v NAME and [ -v NAME ] look at a subscript. */
static bool run_test(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    for (size_t i = 1; i + 1 < act->word_count; i++) {
        const struct fact_word *word = &act->words[i], *name = &act->words[i + 1];
        bool may_be = word_is(word, "-v") || word_is(word, "-R");
        if (may_be && (name->state != WORD_KNOWN || memchr(name->text, '[', name->len)))
            finding_add(w, FINDING_VALUE, act->name, "evaluates the subscript of a name",
                        name->span);
    }
    return true;
}

static bool run_printf(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    if (act->word_count > 1 && act->words[1].state == WORD_KNOWN &&
        strncmp(act->words[1].text, "-v", 2) == 0) {
        bool attached = act->words[1].len > 2;
        struct fact_word name = attached ? act->words[1] : (struct fact_word){.text = ""};
        if (attached) {
            name.text += 2;
            name.len -= 2;
        } else if (act->word_count > 2) {
            name = act->words[2];
        }
        arith_check_name(w, &name, SOURCE_OUTPUT);
    } else if (act->word_count > 1 && act->words[1].state != WORD_KNOWN &&
               (act->words[1].len == 0 ? act->words[1].many : act->words[1].text[0] == '-')) {
        finding_add(w, FINDING_OPTION, "printf", "gets a word that may be -v", act->words[1].span);
    }
    return true;
}

static bool run_alias(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    for (size_t i = 1; i < act->word_count; i++) {
        const struct fact_word *word = &act->words[i];
        if (word->state != WORD_KNOWN || memchr(word->text, '=', word->len))
            finding_add(w, FINDING_SHADOW, word->text, "is an alias that changes what a name means",
                        word->span);
    }
    return true;
}

static bool run_hash(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    if (has_flag(act, 'p'))
        finding_add(w, FINDING_SHADOW, "hash -p", "makes a name mean another program", act->span);
    return true;
}

static bool run_enable(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    if (act->word_count > 1)
        finding_add(w, FINDING_SETTING, "enable", "changes which commands the shell has itself",
                    act->span);
    return true;
}

/* trap TEXT SIGNAL… : its text runs some time later. */
static bool run_trap(struct walk *w, struct act *act, struct stream in)
{
    (void)in;
    size_t i = first_operand(act);
    act->flags |= ACT_TRANSPARENT;
    if (i + 1 >= act->word_count && !(i < act->word_count && act->words[i].many))
        return true; /* trap -p, trap SIGNAL */
    const struct fact_word *text = &act->words[i];
    if (!word_is(text, "-") && !(text->state == WORD_KNOWN && text->len == 0))
        inner_later(w, text);
    return true;
}

/* command -v only tells. */
static bool run_command(struct walk *w, struct act *act, struct stream in)
{
    size_t i = 1;
    for (; i < act->word_count && is_flag(&act->words[i]); i++) {
        if (word_is(&act->words[i], "--")) {
            i++;
            break;
        }
        if (strchr(act->words[i].text, 'v') || strchr(act->words[i].text, 'V'))
            return true;
    }
    act->flags |= ACT_TRANSPARENT;
    act->first_operand = i;
    if (i >= act->word_count)
        return true;
    /* functions are skipped, builtins are not */
    struct act *inner = NULL;
    w->skip_function = true;
    act_run(w, act->words + i, act->word_count - i, act->span, in, &inner);
    return true;
}

static bool run_exec(struct walk *w, struct act *act, struct stream in)
{
    (void)w;
    (void)in;
    if (act->word_count == 1) { /* only redirections, for the rest of the text */
        act->flags |= ACT_TRANSPARENT;
        return true;
    }
    return false;
}

static const struct {
    const char *name;
    builtin_apply *apply;
} builtins[] = {
    {"cd", run_cd},           {"pushd", run_cd},         {"popd", run_popd},
    {"declare", run_declare}, {"typeset", run_declare},  {"local", run_declare},
    {"export", run_declare},  {"readonly", run_declare}, {"set", run_set},
    {"shopt", run_shopt},     {"read", run_read},        {"mapfile", run_read},
    {"readarray", run_read},  {"unset", run_unset},      {"let", run_let},
    {"test", run_test},       {"[", run_test},           {"printf", run_printf},
    {"alias", run_alias},     {"hash", run_hash},        {"enable", run_enable},
    {"trap", run_trap},       {"command", run_command},  {"builtin", run_command},
    {"exec", run_exec},
};

bool builtin_run(struct walk *w, struct act *act, struct stream in)
{
    for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++) {
        if (strcmp(builtins[i].name, act->name) == 0)
            return builtins[i].apply(w, act, in);
    }
    return false;
}
