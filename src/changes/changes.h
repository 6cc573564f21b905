/*
 * Changes: what a run wrote becomes a list, and the list becomes real, or is taken back.
 *
 * In: layers (the upper directories of overlays) that a run has written to. Out: the list of
 * changes; the workspace with them, or without. This room never guesses: what it cannot tell apart
 * from somebody else's work is a conflict, and is left alone.
 *
 * A transaction is one run's changes. Its directory in the store holds a layer for each root (a
 * directory that the run could write to), on the same file system as that root, so that nothing is
 * ever copied: an object moves from its slot in the layer into place, and what was there moves into
 * the slot. The way back is the same exchange once more. Invariants, which tests name:
 *
 *   C1  Nothing of a root changes before the journal, which names every step, is on the disk.
 *   C2  Each step can be done again: whether it is done is told by inode numbers alone.
 *   C3  After a crash a transaction that had begun is finished, or taken back, at the next use. If
 *       neither can be, since somebody took one of its places away, what can be is taken back, the
 *       rest is kept, and nobody else waits for it.
 *   C4  What is in a root and is not what the journal says is never moved, changed or removed.
 *   C5  No symbolic link of a root is followed, and no path leads out of it.
 */
#ifndef NACRE_CHANGES_CHANGES_H
#define NACRE_CHANGES_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/sha256.h"
#include "base/uuid.h"

/* One side of a change: what is at a path, or was. A mode of 0: nothing. */
struct change_side {
    uint32_t mode; /* type and permissions, as in stat */
    uint64_t size;
    int64_t mtime_ns;
    uint64_t inode;
    int64_t ctime_ns;
    uint64_t attributes; /* a hash of them, from changes_identify */
    bool hashed;
    unsigned char hash[SHA256_BYTES]; /* of the content, or of where a link leads */
};

enum change_kind {
    CHANGE_NONE, /* never in a list */
    CHANGE_CREATED,
    CHANGE_MODIFIED,
    CHANGE_DELETED,
    CHANGE_TOUCHED, /* content alike; mode, times or extended attributes are not */
    CHANGE_KEPT,    /* alike, but in a directory that was replaced: moved, and not reported */
    CHANGE_KINDS
};
extern const char *const change_kind_names[CHANGE_KINDS];

/* A path whose type changed between directory and anything else is there twice: deleted, created.
 */
struct change {
    enum change_kind kind;
    uint32_t root;    /* index of the root that it is in */
    const char *path; /* relative to it; any byte but NUL */
    const char *from; /* created: the path that was deleted with the same content, or NULL */
    const char *to;   /* deleted: the other way round */
    uint32_t step;    /* index of the step that moves it, itself or with a directory above */
    struct change_side before, after;
};

/* One move. All that is needed to do it, to see whether it is done, and to take it back. */
enum step_kind {
    STEP_NONE,
    STEP_PUT,  /* the slot's object goes to the path, where there is nothing */
    STEP_TAKE, /* the path's object goes to the slot */
    STEP_SWAP, /* they change places */
    STEP_META, /* mode, times and attributes of the directory at the path */
    STEP_KINDS
};

struct step {
    enum step_kind kind;
    uint32_t root;
    const char *path; /* "." for the root itself */
    const char *slot; /* relative to the root's layer; NULL for STEP_META */
    struct change_side before, after;
    /* STEP_META: extended attributes as attributes_read gives them. */
    const char *attributes_before, *attributes_after;
    size_t attributes_before_len, attributes_after_len;
};

/* A directory that a run could write to. */
struct change_root {
    const char *path;       /* canonical */
    uint64_t device, inode; /* the device's number is good until the next restart */
    const char *layer;      /* absolute: upper, work and slots lie there */
    /* Until it is scanned: `upper` is a copy that was made at this time. 0: an overlay's. */
    int64_t copied_ns;
};

/* Something that was not committed, or not as it was, and why; for the result's warnings. */
struct change_notes {
    const char *items[32];
    size_t count, dropped;
};

/* Everything about one run's changes. */
struct change_set {
    struct change_root *roots;
    size_t root_count;
    struct change *changes;
    size_t change_count, change_room;
    struct step *steps;
    size_t step_count, step_room;
    uint64_t bytes;     /* of new content */
    uint64_t allocated; /* what a run wrote takes on the disk; as the scan found it */
    struct change_notes notes;
};

