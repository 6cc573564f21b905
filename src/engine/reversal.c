/* Each run as a transaction on what it may write to; see engine.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/units.h"
#include "changes/beneath.h"
#include "engine/engine.h"
#include "engine/git_effects.h"
#include "policy/effects.h"

/* --- before the run -------------------------------------------------------------------------- */

/* Nothing to undo is kept of it, and the result says so. */
static int without(nacre_result *r, const struct policy *policy, const char *why, bool accepted)
{
    r->reversible = false;
    r->reversible_reason = arena_copy(&r->arena, why, strlen(why));
    if (accepted || policy->accept_irreversible) {
        result_warn(r, "what this changes cannot be undone: %s", why);
        return 0;
    }
    return err_set(&r->error, -ENOTSUP,
                   "what this changes could not be undone: %s; a policy can accept that "
                   "(accept_irreversible: true)",
                   why);
}

/* Whether the inside would see it: in the workspace, or in what is listed. */
static bool is_shown(const struct plan_request *request, const char *path)
{
    bool shown = path_is_below(path, request->workspace.path);
    for (size_t k = 0; k < request->write.count; k++)
        shown |= path_is_below(path, request->write.items[k].path);
    for (size_t k = 0; k < request->read.count; k++)
        shown |= path_is_below(path, request->read.items[k].path);
    return shown;
}

/* As the places of a request are: a home may be reached by a link. NULL: it is not there. */
static const char *canonical(struct arena *arena, const char *path)
{
    char real[PATH_MAX];
    return path && realpath(path, real) ? arena_copy(arena, real, strlen(real)) : NULL;
}

int reversal_hide_state(struct arena *arena, const struct setting *setting,
                        struct plan_request *request, struct err *e)
{
    const char *state = canonical(arena, setting->state_dir);
    bool shown = state && is_shown(request, state);
    for (const char *const *system = plan_system_paths; state && *system; system++)
        shown |= path_is_below(state, *system);
    if (!shown)
        return arena->failed ? err_set(e, -ENOMEM, "out of memory") : 0;
    if (request->strength != PLAN_FULL)
        return err_set(
            e, -EPERM,
            "the state directory '%s', with the ledger and its key, would be in reach, and in "
            "landlock strength it cannot be hidden: choose another workspace",
            state);
    const char **hide = arena_alloc_array(arena, request->hide.count + 1, sizeof(*hide));
    if (!hide)
        return err_set(e, -ENOMEM, "out of memory");
    if (request->hide.count)
        memcpy(hide, request->hide.items, request->hide.count * sizeof(*hide));
    hide[request->hide.count] = state;
    request->hide = (struct plan_texts){hide, request->hide.count + 1};
    return 0;
}

/* A path whose end may not be there yet, without links in the part that is. NULL: none is given. */
static const char *canonical_to_be(struct arena *arena, const char *path)
{
    const char *whole = canonical(arena, path);
    if (whole || !path || path[0] != '/')
        return whole;
    for (size_t len = strlen(path); len > 1; len--) {
        if (path[len - 1] != '/')
            continue;
        const char *head = arena_copy(arena, path, len - 1);
        const char *real = head ? canonical(arena, len > 1 && head[0] ? head : "/") : NULL;
        if (real)
            return arena_format(arena, "%s/%s", strcmp(real, "/") == 0 ? "" : real, path + len);
    }
    return arena_copy(arena, path, strlen(path));
}

int reversal_hide_policy(struct arena *arena, const nacre_run_options *o,
                         struct plan_request *request, struct err *e)
{
    const char *places[] = {canonical(arena, o->config_dir), canonical(arena, o->config)};
    const char **hide = arena_alloc_array(arena, request->hide.count + 2, sizeof(*hide));
    size_t count = request->hide.count;
    if (!hide)
        return err_set(e, -ENOMEM, "out of memory");
    if (count)
        memcpy(hide, request->hide.items, count * sizeof(*hide));
    for (size_t i = 0; i < 2; i++) {
        if (!places[i] || !is_shown(request, places[i]))
            continue;
        if (request->strength != PLAN_FULL)
            return err_set(e, -EPERM,
                           "the configuration '%s', by which the command is judged, would be in "
                           "reach, and in landlock strength it cannot be hidden: choose another "
                           "workspace",
                           places[i]);
        hide[count++] = places[i];
    }
    request->hide = (struct plan_texts){hide, count};
    return arena->failed ? err_set(e, -ENOMEM, "out of memory") : 0;
}

