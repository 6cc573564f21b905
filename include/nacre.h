/*
 * nacre.h - run shell commands of AI agents in a sandbox.
 *
 * The life of a typical call:
 *
 *     nacre *n;  nacre_result *r;  nacre_error e;
 *     nacre_options o = NACRE_OPTIONS_INIT;            nacre_open(&o, &n, &e);
 *     nacre_run_options ro = NACRE_RUN_OPTIONS_INIT;   nacre_run(n, "make test", 9, &ro, &r, &e);
 *     puts(nacre_result_output(r, NACRE_STDOUT, NULL));
 *     nacre_result_free(r);  nacre_close(n);
 *
 * This header is the authority on what the library does.
 *
 *   - Functions that can fail return 0 or a negative errno value and fill the nacre_error that they
 *     are given (which may be NULL). Outputs are written only on success.
 *   - The library never prints, never exits, installs no signal handler and keeps no global state.
 *     Different threads may use one nacre handle at the same time; one result belongs to one thread
 *     at a time.
 *   - Each run starts a child process and waits for it. A host that reaps every child of its own
 *     (waitpid(-1), SIGCHLD ignored) does not disturb the library.
 *   - Everything that the command started is dead when nacre_run returns, and dies with the thread
 *     that called it. (Should the kernel not end it within 10 s, the status is ERROR and says so.)
 */
#ifndef NACRE_H
#define NACRE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NACRE_API __attribute__((visibility("default")))
#else
#define NACRE_API
#endif

typedef struct nacre nacre;
typedef struct nacre_result nacre_result;

typedef struct nacre_error {
    int code; /* negative errno */
    char message[512];
} nacre_error;

/* The library's version, such as "0.1.0". */
NACRE_API const char *nacre_version(void);

/* --- handle --------------------------------------------------------------------------------- */

#define NACRE_OPTIONS_VERSION 2

typedef struct nacre_options {
    unsigned version; /* NACRE_OPTIONS_VERSION; NACRE_OPTIONS_INIT sets it */
    /* Path of the program nacre-launch; NULL: where `make install` puts it. */
    const char *launcher;
    /*
     * Memory: like realloc, but frees and returns NULL for size 0. NULL: the C library's. Called
     * from every thread that uses the handle or its results.
     */
    void *(*resize)(void *user, void *old, size_t size);
    void *resize_user;
    /*
     * How many sandboxes are kept ready, built ahead by a thread of the handle's, for runs like the
     * last ones; each is used once. 0: none. With them, what a run started dies with the handle
     * and not with the thread that called nacre_run.
     */
    unsigned warm;
} nacre_options;

#define NACRE_OPTIONS_INIT                                                                         \
    {                                                                                              \
        NACRE_OPTIONS_VERSION, NULL, NULL, NULL, 0                                                 \
    }

/* Opens a handle; `options` may be NULL. The caller closes it after its last result is freed. */
NACRE_API int nacre_open(const nacre_options *options, nacre **ret, nacre_error *error);

/* Accepts NULL. */
NACRE_API void nacre_close(nacre *n);

/* --- run ------------------------------------------------------------------------------------ */

/* Which part of an output that passes its limit is kept. */
typedef enum nacre_keep { NACRE_KEEP_HEAD, NACRE_KEEP_TAIL, NACRE_KEEP_BOTH } nacre_keep;

typedef enum nacre_stream { NACRE_STDOUT, NACRE_STDERR } nacre_stream;

#define NACRE_TIMEOUT_DEFAULT_MS 120000
#define NACRE_TIMEOUT_MAX_MS     600000
#define NACRE_OUTPUT_DEFAULT     1048576
#define NACRE_OUTPUT_MAX         67108864
#define NACRE_TEXT_MAX           4194304

/* Whose word on_confirm's answer is. */
typedef enum nacre_confirm_by {
    NACRE_CONFIRM_PERSON = 0, /* of a person at a terminal, whom the host itself has asked */
    NACRE_CONFIRM_CLIENT = 1  /* a client's, which counts only where `approvals.elicit` says so */
} nacre_confirm_by;

