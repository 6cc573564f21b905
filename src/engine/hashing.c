/*
 * The fs_hash of the workspace before and after a run; see engine.h. What is real does not change
 * while a run lasts, so the walk that finds edits from outside is made meanwhile, by a thread. The
 * cache is written by one, too, while the run is recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "changes/fs_hash.h"
#include "engine/engine.h"

static int look(struct hashing *h)
{
    const char *const exclude[] = {h->exclude, NULL};
    const struct fs_hash_options options = {
        .root_fd = h->root,
        .cache_path = h->cache,
        .exclude = h->exclude ? exclude : NULL,
        .mark_unreadable = true,
        .allocator = &allocator_libc,
    };
    h->failure = fs_hash_open(&options, &h->hash, &h->err);
    return h->failure;
}

static void *walk(void *user)
{
    look(user);
    return NULL;
}

static int look_at_all(struct fs_hash *hash, struct err *e)
{
    static const char *const everything[] = {""};
    static const size_t length[] = {0};
    return fs_hash_update(hash, everything, length, 1, e);
}

/* --- a workspace in memory --------------------------------------------------------------------
 */

/* With the lock: what is there now. */
static int look_at_held(struct nacre *n, const struct policy *policy, struct err *e)
{
    struct held_hash *held = &n->held_hash;
    int r = 0;
    if (!held->hash) {
        FD_CLEANUP int root = r = engine_memory_mount(n, policy, e);
        const struct fs_hash_options options = {
            .root_fd = root, .mark_unreadable = true, .allocator = &allocator_libc};
        if (r >= 0)
            r = fs_hash_open(&options, &held->hash, e);
    } else if (held->stale || held->users) {
        r = look_at_all(held->hash, e);
    }
    held->stale = r < 0;
    return r < 0 ? r : 0;
}

static void begin_held(nacre_result *r, const struct setting *setting)
{
    struct held_hash *held = &r->engine->held_hash;
    struct hashing *h = &r->hashing;
    pthread_mutex_lock(&held->lock);
    h->failure = look_at_held(r->engine, setting->decider.policy, &h->err);
    if (h->failure == 0)
        fs_hash_root(held->hash, r->fs_hash_before);
    held->users++;
    h->held = true;
    pthread_mutex_unlock(&held->lock);
}

/* Nothing of the run lives any more. */
static void finish_held(nacre_result *r)
{
    struct held_hash *held = &r->engine->held_hash;
    struct hashing *h = &r->hashing;
    pthread_mutex_lock(&held->lock);
    if (h->failure == 0)
        h->failure = look_at_all(held->hash, &h->err);
    if (h->failure == 0)
        fs_hash_root(held->hash, r->fs_hash_after);
    held->users--;
    held->stale = held->users || h->failure < 0;
    h->held = false;
    pthread_mutex_unlock(&held->lock);
    if (h->failure < 0)
        result_warn(r, "the workspace has no fs_hash: %s", h->err.message);
}

/* It never came to its end, and nobody looks at what it left. */
static void give_up_held(nacre_result *r)
{
    struct held_hash *held = &r->engine->held_hash;
    pthread_mutex_lock(&held->lock);
    held->users--;
    held->stale = true;
    r->hashing.held = false;
    pthread_mutex_unlock(&held->lock);
}

/* --- a directory --------------------------------------------------------------------------------
 */

/* Without a store, in a workspace that is only read, everything is read each time. */
static int open_root(struct arena *arena, const struct setting *setting, const char *known,
                     struct hashing *h)
{
    const char *root = setting->workspace.root;
    struct store store = {.path = known, .dir = -1};
    h->root = open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (h->root < 0)
        return -errno;
    if (!setting->decider.policy->workspace_read_only && setting->state_dir &&
        (known || store_open(arena, setting->state_dir, root, &store, NULL) == 0)) {
        h->cache = arena_format(arena, "%s/fs-hash", store.path);
        if (path_is_below(store.path, root) && strlen(store.path) > strlen(root))
            h->exclude = store.path + strlen(root) + 1;
        store_close(&store);
    }
    return 0;
}

void hashing_begin(nacre_result *r, const nacre_run_options *o, const struct setting *setting)
{
    struct hashing *h = &r->hashing;
    if (o->without_hash || h->held || h->root >= 0)
        return;
    if (setting->workspace.in_memory) {
        begin_held(r, setting);
        return;
    }
    const char *store = r->transaction.dir < 0 ? NULL : r->transaction.store.path;
    if (open_root(&r->arena, setting, store, h) == 0)
        crew_start(&r->engine->crew, &h->task, walk, h); /* or there is none, which is told */
}

