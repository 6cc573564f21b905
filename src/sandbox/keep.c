/* A file system in memory, kept by a launcher of its own; see sandbox.h and launch/keep.c. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "sandbox/sandbox.h"

enum { ABOVE_WIRE = 16 };

int keeper_start(const char *launcher, uint64_t bytes, struct keeper *ret, struct err *e)
{
    struct keeper k = KEEPER_NONE;
    int theirs[] = {-1, -1, -1, -1}, pair[2];
    struct wire_message message;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, -errno, "cannot make a socket");
    k.control = pair[1];
    theirs[WIRE_CONTROL_FD] = fd_copy_above(pair[0], ABOVE_WIRE);
    fd_close(&pair[0]);
    int r = theirs[WIRE_CONTROL_FD];
    if (r >= 0)
        r = sandbox_spawn(launcher, WIRE_KEEP, theirs, sizeof(theirs) / sizeof(theirs[0]), &k.pid);
    fd_close(&theirs[WIRE_CONTROL_FD]);
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
