/* command_status, command_input, command_kill: runs that go on. See mcp_run.c. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "serve/mcp_internal.h"

enum { KILL_MS = 15 * 1000, WRITE_MS = 5 * 1000, PIECE = 1 << 15 };

/* --- what it prints ----------------------------------------------------------------------------
 */

/* All that came since the last look, of both streams; with the lock. */
static uint64_t read_output(struct mcp_run *run, struct buf streams[2])
{
    char piece[PIECE];
    uint64_t lost_all = 0, lost = 0;
    size_t n;
    int stream;
    while ((n = ring_read(&run->output, &run->read, piece, sizeof(piece), &stream, &lost)) > 0) {
        lost_all += lost;
        buf_append(&streams[stream == 2], piece, n);
    }
    return lost_all;
}

static void put_stream(struct json *j, struct buf *text, const struct mcp_showing *showing,
                       const char *name, const struct buf *bytes)
{
    struct buf shown;
    buf_init(&shown, &allocator_libc, MCP_SHOWN_MAX);
    mcp_show_text(showing, bytes->data, bytes->len, &shown);
    json_key(j, name);
    json_bytes(j, shown.data, shown.len);
    if (shown.len) {
        buf_append_format(text, "\n%s:\n", name);
        buf_append(text, shown.data, shown.len);
    }
    buf_release(&shown);
}

void mcp_say_running(struct mcp *m, struct mcp_run *run, struct mcp_said *said)
{
    struct buf streams[2];
    struct json j;
    bool waits = run->pending[0] && !run->began;
    uint64_t ms = clock_monotonic_ms() - run->begun_ms;
    buf_init(&streams[0], &allocator_libc, MCP_SHOWN_MAX);
    buf_init(&streams[1], &allocator_libc, MCP_SHOWN_MAX);
    uint64_t lost = read_output(run, streams);
    buf_append_format(&said->text, "%s for %" PRIu64 " s so far, id %s\n",
                      waits ? "waiting for a person's answer" : "running", ms / 1000, run->handle);
    if (waits)
        buf_append_format(&said->text,
                          "a person has to say yes: `nacre approve %.8s` in a terminal\n",
                          run->pending);
    buf_append_text(&said->text, "command_status tells what comes next, command_kill ends it\n");
    json_init_buf(&j, &said->structured);
    json_object_begin(&j);
    json_key(&j, "status");
    json_text(&j, waits ? "waiting" : "running");
    json_key(&j, "id");
    json_text(&j, run->handle);
    if (run->id[0]) {
        json_key(&j, "correlation_id");
        json_text(&j, run->id);
    }
    if (waits) {
        json_key(&j, "pending");
        json_text(&j, run->pending);
    }
    put_stream(&j, &said->text, &m->showing, "stdout", &streams[0]);
    put_stream(&j, &said->text, &m->showing, "stderr", &streams[1]);
    if (lost) {
        json_key(&j, "lost_bytes");
        json_unsigned(&j, lost);
        buf_append_format(&said->text,
                          "\n[%" PRIu64 " bytes of output were printed too fast, and "
                          "are left out here]\n",
                          lost);
    }
    json_key(&j, "duration_ms");
    json_unsigned(&j, ms);
    json_object_end(&j);
    buf_release(&streams[0]);
    buf_release(&streams[1]);
}

/* --- finding and waiting ------------------------------------------------------------------------
 */

/* With the lock; the caller lets go of it. */
static struct mcp_run *find_run(struct mcp_call *call, struct mcp_said *said)
{
    size_t len;
    const char *id = mcp_text(call, "id", &len);
    struct mcp_run *found = NULL;
    for (struct mcp_run *run = call->m->runs; run && len >= 8; run = run->next) {
        if (strncmp(run->handle, id, len) == 0 || strncmp(run->id, id, len) == 0) {
            if (found && found != run) {
                mcp_said_error(said, "id", "several commands begin so");
                return NULL;
            }
            found = run;
        }
    }
    if (!found)
        mcp_said_error(said, "id",
                       "no command of this connection has this id and goes on; the tool history "
                       "has those that are over");
    else
        found->users++;
    return found;
}

