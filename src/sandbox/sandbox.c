/* Starting and watching the launcher; see sandbox.h. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/probe.h"
#include "sandbox/spawn.h"
#include "sandbox/wire.h"

enum { PIPE_BYTES = 1 << 18 }; /* fewer switches between writer and reader */

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

/* The program's own descriptors: one end of each pipe for it, the other for us. */
static int make_stdio(bool input, struct sandbox *s, int theirs[static STDERR_FILENO + 1])
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
    return r;
}

/* A terminal of its own for all three. */
static int make_terminal(struct sandbox *s, int theirs[static STDERR_FILENO + 1])
{
    const struct winsize usual = {.ws_row = 24, .ws_col = 80};
    s->output = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (s->output < 0 || grantpt(s->output) < 0 || unlockpt(s->output) < 0 ||
        ioctl(s->output, TIOCSWINSZ, &usual) < 0 || fcntl(s->output, F_SETFL, O_NONBLOCK) < 0 ||
        (s->input = fcntl(s->output, F_DUPFD_CLOEXEC, 0)) < 0 ||
        (theirs[0] = ioctl(s->output, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0 ||
        (theirs[1] = fcntl(theirs[0], F_DUPFD_CLOEXEC, 0)) < 0 ||
        (theirs[2] = fcntl(theirs[0], F_DUPFD_CLOEXEC, 0)) < 0)
        return -errno;
    return 0;
}

int sandbox_open(const char *launcher, struct sandbox *ret, struct err *e)
{
    struct sandbox s = SANDBOX_NONE;
    int r = spawn_launcher(launcher, NULL, &s.launcher, &s.control);
    if (r < 0)
        return err_errno(e, r, "cannot execute the launcher '%s'", launcher);
    *ret = s;
    return 0;
}

int sandbox_start(struct sandbox *s, const struct allocator *allocator, const struct plan *plan,
                  unsigned flags, int held, struct err *e)
{
    FD_CLEANUP int file = spawn_plan_file(allocator, plan);
    if (file < 0)
        return err_errno(e, file, "cannot write down the plan");
    int theirs[STDERR_FILENO + 1] = {-1, -1, -1};
    s->start_ms = clock_monotonic_ms();
    int r = flags & SANDBOX_TERMINAL ? make_terminal(s, theirs)
                                     : make_stdio(flags & SANDBOX_INPUT, s, theirs);
    FD_CLEANUP int session = -1;
    if (r == 0 && (flags & SANDBOX_SESSION))
        r = make_pipe(false, &session, &s->session);
    int pair[2] = {-1, -1};
    if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        r = -errno;
    s->programs = pair[1];
    FD_CLEANUP int programs = pair[0];
    const int more = session >= 0 ? session : held;
    const int fds[] = {file, theirs[0], theirs[1], theirs[2], programs, more};
    if (r < 0)
        err_errno(e, r, "cannot make the sandbox's descriptors");
    /* A launcher that has died says why, or how, with the next event. */
    else if ((r = fd_send(s->control, fds, more < 0 ? 5 : 6)) == -EPIPE || r == -ECONNRESET)
        r = 0;
    else if (r < 0)
        err_errno(e, r, "cannot send the plan");
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
        fd_close(&theirs[i]);
    return r;
}

int sandbox_show(struct sandbox *s, const struct allocator *allocator, const struct plan *part,
                 struct err *e)
{
    FD_CLEANUP int file = spawn_plan_file(allocator, part);
    if (file < 0)
        return err_errno(e, file, "cannot write down the plan");
    s->start_ms = clock_monotonic_ms();
    int r = fd_send(s->control, &file, 1);
    return r < 0 && r != -EPIPE && r != -ECONNRESET ? err_errno(e, r, "cannot send the plan") : 0;
}

int sandbox_go(struct sandbox *s, const struct allocator *allocator, const struct plan *rest,
               bool input, struct err *e)
{
    if (!input)
        fd_close(&s->input);
    return sandbox_show(s, allocator, rest, e);
}

int sandbox_await(struct sandbox *s, int timeout_ms, struct err *e)
{
    struct wire_message message = {0};
    struct pollfd control = {.fd = s->control, .events = POLLIN};
    int ready;
    do
        ready = poll(&control, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0)
        return err_set(e, -ETIMEDOUT, "the sandbox was not built in time");
    if (recv(s->control, &message, sizeof(message), 0) != (ssize_t)sizeof(message))
        return err_set(e, -EPIPE, "the sandbox's guard died");
    if (message.kind == WIRE_WAITS)
        return 0;
    message.text[sizeof(message.text) - 1] = '\0';
    sandbox_explain(&message, e);
    return e && e->code < 0 ? e->code : -EPROTO;
}

bool sandbox_waits(const struct sandbox *s)
{
    /* From then on it says nothing before it has its whole plan, but that it failed. */
    struct pollfd control = {.fd = s->control, .events = POLLIN};
    return s->launcher > 0 && poll(&control, 1, 0) == 0;
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
        /* Init has reaped everybody (L2). */
        outcome->gone = outcome->gone || outcome->by_itself;
        outcome->built = outcome->built || (outcome->gone && !outcome->failed);
        break;
    case WIRE_COUNTED:
        outcome->usage = message.usage;
        outcome->by_itself = message.code == WIRE_BY_ITSELF &&
                             clock_monotonic_ms() - s->start_ms + 1 < WIRE_FIRST_LOOK_MS;
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
    fd_close(&s->programs);
    fd_close(&s->session);
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
