/* What the host has, looked at once for each handle; see engine.h. */
#include "sandbox/host.h"

#include "engine/engine.h"

int engine_host(struct nacre *n, const struct plan_host **ret, struct err *e)
{
    pthread_mutex_lock(&n->lock);
    int r = n->host_is_known ? 0 : host_look(&n->arena, &n->host, e);
    n->host_is_known = r == 0;
    pthread_mutex_unlock(&n->lock);
    *ret = &n->host;
    return r;
}
