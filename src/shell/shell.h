/*
 * The shell room: text → tree → canonical text.
 *
 * In: the bytes of a command as `bash -c -- TEXT` would get them. Out: the tree of all of it, or a
 * refusal with its place; and from a tree the canonical text, which is what bash is given to run.
 * The room never runs, opens or expands anything, and never returns a part of a tree.
 *
 * 1. What bash 5.2 refuses is refused. What bash accepts is accepted, unless it cannot be read with
 *    certainty; those cases are listed in docs/reading.md.
 * 2. What is accepted is read as bash reads it: no command that bash could run is missing.
 * 3. parse(render(tree)) is the same tree.
 * 4. Time and memory are linear in the length of the text; nesting is bounded.
 */
#ifndef NACRE_SHELL_SHELL_H
#define NACRE_SHELL_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "shell/ast.h"

enum {
    SHELL_TEXT_MAX = 4 * 1024 * 1024,   /* bytes of a text that is read at all */
    SHELL_TREE_MAX = 512 * 1024 * 1024, /* enough for the tree of any text */
    SHELL_DEPTH_MAX = 200,              /* constructs within constructs */
    SHELL_MESSAGE_MAX = 160,
};

struct shell_error {
    int code;        /* -EINVAL: refused; -ENOMEM, -E2BIG */
    uint32_t offset; /* in the text as given */
    uint32_t line;   /* from 1 */
    uint32_t column; /* from 1, in characters */
    char message[SHELL_MESSAGE_MAX];
};

struct shell_tree {
    struct shell_text source; /* the tree's own copy */
    struct shell_list *list;
};

/* The tree of `text` in `arena`, or a negative errno and the error. */
int shell_parse(struct arena *arena, const char *text, size_t len, const struct shell_tree **ret,
                struct shell_error *error);

/* The line that an error points into and a caret below its place, safe for a terminal; `ascii_only`
 * for one that may not speak UTF-8. */
void shell_error_show(const struct shell_error *error, const char *text, size_t len,
                      bool ascii_only, struct buf *out);

/* The canonical text. Line numbers are those of the source. */
void shell_render(const struct shell_tree *tree, struct buf *out);
/* One word, as it stands in the canonical text. */
void shell_render_word(const struct shell_word *word, struct buf *out);

/* The tree for people, a node a line, and for programs. */
void shell_dump(const struct shell_tree *tree, struct buf *out);
void shell_dump_json(const struct shell_tree *tree, struct json *out);

/* Every command of the text, those in substitutions, functions and documents too, outer before
 * inner, in the order of the text. Stops when `visit` returns false. */
typedef bool shell_visit(void *user, const struct shell_command *command);
void shell_each_command(const struct shell_tree *tree, shell_visit *visit, void *user);

/* Whether the word stands for exactly one known text, whatever the state of the shell; appended to
 * `out` (which may be NULL) when so. */
bool shell_word_known(const struct shell_word *word, struct buf *out);

/* The one simple command that the text is, if all its words are known and it has nothing else. */
const struct shell_command *shell_plain_command(const struct shell_tree *tree);

/* Whether bash has a builtin of this name, which goes before a program of that name. */
bool shell_is_builtin(const char *name);

bool shell_is_reserved(const char *bytes, size_t len);
/* Whether a command's name would be something else if no redirection stood before it. */
bool shell_is_special(const struct shell_word *name);

#endif
