/*
 * Calls under way: queued, worked on by threads of a bounded number, cancelled, told of as they go
 * on, and answered with a handle where they take longer than a client waits.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "serve/mcp_internal.h"

enum { LATE_MS = 200 };

struct mcp_call *mcp_call_find(struct mcp *m, const char *id)
{
    struct mcp_call *call = m->calls;
    while (call && (call->answered || call->cancelled || strcmp(call->id, id) != 0))
        call = call->next;
    return call;
}

void mcp_call_free(struct mcp_call *call)
{
    if (call->run)
        mcp_run_release(call->run);
    json_decref(call->message);
    free(call);
}

static void unlist(struct mcp *m, const struct mcp_call *call)
{
    struct mcp_call **at = &m->calls;
    while (*at && *at != call)
        at = &(*at)->next;
    if (*at)
        *at = call->next;
}

bool mcp_is_cancelled(struct mcp_call *call)
{
    struct mcp *m = call->m;
    pthread_mutex_lock(&m->lock);
    bool cancelled = call->cancelled || m->ends;
    pthread_mutex_unlock(&m->lock);
    return cancelled;
}

/* --- work ------------------------------------------------------------------------------------- */

static void work_on(struct mcp *m, struct mcp_call *call)
{
    struct jsonrpc_reply reply;
    jsonrpc_reply_init(&reply);
    call->method->answer(call, &reply);
    pthread_mutex_lock(&m->lock);
    /* Nobody waits for an answer to what was cancelled. */
    bool tells = !call->answered && !call->cancelled;
    call->answered = true;
    pthread_mutex_unlock(&m->lock);
    if (tells)
        mcp_send_reply(m, call->id, &reply);
    jsonrpc_reply_release(&reply);
}

static struct mcp_call *next_queued(struct mcp *m)
{
    struct mcp_call *call = m->calls;
    while (call && call->state != MCP_QUEUED)
        call = call->next;
    return call && m->active < m->options.parallel ? call : NULL;
}

