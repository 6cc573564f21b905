/* The server's own workspace and policy, as they are now; see mcp_internal.h. */
#include <string.h>

#include "serve/mcp_internal.h"

enum { PLACE_BYTES_MAX = 64 << 20 };

int mcp_place_open(struct mcp *m, struct mcp_place *ret, struct err *e)
{
    arena_init(&ret->arena, &allocator_libc, PLACE_BYTES_MAX);
    ret->m = m;
    int r =
        engine_open_setting(&ret->arena, &m->handle->policies, m->options.run, &ret->setting, e);
    if (r < 0)
        arena_release(&ret->arena);
    return r;
}

void mcp_place_close(struct mcp_place *p)
{
    if (p->setting.cached)
        policy_cache_release(&p->m->handle->policies, p->setting.cached);
    arena_release(&p->arena);
}

struct mcp_showing mcp_showing_of(const struct policy *policy)
{
    struct mcp_showing s = {.limit = 50000, .keep = MCP_KEEP_BOTH};
    if (policy && policy->output.limit)
        s.limit = policy->output.limit;
    if (policy && policy->output.keep && strcmp(policy->output.keep, "head") == 0)
        s.keep = MCP_KEEP_HEAD;
    else if (policy && policy->output.keep && strcmp(policy->output.keep, "tail") == 0)
        s.keep = MCP_KEEP_TAIL;
    return s;
}
