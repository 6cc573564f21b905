/*
 * Knowledge from YAML: every key, word and name is checked and refused with its place. The form is
 * in docs/commands.md.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "facts/knowledge.h"

const char *const role_names[ROLE_COUNT] = {
    [ROLE_FLAG] = "flag",         [ROLE_TEXT] = "text",           [ROLE_READ] = "read",
    [ROLE_WRITE] = "write",       [ROLE_DELETE] = "delete",       [ROLE_MOVE] = "move",
    [ROLE_ENTER] = "enter",       [ROLE_SHELL] = "shell",         [ROLE_BASH] = "bash",
    [ROLE_EVAL] = "eval",         [ROLE_SOURCE] = "source",       [ROLE_SCRIPT] = "script",
    [ROLE_PROGRAM] = "program",   [ROLE_WORDS] = "words",         [ROLE_ARGV] = "argv",
    [ROLE_CODE] = "code",         [ROLE_CODE_FILE] = "code_file", [ROLE_SED] = "sed",
    [ROLE_AWK] = "awk",           [ROLE_HOST] = "host",           [ROLE_URL] = "url",
    [ROLE_VARIABLE] = "variable", [ROLE_NAME] = "name",           [ROLE_SETTING] = "setting",
};

/* A word and the number that it stands for. */
struct named {
    const char *name;
    unsigned value;
};

static const struct named marks[] = {
    {"optional", MARK_OPTIONAL}, {"ask", MARK_ASK},
    {"instead", MARK_INSTEAD},   {"last", MARK_LAST},
    {"until", MARK_UNTIL},       {"rest", MARK_REST},
    {"pair", MARK_PAIR},         {0},
};

static const struct named effects[] = {
    {"reads", EFFECT_READS},
    {"writes", EFFECT_WRITES},
    {"deletes", EFFECT_DELETES},
    {"runs", EFFECT_RUNS},
    {"network", EFFECT_NETWORK},
    {"privilege", EFFECT_PRIVILEGE},
    {"irreversible", EFFECT_IRREVERSIBLE},
    {0},
};

static const struct named kinds[] = {
    {"plain", KIND_PLAIN},
    {"shell", KIND_SHELL},
    {"interpreter", KIND_INTERPRETER},
    {"wrapper", KIND_WRAPPER},
    {"network", KIND_NETWORK},
    {"privilege", KIND_PRIVILEGE},
    {"decoder", KIND_DECODER},
    {0},
};

static const struct named styles[] = {
    {"single", KNOWN_SINGLE},
    {"none", KNOWN_NO_OPTIONS},
    {"switches", KNOWN_SWITCHES},
    {0},
};

static const struct named outputs[] = {{"number", KNOWN_NUMBER}, {0}};

/* Keys of a command that are true or false. */
static const struct named switches[] = {
    {"first", KNOWN_FIRST},
    {"persistent", KNOWN_PERSISTENT},
    {"builtin", KNOWN_BUILTIN},
    {"no_dash", KNOWN_NO_DASH},
    {"stdin_code", KNOWN_STDIN_CODE},
    {"assignments", KNOWN_ASSIGNMENTS},
    {0},
};

struct reader {
    struct arena *arena;
    const char *name;
    struct err *e;
};

#define FAIL(r, at, ...) yaml_error((r)->e, (r)->name, (at), __VA_ARGS__)

static int no_memory(const struct reader *r)
{
    return err_set(r->e, -ENOMEM, "%s: out of memory", r->name);
}

/* --- words ----------------------------------------------------------------------------------- */

struct word {
    const char *text;
    size_t len;
};

/* The next word of a text of words with blanks between them. */
static bool next_word(const char **at, struct word *ret)
{
    while (**at == ' ')
        ++*at;
    if (!**at)
        return false;
    *ret = (struct word){*at, strcspn(*at, " ")};
    *at += ret->len;
    return true;
}

static size_t count_words(const char *text)
{
    struct word word;
    size_t count = 0;
    while (next_word(&text, &word))
        count++;
    return count;
}

static bool word_is(struct word word, const char *text)
{
    return strlen(text) == word.len && memcmp(text, word.text, word.len) == 0;
}

static const struct named *find_named(const struct named *table, struct word word)
{
    for (; table->name; table++) {
        if (word_is(word, table->name))
            return table;
    }
    return NULL;
}

static bool find_role(struct word word, enum role *ret)
{
    for (unsigned i = 0; i < ROLE_COUNT; i++) {
        if (word_is(word, role_names[i])) {
            *ret = (enum role)i;
            return true;
        }
    }
    return false;
}