static void *work(void *user)
{
    struct mcp *m = user;
    pthread_mutex_lock(&m->lock);
    while (!m->ends) {
        struct mcp_call *call = next_queued(m);
        if (!call) {
            /* Those that were made beside runs with a handle are not needed for ever. */
            if (m->threads > m->options.parallel)
                break;
            m->idle++;
            pthread_cond_wait(&m->work, &m->lock);
            m->idle--;
            continue;
        }
        call->state = MCP_RUNNING;
        m->queued--;
        m->queued_bytes -= call->bytes;
        m->active++;
        pthread_mutex_unlock(&m->lock);
        work_on(m, call);
        pthread_mutex_lock(&m->lock);
        m->active -= !call->detached;
        unlist(m, call);
        mcp_call_free(call);
    }
    m->threads--;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

/* Somebody takes the next one; with the lock. False: there is nobody, and will be nobody. */
static bool call_worker(struct mcp *m)
{
    pthread_t thread;
    if (m->idle)
        pthread_cond_signal(&m->work);
    /* Who waits may have been called for another one already. */
    if (m->queued > m->idle && m->threads < m->options.parallel + MCP_HANDLES_MAX &&
        m->active < m->options.parallel && pthread_create(&thread, NULL, work, m) == 0) {
        pthread_detach(thread);
        m->threads++;
    }
    return m->threads > 0;
}

void mcp_call_detach(struct mcp_call *call)
{
    struct mcp *m = call->m;
    call->answered = true;
    call->detached = true;
    m->active -= m->options.parallel > 0;
    if (m->queued)
        call_worker(m);
}

void mcp_call_begin(struct mcp *m, struct mcp_call *call)
{
    const char *refused = NULL;
    if (!m->options.parallel) {
        call->state = MCP_RUNNING;
        work_on(m, call);
        mcp_call_free(call);
        return;
    }
    pthread_mutex_lock(&m->lock);
    if (m->ends)
        refused = "the server ends";
    else if (m->queued >= MCP_QUEUE_MAX || m->queued_bytes + call->bytes > MCP_QUEUE_BYTES_MAX)
        refused = "too many calls are waiting";
    if (!refused) {
        struct mcp_call **end = &m->calls;
        while (*end)
            end = &(*end)->next;
        *end = call;
        m->queued++;
        m->queued_bytes += call->bytes;
        if (!call_worker(m)) {
            unlist(m, call);
            m->queued--;
            m->queued_bytes -= call->bytes;
            refused = "there is no thread to be had";
        }
    }
    pthread_mutex_unlock(&m->lock);
    if (refused) {
        mcp_send_error(m, call->id, MCP_BUSY, refused);
        mcp_call_free(call);
    }
}

/* --- cancelling ------------------------------------------------------------------------------- */

void mcp_call_cancel(struct mcp *m, const char *id)
{
    pthread_mutex_lock(&m->lock);
    struct mcp_call *call = mcp_call_find(m, id);
    if (call && call->state == MCP_QUEUED) {
        unlist(m, call);
        m->queued--;
        m->queued_bytes -= call->bytes;
        mcp_call_free(call);
    } else if (call) {
        call->cancelled = true;
        if (call->cancel_fd >= 0)
            eventfd_write(call->cancel_fd, 1);
        pthread_cond_broadcast(&m->changed);
    }
    pthread_mutex_unlock(&m->lock);
}

void mcp_hang_up(struct mcp *m)
{
    pthread_mutex_lock(&m->lock);
    bool first = !m->ends;
    m->ends = true;
    for (struct mcp_call **at = &m->calls; first && *at;) {
        struct mcp_call *call = *at;
        if (call->state == MCP_QUEUED) {
            *at = call->next;
            m->queued--;
            m->queued_bytes -= call->bytes;
            mcp_call_free(call);
            continue;
        }
        if (call->cancel_fd >= 0)
            eventfd_write(call->cancel_fd, 1);
        at = &call->next;
    }
    pthread_cond_broadcast(&m->changed);
    pthread_cond_broadcast(&m->work);
    pthread_mutex_unlock(&m->lock);
}

void mcp_calls_end(struct mcp *m)
{
    mcp_hang_up(m);
    pthread_mutex_lock(&m->lock);
    while (m->threads)
        pthread_cond_wait(&m->changed, &m->lock);
    while (m->runs) {
        struct mcp_run *run = m->runs;
        m->runs = run->next;
        mcp_run_release(run);
    }
    pthread_mutex_unlock(&m->lock);
}

/* --- as time goes on ---------------------------------------------------------------------------
 */

static void append_progress(const struct mcp_call *call, uint64_t now, struct buf *out)
{
    uint64_t ms = now - call->begun_ms;
    const struct mcp_run *run = call->run;
    buf_append_format(out,
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                      "\"progressToken\":%s,\"progress\":%" PRIu64 ",\"message\":\"",
                      call->token, ms);
    if (call->state == MCP_QUEUED)
        buf_append_text(out, "waits for its turn");
    else if (run && (run->asking || (run->pending[0] && !run->began)))
        buf_append_text(out, "waits for a person's answer");
    else if (run)
        buf_append_format(out, "running for %" PRIu64 " s, %" PRIu64 " bytes of output", ms / 1000,
                          run->bytes);
    else
        buf_append_text(out, "working");
    buf_append_text(out, "\"}}\n");
}

/* Past its client's patience: what it is answered with, and it goes on. */
static void answer_with_handle(struct mcp_call *call, struct buf *out)
{
    struct jsonrpc_reply reply;
    struct mcp_said said;
    jsonrpc_reply_init(&reply);
    mcp_said_init(&said);
    mcp_run_detach(call->m, call->run, &said);
    mcp_reply_said(&reply, call, &said);
    mcp_append_reply(out, call->id, &reply);
    mcp_call_detach(call);
    mcp_said_release(&said);
    jsonrpc_reply_release(&reply);
}

static void nearer(int *next, uint64_t now, uint64_t due)
{
    int in = due <= now ? 0 : due - now > 60000 ? 60000 : (int)(due - now);
    if (*next < 0 || in < *next)
        *next = in;
}

int mcp_calls_tick(struct mcp *m)
{
    uint64_t now = clock_monotonic_ms();
    const uint64_t patience = m->options.patience_ms, every = m->options.progress_ms;
    struct buf lines;
    int next = -1;
    buf_init(&lines, &allocator_libc, 2 * (size_t)JSONRPC_REPLY_MAX);
    pthread_mutex_lock(&m->lock);
    for (struct mcp_call *call = m->calls; call; call = call->next) {
        if (call->answered || call->cancelled)
            continue;
        if (patience && call->tool && !call->alone &&
            (call->tool->run == mcp_run_command || call->tool->run == mcp_run_script)) {
            bool late = now - call->begun_ms >= patience;
            const struct mcp_run *run = call->run;
            if (late && run && !run->asking && !run->over) {
                answer_with_handle(call, &lines);
                continue;
            }
            /* One that waits for its turn, or for an answer, has its handle as soon as it runs. */
            nearer(&next, now, late ? now + LATE_MS : call->begun_ms + patience);
        }
        if (!call->token[0] || !every)
            continue;
        if (now - call->progressed_ms >= every) {
            append_progress(call, now, &lines);
            call->progressed_ms = now;
        }
        nearer(&next, now, call->progressed_ms + every);
    }
    pthread_mutex_unlock(&m->lock);
    if (lines.len && !lines.failed) {
        lines.data[--lines.len] = '\0'; /* the last newline comes with the line */
        mcp_send_line(m, &lines);
    } else {
        buf_release(&lines);
    }
    return next;
}
