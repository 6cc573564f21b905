/* The server itself, whatever its messages come by; see mcp.h. */
#include "serve/mcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "serve/mcp_internal.h"

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
    mcp_line_init(&m->line, options->message_max ? options->message_max : MCP_MESSAGE_MAX);
    pthread_mutex_init(&m->out_lock, NULL);
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    pthread_cond_init(&m->work, NULL);
    *ret = m;
    return 0;
}

static bool is_blank(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (!strchr(" \t\r", line[i]) || !line[i])
            return false;
    }
    return true;
}

static void read_line(void *user, const char *line, size_t len, const char *id)
{
    struct mcp *m = user;
    struct err e = {0};
    if (!line) {
        err_set(&e, -E2BIG, "a message has at most %zu bytes",
                m->options.message_max ? m->options.message_max : (size_t)MCP_MESSAGE_MAX);
        mcp_send_error(m, id, MCP_INVALID_REQUEST, e.message);
        return;
    }
    if (is_blank(line, len))
        return;
    json_t *value = mcp_parse(line, len, &e);
    if (!value) {
        struct mcp_skim skim = {0};
        mcp_skim_bytes(&skim, line, len);
        mcp_send_error(m, mcp_skim_id(&skim), MCP_PARSE_ERROR, e.message);
        return;
    }
    mcp_dispatch(m, value, len);
}

void mcp_feed(struct mcp *m, const char *bytes, size_t len)
{
    mcp_line_feed(&m->line, bytes, len, read_line, m);
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
    mcp_line_release(&m->line);
    pthread_cond_destroy(&m->work);
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    pthread_mutex_destroy(&m->out_lock);
    free(m);
}
