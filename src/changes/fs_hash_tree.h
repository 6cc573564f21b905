/*
 * The directory as it was seen, in memory.
 *
 * A directory's entries stand on shelves. Up to SHELF_MAX of them stand on one, sorted by name;
 * more are split among sixteen by the next four bits of a hash of the name, and so on. The form
 * depends on the names alone and not on the order in which they came, and each shelf keeps its
 * hash, so one change in a directory of any size costs one shelf and those above it.
 *
 * Directories whose hash must be made again are listed by depth; who is listed has everybody above
 * listed too.
 *
 * A directory that comes from a cache is folded: its hash is known, and its entries are still in
 * the cache's bytes. Who wants to find, list, add or remove entries unfolds it first
 * (fs_hash_fold.h); an entry in memory has only unfolded directories above it.
 */
#ifndef NACRE_CHANGES_FS_HASH_TREE_H
#define NACRE_CHANGES_FS_HASH_TREE_H

#include "changes/fs_hash.h"
#include "changes/fs_hash_identity.h"

enum { SHELF_MAX = 64, SHELF_WAYS = 16, SHELF_DEPTH_MAX = 16, NAME_BYTES_MAX = 255 };
#define PART_NONE UINT32_MAX

struct entry;
struct cache;

struct shelf {
    unsigned char hash[SHA256_BYTES];
    bool stale;
    uint8_t depth;
    size_t count;    /* of entries here and below */
    size_t capacity; /* of `entries` */
    struct entry **entries;
    struct shelf **parts; /* not NULL: SHELF_WAYS of them, and `entries` is NULL */
};

/* A place in a list that can be left at any time. */
struct link {
    struct link *before, *next;
    struct entry *entry;
};

struct directory {
    struct shelf *shelf;
    struct link stale;   /* in tree.stale[depth] */
    struct link waiting; /* in tree.waiting: to be listed */
    uint32_t part;       /* of the cache, PART_NONE: it was not in it */
    bool folded;
};

enum entry_state {
    ENTRY_NEW, /* nothing is known of the content */
    ENTRY_UNREADABLE,
    ENTRY_KERNEL,
    ENTRY_READ,
};

struct entry {
    struct entry *parent; /* NULL: the root */
    struct directory *directory;
    struct entry *next; /* in a list of one function */
    uint64_t key;       /* set only in directories that are split */
    struct identity identity;
    unsigned char hash[SHA256_BYTES];
    uint64_t seen; /* number of the listing in which it was last met */
    enum entry_state state;
    enum fs_hash_type type;
    uint16_t mode;
    uint16_t depth;
    bool settled; /* its identity may be believed */
    uint8_t name_len;
    char name[]; /* with a NUL behind it */
};

struct tree {
    const struct allocator *allocator;
    struct entry *root;
    struct link stale[FS_HASH_DEPTH_MAX + 1];
    struct link waiting;
    const struct cache *cache; /* of the folded directories; may be NULL */
    struct fs_hash_sums sums;
    bool unsaved;                                               /* the cache could know more */
    void (*on_drop)(void *user, const struct entry *directory); /* may be NULL */
    void *user;
};

int tree_init(struct tree *t, const struct allocator *allocator);
void tree_release(struct tree *t);

struct entry *tree_find(const struct entry *directory, const char *name, size_t len);

/*
 * Adds an entry that must not be there yet; a directory is empty and stale. -ENOMEM leaves a tree
 * that can only be released.
 */
int tree_add(struct tree *t, struct entry *parent, const char *name, size_t len,
             enum fs_hash_type type, struct entry **ret);
/* The same for one that was there before: nothing becomes stale by it, and sums are as they were.
 */
int tree_add_known(struct tree *t, struct entry *parent, const char *name, size_t len,
                   enum fs_hash_type type, struct entry **ret);
/* The same for taking away an entry with everything below it. The root stays. */
int tree_remove(struct tree *t, struct entry *entry);
int tree_empty(struct tree *t, struct entry *directory);

/* Says what an entry that is no directory has; or that a directory has another mode or state. */
void tree_set(struct tree *t, struct entry *entry, const struct identity *identity, bool settled,
              enum entry_state state, const unsigned char hash[SHA256_BYTES]);
void tree_set_directory(struct tree *t, struct entry *directory, unsigned mode,
                        enum entry_state state);
/* As what it was listed, and whether that may be believed. */
void tree_set_listed(struct tree *t, struct entry *directory, const struct identity *identity,
                     bool settled);

/* Permission bits as they count. */
uint16_t tree_mode(enum fs_hash_type type, unsigned mode);

/* The list of directories to look at: the last one that was put in comes out first. */
void tree_wait(struct tree *t, struct entry *directory);
struct entry *tree_next_waiting(struct tree *t);

/* All entries of a directory as a list by `next`, in the order of the shelves. */
struct entry *tree_list(const struct entry *directory);

/* The hash of a directory must be made again. */
void tree_touch(struct tree *t, struct entry *directory);

/* Nothing is stale: the hash of everything in memory is known. */
void tree_believe(struct tree *t);

/* Makes all stale hashes. */
void tree_hash(struct tree *t);

#endif
