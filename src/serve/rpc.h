/*
 * JSON-RPC 2.0 for programs, one message a line; docs/rpc.md has the methods. What they do is
 * service.h's, that they come in order door.h's.
 */
#ifndef NACRE_SERVE_RPC_H
#define NACRE_SERVE_RPC_H

#include "serve/door.h"
#include "serve/line.h"

struct rpc {
    struct door door;
    struct line line;
};

/* Fills `answer`; the rest of the door is the caller's. */
void rpc_init(struct rpc *r, size_t message_max);
void rpc_release(struct rpc *r);

/* What came in, cut anywhere. From one thread. */
void rpc_feed(void *rpc, const char *bytes, size_t len);

#endif
