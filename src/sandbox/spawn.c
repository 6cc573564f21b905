/* See spawn.h. */
#include "sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "sandbox/wire.h"

/* Our copies lie above the numbers that the launcher wants. */
enum { ABOVE_WIRE = 16 };

/* theirs[i] becomes its descriptor i. */
static int spawn(const char *launcher, const char *argument, const int *theirs, size_t count,
                 pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int r = posix_spawn_file_actions_init(&actions);
    if (r != 0)
        return -r;
    r = posix_spawnattr_init(&attributes);
    if (r != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return -r;
    }
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = posix_spawn_file_actions_adddup2(&actions, theirs[i], (int)i);
    if (r == 0) {
        char name[] = "nacre-launch";
        char *argv[] = {name, (char *)argument, NULL}, *environment[] = {NULL};
        r = posix_spawn(ret, launcher, &actions, &attributes, argv, environment);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

int spawn_launcher(const char *launcher, const char *argument, pid_t *ret_pid, int *ret_control)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    FD_CLEANUP int ours = pair[1], theirs = pair[0];
    FD_CLEANUP int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    FD_CLEANUP int high_null = null < 0 ? -1 : fd_copy_above(null, ABOVE_WIRE);
    FD_CLEANUP int high = fd_copy_above(theirs, ABOVE_WIRE);
    if (null < 0 || high_null < 0 || high < 0)
        return null < 0 ? -errno : high_null < 0 ? high_null : high;
    /* What is the program's own comes later: nothing in its place may be the caller's. */
    const int fds[] = {high_null, high_null, high_null, [WIRE_CONTROL_FD] = high};
    int r = spawn(launcher, argument, fds, sizeof(fds) / sizeof(fds[0]), ret_pid);
    if (r == 0)
        *ret_control = fd_steal(&ours);
    return r;
}

int spawn_plan_file(const struct allocator *allocator, const struct plan *plan)
{
    struct buf bytes;
    buf_init(&bytes, allocator, PLAN_BYTES_MAX);
    int r = plan_encode(plan, &bytes);
    if (r == 0)
        r = fd_sealed_memory("nacre-plan", bytes.data, bytes.len);
    buf_release(&bytes);
    return r;
}

void spawn_send_head(int control, const struct allocator *allocator, const struct plan_host *host)
{
    struct arena arena;
    struct plan head;
    arena_init(&arena, allocator, PLAN_BYTES_MAX);
    FD_CLEANUP int file =
        plan_build_head(&arena, host, &head, NULL) < 0 ? -1 : spawn_plan_file(allocator, &head);
    if (file >= 0)
        fd_send(control, &file, 1);
    arena_release(&arena);
}
