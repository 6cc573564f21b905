/* The server itself, whatever its messages come by; see mcp.h. */
#include "serve/mcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "serve/mcp_internal.h"
#include "serve/stdio.h"

int mcp_new(const struct mcp_options *options, nacre *handle, struct mcp **ret, struct err *e)
{
    struct mcp *m = calloc(1, sizeof(*m));
    if (!m)
        return err_set(e, -ENOMEM, "out of memory");
    m->options = *options;
    m->handle = handle;
    m->showing = mcp_showing_of(NULL);
    int r = mcp_states_init(&m->states);
    if (r < 0) {
        free(m);
        return err_errno(e, r, "the kernel's random source");
    }
    line_init(&m->line, options->message_max ? options->message_max : MCP_MESSAGE_MAX);
    pthread_mutex_init(&m->out_lock, NULL);
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    pthread_cond_init(&m->work, NULL);
    *ret = m;
    return 0;
}

static void read_line(void *user, const char *line, size_t len, const char *id)
{
    struct mcp *m = user;
    struct err e = {0};
    if (!line) {
        err_set(&e, -E2BIG, "a message has at most %zu bytes",
                m->options.message_max ? m->options.message_max : (size_t)MCP_MESSAGE_MAX);
        mcp_send_error(m, id, JSONRPC_INVALID_REQUEST, e.message);
        return;
    }
    if (jsonrpc_is_blank(line, len))
        return;
    json_t *value = jsonrpc_parse(line, len, &e);
    if (!value) {
        struct line_skim skim = {0};
        line_skim_bytes(&skim, line, len);
        mcp_send_error(m, line_skim_id(&skim), JSONRPC_PARSE_ERROR, e.message);
        return;
    }
    mcp_dispatch(m, value, len);
}

void mcp_feed(struct mcp *m, const char *bytes, size_t len)
{
    line_feed(&m->line, bytes, len, read_line, m);
}

int mcp_tick(struct mcp *m)
{
    return mcp_calls_tick(m);
}

void mcp_free(struct mcp *m)
{
    if (!m)
        return;
    mcp_calls_end(m);
    line_release(&m->line);
    pthread_cond_destroy(&m->work);
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    pthread_mutex_destroy(&m->out_lock);
    free(m);
}

/* --- on two descriptors ---------------------------------------------------------------------- */

static void feed(void *user, const char *bytes, size_t len)
{
    mcp_feed(user, bytes, len);
}

static int tick(void *user)
{
    return mcp_tick(user);
}

int mcp_serve(const struct mcp_stdio_options *options, struct err *e)
{
    struct stdio s;
    struct mcp_options mcp = options->mcp;
    nacre_options open = NACRE_OPTIONS_INIT;
    nacre_error error;
    nacre *handle = NULL;
    struct mcp *m = NULL;
    int r = stdio_init(&s, options->in_fd, options->out_fd, e);
    if (r < 0)
        return r;
    mcp.write = stdio_write;
    mcp.user = &s;
    open.launcher = options->launcher;
    open.warm = options->pool;
    if (nacre_open(&open, &handle, &error) < 0)
        r = err_set(e, error.code, "%s", error.message);
    if (r == 0)
        r = mcp_new(&mcp, handle, &m, e);
    if (r == 0)
        stdio_loop(&s, &(struct stdio_server){.user = m, .feed = feed, .tick = tick, .wake_fd = -1},
                   options->stop_fd);
    mcp_free(m);
    nacre_close(handle);
    stdio_release(&s);
    return r;
}