/* --- kinds of nodes -------------------------------------------------------------------------- */

static int need_kind(const struct reader *r, const struct yaml_node *node, enum yaml_kind kind)
{
    static const char *const names[] = {
        [YAML_SCALAR] = "a word", [YAML_LIST] = "a list", [YAML_MAP] = "a map"};
    if (node->kind == kind)
        return 0;
    if (node->key)
        return FAIL(r, node, "'%s' must be %s", node->key->text, names[kind]);
    return FAIL(r, node, "must be %s", names[kind]);
}

/* Nothing behind the colon: a command about which there is nothing more to say. */
static bool is_nothing(const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR && !node->quoted && !node->text[0];
}

static int read_named(const struct reader *r, const struct yaml_node *node,
                      const struct named *table, unsigned *ret)
{
    int result = need_kind(r, node, YAML_SCALAR);
    if (result < 0)
        return result;
    const struct named *found = find_named(table, (struct word){node->text, strlen(node->text)});
    if (!found && node->key)
        return FAIL(r, node, "'%s' is not known as %s", node->text, node->key->text);
    if (!found)
        return FAIL(r, node, "'%s' is not known here", node->text);
    *ret = found->value;
    return 0;
}

static int read_bool(const struct reader *r, const struct yaml_node *node, bool *ret)
{
    bool yes = node->kind == YAML_SCALAR && !node->quoted && strcmp(node->text, "true") == 0;
    bool no = node->kind == YAML_SCALAR && !node->quoted && strcmp(node->text, "false") == 0;
    if (!yes && !no)
        return FAIL(r, node, "'%s' must be true or false", node->key->text);
    *ret = yes;
    return 0;
}

static size_t count_children(const struct yaml_node *node)
{
    size_t count = 0;
    for (const struct yaml_node *child = node->first; child; child = child->next)
        count++;
    return count;
}

/* --- rows, sorted and without duplicates ----------------------------------------------------- */

/* Every row of the tables starts with its name. */
static int compare_rows(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct place {
    const char *name;
    const struct yaml_node *at;
};

static int check_places(const struct reader *r, struct place *places, size_t count)
{
    if (count)
        qsort(places, count, sizeof(*places), compare_rows);
    for (size_t i = 1; i < count; i++) {
        const struct place *one = &places[i - 1], *other = &places[i];
        if (strcmp(one->name, other->name) != 0)
            continue;
        bool later = one->at->line > other->at->line ||
                     (one->at->line == other->at->line && one->at->column > other->at->column);
        const struct place *again = later ? one : other, *before = later ? other : one;
        return FAIL(r, again->at, "'%s' is already given in line %u", again->name,
                    before->at->line);
    }
    return 0;
}

/* --- options, operands, settings ------------------------------------------------------------- */

static int read_option_value(const struct reader *r, const struct yaml_node *node,
                             struct knowledge_option *option)
{
    const char *at = node->text;
    struct word word;
    if (!next_word(&at, &word))
        return FAIL(r, node, "'%s' needs a role", node->key->text);
    if (!find_role(word, &option->role))
        return FAIL(r, node, "'%.*s' is not a role", (int)word.len, word.text);
    while (next_word(&at, &word)) {
        const struct named *mark = find_named(marks, word);
        const struct named *effect = find_named(effects, word);
        if (mark) {
            option->flags |= (uint16_t)mark->value;
        } else if (effect) {
            option->effects |= (uint16_t)effect->value;
        } else if (word.len > 3 && strncmp(word.text, "as:", 3) == 0) {
            option->as = arena_copy(r->arena, word.text + 3, word.len - 3);
            if (!option->as)
                return no_memory(r);
        } else {
            return FAIL(r, node, "'%.*s' is not a mark or an effect", (int)word.len, word.text);
        }
    }
    if (option->flags & MARK_UNTIL && option->role != ROLE_ARGV)
        return FAIL(r, node, "only argv can have the mark until");
    if (option->flags & (MARK_OPTIONAL | MARK_LAST) && option->role == ROLE_FLAG)
        return FAIL(r, node, "a flag has no value that a mark could speak of");
    return 0;
}

static int read_options(const struct reader *r, const struct yaml_node *node,
                        struct knowledge *command)
{
    int result = need_kind(r, node, YAML_MAP);
    if (result < 0)
        return result;
    size_t count = 0;
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next)
        count += count_words(entry->key->text);
    struct knowledge_option *options = arena_alloc_array(r->arena, count, sizeof(*options));
    struct place *places = arena_alloc_array(r->arena, count, sizeof(*places));
    if (!options || !places)
        return no_memory(r);

    size_t filled = 0;
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
        struct knowledge_option option = {0};
        result = need_kind(r, entry, YAML_SCALAR);
        if (result == 0)
            result = read_option_value(r, entry, &option);
        if (result < 0)
            return result;
        const char *at = entry->key->text;
        struct word word;
        while (next_word(&at, &word)) {
            if (word.len < 2 || !strchr("-+/", word.text[0]))
                return FAIL(r, entry->key, "'%.*s' is not the name of an option", (int)word.len,
                            word.text);
            if (memchr(word.text, '=', word.len))
                return FAIL(r, entry->key, "the name of an option has no '='");
            option.name = arena_copy(r->arena, word.text, word.len);
            if (!option.name)
                return no_memory(r);
            if (!option.same)
                option.same = option.name;
            places[filled] = (struct place){option.name, entry->key};
            options[filled++] = option;
        }
        if (!option.name)
            return FAIL(r, entry->key, "an option needs a name");
    }
    result = check_places(r, places, filled);
    if (result < 0)
        return result;
    if (filled)
        qsort(options, filled, sizeof(*options), compare_rows);
    command->options = options;
    command->option_count = filled;
    return 0;
}

