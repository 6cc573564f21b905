/*
 * What the commands share: one way to print, one way to complain, one way to open the library.
 *
 * A command is one file that exports one `struct command`; commands.c lists them.
 */
#ifndef NACRE_CLI_CLI_H
#define NACRE_CLI_CLI_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/options.h"
#include "nacre.h"

/* Exit codes: those of every command but `run`, and what `run` adds to the command's own. */
enum {
    EXIT_YES = 0,
    EXIT_NO = 1,
    EXIT_WRONG_CALL = 2,
    EXIT_CONFIRM = 3, /* `test` */
    EXIT_BROKEN = 125,
    EXIT_REFUSED = 126, /* denied, or needs a confirmation that nobody gave */
};

/* False only in the program with which the tests try the walls alone; main.c sets it. */
extern const bool cli_judges;

/* Ends with NULL. */
extern const struct command *const cli_commands[];

/* "nacre: …" on standard error, safe for a terminal. */
void cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Standard output. The first failure (closed, full, gone) is remembered; cli_finish complains about
 * it once and returns `broken` in its case, else `status`.
 */
int cli_print(const char *bytes, size_t len); /* 0 or a negative errno */
int cli_print_json(void *ignored, const char *bytes, size_t len);
int cli_print_buf(struct buf *text); /* prints and releases; its failure counts too */
int cli_finish(int status, int broken);
int cli_flush(void); /* what was printed so far is seen now */

/* Appends a text as a terminal may be shown it, at most so many bytes of it. */
void cli_append_escaped(struct buf *out, const char *text, size_t max);

/* By the locale's variables; any other terminal is given ASCII alone, since it may take the bytes
 * of a character for controls. */
bool cli_terminal_is_utf8(void);

/* For a call that cannot be carried out but asked for JSON: status, exit code and error, all known.
 */
void cli_print_json_error(int exit_code, const char *message);

/* The same with the first complaint, of a command that has printed nothing. */
void cli_print_json_complaint(const char *command, int exit_code);

/* Whether to use colour on standard output. */
bool cli_colour(void);

/* The launcher that belongs to this program, if it lies beside it; `path` has PATH_MAX bytes. */
bool cli_find_launcher(char *path);

/* The library, with that launcher. Complains by itself. */
nacre *cli_open(void);

/* The caller's environment in the library's form. */
const char *const *cli_environment(void);

/* Before anything else: descriptors 0 to 2 exist from here on. */
void cli_secure_stdio(void);
bool cli_stdin_is_closed(void);

#endif
