/* See past.h. */
#include "serve/past.h"

#include <errno.h>
#include <string.h>

#include "changes/patch.h"

enum { PLACE_BYTES_MAX = 64 << 20 };

int past_place_open(nacre *handle, const nacre_run_options *run, struct past_place *ret,
                    struct err *e)
{
    arena_init(&ret->arena, &allocator_libc, PLACE_BYTES_MAX);
    ret->handle = handle;
    int r = engine_open_setting(&ret->arena, &handle->policies, run, &ret->setting, e);
    if (r < 0)
        arena_release(&ret->arena);
    return r;
}

void past_place_close(struct past_place *p)
{
    if (p->setting.cached)
        policy_cache_release(&p->handle->policies, p->setting.cached);
    arena_release(&p->arena);
}

/* --- records --------------------------------------------------------------------------------- */

bool past_is_here(const struct past_place *place, const char *workspace)
{
    return workspace && strcmp(workspace, place->setting.workspace.root) == 0;
}

int past_history_open(const struct past_place *place, struct history **ret, struct err *e)
{
    const char *state = place->setting.state_dir;
    if (!state)
        return err_set(e, -ENOENT, "there is no state directory");
    int r = history_open(state, NULL, ret, e);
    return r == -ENOENT ? err_set(e, -ENOENT, "nothing is recorded yet") : r;
}

static const char *workspace_of(const struct history_run *run)
{
    if (run->has_intent && run->intent.entry.workspace)
        return run->intent.entry.workspace;
    return run->has_result ? run->result.entry.workspace : NULL;
}

int past_record_open(nacre *handle, const nacre_run_options *run, const char *id,
                     struct past_record *ret, struct err *e)
{
    uint64_t index;
    ret->history = NULL;
    int r = past_place_open(handle, run, &ret->place, e);
    if (r < 0)
        return r;
    r = past_history_open(&ret->place, &ret->history, e);
    if (r == 0)
        r = history_find(ret->history, id, &index, e);
    if (r == 0)
        r = history_read(ret->history, &ret->place.arena, index, &ret->run, e);
    /* Of another workspace: as if it were not there. */
    if (r == 0 && !past_is_here(&ret->place, workspace_of(&ret->run)))
        r = err_set(e, -ENOENT, "there is no run '%.40s' of this workspace", id);
    if (r < 0)
        past_record_close(ret);
    return r;
}

void past_record_close(struct past_record *r)
{
    history_close(r->history);
    past_place_close(&r->place);
}

/* --- changes --------------------------------------------------------------------------------- */

struct patching {
    struct buf *out;
    size_t max;
    bool more;
};

static int add_patch(void *user, const struct patch *p)
{
    struct patching *w = user;
    size_t room = w->max > w->out->len ? w->max - w->out->len : 0;
    size_t head = p->head.len < room ? p->head.len : room;
    size_t hunks = p->hunks.len < room - head ? p->hunks.len : room - head;
    buf_append(w->out, p->head.data, head);
    buf_append(w->out, p->hunks.data, hunks);
    w->more |= head < p->head.len || hunks < p->hunks.len;
    /* Enough: what is left out is not looked at either. */
    return w->out->failed ? w->out->failed : w->more ? -E2BIG : 0;
}

int past_patch(const struct transaction *t, size_t max, struct buf *out, bool *ret_more,
               struct err *e)
{
    struct patching w = {.out = out, .max = max};
    int r = patches_make(&t->journal, PATCH_HUNKS, add_patch, &w, e);
    *ret_more = w.more;
    return w.more && !out->failed ? 0 : r;
}
