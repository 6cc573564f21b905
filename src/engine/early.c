/* See early.h. */
#include "engine/early.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/path.h"
#include "engine/engine.h"

enum {
    PLAN_BYTES = 4 << 20,
    READY_BYTES = 1 << 16,
    READY_AGE_MS = 600 * 1000,
    FAILURES_MAX = 3, /* in a row: then this one is left alone */
};

/* --- what is remembered ---------------------------------------------------------------------- */

static uint64_t add_number(uint64_t key, uint64_t number)
{
    const uint64_t prime = 0x100000001b3;
    for (int i = 0; i < 8; i++)
        key = (key ^ (number >> 8 * i & 0xff)) * prime;
    return key;
}

static uint64_t add_text(uint64_t key, const char *text)
{
    const uint64_t prime = 0x100000001b3;
    for (; text && *text; text++)
        key = (key ^ (unsigned char)*text) * prime;
    return (key ^ (text ? 0x100 : 0x101)) * prime;
}

static uint64_t add_list(uint64_t key, const char *const *list)
{
    for (; list && *list; list++)
        key = add_text(key, *list);
    return add_text(key, NULL);
}

/* It need not be sure, only likely: what comes of it is compared with the plan. */
static uint64_t key_of(const nacre_run_options *o, const struct setting *setting)
{
    const char *const texts[] = {o->profile,        o->agent,   o->config,
                                 o->config_dir,     o->network, setting->workspace.root,
                                 setting->state_dir};
    uint64_t key = 0xcbf29ce484222325;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        key = add_text(key, texts[i]);
    key = add_list(key, o->environment);
    key = add_list(key, o->read_paths);
    key = add_list(key, o->limits);
    const int numbers[] = {o->deterministic, o->workspace_only, o->umask};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        key = add_number(key, (unsigned)numbers[i]);
    return key;
}

static void drop_ready(struct nacre *n, struct early_ready *ready)
{
    pool_bury(&n->pool, &ready->sandbox); /* nothing has run in it */
    ahead_drop(&ready->layer);
    arena_release(ready->arena);
    alloc_free(&n->allocator, ready->arena);
    *ready = (struct early_ready){.sandbox = SANDBOX_NONE, .layer = LAYER_AHEAD_NONE};
}

static void let_go(struct nacre *n, struct early_plan *p)
{
    if (!p || --p->users)
        return;
    while (p->ready_count)
        drop_ready(n, &p->ready[--p->ready_count]);
    arena_release(&p->arena);
    alloc_free(&n->allocator, p);
}

/* In front of all others, or gone. */
static struct early_plan *take_out(struct early_plans *all, uint64_t key)
{
    size_t at = 0;
    while (at < EARLY_MAX && (!all->items[at] || all->items[at]->key != key))
        at++;
    if (at == EARLY_MAX)
        return NULL;
    struct early_plan *found = all->items[at];
    memmove(&all->items[at], &all->items[at + 1],
            (EARLY_MAX - 1 - at) * sizeof(struct early_plan *));
    all->items[EARLY_MAX - 1] = NULL;
    return found;
}

static void put_first(struct nacre *n, struct early_plan *p)
{
    struct early_plans *all = &n->early;
    let_go(n, all->items[EARLY_MAX - 1]);
    memmove(&all->items[1], &all->items[0], (EARLY_MAX - 1) * sizeof(struct early_plan *));
    all->items[0] = p;
}

void early_clear(struct nacre *n)
{
    for (size_t i = 0; i < EARLY_MAX; i++)
        let_go(n, n->early.items[i]);
}

static const char *copy(struct arena *arena, const char *text)
{
    return text ? arena_copy(arena, text, strlen(text)) : NULL;
}