static int read_operands(const struct reader *r, const struct yaml_node *node,
                         struct knowledge *command)
{
    int result = need_kind(r, node, YAML_LIST);
    if (result < 0)
        return result;
    size_t count = count_children(node), filled = 0;
    struct knowledge_operand *operands = arena_alloc_array(r->arena, count, sizeof(*operands));
    if (!operands)
        return no_memory(r);
    bool repeated = false;
    for (const struct yaml_node *child = node->first; child; child = child->next) {
        struct knowledge_operand *operand = &operands[filled++];
        const char *at = child->text;
        struct word word;
        result = need_kind(r, child, YAML_SCALAR);
        if (result < 0)
            return result;
        if (!next_word(&at, &word))
            return FAIL(r, child, "an operand needs a role");
        if (word.len > 3 && memcmp(word.text + word.len - 3, "...", 3) == 0) {
            word.len -= 3;
            if (repeated)
                return FAIL(r, child, "only one operand can repeat");
            repeated = operand->repeat = true;
        }
        if (!find_role(word, &operand->role))
            return FAIL(r, child, "'%.*s' is not a role", (int)word.len, word.text);
        if (operand->role == ROLE_FLAG)
            return FAIL(r, child, "an operand is not a flag");
        while (next_word(&at, &word)) {
            if (!word_is(word, "ask"))
                return FAIL(r, child, "'%.*s' is not a mark of operands", (int)word.len, word.text);
            operand->flags |= MARK_ASK;
        }
    }
    command->operands = operands;
    command->operand_count = filled;
    return 0;
}

static int read_settings(const struct reader *r, const struct yaml_node *node,
                         struct knowledge *command)
{
    int result = need_kind(r, node, YAML_MAP);
    if (result < 0)
        return result;
    size_t count = count_children(node), filled = 0;
    struct knowledge_setting *settings = arena_alloc_array(r->arena, count, sizeof(*settings));
    if (!settings)
        return no_memory(r);
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
        struct knowledge_setting *setting = &settings[filled++];
        struct word word;
        result = need_kind(r, entry, YAML_SCALAR);
        if (result < 0)
            return result;
        const char *at = entry->text;
        if (!next_word(&at, &word))
            return FAIL(r, entry, "'%s' needs a role", entry->key->text);
        if (!find_role(word, &setting->role) || setting->role == ROLE_FLAG)
            return FAIL(r, entry, "'%.*s' is not a role of settings", (int)word.len, word.text);
        while (next_word(&at, &word)) {
            if (!word_is(word, "ask"))
                return FAIL(r, entry, "'%.*s' is not a mark of settings", (int)word.len, word.text);
            setting->flags |= MARK_ASK;
        }
        setting->name = entry->key->text;
    }
    if (filled)
        qsort(settings, filled, sizeof(*settings), compare_rows);
    command->settings = settings;
    command->setting_count = filled;
    return 0;
}

/* --- commands -------------------------------------------------------------------------------- */

static int read_commands(const struct reader *r, const struct yaml_node *node,
                         const struct knowledge **ret, size_t *ret_count);