/*
 * What a session may do at the most. It is laid over policy and options and can only tighten them:
 * what would widen is an error. Commands must match one pattern of `allow` (besides any of the
 * options' own list) and none of `deny`; limits are NAME=VALUE; `network` is "off". Lists end with
 * NULL; each may be NULL.
 */
typedef struct nacre_mandate {
    const char *const *allow, *const *deny, *const *limits;
    const char *network;
} nacre_mandate;

#define NACRE_RUN_OPTIONS_VERSION 7

typedef struct nacre_run_options {
    unsigned version; /* NACRE_RUN_OPTIONS_VERSION; NACRE_RUN_OPTIONS_INIT sets it */
    /*
     * The directory that the command may change. NULL: the nearest parent of the current directory
     * with .nacre or .git in it, else the current directory. A parent counts only if it and its
     * marker have the current directory's owner and others may not write to it; the home directory
     * and what lies above it never do. ":memory:": one in memory, with no path on the host; it is
     * made at its first use and lives as long as the handle.
     */
    const char *workspace;
    /* Where the command starts: absolute, or relative to the workspace; NULL: the workspace. */
    const char *cwd;
    /* 0: the default. Past NACRE_TIMEOUT_MAX_MS it is clamped, with a warning in the result. */
    uint64_t timeout_ms;
    /* Bytes kept of each stream. 0: the default. Past NACRE_OUTPUT_MAX it is clamped likewise. */
    uint64_t output_limit;
    nacre_keep keep;
    /* Read, and passed on to the command, until its end; -1: the command gets /dev/null. */
    int stdin_fd;
    /* When it becomes readable, everything is killed and the status is KILLED; -1: none. */
    int cancel_fd;
    /*
     * Called from within nacre_run with the head of each stream, up to the limit, as it comes in.
     * Returning anything but 0 kills the run. NULL: none.
     */
    int (*on_output)(void *user, nacre_stream stream, const char *bytes, size_t len);
    void *user;
    /*
     * The caller's environment; ends with NULL. Harmless variables (TERM, TZ …) and those that the
     * policy names are passed on; HOME says where the private home lies inside; PATH and variables
     * such as NVM_DIR lead to toolchains, which are shown. NULL: nothing is passed or shown, and
     * HOME is the process's own.
     */
    const char *const *environment;
    /*
     * By which policy (docs/policy.md): a profile instead of the configured one, an agent's name, a
     * file instead of the user's configuration; each may be NULL. `config_dir` has the user's
     * config.yaml, agents/ and commands/; NULL: none is looked at.
     */
    const char *profile, *agent, *config, *config_dir;
    /* For this call alone: patterns of which every command must match one, "off" or "on", more
     * paths to read and to write, NAME=VALUE limits. Lists end with NULL; each may be NULL. */
    const char *const *allow;
    const char *network;
    const char *const *read_paths, *const *write_paths, *const *limits;
    /*
     * Called when a person must confirm, with the verdict as JSON. Returns 1 for yes, a negative
     * number if nobody could be asked after all, which is as if this were NULL; anything else is
     * no. NULL: nobody is there to ask, and the question is kept (docs/approvals.md): the run is
     * refused as NEEDS_CONFIRMATION, its correlation_id is the question's id, and once somebody has
     * said yes with `nacre approve`, the same call goes through, once; after a no it is DENIED with
     * the reason that was given. Not called either where the policy wants answers that are signed.
     */
    int (*on_confirm)(void *user, const char *verdict_json, size_t len);
    /* 1: the host has decided already, and no policy is asked. The walls are the same. */
    int unjudged;
    /*
     * Where changes are kept, to be undone: absolute. NULL: $XDG_STATE_HOME/nacre or
     * ~/.local/state/nacre of the environment above, else of the process's own.
     */
    const char *state_dir;
    /* 1: nothing that the command changes is real before it is committed. */
    int stage;
    /* 1: the result has no fs_hash, which takes a look at every file of the workspace. */
    int without_hash;
    /* 1: what differs from run to run is fixed as far as it can be (docs/history.md). */
    int deterministic;
    /* 1: the host keeps a record of its own, and nothing is written to the ledger. */
    int unrecorded;
    /* 1: nothing but the workspace is writable, whatever the policy lists. */
    int workspace_only;
    /* 1: the JSON of the result has `trace`, the time that each phase of the run took. */
    int trace;
    /*
     * Called from within nacre_run, once, when the walls stand and the command begins, or at its
     * end where that comes first; its intent is recorded. Not called for a run that never starts.
     * Returning anything but 0 kills the run. NULL: none.
     */
    int (*on_start)(void *user, const char *correlation_id);
    /* 1: on_output is given all that is printed, also what lies past the limit. */
    int all_output;
    /* 1: others use the workspace while this runs: at its end it is looked at again, and that it
     * changed meanwhile is a warning. */
    int shared;
    /*
     * The name of a session in the workspace: the text runs in the directory, with the variables,
     * functions and settings that the last one of that session left, which are judged with it.
     * NULL: none. -EINVAL for a name with other characters than letters, digits, `.`, `_` and `-`.
     */
    const char *session;
    /* Of the command; -1: the process's own. */
    int umask;
    /*
     * 1: the command has a terminal of its own for its standard streams. Everything that it prints
     * is then NACRE_STDOUT, as it stands: not escaped. At the end of stdin_fd, or at once where
     * that is -1, it gets the character for the end of a file (^D).
     */
    int terminal;
    /* A terminal whose size that one has, also when it changes and poll is interrupted; -1: none,
     * and it has 80 columns and 24 rows. */
    int terminal_size_fd;
    /*
     * How long the command may do nothing but wait for standard input before the first byte of it
     * came; past that everything is killed and the status is TIMEOUT. 0: up to its time limit, but
     * for a terminal whose input is over, where it is 5 s.
     */
    uint64_t input_timeout_ms;
    /*
     * 1: a question that nobody here answers is waited for, until somebody does with `nacre
     * approve` or `nacre deny`, or the policy's `approvals.timeout` is over, which denies. When
     * cancel_fd becomes readable meanwhile, or the process dies, the question is withdrawn.
     */
    int wait_for_answer;
    /*
     * Called from within nacre_run when a question is pending, with its id, also where it is not
     * waited for: the run's correlation_id, or that of an earlier run which asked the same and got
     * no answer yet. Returning anything but 0 withdraws a question that is this run's own, and the
     * run is refused. NULL: none.
     */
    int (*on_pending)(void *user, const char *id);
    /* Whose word on_confirm's answer is. */
    nacre_confirm_by confirm_by;
    /*
     * The language of a script (docs/scripts.md): "python", "js", "c" … The text is then the
     * script's bytes, which need not be text, and what runs is its interpreter. NULL: the text is
     * a command. A language that is not known or not installed is a result, not an error here.
     */
    const char *language;
    /* What the script is given as its arguments; ends with NULL. NULL: nothing. */
    const char *const *script_args;
    /* NULL: none. */
    const nacre_mandate *mandate;
    /*
     * The job to which it belongs, job_ and a UUID: it is recorded, and an answer that was given
     * for a job counts in no other. NULL: none. The workspace is said by itself. -EINVAL for
     * another form.
     */
    const char *job;
} nacre_run_options;

