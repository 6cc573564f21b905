/* The life of one run's changes; see changes.h. */
#ifndef NACRE_CHANGES_TRANSACTION_H
#define NACRE_CHANGES_TRANSACTION_H

#include "changes/store.h"

enum { TRANSACTION_ROOTS_MAX = 64 };

/* A directory that the run may write to, as its request has it. */
struct transaction_root {
    const char *path; /* canonical */
    uint64_t device, inode;
    uint32_t uid, gid; /* whose files an overlay can copy up: those that have a name inside */
    bool copy;         /* no overlay can be had, as was seen */
};

/* Runs that a crash had cut off, and what became of their changes: the first of them. */
enum { MENDED_MAX = 16 };
struct mended {
    struct {
        char id[UUID_TEXT + 1];
        enum journal_state
            state; /* JOURNAL_NONE: they had not come to their commit, and are gone */
    } items[MENDED_MAX];
    size_t count;
};

struct transaction {
    struct arena *arena;
    struct store store; /* of the first root */
    const char *path;   /* its directory there */
    int dir;            /* locked as long as the run lives; -1: there is none */
    struct journal journal;
    struct mended mended; /* when it began */
};
#define TRANSACTION_NONE                                                                           \
    {                                                                                              \
        .store = {.dir = -1}, .dir = -1                                                            \
    }

/* Makes a layer for each root: journal.set.roots tells where. What a crash left is mended first. */
int transaction_begin(struct arena *arena, const char *state, const char *id,
                      const struct transaction_root *roots, size_t count, struct transaction *ret,
                      struct err *e);

/* What was written; call when nothing of the run lives. Conflicts are no failure. */
int transaction_scan(struct transaction *t, struct conflicts *conflicts, struct err *e);

/*
 * Makes it real, where journal.allowed says that it may be (-EPERM), or gives it up: -EBUSY with
 * conflicts, and then it is held. Any other failure leaves it held, too, and the roots as they
 * were.
 */
int transaction_commit(struct transaction *t, struct conflicts *conflicts, struct err *e);

/* Keeps it for later. */
int transaction_hold(struct transaction *t, struct err *e);

/* Nothing was written: its directories are for others. */
int transaction_end_unused(struct transaction *t, struct err *e);

/* Removes it and what it holds. */
int transaction_discard(struct transaction *t, struct err *e);

/* The same, whatever its state, by one who holds the store's lock. */
int transaction_forget(struct transaction *t, struct err *e);

/* One that was committed or held before, by its id or the start of it. */
int transaction_open(struct arena *arena, const char *state, const char *id,
                     struct transaction *ret, struct err *e);

/* Takes back what was committed, puts it back again. -EBUSY with conflicts. */
int transaction_undo(struct transaction *t, struct conflicts *conflicts, struct err *e);
int transaction_redo(struct transaction *t, struct conflicts *conflicts, struct err *e);

/* Those that were committed after this one and changed a path that it changed; ids. */
int transaction_later(const struct transaction *t, const char *const **ret, size_t *ret_count,
                      struct err *e);

/* Reads its journal from its directory, and holds it to be of this run and this store. */
int transaction_read(struct transaction *t, struct err *e);

void transaction_close(struct transaction *t);

#endif
