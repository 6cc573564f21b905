/* The options with which every command that looks at a text says where it would run. */
#ifndef NACRE_CLI_PLACE_H
#define NACRE_CLI_PLACE_H

#include "base/options.h"
#include "engine/engine.h"

struct place_options {
    const char *workspace;
    const char *cwd;
    const char *job;
};

/* For a command's table; `type` is its option struct, whose field `place` this is. */
#define PLACE_OPTIONS(type)                                                                        \
    {.name = "workspace",                                                                          \
     .letter = 'w',                                                                                \
     .kind = OPTION_TEXT,                                                                          \
     .value_name = "DIR",                                                                          \
     .completes = COMPLETES_DIRECTORY,                                                             \
     .help = "the directory that the command may change, or :memory: for one that is gone "        \
             "afterwards (default: the nearest parent with .nacre or .git, else the current "      \
             "directory)",                                                                         \
     .offset = offsetof(type, place.workspace)},                                                   \
        {.name = "job",                                                                            \
         .kind = OPTION_TEXT,                                                                      \
         .value_name = "ID",                                                                       \
         .help = "in the workspace of this job, which `nacre job new` made",                       \
         .offset = offsetof(type, place.job)},                                                     \
    {                                                                                              \
        .name = "cwd", .kind = OPTION_TEXT, .value_name = "DIR", .completes = COMPLETES_DIRECTORY, \
        .help = "start in this directory of the workspace (default: the workspace itself)",        \
        .offset = offsetof(type, place.cwd)                                                        \
    }

/* The options of a run there, the rest by default; its job is found by decide_run_options. */
nacre_run_options place_run_options(const struct place_options *place);

/*
 * Opens the library, plans `text`, of a script its `len` bytes, and hands the plan to `use`, which
 * prints to standard output. Returns an exit status; complains in the name of `command`.
 */
typedef void place_user(const struct nacre *n, const struct setting *setting,
                        const struct plan *plan, const void *user);
int place_with_plan(const nacre_run_options *options, const char *text, size_t len,
                    const char *command, place_user *use, const void *user);

#endif
