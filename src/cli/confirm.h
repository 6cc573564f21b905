/* A verdict that asks for a person: shown on standard error, answered at the terminal. */
#ifndef NACRE_CLI_CONFIRM_H
#define NACRE_CLI_CONFIRM_H

#include "cli/decide.h"

/* Whether somebody is there: standard input and standard error are terminals. */
bool confirm_is_possible(void);

/* What is asked about. */
struct confirm_text {
    const char *bytes;
    size_t len;
    const char *session;  /* NULL */
    const char *language; /* of a script, with its arguments; NULL */
    const char *const *args;
};

/* The verdict with its reasons on standard error. */
void confirm_show(const struct place_options *place, const struct policy_options *policy,
                  const struct policy_call_options *call, const struct confirm_text *what);

/* Shows the whole text or script, with what its session left before it, made safe, and the verdict;
 * 1 when the answer is yes, which must be typed out. */
int confirm_ask(const struct place_options *place, const struct policy_options *policy,
                const struct policy_call_options *call, const struct confirm_text *what);

#endif
