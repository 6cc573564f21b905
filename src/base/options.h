/*
 * The command line as tables. A command is one constant: its name, its words, its options and its
 * function. Parsing, help, completions for bash, zsh and fish, and the tables of the manual page
 * all come from these tables, so none of them can fall behind.
 */
#ifndef NACRE_BASE_OPTIONS_H
#define NACRE_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum option_kind {
    OPTION_FLAG,     /* bool */
    OPTION_TEXT,     /* const char *: the last one given wins */
    OPTION_CHOICE,   /* const char *: one of `choices`, separated by '|' */
    OPTION_DURATION, /* uint64_t milliseconds, never 0: that is an option not given */
    OPTION_LIST,     /* struct option_list: may be given several times */
};

enum option_completes { COMPLETES_NOTHING, COMPLETES_FILE, COMPLETES_DIRECTORY };

/* The values of an OPTION_LIST in order; more than fit are refused. */
enum { OPTION_LIST_MAX = 64 };
struct option_list {
    size_t count;
    const char *value[OPTION_LIST_MAX];
};

struct option {
    const char *name; /* without the dashes */
    char letter;      /* short form, or 0 */
    enum option_kind kind;
    const char *value_name; /* in help: DIR, TIME …; NULL: the choices, or a word for the kind */
    const char *choices;    /* OPTION_CHOICE only */
    enum option_completes completes;
    const char *help; /* one line, no full stop */
    size_t offset;    /* of the field in the command's option struct */
};

/* What a parsed line came to, besides the filled struct. */
struct options_parsed {
    bool help;      /* -h or --help was met; what stands behind it was not looked at */
    bool separator; /* a `--` stood before the first operand */
    int count;
    char **operands; /* the front of `argv`, in order; a NULL follows if argv[argc] is one */
};

struct command {
    const char *name;
    const char *summary;  /* one line for the list of commands */
    const char *synopsis; /* what stands behind the options: "'TEXT' | -- ARGV… | -" */
    /*
     * For --help and the manual. Lines are filled anew; an empty line parts two paragraphs, and
     * lines that start with a space are examples, which stay as they are.
     */
    const char *description;
    const struct option *options; /* ends with a null name; NULL: none but --help */
    size_t options_size;          /* of the struct that the options fill */
    /* Completion of the first operand: "bash|zsh|fish". NULL: every operand completes as a file. */
    const char *operand_choices;
    int wrong_call; /* exit status for a call that does not fit the table */
    int (*run)(const void *options, const struct options_parsed *words);
};

/*
 * Parses the words behind the command's name into `ret_fields` (options_size bytes, zeroed first).
 * Options and operands mix, as in GNU; `--name=value`, `--name value`, `-n value`, `-nvalue`,
 * bundled flags; unambiguous abbreviations are refused on purpose (scripts break when options are
 * added); `--` ends the options; a lone `-` is an operand. -h and --help always exist. Values point
 * into `argv`, whose words are moved. On error returns -EINVAL and says what was wrong in one line,
 * with the nearest name where one is near.
 */
int options_parse(const struct command *command, int argc, char **argv, void *ret_fields,
                  struct options_parsed *ret, struct err *e);

/* The command whose name is `name`, or NULL; `ret_nearest` is then a likely name, or NULL. */
const struct command *options_find_command(const struct command *const *commands, const char *name,
                                           const char **ret_nearest);

/* Renderings of the tables. `commands` ends with NULL. All return what buf_append does. */
int options_help_program(const struct command *const *commands, struct buf *out);
int options_help_command(const struct command *command, struct buf *out);
int options_complete_bash(const struct command *const *commands, struct buf *out);
int options_complete_zsh(const struct command *const *commands, struct buf *out);
int options_complete_fish(const struct command *const *commands, struct buf *out);
int options_man_tables(const struct command *const *commands, struct buf *out); /* mdoc */

/*
 * How the renderings read the tables.
 */

/* The option behind `before`, the first for NULL; the last one is always --help, then NULL. */
const struct option *options_next(const struct command *command, const struct option *before);

bool options_takes_value(const struct option *option);

/* What stands for the value in help; for choices without a name the choices. NULL for flags. */
const char *options_value_name(const struct option *option);

/* The option's help, with its choices behind it where the value's name hides them. */
int options_append_help(const struct option *option, struct buf *out);

/* A piece of a longer text. */
struct options_piece {
    const char *text;
    size_t len;
    bool example; /* paragraphs only */
};

/* The next of `*rest`, choices or paragraphs, and moves it on; false when there is none left. */
bool options_next_choice(const char **rest, struct options_piece *ret);
bool options_next_paragraph(const char **rest, struct options_piece *ret);

#endif
