/*
 * The sandbox, seen from outside: a plan becomes a confined process with pipes.
 *
 * In: a plan. Out: a running tree that can be watched and killed as one. This room never reads
 * policy. Its launcher (launch.h) is a program of its own.
 */
#ifndef NACRE_SANDBOX_SANDBOX_H
#define NACRE_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "sandbox/wire.h"

struct sandbox {
    pid_t launcher;
    int control; /* readable when there is an event */
    int input;   /* write end of the program's stdin, non-blocking; -1: it has /dev/null */
    int output;  /* read ends, non-blocking */
    int errors;
    int programs;      /* readable when a program was started, or has ended */
    int session;       /* read end of the pipe for a session's state, likewise; -1: there is none */
    uint64_t start_ms; /* when it was given its plan, by the monotonic clock */
};

/* What became of it, as sandbox_read_event hears it. */
struct sandbox_outcome {
    bool failed;        /* a wall could not be built: `err` says which, and the remedy */
    bool no_namespaces; /* failed, since there are no namespaces to be had */
    bool no_layer;      /* failed, since an overlay is not to be had */
    bool built;         /* the walls stand; not told where the end comes first */
    bool by_itself;     /* and so soon that only init knows of it: its word is the last */
    bool ended;         /* the program ended by itself: `wait_status` is its own */
    bool gone;          /* nothing of the tree runs any more */
    int wait_status;
    uint32_t survivors;    /* processes that outlived the program, and were killed */
    enum wire_limit limit; /* at which the guard ended it all */
    enum wire_means means; /* by which the limit was kept */
    struct wire_usage usage;
    struct err err;
};

#define SANDBOX_NONE                                                                               \
    {                                                                                              \
        .launcher = -1, .control = -1, .input = -1, .output = -1, .errors = -1, .programs = -1,    \
        .session = -1                                                                              \
    }

/* Executes the launcher (a path), which makes namespaces and waits. */
int sandbox_open(const char *launcher, struct sandbox *ret, struct err *e);

/*
 * Gives it the plan; `held` is the mount that the plan's held step means, or -1.
 */
enum sandbox_flag {
    SANDBOX_INPUT = 1 << 0,   /* the program's stdin is a pipe */
    SANDBOX_SESSION = 1 << 1, /* as the plan says; not with a held mount */
    /* The program's stdio is a terminal of its own, whose other side are `input` and `output`;
     * `errors` is -1. */
    SANDBOX_TERMINAL = 1 << 2,
};
int sandbox_start(struct sandbox *s, const struct allocator *allocator, const struct plan *plan,
                  unsigned flags, int held, struct err *e);

/*
 * For a warm plan: started with the part of it that is built ahead (with a pipe for the program's
 * stdin), it waits for the steps behind it: the workspace's part may come first, by sandbox_show,
 * and all that is left by sandbox_go. Without `input` that pipe is closed.
 */
int sandbox_show(struct sandbox *s, const struct allocator *allocator, const struct plan *part,
                 struct err *e);
int sandbox_go(struct sandbox *s, const struct allocator *allocator, const struct plan *rest,
               bool input, struct err *e);
/* Waits, at most so long, until it has come to that. */
int sandbox_await(struct sandbox *s, int timeout_ms, struct err *e);
/* Whether one that waits is still there to go. */
bool sandbox_waits(const struct sandbox *s);

/* Reads one event from `control` without blocking. 0: none was there. 1: outcome updated. */
int sandbox_read_event(struct sandbox *s, struct sandbox_outcome *outcome);

/* --- programs.c: what is started inside ------------------------------------------------------ */

/* What the launcher said of a program. Texts are the inside's, and end with NUL. */
struct sandbox_program {
    bool started;    /* else only others have ended */
    bool waits;      /* for an answer, before its first instruction */
    bool dark;       /* it could not be looked at: all below is empty */
    bool alone;      /* static, or a loader itself */
    uint32_t id;     /* 1, 2, 3 … */
    uint32_t before; /* that it replaces in its process; 0: none */
    struct wire_program_end ends[WIRE_PROGRAM_ENDS]; /* of programs that were told before */
    size_t end_count;
    const char *name;   /* by which it was started */
    const char *path;   /* of its file, inside */
    const char *script; /* of its script, inside; empty: it has none */
    const char *const *argv;
    size_t argc;                   /* 1 or more, unless it is dark */
    int files[WIRE_PROGRAM_FILES]; /* to be read and compared, no more: the first is its own */
    int word[WIRE_PROGRAM_FILES];  /* which argument each is, or WIRE_PROGRAM_… */
    size_t file_count;             /* 0: it does not wait */
};

/*
 * Waits for the next on a sandbox's `programs`. 1: there is one, whose texts are in the arena; 0:
 * no more will come; negative: what came makes no sense, or cannot be held.
 */
int sandbox_read_program(int programs, struct arena *arena, struct sandbox_program *ret);
void sandbox_release_program(struct sandbox_program *program);

/* What anything is to be said about; once at most. The others no longer wait. */
int sandbox_tell_interest(int programs, const struct wire_interest *interest);

/* Whether it runs or dies. */
int sandbox_answer_program(int programs, uint32_t id, bool runs);

/* Kills the whole tree. The end comes as an event, after the last process is gone. */
void sandbox_kill(struct sandbox *s);

/* Closes everything and collects the launcher; kills what still runs. */
void sandbox_release(struct sandbox *s);
/* The same for one that does not end, whatever is done: nobody waits for it. */
void sandbox_abandon(struct sandbox *s);

/* --- keep.c: a file system in memory, kept for a session ------------------------------------- */

struct keeper {
    pid_t pid;
    int control;
};
#define KEEPER_NONE                                                                                \
    {                                                                                              \
        .pid = -1, .control = -1                                                                   \
    }

int keeper_start(const char *launcher, uint64_t bytes, struct keeper *ret, struct err *e);
/* A mount of it, for one sandbox: a descriptor, or negative. */
int keeper_mount(const struct keeper *k, struct err *e);
void keeper_end(struct keeper *k);

/* sandbox.c: what a launcher said that it could not do, with the remedy. */
void sandbox_explain(const struct wire_message *message, struct err *e);

#endif