/* Whether it changed what it is judged by next: a path of that; NULL. */
static const char *changed_policy(nacre_result *r, const nacre_run_options *o)
{
    const struct change_set *set = &r->changes;
    const char *places[] = {canonical_to_be(&r->arena, o->config_dir),
                            canonical_to_be(&r->arena, o->config)};
    for (size_t i = 0; i < set->change_count; i++) {
        const struct change *c = &set->changes[i];
        const char *path = arena_format(&r->arena, "%s/%s", set->roots[c->root].path, c->path);
        for (size_t k = 0; path && k < 2 && c->kind != CHANGE_KEPT; k++) {
            bool gone = c->kind == CHANGE_DELETED && places[k] && path_is_below(places[k], path);
            bool linked = S_ISLNK(c->after.mode) && places[k] && path_is_below(places[k], path);
            if (places[k] && (path_is_below(path, places[k]) || gone || linked))
                return path;
        }
    }
    return NULL;
}

/* The store lies where nobody inside is to see it. */
static int hide_store(nacre_result *r, struct plan_request *request)
{
    const struct change_set *set = &r->transaction.journal.set;
    const char **hide =
        arena_alloc_array(&r->arena, request->hide.count + set->root_count + 1, sizeof(*hide));
    size_t count = request->hide.count;
    const char *state = canonical(&r->arena, r->transaction.store.state);
    if (!hide)
        return -ENOMEM;
    if (count)
        memcpy(hide, request->hide.items, count * sizeof(*hide));
    for (size_t i = 0; i < set->root_count; i++) {
        const char *place = store_of_layer(&r->arena, set->roots[i].layer);
        const char *store = place ? canonical(&r->arena, place) : NULL;
        if (store && !(state && path_is_below(store, state)) && is_shown(request, store))
            hide[count++] = store;
    }
    request->hide = (struct plan_texts){hide, count};
    return r->arena.failed ? -ENOMEM : 0;
}

/* The layer of a place: over it, or, where it is a copy, in its stead. */
static int use_layer(nacre_result *r, const struct change_root *root, struct plan_place *place)
{
    if (!root->copied_ns) {
        place->layer = root->layer;
        return 0;
    }
    struct stat st;
    place->source = arena_format(&r->arena, "%s/upper", root->layer);
    if (!place->source || lstat(place->source, &st) < 0)
        return err_errno(&r->error, place->source ? -errno : -ENOMEM, "cannot use '%s'",
                         root->layer);
    place->device = st.st_dev;
    place->inode = st.st_ino;
    return 0;
}

/* Gives the request its layers: the workspace's first, then those of paths that are listed. */
static int use_layers(nacre_result *r, struct plan_request *request)
{
    const struct change_set *set = &r->transaction.journal.set;
    int failure = 0;
    if (!request->workspace_read_only)
        failure = use_layer(r, &set->roots[0], &request->workspace);
    struct plan_place *write =
        arena_alloc_array(&r->arena, request->write.count + 1, sizeof(*write));
    if (!write)
        return -ENOMEM;
    if (request->write.count)
        memcpy(write, request->write.items, request->write.count * sizeof(*write));
    for (size_t i = 0; failure == 0 && i < request->write.count; i++) {
        for (size_t k = 0; failure == 0 && k < set->root_count; k++) {
            if (!write[i].target && strcmp(write[i].path, set->roots[k].path) == 0)
                failure = use_layer(r, &set->roots[k], &write[i]);
        }
    }
    request->write.items = write;
    return failure < 0 ? failure : hide_store(r, request);
}

