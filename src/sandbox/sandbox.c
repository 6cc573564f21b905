/* Starting and watching the launcher; see sandbox.h. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "sandbox/probe.h"
#include "sandbox/wire.h"

enum {
    ABOVE_WIRE = 16,      /* our copies lie above the numbers that the launcher wants */
    PIPE_BYTES = 1 << 18, /* fewer switches between writer and reader */
};

/* One pipe end for the launcher and the other for us, which does not block. */
static int make_pipe(bool launcher_reads, int *ret_theirs, int *ret_ours)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES); /* a wish: the user's quota may refuse it */
    *ret_theirs = ends[launcher_reads ? 0 : 1];
    *ret_ours = ends[launcher_reads ? 1 : 0];
    return fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* The launcher's end of everything; index is the number under which it finds it. */
enum { THEIRS = WIRE_CONTROL_FD + 1 };

static int make_plan_fd(const struct allocator *allocator, const struct plan *plan)
{
    struct buf bytes;
    buf_init(&bytes, allocator, PLAN_BYTES_MAX);
    int r = plan_encode(plan, &bytes);
    if (r == 0)
        r = fd_sealed_memory("nacre-plan", bytes.data, bytes.len);
    buf_release(&bytes);
    return r;
}

static int make_descriptors(bool input, struct sandbox *s, int theirs[THEIRS])
{
    int r = make_pipe(false, &theirs[STDOUT_FILENO], &s->output);
    if (r == 0)
        r = make_pipe(false, &theirs[STDERR_FILENO], &s->errors);
    if (r == 0 && input)
        r = make_pipe(true, &theirs[STDIN_FILENO], &s->input);
    if (r == 0 && !input) {
        theirs[STDIN_FILENO] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        r = theirs[STDIN_FILENO] < 0 ? -errno : 0;
    }
    int pair[2];
    if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        r = -errno;
    else if (r == 0) {
        theirs[WIRE_CONTROL_FD] = pair[0];
        s->control = pair[1];
    }
    for (int i = 0; r >= 0 && i < THEIRS; i++) {
        if (theirs[i] < 0)
            continue;
        int high = fd_copy_above(theirs[i], ABOVE_WIRE);
        fd_close(&theirs[i]);
        r = theirs[i] = high;
    }
    return r < 0 ? r : 0;
}

/* Executes the launcher with an empty environment, default signals and its descriptors in place. */
int sandbox_spawn(const char *launcher, const char *argument, const int *theirs, size_t count,
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
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (theirs[i] >= 0)
            r = posix_spawn_file_actions_adddup2(&actions, theirs[i], (int)i);
    }
    if (r == 0) {
        char name[] = "nacre-launch";
        char *argv[] = {name, (char *)argument, NULL}, *environment[] = {NULL};
        r = posix_spawn(ret, launcher, &actions, &attributes, argv, environment);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -r;
}

int sandbox_open(const char *launcher, bool input, struct sandbox *ret, struct err *e)
{
    struct sandbox s = SANDBOX_NONE;
    int theirs[THEIRS];
    for (int i = 0; i < THEIRS; i++)
        theirs[i] = -1;

    int r = make_descriptors(input, &s, theirs);
    if (r < 0)
        err_errno(e, r, "cannot make the sandbox's descriptors");
    else if ((r = sandbox_spawn(launcher, NULL, theirs, THEIRS, &s.launcher)) < 0)
        err_errno(e, r, "cannot execute the launcher '%s'", launcher);
    for (int i = 0; i < THEIRS; i++)
        fd_close(&theirs[i]);
    if (r < 0) {
        s.launcher = -1;
        sandbox_release(&s);
        return r;
    }
    *ret = s;
    return 0;
}

int sandbox_start(struct sandbox *s, const struct allocator *allocator, const struct plan *plan,
                  int held, struct err *e)
{
    FD_CLEANUP int file = make_plan_fd(allocator, plan);
    const int fds[] = {file, held};
    if (file < 0)
        return err_errno(e, file, "cannot write down the plan");
    int r = fd_send(s->control, fds, held < 0 ? 1 : 2);
    /* A launcher that has died says why, or how, with the next event. */
    return r < 0 && r != -EPIPE ? err_errno(e, r, "cannot send the plan") : 0;
}

