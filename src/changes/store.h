/*
 * Where transactions are kept. A root's store lies on its own file system, so that everything moves
 * by rename: below the caller's state directory if that is there, else in the root itself, as
 * `.nacre-store`, for the owner alone and hidden from every box. What lies in a root may have been
 * brought there by anybody (a repository that was cloned): such a store is believed only by a stamp
 * that nobody can make without the key in the state directory. Without a state directory there is
 * only one for the moment, under a name of its own, and nothing is kept.
 *
 *   STATE/key            32 bytes, for the owner alone
 *   STORE/stamp          of a store in its root
 *   STORE/lock           held while a root changes
 *   STORE/log            one line for each transaction that was committed, in their order
 *   STORE/pending/ID     those that have begun and not come to rest: looked at after a crash
 *   STORE/mark           what is linked there
 *   STORE/boot           the machine's start since which that is so
 *   STORE/runs/ID/       journal, layer0, layer1 …
 *   STORE/aside/         what nobody needs any more, to be removed when there is time
 *   STORE/ahead/NAME/    layers that are made for runs to come (ahead.h)
 *   STORE/spare/         a run's directory with a layer, ready for the next run
 *   STATE/runs/ID        a link to the latter
 */
#ifndef NACRE_CHANGES_STORE_H
#define NACRE_CHANGES_STORE_H

#include "changes/changes.h"

#define STORE_IN_ROOT ".nacre-store"
#define STORE_AHEAD   "ahead"

struct store {
    const char *state; /* the caller's state directory; NULL: there is none */
    const char *root;  /* whose store it is */
    const char *path;
    int dir;        /* -1: closed */
    bool temporary; /* removed with the transaction that made it */
    bool booted;    /* known to have been looked at since the machine started */
};

/*
 * The state directory, from the values of XDG_STATE_HOME and HOME, which may be NULL: without
 * links, since paths are compared by their text. Relative values count as none, as XDG has it, and
 * a home that is not there is not made. NULL: there is none.
 */
const char *store_state_dir(struct arena *arena, const char *state_home, const char *home);

/* Makes every directory of a path that is missing, for the owner alone. */
int store_make_dirs(const char *path);
/* A directory of that name in it, which only its owner may enter: a descriptor, or negative. */
int store_open_private(const char *state, const char *name, bool make, struct err *e);

/* Finds, and makes if it is not there, the store of a root. `state` may be NULL. */
int store_open(struct arena *arena, const char *state, const char *root, struct store *ret,
               struct err *e);
void store_close(struct store *s);
/* The store that a layer, STORE/runs/ID/layerN, is in. NULL: out of memory. */
const char *store_of_layer(struct arena *arena, const char *layer);
/* Where it would be; nothing is made. NULL: out of memory. */
const char *store_place(struct arena *arena, const char *state, const char *root);

/*
 * Directories that are made in this one have nothing in common, and need not lie together on the
 * disk. An ext4 without a journal does not give an inode again that was freed within the last
 * minutes, and looks at each of them whenever it makes one nearby: what overlays make and remove in
 * a hundred runs, in one place, makes each later mount take milliseconds.
 */
void store_spread(int dir);

/* Held until the descriptor is closed. */
int store_lock(const struct store *s, struct err *e);

/*
 * Whether the root needs the second way (copy.h): remembered for a while, since finding out takes a
 * look at every file. `uid` and `gid` are those that have a name inside.
 */
bool store_needs_copy(const struct store *s, uint32_t uid, uint32_t gid);
void store_remember_copy(const struct store *s, bool needed);

/* Transactions that were committed, oldest first. */
struct store_entry {
    char id[UUID_TEXT + 1];
    uint64_t sequence;
    uint64_t bytes; /* that are kept to undo it */
    int64_t time_s;
};
struct store_log {
    struct store_entry *items;
    size_t count;
};
int store_read_log(const struct store *s, struct arena *arena, struct store_log *ret,
                   struct err *e);
int store_append_log(const struct store *s, const struct store_entry *entry, struct err *e);

int store_write_entry(int fd, const struct store_entry *entry);

/* prune.c: drops what is too old or too much; the store is locked. */
struct store_use {
    uint64_t bytes, count; /* that are kept */
    size_t dropped;
    bool nearly_full;
    char next[UUID_TEXT + 1]; /* the one that would go first; empty: there is none */
};
int store_prune(const struct store *s, struct arena *arena, struct store_use *ret, struct err *e);

/* aside.c: moves `name` in `dir` out of the way, or removes it where it cannot be moved. */
int store_put_aside(const struct store *s, int dir, const char *name, const char *as);
/* What lies there. */
uint64_t store_aside_bytes(const struct store *s);
/* Removes what was put aside. To be called while there is nothing else to do. */
void store_tidy(const struct store *s);
/* The spare becomes the directory of this name in the store. False: there is none. */
bool store_take_spare(const struct store *s, const char *name);

/* The directory of the transaction with this id, or the start of one, from anywhere. */
int store_find(struct arena *arena, const char *state, const char *id, const char **ret,
               struct err *e);

#endif
