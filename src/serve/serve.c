/* The daemon itself: a thread for each connection; see daemon.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "serve/daemon.h"

enum { PATIENCE_S = 2 };

struct server {
    const struct daemon_options *options;
    nacre *handle;
    pthread_mutex_t lock;
    pthread_cond_t less; /* a connection has ended */
    int connections[DAEMON_RUNS_MAX];
    size_t count;
    int stop_event;
    uint64_t last_ms; /* something was asked */
};

struct connection {
    struct server *server;
    int fd;
};

/* --- one request ---------------------------------------------------------------------------------
 */

static int send_output(void *user, nacre_stream stream, const char *bytes, size_t len)
{
    const struct connection *c = user;
    while (len) {
        size_t piece = len < DAEMON_PIECE_MAX ? len : DAEMON_PIECE_MAX;
        if (daemon_say(c->fd, DAEMON_OUTPUT, stream == NACRE_STDOUT ? 1 : 2, bytes, piece) < 0)
            return -EPIPE; /* the client is gone (D2) */
        bytes += piece;
        len -= piece;
    }
    return 0;
}

/* The client shows the verdict as it comes to it by itself. */
static int ask_client(void *user, const char *json, size_t len)
{
    const struct connection *c = user;
    struct daemon_message answer;
    (void)json, (void)len;
    if (daemon_say(c->fd, DAEMON_CONFIRM, 0, NULL, 0) < 0 || daemon_hear(c->fd, &answer) != 1)
        return 0;
    return answer.kind == DAEMON_ANSWER && answer.count == 1;
}

static void send_result(const struct connection *c, const nacre_result *r)
{
    struct buf bytes;
    buf_init(&bytes, &allocator_libc, DAEMON_BYTES_MAX);
    FD_CLEANUP int file = daemon_encode_result(r, &bytes) < 0
                              ? -1
                              : fd_sealed_memory("nacre-result", bytes.data, bytes.len);
    if (file < 0)
        daemon_say(c->fd, DAEMON_LOST, 0, NULL, 0);
    else if (daemon_say(c->fd, DAEMON_RESULT, 0, NULL, 0) == 0)
        fd_send(c->fd, &file, 1);
    buf_release(&bytes);
}

static void refuse(const struct connection *c, const char *why)
{
    daemon_say(c->fd, DAEMON_REFUSED, 0, why, strlen(why));
}

/* What bounds the client would not bound its run here. */
static bool has_lower_limits(const struct daemon_request *request)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit own;
        if (getrlimit((__rlimit_resource_t)i, &own) == 0 && request->limits[i] < own.rlim_max)
            return true;
    }
    return false;
}

static void run(struct connection *c, struct arena *arena, const char *bytes, size_t len, int input)
{
    struct daemon_request request;
    nacre_result *r = NULL;
    nacre_error error;
    int failure = daemon_decode_request(arena, bytes, len, &request);
    if (failure < 0) {
        refuse(c, failure == -EPROTO ? "another version" : "no request");
        return;
    }
    nacre_run_options *o = &request.options;
    if (has_lower_limits(&request)) {
        refuse(c, "lower limits");
        return;
    }
    if (o->unjudged == c->server->options->judges) { /* D3 */
        refuse(c, "another build");
        return;
    }
    o->stdin_fd = input;
    o->cancel_fd = c->fd; /* a client says nothing while it runs, but that it goes */
    o->user = c;
    o->on_output = o->on_output ? send_output : NULL;
    o->on_confirm = o->on_confirm ? ask_client : NULL;
    if (nacre_run(c->server->handle, request.text, request.len, o, &r, &error) < 0) {
        refuse(c, error.message);
        return;
    }
    send_result(c, r);
    nacre_result_free(r);
}

/* Sealed: what was checked is what is used. */
static bool is_sealed(int file, size_t *ret_size)
{
    const int wanted = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
    struct stat st;
    if (fstat(file, &st) < 0 || st.st_size <= 0 || st.st_size > DAEMON_BYTES_MAX)
        return false;
    *ret_size = (size_t)st.st_size;
    return (fcntl(file, F_GET_SEALS) & wanted) == wanted;
}

static void receive_and_run(struct connection *c)
{
    int fds[2] = {-1, -1};
    size_t size = 0;
    int count = fd_receive(c->fd, fds, 2, true);
    if (count >= 1 && is_sealed(fds[0], &size)) {
        const char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fds[0], 0);
        struct arena arena;
        arena_init(&arena, &allocator_libc, DAEMON_BYTES_MAX);
        if (bytes != MAP_FAILED) {
            run(c, &arena, bytes, size, count == 2 ? fds[1] : -1);
            munmap((void *)bytes, size);
        }
        arena_release(&arena);
    } else {
        refuse(c, "no request");
    }
    fd_close(&fds[0]);
    fd_close(&fds[1]);
}

static void tell_figures(const struct connection *c)
{
    struct server *s = c->server;
    struct daemon_figures figures = {.pid = getpid()};
    pthread_mutex_lock(&s->lock);
    figures.runs = s->count - 1;
    pthread_mutex_unlock(&s->lock);
    pool_tell(&s->handle->pool, &figures.pool);
    figures.pool.laid = early_count(s->handle);
    daemon_say(c->fd, DAEMON_FIGURES, 0, &figures, sizeof(figures));
}

/* --- connections
 * ---------------------------------------------------------------------------------- */