/* What to do about it, behind the reason. */
static void add_remedy(enum wire_stage stage, struct err *e)
{
    char remedy[320] = "";
    if (stage == WIRE_STAGE_NAMESPACES)
        probe_explain_userns(e->code, remedy, sizeof(remedy));
    else if (stage == WIRE_STAGE_IDMAP)
        snprintf(remedy, sizeof(remedy),
                 "started by root, nacre needs a file system with idmapped mounts for the "
                 "workspace: run it as the workspace's owner instead");
    else if (stage == WIRE_STAGE_PROC)
        snprintf(remedy, sizeof(remedy),
                 "a container that masks parts of /proc forbids this: start it with "
                 "--security-opt systempaths=unconfined");
    size_t used = strlen(e->message);
    snprintf(e->message + used, sizeof(e->message) - used, "%s%s (see `nacre doctor`)",
             remedy[0] ? "; " : "", remedy);
}

void sandbox_explain(const struct wire_message *message, struct err *e)
{
    int code = message->code < 0 ? message->code : -EPROTO;
    err_set(e, code, "%.*s", (int)sizeof(message->text) - 1, message->text);
    err_context(e, code, "cannot build the sandbox");
    add_remedy((enum wire_stage)message->stage, e);
}

int sandbox_read_event(struct sandbox *s, struct sandbox_outcome *outcome)
{
    struct wire_message message;
    ssize_t n;
    do
        n = recv(s->control, &message, sizeof(message), MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return 0;
    if (n != (ssize_t)sizeof(message)) {
        /* The guard itself is dead: init and all the rest die with it. */
        if (!outcome->failed && !outcome->gone) {
            outcome->failed = true;
            err_set(&outcome->err, -EPIPE, "the sandbox's guard died");
        }
        outcome->gone = true;
        return 1;
    }
    message.text[sizeof(message.text) - 1] = '\0';
    switch (message.kind) {
    case WIRE_FAILED:
        if (!outcome->failed) {
            outcome->failed = true;
            outcome->no_namespaces = message.stage == WIRE_STAGE_NAMESPACES;
            outcome->no_layer = message.stage == WIRE_STAGE_LAYER;
            sandbox_explain(&message, &outcome->err);
        }
        break;
    case WIRE_BUILT:
        outcome->built = true;
        break;
    case WIRE_ENDED:
        outcome->ended = true;
        outcome->wait_status = message.code;
        outcome->survivors = message.survivors;
        break;
    case WIRE_COUNTED:
        outcome->usage = message.usage;
        break;
    case WIRE_GONE:
        /* Init has counted processes, the guard all the rest; in landlock strength both. */
        if (!message.usage.processes_peak) {
            message.usage.processes_peak = outcome->usage.processes_peak;
            message.usage.spawns_refused = outcome->usage.spawns_refused;
        }
        outcome->gone = true;
        outcome->limit = (enum wire_limit)message.limit;
        outcome->means = (enum wire_means)message.means;
        outcome->usage = message.usage;
        break;
    default:
        break;
    }
    return 1;
}

void sandbox_kill(struct sandbox *s)
{
    if (s->control >= 0)
        shutdown(s->control, SHUT_WR);
}

static void release(struct sandbox *s, int flags)
{
    fd_close(&s->control);
    fd_close(&s->input);
    fd_close(&s->output);
    fd_close(&s->errors);
    /* ECHILD: the host program reaps for us. */
    while (s->launcher > 0 && waitpid(s->launcher, NULL, flags) < 0 && errno == EINTR)
        ;
    s->launcher = -1;
}

void sandbox_release(struct sandbox *s)
{
    release(s, 0); /* it is over, or its socket's end tells it to be */
}

void sandbox_abandon(struct sandbox *s)
{
    release(s, WNOHANG);
}
