/*
 * Warm walls: sandboxes that are built before anybody asks for them.
 *
 * A sandbox in the pool is the part of a warm plan that can be built ahead (plan_ahead), with its
 * bash executed and waiting. It fits a run if that run's plan begins with exactly these steps, so
 * nothing has to be known about what the steps mean. Each is used once; one that is too old, or
 * whose launcher is gone, is thrown away.
 *
 * A thread of the handle's builds them: it is asked by a run that found none, or took one.
 */
#ifndef NACRE_ENGINE_POOL_H
#define NACRE_ENGINE_POOL_H

#include <pthread.h>
#include <stdbool.h>

#include "base/alloc.h"
#include "plan/plan.h"
#include "sandbox/sandbox.h"

enum { POOL_MAX = 1024, POOL_KINDS = 8 };

struct pool_kind;

struct pool {
    const struct allocator *allocator;
    const char *launcher;
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    pthread_t thread;
    bool runs, ends;
    int (*open_held)(void *user); /* the mount of a plan that has one that is held */
    bool (*chore)(void *user);    /* done when no run is under way, without the lock; true: again */
    void *user;
    size_t size; /* how many of a kind are kept ready; 0: there is no pool */
    struct pool_kind *kinds[POOL_KINDS]; /* by use, the last one first */
    struct sandbox ended[POOL_KINDS];    /* guards that are to be waited for */
    size_t ended_count;
    size_t busy; /* runs that are under way: none is built beside them without need */
    uint64_t built, taken, missed, laid_taken;
    uint64_t build_us; /* of all that were built */
};

/* What `nacre status` and the servers tell. */
struct pool_figures {
    size_t size, ready;
    size_t laid; /* more of them, which have the workspace, too, and wait for a text alone */
    uint64_t built, taken, missed, mean_build_us;
    uint64_t laid_taken; /* of those that were taken */
};

int pool_begin(struct pool *p, const struct allocator *allocator, const char *launcher, size_t size,
               int (*open_held)(void *user), bool (*chore)(void *user), void *user);
void pool_end(struct pool *p);

/* One whose steps are these; false: there is none, and there will be. */
bool pool_take(struct pool *p, const struct plan *ahead, struct sandbox *ret);

/* The same for one that is to be built further, before there is a run for it: it is not counted. */
bool pool_lend(struct pool *p, const struct plan *ahead, struct sandbox *ret);
bool pool_has(struct pool *p, const struct plan *ahead);
/* One that was lent is a run's. */
void pool_note_taken(struct pool *p);

/* One that has ended: its guard is waited for by the thread. Without a pool here and now. */
void pool_bury(struct pool *p, struct sandbox *ended);

/* Around a run. */
void pool_enter(struct pool *p);
void pool_leave(struct pool *p);

void pool_tell(struct pool *p, struct pool_figures *ret);
/* Waits until as many are ready as there shall be of all kinds that were asked for. */
void pool_fill(struct pool *p);

#endif
