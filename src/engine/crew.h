/*
 * Threads of a handle, for what is done beside a run: each does one task after the other. A thread
 * that has just ended its task costs less than a new one; there are as many as were ever needed at
 * once, up to a bound for those that wait. They take no signals, which are for the host's own.
 */
#ifndef NACRE_ENGINE_CREW_H
#define NACRE_ENGINE_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Whoever starts one keeps it until it has waited for it. */
struct crew_task {
    void *(*run)(void *user);
    void *user;
    bool started, done; /* started: it is to be waited for */
    struct crew_task *next;
};

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t work, end;
    struct crew_task *first, *last; /* that nobody has taken */
    size_t count, idle, waiting;    /* threads, those without a task, and tasks in the queue */
    bool ends;
    int process; /* whose threads they are: one that was forked has none of them */
};

void crew_init(struct crew *c);
/* Nothing is under way any more. */
void crew_release(struct crew *c);

/* 0 or a negative errno: then it does not run. */
int crew_start(struct crew *c, struct crew_task *task, void *(*run)(void *user), void *user);
/* Returns when it has run; at once where it was not started. */
void crew_wait(struct crew *c, struct crew_task *task);

#endif
