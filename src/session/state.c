/* From what bash wrote down to a text that puts it back; see session.h. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "session/session.h"
#include "shell/shell.h"

#define HEAD "nacre-session 1"

enum { FIELD_HEAD, FIELD_CWD, FIELD_SETTINGS, FIELD_VARIABLES, FIELD_FUNCTIONS, FIELD_END, FIELDS };

struct field {
    const char *bytes;
    size_t len;
};

/* --- names ----------------------------------------------------------------------------------- */

/*
 * S3. The first are bash's own, which it sets itself; the others change what bash reads, runs or
 * finds, or what every program does. What is left may still change a program: that is judged.
 */
static const char *const forbidden[] = {
    "BASH*",    "COMP_*",     "COPROC*",    "DIRSTACK", "EPOCH*",     "EUID",     "FUNCNAME",
    "GROUPS",   "HISTCMD",    "HOSTNAME",   "HOSTTYPE", "LINENO",     "MACHTYPE", "OLDPWD",
    "OPT*",     "OSTYPE",     "PIPESTATUS", "PPID",     "PWD",        "RANDOM",   "READLINE*",
    "REPLY",    "SECONDS",    "SHELLOPTS",  "SHLVL",    "SRANDOM",    "UID",      "_",
    "__nacre*", "MAPFILE",    "CDPATH",     "ENV",      "EXECIGNORE", "FCEDIT",   "FIGNORE",
    "FPATH",    "GLOBIGNORE", "GLOBSORT",   "HIST*",    "HOME",       "IFS",      "IGNOREEOF",
    "INPUTRC",  "LANG*",      "LC_*",       "LD_*",     "LOGNAME",    "MAIL*",    "MALLOC_*",
    "PATH",     "POSIX*",     "PROMPT*",    "PS0",      "PS1",        "PS2",      "PS3",
    "PS4",      "SHELL",      "TIMEFORMAT", "TMOUT",    "TMPDIR",     "USER",     "XDG_*",
    "GCONV*",   "GLIBC*",     "DYLD_*",
};

static bool is_forbidden(const char *name, size_t len)
{
    bool found = false;
    for (size_t i = 0; !found && i < sizeof(forbidden) / sizeof(*forbidden); i++) {
        size_t start = strcspn(forbidden[i], "*");
        found = forbidden[i][start] ? len >= start && memcmp(name, forbidden[i], start) == 0
                                    : len == start && memcmp(name, forbidden[i], start) == 0;
    }
    return found;
}

static bool is_identifier(const char *name, size_t len)
{
    bool good = len && !isdigit((unsigned char)name[0]);
    for (size_t i = 0; i < len; i++)
        good &= isalnum((unsigned char)name[i]) || name[i] == '_';
    return good;
}

static void drop(struct arena *arena, struct session_state *state, const char *name, size_t len)
{
    const char *copy = arena_copy(arena, name, len);
    if (copy && state->dropped_count < SESSION_DROPPED_MAX)
        state->dropped[state->dropped_count++] = copy;
}

/* --- variables ------------------------------------------------------------------------------- */

/* The one simple command that a tree is, without anything else; NULL: it is not. */
static const struct shell_command *only_command(const struct shell_tree *tree)
{
    const struct shell_item *item = tree->list ? tree->list->items : NULL;
    if (!item || item->next || item->end == SHELL_END_BACKGROUND)
        return NULL;
    const struct shell_pipeline *p = item->pipelines;
    if (!p || p->next || p->negated || p->timing != SHELL_NOT_TIMED)
        return NULL;
    const struct shell_command *c = p->commands;
    return c && !c->next && c->kind == SHELL_SIMPLE && !c->redirects && !c->simple.assignments
               ? c
               : NULL;
}

/* A key that is the same text however it is read; bash quotes others in ways of its own. */
static bool is_plain_key(const struct shell_part *key, bool number)
{
    if (!key || key->next || key->kind != SHELL_TEXT || !key->text.len)
        return false;
    const char *s = key->text.bytes, *end = s + key->text.len;
    if (!number && key->text.len > 2 && *s == '"' && end[-1] == '"') {
        s++;
        end--;
    }
    bool plain = true;
    for (; s < end; s++)
        plain &= number ? isdigit((unsigned char)*s) != 0
                        : isalnum((unsigned char)*s) || strchr("_.,:/@ -", *s);
    return plain;
}

