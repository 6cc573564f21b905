/*
 * Who is born inside, and who dies: every process of the inside is traced by the one that reaps it
 * (init; in landlock strength the guard), so that none starts that was not agreed to (L6) and none
 * is missed; and no program either (programs.h).
 *
 * Processes are counted here, and not by RLIMIT_NPROC or a control group, since these count
 * threads: a limit of five would not even start node. And they are traced, and the filter does not
 * ask by a notification, since a fork that waits for the answer to one can be interrupted by a
 * signal, which a fork never is: shells take that for an error.
 */
#ifndef NACRE_SANDBOX_LAUNCH_TRACE_H
#define NACRE_SANDBOX_LAUNCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/launch/programs.h"

enum {
    TRACE_SLOTS = 1 << 15,
    TRACE_WAITING = 1024,
    TRACE_EARLY = 256,
    /* One who wants a process waits for somebody else's end: so often, so long each time. */
    TRACE_PATIENCE_MS = 30,
    TRACE_PATIENCE_TIMES = 10,
    /* What the filter says of a call that makes a thread, where threads are counted, too. */
    TRACE_THREAD = 1,
    TRACE_THREADS_A_PROCESS = 32,
    TRACE_THREADS_LEAST = 512,
};

struct trace {
    uint64_t limit;   /* processes at once besides the program; 0: any number */
    size_t processes; /* that live, the program included */
    size_t reserved;  /* agreed to, and not born yet */
    size_t peak;
    size_t threads; /* agreed to, and not ended */
    uint32_t refused;
    struct trace_slot {
        pid_t id;    /* 0: free */
        bool lives;  /* a process of this number */
        bool told;   /* its parent's birth of it was seen */
        bool spawns; /* a thread of this number makes a process */
        uint32_t
            program; /* that the process runs, as the supervisor knows it; 0: of its parent's */
    } slots[TRACE_SLOTS];
    size_t used;
    pid_t waiting[TRACE_WAITING]; /* stopped: they want a process, and there is no room */
    size_t waiting_count;
    unsigned waited;          /* how often nobody had ended */
    pid_t early[TRACE_EARLY]; /* who died before its birth was told; threads among them */
    size_t early_next;
    bool stays_full; /* nobody has ended since the last were told no */
    struct programs programs;
};

/* Begins with the program, which must not run yet. 0 or a negative errno. */
int trace_begin(struct trace *t, uint64_t limit, pid_t program);

/*
 * What waitpid (with __WALL) said of somebody. Sends on who was stopped. Returns whether a process,
 * and not a thread of one, has ended.
 */
bool trace_handle(struct trace *t, pid_t pid, int status);

/* What can be done without waiting for those who stand behind exec. */
void trace_serve_programs(struct trace *t);

/* Nobody has ended for a moment: after some of these, those who wait are told no. */
void trace_refuse_waiting(struct trace *t);

#endif
