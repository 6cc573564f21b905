/* What can be said of a word without running anything. */
#include <string.h>

#include "shell/chars.h"
#include "shell/shell.h"

/* Braces in live text may make several words: {a,b} or {1..3}, also across parts. */
struct braces {
    unsigned open;
    bool comma;
    bool dots;
};

/* Whether this live text may become something else: a glob, a tilde, braces. */
static bool is_live(const struct shell_text *text, bool first, struct braces *braces, bool *bracket)
{
    for (uint32_t i = 0; i < text->len; i++) {
        char c = text->bytes[i];
        switch (c) {
        case '*':
        case '?':
            return true;
        case '[':
            *bracket = true;
            break;
        case ']':
            if (*bracket)
                return true;
            break;
        case '~':
            if (first && i == 0)
                return true;
            /* behind = and : it is expanded in assignments and what looks like one */
            if (i && (text->bytes[i - 1] == '=' || text->bytes[i - 1] == ':'))
                return true;
            break;
        case '{':
            braces->open++;
            break;
        case ',':
            braces->comma |= braces->open > 0;
            break;
        case '.':
            braces->dots |= braces->open && i + 1 < text->len && text->bytes[i + 1] == '.';
            break;
        case '}':
            if (braces->open && (braces->comma || braces->dots))
                return true;
            break;
        default:
            break;
        }
    }
    return false;
}

bool shell_word_known(const struct shell_word *word, struct buf *out)
{
    struct braces braces = {0};
    bool bracket = false;
    for (const struct shell_part *part = word->parts; part; part = part->next) {
        if (part->kind != SHELL_TEXT && part->kind != SHELL_QUOTED)
            return false;
        if (part->kind == SHELL_TEXT &&
            is_live(&part->text, part == word->parts, &braces, &bracket))
            return false;
    }
    for (const struct shell_part *part = word->parts; part && out; part = part->next)
        buf_append(out, part->text.bytes, part->text.len);
    return true;
}

const struct shell_command *shell_plain_command(const struct shell_tree *tree)
{
    const struct shell_item *item = tree->list->items;
    if (!item || item->next || item->end == SHELL_END_BACKGROUND || item->pipelines->next)
        return NULL;
    const struct shell_pipeline *pipeline = item->pipelines;
    const struct shell_command *command = pipeline->commands;
    if (pipeline->negated || pipeline->timing != SHELL_NOT_TIMED || command->next ||
        command->kind != SHELL_SIMPLE || command->simple.assignments || command->redirects ||
        !command->simple.words)
        return NULL;
    for (const struct shell_word *word = command->simple.words; word; word = word->next) {
        if (!shell_word_known(word, NULL))
            return NULL;
    }
    return command;
}

bool shell_is_builtin(const char *name)
{
    static const char *const names[] = {
        ".",      ":",       "[",         "alias",    "bg",       "bind",    "break",    "builtin",
        "caller", "cd",      "command",   "compgen",  "complete", "compopt", "continue", "declare",
        "dirs",   "disown",  "echo",      "enable",   "eval",     "exec",    "exit",     "export",
        "false",  "fc",      "fg",        "getopts",  "hash",     "help",    "history",  "jobs",
        "kill",   "let",     "local",     "logout",   "mapfile",  "popd",    "printf",   "pushd",
        "pwd",    "read",    "readarray", "readonly", "return",   "set",     "shift",    "shopt",
        "source", "suspend", "test",      "times",    "trap",     "true",    "type",     "typeset",
        "ulimit", "umask",   "unalias",   "unset",    "wait",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}
