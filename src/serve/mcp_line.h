/*
 * Lines out of bytes that come cut anywhere, within a bound. Of a line that is too long nothing is
 * kept but the id of its message, as far as it can be seen without reading it (mcp_skim).
 */
#ifndef NACRE_SERVE_MCP_LINE_H
#define NACRE_SERVE_MCP_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { MCP_SKIM_MAX = 256 };

/* Looks for the value of "id" in the outermost object, and believes it only if there is one. */
struct mcp_skim {
    unsigned depth;
    bool in_text, escaped, is_key, wants_value, is_object;
    bool in_id;   /* the value that is read is the id's */
    bool broken;  /* no message at all */
    unsigned ids; /* that were seen */
    size_t key_len;
    char key[4];
    size_t len;
    char id[MCP_SKIM_MAX]; /* as it stands there */
};

void mcp_skim_bytes(struct mcp_skim *s, const char *bytes, size_t len);
/* A text or an integer as JSON, or NULL. */
const char *mcp_skim_id(struct mcp_skim *s);

struct mcp_line {
    struct buf bytes;
    bool too_long;
    struct mcp_skim skim; /* of a line that is too long */
};

/* `line` NULL: it was too long, and `id` is that of its message, or NULL. */
typedef void mcp_line_user(void *user, const char *line, size_t len, const char *id);

void mcp_line_init(struct mcp_line *l, size_t max);
void mcp_line_release(struct mcp_line *l);
void mcp_line_feed(struct mcp_line *l, const char *bytes, size_t len, mcp_line_user *use,
                   void *user);

#endif