static void leave(struct connection *c)
{
    struct server *s = c->server;
    pthread_mutex_lock(&s->lock);
    size_t at = 0;
    while (at < s->count && s->connections[at] != c->fd)
        at++;
    if (at < s->count)
        s->connections[at] = s->connections[--s->count];
    s->last_ms = clock_monotonic_ms();
    pthread_cond_broadcast(&s->less);
    pthread_mutex_unlock(&s->lock);
}

static void *serve_connection(void *user)
{
    struct connection *c = user;
    struct daemon_message message;
    message.kind = DAEMON_NOTHING;
    if (daemon_hear(c->fd, &message) == 1) {
        if (message.kind == DAEMON_RUN)
            receive_and_run(c);
        else if (message.kind == DAEMON_STATUS)
            tell_figures(c);
        else if (message.kind == DAEMON_STOP)
            eventfd_write(c->server->stop_event, 1);
    }
    /* Who asked for the end hears of it by the end of the process. */
    bool stops = message.kind == DAEMON_STOP;
    leave(c);
    if (!stops)
        close(c->fd);
    alloc_free(&allocator_libc, c);
    return NULL;
}

static void accept_one(struct server *s, int listener)
{
    FD_CLEANUP int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0 || !fd_peer_is_like_us(fd)) /* D1 */
        return;
    struct connection *c = alloc_resize(&allocator_libc, NULL, sizeof(*c));
    pthread_mutex_lock(&s->lock);
    bool room = c && s->count < DAEMON_RUNS_MAX;
    if (room)
        s->connections[s->count++] = fd;
    s->last_ms = clock_monotonic_ms();
    pthread_mutex_unlock(&s->lock);
    if (!room) {
        refuse(&(struct connection){.fd = fd}, "too many"); /* and the client runs it by itself */
        alloc_free(&allocator_libc, c);
        return;
    }
    *c = (struct connection){.server = s, .fd = fd};
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve_connection, c) != 0) {
        leave(c);
        alloc_free(&allocator_libc, c);
        return;
    }
    pthread_detach(thread);
    fd_steal(&fd);
}

/* Everybody's run is cancelled, and waited for. */
static void end_connections(struct server *s)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->count; i++)
        shutdown(s->connections[i], SHUT_RD);
    while (s->count && pthread_cond_timedwait(&s->less, &s->lock, &until) == 0)
        ;
    /* Who does not read is not waited for. */
    for (size_t i = 0; i < s->count; i++)
        shutdown(s->connections[i], SHUT_RDWR);
    while (s->count)
        pthread_cond_wait(&s->less, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* --- the socket
 * ------------------------------------------------------------------------------------ */

/* The lock says that we are the one; a socket that a dead one left is in nobody's way. */
static int listen_at(const char *state, int dir, int *ret_lock, struct err *e)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    FD_CLEANUP int lock = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0)
        return err_errno(e, -errno, "cannot make the daemon's lock");
    if (flock(lock, LOCK_EX | LOCK_NB) < 0)
        return err_set(e, -EADDRINUSE, "there is a daemon already");
    FD_CLEANUP int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    /* By its path, as the kernel lists it then; unless an address has no room for that. */
    if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/daemon/socket", state) >=
        (int)sizeof(address.sun_path))
        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/socket", dir);
    unlinkat(dir, "socket", 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, DAEMON_RUNS_MAX) < 0)
        return err_errno(e, -errno, "cannot make the daemon's socket");
    *ret_lock = fd_steal(&lock);
    return fd_steal(&fd);
}

/* False: it is to end. */
static bool turn(struct server *s, int listener)
{
    enum { LISTENER, STOP, EVENT, WATCHED };
    struct pollfd watched[WATCHED] = {
        [LISTENER] = {.fd = listener, .events = POLLIN},
        [STOP] = {.fd = s->options->stop_fd, .events = POLLIN},
        [EVENT] = {.fd = s->stop_event, .events = POLLIN},
    };
    const uint64_t idle = s->options->idle_ms;
    if (poll(watched, WATCHED, idle ? 1000 : -1) < 0)
        return errno == EINTR;
    if (watched[LISTENER].revents)
        accept_one(s, listener);
    pthread_mutex_lock(&s->lock);
    bool over = idle && s->count == 0 && clock_monotonic_ms() - s->last_ms >= idle;
    pthread_mutex_unlock(&s->lock);
    return !watched[STOP].revents && !watched[EVENT].revents && !over;
}

int daemon_serve(const struct daemon_options *options, struct err *e)
{
    struct server s = {.options = options, .last_ms = clock_monotonic_ms()};
    nacre_options handle = NACRE_OPTIONS_INIT;
    nacre_error error;
    FD_CLEANUP int dir = daemon_open_dir(options->state, true, e), lock = -1;
    FD_CLEANUP int listener = dir < 0 ? dir : listen_at(options->state, dir, &lock, e);
    FD_CLEANUP int event = eventfd(0, EFD_CLOEXEC);
    if (listener < 0)
        return listener;
    handle.launcher = options->launcher;
    handle.warm = options->pool;
    if (event < 0 || nacre_open(&handle, &s.handle, &error) < 0) {
        unlinkat(dir, "socket", 0);
        return err_set(e, -EIO, "cannot begin: %s", event < 0 ? strerror(errno) : error.message);
    }
    s.stop_event = event;
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.less, NULL);
    while (turn(&s, listener))
        ;
    unlinkat(dir, "socket", 0);
    end_connections(&s);
    nacre_close(s.handle);
    pthread_cond_destroy(&s.less);
    pthread_mutex_destroy(&s.lock);
    return 0;
}
