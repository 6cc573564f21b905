/*
 * The parts of the guard (guard.c): each looks after one thing and says when a limit is passed.
 */
#ifndef NACRE_SANDBOX_LAUNCH_GUARD_H
#define NACRE_SANDBOX_LAUNCH_GUARD_H

#include "sandbox/launch/census.h"
#include "sandbox/launch/launch.h"

/* --- cgroup.c: a control group of the kernel's, where one can be had ----------------------- */

struct cgroup {
    enum wire_means means; /* WIRE_BY_WATCHING: there is none */
    int dirs[3];           /* of v2 only the first; of v1 memory, pids and cpu time */
    int parents[3];
    char name[64];
};
#define CGROUP_NONE                                                                                \
    {                                                                                              \
        .dirs = {-1, -1, -1}, .parents = { -1, -1, -1 }                                            \
    }

/* Moves everybody below `init`, a pid of the host's, into a group with the launch's budgets. */
void cgroup_join(struct cgroup *g, const struct launch *l, pid_t init);
/* Whether the kernel killed somebody there for the memory. */
bool cgroup_ran_out(const struct cgroup *g);
/* CPU time of all who are there or were; 0: not known. */
uint64_t cgroup_cpu_ms(const struct cgroup *g);
void cgroup_leave(struct cgroup *g);
/* Groups that guards which were killed have left behind. */
void cgroup_sweep(void);

/* --- disk.c: what the tree has written to the host's file systems -------------------------- */

struct disk {
    int roots[HANDOVER_DISKS];
    size_t count;
    struct {
        uint64_t bytes, inodes; /* free, when it began */
    } start[HANDOVER_DISKS];
    int64_t start_s;                    /* when it began */
    pid_t walker;                       /* counts in the background; 0: nobody does */
    int result;                         /* where it tells */
    uint64_t spare_bytes, spare_inodes; /* gone, but found not to be ours */
    uint64_t last_written, written;     /* by those whom we saw */
};
#define DISK_NONE                                                                                  \
    {                                                                                              \
        .result = -1                                                                               \
    }

void disk_begin(struct disk *d, const struct handover *h);
/* Whether so much has gone that it is worth counting; starts to count. */
void disk_look(struct disk *d, const struct budgets *budgets, struct census *c);
/* The count is there: whether it is too much. */
bool disk_is_over(struct disk *d, const struct budgets *budgets, struct census *c,
                  uint64_t allocated_bytes);
void disk_end(struct disk *d);

/* --- watch.c: CPU time and memory of the tree ---------------------------------------------- */

struct watch {
    uint64_t next_ms; /* when it is looked at next */
    uint64_t last_ms, last_cpu_ms, cpu_ms;
    uint64_t joined_cpu_ms; /* had been used when a control group began to count */
    uint64_t memory_peak;
    uint64_t exact_bytes, exact_at_upper, exact_next_ms; /* the last slow count */
    int scratch;
    int held; /* a workspace in memory; -1: it is on a disk */
};

/* Looks, and says when to look again. `group_cpu_ms`: what a control group has counted, or 0. */
enum wire_limit watch_look(struct watch *w, const struct budgets *budgets, struct census *c,
                           uint64_t group_cpu_ms, uint64_t now_ms);
/* What a control group has counted is had, whether it was seen or not. */
void watch_raise_cpu(struct watch *w, uint64_t group_cpu_ms);

/* --- notices.c: calls of the inside that wait for an answer --------------------------------- */

struct notices {
    int listener;
    int scratch;
    int ipc[HANDOVER_IPC];
    const struct launch *launch;
    struct census *census;
    uint64_t shared_bytes;    /* of shared memory without a file, asked for */
    uint64_t allocated_bytes; /* of files: space that no write tells of */
};

/* Answers one. */
void notices_answer(struct notices *n);

#endif
