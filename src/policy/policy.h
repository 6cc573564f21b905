/*
 * The policy room: configuration → one effective policy; facts + policy → verdict.
 *
 * Loading reads files and fails with file, line and column. Judging is pure: no I/O, the same
 * verdict for the same facts and policy, and a zeroed verdict means deny.
 */
#ifndef NACRE_POLICY_POLICY_H
#define NACRE_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "facts/knowledge.h"

enum decision { DECISION_DENY, DECISION_CONFIRM, DECISION_ALLOW }; /* the strictest first */

/* Where an entry of the effective policy comes from. */
enum policy_layer {
    LAYER_BUILTIN,
    LAYER_SYSTEM,
    LAYER_USER, /* --config too */
    LAYER_PROJECT,
    LAYER_AGENT,
    LAYER_CALL, /* the command line */
};

struct policy_origin {
    enum policy_layer layer;
    const char *file; /* as it was found; NULL for the command line; "dev" for a built-in one */
    uint32_t line, column;
};

/* A list of words that commands are compared with; `text` is what was written. */
struct policy_pattern {
    const char *text;
    const char *const *words;
    size_t count;
    bool rest;  /* a last word * was written */
    bool exact; /* a first word = was: these words and no others; only to allow */
    struct policy_origin origin;
    bool preset; /* of a preset */
    bool lifted; /* an entry that came with nacre and that `unblock` took away */
};

struct policy_patterns {
    struct policy_pattern *items;
    size_t count;
};

struct policy_text {
    const char *text;
    struct policy_origin origin;
};

struct policy_texts {
    struct policy_text *items;
    size_t count;
};

/* How scripts of a language are run; see languages.c. */
struct policy_language {
    const char *name;
    struct policy_texts aliases;
    struct policy_texts build;    /* makes {out} of {file}; none: nothing is built */
    struct policy_texts run;      /* a command line */
    struct policy_texts programs; /* in place of the first word, where that one is not there */
    const char *ending;           /* of the script's name; NULL: none */
    const char *install;          /* how to get it; NULL: nobody says */
    bool command;                 /* a script is a command text, judged and run as one */
    struct policy_origin origin;
};

struct policy_languages {
    struct policy_language *items; /* by name */
    size_t count;
};

enum policy_network { NETWORK_OFF, NETWORK_ON, NETWORK_LISTED };

/*
 * Texts, exit codes and marks that a preset fixes for what comes of a run. Each is NULL where
 * nothing is fixed. In a template stands {name} for a value; messages.h has how it is filled in.
 */
enum { CHAT_ACTION, CHAT_BUFFER, CHAT_TARGET, CHAT_FIELDS };
enum { TOOL_DESCRIPTION, TOOL_NAME, TOOL_FIELDS };
struct policy_messages {
    const char *analysis;                                /* what a model is asked of a script */
    const char *completed;                               /* {answer} */
    const char *denied, *denied_plain, *denied_unlisted; /* for stderr */
    uint64_t denied_exit_code;
    const char *no_output; /* in the place of none */
    const char *prompt;    /* what `nacre prompt` says */
    const char *timed_out; /* behind what was printed */
    const char *too_long;  /* as denied */
    const char *truncated; /* where output was cut */
    const char *chat[CHAT_FIELDS];
    const char *decisions[3];      /* allow, confirm, deny; policy_decision_name reads them */
    const char *tool[TOOL_FIELDS]; /* run_command's, under another name */
    const char *tool_command; /* of its one argument; it has no other, and none go on from it */
};

/* The effective policy: every layer put together, before ~ and the workspace are put in. */
struct policy {
    const char *profile; /* safe, dev, full-auto: what it all extends */
    const char *agent;   /* NULL */
    const char *preset;  /* the last one that it is made of; NULL */
    bool refused;        /* profile safe: nothing runs */
    bool mandate;        /* `allow` is a whole list: what is not on it is denied */

    struct policy_patterns allow, confirm, deny;
    /* --allow: with `call_mandate` a command must match one of these as well as what the rest says;
     * they never make anything wider. What is not on them is denied, programs at exec included. */
    struct policy_patterns call_allow;
    bool call_mandate;
    /* The same of a session's mandate: with both, a command must match one of each. */
    struct policy_patterns session_allow;
    bool session_mandate;
    enum decision unknown;
    uint64_t default_timeout_ms;
    uint64_t max_command_length; /* 0: none */
    bool plain;
    /* What of a script that no list names the program of: deny, confirm, allow, or unknown, which
     * is what `unknown` says. */
    const char *scripts;
    struct policy_languages languages;

