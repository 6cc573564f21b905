/* What `run` and `script` share: their options, and how a text or a script is run with them. */
#ifndef NACRE_CLI_RUN_H
#define NACRE_CLI_RUN_H

#include "cli/decide.h"
#include "cli/form.h"

struct run_command_options {
    struct place_options place;
    struct policy_options policy;
    struct policy_call_options call;
    uint64_t timeout_ms;
    const char *keep;
    const char *session;  /* `run` alone */
    const char *language; /* `script` alone */
    bool json, stage, deterministic, trace, background, tty, wait;
    uint64_t input_timeout_ms;
    const char *format, *trace_file;
};

/* For a command's table; `type` is struct run_command_options. */
#define RUN_OPTIONS(type)                                                                          \
    PLACE_OPTIONS(type),                                                                           \
        {.name = "timeout",                                                                        \
         .letter = 't',                                                                            \
         .kind = OPTION_DURATION,                                                                  \
         .value_name = "TIME",                                                                     \
         .help = "kill everything after this time: 30s, 5m, 500ms (default 120s, at most 600s)",   \
         .offset = offsetof(type, timeout_ms)},                                                    \
        POLICY_OPTIONS(type), POLICY_CALL_OPTIONS(type),                                           \
        {.name = "keep",                                                                           \
         .kind = OPTION_CHOICE,                                                                    \
         .choices = "head|tail|both",                                                              \
         .help = "which part of an output past its limit is kept (default both)",                  \
         .offset = offsetof(type, keep)},                                                          \
        {.name = "stage",                                                                          \
         .kind = OPTION_FLAG,                                                                      \
         .help = "hold what the command changes until `nacre commit`",                             \
         .offset = offsetof(type, stage)},                                                         \
        {.name = "wait",                                                                           \
         .kind = OPTION_FLAG,                                                                      \
         .help = "where a person must say yes and nobody is at this terminal: wait until `nacre "  \
                 "approve` or `nacre deny` answers from elsewhere",                                \
         .offset = offsetof(type, wait)},                                                          \
        {.name = "background",                                                                     \
         .letter = 'b',                                                                            \
         .kind = OPTION_FLAG,                                                                      \
         .help =                                                                                   \
             "return at once with the run's id; `ps`, `logs`, `input`, `wait` and `kill` go on "   \
             "from there",                                                                         \
         .offset = offsetof(type, background)},                                                    \
        {.name = "tty",                                                                            \
         .kind = OPTION_FLAG,                                                                      \
         .help =                                                                                   \
             "give the command a terminal of its own, as large as yours, and yours to its keys",   \
         .offset = offsetof(type, tty)},                                                           \
        {.name = "input-timeout",                                                                  \
         .kind = OPTION_DURATION,                                                                  \
         .value_name = "TIME",                                                                     \
         .help = "end it when it only waits for standard input, on which nothing came so long "    \
                 "(default: not at all)",                                                          \
         .offset = offsetof(type, input_timeout_ms)},                                              \
        {.name = "deterministic",                                                                  \
         .kind = OPTION_FLAG,                                                                      \
         .help = "fix what differs from run to run: time zone, seeds, addresses (see `replay`)",   \
         .offset = offsetof(type, deterministic)},                                                 \
        {.name = "trace",                                                                          \
         .kind = OPTION_FLAG,                                                                      \
         .help = "show how long each phase of the run took",                                       \
         .offset = offsetof(type, trace)},                                                         \
        {.name = "trace-file",                                                                     \
         .kind = OPTION_TEXT,                                                                      \
         .value_name = "FILE",                                                                     \
         .help = "the same, to a file in Chrome's trace format",                                   \
         .offset = offsetof(type, trace_file)},                                                    \
        {.name = "json",                                                                           \
         .kind = OPTION_FLAG,                                                                      \
         .help = "print the whole result as one line of JSON",                                     \
         .offset = offsetof(type, json)},                                                          \
        FORM_OPTION(type)

/* What is to run. */
struct run_subject {
    const char *command; /* in whose name is complained */
    const char *bytes;
    size_t len;
    const char *language; /* of a script; NULL: it is a command text */
    const char *const *args;
    bool from_stdin; /* standard input was used up by it */
};

/* Runs it, shows what comes of it, and returns the exit status. */
int run_subject(const struct run_command_options *wanted, const struct run_subject *subject);

/* Where there is none, for `message` is why not. */
int run_nothing(const struct run_command_options *wanted, const char *command, const char *message);

#endif
