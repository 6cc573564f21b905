/* Reading of the tables and parsing of the command line; see options.h. */
#include "base/options.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"

static const struct option help_option = {
    .name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "show this help"};

const struct option *options_next(const struct command *command, const struct option *before)
{
    if (before == &help_option)
        return NULL;
    const struct option *next = before ? before + 1 : command->options;
    return next && next->name ? next : &help_option;
}

bool options_takes_value(const struct option *option)
{
    return option->kind != OPTION_FLAG;
}

const char *options_value_name(const struct option *option)
{
    if (!options_takes_value(option))
        return NULL;
    if (option->value_name)
        return option->value_name;
    if (option->kind == OPTION_CHOICE)
        return option->choices;
    return option->kind == OPTION_DURATION ? "TIME" : "VALUE";
}

bool options_next_choice(const char **rest, struct options_piece *ret)
{
    if (!*rest || !**rest)
        return false;
    size_t len = strcspn(*rest, "|");
    *ret = (struct options_piece){.text = *rest, .len = len};
    *rest += len + ((*rest)[len] == '|');
    return true;
}

bool options_next_paragraph(const char **rest, struct options_piece *ret)
{
    if (!*rest)
        return false;
    const char *s = *rest + strspn(*rest, "\n");
    if (!*s)
        return false;
    *ret = (struct options_piece){.text = s, .example = *s == ' '};
    while (*s && *s != '\n' && (*s == ' ') == ret->example) {
        s += strcspn(s, "\n");
        ret->len = (size_t)(s - ret->text);
        s += *s == '\n';
    }
    *rest = s;
    return true;
}

int options_append_help(const struct option *option, struct buf *out)
{
    buf_append_text(out, option->help ? option->help : "");
    const char *rest = option->kind == OPTION_CHOICE && option->value_name ? option->choices : NULL;
    struct options_piece choice;
    for (const char *before = ": "; options_next_choice(&rest, &choice); before = ", ") {
        buf_append_text(out, before);
        buf_append(out, choice.text, choice.len);
    }
    return out->failed;
}

/* A search for the name that a mistyped one was meant to be. */
struct nearest {
    const char *name;
    size_t distance;
};

