/* Answers as lines; see mcp_internal.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/version.h"
#include "serve/mcp_internal.h"

/* --- the protocol's -------------------------------------------------------------------------- */

static void put_modern(struct json *j, bool cacheable)
{
    json_key(j, "resultType");
    json_text(j, "complete");
    if (cacheable) {
        /* The policy may be another one at any time. */
        json_key(j, "ttlMs");
        json_unsigned(j, 0);
        json_key(j, "cacheScope");
        json_text(j, "private");
    }
    json_key(j, "_meta");
    json_object_begin(j);
    json_key(j, "io.modelcontextprotocol/serverInfo");
    json_object_begin(j);
    json_key(j, "name");
    json_text(j, "nacre");
    json_key(j, "version");
    json_text(j, NACRE_VERSION);
    json_object_end(j);
    json_object_end(j);
}

void mcp_result_begin(struct json *j, struct jsonrpc_reply *r, const struct mcp_call *call,
                      bool cacheable)
{
    buf_clear(&r->result);
    json_init_buf(j, &r->result);
    json_object_begin(j);
    if (call->era == MCP_ERA_MODERN)
        put_modern(j, cacheable);
}

void mcp_result_end(struct json *j, struct jsonrpc_reply *r)
{
    json_object_end(j);
    if (json_finish(j) < 0 || r->result.failed)
        jsonrpc_reply_fail(r, JSONRPC_INTERNAL_ERROR, "the answer cannot be written");
}

/* --- a tool's -------------------------------------------------------------------------------- */

void mcp_said_init(struct mcp_said *s)
{
    s->is_error = false;
    buf_init(&s->text, &allocator_libc, MCP_SHOWN_MAX);
    buf_init(&s->structured, &allocator_libc, MCP_SHOWN_MAX);
}

void mcp_said_release(struct mcp_said *s)
{
    buf_release(&s->text);
    buf_release(&s->structured);
}

void mcp_said_error(struct mcp_said *s, const char *key, const char *format, ...)
{
    char raw[MCP_REASON_MAX];
    struct buf why;
    struct json j;
    va_list args;
    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    buf_init(&why, &allocator_libc, MCP_SHOWN_MAX);
    mcp_show_line(raw, strlen(raw), MCP_REASON_MAX, &why);
    s->is_error = true;
    buf_clear(&s->text);
    buf_clear(&s->structured);
    if (key)
        buf_append_format(&s->text, "error: %s: ", key);
    else
        buf_append_text(&s->text, "error: ");
    buf_append(&s->text, why.data, why.len);
    json_init_buf(&j, &s->structured);
    json_object_begin(&j);
    json_key(&j, "status");
    json_text(&j, "error");
    json_key(&j, "error");
    json_bytes(&j, why.data, why.len);
    if (key) {
        json_key(&j, "argument");
        json_text(&j, key);
    }
    json_object_end(&j);
    buf_release(&why);
}

void mcp_reply_said(struct jsonrpc_reply *r, const struct mcp_call *call,
                    const struct mcp_said *said)
{
    struct json j;
    mcp_result_begin(&j, r, call, false);
    json_key(&j, "content");
    json_array_begin(&j);
    json_object_begin(&j);
    json_key(&j, "type");
    json_text(&j, "text");
    json_key(&j, "text");
    json_bytes(&j, said->text.data, said->text.len);
    json_object_end(&j);
    json_array_end(&j);
    json_key(&j, "structuredContent");
    /* It is JSON already: it goes past the writer. */
    j.after_key = false;
    buf_append(&r->result, said->structured.data, said->structured.len);
    json_key(&j, "isError");
    json_bool(&j, said->is_error);
    mcp_result_end(&j, r);
    if (said->text.failed || said->structured.failed || !said->structured.len)
        jsonrpc_reply_fail(r, JSONRPC_INTERNAL_ERROR, "the result cannot be written");
}

/* --- lines ----------------------------------------------------------------------------------- */

void mcp_send_line(struct mcp *m, struct buf *line)
{
    buf_append_byte(line, '\n');
    pthread_mutex_lock(&m->out_lock);
    int r = line->failed ? 0 : m->options.write(m->options.user, line->data, line->len);
    pthread_mutex_unlock(&m->out_lock);
    buf_release(line);
    if (r < 0)
        mcp_hang_up(m);
}

static void begin_line(struct buf *line)
{
    buf_init(line, &allocator_libc, 2 * (size_t)JSONRPC_REPLY_MAX);
}

/* Shown to a model: escaped, and no longer than a reason. */
static void append_error(struct buf *line, const char *id, int code, const char *message,
                         const struct buf *data)
{
    struct buf shown;
    buf_init(&shown, &allocator_libc, MCP_SHOWN_MAX);
    mcp_show_line(message, strlen(message), MCP_REASON_MAX, &shown);
    jsonrpc_append_error(line, id, code, shown.data, data);
    buf_release(&shown);
}

void mcp_send_error(struct mcp *m, const char *id, int code, const char *message)
{
    struct buf line;
    begin_line(&line);
    append_error(&line, id, code, message, NULL);
    mcp_send_line(m, &line);
}

static void put_reply(struct buf *line, const char *id, const struct jsonrpc_reply *r)
{
    begin_line(line);
    if (r->code)
        append_error(line, id, r->code, r->message, &r->data);
    else
        jsonrpc_append_reply(line, id, r);
}

void mcp_append_reply(struct buf *out, const char *id, const struct jsonrpc_reply *r)
{
    struct buf line;
    put_reply(&line, id, r);
    buf_append(out, line.data, line.len);
    buf_append_byte(out, '\n');
    buf_release(&line);
}

void mcp_send_reply(struct mcp *m, const char *id, const struct jsonrpc_reply *r)
{
    struct buf line;
    put_reply(&line, id, r);
    mcp_send_line(m, &line);
}
