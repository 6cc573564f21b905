/* What the two ways of finding out what a run did share: scan.c, of an overlay; scan_copy.c. */
#ifndef NACRE_CHANGES_SCAN_H
#define NACRE_CHANGES_SCAN_H

#include "changes/changes.h"
#include "changes/listing.h"

#define SCAN_UPPER "upper"

struct scanner {
    struct arena *arena;
    struct change_set *set;
    struct conflicts *conflicts;
    struct err *e;
    int64_t start_ns;
    uint32_t root;
    int upper, lower;
};

/* Each says in s->e what failed. */
int scan_fail(const struct scanner *s, int code, const char *path);
int scan_add_conflict(const struct scanner *s, const char *path, const char *why);
int scan_add_step(const struct scanner *s, enum step_kind kind, const char *path,
                  const struct stat *before, const struct stat *after);
const char *scan_join(const struct scanner *s, const char *dir, const char *name, int *r);

/* What cannot be kept: nobody listens to a socket whose program is gone, and devices are none of
 * the inside's. */
bool scan_is_refused(const struct stat *st);
/* Removes it from the layer. */
int scan_refuse(const struct scanner *s, const char *dir, const struct listed *item,
                const char *path);

/*
 * A set-user-id bit that comes out of a box would be rights for whoever finds the file: what is
 * written, or made, has none. For root set-group-id bits of files, too. `item` is set right.
 */
int scan_strip_setid(const struct scanner *s, const char *dir, struct listed *item,
                     const char *path);

/*
 * A directory of the layer, of which `st` was known before. One that does not let itself be read or
 * written to is opened up, and stays so: it is looked at again before it is real, and its mode is
 * in the journal (closed.h). scan_close_above takes that back.
 */
int scan_list_above(const struct scanner *s, const char *path, const struct stat *st,
                    struct listing *ret);
int scan_close_above(const struct scanner *s, const char *path, const struct stat *st);
/* What may not be read below is not listed, and moves as a whole. */
int scan_list_below(const struct scanner *s, const char *path, struct listing *ret);

/* Changes of a whole subtree, which the last step moves. */
int scan_created(const struct scanner *s, const char *path, const struct stat *st);
int scan_deleted(const struct scanner *s, const char *path, const struct stat *st);

/* One that is above and below, neither opaque nor both directories in a copy. */
int scan_both(const struct scanner *s, const char *dir, const struct listed *above,
              const struct listed *below, const char *path);
/* A directory's own mode, times and attributes; `st` as it was above. `inner`: something in it was
 * moved. */
int scan_compare_directory(const struct scanner *s, const char *path, const struct stat *st,
                           bool inner);
/* Whether the first of the steps since there were `first` moves this very path. */
bool scan_was_moved(const struct scanner *s, const char *path, size_t first);
/* Whether somebody put something into a directory of the root, or took it away, since the start. */
bool scan_changed_since(const struct scanner *s, const char *dir);

/* The second way; what is to be kept moves to the slots of `layer`. */
int scan_copy(const struct scanner *s, const struct stat *st, int layer);

#endif
