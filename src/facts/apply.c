/*
 * What the knowledge says about the words of an act: which are options, which are their values,
 * which are operands; and from their roles the files, the effects and the acts within the act.
 */
#include "facts/roles.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "facts/special.h"

static void note(struct reading *r, struct words *list, const char *text)
{
    words_add(r->w, list, (struct fact_word){.text = text, .state = WORD_KNOWN});
}

/* --- options -------------------------------------------------------------------------------- */

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
    struct fact_word value = equals ? word_from(word, len + 1) : (struct fact_word){0};
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
        struct fact_word value = word_from(word, k + 1);
        if (value.len && value.text[0] == '=' && (option->flags & MARK_OPTIONAL))
            value = word_from(word, k + 2);
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
    struct fact_word value = word_from(word, len + (len < word->len));
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

/* --- operands ------------------------------------------------------------------------------- */

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
    bool links = name_is(r->act->name, "ln") && count > 1;
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
                                           !name_is(r->act->name, "hyperfine"))) {
            size_t joined = operand->repeat ? count - i : 1;
            struct fact_word text = special_join(r->w, words + i, joined);
            if (operand->role == ROLE_EVAL && name_is(r->act->name, "eval")) {
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

/* --- all of it ------------------------------------------------------------------------------ */

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
    use_stdin_as_code(r);
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
    if (name_is(act->name, "ln"))
        special_note_link(w, act);
    const char *implied = special_implied(act, &r.operands);
    if (implied)
        note(&r, &r.options, implied);
    act->options = names_of(w, &r.options);
    act->option_count = r.options.count;
    act->asked = names_of(w, &r.asked);
    act->asked_count = r.asked.count;
    if (act->known->kind == KIND_WRAPPER && !r.code_given && !name_is(act->name, "xargs"))
        act->flags &= ~(unsigned)ACT_TRANSPARENT;
    return in;
}
