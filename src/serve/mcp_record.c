/* What is recorded of this workspace's runs, and of no other's (M6). */
#include <errno.h>
#include <string.h>

#include "history/history.h"
#include "serve/mcp_internal.h"

bool mcp_is_here(const struct mcp_place *place, const char *workspace)
{
    return workspace && strcmp(workspace, place->setting.workspace.root) == 0;
}

int mcp_history_open(const struct mcp_place *place, struct history **ret, struct err *e)
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

int mcp_record_open(struct mcp *m, const char *id, struct mcp_record *ret, struct err *e)
{
    uint64_t index;
    ret->history = NULL;
    int r = mcp_place_open(m, &ret->place, e);
    if (r < 0)
        return r;
    r = mcp_history_open(&ret->place, &ret->history, e);
    if (r == 0)
        r = history_find(ret->history, id, &index, e);
    if (r == 0)
        r = history_read(ret->history, &ret->place.arena, index, &ret->run, e);
    /* Of another workspace: as if it were not there. */
    if (r == 0 && !mcp_is_here(&ret->place, workspace_of(&ret->run)))
        r = err_set(e, -ENOENT, "there is no run '%.40s' of this workspace", id);
    if (r < 0)
        mcp_record_close(ret);
    return r;
}

void mcp_record_close(struct mcp_record *r)
{
    history_close(r->history);
    mcp_place_close(&r->place);
}
