/*
 * The lock file: locks that die with their holder, and what the writers tell each other through a
 * shared mapping. It holds no truth (invariant G4): whoever opens the ledger checks it against the
 * segments, and makes it anew from them when it is missing, old or wrong.
 *
 * A fixed size, never renamed or replaced while anybody may have it open. Native byte order.
 */
#ifndef NACRE_LEDGER_LOCKFILE_H
#define NACRE_LEDGER_LOCKFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ledger/frame.h"
#include "ledger/merkle.h"

#define LOCKFILE_FILE "lock"

enum lockfile_lock {
    LOCKFILE_APPEND, /* who changes the end of the ledger; held shortly */
    LOCKFILE_SYNC,   /* who makes it durable; held for one fdatasync */
    LOCKFILE_TILES,  /* who writes tiles */
};

enum { LOCKFILE_HOOKS = 8 };

struct lockfile_state {
    char magic[8];
    uint32_t epoch;       /* futex: moves when the durable size does */
    uint32_t waiters;     /* who may sleep on it; too many is only a call too many */
    uint32_t dirty;       /* somebody is, or died, in the middle of changing what follows */
    uint32_t sync_failed; /* pages may be clean in memory and not on the disk */
    uint64_t segment;     /* the last one, by its first index */
    uint64_t end;         /* in it: where the next frame goes */
    uint64_t room;        /* allocated up to here */
    struct frame_chain chain;
    struct merkle tree;     /* of all records up to `end` */
    uint64_t signed_offset; /* of the last checkpoint, or of the segment's start */
    struct merkle signed_tree;
    /* Sizes with a check in their highest byte: read without a lock. */
    uint64_t durable;
    uint64_t tiled;
    int64_t sent_ms[LOCKFILE_HOOKS]; /* when each hook last got a checkpoint */
};

struct lockfile {
    int fd;
    struct lockfile_state *shared; /* NULL: not there (read-only) */
    bool read_only;
};

/* Opens and maps; -ENOENT without an error text if it is not there and not to be made. */
int lockfile_open(int dir, bool create, bool read_only, struct lockfile *ret, struct err *e);
void lockfile_close(struct lockfile *s);

/* Waits for the lock; or with lockfile_try_lock says -EAGAIN. Not between threads of one handle. */
int lockfile_lock(const struct lockfile *s, enum lockfile_lock lock);
int lockfile_try_lock(const struct lockfile *s, enum lockfile_lock lock);
void lockfile_unlock(const struct lockfile *s, enum lockfile_lock lock);

/* Whether the file is still the one that others find by its name. */
bool lockfile_is_current(const struct lockfile *s);

/* Sizes with a check: 0 when the check does not fit. */
uint64_t lockfile_get_size(const uint64_t *field);
void lockfile_set_size(uint64_t *field, uint64_t size);
/* Only ever upward. */
void lockfile_raise_size(uint64_t *field, uint64_t size);

/* Sleeps until the durable size moves from what it was at `epoch`, or for a short while. */
void lockfile_wait(struct lockfile *s, uint32_t epoch);
void lockfile_wake(struct lockfile *s);

#endif
