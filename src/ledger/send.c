/*
 * Sending checkpoints on. A copy of the whole directory, put back later, verifies: only somebody
 * who kept a later checkpoint can see that it is old. So checkpoints go elsewhere, after they are
 * durable. A hook that fails loses nothing and stops nobody; the caller is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "ledger/internal.h"

enum { COMMAND_MS = 10000 };

static int to_file(const char *path, const char *note, size_t len)
{
    FD_CLEANUP int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    /* One write, so that two writers' notes do not mix. */
    ssize_t n = write(fd, note, len);
    return n < 0 ? -errno : (size_t)n == len ? 0 : -ENOSPC;
}

/* Waits for the command; one that takes too long is ended. */
static int wait_for(pid_t child)
{
    FD_CLEANUP int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    uint64_t deadline = clock_monotonic_ms() + COMMAND_MS;
    bool late = false;
    if (pidfd < 0)
        return -errno;
    for (;;) {
        uint64_t now = clock_monotonic_ms();
        int r = poll(&end, 1, now < deadline ? (int)(deadline - now) : 0);
        if (r > 0)
            break;
        if (r == 0) {
            late = true;
            kill(child, SIGKILL);
            poll(&end, 1, COMMAND_MS);
            break;
        }
        if (errno != EINTR)
            return -errno;
    }
    siginfo_t info = {0};
    int r;
    do
        r = waitid(P_PID, (id_t)child, &info, WEXITED);
    while (r < 0 && errno == EINTR);
    if (late)
        return -ETIMEDOUT;
    /* A host that reaps all children has taken the answer. */
    if (r < 0)
        return errno == ECHILD ? 0 : -errno;
    return info.si_code == CLD_EXITED && info.si_status == 0 ? 0 : -EPIPE;
}

static int to_command(const char *text, const char *note, size_t len)
{
    FD_CLEANUP int input = fd_sealed_memory("checkpoint", note, len);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t child;
    if (input < 0)
        return input;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0) {
        char shell[] = "sh", option[] = "-c";
        char *argv[] = {shell, option, (char *)(uintptr_t)text, NULL};
        r = posix_spawn(&child, "/bin/sh", &actions, &attributes, argv, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return r != 0 ? -r : wait_for(child);
}

static int to_syslog(const char *path, const char *note, size_t len)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char line[NOTE_MAX + 64];
    if (!path)
        path = "/dev/log";
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    FD_CLEANUP int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    /* Facility user, notice. The note on one line: a tab for each newline but the last. */
    int at = snprintf(line, sizeof(line), "<13>nacre[%d]: ledger checkpoint\t", (int)getpid());
    for (size_t i = 0; i + 1 < len && at < (int)sizeof(line); i++) {
        char c = note[i];
        if (c == '\n')
            c = '\t';
        line[at++] = c;
    }
    if (sendto(fd, line, (size_t)at, MSG_NOSIGNAL, (struct sockaddr *)&address, sizeof(address)) <
        0)
        return -errno;
    return 0;
}

/* Whether it is this writer's turn: the time of the last sending is shared by all. */
static bool is_due(struct ledger *l, size_t hook)
{
    int64_t *sent = &l->state.shared->sent_ms[hook];
    int64_t last = __atomic_load_n(sent, __ATOMIC_ACQUIRE), now = clock_utc_ms();
    uint64_t every = l->hooks[hook].every_ms;
    /* A clock that was set back must not silence the hook. */
    if (every && last <= now && (uint64_t)(now - last) < every)
        return false;
    return __atomic_compare_exchange_n(sent, &last, now, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE) ||
           every == 0;
}

void send_checkpoint(struct ledger *l, const char *note, size_t len, bool now)
{
    for (size_t i = 0; i < l->hook_count; i++) {
        const struct ledger_hook *hook = &l->hooks[i];
        const char *target = hook->target ? hook->target : "";
        if (!now && !is_due(l, i))
            continue;
        int r = hook->kind == LEDGER_HOOK_FILE      ? to_file(target, note, len)
                : hook->kind == LEDGER_HOOK_COMMAND ? to_command(target, note, len)
                : hook->kind == LEDGER_HOOK_SYSLOG  ? to_syslog(hook->target, note, len)
                                                    : -EINVAL;
        if (r < 0 && l->notice) {
            struct err e = {0};
            err_errno(&e, r, "the checkpoint could not be sent to '%s'", target);
            struct ledger_notice notice = {.kind = LEDGER_NOTICE_HOOK, .text = e.message};
            l->notice(l->user, &notice);
        }
    }
}

int ledger_send(struct ledger *l, struct err *e)
{
    struct signed_head head = {0};
    int r = append_check(l, e);
    if (r == 0)
        r = head_read(l, &head, e);
    if (r == 0)
        send_checkpoint(l, head.text, head.len, true);
    return r;
}
