/* The way to the daemon, for `nacre run`; see daemon.h. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "serve/daemon.h"

int daemon_connect(const char *state, struct err *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    FD_CLEANUP int dir = daemon_open_dir(state, false, e);
    if (dir < 0)
        return dir == -EPERM ? dir : -ENOENT;
    FD_CLEANUP int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    /* A state directory may lie deeper than an address has room for. */
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/socket", dir);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return err_set(e, -ENOENT, "there is no daemon");
    /* Nobody else could have put it there; but it costs nothing to ask. And where it sees other
     * files or another network than we do, it is not for us. */
    if (!fd_peer_is_like_us(fd))
        return err_set(e, -EPERM, "the daemon is not yours, or lives elsewhere");
    return fd_steal(&fd);
}

/* Only absolute paths mean the same to both of us; `~` is the environment's. */
static bool are_absolute(const char *const *paths)
{
    for (; paths && *paths; paths++) {
        if ((*paths)[0] != '/')
            return false;
    }
    return true;
}

bool daemon_can_run(const nacre_run_options *o)
{
    const char *const places[] = {o->config, NULL};
    return !o->session && !o->terminal && !o->input_timeout_ms && !o->on_start && !o->all_output &&
           !o->shared && !o->unrecorded && !o->wait_for_answer && !o->on_pending &&
           o->confirm_by == NACRE_CONFIRM_PERSON && !o->mandate && are_absolute(o->read_paths) &&
           are_absolute(o->write_paths) && (!o->config || are_absolute(places)) &&
           !(o->workspace && strcmp(o->workspace, WORKSPACE_IN_MEMORY) == 0);
}

/* Where the caller stands is nothing that the daemon knows. */
static int encode(const char *text, size_t len, const nacre_run_options *options,
                  struct arena *arena, struct buf *out, struct err *e)
{
    nacre_run_options o = *options;
    struct workspace workspace;
    int r = workspace_resolve(arena, o.workspace, o.cwd, engine_home(options), &workspace, e);
    if (r < 0)
        return r;
    o.workspace = workspace.root;
    o.cwd = o.cwd ? workspace.cwd : NULL;
    if (o.umask < 0)
        o.umask = (int)engine_umask();
    r = daemon_encode_request(text, len, &o, out);
    return r < 0 ? err_set(e, r, "the request cannot be written down") : 0;
}

static int send_request(int fd, const char *text, size_t len, const nacre_run_options *o,
                        struct err *e)
{
    struct arena arena;
    struct buf bytes;
    arena_init(&arena, &allocator_libc, 1 << 20);
    buf_init(&bytes, &allocator_libc, DAEMON_BYTES_MAX);
    int r = encode(text, len, o, &arena, &bytes, e);
    FD_CLEANUP int file = r < 0 ? r : fd_sealed_memory("nacre-request", bytes.data, bytes.len);
    const int fds[] = {file, o->stdin_fd};
    if (r == 0 && file < 0)
        r = file;
    if (r == 0)
        r = daemon_say(fd, DAEMON_RUN, 0, NULL, 0);
    if (r == 0)
        r = fd_send(fd, fds, o->stdin_fd >= 0 ? 2 : 1);
    buf_release(&bytes);
    arena_release(&arena);
    return r;
}

static int receive_result(int fd, nacre *n, nacre_result **ret, struct err *e)
{
    struct stat st;
    FD_CLEANUP int file = -1;
    if (fd_receive(fd, &file, 1, true) != 1 || fstat(file, &st) < 0 || st.st_size <= 0)
        return err_set(e, -EPROTO, "the daemon sent no result");
    size_t size = (size_t)st.st_size;
    const char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
        return err_errno(e, -errno, "cannot read the daemon's result");
    nacre_result *r = result_new(n);
    int failure = r ? daemon_decode_result(bytes, size, r) : -ENOMEM;
    munmap((void *)bytes, size);
    if (failure < 0) {
        nacre_result_free(r);
        return err_errno(e, failure, "cannot read the daemon's result");
    }
    *ret = r;
    return 0;
}

/* The person's wish to stop reaches the daemon by our silence; its result still comes. */
static void watch_cancel(int fd, const nacre_run_options *o, bool *cancelled)
{
    struct pollfd watched[] = {{.fd = fd, .events = POLLIN},
                               {.fd = *cancelled ? -1 : o->cancel_fd, .events = POLLIN}};
    while (poll(watched, 2, -1) < 0 && errno == EINTR)
        ;
    if (watched[1].revents && !*cancelled) {
        *cancelled = true;
        shutdown(fd, SHUT_WR);
    }
}

int daemon_run(int connection, nacre *n, const char *text, size_t len, const nacre_run_options *o,
               nacre_result **ret, struct err *e)
{
    FD_CLEANUP int fd = connection;
    static struct daemon_message message;
    bool cancelled = false;
    int r = send_request(fd, text, len, o, e);
    if (r < 0)
        return -ENOENT; /* nobody has done anything yet: what is wrong is told by who runs it */
    /* From here on it may have run: only a refusal says that it has not. */
    for (;;) {
        watch_cancel(fd, o, &cancelled);
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, 0) == 0)
            continue;
        r = daemon_hear(fd, &message);
        if (r <= 0)
            return err_set(e, -EPIPE, "the daemon died, and its runs with it");
        if (message.kind == DAEMON_REFUSED)
            return -ENOENT;
        if (message.kind == DAEMON_LOST)
            return err_set(e, -EIO, "it ran, but its result is lost: `nacre history` has it");
        if (message.kind == DAEMON_RESULT)
            return receive_result(fd, n, ret, e);
        if (message.kind == DAEMON_OUTPUT && o->on_output &&
            o->on_output(o->user, message.count == 1 ? NACRE_STDOUT : NACRE_STDERR, message.bytes,
                         message.len) != 0 &&
            !cancelled) {
            cancelled = true;
            shutdown(fd, SHUT_WR);
        }
        if (message.kind == DAEMON_CONFIRM) {
            int yes = o->on_confirm ? o->on_confirm(o->user, message.bytes, message.len) : 0;
            daemon_say(fd, DAEMON_ANSWER, yes == 1, NULL, 0);
        }
    }
}

int daemon_ask_figures(int connection, struct daemon_figures *ret, struct err *e)
{
    FD_CLEANUP int fd = connection;
    static struct daemon_message message;
    int r = daemon_say(fd, DAEMON_STATUS, 0, NULL, 0);
    if (r == 0)
        r = daemon_hear(fd, &message);
    if (r <= 0 || message.kind != DAEMON_FIGURES || message.len != sizeof(*ret))
        return err_set(e, -EPROTO, "the daemon does not answer, or is of another version");
    memcpy(ret, message.bytes, sizeof(*ret));
    return 0;
}

int daemon_ask_stop(int connection, struct err *e)
{
    FD_CLEANUP int fd = connection;
    static struct daemon_message message;
    int r = daemon_say(fd, DAEMON_STOP, 0, NULL, 0);
    while (r == 0 && (r = daemon_hear(fd, &message)) > 0)
        r = 0;
    return r < 0 ? err_errno(e, r, "cannot stop the daemon") : 0;
}