#define NACRE_RUN_OPTIONS_INIT                                                                     \
    {                                                                                              \
        NACRE_RUN_OPTIONS_VERSION, NULL, NULL, 0, 0, NACRE_KEEP_BOTH, -1, -1, NULL, NULL, NULL,    \
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, 0, 0, 0, 0, 0, 0, \
            NULL, 0, 0, NULL, -1, 0, -1, 0, 0, NULL, NACRE_CONFIRM_PERSON, NULL, NULL, NULL, NULL  \
    }

/*
 * Runs a text of bash in a sandbox and waits for its end. `len` counts the bytes of `text`.
 *
 * Returns 0 whenever there is a result, also for a command that failed, was refused or could not be
 * started: its status says which. Returns a negative errno value only without one: -EINVAL for
 * options that do not fit, -ENOMEM, or what the kernel's random source failed with. The caller
 * frees the result.
 */
NACRE_API int nacre_run(nacre *n, const char *text, size_t len, const nacre_run_options *options,
                        nacre_result **ret, nacre_error *error);

/*
 * The verdict on a text alone, as JSON, in pieces; nothing runs. Returns 0, or a negative errno
 * value: -EINVAL for a configuration that does not load, or what `write` returned.
 */
NACRE_API int nacre_test(nacre *n, const char *text, size_t len, const nacre_run_options *options,
                         int (*write)(void *user, const char *bytes, size_t len), void *user,
                         nacre_error *error);