static bool is_plain_array(const struct shell_part *array, bool associative)
{
    bool plain = array && !array->next && array->kind == SHELL_ARRAY;
    for (const struct shell_assignment *a = plain ? array->elements : NULL; plain && a; a = a->next)
        plain = a->has_subscript && !a->append && is_plain_key(a->subscript, !associative) &&
                shell_word_known(&a->value, NULL);
    return plain;
}

/* Whether it is as the box sets it anyway. */
static bool is_given(const char *assignment, size_t len, const char *const *environment,
                     size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count && !found; i++)
        found = strlen(environment[i]) == len && memcmp(environment[i], assignment, len) == 0;
    return found;
}

struct reader {
    struct arena *arena;
    const char *const *environment;
    size_t environment_count;
    struct session_state *state;
    struct buf *out;
};

/* declare -FLAGS NAME=VALUE. False: it is nothing of the kind, or not to be kept. */
static bool add_declared(struct reader *r, const struct shell_command *c)
{
    struct buf word;
    const struct shell_word *flags = c->simple.words ? c->simple.words->next : NULL;
    const struct shell_word *value = flags ? flags->next : NULL;
    bool good = false;
    buf_init(&word, r->arena->allocator, SESSION_BYTES_MAX);
    if (!value || value->next || !shell_word_known(c->simple.words, &word) ||
        strcmp(word.data, "declare") != 0)
        goto done;
    buf_clear(&word);
    /* Neither namerefs nor traced ones: the first stand for whatever they are told. */
    if (!shell_word_known(flags, &word) || word.len < 2 || word.data[0] != '-' ||
        word.data[1 + strspn(word.data + 1, "-aAixrlu")])
        goto done;
    char kind[16];
    if (word.len >= sizeof(kind))
        goto done;
    memcpy(kind, word.data, word.len + 1);
    bool array = strchr(kind, 'a') || strchr(kind, 'A');
    const struct shell_part *first = value->parts;
    if (!first || first->kind != SHELL_TEXT)
        goto done;
    size_t name = 0;
    while (name < first->text.len && first->text.bytes[name] != '=')
        name++;
    if (name == first->text.len || !is_identifier(first->text.bytes, name))
        goto done;
    if (is_forbidden(first->text.bytes, name)) {
        good = true; /* as was to be expected */
        goto done;
    }
    buf_clear(&word);
    if (array ? !(first->text.len == name + 1 && is_plain_array(first->next, strchr(kind, 'A')))
              : !shell_word_known(value, &word))
        goto done;
    good = true;
    bool exported = strcmp(kind, "-x") == 0;
    if (!array && strchr(kind, 'x') &&
        is_given(word.data, word.len, r->environment, r->environment_count))
        goto done;
    /* A plain assignment is what is followed best. */
    if (exported)
        buf_append_text(r->out, "export ");
    else if (strcmp(kind, "--") != 0)
        buf_append_format(r->out, "declare %s ", kind);
    shell_render_word(value, r->out);
    buf_append_byte(r->out, '\n');
done:
    buf_release(&word);
    return good;
}

static void add_variables(struct reader *r, struct field field)
{
    const char *end = field.bytes + field.len;
    for (const char *line = field.bytes, *next; line < end; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((stop ? stop : end) - line);
        next = line + len + 1;
        struct arena trees;
        struct shell_error error;
        const struct shell_tree *tree;
        arena_init(&trees, r->arena->allocator, SHELL_TREE_MAX);
        const struct shell_command *c =
            shell_parse(&trees, line, len, &tree, &error) < 0 ? NULL : only_command(tree);
        if (len && (!c || !add_declared(r, c))) {
            /* Its name, as far as it can be told. Without a value there is nothing to lose. */
            size_t start = len, stop_at = 0;
            const char *equals = memchr(line, '=', len);
            if (equals) {
                stop_at = (size_t)(equals - line);
                for (start = stop_at; start > 0 && (isalnum((unsigned char)line[start - 1]) ||
                                                    line[start - 1] == '_');)
                    start--;
            }
            if (start < stop_at && !is_forbidden(line + start, stop_at - start))
                drop(r->arena, r->state, line + start, stop_at - start);
        }
        arena_release(&trees);
    }
}

/* --- functions ------------------------------------------------------------------------------- */

