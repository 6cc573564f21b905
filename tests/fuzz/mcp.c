/*
 * Any bytes as what an MCP client sends: each line that comes back is one JSON-RPC message, where
 * the bytes are cut changes nothing, and nothing is left over.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/mcp.h"
#include "serve/mcp_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_line(void *user, const char *line, size_t len)
{
    return buf_append(user, line, len);
}

/* The arguments are checked as ever; nothing runs. */
static void stand_in(void *user, struct mcp_call *call, struct jsonrpc_reply *reply)
{
    struct mcp_said said;
    (void)user;
    mcp_said_init(&said);
    mcp_said_error(&said, call->tool->name, "not run");
    mcp_reply_said(reply, call, &said);
    mcp_said_release(&said);
}

static void check_lines(const struct buf *said)
{
    const char *at = said->data, *end = at + said->len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        json_t *value = stop ? json_loadb(at, (size_t)(stop - at),
                                          JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL)
                             : NULL;
        const char *version = json_string_value(json_object_get(value, "jsonrpc"));
        if (!version || strcmp(version, "2.0") != 0 ||
            !json_object_get(value, "result") == !json_object_get(value, "error"))
            abort();
        json_decref(value);
        at = stop + 1;
    }
}

static void serve(nacre *handle, const uint8_t *data, size_t size, size_t piece, struct buf *said)
{
    static nacre_run_options run = NACRE_RUN_OPTIONS_INIT;
    struct mcp *m = NULL;
    run.workspace = "/usr";
    run.state_dir = "/nonexistent/state";
    const struct mcp_options options = {
        .run = &run, .message_max = 1 << 14, .write = take_line, .user = said, .instead = stand_in};
    if (mcp_new(&options, handle, &m, NULL) < 0)
        abort();
    for (size_t at = 0; at < size; at += piece)
        mcp_feed(m, (const char *)data + at, size - at < piece ? size - at : piece);
    mcp_tick(m);
    mcp_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static nacre *handle;
    struct buf whole, pieces;
    if (!handle && nacre_open(NULL, &handle, NULL) < 0)
        abort();
    buf_init(&whole, &allocator_libc, 256 << 20);
    buf_init(&pieces, &allocator_libc, 256 << 20);
    serve(handle, data, size, size + 1, &whole);
    serve(handle, data, size, 7, &pieces);
    if (whole.failed || whole.len != pieces.len || memcmp(whole.data, pieces.data, whole.len) != 0)
        abort();
    check_lines(&whole);
    buf_release(&whole);
    buf_release(&pieces);
    return 0;
}
