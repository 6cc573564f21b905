/*
 * The options with which every command that judges says by which policy, and how the commands open
 * it.
 */
#ifndef NACRE_CLI_POLICY_OPTIONS_H
#define NACRE_CLI_POLICY_OPTIONS_H

#include "base/options.h"
#include "policy/policy.h"

struct policy_options {
    const char *agent;
    const char *profile;
    const char *config;
    const char *workspace; /* of commands without PLACE_OPTIONS */
};

/* What a single call asks for, besides. */
struct policy_call_options {
    struct option_list allow, limits, read_paths, write_paths;
    const char *network;
};

/* For a command's table; `type` is its option struct, whose field `policy` this is. */
#define POLICY_OPTIONS(type)                                                                       \
    {.name = "agent",                                                                              \
     .letter = 'a',                                                                                \
     .kind = OPTION_TEXT,                                                                          \
     .value_name = "NAME",                                                                         \
     .help = "the agent that asks; `nacre agents` lists them",                                     \
     .offset = offsetof(type, policy.agent)},                                                      \
        {.name = "profile",                                                                        \
         .kind = OPTION_CHOICE,                                                                    \
         .choices = "safe|dev|full-auto",                                                          \
         .help = "instead of the profile that the configuration extends",                          \
         .offset = offsetof(type, policy.profile)},                                                \
    {                                                                                              \
        .name = "config", .kind = OPTION_TEXT, .value_name = "FILE", .completes = COMPLETES_FILE,  \
        .help = "instead of the user's configuration", .offset = offsetof(type, policy.config)     \
    }

/* For a command that has no PLACE_OPTIONS. */
#define POLICY_WORKSPACE_OPTION(type)                                                              \
    {                                                                                              \
        .name = "workspace", .letter = 'w', .kind = OPTION_TEXT, .value_name = "DIR",              \
        .completes = COMPLETES_DIRECTORY,                                                          \
        .help = "the directory whose project is meant (default: the nearest parent with .nacre "   \
                "or .git, else the current directory)",                                            \
        .offset = offsetof(type, policy.workspace)                                                 \
    }

/* For a command that runs or tests something; the struct's field is `call`. */
#define POLICY_CALL_OPTIONS(type)                                                                  \
    {.name = "allow",                                                                              \
     .kind = OPTION_LIST,                                                                          \
     .value_name = "WORDS",                                                                        \
     .help = "only commands that start with these words, among those that the policy permits",     \
     .offset = offsetof(type, call.allow)},                                                        \
        {.name = "limit",                                                                          \
         .kind = OPTION_LIST,                                                                      \
         .value_name = "NAME=VALUE",                                                               \
         .help = "a limit: cpu, memory, processes, files, output, disk, timeout_max",              \
         .offset = offsetof(type, call.limits)},                                                   \
        {.name = "network",                                                                        \
         .kind = OPTION_CHOICE,                                                                    \
         .choices = "off|on",                                                                      \
         .help = "whether the host's network is shared",                                           \
         .offset = offsetof(type, call.network)},                                                  \
        {.name = "read-path",                                                                      \
         .kind = OPTION_LIST,                                                                      \
         .value_name = "PATH",                                                                     \
         .completes = COMPLETES_FILE,                                                              \
         .help = "a path that is shown, to be read",                                               \
         .offset = offsetof(type, call.read_paths)},                                               \
    {                                                                                              \
        .name = "write-path", .kind = OPTION_LIST, .value_name = "PATH",                           \
        .completes = COMPLETES_FILE, .help = "a path that is shown, to be read and written",       \
        .offset = offsetof(type, call.write_paths)                                                 \
    }

/* The request for a canonical workspace; `call` may be NULL. It lives as long as the arena. */
int policy_options_request(struct arena *arena, const struct policy_options *options,
                           const struct policy_call_options *call, const char *workspace,
                           struct policy_request *ret, struct err *e);

/*
 * For commands that only show: finds the workspace, makes the request, loads the policy and hands
 * both to `use`. Complains in the name of `command`; warnings go to standard error. Returns an exit
 * status: 2 where the configuration does not load.
 */
typedef int policy_user(struct arena *arena, const struct policy_request *request,
                        const struct policy *policy, const void *user);
int policy_with(const struct policy_options *options, const char *command, policy_user *use,
                const void *user);

/* "user FILE:LINE:COLUMN", "builtin dev:LINE:COLUMN", "command line". */
void policy_append_origin(const struct policy_origin *origin, struct buf *out);
void policy_write_origin(const struct policy_origin *origin, struct json *out);

#endif