/* All of them, or none: where one cannot be read, nobody knows where the next begins. */
static void add_functions(struct reader *r, struct field field)
{
    struct arena trees;
    struct shell_error error;
    const struct shell_tree *tree = NULL;
    arena_init(&trees, r->arena->allocator, SHELL_TREE_MAX);
    bool good = shell_parse(&trees, field.bytes, field.len, &tree, &error) == 0;
    for (const struct shell_item *i = good && tree->list ? tree->list->items : NULL; good && i;
         i = i->next) {
        const struct shell_pipeline *p = i->pipelines;
        good = i->end != SHELL_END_BACKGROUND && !p->next && !p->negated && !p->timing &&
               !p->commands->next && p->commands->kind == SHELL_FUNCTION;
    }
    if (good && tree->list && tree->list->items) {
        shell_render(tree, r->out);
        buf_append_byte(r->out, '\n');
    } else if (!good) {
        static const char all[] = "its functions";
        drop(r->arena, r->state, all, sizeof(all) - 1);
    }
    arena_release(&trees);
}

/* --- settings -------------------------------------------------------------------------------- */

static void add_settings(struct reader *r, struct field field)
{
    static const struct {
        const char *name, *command;
    } settings[] = {
        {"allexport", "set -o"},    {"errexit", "set -o"},       {"errtrace", "set -o"},
        {"functrace", "set -o"},    {"noclobber", "set -o"},     {"noglob", "set -o"},
        {"nounset", "set -o"},      {"pipefail", "set -o"},      {"xtrace", "set -o"},
        {"dotglob", "shopt -s"},    {"failglob", "shopt -s"},    {"globstar", "shopt -s"},
        {"lastpipe", "shopt -s"},   {"nullglob", "shopt -s"},    {"inherit_errexit", "shopt -s"},
        {"nocaseglob", "shopt -s"}, {"nocasematch", "shopt -s"},
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        size_t len = strlen(settings[i].name);
        const char *at = field.bytes, *end = field.bytes + field.len;
        for (const char *next; at < end; at = next) {
            const char *colon = memchr(at, ':', (size_t)(end - at));
            size_t part = (size_t)((colon ? colon : end) - at);
            next = at + part + 1;
            if (part == len && memcmp(at, settings[i].name, len) == 0) {
                buf_append_format(r->out, "%s %s\n", settings[i].command, settings[i].name);
                break;
            }
        }
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

static bool split(const char *bytes, size_t len, struct field ret[FIELDS])
{
    size_t count = 0;
    const char *end = bytes + len;
    while (bytes < end && count < FIELDS) {
        const char *stop = memchr(bytes, '\0', (size_t)(end - bytes));
        if (!stop)
            return false;
        ret[count++] = (struct field){bytes, (size_t)(stop - bytes)};
        bytes = stop + 1;
    }
    return bytes == end && count == FIELDS && strcmp(ret[FIELD_HEAD].bytes, HEAD) == 0 &&
           strcmp(ret[FIELD_END].bytes, "end") == 0;
}

int session_read(struct arena *arena, const char *bytes, size_t len, const char *const *environment,
                 size_t environment_count, struct session_state *ret, struct err *e)
{
    struct field fields[FIELDS];
    struct session_state state = {0};
    struct buf out;
    if (len > SESSION_BYTES_MAX || !split(bytes, len, fields))
        return err_set(e, -EBADMSG, "what came is not a session's state");
    /* Twice: quoting may make it longer. */
    buf_init(&out, arena->allocator, (size_t)2 * SESSION_BYTES_MAX);
    struct reader r = {.arena = arena,
                       .environment = environment,
                       .environment_count = environment_count,
                       .state = &state,
                       .out = &out};
    struct field cwd = fields[FIELD_CWD];
    if (cwd.len > 1 && cwd.bytes[0] == '/' && cwd.bytes[cwd.len - 1] == '\n')
        state.cwd = arena_copy(arena, cwd.bytes, cwd.len - 1);
    add_variables(&r, fields[FIELD_VARIABLES]);
    add_functions(&r, fields[FIELD_FUNCTIONS]);
    add_settings(&r, fields[FIELD_SETTINGS]);
    state.text = arena_copy(arena, out.data, out.len);
    state.len = out.len;
    int failure = out.failed;
    buf_release(&out);
    if (failure || arena->failed)
        return err_set(e, failure ? failure : -ENOMEM, "the session's state is too large");
    *ret = state;
    return 0;
}
