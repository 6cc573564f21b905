/*
 * A session of a client that is a program, whatever it speaks: JSON-RPC (rpc.h) and S-expressions
 * (sexp_server.h) are two ways to the same methods.
 *
 * In:    a method and its parameters, one call after the other.
 * Out:   an answer as JSON; runs of the engine.
 * Never: bypasses the engine, lets the client widen the policy, or gives it a way to approve.
 *
 *   V1  Every parameter is checked before anything is done: its name, its type, its length.
 *   V2  A mandate is laid over the policy as it is at each call, and can only tighten it.
 *   V3  What a run started is gone when its call is cancelled, and all of it when the session ends.
 *   V4  Only runs of the session's own workspace can be seen or undone; of a workspace in memory,
 *       only those of this session.
 *   V5  A fresh session answers the same commands with the same hashes.
 */
#ifndef NACRE_SERVE_SERVICE_H
#define NACRE_SERVE_SERVICE_H

#include <jansson.h>
#include <stdbool.h>

#include "engine/engine.h"
#include "serve/jsonrpc.h"

enum {
    SERVICE_POOL = 4,
    SERVICE_RUNS_MAX = 1 << 16, /* that a session remembers as its own */
    SERVICE_LIST_MAX = 1024,    /* entries of a list */
    SERVICE_DIFF_MAX = 16 << 20,
};

struct service;

struct service_options {
    const nacre_run_options *run; /* place and policy of every run; lives as long as the session */
    const char *launcher;         /* as nacre_options has it */
    unsigned pool;                /* warm sandboxes */
    bool hollow;                  /* for tests: parameters are checked, and nothing is done */
};

int service_new(const struct service_options *options, struct service **ret, struct err *e);
void service_free(struct service *s); /* accepts NULL */

/* One method. From one thread. `params` is an object, or NULL; it may be changed. */
void service_call(struct service *s, const char *method, json_t *params,
                  struct jsonrpc_reply *reply);

/* What is under way is killed; with `ends`, whatever comes later, too. From any thread. */
void service_cancel(struct service *s, bool ends);
/* Forgets a cancellation that came too late for the call that was meant. */
void service_arm(struct service *s);

/* The policy by which the last run was judged, until the next call; NULL: none. */
const struct policy *service_policy(const struct service *s);

#endif