struct transaction_root reversal_root(const char *path, uint64_t device, uint64_t inode, bool copy)
{
    struct transaction_root root = {.path = path,
                                    .device = device,
                                    .inode = inode,
                                    .uid = geteuid(),
                                    .gid = getegid(),
                                    .copy = copy};
    struct stat st;
    if (root.uid == 0 && lstat(path, &st) == 0) {
        root.uid = st.st_uid;
        root.gid = st.st_gid;
    }
    return root;
}

static struct transaction_root root_for(const nacre_result *r, const struct plan_place *place)
{
    return reversal_root(place->path, place->device, place->inode, r->no_layer);
}

int reversal_begin_early(nacre_result *r, const struct setting *setting)
{
    const struct workspace *w = &setting->workspace;
    const struct plan_place place = {.path = w->root, .device = w->device, .inode = w->inode};
    const struct transaction_root root = root_for(r, &place);
    struct err ignored;
    return transaction_begin(&r->arena, setting->state_dir, r->correlation_id, &root, 1,
                             &r->transaction, &ignored);
}

int reversal_begin(nacre_result *r, const struct setting *setting, struct plan_request *request)
{
    const struct policy *policy = setting->decider.policy;
    const struct workspace *w = &setting->workspace;
    r->reversible = true;
    if (request->strength != PLAN_FULL)
        return without(r, policy, "landlock strength has no layer for it", true);
    if (w->in_memory) {
        r->reversible = false;
        r->reversible_reason = "the workspace is in memory";
        r->writes_outside = request->write.count > 0;
        return r->writes_outside
                   ? without(r, policy, "with a workspace in memory, listed paths have no layer",
                             false)
                   : 0;
    }
    struct transaction_root roots[TRANSACTION_ROOTS_MAX];
    size_t count = 0;
    if (!request->workspace_read_only)
        roots[count++] = root_for(r, &request->workspace);
    for (size_t i = 0; i < request->write.count; i++) {
        const struct plan_place *place = &request->write.items[i];
        struct stat st;
        if (place->target || path_is_below(place->path, w->root))
            continue;
        /* A single file has no directory of its own to lay a layer over. */
        if (lstat(place->path, &st) < 0 || !S_ISDIR(st.st_mode) || count == TRANSACTION_ROOTS_MAX) {
            without(r, policy, "a listed path is a single file, which cannot have a layer", true);
            continue;
        }
        roots[count++] = root_for(r, place);
    }
    if (!count)
        return 0; /* nothing is written */
    if (r->early.of && (count > 1 || request->workspace_read_only))
        early_give_up(r); /* it is another one */
    bool begun = r->early.of && (!r->early.ready.arena || early_adopt(r, &roots[0]));
    int failure = begun ? 0
                        : transaction_begin(&r->arena, setting->state_dir, r->correlation_id, roots,
                                            count, &r->transaction, &r->error);
    if (failure < 0 && policy->accept_irreversible) {
        struct err why = r->error;
        r->error = (struct err){0};
        return without(r, policy, why.message, true);
    }
    if (failure == 0 && !setting->state_dir) {
        r->reversible = false;
        r->reversible_reason = "there is no state directory in which changes could be kept";
    }
    if (failure == 0)
        failure = use_layers(r, request);
    return failure;
}

int reversal_show(struct arena *arena, const struct setting *setting, struct plan_request *request,
                  struct err *e)
{
    if (setting->workspace.in_memory || request->workspace_read_only)
        return 0;
    const char *store = store_place(arena, setting->state_dir, setting->workspace.root);
    request->workspace.layer = store ? arena_format(arena, "%s/runs/ID/layer0", store) : NULL;
    return request->workspace.layer ? 0 : err_set(e, -ENOMEM, "out of memory");
}

