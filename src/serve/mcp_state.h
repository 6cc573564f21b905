/*
 * What a modern client brings back with its answer to a question: a text that says that this server
 * has asked this question, about this call, and when. It is authenticated with a key that no other
 * process knows, good once, and only for a while (M5).
 */
#ifndef NACRE_SERVE_MCP_STATE_H
#define NACRE_SERVE_MCP_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"

enum { MCP_STATES_MAX = 256, MCP_STATE_NONCE = 16, MCP_STATE_KEY = 32, MCP_STATE_TEXT = 76 };

struct mcp_states {
    unsigned char key[MCP_STATE_KEY];
    struct {
        unsigned char nonce[MCP_STATE_NONCE];
        bool open;
    } items[MCP_STATES_MAX]; /* a question that nobody answers makes room for later ones */
    size_t next;
};

/* 0 or a negative errno. */
int mcp_states_init(struct mcp_states *s);
/* One for the call with this hash, until then. */
int mcp_state_new(struct mcp_states *s, const unsigned char call[SHA256_BYTES], uint64_t until_ms,
                  char ret[MCP_STATE_TEXT + 1]);
/* Whether it is one of ours, for this call, in time and not used; from here on it is used. */
bool mcp_state_use(struct mcp_states *s, const char *text, size_t len,
                   const unsigned char call[SHA256_BYTES], uint64_t now_ms);

#endif