int engine_fs_hash(struct nacre *n, const struct setting *setting, char ret_hex[SHA256_HEX + 1],
                   struct err *e)
{
    struct hashing h = {.root = -1};
    struct arena arena;
    int r;
    if (setting->workspace.in_memory) {
        pthread_mutex_lock(&n->held_hash.lock);
        r = look_at_held(n, setting->decider.policy, e);
        if (r == 0)
            fs_hash_root(n->held_hash.hash, ret_hex);
        pthread_mutex_unlock(&n->held_hash.lock);
        return r;
    }
    arena_init(&arena, &n->allocator, 1 << 20);
    r = open_root(&arena, setting, NULL, &h);
    if (r < 0) {
        err_errno(e, r, "workspace '%s'", setting->workspace.root);
    } else if ((r = look(&h)) < 0) {
        *e = h.err;
    } else {
        fs_hash_root(h.hash, ret_hex);
        fs_hash_close(h.hash);
    }
    fd_close(&h.root);
    arena_release(&arena);
    return r;
}

static void *save(void *user)
{
    struct hashing *h = user;
    fs_hash_save(h->hash, NULL);
    return NULL;
}

/* Waits for the thread. */
static void finish_thread(nacre_result *r)
{
    struct hashing *h = &r->hashing;
    crew_wait(&r->engine->crew, &h->task);
}

/* What others did meanwhile is not this run's doing, and part of the hash behind it. */
static void look_again(nacre_result *r)
{
    struct hashing *h = &r->hashing;
    struct err e;
    if (look_at_all(h->hash, &e) < 0) {
        r->fs_hash_after[0] = '\0';
        result_warn(r, "the workspace could not be looked at again: %s", e.message);
        return;
    }
    fs_hash_root(h->hash, r->fs_hash_after);
    if (strcmp(r->fs_hash_before, r->fs_hash_after) != 0)
        result_warn(r, "the workspace was changed by others while this ran: what the command saw "
                       "of it may be older");
}

void hashing_before(nacre_result *r, bool shared)
{
    struct hashing *h = &r->hashing;
    bool began = h->task.started;
    if (h->held) {
        finish_held(r);
        return;
    }
    finish_thread(r);
    if (h->hash) {
        fs_hash_root(h->hash, r->fs_hash_before);
        memcpy(r->fs_hash_after, r->fs_hash_before, sizeof(r->fs_hash_after));
        if (shared)
            look_again(r);
    } else if (began) {
        result_warn(r, "the workspace has no fs_hash: %s", h->err.message);
    }
}

/* Only what counts: of a directory that stays, its mode. */
static bool is_hashed(const struct step *step)
{
    return step->root == 0 && (step->kind != STEP_META || step->before.mode != step->after.mode);
}

void hashing_after(nacre_result *r)
{
    struct hashing *h = &r->hashing;
    const struct change_set *set = &r->changes;
    if (!h->hash)
        return;
    const char **paths = arena_alloc_array(&r->arena, set->step_count + 1, sizeof(*paths));
    size_t *lengths = arena_alloc_array(&r->arena, set->step_count + 1, sizeof(*lengths));
    size_t count = 0;
    for (size_t i = 0; paths && lengths && i < set->step_count; i++) {
        if (!is_hashed(&set->steps[i]))
            continue;
        paths[count] = strcmp(set->steps[i].path, ".") == 0 ? "" : set->steps[i].path;
        lengths[count] = strlen(paths[count]);
        count++;
    }
    struct err e;
    if (!paths || !lengths || fs_hash_update(h->hash, paths, lengths, count, &e) < 0) {
        r->fs_hash_after[0] = '\0';
        result_warn(r, "the workspace has no fs_hash: %s", paths ? e.message : "out of memory");
        return;
    }
    fs_hash_root(h->hash, r->fs_hash_after);
    if (!h->cache)
        return;
    if (crew_start(&r->engine->crew, &h->task, save, h) < 0)
        save(h);
}

void hashing_end(nacre_result *r)
{
    if (r->hashing.held)
        give_up_held(r);
    finish_thread(r);
    if (r->hashing.hash)
        fs_hash_close(r->hashing.hash);
    r->hashing.hash = NULL;
    fd_close(&r->hashing.root);
}
