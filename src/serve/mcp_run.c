/*
 * run_command: a run of the engine for a call, which may outlive it. Past the client's patience the
 * call is answered with a handle (mcp_calls.c), and the run goes on in this process; mcp_poll.c has
 * the tools that go on from there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "serve/mcp_internal.h"

/* What the engine's calls back need. */
struct running {
    struct mcp_call *call;
    struct mcp_run *run;
};

/* --- the run's own part ------------------------------------------------------------------------
 */

static struct mcp_run *run_new(bool background, struct err *e)
{
    struct mcp_run *run = calloc(1, sizeof(*run));
    if (!run || ring_init(&run->output, NACRE_OUTPUT_DEFAULT) < 0) {
        free(run);
        err_set(e, -ENOMEM, "out of memory");
        return NULL;
    }
    run->users = 1;
    run->background = background;
    run->begun_ms = clock_monotonic_ms();
    run->input_fd = -1;
    mcp_said_init(&run->said);
    run->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (run->cancel_fd < 0) {
        err_errno(e, -errno, "cannot make an event");
        mcp_run_release(run);
        return NULL;
    }
    return run;
}

void mcp_run_release(struct mcp_run *run)
{
    if (--run->users)
        return;
    ring_release(&run->output);
    mcp_said_release(&run->said);
    fd_close(&run->cancel_fd);
    fd_close(&run->input_fd);
    free(run);
}

/* The oldest that is over makes room. */
static void drop_one(struct mcp *m)
{
    struct mcp_run **last = NULL;
    size_t count = 0;
    for (struct mcp_run **at = &m->runs; *at; at = &(*at)->next) {
        count++;
        if ((*at)->over)
            last = at;
    }
    if (count <= MCP_HANDLES_MAX || !last)
        return;
    struct mcp_run *run = *last;
    *last = run->next;
    mcp_run_release(run);
}

void mcp_run_detach(struct mcp *m, struct mcp_run *run, struct mcp_said *said)
{
    const char *known = run->id[0] ? run->id : run->pending;
    /* Two that ask the same have one question. */
    const struct mcp_run *other = m->runs;
    while (other && strcmp(other->handle, known) != 0)
        other = other->next;
    if (known[0] && !other)
        memcpy(run->handle, known, sizeof(run->handle));
    else if (uuid_new(run->handle) < 0)
        run->handle[0] = '\0';
    run->users++;
    run->next = m->runs;
    m->runs = run;
    drop_one(m);
    mcp_say_running(m, run, said);
}

/* --- called back by the engine -----------------------------------------------------------------
 */

static int take_output(void *user, nacre_stream stream, const char *bytes, size_t len)
{
    const struct running *running = user;
    struct mcp *m = running->call->m;
    pthread_mutex_lock(&m->lock);
    ring_add(&running->run->output, stream == NACRE_STDERR ? 2 : 1, bytes, len);
    running->run->bytes += len;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    return 0;
}

/* In the background it is answered now. */
static int take_start(void *user, const char *id)
{
    const struct running *running = user;
    struct mcp_call *call = running->call;
    struct mcp_run *run = running->run;
    struct mcp *m = call->m;
    struct jsonrpc_reply reply;
    struct mcp_said said;
    bool tells = false;
    jsonrpc_reply_init(&reply);
    mcp_said_init(&said);
    pthread_mutex_lock(&m->lock);
    snprintf(run->id, sizeof(run->id), "%s", id);
    run->began = true;
    if (run->background && !call->answered && !call->cancelled) {
        tells = true;
        mcp_run_detach(m, run, &said);
        mcp_call_detach(call);
    }
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
    if (tells) {
        mcp_reply_said(&reply, call, &said);
        mcp_send_reply(m, call->id, &reply);
    }
    mcp_said_release(&said);
    jsonrpc_reply_release(&reply);
    return 0;
}

/* Of a call that nobody waits for any more, or that comes again, no question stays open. */
static int take_pending(void *user, const char *id)
{
    const struct running *running = user;
    struct mcp *m = running->call->m;
    pthread_mutex_lock(&m->lock);
    snprintf(running->run->pending, sizeof(running->run->pending), "%s", id);
    bool gone = running->call->cancelled || running->call->replied || m->ends;
    pthread_mutex_unlock(&m->lock);
    return gone;
}

static int take_question(void *user, const char *verdict_json, size_t len)
{
    const struct running *running = user;
    struct mcp_call *call = running->call;
    struct buf text;
    json_t *verdict = json_loadb(verdict_json, len, JSON_ALLOW_NUL, NULL);
    int answer = MCP_NO_ANSWER;
    if (verdict && call->era == MCP_ERA_MODERN) {
        answer = mcp_ask_by_result(call, verdict);
    } else if (verdict) {
        buf_init(&text, &allocator_libc, MCP_SHOWN_MAX);
        if (mcp_question_text(call, verdict, &text))
            answer = mcp_ask(call, text.data);
        buf_release(&text);
    }
    json_decref(verdict);
    return answer;
}