/* The first steps of a plan, with everything that they name. */
static struct early_plan *copy_plan(struct nacre *n, const struct plan *plan, size_t count)
{
    struct early_plan *p = alloc_resize(&n->allocator, NULL, sizeof(*p));
    if (!p)
        return NULL;
    *p = (struct early_plan){.users = 1};
    arena_init(&p->arena, &n->allocator, PLAN_BYTES);
    p->plan.steps = arena_alloc_array(&p->arena, count, sizeof(*p->plan.steps));
    for (size_t i = 0; p->plan.steps && i < count; i++) {
        struct plan_step *step = &p->plan.steps[i];
        *step = plan->steps[i];
        step->path = copy(&p->arena, step->path);
        step->text = copy(&p->arena, step->text);
        if (step->kind == PLAN_LAYER)
            p->layer = i;
    }
    p->plan.count = count;
    if (p->arena.failed) {
        let_go(n, p);
        return NULL;
    }
    return p;
}

void early_remember(nacre_result *r, const nacre_run_options *o, const struct setting *setting,
                    const struct plan *plan)
{
    struct nacre *n = r->engine;
    const struct plan ahead = plan_part(plan, 0), shown = plan_part(plan, ahead.count);
    struct early_plan *p = copy_plan(n, plan, ahead.count + shown.count);
    if (!p)
        return;
    p->key = key_of(o, setting);
    p->ahead = ahead.count;
    p->root = copy(&p->arena, setting->workspace.root);
    p->state_dir = copy(&p->arena, setting->state_dir);
    p->device = setting->workspace.device;
    p->inode = setting->workspace.inode;
    if (p->arena.failed)
        p->state_dir = NULL; /* nothing is built before a run, then */
    pthread_mutex_lock(&n->lock);
    let_go(n, take_out(&n->early, p->key));
    /* One without a layer, or that does not wait for its text, cannot be begun. */
    if (p->layer > p->ahead && shown.steps[shown.count - 1].kind == PLAN_WAIT)
        put_first(n, p);
    else
        let_go(n, p);
    pthread_mutex_unlock(&n->lock);
}

/* --- what is begun --------------------------------------------------------------------------- */

/* A plan of its own: the remembered one, with this layer. Its texts live as long as the other. */
static bool make_own(struct arena *arena, const struct early_plan *p, const char *layer,
                     struct plan *ret)
{
    struct plan own = {.count = p->plan.count};
    own.steps = arena_alloc_array(arena, own.count, sizeof(*own.steps));
    if (!own.steps || !layer)
        return false;
    memcpy(own.steps, p->plan.steps, own.count * sizeof(*own.steps));
    own.steps[p->layer].text = layer;
    *ret = own;
    return true;
}

/*
 * What is at a path, and at those above it: in the workspace from its root on. An overlay keeps
 * hold of what it has looked up, with its mode and owner, so that no other can have its number;
 * what lies elsewhere nobody keeps hold of, and there the time of the last change tells, too.
 */
static uint64_t add_seen(uint64_t seen, const char *root, const char *path)
{
    char part[PATH_MAX];
    size_t len = strlen(path);
    if (len >= sizeof(part))
        return seen; /* no path of a plan is */
    memcpy(part, path, len + 1);
    const bool inside = path_is_below(path, root);
    for (size_t at = inside ? strlen(root) + 1 : 1; at <= len; at++) {
        if (part[at] != '/' && part[at] != '\0')
            continue;
        struct stat st = {0};
        part[at] = '\0';
        const bool there = lstat(part, &st) == 0;
        part[at] = path[at];
        const bool timed = there && (!S_ISDIR(st.st_mode) || (!inside && at == len));
        const uint64_t is[] = {there ? 1 : 0,
                               there ? st.st_dev : 0,
                               there ? st.st_ino : 0,
                               there ? st.st_mode : 0,
                               there ? st.st_uid : 0,
                               there ? st.st_gid : 0,
                               timed ? (uint64_t)st.st_ctim.tv_sec : 0,
                               timed ? (uint64_t)st.st_ctim.tv_nsec : 0};
        for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++)
            seen = add_number(seen, is[i]);
    }
    return seen;
}

/* Of all paths that are covered (W1). */
static uint64_t look_at_covered(const struct early_plan *p)
{
    uint64_t seen = 0xcbf29ce484222325;
    for (size_t i = p->layer + 1; i < p->plan.count; i++) {
        if (p->plan.steps[i].path && p->plan.steps[i].path[0] == '/')
            seen = add_seen(seen, p->root, p->plan.steps[i].path);
    }
    return seen;
}

