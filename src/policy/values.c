/* Single values of a configuration: each is checked as far as it can be without a machine. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/units.h"
#include "base/utf8.h"
#include "ledger/note.h"
#include "policy/load.h"
#include "policy/messages.h"

enum { NAME_LENGTH_MAX = 128, PORT_MAX = 65535 };

int loading_fail(const struct loading *l, const struct yaml_node *at, const char *format, ...)
{
    char message[ERR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (l->option)
        return err_set(l->e, -EINVAL, "%s: %s", l->option, message);
    return yaml_error(l->e, l->file->name, at, "%s%s%s", l->key ? l->key->path : "",
                      l->key ? ": " : "", message);
}

int loading_no_memory(const struct loading *l)
{
    return err_set(l->e, -ENOMEM, "policy: out of memory");
}

struct policy_origin value_origin(const struct loading *l, const struct yaml_node *at)
{
    return (struct policy_origin){
        .layer = l->file->agent ? LAYER_AGENT : l->file->layer,
        .file = l->file->name,
        .line = at->line,
        .column = at->column,
    };
}

static int need_scalar(struct loading *l, const struct yaml_node *at)
{
    if (at->kind == YAML_SCALAR)
        return 0;
    return loading_fail(l, at, "must be one value, not a %s",
                        at->kind == YAML_LIST ? "list" : "map");
}

/* A text that says something, and nothing that cannot be seen. */
static int need_text(struct loading *l, const struct yaml_node *at, const char *what)
{
    int r = need_scalar(l, at);
    if (r < 0)
        return r;
    if (!at->text[strspn(at->text, " \t\n")])
        return loading_fail(l, at, "the %s is empty", what);
    if (!utf8_valid(at->text, strlen(at->text)))
        return loading_fail(l, at, "the %s is not UTF-8", what);
    for (const char *s = at->text; *s; s++) {
        if ((unsigned char)*s < ' ' || *s == 0x7F)
            return loading_fail(l, at, "the %s has a control character in it", what);
    }
    return 0;
}

/* --- patterns --------------------------------------------------------------------------------- */

/* What a word of a pattern cannot be: it would never match, or not what its writer thinks. */
static int check_word(struct loading *l, const struct yaml_node *at, const char *word, bool first)
{
    if (first && strcmp(word, "*") == 0)
        return loading_fail(l, at,
                            "a pattern starts with a command's name; for any command "
                            "there is shell.unknown");
    if (first && strcmp(word, "./*") == 0)
        return 0; /* any program of the workspace */
    if (strchr(word, '*'))
        return loading_fail(l, at, "'%s': * stands for any rest, as the last word by itself",
                            at->text);
    size_t syntax = strcspn(word, ";|&<>$`\"'\\");
    if (word[syntax])
        return loading_fail(l, at,
                            "'%s': a pattern is words, without '%c' or other syntax of the "
                            "shell",
                            at->text, word[syntax]);
    if (first && strchr("-=", word[0]))
        return loading_fail(l, at, "'%s': a pattern starts with a command's name", at->text);
    if (first && strcmp(word, "[") != 0 && strpbrk(word, "?["))
        return loading_fail(l, at, "'%s': a command's name is written out", at->text);
    if (first && strchr(word, '='))
        return loading_fail(l, at, "'%s': a pattern has no assignments", at->text);
    return 0;
}

int value_pattern(struct loading *l, const struct yaml_node *at, struct policy_pattern *ret)
{
    int r = need_text(l, at, "pattern");
    if (r < 0)
        return r;
    char *copy = arena_copy(l->arena, at->text, strlen(at->text));
    const char **words = arena_alloc_array(l->arena, strlen(at->text) / 2 + 2, sizeof(*words));
    if (!copy || !words)
        return loading_no_memory(l);

    struct policy_pattern pattern = {
        .text = at->text, .words = words, .origin = value_origin(l, at)};
    char *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        bool last = !rest[strspn(rest, " ")];
        if (!pattern.count && !pattern.exact && strcmp(word, "=") == 0) {
            pattern.exact = true;
            continue;
        }
        if (last && pattern.count && strcmp(word, "*") == 0) {
            pattern.rest = true;
            break;
        }
        if ((r = check_word(l, at, word, pattern.count == 0)) < 0)
            return r;
        words[pattern.count++] = word;
    }
    if (pattern.exact && !pattern.count)
        return loading_fail(l, at, "a pattern starts with a command's name");
    if (pattern.exact && pattern.rest)
        return loading_fail(l, at, "'%s': = stands for these words alone, and * for any rest",
                            at->text);
    if (pattern.exact && l->key && strcmp(l->key->path, "shell.allow") != 0)
        return loading_fail(l, at, "'%s': = is for shell.allow", at->text);
    *ret = pattern;
    return 0;
}

/* --- paths and hosts -------------------------------------------------------------------------- */

