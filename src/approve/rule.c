/*
 * 'Always', as a rule that people can read: an entry of shell.allow that means the words that were
 * shown and no others (`= git push origin main`). Where the form of a rule cannot say that, there
 * is none.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "approve/approve.h"
#include "base/yaml.h"

enum { PATTERN_MAX = 1024, INSERTION_MAX = 2048, RULES_MAX = 16 };

/* --- from acts to patterns ------------------------------------------------------------------- */

/* Whether a word of a pattern means just this text. */
static bool is_sayable(const char *word, size_t len, bool first)
{
    if (!len || strlen(word) != len)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (word[i] <= ' ' || word[i] > '~' || strchr(";|&<>$`\"'\\*?", word[i]))
            return false;
    }
    return !first || (!strchr("-=[", word[0]) && !strchr(word, '=') && !strchr(word, '['));
}

static int pattern_of(struct arena *arena, const json_t *act, const char **ret, struct err *e)
{
    const json_t *argv = json_object_get(act, "argv");
    struct buf text;
    buf_init(&text, &allocator_libc, PATTERN_MAX);
    buf_append_byte(&text, '=');
    int r = json_array_size(argv) ? 0 : -ENOTSUP;
    for (size_t i = 0; r == 0 && i < json_array_size(argv); i++) {
        const json_t *word = json_array_get(argv, i);
        if (!json_is_string(word))
            r = err_set(e, -ENOTSUP, "a word of it is not known before it runs");
        else if (!is_sayable(json_string_value(word), json_string_length(word), i == 0))
            r = err_set(e, -ENOTSUP, "'%.80s' has characters that no rule can have",
                        json_string_value(word));
        else
            buf_append_format(&text, " %s", json_string_value(word));
    }
    if (r == 0 && text.failed)
        r = err_set(e, -ENOTSUP, "it is too long for a rule");
    if (r == 0)
        *ret = arena_copy(arena, text.data, text.len);
    else if (r == -ENOTSUP && e && !e->code)
        err_set(e, r, "there is no command in it");
    buf_release(&text);
    return r < 0 ? r : *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
}

static bool same_span(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "span"), json_object_get(b, "span"));
}

static bool is_among(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] && text && strcmp(list[i], text) == 0)
            return true;
    }
    return false;
}

/* The patterns for one reason: of every act at its place. */
static int rules_for(struct arena *arena, const json_t *verdict, const json_t *reason,
                     const char **list, size_t *count, struct err *e)
{
    const char *rule = json_string_value(json_object_get(reason, "rule"));
    const json_t *acts = json_object_get(verdict, "acts");
    bool found = false;
    int r = 0;
    if (!rule || (strcmp(rule, "unknown") != 0 && strcmp(rule, "option") != 0))
        return err_set(e, -ENOTSUP, "'%.120s' asks for it, which no entry of shell.allow lifts",
                       rule ? rule : "?");
    for (size_t i = 0; r == 0 && i < json_array_size(acts); i++) {
        const json_t *act = json_array_get(acts, i);
        const char *pattern = NULL;
        if (!same_span(act, reason))
            continue;
        found = true;
        r = pattern_of(arena, act, &pattern, e);
        if (r == 0 && !is_among(list, *count, pattern)) {
            if (*count == RULES_MAX)
                return err_set(e, -ENOTSUP, "it would take more than %d rules", RULES_MAX);
            list[(*count)++] = pattern;
        }
    }
    return r < 0 || found ? r : err_set(e, -ENOTSUP, "what asks for it is no command");
}

int rule_patterns(struct arena *arena, const struct question *q, const char *const **ret,
                  size_t *ret_count, struct err *e)
{
    const char **list = arena_alloc_array(arena, RULES_MAX, sizeof(*list));
    size_t count = 0;
    json_error_t ignored;
    if (!list)
        return err_set(e, -ENOMEM, "out of memory");
    if (q->kind != QUESTION_RUN)
        return err_set(e, -ENOTSUP, "changes are approved one by one");
    if (q->config)
        return err_set(e, -ENOTSUP, "it was asked under --config %.120s", q->config);
    if (strcmp(q->input, "none") != 0)
        return err_set(e, -ENOTSUP,
                       "what comes on its standard input is a part of the question, "
                       "and no rule can say that");
    if (q->language)
        return err_set(e, -ENOTSUP, "it is a script, and no rule can say what stands in it");
    if (q->session)
        return err_set(e, -ENOTSUP, "it was asked in a session, whose state is a part of it");
    json_t *verdict = json_loadb(q->verdict ? q->verdict : "", q->verdict_len, 0, &ignored);
    const json_t *reasons = json_object_get(verdict, "reasons");
    int r = json_array_size(reasons) ? 0 : err_set(e, -ENOTSUP, "it has no reasons");
    for (size_t i = 0; r == 0 && i < json_array_size(reasons); i++) {
        const json_t *reason = json_array_get(reasons, i);
        const char *decision = json_string_value(json_object_get(reason, "decision"));
        if (decision && strcmp(decision, "allow") != 0)
            r = rules_for(arena, verdict, reason, list, &count, e);
    }
    json_decref(verdict);
    *ret = list;
    *ret_count = count;
    return r;
}

