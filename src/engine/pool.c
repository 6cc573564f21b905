/* See pool.h. */
#include "engine/pool.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"

enum {
    AGE_MS = 600 * 1000, /* what the host shows may be another by then: a package was updated */
    REST_MS = 30 * 1000, /* between two looks at the age of what is ready */
    BUILD_MS = 10 * 1000,
    FAILURES_MAX = 3, /* in a row: then this kind is left alone */
};

struct warm {
    struct sandbox sandbox;
    uint64_t built_ms;
};

/* Those with the same steps. */
struct pool_kind {
    char *bytes; /* of the steps */
    struct plan plan;
    struct plan_step steps[PLAN_STEPS_MAX];
    size_t ready, failures;
    bool later; /* what it needs is made by the run that asked for it */
    struct warm items[POOL_MAX];
};

/* --- kinds ----------------------------------------------------------------------------------- */

static void drop_kind(struct pool *p, size_t index)
{
    struct pool_kind *kind = p->kinds[index];
    if (!kind)
        return;
    while (kind->ready)
        sandbox_release(&kind->items[--kind->ready].sandbox);
    alloc_free(p->allocator, kind->bytes);
    alloc_free(p->allocator, kind);
    p->kinds[index] = NULL;
}

static struct pool_kind *new_kind(struct pool *p, const struct plan *ahead)
{
    struct buf bytes;
    struct pool_kind *kind = alloc_resize(p->allocator, NULL, sizeof(*kind));
    buf_init(&bytes, p->allocator, PLAN_BYTES_MAX);
    if (!kind || plan_encode(ahead, &bytes) < 0 ||
        plan_decode(bytes.data, bytes.len, kind->steps, PLAN_STEPS_MAX, &kind->plan, NULL) < 0) {
        buf_release(&bytes);
        alloc_free(p->allocator, kind);
        return NULL;
    }
    kind->bytes = bytes.data;
    kind->ready = kind->failures = 0;
    kind->later = false;
    return kind;
}

static bool is_of_kind(const struct pool_kind *kind, const struct plan *ahead)
{
    return kind && kind->plan.count == ahead->count && plan_begins_with(ahead, &kind->plan);
}

/* The kind comes to the front; the one that was used longest ago makes room for a new one. */
static struct pool_kind *find_kind(struct pool *p, const struct plan *ahead)
{
    size_t at = 0;
    while (at < POOL_KINDS - 1 && !is_of_kind(p->kinds[at], ahead))
        at++;
    struct pool_kind *kind = p->kinds[at];
    if (!is_of_kind(kind, ahead)) {
        kind = new_kind(p, ahead);
        if (!kind)
            return NULL;
        drop_kind(p, at);
    }
    for (; at > 0; at--)
        p->kinds[at] = p->kinds[at - 1];
    p->kinds[0] = kind;
    return kind;
}

/* --- the thread that builds ------------------------------------------------------------------ */

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void drop_old(struct pool_kind *kind)
{
    uint64_t now = clock_monotonic_ms();
    size_t kept = 0;
    for (size_t i = 0; kind && i < kind->ready; i++) {
        struct warm *item = &kind->items[i];
        if (now - item->built_ms < AGE_MS && sandbox_waits(&item->sandbox))
            kind->items[kept++] = *item;
        else
            sandbox_release(&item->sandbox);
    }
    if (kind)
        kind->ready = kept;
}

static struct pool_kind *kind_to_fill(const struct pool *p)
{
    for (size_t i = 0; i < POOL_KINDS; i++) {
        struct pool_kind *kind = p->kinds[i];
        size_t enough = p->busy && p->size > 1 ? 1 : p->size;
        if (kind && kind->ready < enough && !kind->later && kind->failures < FAILURES_MAX)
            return kind;
    }
    return NULL;
}

