/*
 * Sessions: what one text leaves in the shell for the next.
 *
 * In:    what bash wrote down at its end, from inside, where anybody could have written anything.
 * Out:   a text that puts it back: plain assignments, definitions of functions, settings of the
 *        shell. It stands before the next text, and is read and judged with it as if it had been
 *        written there, so nothing comes by a session that could not come by a text.
 * Never: runs or believes what came, or keeps a part of a thing that it does not understand.
 *
 * S1  What is kept is bounded, and is written anew from the tree of what was read.
 * S2  Values are literal. Nothing in them is expanded when they are put back.
 * S3  Variables by which bash, the loader or nacre itself would be changed are not put back.
 * S4  One run at a time has a session.
 *
 *   STATE/sessions/WORKSPACE/NAME        the state; for its owner alone, since it may hold secrets
 *   STATE/sessions/WORKSPACE/NAME.lock   held by the run that has the session
 */
#ifndef NACRE_SESSION_SESSION_H
#define NACRE_SESSION_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum {
    SESSION_BYTES_MAX = 256 << 10, /* of what bash writes down */
    SESSION_NAME_MAX = 64,
    SESSION_DROPPED_MAX = 8, /* names that are told */
};

struct session_state {
    const char *cwd;  /* absolute; NULL: none */
    const char *text; /* what puts the rest back; empty: nothing */
    size_t len;
    /* What was there and is not kept. */
    const char *dropped[SESSION_DROPPED_MAX];
    size_t dropped_count;
};

bool session_is_name(const char *name);

/* --- wrap.c ---------------------------------------------------------------------------------- */

/* A text for bash that runs `canonical` and then writes the state to the descriptor. */
const char *session_wrap(struct arena *arena, const char *canonical, unsigned fd);

/* --- state.c --------------------------------------------------------------------------------- */

/*
 * What was written down. Variables that are as `environment` (NAME=VALUE) has them are left out:
 * they come by themselves. -EBADMSG: it is nothing that could be kept.
 */
int session_read(struct arena *arena, const char *bytes, size_t len, const char *const *environment,
                 size_t environment_count, struct session_state *ret, struct err *e);

/* --- file.c ---------------------------------------------------------------------------------- */

struct session {
    int dir, lock;
    char name[SESSION_NAME_MAX + 1];
};
#define SESSION_NONE                                                                               \
    {                                                                                              \
        .dir = -1, .lock = -1                                                                      \
    }

/* Has the session until it is closed. -EBUSY: another run has it. */
int session_open(const char *state, const char *workspace, const char *name, struct session *ret,
                 struct err *e);
void session_close(struct session *s);

/* Empty for a new one. */
int session_load(const struct session *s, struct arena *arena, struct session_state *ret,
                 struct err *e);
/* The same without having it: for whoever only shows what is judged. -ENOENT: it is a new one. */
int session_peek(struct arena *arena, const char *state, const char *workspace, const char *name,
                 struct session_state *ret, struct err *e);
int session_save(const struct session *s, const struct session_state *state, struct err *e);

struct session_listed {
    const char *name, *cwd; /* NULL: cannot be read */
    uint64_t bytes;
    int64_t time_ms;
};

/* Those of a workspace, by name. */
int session_list(struct arena *arena, const char *state, const char *workspace,
                 struct session_listed **ret, size_t *ret_count, struct err *e);
/* -ENOENT: there is none. */
int session_remove(const char *state, const char *workspace, const char *name, struct err *e);

#endif