/* Until it is over, or, with `output`, has printed something. With the lock. */
static void wait_for(struct mcp_call *call, const struct mcp_run *run, uint64_t wait_ms,
                     bool output)
{
    struct mcp *m = call->m;
    uint64_t end = clock_monotonic_ms() + wait_ms;
    while (!run->over && !call->cancelled && !m->ends &&
           !(output && run->read.position != run->output.end) && clock_monotonic_ms() < end) {
        struct timespec until;
        uint64_t left = end - clock_monotonic_ms();
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (time_t)(left / 1000);
        until.tv_nsec += (long)(left % 1000) * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&m->changed, &m->lock, &until);
    }
}

/* With the lock. */
static void say(struct mcp *m, struct mcp_run *run, struct mcp_said *said)
{
    if (!run->over) {
        mcp_say_running(m, run, said);
        return;
    }
    said->is_error = run->said.is_error;
    buf_append(&said->text, run->said.text.data, run->said.text.len);
    buf_append(&said->structured, run->said.structured.data, run->said.structured.len);
}

/* --- the tools ----------------------------------------------------------------------------------
 */

void mcp_command_status(struct mcp_call *call, struct mcp_said *said)
{
    struct mcp *m = call->m;
    uint64_t wait_ms = mcp_count(call, "wait_ms", 0), most = m->options.patience_ms;
    pthread_mutex_lock(&m->lock);
    struct mcp_run *run = find_run(call, said);
    if (run) {
        wait_for(call, run, most && wait_ms > most ? most : wait_ms, true);
        say(m, run, said);
        mcp_run_release(run);
    }
    pthread_mutex_unlock(&m->lock);
}

void mcp_command_kill(struct mcp_call *call, struct mcp_said *said)
{
    struct mcp *m = call->m;
    pthread_mutex_lock(&m->lock);
    struct mcp_run *run = find_run(call, said);
    if (run) {
        eventfd_write(run->cancel_fd, 1);
        wait_for(call, run, KILL_MS, false);
        say(m, run, said);
        mcp_run_release(run);
    }
    pthread_mutex_unlock(&m->lock);
}

/* As much as it takes within a while. */
static size_t write_input(struct mcp_call *call, int fd, const char *text, size_t len, int *ret)
{
    uint64_t end = clock_monotonic_ms() + WRITE_MS;
    size_t done = 0;
    *ret = 0;
    while (done < len && clock_monotonic_ms() < end && !mcp_is_cancelled(call)) {
        ssize_t n = fd_write_quietly(fd, text + done, len - done < PIECE ? len - done : PIECE);
        if (n == -EAGAIN) {
            struct pollfd room = {.fd = fd, .events = POLLOUT};
            poll(&room, 1, 100);
        } else if (n < 0) {
            *ret = (int)n;
            break;
        } else {
            done += (size_t)n;
        }
    }
    return done;
}

void mcp_command_input(struct mcp_call *call, struct mcp_said *said)
{
    struct mcp *m = call->m;
    size_t len = 0, done = 0;
    const char *text = mcp_text(call, "text", &len);
    bool closes = mcp_flag(call, "eof");
    int failure = 0;
    struct json j;
    pthread_mutex_lock(&m->lock);
    struct mcp_run *run = find_run(call, said);
    FD_CLEANUP int fd = run && run->input_fd >= 0 ? fd_copy_above(run->input_fd, 3) : -1;
    pthread_mutex_unlock(&m->lock);
    if (!run)
        return;
    if (fd < 0) {
        mcp_said_error(said, "id",
                       "it takes no input: it is over, its input was closed, or it was not started "
                       "with `background` and without `stdin`");
    } else {
        done = write_input(call, fd, text, len, &failure);
        if (failure < 0)
            mcp_said_error(said, "text", "after %zu bytes: %s", done, strerror(-failure));
        else if (done < len)
            mcp_said_error(said, "text", "it has read only %zu bytes of %zu so far", done, len);
    }
    pthread_mutex_lock(&m->lock);
    if (!said->is_error && closes)
        fd_close(&run->input_fd);
    if (!said->is_error) {
        buf_append_format(&said->text, "%zu bytes written%s", done, closes ? ", input closed" : "");
        json_init_buf(&j, &said->structured);
        json_object_begin(&j);
        json_key(&j, "status");
        json_text(&j, "ok");
        json_key(&j, "id");
        json_text(&j, run->handle);
        json_key(&j, "written_bytes");
        json_unsigned(&j, done);
        json_key(&j, "closed");
        json_bool(&j, closes);
        json_object_end(&j);
    }
    mcp_run_release(run);
    pthread_mutex_unlock(&m->lock);
}
