/*
 * From the file system to the tree in memory: always from descriptors of directories, one name at a
 * time, never through a link.
 */
#ifndef NACRE_CHANGES_FS_HASH_WALK_H
#define NACRE_CHANGES_FS_HASH_WALK_H

#include "changes/fs_hash_content.h"
#include "changes/fs_hash_tree.h"

/* Open directories on the way to the present one; deeper ones share the last place. */
enum { WALK_OPEN_MAX = 32, WALK_LIST_BYTES = 1 << 15 };

struct walk_open {
    const struct entry *entry;
    int fd;
};

struct walk {
    struct tree *tree;
    int root_fd;
    char *const *exclude; /* ends with NULL */
    bool mark_unreadable;
    const unsigned char *same; /* parts of the cache that were checked; NULL: none */
    uint64_t listing;          /* number of the present one */
    unsigned flaps;            /* directories that were gone when their turn came */
    struct walk_open open[WALK_OPEN_MAX + 1];
    struct entry *way[FS_HASH_DEPTH_MAX + 1];
    struct content content;
    _Alignas(uint64_t) char list[WALK_LIST_BYTES];
};

void walk_init(struct walk *w, struct tree *tree);

/* Closes what is open but for the root. */
void walk_rest(struct walk *w);

/*
 * Everything; or the parts of the tree's cache that are not `same`, and what is new below them; or
 * what may have changed at these paths, which walk_check_path found good.
 */
int walk_all(struct walk *w, struct err *e);
int walk_parts(struct walk *w, const unsigned char *same, struct err *e);
int walk_changes(struct walk *w, const char *const *paths, const size_t *lengths, size_t count,
                 struct err *e);

/* Relative, no empty part, no `.` or `..`, no NUL; an empty path is good. */
bool walk_check_path(const char *path, size_t len);

/* The first part of a path: its length, and `*ret_rest` is what follows, NULL behind the last. */
size_t walk_part(const char *path, size_t len, const char **ret_rest);

#endif
