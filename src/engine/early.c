/* See early.h. */
#include "engine/early.h"

#include <string.h>

#include "engine/engine.h"

enum { PLAN_BYTES = 4 << 20 };

/* --- what is remembered ---------------------------------------------------------------------- */

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
        key = (key ^ (unsigned)numbers[i]) * 0x100000001b3;
    return key;
}

static void let_go(struct nacre *n, struct early_plan *p)
{
    if (!p || --p->users)
        return;
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
    memmove(&all->items[at], &all->items[at + 1], (EARLY_MAX - 1 - at) * sizeof(all->items[0]));
    all->items[EARLY_MAX - 1] = NULL;
    return found;
}

static void put_first(struct nacre *n, struct early_plan *p)
{
    struct early_plans *all = &n->early;
    let_go(n, all->items[EARLY_MAX - 1]);
    memmove(&all->items[1], &all->items[0], (EARLY_MAX - 1) * sizeof(all->items[0]));
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

/* This run's plan: the remembered one, with its own layer. Its texts live as long as the other. */
static bool make_own(nacre_result *r, const struct early_plan *p, struct plan *ret)
{
    struct plan own = {.count = p->plan.count};
    own.steps = arena_alloc_array(&r->arena, own.count, sizeof(*own.steps));
    if (!own.steps)
        return false;
    memcpy(own.steps, p->plan.steps, own.count * sizeof(*own.steps));
    own.steps[p->layer].text = r->transaction.journal.set.roots[0].layer;
    *ret = own;
    return own.steps[p->layer].text != NULL;
}

static void release(nacre_result *r)
{
    struct nacre *n = r->engine;
    pthread_mutex_lock(&n->lock);
    let_go(n, r->early.of);
    pthread_mutex_unlock(&n->lock);
    r->early.of = NULL;
}

void early_begin(nacre_result *r, const nacre_run_options *o, const struct setting *setting)
{
    struct nacre *n = r->engine;
    struct err ignored;
    if (!warm_is_possible(r, o, r->text) || setting->workspace.in_memory ||
        setting->decider.policy->workspace_read_only)
        return;
    uint64_t key = key_of(o, setting);
    pthread_mutex_lock(&n->lock);
    struct early_plan *p = take_out(&n->early, key);
    if (p) {
        put_first(n, p);
        p->users++;
    }
    pthread_mutex_unlock(&n->lock);
    if (!p)
        return;
    r->early.of = p;
    const struct plan ahead = {p->plan.steps, p->ahead};
    r->early.missed = !pool_take(&n->pool, &ahead, &r->sandbox);
    int failure = r->early.missed ? -1 : reversal_begin_early(r, setting);
    if (failure == 0)
        failure = make_own(r, p, &r->early.plan) ? 0 : -1;
    if (failure == 0) {
        const struct plan shown = plan_part(&r->early.plan, p->ahead);
        failure = sandbox_show(&r->sandbox, &n->allocator, &shown, &ignored);
    }
    if (failure < 0)
        early_give_up(r);
}

bool early_use(nacre_result *r, const struct plan *plan)
{
    if (!r->early.of || !plan_begins_with(plan, &r->early.plan))
        return false;
    r->warm = true;
    r->built = r->early.plan.count;
    release(r);
    return true;
}

void early_give_up(nacre_result *r)
{
    if (!r->early.of)
        return;
    struct err told = r->error;
    recording_note_mended(r);
    r->error = told;
    /* Nothing runs in it, so nobody need wait until it is gone. */
    pool_bury(&r->engine->pool, &r->sandbox);
    reversal_give_up(r);
    release(r);
}
