/* The script that a command is given: a file or standard input, its language and its arguments. */
#ifndef NACRE_CLI_SCRIPT_H
#define NACRE_CLI_SCRIPT_H

#include "cli/run.h"

#define SCRIPT_LANGUAGE_OPTION(type, field)                                                        \
    {                                                                                              \
        .name = "lang", .letter = 'l', .kind = OPTION_TEXT, .value_name = "LANGUAGE",              \
        .help = "of a script: python, lisp, js, bash, perl, ruby, lua, c ... (default: by the "    \
                "name of its file)",                                                               \
        .offset = offsetof(type, field)                                                            \
    }

/* `bytes` is initialised and empty, and holds the script; `ret` points into it. */
int script_from_words(const struct options_parsed *words, const char *language, struct buf *bytes,
                      struct run_subject *ret, struct err *e);

#endif
