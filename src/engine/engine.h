/*
 * The engine: calls the rooms in order. It is the library; nacre.h is its outside.
 *
 * In: a text and options. Out: a result. It parses nothing itself and keeps no global state.
 */
#ifndef NACRE_ENGINE_ENGINE_H
#define NACRE_ENGINE_ENGINE_H

#include <pthread.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/uuid.h"
#include "changes/transaction.h"
#include "engine/box.h"
#include "facts/facts.h"
#include "nacre.h"
#include "plan/plan.h"
#include "policy/verdict.h"
#include "run/run.h"

struct nacre {
    struct allocator allocator;
    struct arena arena;
    const char *launcher;
    pthread_mutex_t lock;  /* for the arena and all below */
    struct plan_host host; /* looked at when first needed, and constant then */
    bool host_is_known;
    struct keeper keeper; /* of the workspace in memory, from its first use on */
};

/* What a text was read as. Everything behind this judges and runs the reading, never the text. */
struct reading {
    const char *canonical;
    const char *const *argv; /* where it is one simple command of known words; NULL otherwise */
    size_t argc;
};

/* A policy made ready for one workspace: judges any number of texts. */
struct decider {
    const struct policy *policy;
    const struct judge *judge;
    struct facts_host host;
};

/* Everything that a text is judged by, and the plan made from. */
struct setting {
    struct workspace workspace;
    const char *home;      /* the caller's, canonical; NULL */
    const char *state_dir; /* where changes are kept; NULL: in the workspace */
    struct box box;
    struct decider decider;
};

enum { WARNINGS_MAX = 32 };

struct nacre_result {
    struct nacre *engine;
    struct arena arena; /* everything below that is a pointer, but for the verdict */
    struct arena judgement;
    nacre_status status;
    int exit_code;
    char correlation_id[UUID_TEXT + 1];
    char timestamp[CLOCK_RFC3339 + 1];
    const char *text;
    size_t text_len;
    struct reading reading;
    struct verdict verdict;
    bool judged;             /* there is a verdict */
    const char *working_dir; /* NULL until it is known */
    const char *rule;        /* that decided; NULL */
    struct sandbox sandbox;  /* opened before the verdict, to be used once */
    bool ran;                /* the sandbox was started: the fields below mean something */
    struct capture captures[RUN_STREAMS];
    struct captured captured[RUN_STREAMS];
    uint64_t duration_ms;
    struct wire_usage usage;
    const char *strength;           /* full, landlock */
    struct transaction transaction; /* while it runs */
    struct change_set changes;      /* what it did */
    bool changes_known;             /* there was a layer, and it was looked at */
    bool no_layer;                  /* an overlay was tried, and is not to be had */
    bool reversible;
    const char *reversible_reason; /* where it is not */
    struct conflicts conflicts;
    struct hashing {
        pthread_t thread;
        bool started;
        int root;
        const char *cache, *exclude; /* NULL: none */
        struct fs_hash *hash;        /* NULL: there is none */
        int failure;
        struct err err;
    } hashing;
    char fs_hash_before[SHA256_HEX + 1], fs_hash_after[SHA256_HEX + 1]; /* empty: not known */
    struct {
        const char *name; /* cpu, memory, disk, timeout; NULL: none was passed */
        uint64_t value;
        const char *kept_by;
    } limit;
    struct err error;
    const char *warnings[WARNINGS_MAX];
    size_t warning_count;
};

/* workspace.c: both paths may be NULL; `home` is the caller's home directory, or NULL. */
int workspace_resolve(struct arena *arena, const char *root, const char *cwd, const char *home,
                      struct workspace *ret, struct err *e);

/* host.c: what the host has of plan_system_paths. It stays as it was first found. */
int engine_host(struct nacre *n, const struct plan_host **ret, struct err *e);

/* reading.c: -EINVAL or -E2BIG for a text that is refused, with its place. */
int engine_read(struct arena *arena, const char *text, size_t len, struct reading *ret,
                struct err *e);
/* The same of a tree that is there. */
int engine_read_tree(struct arena *arena, const struct shell_tree *tree, struct reading *ret,
                     struct err *e);

/* setting.c: workspace, policy and surroundings for these options. All of it is in the arena. */
int engine_open_setting(struct arena *arena, const nacre_run_options *o, struct setting *ret,
                        struct err *e);

/* The last part of it: a policy made ready to judge. `home` is canonical or NULL. */
int engine_decider(struct arena *arena, const struct policy *policy,
                   const struct workspace *workspace, const char *home, const struct box *box,
                   struct decider *ret, struct err *e);

/* decide.c: the verdict on a text; `ret_tree` is NULL for one that cannot be read. 0 or -ENOMEM. */
int engine_decide(const struct decider *d, struct arena *arena, const char *text, size_t len,
                  struct verdict *ret, const struct shell_tree **ret_tree, struct err *e);
/* Reads and judges the result's text, and lowers the options to what the policy allows. False:
 * the run is over, and the result says why. */
bool decide_text(nacre_result *r, nacre_run_options *o, struct setting *setting);

/* contain.c: everything of a run up to its plan; `text` is the canonical one, `notes` may be NULL.
 */
int engine_plan(struct nacre *n, struct arena *arena, const char *text, const nacre_run_options *o,
                const struct setting *setting, struct plan *ret, struct notes *notes,
                struct err *e);
/* Plans, runs and captures. On failure the result's error says why and its status stays. */
int contain_text(nacre_result *r, const nacre_run_options *o, const struct setting *setting);

/*
 * reversal.c: before a run, layers for what it may write to, put into the request; after it, what
 * became of them, put into the result. A run that cannot be taken back is refused, unless the
 * policy accepts that.
 */
int reversal_begin(nacre_result *r, const struct setting *setting, struct plan_request *request);
/* The same for a plan that is only shown: nothing is made, and the run has no id yet. */
int reversal_show(struct arena *arena, const struct setting *setting, struct plan_request *request,
                  struct err *e);
void reversal_end(nacre_result *r, const nacre_run_options *o, const struct setting *setting);
/* What must not come of it: taken out of the layers, with a warning. */
void reversal_forbid(nacre_result *r, const char *const *paths, size_t count);
void reversal_give_up(nacre_result *r); /* nothing of it ran */

/* hashing.c: begins with the run; `before` waits, `after` takes the committed changes in. */
void hashing_begin(nacre_result *r, const struct setting *setting);
void hashing_before(nacre_result *r);
void hashing_after(nacre_result *r);
void hashing_end(nacre_result *r);

/* changes_json.c */
void changes_write_json(const struct change_set *set, struct json *j);
void conflicts_write_json(const struct conflicts *conflicts, struct json *j);
/* A name that is not UTF-8 is written so that it can be had back. */
void changes_write_name(struct json *j, const char *name);
/* A path of a change as it is shown: relative to the workspace, absolute in other roots. */
const char *changes_show_path(const struct change_set *set, uint32_t root, const char *path,
                              struct arena *arena);

/* scratch.c: landlock strength has no tmpfs; a private directory of the host takes its place. */
int scratch_make(struct arena *arena, uint32_t uid, uint32_t gid, const char **ret, struct err *e);
void scratch_remove(const char *path);

/* result.c */
__attribute__((format(printf, 2, 3))) void result_warn(nacre_result *r, const char *format, ...);

#endif
