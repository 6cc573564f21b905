/* What the files of this room share about an open ledger. */
#ifndef NACRE_LEDGER_INTERNAL_H
#define NACRE_LEDGER_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "ledger/ledger.h"
#include "ledger/lockfile.h"
#include "ledger/note.h"
#include "ledger/segment.h"

#define KEY_FILE        "key"
#define KEY_PUBLIC_FILE "key.pub"
#define CHECKPOINT_FILE "checkpoint"

enum {
    SEGMENT_BYTES = 64 << 20,
    ROOM_BYTES = 256 << 10, /* allocated at once, ahead of the end */
    READ_TAIL = 16 << 10,   /* what is read at once near the end of a ledger */
    READ_MUCH = 1 << 20,    /* and where much is read */
};

struct ledger {
    const struct allocator *allocator;
    bool read_only;
    pid_t owner;
    int dir;
    uint64_t segment_bytes;
    struct note_signer signer; /* the public key alone, when read-only */
    struct lockfile state;
    struct segment segment; /* that is written to */
    struct buf out;         /* frames on their way to it; with the append lock */
    bool attached;          /* the lock file was compared with the segments */
    int failed;             /* G6: a negative errno */
    int syncing;            /* the descriptor that a thread is syncing now; -1: none */
    bool syncing_is_last;   /* who syncs closes it, since the segment was left meanwhile */
    pthread_mutex_t append_mutex, sync_mutex, tiles_mutex; /* the file's locks, between threads */
    struct ledger_hook hooks[LEDGER_HOOKS_MAX];
    size_t hook_count;
    void (*notice)(void *user, const struct ledger_notice *notice);
    void *user;
    struct ledger_notice cut; /* to be told when no lock is held */
};

/* What is at hand of the last checkpoint. */
struct signed_head {
    char text[NOTE_MAX];
    size_t len;
    uint64_t size;
};

/* --- key.c --- */

/* Makes key and public key if there is none; the ledger must be new. */
int key_make(struct ledger *l, const char *path, const char *origin, struct err *e);
int key_load(struct ledger *l, const char *path, struct err *e);
int key_load_public(int dir, struct note_key *ret, struct err *e);

/* --- recover.c: the append lock is held --- */

/* Finds the end of the ledger from the segments and brings the state into line with it. */
int recover_end(struct ledger *l, struct err *e);

/* --- append.c --- */

/*
 * Whether the handle may write here. Asked before any lock is touched: a child that inherited the
 * handle shares its locks, and would let go of its parent's.
 */
int append_check(const struct ledger *l, struct err *e);
/* Takes the append lock with everything ready for an append. */
int append_lock(struct ledger *l, struct err *e);
void append_unlock(struct ledger *l);
/* Opens the segment that is written to, and leaves the one before. */
int append_open_segment(struct ledger *l, uint64_t first, struct err *e);
/* Signs everything so far, if it is not yet. */
int append_checkpoint(struct ledger *l, struct err *e);
/* Says to everybody that so many records are durable. */
void append_publish_durable(struct ledger *l, uint64_t size);
/* After a failed fdatasync, G6. */
int append_give_up(struct ledger *l, int code, struct err *e);
/* Tells what waits to be told. No lock is held. */
void notices_tell(struct ledger *l);

/* --- rotate.c: the append lock is held --- */

/* Makes the segment that starts at the tree's size and makes it the last. */
int segment_begin(struct ledger *l, const struct merkle *tree, struct err *e);

/* --- head.c --- */

/* The last checkpoint in the segments, without a lock. */
int head_read(struct ledger *l, struct signed_head *ret, struct err *e);

/* --- tiles.c --- */

/* Writes the tiles that have become full, if there are any and nobody else is at it. */
int tiles_follow(struct ledger *l, uint64_t durable, struct err *e);
/* Takes the tiles lock; -EAGAIN if somebody has it and it is not to be waited for. */
int tiles_lock(struct ledger *l, bool wait, struct err *e);
void tiles_unlock(struct ledger *l);
/* The same with the lock held; all again with `anew`. */
int tiles_follow_locked(struct ledger *l, uint64_t durable, bool anew, struct err *e);

/* --- send.c --- */

void send_checkpoint(struct ledger *l, const char *note, size_t len, bool now);

#endif
