/* A file system in memory, kept by a launcher of its own; see sandbox.h and launch/keep.c. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "sandbox/sandbox.h"
#include "sandbox/spawn.h"

int keeper_start(const char *launcher, uint64_t bytes, struct keeper *ret, struct err *e)
{
    struct keeper k = KEEPER_NONE;
    struct wire_message message;
    int r = spawn_launcher(launcher, WIRE_KEEP, &k.pid, &k.control);
    if (r < 0) {
        err_errno(e, r, "cannot execute the launcher '%s'", launcher);
    } else if (send(k.control, &bytes, sizeof(bytes), MSG_NOSIGNAL) != (ssize_t)sizeof(bytes) ||
               recv(k.control, &message, sizeof(message), 0) != (ssize_t)sizeof(message)) {
        r = err_set(e, -EPIPE, "the keeper of the workspace in memory died");
    } else if (message.kind == WIRE_FAILED) {
        sandbox_explain(&message, e);
        r = e->code;
    }
    if (r < 0) {
        keeper_end(&k);
        return r;
    }
    *ret = k;
    return 0;
}

int keeper_mount(const struct keeper *k, struct err *e)
{
    int mount = -1;
    if (send(k->control, "", 1, MSG_NOSIGNAL) != 1 || fd_receive(k->control, &mount, 1, true) != 1)
        return err_set(e, -EPIPE, "the keeper of the workspace in memory died");
    return mount;
}

void keeper_end(struct keeper *k)
{
    fd_close(&k->control);
    while (k->pid > 0 && waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    k->pid = -1;
}
