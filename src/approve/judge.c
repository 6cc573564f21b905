/*
 * An outside judge: a program that is asked before a person is. It gets the question on standard
 * input and has a moment to print one object: {"decision": "accept" | "reject" | "escalate",
 * "reason": TEXT}. Whatever else it does, a person is asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "approve/approve.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/utf8.h"

enum { ANSWER_MAX = 64 << 10, KILLED_MS = 5000 };

const char *const judge_word_names[] = {
    [JUDGE_ESCALATE] = "escalate", [JUDGE_ACCEPT] = "accept", [JUDGE_REJECT] = "reject"};

static void escalate(struct judge_answer *ret, const char *why)
{
    ret->word = JUDGE_ESCALATE;
    snprintf(ret->reason, sizeof(ret->reason), "%s", why);
}

/* --- its process ----------------------------------------------------------------------------- */

static int start(const char *program, const char *const *argv, int input, int output, pid_t *ret)
{
    static const char *const environment[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
        NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    /* A session of its own: one signal reaches all of it, and no terminal is near. */
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    int r = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (r == 0)
        r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    if (r == 0)
        r = posix_spawn_file_actions_addchdir_np(&actions, "/");
    if (r == 0)
        r = posix_spawn(ret, program, &actions, &attributes, (char *const *)(uintptr_t)argv,
                        (char *const *)(uintptr_t)environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -r;
}

/* Reads to its end, or until it is too late, too much or cancelled. */
static int listen_to(int output, int cancel_fd, uint64_t deadline, struct buf *text)
{
    for (;;) {
        uint64_t now = clock_monotonic_ms();
        struct pollfd fds[] = {{.fd = output, .events = POLLIN},
                               {.fd = cancel_fd, .events = POLLIN}};
        uint64_t left = now < deadline ? deadline - now : 0;
        int r = poll(fds, 2, left > 60000 ? 60000 : (int)left);
        char piece[4096];
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r > 0 && fds[1].revents)
            return -ECANCELED;
        if (r > 0 && fds[0].revents) {
            ssize_t n = read(output, piece, sizeof(piece));
            if (n == 0)
                return 0;
            if (n < 0 && errno != EINTR && errno != EAGAIN)
                return -errno;
            if (n > 0 && buf_append(text, piece, (size_t)n) < 0)
                return -E2BIG;
        }
        if (clock_monotonic_ms() >= deadline)
            return -ETIMEDOUT;
    }
}

/* Waits for its end until the deadline, then ends all of it. 0: it ended by itself, and well. */
static int finish(pid_t child, int cancel_fd, uint64_t deadline, bool at_once)
{
    FD_CLEANUP int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd ends[] = {{.fd = pidfd, .events = POLLIN}, {.fd = cancel_fd, .events = POLLIN}};
    siginfo_t info = {0};
    bool ended = false, late = at_once || pidfd < 0;
    while (!late && !ended) {
        uint64_t now = clock_monotonic_ms(), left = now < deadline ? deadline - now : 0;
        int r = poll(ends, 2, left > 60000 ? 60000 : (int)left);
        ended = r > 0 && ends[0].revents;
        late = (r < 0 && errno != EINTR) || (r > 0 && ends[1].revents) ||
               (r == 0 && clock_monotonic_ms() >= deadline);
    }
    /* A host that reaps all children has taken it, and its number may be somebody else's. */
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT | WNOHANG) < 0)
        return -ECHILD;
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    ends[0].revents = 0;
    poll(ends, 1, KILLED_MS);
    int r;
    do
        r = waitid(P_PID, (id_t)child, &info, WEXITED);
    while (r < 0 && errno == EINTR);
    if (late && !ended)
        return -ETIMEDOUT;
    return r == 0 && info.si_code == CLD_EXITED && info.si_status == 0 ? 0 : -EPIPE;
}

/* --- its word -------------------------------------------------------------------------------- */

static void understand(const char *bytes, size_t len, struct judge_answer *ret)
{
    json_error_t ignored;
    json_t *top = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &ignored);
    const char *word = json_string_value(json_object_get(top, "decision"));
    const json_t *reason = json_object_get(top, "reason");
    const char *text = json_string_value(reason);
    size_t text_len = json_string_length(reason);
    escalate(ret, "the judge's answer cannot be read");
    if (word && (!reason || text)) {
        for (enum judge_word i = JUDGE_ESCALATE; i <= JUDGE_REJECT; i++) {
            if (strcmp(word, judge_word_names[i]) != 0)
                continue;
            size_t max = sizeof(ret->reason) - 1;
            ret->word = i;
            snprintf(ret->reason, sizeof(ret->reason), "%.*s",
                     (int)(text_len > max ? utf8_cut_before(text, max) : text_len),
                     text ? text : "");
        }
    }
    json_decref(top);
}

void approve_judge(const char *program, const char *const *argv, uint64_t timeout_ms, int cancel_fd,
                   const char *question, size_t len, struct judge_answer *ret)
{
    int pipes[2];
    pid_t child = 0;
    uint64_t deadline = clock_monotonic_ms() + timeout_ms;
    FD_CLEANUP int input = fd_sealed_memory("question", question, len);
    if (input < 0 || pipe2(pipes, O_CLOEXEC) < 0) {
        escalate(ret, "the judge cannot be asked: no descriptor for the question");
        return;
    }
    FD_CLEANUP int output = pipes[0];
    int r = start(program, argv, input, pipes[1], &child);
    close(pipes[1]);
    if (r < 0) {
        snprintf(ret->reason, sizeof(ret->reason), "the judge cannot be started: %s", strerror(-r));
        ret->word = JUDGE_ESCALATE;
        return;
    }
    struct buf text;
    buf_init(&text, &allocator_libc, ANSWER_MAX);
    int heard = listen_to(output, cancel_fd, deadline, &text);
    int ended = finish(child, cancel_fd, deadline, heard < 0);
    if (heard == -E2BIG)
        escalate(ret, "the judge said more than 64 kB");
    else if (heard == -ECANCELED)
        escalate(ret, "the judge was not waited for");
    else if (heard == -ETIMEDOUT || ended == -ETIMEDOUT)
        escalate(ret, "the judge took too long");
    else if (heard < 0 || ended < 0)
        escalate(ret, "the judge failed");
    else
        understand(text.data, text.len, ret);
    buf_release(&text);
}
