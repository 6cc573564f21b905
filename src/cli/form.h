/* --format: what is printed as a document (serve/format.h). */
#ifndef NACRE_CLI_FORM_H
#define NACRE_CLI_FORM_H

#include "cli/cli.h"
#include "policy/verdict.h"
#include "serve/format.h"

/* For a command's table; the struct's field is `format`. */
#define FORM_OPTION(type)                                                                          \
    {                                                                                              \
        .name = "format", .kind = OPTION_CHOICE, .choices = FORMAT_CHOICES,                        \
        .help =                                                                                    \
            "how it is printed: text is the default, json that of --json, org, sexp (property "    \
            "lists) and markdown are documents",                                                   \
        .offset = offsetof(type, format)                                                           \
    }

/* What --json and --format come to. */
enum format form_of(bool json, const char *format);

/* On standard output; a terminal is given nothing that it would obey. 0 or a negative errno. */
int form_print_result(const nacre_result *r, enum format form);
int form_print_verdict(const struct verdict *verdict, const char *text, size_t len,
                       enum format form);
int form_print_plan(const struct buf *lines, enum format form);

#endif
