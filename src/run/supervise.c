/* The loop that watches one sandbox; see run.h. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "run/run.h"
#include "run/waiting.h"

enum {
    CHUNK = 1 << 16,
    /* After the kill: how long the kernel may take to end the tree before the guard is shot too. */
    GRACE_MS = 10000,
    /* How long the walls may take to stand: a thousand times as long as they do. */
    BUILD_MS = 10000,
    /* After the end: more than a pipe holds, so a writer from elsewhere cannot keep us reading. */
    DRAIN_MAX = 1 << 20,
    LOOK_MS = 500, /* between two looks at whether it waits for input */
};

struct supervision {
    struct sandbox *sandbox;
    const struct run_options *options;
    struct capture *captures;
    struct run_result *result;
    uint64_t deadline_ms, built_by_ms, lasts_ms; /* 0: that was told */
    bool killing;
    int failure; /* of our own: first negative errno */

    char *input; /* CHUNK bytes: from the caller's stdin, on its way to the program's */
    size_t input_len, input_sent;
    bool input_over; /* no more to read */
    bool input_is_file;
    bool input_came; /* something did */
    struct winsize size;
    struct waiting waiting;
    uint64_t looked_ms, waits_since_ms; /* for input; 0: it does not */
};

static int *stream_fd(struct supervision *s, enum run_stream stream)
{
    return stream == RUN_STDOUT ? &s->sandbox->output : &s->sandbox->errors;
}

static void kill_tree(struct supervision *s, enum run_end why)
{
    if (s->killing)
        return;
    s->killing = true;
    s->result->end = why;
    s->deadline_ms = clock_monotonic_ms() + GRACE_MS;
    sandbox_kill(s->sandbox);
}

static void show_live(struct supervision *s, enum run_stream stream, bool finished)
{
    if (!s->options->on_output)
        return;
    size_t len;
    const char *bytes = capture_take_live(&s->captures[stream], finished, &len);
    if (len && s->options->on_output(s->options->user, stream, bytes, len) != 0)
        kill_tree(s, RUN_CANCELLED);
}

/* Reads once. Returns the bytes read; at the end of the stream its descriptor is closed. */
static size_t read_stream(struct supervision *s, enum run_stream stream)
{
    int *fd = stream_fd(s, stream);
    char chunk[CHUNK];
    ssize_t n = *fd < 0 ? 0 : read(*fd, chunk, sizeof(chunk));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        fd_close(fd);
        return 0;
    }
    int r = s->options->on_read ? s->options->on_read(s->options->user, stream, chunk, (size_t)n)
                                : capture_add(&s->captures[stream], chunk, (size_t)n);
    if (r < 0 && !s->failure)
        s->failure = r;
    show_live(s, stream, false);
    return (size_t)n;
}

/* The session's state. Returns the bytes read. */
static size_t read_session(struct supervision *s)
{
    char chunk[CHUNK];
    ssize_t n = s->sandbox->session < 0 ? 0 : read(s->sandbox->session, chunk, sizeof(chunk));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        fd_close(&s->sandbox->session);
        return 0;
    }
    if (s->options->session && !s->options->session->failed)
        buf_append(s->options->session, chunk, (size_t)n);
    return (size_t)n;
}

static void close_input(struct supervision *s)
{
    fd_close(&s->sandbox->input);
    s->input_over = true;
}

/* A terminal has no end: the character that stands for it goes in, once. */
static void end_input(struct supervision *s)
{
    if (s->options->terminal && !s->input_over) {
        static const char end_of_file = 4;
        s->input[0] = end_of_file;
        s->input_sent = 0;
        s->input_len = 1;
        s->input_over = true;
    } else if (!s->options->terminal) {
        close_input(s);
    }
}

