/* Entries, their places and their hashes in memory; see fs_hash_tree.h. */
#include "changes/fs_hash_tree.h"

#include <errno.h>
#include <string.h>

#include "changes/fs_hash_cache.h"
#include "changes/fs_hash_object.h"
#include "changes/fs_hash_shelf.h"

/* --- lists ----------------------------------------------------------------------------------- */

static void link_in(struct link *list, struct link *link)
{
    link->before = list;
    link->next = list->next;
    list->next->before = link;
    list->next = link;
}

static void link_out(struct link *link)
{
    if (!link->next)
        return;
    link->before->next = link->next;
    link->next->before = link->before;
    link->before = link->next = NULL;
}

static void list_init(struct link *list)
{
    list->before = list->next = list;
    list->entry = NULL;
}

void tree_wait(struct tree *t, struct entry *directory)
{
    link_out(&directory->directory->waiting);
    link_in(&t->waiting, &directory->directory->waiting);
}

struct entry *tree_next_waiting(struct tree *t)
{
    struct entry *entry = t->waiting.next->entry;
    if (entry)
        link_out(&entry->directory->waiting);
    return entry;
}

/* --- stale hashes ---------------------------------------------------------------------------- */

/* This directory and those above, up to one that is listed already. */
static void touch_directory(struct tree *t, struct entry *directory)
{
    while (!directory->directory->stale.next) {
        link_in(&t->stale[directory->depth], &directory->directory->stale);
        struct entry *parent = directory->parent;
        if (!parent)
            break;
        shelf_touch(parent->directory->shelf, directory);
        directory = parent;
    }
}

void tree_touch(struct tree *t, struct entry *directory)
{
    touch_directory(t, directory);
}

static void touch(struct tree *t, struct entry *entry)
{
    if (entry->directory) {
        touch_directory(t, entry);
    } else {
        shelf_touch(entry->parent->directory->shelf, entry);
        touch_directory(t, entry->parent);
    }
}

static void hash_directory(struct entry *directory)
{
    if (directory->directory->folded)
        return;
    if (directory->state == ENTRY_UNREADABLE) {
        const unsigned char type = FS_HASH_DIRECTORY;
        object_hash(OBJECT_UNREADABLE, &type, 1, directory->hash);
    } else if (directory->state == ENTRY_KERNEL) {
        object_hash(OBJECT_KERNEL, "", 0, directory->hash);
    } else {
        shelf_hash(directory->directory->shelf);
        memcpy(directory->hash, directory->directory->shelf->hash, SHA256_BYTES);
    }
}

void tree_believe(struct tree *t)
{
    for (size_t depth = 0; depth <= FS_HASH_DEPTH_MAX; depth++) {
        while (t->stale[depth].next != &t->stale[depth])
            link_out(t->stale[depth].next);
    }
}

void tree_hash(struct tree *t)
{
    for (size_t depth = FS_HASH_DEPTH_MAX + 1; depth-- > 0;) {
        struct link *list = &t->stale[depth];
        while (list->next != list) {
            struct entry *directory = list->next->entry;
            link_out(&directory->directory->stale);
            hash_directory(directory);
        }
    }
}

/* --- entries --------------------------------------------------------------------------------- */

/* Forgets what is below a directory in the cache. */
static void drop_folded(struct tree *t, struct entry *directory)
{
    if (!directory->directory->folded)
        return;
    struct fs_hash_sums below = cache_sum(t->cache, directory->directory->part);
    t->sums.files -= below.files;
    t->sums.bytes -= below.bytes;
    directory->directory->folded = false;
}

static void entry_free(struct tree *t, struct entry *entry)
{
    if (entry->directory) {
        drop_folded(t, entry);
        if (t->on_drop)
            t->on_drop(t->user, entry);
        link_out(&entry->directory->stale);
        link_out(&entry->directory->waiting);
        shelf_free(t->allocator, entry->directory->shelf);
        alloc_free(t->allocator, entry->directory);
    }
    if (entry->type == FS_HASH_FILE) {
        t->sums.files--;
        t->sums.bytes -= entry->identity.size;
    }
    alloc_free(t->allocator, entry);
}

/* All of a list by `next`, and what lies below. A directory's entries go in front of the list. */
static void free_list(struct tree *t, struct entry *list)
{
    while (list) {
        struct entry *entry = list;
        list = entry->next;
        if (entry->directory)
            shelf_list(entry->directory->shelf, &list);
        entry_free(t, entry);
    }
}

static int directory_init(struct tree *t, struct entry *entry)
{
    struct directory *d = alloc_resize(t->allocator, NULL, sizeof(*d));
    struct shelf *shelf = shelf_new(t->allocator, 0);
    if (!d || !shelf) {
        alloc_free(t->allocator, d);
        shelf_free(t->allocator, shelf);
        return -ENOMEM;
    }
    *d = (struct directory){
        .shelf = shelf, .stale.entry = entry, .waiting.entry = entry, .part = PART_NONE};
    entry->directory = d;
    return 0;
}

