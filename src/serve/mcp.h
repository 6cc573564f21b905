/*
 * MCP: the shell as tools of the Model Context Protocol, one JSON-RPC message a line.
 *
 * In:    lines of a client: both eras of the protocol, on one connection.
 * Out:   answers, progress, questions; runs of the engine.
 * Never: bypasses the engine, lets the client choose the policy, or gives it a way to approve.
 *
 *   legacy   `initialize` fixes one of the revisions 2025-03-26, 2025-06-18 and 2025-11-25
 *   modern   2026-07-28: every request says its version and what the client can in `_meta`;
 *            a question is a result (`input_required`), answered by calling again
 *
 *   M1  Whatever comes in is answered, or passed over where the protocol says so; only the end of
 *       the input, a client that is gone, or the word to stop ends the server.
 *   M2  Memory is bounded, whatever is sent: a message that is too long is not kept, and calls
 *       that wait are counted with their bytes.
 *   M3  Nothing from inside the box reaches the client unescaped (base/escape).
 *   M4  What a run started is gone when its call is cancelled, and all of it when the server ends.
 *   M5  A client's answer to a question is good for the call that was shown, once, for a while; and
 *       it counts only where the policy says so, which the engine looks at.
 *   M6  Only runs of the server's own workspace can be seen, undone, committed or discarded.
 *   M7  Of what is held, only what was staged and allowed can be committed.
 */
#ifndef NACRE_SERVE_MCP_H
#define NACRE_SERVE_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "serve/jsonrpc.h"

enum {
    MCP_MESSAGE_MAX = JSONRPC_MESSAGE_MAX,
    MCP_PARALLEL = 16,
    MCP_PARALLEL_MAX = 256,
    MCP_POOL = 4,
    MCP_PATIENCE_MS = 45 * 1000,
    MCP_PROGRESS_MS = 5 * 1000,
};

struct mcp_call;
struct jsonrpc_reply;

struct mcp_options {
    const nacre_run_options *run; /* place and policy of every run; lives as long as the server */
    unsigned parallel;            /* calls that are worked on at once; 0: on the reader's thread */
    uint64_t patience_ms;         /* then a run is answered with a handle; 0: never */
    uint64_t progress_ms;         /* between two words of progress */
    size_t message_max;
    /* Takes a line with its newline; called from any thread, one at a time. Other than 0: the
     * client is gone. */
    int (*write)(void *user, const char *line, size_t len);
    void *user;
    /* For tests: called in place of each tool. NULL: none. */
    void (*instead)(void *user, struct mcp_call *call, struct jsonrpc_reply *reply);
};

/* --- mcp.c: the server without a transport --------------------------------------------------- */

struct mcp;

int mcp_new(const struct mcp_options *options, nacre *handle, struct mcp **ret, struct err *e);

/* What came in, cut anywhere. From one thread. */
void mcp_feed(struct mcp *m, const char *bytes, size_t len);

/* Says what is due; returns in how many milliseconds there is something again, -1: not before
 * something happens. From the same thread. */
int mcp_tick(struct mcp *m);

/* The client is gone: everything under way is killed. From any thread, any number of times. */
void mcp_hang_up(struct mcp *m);

/* The same, and waits for all of it. Accepts NULL. */
void mcp_free(struct mcp *m);

/* --- the server on two descriptors ----------------------------------------------------------- */

struct mcp_stdio_options {
    struct mcp_options mcp; /* without `write` */
    const char *launcher;   /* as nacre_options has it */
    unsigned pool;          /* warm sandboxes */
    int in_fd, out_fd;
    int stop_fd; /* readable: end; -1: none */
};

/* Returns when it is over, with nothing of it left. */
int mcp_serve(const struct mcp_stdio_options *options, struct err *e);

#endif