    /* Paths as written, without empty, . and last parts: absolute, below ~, or (protect, hide) in
     * the workspace. The entries of `read` and `write` from LAYER_BUILTIN are what the box has of
     * its own or shows anyway; the others must be mounted. */
    struct policy_texts read, write, protect, hide;
    enum policy_network network;
    struct policy_texts hosts;

    struct {
        uint64_t cpu_ms, memory_bytes, processes, files, output_bytes, timeout_max_ms, disk_bytes;
    } limits;
    struct policy_texts env_pass;
    struct policy_texts env_set; /* NAME=VALUE */
    struct {
        const char *mode, *keep;
        uint64_t limit;
        bool cut;    /* every result is cut to the limit, not only what a model is shown */
        bool trim;   /* blanks at its ends are left out */
        bool submit; /* a line SUBMIT: answer ends a task */
    } output;
    struct {
        uint64_t delete_files, write_bytes;
    } effects;
    bool workspace_read_only;
    const char *strength;
    bool accept_irreversible;
    bool toolchains;
    bool redact_all;
    const char *redact_as; /* what stands in a secret's place; NULL: [REDACTED:rule] */
    struct {
        bool elicit;
        uint64_t timeout_ms;
        /* Answers must be signed with this key, a text as note_key_write makes it; NULL: none. */
        const char *key;
        const char *approver;      /* who holds it: the name that it bears; NULL: anybody */
        struct policy_texts judge; /* a program that is asked first, and its arguments */
        uint64_t judge_timeout_ms;
    } approvals;
    struct {
        struct policy_texts send; /* where checkpoints of the ledger go, besides */
        uint64_t every_ms;        /* at most so often; 0: with each */
        /* What is older, or more, may be dropped, but for its hashes; 0: nothing is. */
        uint64_t max_age_ms, max_bytes;
    } ledger;
    struct policy_texts tools;
    struct policy_messages messages;
    const char *jobs_root; /* where jobs have their workspaces; NULL: the caller's own place */
    const struct yaml_node *gates; /* as written; NULL */

    const struct knowledge_base *knowledge; /* the built-in one, or users' files before it */
    struct policy_texts commands; /* users' files of knowledge: the SHA-256 of each, and where */
    struct policy_texts warnings;
    const struct policy_origin *origins; /* of each of policy_keys (keys.h): the last that set it */
    char hash[65];                       /* mandate_hash */
};

struct policy_request {
    const char *profile;    /* --profile; NULL: what the files say, else dev */
    const char *agent;      /* --agent; NULL */
    const char *config;     /* --config; NULL: the user's own file */
    const char *workspace;  /* canonical */
    const char *system_dir; /* /etc/nacre */
    const char *user_dir;   /* $XDG_CONFIG_HOME/nacre; NULL */
    const char *const
        *allow;          /* --allow: each a pattern; together a mandate. Ends with NULL; NULL */
    const char *network; /* --network off|on; NULL */
    const char *const *read_paths, *const *write_paths; /* end with NULL; NULL */
    const char *const *limits; /* --limit: each NAME=VALUE. Ends with NULL; NULL */
    /* What a session lays over all of it: likewise, but -EINVAL for what would widen. */
    struct policy_session {
        const char *const *allow, *const *deny, *const *limits;
        const char *network;
    } session;
};

/* Everything that the files and the call say, in one policy. -EINVAL with "FILE:LINE:COLUMN: …". */
int policy_load(struct arena *arena, const struct policy_request *request,
                const struct policy **ret, struct err *e);

/* The decision behind `scripts`. */
enum decision policy_scripts(const struct policy *policy);

/* By its name or an alias; NULL: it is not known. */
const struct policy_language *policy_find_language(const struct policy *policy, const char *name);

/* Whether what is on no list of the call or the session is denied, programs at exec included. */
static inline bool policy_has_mandate(const struct policy *policy)
{
    return policy->call_mandate || policy->session_mandate;
}

/* The canonical effective policy as JSON: what mandate_hash is the SHA-256 of. */
void policy_write_canonical(const struct policy *policy, struct json *out);

/* The agents that can be named: built in, system's, user's, project's. */
struct policy_agent {
    const char *name, *file, *description; /* description may be NULL */
    enum policy_layer layer;
    bool preset; /* it is made to be extended: see docs/presets.md */
};
int policy_agents(struct arena *arena, const struct policy_request *request,
                  struct policy_agent **ret, size_t *ret_count, struct err *e);

#endif