static void release(nacre_result *r)
{
    struct nacre *n = r->engine;
    pthread_mutex_lock(&n->lock);
    let_go(n, r->early.of);
    pthread_mutex_unlock(&n->lock);
    r->early.of = NULL;
}

/* Gives the workspace's part to a sandbox that has the rest. */
static int show(struct nacre *n, const struct early_plan *p, const struct plan *own,
                struct sandbox *sandbox)
{
    struct err ignored;
    const struct plan shown = plan_part(own, p->ahead);
    return sandbox_show(sandbox, &n->allocator, &shown, &ignored);
}

/* With the lock: one that waits, if there is one. */
static bool take_ready(struct nacre *n, struct early_plan *p, struct early_ready *ret)
{
    while (p->ready_count) {
        struct early_ready first = p->ready[0];
        memmove(p->ready, p->ready + 1, --p->ready_count * sizeof(p->ready[0]));
        if (sandbox_waits(&first.sandbox)) {
            *ret = first;
            return true;
        }
        p->failures++;
        drop_ready(n, &first);
    }
    return false;
}

void early_begin(nacre_result *r, const nacre_run_options *o, const struct setting *setting)
{
    struct nacre *n = r->engine;
    if (!warm_is_possible(r, o, r->text) || setting->workspace.in_memory ||
        setting->decider.policy->workspace_read_only)
        return;
    uint64_t key = key_of(o, setting);
    pthread_mutex_lock(&n->lock);
    struct early_plan *p = take_out(&n->early, key);
    bool ready = p && take_ready(n, p, &r->early.ready);
    if (p) {
        put_first(n, p);
        p->users++;
    }
    pthread_mutex_unlock(&n->lock);
    if (!p)
        return;
    r->early.of = p;
    if (ready)
        return;
    const struct plan ahead = {p->plan.steps, p->ahead};
    r->early.missed = !pool_take(&n->pool, &ahead, &r->sandbox);
    int failure = r->early.missed ? -1 : reversal_begin_early(r, setting);
    if (failure == 0)
        failure = make_own(&r->arena, p, r->transaction.journal.set.roots[0].layer, &r->early.plan)
                      ? show(n, p, &r->early.plan, &r->sandbox)
                      : -1;
    if (failure < 0)
        early_give_up(r);
}

bool early_adopt(nacre_result *r, const struct transaction_root *root)
{
    struct early_plan *p = r->early.of;
    struct early_ready ready = r->early.ready;
    struct err ignored;
    r->early.ready = (struct early_ready){.sandbox = SANDBOX_NONE, .layer = LAYER_AHEAD_NONE};
    int failure =
        ahead_adopt(&r->arena, &ready.layer, r->correlation_id, root, &r->transaction, &ignored);
    /* After the transaction has begun: what somebody changes from then on is a conflict. */
    if (failure == 0 && ready.seen == look_at_covered(p) &&
        make_own(&r->arena, p, r->transaction.journal.set.roots[0].layer, &r->early.plan)) {
        r->sandbox = ready.sandbox;
        ready.sandbox = (struct sandbox)SANDBOX_NONE;
        drop_ready(r->engine, &ready); /* what is left of it */
        pool_note_taken(&r->engine->pool);
        pthread_mutex_lock(&r->engine->lock);
        p->failures = 0;
        pthread_mutex_unlock(&r->engine->lock);
        return true;
    }
    drop_ready(r->engine, &ready);
    early_give_up(r);
    return false;
}