/* Without the lock: it takes a while, and nobody else touches what it needs of the plan. */
static int build(const struct pool *p, const struct plan *plan, struct sandbox *ret)
{
    struct err ignored;
    bool holds = false;
    for (size_t i = 0; i < plan->count; i++)
        holds = holds || plan->steps[i].flags & PLAN_HELD;
    FD_CLEANUP int held = holds ? p->open_held(p->user) : -1;
    int r = holds && held < 0 ? held : sandbox_open(p->launcher, ret, &ignored);
    if (r == 0)
        r = sandbox_start(ret, p->allocator, plan, SANDBOX_INPUT, held, &ignored);
    if (r == 0)
        r = sandbox_await(ret, BUILD_MS, &ignored);
    if (r < 0)
        sandbox_release(ret);
    return r;
}

static void add_one(struct pool *p, struct pool_kind *kind)
{
    struct sandbox sandbox = SANDBOX_NONE;
    /* The kind may be dropped meanwhile, and its steps with it. */
    struct pool_kind *own = new_kind(p, &kind->plan);
    pthread_mutex_unlock(&p->lock);
    uint64_t start = now_us();
    int r = own ? build(p, &own->plan, &sandbox) : -ENOMEM;
    uint64_t took = now_us() - start;
    pthread_mutex_lock(&p->lock);
    size_t at = 0;
    while (own && at < POOL_KINDS && !is_of_kind(p->kinds[at], &own->plan))
        at++;
    kind = own && at < POOL_KINDS ? p->kinds[at] : NULL;
    if (r < 0 || !kind || kind->ready >= p->size) {
        sandbox_release(&sandbox);
        if (kind && r == -EAGAIN)
            kind->later = true;
        else if (kind && r < 0)
            kind->failures++;
    } else {
        kind->failures = 0;
        kind->items[kind->ready++] =
            (struct warm){.sandbox = sandbox, .built_ms = clock_monotonic_ms()};
        p->built++;
        p->build_us += took;
    }
    if (own) {
        alloc_free(p->allocator, own->bytes);
        alloc_free(p->allocator, own);
    }
}

static void bury_all(struct pool *p)
{
    while (p->ended_count) {
        struct sandbox ended = p->ended[--p->ended_count];
        pthread_mutex_unlock(&p->lock);
        sandbox_release(&ended);
        pthread_mutex_lock(&p->lock);
    }
}

static void *keep_filled(void *user)
{
    struct pool *p = user;
    pthread_mutex_lock(&p->lock);
    while (!p->ends) {
        bury_all(p);
        if (!p->busy) {
            pthread_mutex_unlock(&p->lock);
            bool more = p->chore(p->user);
            pthread_mutex_lock(&p->lock);
            if (more)
                continue;
        }
        struct pool_kind *kind = kind_to_fill(p);
        if (kind) {
            add_one(p, kind);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += REST_MS / 1000;
        pthread_cond_broadcast(&p->wanted); /* who waits for a full pool */
        pthread_cond_timedwait(&p->wanted, &p->lock, &until);
        for (size_t i = 0; i < POOL_KINDS; i++)
            drop_old(p->kinds[i]);
    }
    bury_all(p);
    for (size_t i = 0; i < POOL_KINDS; i++)
        drop_kind(p, i);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* --- from outside ---------------------------------------------------------------------------- */

int pool_begin(struct pool *p, const struct allocator *allocator, const char *launcher, size_t size,
               int (*open_held)(void *user), bool (*chore)(void *user), void *user)
{
    *p = (struct pool){.allocator = allocator,
                       .launcher = launcher,
                       .open_held = open_held,
                       .chore = chore,
                       .user = user,
                       .size = size > POOL_MAX ? POOL_MAX : size};
    if (!p->size)
        return 0;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wanted, NULL);
    int r = pthread_create(&p->thread, NULL, keep_filled, p);
    p->runs = r == 0;
    return -r;
}

void pool_end(struct pool *p)
{
    if (!p->runs)
        return;
    pthread_mutex_lock(&p->lock);
    p->ends = true;
    pthread_cond_broadcast(&p->wanted);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->wanted);
    pthread_mutex_destroy(&p->lock);
    p->runs = false;
}

