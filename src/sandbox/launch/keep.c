/*
 * The keeper: holds a file system in memory, with no path on the host, for as long as the session
 * that asked for it. Every byte on its socket is answered with a mount of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/kernel_calls.h"
#include "sandbox/launch/launch.h"

/* Any directory that every system has; only this process sees what is mounted there. */
#define PLACE "/usr"

static int write_own(const char *path, const char *text)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) >= 0 ? 0 : -errno;
}

/* A user needs a namespace to mount in, with his own id in it; root does not. */
static int enter_namespaces(struct launch *l)
{
    char uid[64], gid[64];
    snprintf(uid, sizeof(uid), "%d %d 1\n", PLAN_UID, (int)geteuid());
    snprintf(gid, sizeof(gid), "%d %d 1\n", PLAN_GID, (int)getegid());
    l->stage = WIRE_STAGE_NAMESPACES;
    if (unshare(CLONE_NEWNS | (l->privileged ? 0 : CLONE_NEWUSER)) < 0)
        return err_errno(&l->err, -errno, "cannot make namespaces");
    if (!l->privileged &&
        (write_own("/proc/self/uid_map", uid) < 0 ||
         write_own("/proc/self/setgroups", "deny") < 0 || write_own("/proc/self/gid_map", gid) < 0))
        return err_errno(&l->err, -errno, "cannot map the user into its namespace");
    l->stage = WIRE_STAGE_OTHER;
    return 0;
}

static int make_file_system(struct launch *l, uint64_t bytes)
{
    char options[128];
    snprintf(options, sizeof(options), "size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=0755%s", bytes,
             bytes / 4096, l->privileged ? "" : ",uid=1000,gid=1000");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", PLACE, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
        return err_errno(&l->err, -errno, "cannot make a file system in memory");
    return 0;
}

static bool send_mount(void)
{
    FD_CLEANUP int tree = kernel_open_tree(AT_FDCWD, PLACE, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    return tree >= 0 && fd_send(WIRE_CONTROL_FD, &tree, 1) == 0;
}

_Noreturn void keep_main(struct launch *l)
{
    uint64_t bytes = 0;
    ssize_t n = recv(WIRE_CONTROL_FD, &bytes, sizeof(bytes), 0);
    kernel_close_range(STDIN_FILENO, STDERR_FILENO, 0);
    kernel_close_range(WIRE_CONTROL_FD + 1, ~0U, 0);
    if (n != (ssize_t)sizeof(bytes) || bytes < 4096)
        _exit(125);
    if (enter_namespaces(l) < 0 || make_file_system(l, bytes) < 0)
        launch_give_up(l);
    launch_report(WIRE_NOTHING, l, 0);
    char byte;
    while (recv(WIRE_CONTROL_FD, &byte, 1, 0) == 1 && send_mount())
        ;
    _exit(0);
}