static int read_effects(const struct reader *r, const struct yaml_node *node,
                        struct knowledge *command)
{
    int result = need_kind(r, node, YAML_LIST);
    for (const struct yaml_node *child = node->first; result == 0 && child; child = child->next) {
        unsigned effect = 0;
        result = read_named(r, child, effects, &effect);
        if (result == 0)
            command->effects |= (uint16_t)effect;
    }
    return result;
}

static int read_kind(const struct reader *r, const struct yaml_node *node,
                     struct knowledge *command)
{
    unsigned kind = KIND_PLAIN;
    int result = read_named(r, node, kinds, &kind);
    if (result == 0)
        command->kind = (enum knowledge_kind)kind;
    return result;
}

static int read_style(const struct reader *r, const struct yaml_node *node,
                      struct knowledge *command)
{
    unsigned flag = 0;
    int result = read_named(r, node, styles, &flag);
    if (result == 0)
        command->flags |= (uint16_t)flag;
    return result;
}

static int read_output(const struct reader *r, const struct yaml_node *node,
                       struct knowledge *command)
{
    unsigned flag = 0;
    int result = read_named(r, node, outputs, &flag);
    if (result == 0)
        command->flags |= (uint16_t)flag;
    return result;
}

static int read_subcommands(const struct reader *r, const struct yaml_node *node,
                            struct knowledge *command)
{
    return read_commands(r, node, &command->subcommands, &command->subcommand_count);
}

/* A row for each alias is made where the names are collected; here only the form is checked. */
static int read_aliases(const struct reader *r, const struct yaml_node *node,
                        struct knowledge *command)
{
    (void)command;
    int result = need_kind(r, node, YAML_LIST);
    for (const struct yaml_node *child = node->first; result == 0 && child; child = child->next)
        result = need_kind(r, child, YAML_SCALAR);
    return result;
}

static const struct {
    const char *key;
    int (*read)(const struct reader *r, const struct yaml_node *node, struct knowledge *command);
} command_keys[] = {
    {"kind", read_kind},         {"style", read_style},       {"effects", read_effects},
    {"options", read_options},   {"operands", read_operands}, {"subcommands", read_subcommands},
    {"settings", read_settings}, {"aliases", read_aliases},   {"output", read_output},
};

static int read_key(const struct reader *r, const struct yaml_node *entry,
                    struct knowledge *command)
{
    for (size_t i = 0; i < sizeof(command_keys) / sizeof(command_keys[0]); i++) {
        if (strcmp(entry->key->text, command_keys[i].key) == 0)
            return command_keys[i].read(r, entry, command);
    }
    const struct named *found =
        find_named(switches, (struct word){entry->key->text, strlen(entry->key->text)});
    if (!found)
        return FAIL(r, entry->key, "a command has no key '%s'", entry->key->text);
    bool yes = false;
    int result = read_bool(r, entry, &yes);
    if (result == 0 && yes)
        command->flags |= (uint16_t)found->value;
    return result;
}

static int read_command(const struct reader *r, const struct yaml_node *node,
                        struct knowledge *command)
{
    if (is_nothing(node))
        return 0;
    int result = need_kind(r, node, YAML_MAP);
    for (const struct yaml_node *entry = node->first; result == 0 && entry; entry = entry->next)
        result = read_key(r, entry, command);
    return result;
}

static int check_name(const struct reader *r, const struct yaml_node *at)
{
    for (const char *c = at->text; *c; c++) {
        if (*c == '/' || *c == '\\' || (unsigned char)*c <= ' ' || *c == 0x7F)
            return FAIL(r, at, "the name of a command has no blanks or slashes");
    }
    return at->text[0] ? 0 : FAIL(r, at, "the name of a command must not be empty");
}

static const struct yaml_node *aliases_of(const struct yaml_node *node)
{
    const struct yaml_node *aliases = yaml_get(node, "aliases");
    return aliases && aliases->kind == YAML_LIST ? aliases->first : NULL;
}