/* Without empty and single-dot parts; .. is refused, since what it leads to depends on links. */
static int clean_path(struct loading *l, const struct yaml_node *at, char *path)
{
    const char *in = path;
    char *out = path;
    bool absolute = *in == '/';
    while (*in) {
        in += strspn(in, "/");
        size_t len = strcspn(in, "/");
        if (len == 2 && memcmp(in, "..", 2) == 0)
            return loading_fail(l, at, "'%s': .. is not taken in a path", at->text);
        if (len && !(len == 1 && *in == '.')) {
            if (absolute || out != path)
                *out++ = '/';
            memmove(out, in, len);
            out += len;
        }
        in += len;
    }
    *out = '\0';
    if (out == path)
        return loading_fail(l, at, "'%s' is %s", at->text,
                            absolute ? "the whole machine"
                                     : "the workspace itself (workspace: ro protects all of it)");
    return 0;
}

int value_path(struct loading *l, const struct yaml_node *at, struct policy_text *ret)
{
    int r = need_text(l, at, "path");
    if (r < 0)
        return r;
    const char *text = at->text;
    if (strpbrk(text, "*?["))
        return loading_fail(l, at, "'%s': a path is written out, without * ? or [", text);
    if (text[0] == '~' && text[1] && text[1] != '/')
        return loading_fail(l, at, "'%s': only ~ and ~/ stand for a home directory", text);
    if (!l->key->workspace && text[0] != '/' && text[0] != '~')
        return loading_fail(l, at, "'%s' must start with / or ~/ (the workspace is there anyway)",
                            text);
    char *path = arena_copy(l->arena, text, strlen(text));
    if (!path)
        return loading_no_memory(l);
    if ((r = clean_path(l, at, path)) < 0)
        return r;
    *ret = (struct policy_text){.text = path, .origin = value_origin(l, at)};
    return 0;
}

