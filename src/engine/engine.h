/*
 * The engine: calls the rooms in order. It is the library; nacre.h is its outside.
 *
 * In: a text and options. Out: a result. It parses nothing itself and keeps no global state.
 */
#ifndef NACRE_ENGINE_ENGINE_H
#define NACRE_ENGINE_ENGINE_H

#include <pthread.h>

#include "approve/approve.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/uuid.h"
#include "changes/transaction.h"
#include "engine/box.h"
#include "engine/crew.h"
#include "engine/early.h"
#include "engine/files.h"
#include "engine/phases.h"
#include "engine/policy_cache.h"
#include "engine/pool.h"
#include "engine/programs.h"
#include "engine/script.h"
#include "engine/transcript.h"
#include "facts/facts.h"
#include "history/entry.h"
#include "ledger/ledger.h"
#include "nacre.h"
#include "plan/plan.h"
#include "policy/verdict.h"
#include "run/run.h"
#include "session/session.h"
#include "work/work.h"

struct nacre {
    struct allocator allocator;
    struct arena arena;
    const char *launcher;
    pthread_mutex_t lock;  /* for the arena and all below */
    struct plan_host host; /* looked at when first needed, and constant then */
    bool host_is_known;
    struct keeper keeper; /* of the workspace in memory, from its first use on */
    struct held_hash {    /* and its fs_hash */
        pthread_mutex_t lock;
        struct fs_hash *hash; /* NULL: not looked at yet */
        unsigned users;       /* runs under way */
        bool stale;           /* somebody may have written since it was looked at */
    } held_hash;
    struct policy_cache policies;
    struct files_memory files;
    struct looks_memory looks;
    struct crew crew;
    int untidy;                    /* a store in which something is left to be done; -1: none */
    struct pool pool;              /* sandboxes that are built ahead */
    struct early_plans early;      /* what they are given before it is asked for */
    struct opened_ledger *ledgers; /* one for each state directory that was used */
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
    struct cached_policy *cached; /* to be let go of; NULL: the policy is in the arena */
    const struct script *script;  /* that is to run; NULL: it is a command */
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
    struct phases phases;
    bool traced;           /* the caller wants to see them */
    const char *told_json; /* of a run that another process has made; NULL: it is our own */
    size_t told_json_len;
    const char *text;
    size_t text_len;
    bool synthesis;       /* a script was asked for, of whatever language */
    struct script script; /* that the text runs; its language is NULL where it is a command */
    const char *analysis; /* of a script that ran; NULL */
    size_t analysis_len;
    const char *answer; /* that ended the task; NULL */
    struct reading reading;
    struct cached_policy *cached; /* by which it was judged; NULL */
    struct verdict verdict;
    bool judged;             /* there is a verdict */
    bool asks;               /* it is CONFIRM, and nobody has said anything yet */
    int input;               /* a copy of what is on standard input, by which was asked; -1 */
    const char *working_dir; /* NULL until it is known */
    const char *rule;        /* that decided; NULL */
    struct sandbox sandbox;  /* opened before the verdict, to be used once */
    bool warm;               /* it was built ahead, and waits for the rest of its plan, */
    size_t built;            /* so many steps of which it has */
    struct looks looks;      /* what is not there */
    struct early early;      /* what it is given before the text is judged */
    bool plain;              /* and its text is a plain command, which takes bash's place */
    bool no_pool;            /* one that was did not do */
    struct sandbox ended;    /* after its use, until its guard is collected */
    bool ran;                /* the sandbox was started: the fields below mean something */
    struct capture captures[RUN_STREAMS];
    struct captured captured[RUN_STREAMS];
    /* Given all that is captured, as it comes; NULL: none. */
    int (*tee)(void *user, enum run_stream stream, const char *bytes, size_t len);
    void *tee_user;
    bool start_told; /* on_start was called */
    uint64_t duration_ms;
    struct wire_usage usage;
    struct programs programs;       /* that were started */
    const char *strength;           /* full, landlock */
    struct transaction transaction; /* while it runs */
    struct change_set changes;      /* what it did */
    bool changes_known;             /* there was a layer, and it was looked at */
    bool committed;                 /* they are real */
    const char *commit_point;       /* when they become so; NULL: there is nothing that could */
    bool no_layer;                  /* an overlay was tried, and is not to be had */
    bool reversible;
    const char *reversible_reason; /* where it is not */
    bool writes_outside;           /* though the workspace is in memory */
    struct conflicts conflicts;
    struct leaks_index { /* of git, for the root that was looked at last */
        bool known;
        uint32_t root;
        const char **names; /* sorted */
        size_t count;
    } leaks_index;
    struct hashing {
        struct crew_task task;
        int root;
        const char *cache, *exclude; /* NULL: none */
        struct fs_hash *hash;        /* NULL: there is none */
        bool held;                   /* the workspace is in memory: the handle has it */
        int failure;
        struct err err;
    } hashing;
    struct remembered {
        struct session session; /* held as long as the run lasts */
        const char *text;       /* what the session left, and the text behind it; NULL: none */
        size_t len, before;     /* of it all, and of what the session left */
        struct buf came;        /* from inside */
    } remembered;
    struct recording {
        struct ledger *ledger; /* NULL: nothing is recorded */
        const char *state;     /* directory of it all */
        const char *objects;   /* directory of what is too large for an entry */
        int running;           /* held as long as the run is under way; -1 */
        struct redactor *redactor;
        struct transcript transcript;
        struct filing { /* of what was printed, beside the look at what was changed */
            struct crew_task task;
            struct buf frames;
            unsigned char hashes[RUN_STREAMS][SHA256_BYTES];
            char object[SHA256_HEX + 1];
            int failure;
            struct err err;
        } filing;
        struct entry_script script; /* once it was put down */
        bool sees_secrets;          /* the caller gets the output as it is */
        bool transcribes; /* what is printed is redacted, for the record or for the caller */
        bool intended, durable, placed;
        uint64_t intent;
        struct ledger_place place;
        uint64_t redactions;
        bool network;
        const char *confirmed_by;         /* NULL: nobody was asked */
        struct redactor *output_redactor; /* knows the values of the workspace's files, too */
        struct opened_ledger *opened;     /* whose ledger it is */
    } recording;
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

/* setting.c: the caller's home as it says it; the same without links in it; where changes are kept.
 * Each may be NULL. */
const char *engine_home(const nacre_run_options *o);
const char *engine_canonical_home(struct arena *arena, const char *home);
const char *engine_state_dir(struct arena *arena, const nacre_run_options *o, const char *home);

/* setting.c: workspace, policy and surroundings for these options. All of it is in the arena, but
 * for a policy of the cache, if there is one (NULL: none). */
int engine_open_setting(struct arena *arena, struct policy_cache *cache, const nacre_run_options *o,
                        struct setting *ret, struct err *e);

/* The same in two: where and by which policy, and what is around. After a failure of the second the
 * policy is the caller's to let go. */
int engine_open_place(struct arena *arena, struct policy_cache *cache, const nacre_run_options *o,
                      struct setting *ret, struct err *e);
int engine_open_box(struct arena *arena, const nacre_run_options *o, struct setting *setting,
                    struct err *e);

/* The last part of it: a policy made ready to judge; `judge` is its own, if there is one yet.
 * `home` is canonical or NULL. */
int engine_decider(struct arena *arena, const struct policy *policy, const struct judge *judge,
                   const struct workspace *workspace, const char *home, const struct box *box,
                   struct decider *ret, struct err *e);

/* decide.c: the verdict on a text; `ret_tree` is NULL for one that cannot be read, `phases` may be
 * NULL. 0 or -ENOMEM. */
int engine_decide(const struct decider *d, struct arena *arena, const char *text, size_t len,
                  struct phases *phases, struct verdict *ret, const struct shell_tree **ret_tree,
                  struct err *e);
/* Reads and judges the result's text, and lowers the options to what the policy allows. False:
 * the run is over, and the result says why. */
bool decide_text(nacre_result *r, nacre_run_options *o, struct setting *setting);

/*
 * asking.c: a verdict of CONFIRM becomes a question. True: somebody said yes, and it runs. False:
 * the run is over, and the result says why and how to answer. The intent is not recorded yet.
 */
bool asking_settle(nacre_result *r, nacre_run_options *o, const struct setting *setting);
/* Changes that are held for a person: `reasons` as JSON. */
void asking_hold(nacre_result *r, const nacre_run_options *o, const struct setting *setting,
                 const char *reasons, size_t len);
/* What is too late, or was left behind, is removed and recorded. */
void asking_sweep(struct nacre *n, const char *state_dir);
/* "uid 1000 (ada)", for records. */
const char *asking_user(struct arena *arena, unsigned uid);

/* warm.c: whether a sandbox of the pool would do for such a run, as far as is known before. */
bool warm_is_possible(const nacre_result *r, const nacre_run_options *o, const char *text);
/* One for this request, if there is one that fits; then `ret` is its plan. */
bool warm_take(nacre_result *r, const struct plan_host *host, struct plan_request *request,
               const nacre_run_options *o, const struct setting *setting, struct plan *ret);

/* early.c: begins what the last run like this one was shown, if it can be. */
void early_begin(nacre_result *r, const nacre_run_options *o, const struct setting *setting);
/* Whether this plan is the one that was begun: then its sandbox is the run's. */
bool early_use(nacre_result *r, const struct plan *plan);
/* Makes one that was built before the run's own: its layer is the run's. False: it will not do. */
bool early_adopt(nacre_result *r, const struct transaction_root *root);
/* What was begun is not wanted, if anything was. */
void early_give_up(nacre_result *r);
/* This plan is used: the next one may be the same. */
void early_remember(nacre_result *r, const nacre_run_options *o, const struct setting *setting,
                    const struct plan *plan);
void early_clear(struct nacre *n);
/* When nobody runs: has one wait that is like the last. True: there may be more to do. */
bool early_prepare(struct nacre *n);
/* How many such wait. */
size_t early_count(struct nacre *n);

/* contain.c: this process's umask, without the race of setting it. */
unsigned engine_umask(void);

/* contain.c: a mount of the workspace in memory, which is made at its first use. */
int engine_memory_mount(struct nacre *n, const struct policy *policy, struct err *e);

/* contain.c: the same for a sandbox that is built ahead. */
int engine_held_mount(void *handle);

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
/* Who has a name inside: the caller; started by root, the owner of what is shown. */
struct transaction_root reversal_root(const char *path, uint64_t device, uint64_t inode, bool copy);
/* The layer of the workspace alone, before the rest of the request is known. */
int reversal_begin_early(nacre_result *r, const struct setting *setting);
/* The same for a plan that is only shown: nothing is made, and the run has no id yet. */
int reversal_show(struct arena *arena, const struct setting *setting, struct plan_request *request,
                  struct err *e);
/* Stores, ledger and key are in nobody's reach, whatever is shown. */
int reversal_hide_state(struct arena *arena, const struct setting *setting,
                        struct plan_request *request, struct err *e);
/* Nor is the configuration that judges the next command. */
int reversal_hide_policy(struct arena *arena, const nacre_run_options *o,
                         struct plan_request *request, struct err *e);
void reversal_end(nacre_result *r, const nacre_run_options *o, const struct setting *setting);
/* What must not come of it: taken out of the layers, with a warning. */
void reversal_forbid(nacre_result *r, const char *const *paths, size_t count);
void reversal_give_up(nacre_result *r); /* nothing of it ran, or is to be real */
/* Takes back what reversal_end made real. 1: it is; 0: nothing was. */
int reversal_take_back(nacre_result *r, const struct setting *setting, struct err *e);
/* Does what earlier runs left to be done; with a pool, its thread does, when nobody runs. */
void reversal_tidy(const nacre_result *r);
void reversal_tidy_now(void *handle);

/*
 * secrets.c: a redactor that knows the values of the environment and of well-known files in the
 * home; with a workspace, of its files, too, which the inside may have written.
 */
int secrets_redactor(struct arena *arena, const char *const *environment, const char *home,
                     const char *workspace, struct redactor **ret, struct err *e);
/* One without the workspace's, and one with them, which is left alone where there are none. */
int secrets_redactors(struct arena *arena, const char *const *environment, const char *home,
                      const char *workspace, const char *replacement, struct looks *looks,
                      struct redactor **ret, struct redactor **ret_output, struct err *e);

/* leaks.c: the rule by which a changed file holds a new secret and git tracks it; NULL. */
const char *leaks_find(nacre_result *r, const struct change *c, uint64_t *looked_at);

/*
 * recording.c: every decision and every run, in the ledger. `begin` is for all of them and cannot
 * be passed over: where nothing can be recorded, nothing runs, but for a state directory that is
 * not there, which is a warning.
 */
int recording_begin(nacre_result *r, const nacre_run_options *o, const struct setting *setting);
/* Runs that were cut off, whose changes this one has found and brought to rest. */
int recording_note_mended(nacre_result *r);
/* What is about to be done; those first. */
int recording_intend(nacre_result *r, const nacre_run_options *o, const struct setting *setting);
/* Before each start. What cannot be undone waits until the intent is durable. */
int recording_start(nacre_result *r, const nacre_run_options *o, const struct setting *setting);
/* While it lasts, and again before anything becomes real: the intent is durable. */
int recording_sync(nacre_result *r);
/* A piece of output; none at a stream's end. */
int recording_read(nacre_result *r, enum run_stream stream, const char *bytes, size_t len);
/* All has been read: what is too large for an entry is written beside what follows. */
void recording_file_output(nacre_result *r);
/* Where the caller is not to see secrets: none is left in the list of programs. */
int recording_redact_programs(nacre_result *r);
/* At the end of all, before the result is given away. */
int recording_finish(nacre_result *r, const nacre_run_options *o, const struct setting *setting);
/* While it runs: drops what is too old or too much. */
void recording_tidy(nacre_result *r, const struct policy *policy);
void recording_release(nacre_result *r);
/* A question, and what became of it; `id` NULL: this run's, the others may be NULL as well. */
struct recorded_question {
    enum entry_kind kind;
    const char *id, *status, *by, *detail;
};
int recording_ask(nacre_result *r, const nacre_run_options *o, const struct setting *setting,
                  const struct recorded_question *what);
/* The same from elsewhere, durable when it returns. */
int recording_note_answer(struct nacre *n, const char *state_dir,
                          const struct recorded_question *what, struct err *e);
/* Something that was done about a run later. */
int recording_note(struct nacre *n, const char *state_dir, enum entry_kind kind, const char *id,
                   const char *detail, struct err *e);
/* Closes the ledgers of a handle. */
void recording_close(struct nacre *n);

/*
 * hashing.c: begins with the run, once; `before` waits, and where others may have used the
 * workspace looks again; `after` takes the committed changes in. In memory there is no layer: what
 * is there is looked at before the run, unless that is known from the last one, and after it.
 */
void hashing_begin(nacre_result *r, const nacre_run_options *o, const struct setting *setting);
void hashing_before(nacre_result *r, bool shared);
void hashing_after(nacre_result *r);
void hashing_end(nacre_result *r);
/* The workspace as it is now. */
int engine_fs_hash(struct nacre *n, const struct setting *setting, char ret_hex[SHA256_HEX + 1],
                   struct err *e);

/*
 * remember.c: a run within a session. `begin` gives the result the text that is judged and run, and
 * the options the directory; `end` keeps what was left.
 */
int remember_begin(nacre_result *r, nacre_run_options *o, struct setting *setting);
void remember_place(nacre_result *r); /* spans of the verdict are those of the text as given */
void remember_end(nacre_result *r, const struct plan *plan);
void remember_release(nacre_result *r);
/* What a session left, and a text behind it. */
int remember_text(struct arena *arena, const struct session_state *state, const char *text,
                  size_t len, const char **ret, size_t *ret_len);

/*
 * answer.c: what the first line `SUBMIT: answer` of an output says, in whatever case and with
 * blanks around it; NULL: there is none. Whoever can print can say so.
 */
const char *answer_find(struct arena *arena, const char *text, size_t len);

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

/*
 * shape.c: the texts, exit codes and marks of the policy's `messages`, and its `output`, at the end
 * of all. Where they change what was printed, a caller is given it then, and not as it comes.
 */
bool shape_changes_output(const struct policy *policy);
void shape_result(nacre_result *r, const nacre_run_options *o);

/* result.c: NULL: out of memory. */
nacre_result *result_new(struct nacre *n);
__attribute__((format(printf, 2, 3))) void result_warn(nacre_result *r, const char *format, ...);

#endif