static int read_commands(const struct reader *r, const struct yaml_node *node,
                         const struct knowledge **ret, size_t *ret_count)
{
    int result = need_kind(r, node, YAML_MAP);
    if (result < 0)
        return result;
    size_t count = 0;
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
        count++;
        for (const struct yaml_node *alias = aliases_of(entry); alias; alias = alias->next)
            count++;
    }
    struct knowledge *commands = arena_alloc_array(r->arena, count, sizeof(*commands));
    struct place *places = arena_alloc_array(r->arena, count, sizeof(*places));
    if (!commands || !places)
        return no_memory(r);

    size_t filled = 0;
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
        struct knowledge command = {.name = entry->key->text};
        result = check_name(r, entry->key);
        if (result == 0)
            result = read_command(r, entry, &command);
        if (result < 0)
            return result;
        places[filled] = (struct place){command.name, entry->key};
        commands[filled++] = command;
        for (const struct yaml_node *alias = aliases_of(entry); alias; alias = alias->next) {
            result = check_name(r, alias);
            if (result < 0)
                return result;
            command.name = alias->text;
            places[filled] = (struct place){command.name, alias};
            commands[filled++] = command;
        }
    }
    result = check_places(r, places, filled);
    if (result < 0)
        return result;
    if (filled)
        qsort(commands, filled, sizeof(*commands), compare_rows);
    *ret = commands;
    *ret_count = filled;
    return 0;
}

/* --- variables ------------------------------------------------------------------------------- */

static int check_variable_name(const struct reader *r, const struct yaml_node *at)
{
    const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const char *rest = at->text + strspn(at->text, letters);
    if (*rest == '*')
        rest++;
    if (*rest || (at->text[0] >= '0' && at->text[0] <= '9'))
        return FAIL(r, at, "'%s' is not the name of a variable, nor one with a last *", at->text);
    return 0;
}

static int read_variable(const struct reader *r, const struct yaml_node *node,
                         struct knowledge_variable *variable)
{
    int result = need_kind(r, node, YAML_MAP);
    for (const struct yaml_node *entry = node->first; result == 0 && entry; entry = entry->next) {
        bool ask = false;
        if (strcmp(entry->key->text, "ask") == 0) {
            result = read_bool(r, entry, &ask);
            variable->flags |= ask ? MARK_ASK : 0;
        } else if (strcmp(entry->key->text, "why") == 0) {
            result = need_kind(r, entry, YAML_SCALAR);
            variable->why = entry->text;
        } else if (strcmp(entry->key->text, "role") == 0) {
            result = need_kind(r, entry, YAML_SCALAR);
            if (result == 0 &&
                (!find_role((struct word){entry->text, strlen(entry->text)}, &variable->role) ||
                 variable->role == ROLE_FLAG))
                result = FAIL(r, entry, "'%s' is not a role of variables", entry->text);
        } else {
            result = FAIL(r, entry->key, "a variable has no key '%s'", entry->key->text);
        }
    }
    if (result == 0 && !variable->why[0] && (variable->flags || variable->role != ROLE_TEXT))
        result = FAIL(r, node->key, "'%s' needs a why", node->key->text);
    return result;
}

static int read_variables(const struct reader *r, const struct yaml_node *node,
                          struct knowledge_base *base)
{
    int result = need_kind(r, node, YAML_MAP);
    if (result < 0)
        return result;
    size_t count = count_children(node), filled = 0;
    struct knowledge_variable *variables = arena_alloc_array(r->arena, count, sizeof(*variables));
    if (!variables)
        return no_memory(r);
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
        struct knowledge_variable *variable = &variables[filled++];
        *variable =
            (struct knowledge_variable){.name = entry->key->text, .role = ROLE_TEXT, .why = ""};
        result = check_variable_name(r, entry->key);
        if (result == 0)
            result = read_variable(r, entry, variable);
        if (result < 0)
            return result;
    }
    if (filled)
        qsort(variables, filled, sizeof(*variables), compare_rows);
    base->variables = variables;
    base->variable_count = filled;
    return 0;
}

int knowledge_read(struct arena *arena, const char *name, const struct yaml_node *root,
                   const struct knowledge_base *next, const struct knowledge_base **ret,
                   struct err *e)
{
    const struct reader r = {.arena = arena, .name = name, .e = e};
    struct knowledge_base *base = arena_alloc(arena, sizeof(*base));
    if (!base)
        return no_memory(&r);
    base->next = next;
    int result = need_kind(&r, root, YAML_MAP);
    for (const struct yaml_node *entry = root->first; result == 0 && entry; entry = entry->next) {
        if (strcmp(entry->key->text, "commands") == 0)
            result = read_commands(&r, entry, &base->commands, &base->command_count);
        else if (strcmp(entry->key->text, "variables") == 0)
            result = read_variables(&r, entry, base);
        else
            result =
                FAIL(&r, entry->key, "'%s' is neither commands nor variables", entry->key->text);
    }
    if (result == 0)
        *ret = base;
    return result;
}