/* --- into a file ----------------------------------------------------------------------------- */

/* The start of a line, from 1; the end of the text past the last. */
static size_t line_start(const char *bytes, size_t len, size_t line)
{
    size_t at = 0;
    for (; line > 1 && at < len; at++)
        line -= bytes[at] == '\n';
    return at;
}

static size_t line_of(const char *bytes, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++)
        line += bytes[i] == '\n';
    return line;
}

/* Where a node begins. */
static size_t place_of(const char *bytes, size_t len, const struct yaml_node *node)
{
    size_t at = line_start(bytes, len, node->line) + node->column - 1;
    return at < len ? at : len;
}

static const struct yaml_node *last_of(const struct yaml_node *node)
{
    const struct yaml_node *last = node->first;
    while (last && last->next)
        last = last->next;
    return last;
}

/* The end of a flow list or map that begins at `at`: its bracket, past quotes and comments. */
static size_t closing_of(const char *bytes, size_t len, size_t at)
{
    int depth = 0;
    for (char quote = 0; at < len; at++) {
        char c = bytes[at];
        if (quote) {
            if (quote == '"' && c == '\\')
                at++;
            else if (c == quote)
                quote = 0;
        } else if (c == '#' && at && strchr(" \t\n", bytes[at - 1])) {
            while (at < len && bytes[at] != '\n')
                at++;
        } else if ((c == '"' || c == '\'') && at && strchr(" \t\n[{,:", bytes[at - 1])) {
            quote = c;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if ((c == ']' || c == '}') && --depth == 0) {
            return at;
        }
    }
    return len;
}

/* What is put in, and where. */
struct insertion {
    size_t at;
    struct buf text;
};

static void indent(struct buf *out, size_t columns)
{
    while (columns-- > 0)
        buf_append_byte(out, ' ');
}

/* A new line behind the one that ends the node whose last leaf begins at `at`. */
static size_t behind_line(const char *bytes, size_t len, size_t at, struct buf *text)
{
    while (at < len && bytes[at] != '\n')
        at++;
    if (at == len)
        buf_append_byte(text, '\n');
    return at < len ? at + 1 : len;
}

static int place_entry(const char *bytes, size_t len, const struct yaml_node *tree,
                       const char *pattern, struct insertion *in)
{
    enum { STEP = 2 };
    const struct yaml_node *shell = yaml_get(tree, "shell");
    const struct yaml_node *allow = shell ? yaml_get(shell, "allow") : NULL;
    if (!shell) {
        in->at = len;
        if (len && bytes[len - 1] != '\n')
            buf_append_byte(&in->text, '\n');
        buf_append_format(&in->text, "shell:\n  allow:\n    - \"%s\"\n", pattern);
        return 0;
    }
    size_t at = place_of(bytes, len, allow ? allow : shell);
    bool flow = at < len && (bytes[at] == '[' || bytes[at] == '{');
    if (allow && flow) {
        in->at = closing_of(bytes, len, at);
        buf_append_format(&in->text, "%s\"%s\"", allow->first ? ", " : "", pattern);
        /* `[a, b ]` and a list over several lines keep their end as it is. */
        while (in->at > at + 1 && strchr(" \n", bytes[in->at - 1]))
            in->at--;
        return in->at < len ? 0 : -ENOTSUP;
    }
    if (allow && allow->kind == YAML_LIST && allow->first) {
        const struct yaml_node *last = last_of(allow);
        if (last->kind != YAML_SCALAR)
            return -ENOTSUP;
        in->at = behind_line(bytes, len, place_of(bytes, len, last), &in->text);
        size_t first = line_start(bytes, len, allow->first->line), dash = first;
        while (dash < len && bytes[dash] == ' ')
            dash++;
        if (dash == len || bytes[dash] != '-')
            return -ENOTSUP;
        indent(&in->text, dash - first);
        buf_append_format(&in->text, "- \"%s\"\n", pattern);
        return 0;
    }
    if (!allow && flow) {
        in->at = at + 1;
        buf_append_format(&in->text, "allow: [\"%s\"]%s", pattern, shell->first ? ", " : "");
        return 0;
    }
    if (!allow && shell->kind == YAML_MAP && shell->first) {
        size_t column = shell->first->key->column - 1;
        in->at = line_start(bytes, len, shell->first->key->line);
        indent(&in->text, column);
        buf_append_text(&in->text, "allow:\n");
        indent(&in->text, column + STEP);
        buf_append_format(&in->text, "- \"%s\"\n", pattern);
        return 0;
    }
    return -ENOTSUP;
}

/* Whether two trees are alike, but for one more entry at the end of the second's shell.allow. */
static bool is_alike(const struct yaml_node *a, const struct yaml_node *b, const char *pattern,
                     int depth, int *added)
{
    if (a->kind != b->kind || (a->key == NULL) != (b->key == NULL) ||
        (a->key && strcmp(a->key->text, b->key->text) != 0))
        return false;
    if (a->kind == YAML_SCALAR)
        return strcmp(a->text, b->text) == 0 && a->quoted == b->quoted;
    bool shell = depth == 1 && b->key && strcmp(b->key->text, "shell") == 0;
    bool allow = depth == 2 && b->key && strcmp(b->key->text, "allow") == 0;
    const struct yaml_node *x = a->first, *y = b->first;
    for (; y; y = y->next) {
        /* What is new: an entry of the list, or the list itself. */
        bool entry = allow && !x && y->kind == YAML_SCALAR && strcmp(y->text, pattern) == 0;
        bool list = shell && y->key && strcmp(y->key->text, "allow") == 0 &&
                    !yaml_get(a, "allow") && y->kind == YAML_LIST && y->first && !y->first->next &&
                    strcmp(y->first->text ? y->first->text : "", pattern) == 0;
        bool map = depth == 0 && y->key && strcmp(y->key->text, "shell") == 0 &&
                   !yaml_get(a, "shell") && y->kind == YAML_MAP && y->first && !y->first->next &&
                   y->first->key && strcmp(y->first->key->text, "allow") == 0 &&
                   y->first->kind == YAML_LIST && y->first->first && !y->first->first->next &&
                   strcmp(y->first->first->text ? y->first->first->text : "", pattern) == 0;
        if (entry || list || map) {
            *added += 1;
            continue;
        }
        if (!x || !is_alike(x, y, pattern, depth == 0 ? 1 : shell ? 2 : 3, added))
            return false;
        x = x->next;
    }
    return !x;
}

int rule_add(const char *name, const char *bytes, size_t len, const char *pattern, struct buf *out,
             size_t *ret_line, struct err *e)
{
    enum { TREES_MAX = 64 << 20 };
    struct arena arena;
    const struct yaml_node *before, *after;
    struct insertion in = {0};
    arena_init(&arena, &allocator_libc, TREES_MAX);
    buf_init(&in.text, &allocator_libc, INSERTION_MAX);
    int added = 0, r = yaml_parse(&arena, name, bytes, len, &before, e);
    if (r == 0 && before->kind != YAML_MAP)
        r = err_set(e, -EINVAL, "%s: a configuration is a map of keys", name);
    if (r == 0) {
        r = place_entry(bytes, len, before, pattern, &in);
        if (r == 0) {
            buf_append(out, bytes, in.at);
            buf_append(out, in.text.data, in.text.len);
            buf_append(out, bytes + in.at, len - in.at);
            r = in.text.failed ? in.text.failed : out->failed;
        }
        /* Read again, it must be what it was, and the rule. */
        if (r == 0 && (yaml_parse(&arena, name, out->data, out->len, &after, NULL) < 0 ||
                       !is_alike(before, after, pattern, 0, &added) || added != 1))
            r = -ENOTSUP;
        if (r < 0)
            err_set(e, r,
                    "%s: shell.allow is written in a way that this cannot add to: add "
                    "\"%s\" by hand",
                    name, pattern);
    }
    if (r == 0) {
        const char *found = strstr(in.text.data, pattern);
        *ret_line = line_of(out->data, in.at + (found ? (size_t)(found - in.text.data) : 0));
    }
    buf_release(&in.text);
    arena_release(&arena);
    return r;
}