static bool is_host(const char *host, size_t len)
{
    if (len > 2 && host[0] == '[' && host[len - 1] == ']')
        return strspn(host + 1, "0123456789abcdefABCDEF:.") == len - 2;
    if (len > 2 && memcmp(host, "*.", 2) == 0) {
        host += 2;
        len -= 2;
    }
    if (len == 0 || len > 253 || host[len - 1] == '.')
        return false;
    for (size_t i = 0, label = 0; i < len; i++) {
        char c = host[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (c == '.' ? label == 0 || host[i - 1] == '-' : !letter && (c != '-' || label == 0))
            return false;
        label = c == '.' ? 0 : label + 1;
        if (label > 63)
            return false;
    }
    return host[len - 1] != '-';
}

static bool is_port(const char *text)
{
    size_t len = strlen(text);
    unsigned port = 0;
    for (size_t i = 0; i < len && len <= 5; i++)
        port = port * 10 + (unsigned)(text[i] - '0');
    return len >= 1 && len <= 5 && strspn(text, "0123456789") == len && port >= 1 &&
           port <= PORT_MAX;
}

int value_host(struct loading *l, const struct yaml_node *at, struct policy_text *ret)
{
    int r = need_text(l, at, "host");
    if (r < 0)
        return r;
    const char *text = at->text, *bracket = strrchr(text, ']');
    const char *colon = strrchr(bracket ? bracket : text, ':');
    size_t len = colon ? (size_t)(colon - text) : strlen(text);
    if (!is_host(text, len))
        return loading_fail(l, at, "'%s' is not a host (try api.example.org:443)", text);
    if (colon && !is_port(colon + 1))
        return loading_fail(l, at, "'%s': the port is a number from 1 to %d", text, PORT_MAX);
    *ret = (struct policy_text){.text = text, .origin = value_origin(l, at)};
    return 0;
}

int value_text(struct loading *l, const struct yaml_node *at, const char **ret)
{
    enum { LENGTH_MAX = 128 };
    int r = need_text(l, at, "text");
    if (r < 0)
        return r;
    if (strlen(at->text) > LENGTH_MAX || strpbrk(at->text, "\n\r\t"))
        return loading_fail(l, at, "must be one line of at most %d bytes", LENGTH_MAX);
    *ret = at->text;
    return 0;
}

int value_template(struct loading *l, const struct yaml_node *at, const char *names,
                   const char **ret)
{
    const char *unknown;
    size_t len;
    int r = need_scalar(l, at);
    if (r < 0)
        return r;
    if (!at->text[0])
        return loading_fail(l, at, "the text is empty");
    if (strlen(at->text) > MESSAGE_TEMPLATE_MAX)
        return loading_fail(l, at, "has more than %d bytes", MESSAGE_TEMPLATE_MAX);
    if (!utf8_valid(at->text, strlen(at->text)))
        return loading_fail(l, at, "the text is not UTF-8");
    for (const char *s = at->text; *s; s++) {
        if (((unsigned char)*s < ' ' && *s != '\n' && *s != '\t') || *s == 0x7F)
            return loading_fail(l, at, "the text has a control character in it");
    }
    if (message_find_unknown(at->text, names, &unknown, &len))
        return loading_fail(l, at, "{%.*s} is no value that this text has%s%s", (int)len, unknown,
                            names[0] ? "; there are: " : "", names);
    *ret = at->text;
    return 0;
}

int value_send(struct loading *l, const struct yaml_node *at, struct policy_text *ret)
{
    int r = need_text(l, at, "place to send to");
    if (r < 0)
        return r;
    bool file = strncmp(at->text, "file:/", 6) == 0;
    bool command = strncmp(at->text, "command:", 8) == 0 && at->text[8];
    if (!file && !command && strcmp(at->text, "syslog") != 0)
        return loading_fail(l, at, "'%s' is none of file:/PATH, command:TEXT, syslog", at->text);
    *ret = (struct policy_text){.text = at->text, .origin = value_origin(l, at)};
    return 0;
}

int value_argument(struct loading *l, const struct yaml_node *at, struct policy_text *ret)
{
    int r = need_text(l, at, "argument");
    if (r == 0)
        *ret = (struct policy_text){.text = at->text, .origin = value_origin(l, at)};
    return r;
}

int value_public_key(struct loading *l, const struct yaml_node *at, const char **ret)
{
    struct note_key key;
    struct err why = {0};
    int r = need_text(l, at, "key");
    if (r < 0)
        return r;
    if (note_key_read(at->text, strlen(at->text), &key, &why) < 0)
        return loading_fail(l, at,
                            "is no public key, as `nacre approve --set-passphrase` shows "
                            "one");
    *ret = at->text;
    return 0;
}

/* --- names, numbers, choices ------------------------------------------------------------------ */

int value_name(struct loading *l, const struct yaml_node *at, struct policy_text *ret)
{
    static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    int r = need_text(l, at, "name");
    if (r < 0)
        return r;
    size_t len = strlen(at->text);
    if (len > NAME_LENGTH_MAX || !strchr(LETTERS, at->text[0]))
        return loading_fail(l, at, "'%.*s' is not the name of a variable", NAME_LENGTH_MAX,
                            at->text);
    for (const char *s = at->text; *s; s++) {
        if (!strchr(LETTERS, *s) && !(*s >= '0' && *s <= '9'))
            return loading_fail(l, at, "'%s' is not the name of a variable", at->text);
    }
    if (strcmp(at->text, "PATH") == 0)
        return loading_fail(l, at, "PATH is made of the system's directories and the toolchains");
    *ret = (struct policy_text){.text = at->text, .origin = value_origin(l, at)};
    return 0;
}

static int parse_count(const char *text, uint64_t *ret)
{
    uint64_t value = 0;
    if (!text[0] || strspn(text, "0123456789") != strlen(text))
        return -EINVAL;
    for (const char *s = text; *s; s++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
            return -ERANGE;
    }
    *ret = value;
    return 0;
}

int value_number(struct loading *l, const struct yaml_node *at, uint64_t *ret)
{
    static const struct {
        enum key_kind kind;
        int (*parse)(const char *text, uint64_t *ret);
        const char *what;
    } numbers[] = {
        {KEY_DURATION, units_parse_duration, "a duration (try 30s, 5m or 500ms)"},
        {KEY_SIZE, units_parse_size, "a size (try 512MB or 1GB)"},
        {KEY_COUNT, parse_count, "a whole number"},
    };
    int r = need_scalar(l, at);
    if (r < 0)
        return r;
    size_t i = 0;
    while (numbers[i].kind != l->key->kind)
        i++;
    uint64_t value = 0;
    r = numbers[i].parse(at->text, &value);
    if (r == -ERANGE)
        return loading_fail(l, at, "'%s' is too much to count", at->text);
    if (r < 0)
        return loading_fail(l, at, "'%s' is not %s", at->text, numbers[i].what);
    if (value == 0)
        return loading_fail(l, at, "must be more than nothing");
    *ret = value;
    return 0;
}

int value_choice(struct loading *l, const struct yaml_node *at, size_t *ret)
{
    int r = need_scalar(l, at);
    if (r < 0)
        return r;
    const char *rest = l->key->choices;
    struct options_piece choice;
    char list[ERR_MESSAGE_MAX / 4] = "";
    size_t used = 0;
    for (size_t i = 0; options_next_choice(&rest, &choice); i++) {
        if (strlen(at->text) == choice.len && memcmp(at->text, choice.text, choice.len) == 0) {
            *ret = i;
            return 0;
        }
        if (used < sizeof(list))
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.*s", used ? ", " : "",
                                     (int)choice.len, choice.text);
    }
    return loading_fail(l, at, "must be one of %s, not '%s'", list, at->text);
}

int value_bool(struct loading *l, const struct yaml_node *at, bool *ret)
{
    int r = need_scalar(l, at);
    if (r < 0)
        return r;
    bool yes = strcmp(at->text, "true") == 0;
    if (at->quoted || (!yes && strcmp(at->text, "false") != 0))
        return loading_fail(l, at, "must be true or false, not %s%s%s", at->quoted ? "\"" : "'",
                            at->text, at->quoted ? "\"" : "'");
    *ret = yes;
    return 0;
}
