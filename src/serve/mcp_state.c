/* See mcp_state.h. */
#include "serve/mcp_state.h"

#include <errno.h>
#include <sodium/crypto_auth_hmacsha256.h>
#include <string.h>
#include <sys/random.h>

#include "ledger/base64.h"

struct state {
    unsigned char nonce[MCP_STATE_NONCE];
    unsigned char until[8];
    unsigned char mac[crypto_auth_hmacsha256_BYTES];
};
_Static_assert(sizeof(struct state) == 56 && BASE64_LEN(56) == MCP_STATE_TEXT, "its text");

static int fill_random(void *bytes, size_t len)
{
    ssize_t n;
    do
        n = getrandom(bytes, len, 0);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
}

int mcp_states_init(struct mcp_states *s)
{
    *s = (struct mcp_states){0};
    return fill_random(s->key, sizeof(s->key));
}

/* Over all that the text says, and what it does not say: the call. */
static void authenticate(const struct mcp_states *s, const struct state *state,
                         const unsigned char call[SHA256_BYTES],
                         unsigned char ret[crypto_auth_hmacsha256_BYTES])
{
    unsigned char all[MCP_STATE_NONCE + 8 + SHA256_BYTES];
    memcpy(all, state->nonce, MCP_STATE_NONCE);
    memcpy(all + MCP_STATE_NONCE, state->until, 8);
    memcpy(all + MCP_STATE_NONCE + 8, call, SHA256_BYTES);
    crypto_auth_hmacsha256(ret, all, sizeof(all), s->key);
}

int mcp_state_new(struct mcp_states *s, const unsigned char call[SHA256_BYTES], uint64_t until_ms,
                  char ret[MCP_STATE_TEXT + 1])
{
    struct state state;
    int r = fill_random(state.nonce, sizeof(state.nonce));
    if (r < 0)
        return r;
    for (size_t i = 0; i < sizeof(state.until); i++)
        state.until[i] = (unsigned char)(until_ms >> (8 * i));
    authenticate(s, &state, call, state.mac);
    memcpy(s->items[s->next].nonce, state.nonce, sizeof(state.nonce));
    s->items[s->next].open = true;
    s->next = (s->next + 1) % MCP_STATES_MAX;
    base64_write(&state, sizeof(state), ret);
    ret[MCP_STATE_TEXT] = '\0';
    return 0;
}

bool mcp_state_use(struct mcp_states *s, const char *text, size_t len,
                   const unsigned char call[SHA256_BYTES], uint64_t now_ms)
{
    struct state state;
    unsigned char mac[crypto_auth_hmacsha256_BYTES], differs = 0;
    if (len != MCP_STATE_TEXT || base64_read(text, len, &state, sizeof(state)) < 0)
        return false;
    authenticate(s, &state, call, mac);
    for (size_t i = 0; i < sizeof(mac); i++)
        differs |= (unsigned char)(mac[i] ^ state.mac[i]);
    if (differs)
        return false;
    uint64_t until = 0;
    for (size_t i = 0; i < sizeof(state.until); i++)
        until |= (uint64_t)state.until[i] << (8 * i);
    for (size_t i = 0; i < MCP_STATES_MAX; i++) {
        if (!s->items[i].open || memcmp(s->items[i].nonce, state.nonce, sizeof(state.nonce)) != 0)
            continue;
        s->items[i].open = false;
        return now_ms < until;
    }
    return false;
}