/* Everything of it but the sandbox and its layer, which the caller has. */
static int make_ready(struct nacre *n, struct early_plan *p, struct early_ready *ready)
{
    struct err ignored;
    struct plan own;
    const struct transaction_root root = reversal_root(p->root, p->device, p->inode, false);
    const struct plan ahead = {p->plan.steps, p->ahead};
    ready->seen = look_at_covered(p);
    ready->built_ms = clock_monotonic_ms();
    int r = ahead_make(ready->arena, p->state_dir, &root, &ready->layer, &ignored);
    if (r == 0 && !make_own(ready->arena, p, ready->layer.layer, &own))
        r = -ENOMEM;
    if (r == 0 && !pool_lend(&n->pool, &ahead, &ready->sandbox))
        r = -EAGAIN;
    return r < 0 ? r : show(n, p, &own, &ready->sandbox);
}

/* With the lock. */
static void drop_old(struct nacre *n, struct early_plan *p)
{
    uint64_t now = clock_monotonic_ms();
    while (p->ready_count && now - p->ready[0].built_ms > READY_AGE_MS) {
        struct early_ready old = p->ready[0];
        memmove(p->ready, p->ready + 1, --p->ready_count * sizeof(p->ready[0]));
        drop_ready(n, &old);
    }
}

bool early_prepare(struct nacre *n)
{
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < EARLY_MAX; i++) {
        if (n->early.items[i])
            drop_old(n, n->early.items[i]);
    }
    struct early_plan *p = n->early.items[0];
    bool wanted =
        p && p->state_dir && p->ready_count < EARLY_READY_MAX && p->failures < FAILURES_MAX;
    if (wanted)
        p->users++;
    pthread_mutex_unlock(&n->lock);
    if (!wanted)
        return false;
    struct early_ready ready = {.sandbox = SANDBOX_NONE, .layer = LAYER_AHEAD_NONE};
    ready.arena = alloc_resize(&n->allocator, NULL, sizeof(*ready.arena));
    int r = -ENOMEM;
    const struct plan ahead = {p->plan.steps, p->ahead};
    if (ready.arena) {
        arena_init(ready.arena, &n->allocator, READY_BYTES);
        r = pool_has(&n->pool, &ahead) ? make_ready(n, p, &ready) : -EAGAIN;
    }
    pthread_mutex_lock(&n->lock);
    /* Somebody may have put one back meanwhile. */
    if (r == 0 && p->ready_count == EARLY_READY_MAX)
        r = -EAGAIN;
    p->failures += r < 0 && r != -EAGAIN;
    if (r == 0)
        p->ready[p->ready_count++] = ready;
    let_go(n, p);
    pthread_mutex_unlock(&n->lock);
    if (r < 0 && ready.arena)
        drop_ready(n, &ready);
    return r == 0;
}

size_t early_count(struct nacre *n)
{
    size_t count = 0;
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < EARLY_MAX; i++)
        count += n->early.items[i] ? n->early.items[i]->ready_count : 0;
    pthread_mutex_unlock(&n->lock);
    return count;
}

bool early_use(nacre_result *r, const struct plan *plan)
{
    if (!r->early.of || !r->early.plan.count || !plan_begins_with(plan, &r->early.plan))
        return false;
    r->warm = true;
    r->built = r->early.plan.count;
    release(r);
    return true;
}

/* Nobody has touched it: the next run may have it. */
static void put_back(nacre_result *r)
{
    struct nacre *n = r->engine;
    struct early_plan *p = r->early.of;
    struct early_ready ready = r->early.ready;
    r->early.ready = (struct early_ready){.sandbox = SANDBOX_NONE, .layer = LAYER_AHEAD_NONE};
    pthread_mutex_lock(&n->lock);
    bool kept = p->ready_count < EARLY_READY_MAX;
    if (kept)
        p->ready[p->ready_count++] = ready;
    pthread_mutex_unlock(&n->lock);
    if (!kept)
        drop_ready(n, &ready);
    release(r);
}

void early_give_up(nacre_result *r)
{
    if (!r->early.of)
        return;
    if (r->early.ready.arena) {
        put_back(r);
        return;
    }
    struct err told = r->error;
    recording_note_mended(r);
    r->error = told;
    /* Nothing runs in it, so nobody need wait until it is gone. */
    pool_bury(&r->engine->pool, &r->sandbox);
    reversal_give_up(r);
    release(r);
}
