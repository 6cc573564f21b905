/*
 * The engine: calls the rooms in order. It is the library; nacre.h is its outside.
 *
 * In: a text and options. Out: a result. It parses nothing itself and keeps no global state.
 */
#ifndef NACRE_ENGINE_ENGINE_H
#define NACRE_ENGINE_ENGINE_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/uuid.h"
#include "facts/facts.h"
#include "nacre.h"
#include "plan/plan.h"
#include "policy/verdict.h"
#include "run/run.h"

struct nacre {
    struct allocator allocator;
    struct arena arena;
    const char *launcher;
    struct plan_host host;
};

/* The directories of one run, canonical. */
struct workspace {
    const char *root;
    const char *cwd; /* the root or below it */
    uint64_t device, inode;
    bool is_home; /* it is, or holds, the caller's home directory */
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

enum { WARNINGS_MAX = 16 };

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
    bool ran;                /* the sandbox was started: the fields below mean something */
    struct capture captures[RUN_STREAMS];
    struct captured captured[RUN_STREAMS];
    uint64_t duration_ms, cpu_us, memory_peak_bytes;
    struct err error;
    const char *warnings[WARNINGS_MAX];
    size_t warning_count;
};

/* workspace.c: both paths may be NULL; `home` is the caller's home directory, or NULL. */
int workspace_resolve(struct arena *arena, const char *root, const char *cwd, const char *home,
                      struct workspace *ret, struct err *e);

/* host.c: what the host has of plan_system_paths. */
int host_look(struct arena *arena, struct plan_host *ret, struct err *e);

/* reading.c: -EINVAL or -E2BIG for a text that is refused, with its place. */
int engine_read(struct arena *arena, const char *text, size_t len, struct reading *ret,
                struct err *e);
/* The same of a tree that is there. */
int engine_read_tree(struct arena *arena, const struct shell_tree *tree, struct reading *ret,
                     struct err *e);

/* decide.c: `home` is the caller's home directory, or NULL. Everything lives in the arena. */
int engine_decider(struct arena *arena, const struct policy_request *request,
                   const struct workspace *workspace, const char *home, struct decider *ret,
                   struct err *e);
/* The verdict on a text; `ret_tree` is NULL for one that cannot be read. 0 or -ENOMEM. */
int engine_decide(const struct decider *d, struct arena *arena, const char *text, size_t len,
                  struct verdict *ret, const struct shell_tree **ret_tree, struct err *e);

/* engine.c: everything of a run up to its plan; `text` is the canonical one. */
int engine_plan(struct nacre *n, struct arena *arena, const char *text, const nacre_run_options *o,
                struct workspace *ret_workspace, struct plan *ret, struct err *e);

#endif
