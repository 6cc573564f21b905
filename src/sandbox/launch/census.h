/*
 * Who lives inside, and what they use: read from /proc by the guard. What is read there is the
 * kernel's word; names and arguments, which the inside chooses, are passed over.
 */
#ifndef NACRE_SANDBOX_LAUNCH_CENSUS_H
#define NACRE_SANDBOX_LAUNCH_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CENSUS_MAX = 4096 };

struct census {
    int proc;   /* /proc of the inside; in landlock strength the host's */
    pid_t root; /* 0: everybody in `proc` counts; else the descendants of this process */
    pid_t ours; /* not counted: a helper of the guard's; 0: none */
    pid_t pids[CENSUS_MAX]; /* as `proc` numbers them, sorted; init is not among them */
    size_t count;
    bool blind;                  /* somebody could not be looked into, since last asked */
    pid_t read_pids[CENSUS_MAX]; /* of the last reading */
    size_t read_count;
};

/* Looks anew who is there. Returns how many: more than CENSUS_MAX are counted, but not listed. */
size_t census_take(struct census *c);

struct census_use {
    uint64_t cpu_ms;       /* of those who live, and of those they waited for; init included */
    uint64_t memory_bytes; /* resident: shared pages count for each, so never too little */
    uint64_t new_running;  /* how many run at this moment that were not there at the last reading */
};

/* What those of the last look use. Those who died since do not count. */
struct census_use census_read(struct census *c);

/* Memory with every shared page counted once: slow. */
struct census_memory {
    uint64_t own_bytes;    /* nobody else's, swapped out included */
    uint64_t shared_bytes; /* mapped files in memory */
};
struct census_memory census_memory(const struct census *c);

/* Sizes of all mappings of shared memory without a file, each counted once: slow. */
uint64_t census_shared_mapped(const struct census *c);

/* Sizes of open files that have no name any more. */
uint64_t census_nameless(struct census *c);
/* What was written by those who live. */
uint64_t census_written(struct census *c);

#endif
