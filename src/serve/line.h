/*
 * Lines out of bytes that come cut anywhere, within a bound. Of a line that is too long nothing is
 * kept but the id of its message, as far as it can be seen without reading it (line_skim).
 */
#ifndef NACRE_SERVE_LINE_H
#define NACRE_SERVE_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { LINE_SKIM_MAX = 256 };

/* Looks for the value of "id" in the outermost object, and believes it only if there is one. */
struct line_skim {
    unsigned depth;
    bool in_text, escaped, is_key, wants_value, is_object;
    bool in_id;   /* the value that is read is the id's */
    bool broken;  /* no message at all */
    unsigned ids; /* that were seen */
    size_t key_len;
    char key[4];
    size_t len;
    char id[LINE_SKIM_MAX]; /* as it stands there */
};

void line_skim_bytes(struct line_skim *s, const char *bytes, size_t len);
/* A text or an integer as JSON, or NULL. */
const char *line_skim_id(struct line_skim *s);

struct line {
    struct buf bytes;
    bool too_long;
    struct line_skim skim; /* of a line that is too long */
};

/* `line` NULL: it was too long, and `id` is that of its message, or NULL. */
typedef void line_user(void *user, const char *line, size_t len, const char *id);

void line_init(struct line *l, size_t max);
void line_release(struct line *l);
void line_feed(struct line *l, const char *bytes, size_t len, line_user *use, void *user);

#endif