static int entry_new(struct tree *t, const char *name, size_t len, enum fs_hash_type type,
                     struct entry **ret)
{
    struct entry *entry = alloc_resize(t->allocator, NULL, sizeof(*entry) + len + 1);
    if (!entry)
        return -ENOMEM;
    *entry = (struct entry){.type = type, .name_len = (uint8_t)len};
    memcpy(entry->name, name, len);
    entry->name[len] = '\0';
    if (type == FS_HASH_DIRECTORY && directory_init(t, entry) < 0) {
        alloc_free(t->allocator, entry);
        return -ENOMEM;
    }
    t->sums.files += type == FS_HASH_FILE;
    *ret = entry;
    return 0;
}

int tree_init(struct tree *t, const struct allocator *allocator)
{
    *t = (struct tree){.allocator = allocator, .unsaved = true};
    list_init(&t->waiting);
    for (size_t i = 0; i <= FS_HASH_DEPTH_MAX; i++)
        list_init(&t->stale[i]);
    struct entry *root;
    if (entry_new(t, "", 0, FS_HASH_DIRECTORY, &root) < 0)
        return -ENOMEM;
    t->root = root;
    touch_directory(t, root);
    return 0;
}

void tree_release(struct tree *t)
{
    if (t->root)
        t->root->next = NULL;
    free_list(t, t->root);
    t->root = NULL;
}

struct entry *tree_find(const struct entry *directory, const char *name, size_t len)
{
    return shelf_find(directory->directory->shelf, name, len);
}

struct entry *tree_list(const struct entry *directory)
{
    struct entry *list = NULL;
    shelf_list(directory->directory->shelf, &list);
    return list;
}

static int add(struct tree *t, struct entry *parent, const char *name, size_t len,
               enum fs_hash_type type, struct entry **ret)
{
    struct entry *entry;
    if (entry_new(t, name, len, type, &entry) < 0)
        return -ENOMEM;
    if (shelf_add(t->allocator, parent->directory->shelf, entry) < 0) {
        entry_free(t, entry);
        return -ENOMEM;
    }
    entry->parent = parent;
    entry->depth = (uint16_t)(parent->depth + 1U);
    *ret = entry;
    return 0;
}

int tree_add(struct tree *t, struct entry *parent, const char *name, size_t len,
             enum fs_hash_type type, struct entry **ret)
{
    int r = add(t, parent, name, len, type, ret);
    if (r == 0)
        touch(t, *ret);
    return r;
}

int tree_add_known(struct tree *t, struct entry *parent, const char *name, size_t len,
                   enum fs_hash_type type, struct entry **ret)
{
    const struct fs_hash_sums sums = t->sums;
    int r = add(t, parent, name, len, type, ret);
    t->sums = sums;
    return r;
}

int tree_remove(struct tree *t, struct entry *entry)
{
    touch_directory(t, entry->parent);
    t->unsaved = t->unsaved || (entry->directory ? entry->state == ENTRY_READ : entry->settled);
    int r = shelf_remove(t->allocator, entry->parent->directory->shelf, entry);
    entry->next = NULL;
    free_list(t, entry);
    return r;
}

int tree_empty(struct tree *t, struct entry *directory)
{
    if (directory->directory->folded) {
        drop_folded(t, directory);
        touch_directory(t, directory);
        t->unsaved = true;
    }
    if (directory->directory->shelf->count == 0)
        return 0;
    struct shelf *empty = shelf_new(t->allocator, 0);
    if (!empty)
        return -ENOMEM;
    struct entry *list = tree_list(directory);
    shelf_free(t->allocator, directory->directory->shelf);
    directory->directory->shelf = empty;
    free_list(t, list);
    touch_directory(t, directory);
    t->unsaved = true;
    return 0;
}

/* Those of links mean nothing, and not every file system has the same. */
uint16_t tree_mode(enum fs_hash_type type, unsigned mode)
{
    return type == FS_HASH_LINK ? 0 : (uint16_t)(mode & 07777);
}

void tree_set(struct tree *t, struct entry *entry, const struct identity *identity, bool settled,
              enum entry_state state, const unsigned char hash[SHA256_BYTES])
{
    uint16_t mode = tree_mode(entry->type, identity->mode);
    if (entry->state == ENTRY_NEW || entry->mode != mode ||
        memcmp(entry->hash, hash, SHA256_BYTES) != 0)
        touch(t, entry);
    if (entry->type == FS_HASH_FILE)
        t->sums.bytes += identity->size - entry->identity.size;
    t->unsaved = t->unsaved || settled || entry->settled;
    entry->identity = *identity;
    entry->settled = settled;
    entry->state = state;
    entry->mode = mode;
    memcpy(entry->hash, hash, SHA256_BYTES);
}

void tree_set_directory(struct tree *t, struct entry *directory, unsigned mode,
                        enum entry_state state)
{
    uint16_t bits = tree_mode(FS_HASH_DIRECTORY, mode);
    if (directory->mode != bits || directory->state != state)
        touch(t, directory);
    /* A directory that cannot be listed is in no cache. */
    t->unsaved = t->unsaved || (directory->state != state &&
                                (directory->state == ENTRY_READ || state == ENTRY_READ));
    directory->mode = bits;
    directory->state = state;
}

void tree_set_listed(struct tree *t, struct entry *directory, const struct identity *identity,
                     bool settled)
{
    t->unsaved =
        t->unsaved ||
        (settled && (!directory->settled || !identity_is_same(&directory->identity, identity)));
    directory->identity = *identity;
    directory->settled = settled;
}
