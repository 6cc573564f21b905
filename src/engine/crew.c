/* See crew.h. */
#include "engine/crew.h"

#include <signal.h>
#include <unistd.h>

enum { IDLE_MAX = 8 };

void crew_init(struct crew *c)
{
    *c = (struct crew){.process = getpid()};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->work, NULL);
    pthread_cond_init(&c->end, NULL);
}

void crew_release(struct crew *c)
{
    pthread_mutex_lock(&c->lock);
    c->ends = true;
    pthread_cond_broadcast(&c->work);
    while (c->count && c->process == getpid())
        pthread_cond_wait(&c->end, &c->lock);
    pthread_mutex_unlock(&c->lock);
    pthread_cond_destroy(&c->work);
    pthread_cond_destroy(&c->end);
    pthread_mutex_destroy(&c->lock);
}

/* With the lock. NULL: nobody wants this thread any more. */
static struct crew_task *next_task(struct crew *c)
{
    if (!c->first && c->idle >= IDLE_MAX)
        return NULL;
    c->idle++;
    while (!c->first && !c->ends)
        pthread_cond_wait(&c->work, &c->lock);
    c->idle--;
    struct crew_task *task = c->first;
    if (task) {
        c->first = task->next;
        c->waiting--;
    }
    return task;
}

static void *serve(void *user)
{
    struct crew *c = user;
    struct crew_task *task;
    pthread_mutex_lock(&c->lock);
    while ((task = next_task(c))) {
        pthread_mutex_unlock(&c->lock);
        task->run(task->user);
        pthread_mutex_lock(&c->lock);
        task->done = true;
        pthread_cond_broadcast(&c->end);
    }
    c->count--;
    pthread_cond_broadcast(&c->end);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* With the lock. */
static int add_thread(struct crew *c)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;
    int r = pthread_attr_init(&attributes);
    if (r != 0)
        return -r;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&thread, &attributes, serve, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    c->count += r == 0;
    return -r;
}

int crew_start(struct crew *c, struct crew_task *task, void *(*run)(void *user), void *user)
{
    *task = (struct crew_task){.run = run, .user = user};
    pthread_mutex_lock(&c->lock);
    int r = c->idle > c->waiting ? 0 : add_thread(c);
    if (r == 0) {
        task->started = true;
        if (c->first)
            c->last->next = task;
        else
            c->first = task;
        c->last = task;
        c->waiting++;
        pthread_cond_signal(&c->work);
    }
    pthread_mutex_unlock(&c->lock);
    return r;
}

void crew_wait(struct crew *c, struct crew_task *task)
{
    if (!task->started)
        return;
    pthread_mutex_lock(&c->lock);
    while (!task->done)
        pthread_cond_wait(&c->end, &c->lock);
    pthread_mutex_unlock(&c->lock);
    task->started = false;
}