/* With the lock: the first of a kind that still waits. */
static bool take(struct pool_kind *kind, struct sandbox *ret)
{
    bool found = false;
    while (kind && kind->ready && !found) {
        /* The one that was built first: it is the likeliest to have come to its wait. */
        struct sandbox first = kind->items[0].sandbox;
        memmove(kind->items, kind->items + 1, --kind->ready * sizeof(kind->items[0]));
        found = sandbox_waits(&first);
        if (found)
            *ret = first;
        else
            sandbox_release(&first);
    }
    return found;
}

bool pool_lend(struct pool *p, const struct plan *ahead, struct sandbox *ret)
{
    pthread_mutex_lock(&p->lock);
    bool found = take(find_kind(p, ahead), ret);
    pthread_mutex_unlock(&p->lock);
    return found;
}

bool pool_has(struct pool *p, const struct plan *ahead)
{
    bool found = false;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < POOL_KINDS && !found; i++)
        found = is_of_kind(p->kinds[i], ahead) && p->kinds[i]->ready;
    pthread_mutex_unlock(&p->lock);
    return found;
}

void pool_note_taken(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->taken++;
    p->laid_taken++;
    pthread_mutex_unlock(&p->lock);
}

bool pool_take(struct pool *p, const struct plan *ahead, struct sandbox *ret)
{
    if (!p->runs)
        return false;
    pthread_mutex_lock(&p->lock);
    struct pool_kind *kind = find_kind(p, ahead);
    bool found = take(kind, ret);
    p->taken += found;
    p->missed += !found;
    if (kind && !kind->ready)
        pthread_cond_broadcast(&p->wanted);
    pthread_mutex_unlock(&p->lock);
    return found;
}

void pool_bury(struct pool *p, struct sandbox *ended)
{
    bool kept = false;
    if (p->runs && ended->launcher > 0) {
        pthread_mutex_lock(&p->lock);
        kept = p->ended_count < POOL_KINDS;
        if (kept)
            p->ended[p->ended_count++] = *ended;
        pthread_mutex_unlock(&p->lock);
    }
    if (kept)
        *ended = (struct sandbox)SANDBOX_NONE;
    else
        sandbox_release(ended);
}

void pool_enter(struct pool *p)
{
    if (!p->runs)
        return;
    pthread_mutex_lock(&p->lock);
    p->busy++;
    pthread_mutex_unlock(&p->lock);
}

void pool_leave(struct pool *p)
{
    if (!p->runs)
        return;
    pthread_mutex_lock(&p->lock);
    p->busy--;
    for (size_t i = 0; i < POOL_KINDS && p->kinds[i]; i++)
        p->kinds[i]->later = false;
    pthread_cond_broadcast(&p->wanted);
    pthread_mutex_unlock(&p->lock);
}

void pool_tell(struct pool *p, struct pool_figures *ret)
{
    *ret = (struct pool_figures){.size = p->size};
    if (!p->runs)
        return;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < POOL_KINDS; i++)
        ret->ready += p->kinds[i] ? p->kinds[i]->ready : 0;
    ret->built = p->built;
    ret->taken = p->taken;
    ret->missed = p->missed;
    ret->laid_taken = p->laid_taken;
    ret->mean_build_us = p->built ? p->build_us / p->built : 0;
    pthread_mutex_unlock(&p->lock);
}

void pool_fill(struct pool *p)
{
    if (!p->runs)
        return;
    pthread_mutex_lock(&p->lock);
    while (kind_to_fill(p) && !p->ends)
        pthread_cond_wait(&p->wanted, &p->lock);
    pthread_mutex_unlock(&p->lock);
}