/* --- the tool ----------------------------------------------------------------------------------
 */

static int open_input(struct mcp_call *call, struct mcp_run *run, int *ret, struct err *e)
{
    size_t len;
    const char *text = mcp_text(call, "stdin", &len);
    *ret = -1;
    if (text) {
        *ret = fd_sealed_memory("nacre-stdin", text, len);
        return *ret < 0 ? err_errno(e, *ret, "cannot make its standard input") : 0;
    }
    if (!run->background)
        return 0;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return err_errno(e, -errno, "cannot make its standard input");
    *ret = ends[0];
    run->input_fd = ends[1];
    return 0;
}

/* From here on it can be cancelled, and is, if it was before. */
static void list_run(struct mcp_call *call, struct mcp_run *run, int *ret_shared)
{
    struct mcp *m = call->m;
    pthread_mutex_lock(&m->lock);
    call->run = run;
    call->cancel_fd = run->cancel_fd;
    *ret_shared = run->background || m->active > 1;
    if (call->cancelled || m->ends)
        eventfd_write(run->cancel_fd, 1);
    pthread_mutex_unlock(&m->lock);
}

static void finish(struct mcp_call *call, struct mcp_run *run, struct mcp_said *said)
{
    struct mcp *m = call->m;
    pthread_mutex_lock(&m->lock);
    run->over = true;
    call->cancel_fd = -1;
    fd_close(&run->input_fd);
    if (call->detached) {
        /* Nobody hears it now: it is kept for who asks. */
        struct mcp_said none = run->said;
        run->said = *said;
        *said = none;
        ring_release(&run->output);
    }
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

/* `args` are a script's, and end with NULL. */
static void run_text(struct mcp_call *call, const char *text, size_t len, const char *language,
                     const char *const *args, struct mcp_said *said)
{
    struct mcp *m = call->m;
    struct err e = {0};
    struct running running = {.call = call};
    struct mcp_run *run = running.run = run_new(mcp_flag(call, "background"), &e);
    FD_CLEANUP int input = -1;
    if (!run || open_input(call, run, &input, &e) < 0) {
        mcp_said_error(said, NULL, "%s", e.message);
        if (run)
            mcp_run_release(run);
        return;
    }
    nacre_run_options o = *m->options.run;
    nacre_result *r = NULL;
    nacre_error error;
    o.user = &running;
    o.timeout_ms = mcp_count(call, "timeout_ms", o.timeout_ms);
    o.cwd = mcp_text(call, "cwd", NULL) ? mcp_text(call, "cwd", NULL) : o.cwd;
    o.session = mcp_text(call, "session", NULL);
    o.language = language;
    o.script_args = args;
    o.stage = mcp_flag(call, "stage");
    o.stdin_fd = input;
    o.cancel_fd = run->cancel_fd;
    o.on_output = take_output;
    o.on_start = take_start;
    o.on_pending = take_pending;
    o.on_confirm = mcp_can_ask(call) ? take_question : NULL;
    o.confirm_by = NACRE_CONFIRM_CLIENT;
    list_run(call, run, &o.shared);
    if (nacre_run(m->handle, text, len, &o, &r, &error) < 0) {
        const char *key = o.session && error.code == -EINVAL ? "session" : NULL;
        mcp_said_error(said, key, "%s", error.message);
    } else {
        struct mcp_showing showing = mcp_showing_of(r->cached ? r->cached->policy : NULL);
        pthread_mutex_lock(&m->lock);
        m->showing = showing;
        pthread_mutex_unlock(&m->lock);
        mcp_say_result(r, &showing, run->pending, said);
        nacre_result_free(r);
    }
    finish(call, run, said);
}

void mcp_run_command(struct mcp_call *call, struct mcp_said *said)
{
    size_t len;
    const char *command = mcp_text(call, "command", &len);
    run_text(call, command, len, NULL, NULL, said);
}

void mcp_run_script(struct mcp_call *call, struct mcp_said *said)
{
    size_t len;
    const char *script = mcp_text(call, "script", &len);
    const json_t *list = json_object_get(call->arguments, "args");
    size_t count = json_array_size(list);
    const char **args = calloc(count + 1, sizeof(*args));
    if (!args) {
        mcp_said_error(said, NULL, "out of memory");
        return;
    }
    for (size_t i = 0; i < count; i++)
        args[i] = json_string_value(json_array_get(list, i));
    run_text(call, script, len, mcp_text(call, "language", NULL), args, said);
    free(args);
}