/* --- result --------------------------------------------------------------------------------- */

typedef enum nacre_status {
    NACRE_STATUS_ERROR,              /* nacre itself failed; nacre_result_error says why */
    NACRE_STATUS_DENIED,             /* refused; nacre_result_error says why */
    NACRE_STATUS_NEEDS_CONFIRMATION, /* refused, for nobody said yes; likewise */
    NACRE_STATUS_TIMEOUT,            /* killed at the time limit */
    NACRE_STATUS_LIMIT,              /* killed at the limit of CPU time, memory or disk */
    NACRE_STATUS_KILLED,             /* died of a signal, or cancelled */
    NACRE_STATUS_FAILED,             /* ended with an exit code other than 0 */
    NACRE_STATUS_OK
} nacre_status;

NACRE_API nacre_status nacre_result_status(const nacre_result *r);

/* The status as in the JSON: "ok", "failed" … */
NACRE_API const char *nacre_result_status_name(const nacre_result *r);

/*
 * The command's own exit code; 128+N when signal N killed it; 124 for a timeout, 125 for an error
 * of nacre's, 126 for a refusal, 137 when cancelled or past another limit.
 */
NACRE_API int nacre_result_exit_code(const nacre_result *r);

/* What was kept of a stream, with a NUL behind it; `ret_len` may be NULL. Lives with the result. */
NACRE_API const char *nacre_result_output(const nacre_result *r, nacre_stream stream,
                                          size_t *ret_len);

/* Not 0 when the stream was longer than its limit. */
NACRE_API int nacre_result_truncated(const nacre_result *r, nacre_stream stream);

/* Not 0 when the command was started, whatever became of it and of its changes. */
NACRE_API int nacre_result_ran(const nacre_result *r);

/* Why nacre failed or refused; an empty text otherwise. */
NACRE_API const char *nacre_result_error(const nacre_result *r);

/* The warning number `index`, or NULL past the last one. */
NACRE_API const char *nacre_result_warning(const nacre_result *r, size_t index);

/* What ended the task (a line `SUBMIT: answer` of the output, where the policy has it); NULL:
 * nothing. */
NACRE_API const char *nacre_result_answer(const nacre_result *r);

/* Of a script that ran: the text that asks a model to go on from it, and its length; else NULL. */
NACRE_API const char *nacre_result_analysis(const nacre_result *r, size_t *ret_len);

/*
 * The whole result as JSON (one line, valid UTF-8), in pieces. `write` returns 0 or a negative
 * errno value, which then ends the writing and is returned.
 */
NACRE_API int nacre_result_write_json(const nacre_result *r,
                                      int (*write)(void *user, const char *bytes, size_t len),
                                      void *user);

/* The phases of the run in Chrome's trace format, which browsers and Perfetto show; likewise. */
NACRE_API int nacre_result_write_trace(const nacre_result *r,
                                       int (*write)(void *user, const char *bytes, size_t len),
                                       void *user);

/* Accepts NULL. */
NACRE_API void nacre_result_free(nacre_result *r);

#ifdef __cplusplus
}
#endif

#endif