enum { DISTANCE_MAX = 2, DISTANCE_TEXT_MAX = 64 };

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours that make `a` into `b`. */
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len > DISTANCE_TEXT_MAX || b_len > DISTANCE_TEXT_MAX)
        return DISTANCE_TEXT_MAX;

    size_t rows[3][DISTANCE_TEXT_MAX + 1] = {0};
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3];
        const size_t *before = rows[(i + 2) % 3], *before_that = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            int x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = before[j - 1] + (x != y);
            row[j] = least(row[j], least(before[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y)
                row[j] = least(row[j], before_that[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

/* Short words are near to anything, so they may differ less. An abbreviation counts as near. */
static void consider(struct nearest *nearest, const char *name, const char *typed, size_t len)
{
    size_t distance = edit_distance(typed, len, name, strlen(name));
    if (distance > least(DISTANCE_MAX, len / 2)) {
        if (len == 0 || strncmp(name, typed, len) != 0)
            return;
        distance = DISTANCE_MAX;
    }
    if (!nearest->name || distance < nearest->distance)
        *nearest = (struct nearest){.name = name, .distance = distance};
}

const struct command *options_find_command(const struct command *const *commands, const char *name,
                                           const char **ret_nearest)
{
    struct nearest nearest = {0};
    *ret_nearest = NULL;
    for (; *commands; commands++) {
        if (strcmp((*commands)->name, name) == 0)
            return *commands;
        consider(&nearest, (*commands)->name, name, strlen(name));
    }
    *ret_nearest = nearest.name;
    return NULL;
}

/* A command line that is being read. */
struct line {
    const struct command *command;
    int argc;
    char **argv;
    int at; /* the next word */
    char *fields;
    bool help;
    struct err *e;
};

/* An option as it was typed: "--name" or "-n", never with its value. */
struct typed {
    const char *dashes;
    const char *name;
    int len;
};

/* `name` is what to look for a likely option by, or NULL. */
static int unknown_option(struct line *l, struct typed typed, const char *name, size_t len)
{
    struct nearest nearest = {0};
    const struct option *o = NULL;
    while (name && (o = options_next(l->command, o)))
        consider(&nearest, o->name, name, len);
    if (nearest.name)
        return err_set(l->e, -EINVAL, "unknown option '%s%.*s'; did you mean '--%s'?", typed.dashes,
                       typed.len, typed.name, nearest.name);
    return err_set(l->e, -EINVAL, "unknown option '%s%.*s'", typed.dashes, typed.len, typed.name);
}

static int set_choice(struct line *l, const struct option *o, const char *value)
{
    const char *rest = o->choices;
    struct options_piece choice;
    char list[ERR_MESSAGE_MAX / 2] = "";
    size_t used = 0;
    while (options_next_choice(&rest, &choice)) {
        if (strlen(value) == choice.len && memcmp(value, choice.text, choice.len) == 0) {
            *(const char **)(void *)(l->fields + o->offset) = value;
            return 0;
        }
        if (used < sizeof(list))
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.*s", used ? ", " : "",
                                     (int)choice.len, choice.text);
    }
    return err_set(l->e, -EINVAL, "'--%s' must be one of %s, not '%s'", o->name, list, value);
}

static int set_duration(struct line *l, const struct option *o, const char *value)
{
    uint64_t ms;
    int r = units_parse_duration(value, &ms);
    if (r == -ERANGE)
        return err_set(l->e, -EINVAL, "'--%s': '%s' is too long to count", o->name, value);
    if (r < 0)
        return err_set(l->e, -EINVAL, "'--%s': '%s' is not a duration (try 30s, 5m or 500ms)",
                       o->name, value);
    if (ms == 0)
        return err_set(l->e, -EINVAL, "'--%s' must be more than nothing", o->name);
    *(uint64_t *)(void *)(l->fields + o->offset) = ms;
    return 0;
}

static int add_to_list(struct line *l, const struct option *o, const char *value)
{
    struct option_list *list = (void *)(l->fields + o->offset);
    if (list->count == OPTION_LIST_MAX)
        return err_set(l->e, -EINVAL, "'--%s' can be given at most %d times", o->name,
                       OPTION_LIST_MAX);
    list->value[list->count++] = value;
    return 0;
}

/* `value` is NULL when the option's word holds none. */
static int set_option(struct line *l, const struct option *o, struct typed typed, const char *value)
{
    if (!options_takes_value(o)) {
        if (value)
            return err_set(l->e, -EINVAL, "option '%s%.*s' takes no value", typed.dashes, typed.len,
                           typed.name);
        if (o == &help_option)
            l->help = true;
        else
            *(bool *)(void *)(l->fields + o->offset) = true;
        return 0;
    }

    if (!value && l->at == l->argc)
        return err_set(l->e, -EINVAL, "option '%s%.*s' needs a value", typed.dashes, typed.len,
                       typed.name);
    if (!value)
        value = l->argv[l->at++];

    switch (o->kind) {
    case OPTION_CHOICE:
        return set_choice(l, o, value);
    case OPTION_DURATION:
        return set_duration(l, o, value);
    case OPTION_LIST:
        return add_to_list(l, o, value);
    case OPTION_FLAG:
    case OPTION_TEXT:
        break;
    }
    *(const char **)(void *)(l->fields + o->offset) = value;
    return 0;
}

static int parse_long(struct line *l, const char *word)
{
    const char *name = word + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    struct typed typed = {"--", name, (int)len};

    const struct option *o = NULL;
    while ((o = options_next(l->command, o))) {
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return set_option(l, o, typed, value);
    }
    return unknown_option(l, typed, name, len);
}

/* A letter that no option has. A long name behind one dash is a likely slip, so look for it. */
static int unknown_letter(struct line *l, const char *letter, bool first)
{
    size_t len = strcspn(letter, "=");
    if (first && len > 2)
        return unknown_option(l, (struct typed){"-", letter, (int)len}, letter, len);

    uint32_t ignored;
    size_t n = utf8_decode(letter, strlen(letter), &ignored, NULL);
    return unknown_option(l, (struct typed){"-", letter, n ? (int)n : 1}, NULL, 0);
}

static int parse_letters(struct line *l, const char *word)
{
    for (const char *s = word + 1; *s && !l->help; s++) {
        const struct option *o = NULL;
        while ((o = options_next(l->command, o)) && o->letter != *s)
            ;
        if (!o)
            return unknown_letter(l, s, s == word + 1);

        bool takes_value = options_takes_value(o);
        int r = set_option(l, o, (struct typed){"-", s, 1}, takes_value && s[1] ? s + 1 : NULL);
        if (r < 0 || takes_value)
            return r;
    }
    return 0;
}

int options_parse(const struct command *command, int argc, char **argv, void *ret_fields,
                  struct options_parsed *ret, struct err *e)
{
    struct line l = {.command = command, .argc = argc, .argv = argv, .fields = ret_fields, .e = e};
    if (command->options_size)
        memset(ret_fields, 0, command->options_size);

    /* Operands move to the front; a word is read before its place is written. */
    bool ended = false, separator = false;
    int count = 0;
    while (l.at < argc && !l.help) {
        char *word = argv[l.at++];
        int r = 0;
        if (ended || word[0] != '-' || word[1] == '\0') {
            argv[count++] = word;
        } else if (word[1] != '-') {
            r = parse_letters(&l, word);
        } else if (word[2] != '\0') {
            r = parse_long(&l, word);
        } else {
            ended = true;
            separator = count == 0;
        }
        if (r < 0)
            return r;
    }
    if (count < argc)
        argv[count] = NULL;
    *ret = (struct options_parsed){
        .help = l.help, .separator = separator, .count = count, .operands = argv};
    return 0;
}