/* The terminal inside is as large as the caller's, which may change. */
static void copy_size(struct supervision *s)
{
    struct winsize size;
    if (!s->options->terminal || s->options->size_fd < 0 || s->sandbox->output < 0 ||
        ioctl(s->options->size_fd, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col ||
        (size.ws_row == s->size.ws_row && size.ws_col == s->size.ws_col))
        return;
    s->size = size;
    ioctl(s->sandbox->output, TIOCSWINSZ, &size);
}

/*
 * Another process may share our stdin and take what poll saw, so a plain read could wait for ever.
 * Files never wait, and some kinds of descriptor know no other way.
 */
static ssize_t read_without_waiting(int fd, char *bytes, size_t len, bool is_file)
{
    const struct iovec into = {.iov_base = bytes, .iov_len = len};
    ssize_t n = is_file ? -1 : preadv2(fd, &into, 1, -1, RWF_NOWAIT);
    return n < 0 && (is_file || errno == EOPNOTSUPP || errno == ENOSYS) ? read(fd, bytes, len) : n;
}

static void read_input(struct supervision *s)
{
    ssize_t n =
        read_without_waiting(s->options->stdin_fd, s->input, (size_t)CHUNK, s->input_is_file);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    s->input_sent = 0;
    s->input_len = n > 0 ? (size_t)n : 0;
    s->input_came |= n > 0;
    if (n <= 0)
        end_input(s);
}

static void write_input(struct supervision *s)
{
    ssize_t n =
        fd_write_quietly(s->sandbox->input, s->input + s->input_sent, s->input_len - s->input_sent);
    if (n >= 0)
        s->input_sent += (size_t)n;
    else if (n != -EAGAIN && n != -EINTR)
        close_input(s); /* the program closed its end: it wants no more */
}

static void read_events(struct supervision *s)
{
    while (!s->result->outcome.gone && sandbox_read_event(s->sandbox, &s->result->outcome) > 0)
        ;
}

static bool is_building(const struct supervision *s)
{
    const struct sandbox_outcome *outcome = &s->result->outcome;
    return !s->killing && !outcome->built && !outcome->failed && !outcome->ended;
}

static uint64_t next_deadline(const struct supervision *s)
{
    return is_building(s) && s->built_by_ms < s->deadline_ms ? s->built_by_ms : s->deadline_ms;
}

/*
 * Whether it may turn out that the program waits for nothing. That is certain only on a terminal
 * whose input is over: a pipe ends by itself. Elsewhere somebody may just be slow, and it is the
 * caller's to say for how long; whoever has sent something is there.
 */
static uint64_t patience(const struct supervision *s)
{
    bool pending = s->input_sent < s->input_len;
    if (s->options->terminal && s->input_over && !pending)
        return RUN_STARVED_MS;
    return s->input_over || s->input_came ? 0 : s->options->input_timeout_ms;
}

static bool may_starve(const struct supervision *s)
{
    return !s->killing && s->result->outcome.built && !s->result->outcome.ended && patience(s) > 0;
}

/* When to look next, for whoever is not to be ended for it: shortly before the time limit, so that
 * it can be said what it did with its time. */
static uint64_t next_look(const struct supervision *s)
{
    if (may_starve(s))
        return s->looked_ms + LOOK_MS;
    if (s->killing || !s->result->outcome.built || s->input_over || s->input_came)
        return UINT64_MAX;
    const uint64_t last_looks = UINT64_C(3) * LOOK_MS;
    uint64_t first = s->deadline_ms > last_looks ? s->deadline_ms - last_looks : 0;
    return s->looked_ms + LOOK_MS > first ? s->looked_ms + LOOK_MS : first;
}

/* Now and then: whether all of it waits, and somebody for input, and for how long already. */
static void check_waiting(struct supervision *s)
{
    uint64_t now = clock_monotonic_ms();
    if (now < next_look(s))
        return;
    s->looked_ms = now;
    s->result->waits = waiting_for_input(s->sandbox->launcher, &s->waiting);
    if (!may_starve(s))
        return;
    if (!s->result->waits)
        s->waits_since_ms = 0;
    else if (!s->waits_since_ms)
        s->waits_since_ms = now;
    else if (now - s->waits_since_ms >= patience(s))
        kill_tree(s, RUN_STARVED);
}

static void tell_lasting(struct supervision *s)
{
    if (!s->lasts_ms || clock_monotonic_ms() < s->lasts_ms)
        return;
    s->lasts_ms = 0;
    int r = s->killing ? 0 : s->options->on_lasting(s->options->user);
    if (r < 0 && !s->failure)
        s->failure = r;
}

/* One turn: waits until something happens, then does all that can be done without waiting. */
static void turn(struct supervision *s)
{
    enum { CONTROL, OUTPUT, ERRORS, SOURCE, SINK, CANCEL, SESSION, WATCHED };
    bool pending = s->input_sent < s->input_len;
    struct pollfd watched[WATCHED] = {
        [CONTROL] = {.fd = s->sandbox->control, .events = POLLIN},
        [OUTPUT] = {.fd = s->sandbox->output, .events = POLLIN},
        [ERRORS] = {.fd = s->sandbox->errors, .events = POLLIN},
        /* What was read cannot be put back, should the walls turn out not to stand. */
        [SOURCE] = {.fd = s->input_over || pending || !s->result->outcome.built
                              ? -1
                              : s->options->stdin_fd,
                    .events = POLLIN},
        /* Without events asked for, only the reader's going away is told. */
        [SINK] = {.fd = s->sandbox->input, .events = pending ? POLLOUT : 0},
        [CANCEL] = {.fd = s->killing ? -1 : s->options->cancel_fd, .events = POLLIN},
        [SESSION] = {.fd = s->sandbox->session, .events = POLLIN},
    };
    uint64_t now = clock_monotonic_ms();
    uint64_t until = next_deadline(s), left = until > now ? until - now : 0;
    uint64_t look = next_look(s), until_look = look > now ? look - now : 0;
    if (until_look < left)
        left = until_look;
    if (s->lasts_ms && s->lasts_ms < now + left)
        left = s->lasts_ms > now ? s->lasts_ms - now : 0;
    copy_size(s);
    if (poll(watched, WATCHED, left > INT_MAX ? INT_MAX : (int)left) < 0) {
        if (errno != EINTR && !s->failure)
            s->failure = -errno;
        return;
    }

    if (watched[OUTPUT].revents)
        read_stream(s, RUN_STDOUT);
    if (watched[ERRORS].revents)
        read_stream(s, RUN_STDERR);
    if (watched[SESSION].revents)
        read_session(s);
    if (watched[SINK].revents & (POLLERR | POLLNVAL | POLLHUP))
        close_input(s);
    else if (watched[SINK].revents & POLLOUT)
        write_input(s);
    if (watched[SOURCE].revents && !s->input_over)
        read_input(s);
    if (watched[CANCEL].revents)
        kill_tree(s, RUN_CANCELLED);
    if (watched[CONTROL].revents) {
        bool building = !s->result->outcome.built;
        read_events(s);
        int r = building && s->result->outcome.built && s->options->on_built
                    ? s->options->on_built(s->options->user)
                    : 0;
        if (r < 0 && !s->failure)
            s->failure = r;
    }
}

/*
 * Walls that do not stand in time are torn down with the guard that builds them. At the time limit
 * the tree is killed, and later, if that takes too long, its guard.
 */
static void check_deadline(struct supervision *s)
{
    uint64_t now = clock_monotonic_ms();
    /* We may be the ones who are late: what was said meanwhile is heard first. */
    if (now >= next_deadline(s))
        read_events(s);
    if (s->result->outcome.gone)
        return;
    if (is_building(s) && now >= s->built_by_ms) {
        /* Whatever was made dies with the guard. */
        kill_tree(s, RUN_BROKEN);
        if (s->sandbox->launcher > 0)
            kill(s->sandbox->launcher, SIGKILL);
        s->result->outcome.failed = true;
        err_set(&s->result->outcome.err, -ETIMEDOUT,
                "the sandbox was not built within %d s (see `nacre doctor`)", BUILD_MS / 1000);
        return;
    }
    if (now < s->deadline_ms)
        return;
    if (!s->killing) {
        kill_tree(s, RUN_TIMEOUT);
    } else {
        if (s->sandbox->launcher > 0)
            kill(s->sandbox->launcher, SIGKILL);
        s->failure = -ETIMEDOUT;
    }
}

static enum run_end judge_end(const struct supervision *s)
{
    const struct sandbox_outcome *outcome = &s->result->outcome;
    /* First: a kill while the walls are still being built looks like a failure to build them. */
    if (s->killing)
        return s->result->end;
    if (outcome->limit != WIRE_LIMIT_NONE)
        return outcome->limit == WIRE_LIMIT_WALL ? RUN_TIMEOUT : RUN_LIMIT;
    if (outcome->failed)
        return RUN_BROKEN;
    return outcome->ended ? RUN_ENDED : RUN_KILLED;
}

int run_supervise(struct sandbox *sandbox, const struct run_options *options,
                  struct capture captures[RUN_STREAMS], struct run_result *ret, struct err *e)
{
    const uint64_t start = sandbox->start_ms;
    *ret = (struct run_result){0};
    char input[CHUNK]; /* not in the struct, which begins with zeroes: that would touch all of it */
    struct supervision s = {
        .sandbox = sandbox,
        .input = input,
        .options = options,
        .captures = captures,
        .result = ret,
        .deadline_ms = start + options->timeout_ms,
        .built_by_ms = start + BUILD_MS,
        .lasts_ms = options->on_lasting ? start + RUN_LASTS_MS : 0,
        .input_over = sandbox->input < 0,
    };
    if (options->terminal && options->stdin_fd < 0)
        end_input(&s);
    struct stat st;
    s.input_is_file = fstat(options->stdin_fd, &st) == 0 && S_ISREG(st.st_mode);

    s.failure = options->on_start ? options->on_start(options->user) : 0;
    if (s.failure)
        kill_tree(&s, RUN_BROKEN);
    /* A failure of our own ends the run, too, and is told when the tree is dead. */
    while (!ret->outcome.gone && s.failure != -ETIMEDOUT) {
        turn(&s);
        tell_lasting(&s);
        if (s.failure)
            kill_tree(&s, RUN_BROKEN);
        check_deadline(&s);
        check_waiting(&s);
    }

    /* Nothing writes any more, but for descriptors that were handed out of the box. */
    for (enum run_stream stream = 0; stream < RUN_STREAMS; stream++) {
        size_t drained = 0, n;
        while (drained < DRAIN_MAX && (n = read_stream(&s, stream)) > 0)
            drained += n;
        int r = options->on_read ? options->on_read(options->user, stream, NULL, 0) : 0;
        if (r < 0 && !s.failure)
            s.failure = r;
        show_live(&s, stream, true);
    }
    for (size_t drained = 0, n; drained < DRAIN_MAX && (n = read_session(&s)) > 0;)
        drained += n;
    ret->end = judge_end(&s);
    ret->duration_ms = clock_monotonic_ms() - start;
    if (s.failure == -ETIMEDOUT && ret->outcome.failed)
        return err_set(e, s.failure,
                       "%s; something that it waits for does not answer, and it has "
                       "not ended since",
                       ret->outcome.err.message);
    if (s.failure == -ETIMEDOUT)
        return err_set(e, s.failure,
                       "the sandbox did not end within %d s of its kill; processes may still run",
                       GRACE_MS / 1000);
    return s.failure ? err_errno(e, s.failure, "cannot watch the sandbox") : 0;
}