void change_note(struct change_set *set, struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int change_add(struct change_set *set, struct arena *arena, const struct change *change);
int step_add(struct change_set *set, struct arena *arena, const struct step *step);
void change_side_of(const struct stat *st, struct change_side *ret);

/*
 * Opens a root, if it is still the directory that it was: by its number, on the file system that
 * its layer is on. `layer` may be -1: it is opened. A descriptor, or a negative errno; -ESTALE.
 */
int change_root_open(const struct change_root *root, int layer);

/* A path that a person or another run has changed, too. */
struct conflict {
    const char *root; /* path of the root */
    const char *path;
    const char *why;
};
struct conflicts {
    struct arena *arena;
    struct conflict *items;
    size_t count, room;
};
int conflict_add(struct conflicts *c, const char *root, const char *path, const char *why);

/* Where in the layer the side of a change lies that is not in its root; NULL: nowhere. */
const char *change_slot(const struct change_set *set, const struct change *change,
                        struct arena *arena);

/* --- scan.c: what a run left in its layers --------------------------------------------------- */

/*
 * Goes through the layers of set->roots and fills in changes and steps. `start_ns` is when the run
 * began, by the clock of the file system: what somebody changed in a root since then is a conflict.
 */
int changes_scan(struct arena *arena, int64_t start_ns, struct change_set *set,
                 struct conflicts *conflicts, struct err *e);

/* pairs.c: a file that was created with the content of one that was deleted was renamed. */
int changes_pair_renames(struct arena *arena, struct change_set *set, struct err *e);

/* rejoin.c: other names of a file that was changed under one of them. */
int changes_rejoin(struct arena *arena, struct change_set *set, struct err *e);

/* rejoin and pairing come after this: hashes of what is new, where they are worth it. */
int changes_hash(struct arena *arena, struct change_set *set, struct err *e);

/* --- journal.c: a set as bytes --------------------------------------------------------------- */

/* How far it has come. A transaction without a journal is a run that has not ended. */
enum journal_state {
    JOURNAL_NONE,
    JOURNAL_HELD,     /* nothing is real; waits for commit or discard */
    JOURNAL_APPLYING, /* if found so, it is finished (C3) */
    JOURNAL_APPLIED,
    JOURNAL_UNDOING,
    JOURNAL_UNDONE,
    JOURNAL_STRANDED, /* some of it is real: somebody took a place of it away; undo, redo go on */
    JOURNAL_STATES
};
extern const char *const journal_state_names[JOURNAL_STATES];

struct journal {
    char id[UUID_TEXT + 1];
    enum journal_state state;
    uint64_t sequence; /* order of commits in one workspace */
    int64_t start_ns;
    bool met_conflicts; /* while it ran: what it saw is not what is there, so it is never real */
    bool allowed; /* the verdict on it was ALLOW: it may become real without a person's word */
    struct change_set set;
};
/* Atomically. `durable`: on the disk when this returns. */
int journal_write(int dir, const struct journal *journal, bool durable, struct err *e);
/* Whoever looks finds a run that never came to its commit. */
void journal_remove(int dir);
/* Strings are in the arena. -EBADMSG: it is not whole. */
int journal_decode(struct arena *arena, const char *bytes, size_t len, struct journal *ret,
                   struct err *e);
/* Its state alone, by its first bytes, which are not held against the hash. */
int journal_peek(int dir, enum journal_state *ret);
int journal_read(int dir, struct arena *arena, struct journal *ret, struct err *e);

/* --- apply.c: doing the steps ---------------------------------------------------------------- */

/* Whether each path is as the steps need it; what is not goes to `conflicts`. A file that was put
 * in the place of another with the same content is taken for it. */
int changes_check(struct change_set *set, bool forward, struct conflicts *conflicts, struct err *e);
/* The same for one that is stranded: each path is to be as before, or as after. */
int changes_check_either(struct change_set *set, struct conflicts *conflicts, struct err *e);
/* Does all steps, those done already are passed over. On failure some are done: those before the
 * first that failed, or `onward`, all that could be. */
int changes_apply(const struct change_set *set, bool forward, bool onward, struct err *e);
/* Moves one object, as renameat2; a directory must be writable to its owner for that, as must both
 * its parents: those that are not are so for the moment. */
int changes_move(int from, const char *from_name, int to, const char *to_name, unsigned flags);
/* Fills in inode and ctime of what is in the roots now. */
int changes_identify(struct change_set *set, bool forward, struct err *e);

#endif