void reversal_tidy(const nacre_result *r)
{
    struct nacre *n = r->engine;
    if (r->transaction.dir < 0)
        return;
    if (!n->pool.runs) {
        store_tidy(&r->transaction.store);
        return;
    }
    /* One store at a time: a workspace that is used less often is tidied when its turn comes. */
    pthread_mutex_lock(&n->lock);
    fd_close(&n->untidy);
    n->untidy = fcntl(r->transaction.store.dir, F_DUPFD_CLOEXEC, 0);
    pthread_mutex_unlock(&n->lock);
}

void reversal_tidy_now(void *handle)
{
    struct nacre *n = handle;
    pthread_mutex_lock(&n->lock);
    FD_CLEANUP int dir = fd_steal(&n->untidy);
    pthread_mutex_unlock(&n->lock);
    if (dir >= 0)
        store_tidy(&(struct store){.dir = dir});
}

void reversal_give_up(nacre_result *r)
{
    if (r->transaction.dir < 0)
        return;
    struct err ignored;
    transaction_discard(&r->transaction, &ignored);
    transaction_close(&r->transaction);
}

/* --- after it -------------------------------------------------------------------------------- */

/* What a link that is new says; NULL for what is none. */
static const char *read_target(nacre_result *r, const struct change *c)
{
    const struct change_set *set = &r->changes;
    const char *slot = S_ISLNK(c->after.mode) ? change_slot(set, c, &r->arena) : NULL;
    if (!slot)
        return NULL;
    FD_CLEANUP int layer =
        open(set->roots[c->root].layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct beneath b = BENEATH_AT(layer);
    char target[PATH_MAX];
    int parent;
    const char *name;
    ssize_t n = layer < 0 || beneath_parent(&b, slot, &parent, &name) < 0
                    ? -1
                    : readlinkat(parent, name, target, sizeof(target));
    beneath_release(&b);
    return n <= 0 ? "" : arena_copy(&r->arena, target, (size_t)n);
}

/* Why they are held, in the form of a verdict. */
static void ask_for_changes(nacre_result *r, const nacre_run_options *o,
                            const struct setting *setting,
                            const struct policy_effect_verdict *verdict)
{
    enum { REASONS_MAX = 4 << 20 };
    struct buf text;
    struct json j;
    buf_init(&text, &r->engine->allocator, REASONS_MAX);
    json_init_buf(&j, &text);
    json_object_begin(&j);
    json_key(&j, "decision");
    json_text(&j, "confirm");
    json_key(&j, "reasons");
    json_array_begin(&j);
    for (size_t i = 0; i < verdict->count; i++) {
        json_object_begin(&j);
        json_key(&j, "rule");
        json_text(&j, verdict->reasons[i].rule);
        json_key(&j, "reason");
        json_text(&j, verdict->reasons[i].reason);
        if (verdict->reasons[i].path) {
            json_key(&j, "path");
            changes_write_name(&j, verdict->reasons[i].path);
        }
        json_object_end(&j);
    }
    json_array_end(&j);
    json_key(&j, "changes");
    changes_write_json(&r->changes, &j);
    json_object_end(&j);
    bool whole = json_finish(&j) == 0 && !text.failed;
    asking_hold(r, o, setting, whole ? text.data : "{}", whole ? text.len : 2);
    buf_release(&text);
}

/* The verdict on what it did. False: it is not to be real. */
static bool judge_effects(nacre_result *r, const nacre_run_options *o,
                          const struct setting *setting)
{
    const struct change_set *set = &r->changes;
    struct policy_effect *effects =
        arena_alloc_array(&r->arena, set->change_count + 1, sizeof(*effects));
    struct git_effects git = {.arena = &r->arena, .set = set};
    size_t count = 0;
    uint64_t looked_at = 0;
    for (size_t i = 0; effects && i < set->change_count; i++) {
        const struct change *c = &set->changes[i];
        if (c->kind == CHANGE_KEPT || c->to)
            continue;
        const char *inside;
        bool harmless;
        git_effects_look(&git, c, &inside, &harmless);
        effects[count++] = (struct policy_effect){
            .kind = c->kind == CHANGE_DELETED   ? EFFECT_DELETED
                    : c->kind == CHANGE_CREATED ? EFFECT_CREATED
                                                : EFFECT_MODIFIED,
            .path = arena_format(&r->arena, "%s/%s", set->roots[c->root].path, c->path),
            .root = set->roots[c->root].path,
            .bytes = c->kind == CHANGE_CREATED || c->kind == CHANGE_MODIFIED ? c->after.size : 0,
            .target = read_target(r, c),
            .is_directory = S_ISDIR(c->kind == CHANGE_DELETED ? c->before.mode : c->after.mode),
            .harmless = harmless,
            .in_repository = inside,
            .secret = leaks_find(r, c, &looked_at),
        };
    }
    struct policy_effect_verdict verdict;
    if (r->arena.failed ||
        policy_judge_effects(&r->arena, setting->decider.policy, setting->workspace.root,
                             setting->home, effects, count, &verdict) < 0) {
        err_set(&r->error, -ENOMEM, "out of memory for the verdict on the changes");
        r->status = NACRE_STATUS_ERROR;
        r->exit_code = 125;
        return false;
    }
    for (size_t i = 0; i < verdict.review_count; i++)
        result_warn(r, "%s", verdict.review[i]);
    const char *policy_path = changed_policy(r, o);
    if (policy_path) {
        r->rule = "policy";
        r->status = NACRE_STATUS_DENIED;
        err_set(&r->error, -EPERM,
                "the changes were thrown away: '%.300s' is of the configuration by which it is "
                "judged",
                policy_path);
        return false;
    }
    if (verdict.decision == DECISION_ALLOW)
        return true;
    for (size_t i = 0; i < verdict.count; i++)
        result_warn(r, "%s%s%s", verdict.reasons[i].path ? verdict.reasons[i].path : "",
                    verdict.reasons[i].path ? ": " : "", verdict.reasons[i].reason);
    const struct policy_effect_reason *first = &verdict.reasons[0];
    r->rule = first->rule;
    if (verdict.decision == DECISION_DENY) {
        r->status = NACRE_STATUS_DENIED;
        err_set(&r->error, -EPERM, "the changes were thrown away: %s", first->reason);
    } else {
        r->status = NACRE_STATUS_NEEDS_CONFIRMATION;
        err_set(
            &r->error, -EPERM,
            "the changes are held: %s (`nacre diff %.8s` shows them, `nacre approve %.8s` makes "
            "them real)",
            first->reason, r->correlation_id, r->correlation_id);
        ask_for_changes(r, o, setting, &verdict);
    }
    return false;
}

void reversal_forbid(nacre_result *r, const char *const *paths, size_t count)
{
    const struct change_set *set = &r->transaction.journal.set;
    for (size_t i = 0; r->transaction.dir >= 0 && i < count; i++) {
        for (size_t k = 0; k < set->root_count; k++) {
            size_t len = strlen(set->roots[k].path);
            if (!path_is_below(paths[i], set->roots[k].path) || !paths[i][len])
                continue;
            const char *path = arena_format(&r->arena, "upper/%s", paths[i] + len + 1);
            FD_CLEANUP int layer =
                open(set->roots[k].layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            struct beneath b = BENEATH_AT(layer);
            int parent;
            const char *name;
            if (path && layer >= 0 && beneath_parent(&b, path, &parent, &name) == 0 &&
                unlinkat(parent, name, 0) == 0)
                result_warn(r,
                            "'%s' was made, which would let git run programs of the inside's: "
                            "removed",
                            paths[i]);
            beneath_release(&b);
        }
    }
}

static void fail(nacre_result *r)
{
    r->status = NACRE_STATUS_ERROR;
    r->exit_code = 125;
}

static void hold(nacre_result *r)
{
    struct err e = {0};
    if (transaction_hold(&r->transaction, &e) < 0) {
        r->error = e;
        fail(r);
    }
}

int reversal_take_back(nacre_result *r, const struct setting *setting, struct err *e)
{
    if (!r->committed || !setting->state_dir)
        return 0;
    struct transaction t = TRANSACTION_NONE;
    struct conflicts conflicts = {.arena = &r->arena};
    int failure = transaction_open(&r->arena, setting->state_dir, r->correlation_id, &t, e);
    if (failure == 0)
        failure = transaction_undo(&t, &conflicts, e);
    transaction_close(&t);
    r->committed = failure < 0;
    return failure < 0 ? failure : 1;
}

/* It was over before the guard saw how much it wrote. */
static void check_disk(nacre_result *r, uint64_t limit)
{
    char wrote[UNITS_TEXT], most[UNITS_TEXT];
    const bool ended = r->status == NACRE_STATUS_OK || r->status == NACRE_STATUS_FAILED ||
                       r->status == NACRE_STATUS_KILLED;
    if (!limit || r->changes.allocated <= limit || !ended)
        return;
    r->status = NACRE_STATUS_LIMIT;
    r->exit_code = 137;
    r->limit.name = "disk";
    r->limit.value = limit;
    r->limit.kept_by = "account";
    units_format_size(r->changes.allocated, wrote);
    units_format_size(limit, most);
    result_warn(r, "it ended past the disk limit of %s: what it wrote takes %s", most, wrote);
}

void reversal_end(nacre_result *r, const nacre_run_options *o, const struct setting *setting)
{
    struct transaction *t = &r->transaction;
    hashing_before(r, o->shared);
    if (t->dir < 0)
        return;
    int failure = transaction_scan(t, &r->conflicts, &r->error);
    r->changes = t->journal.set;
    for (size_t i = 0; i < r->changes.notes.count; i++)
        result_warn(r, "%s", r->changes.notes.items[i]);
    if (failure < 0) {
        err_context(&r->error, failure, "the changes were thrown away");
        fail(r);
        reversal_give_up(r);
        return;
    }
    r->changes_known = true;
    check_disk(r, setting->decider.policy->limits.disk_bytes);
    if (!r->changes.step_count && !r->conflicts.count) {
        struct err ignored;
        transaction_end_unused(t, &ignored);
        transaction_close(t);
        return;
    }
    if (recording_sync(r) < 0) { /* E2 */
        fail(r);
        reversal_give_up(r);
        return;
    }
    bool allowed = o->unjudged || judge_effects(r, o, setting);
    t->journal.allowed = allowed;
    if (r->status == NACRE_STATUS_DENIED || (!allowed && r->status == NACRE_STATUS_ERROR)) {
        reversal_give_up(r);
        return;
    }
    if (!allowed || o->stage) {
        if (o->stage && allowed)
            result_warn(r,
                        "the changes are staged: `nacre commit %.8s` makes them real, `nacre "
                        "discard %.8s` throws them away",
                        r->correlation_id, r->correlation_id);
        hold(r);
    } else {
        phases_enter(&r->phases, PHASE_COMMIT);
        failure = transaction_commit(t, &r->conflicts, &r->error);
        if (failure == -EBUSY) {
            r->status = NACRE_STATUS_NEEDS_CONFIRMATION;
            err_context(&r->error, failure, "the changes are held");
        } else if (failure < 0) {
            if (t->journal.state == JOURNAL_APPLYING) {
                r->committed = true;
                err_context(&r->error, failure,
                            "the changes are real, but the disk failed while that was written down "
                            "(the next use of nacre here looks at it again)");
            } else if (t->journal.state == JOURNAL_HELD)
                err_context(&r->error, failure,
                            "the changes are held, and nothing of them is real");
            fail(r);
        } else {
            r->committed = true;
            hashing_after(r);
        }
        for (size_t i = r->changes.notes.count; i < t->journal.set.notes.count; i++)
            result_warn(r, "%s", t->journal.set.notes.items[i]);
    }
    transaction_close(t);
}
