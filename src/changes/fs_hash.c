/* The handle: walks and updates in order, and what remains after a failure; see fs_hash.h. */
#include "changes/fs_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "changes/fs_hash_cache.h"
#include "changes/fs_hash_check.h"
#include "changes/fs_hash_fold.h"
#include "changes/fs_hash_look.h"
#include "changes/fs_hash_object.h"

struct fs_hash {
    const struct allocator *allocator;
    char *cache_path;
    char **exclude; /* and all its texts, in one piece */
    unsigned char root[SHA256_BYTES];
    unsigned char asked[SHA256_BYTES]; /* of the options that the hash depends on */
    bool failed;                       /* the tree is not known to be the directory */
    bool broken;                       /* it is not even a tree any more */
    struct cache cache;                /* of which the tree may have folded directories */
    struct tree tree;
    struct walk walk;
};

static void drop_directory(void *user, const struct entry *directory)
{
    walk_forget(user, directory);
}

static int have_tree(struct fs_hash *f, struct err *e)
{
    if (tree_init(&f->tree, f->allocator) < 0)
        return err_set(e, -ENOMEM, "out of memory");
    f->tree.on_drop = drop_directory;
    f->tree.user = &f->walk;
    return 0;
}

/* The hash of what was walked, or what its failure leaves. */
static int finish(struct fs_hash *f, int r)
{
    walk_rest(&f->walk);
    f->failed = r < 0;
    f->broken = f->broken || r == -ENOMEM || r == -EBADMSG;
    if (r < 0)
        return r;
    tree_hash(&f->tree);
    unsigned char message[2 + SHA256_BYTES];
    object_put_number(message, 2, f->tree.root->mode);
    memcpy(message + 2, f->tree.root->hash, SHA256_BYTES);
    object_hash(OBJECT_ROOT, message, sizeof(message), f->root);
    return 0;
}

/* A tree that broke is made anew. */
static int mend(struct fs_hash *f, struct err *e)
{
    if (!f->broken)
        return 0;
    tree_release(&f->tree);
    cache_release(&f->cache, f->allocator);
    int r = have_tree(f, e);
    f->broken = r < 0;
    return r;
}

/* --- opening --------------------------------------------------------------------------------- */

/* The list and its texts in one piece of memory. */
static int copy_exclude(struct fs_hash *f, const char *const *exclude, struct err *e)
{
    size_t count = 0, bytes = 0;
    for (; exclude && exclude[count]; count++) {
        size_t len = strlen(exclude[count]);
        if (len == 0 || !walk_check_path(exclude[count], len))
            return err_set(e, -EINVAL, "cannot exclude '%s': not a plain relative path",
                           exclude[count]);
        bytes += len + 1;
    }
    f->exclude = alloc_resize(f->allocator, NULL, (count + 1) * sizeof(char *) + bytes);
    if (!f->exclude)
        return err_set(e, -ENOMEM, "out of memory");
    char *to = (char *)(f->exclude + count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(exclude[i]) + 1;
        f->exclude[i] = memcpy(to, exclude[i], size);
        to += size;
    }
    f->exclude[count] = NULL;
    f->walk.exclude = f->exclude;
    return 0;
}

static int copy_options(struct fs_hash *f, const struct fs_hash_options *options, struct err *e)
{
    f->walk.mark_unreadable = options->mark_unreadable;
    f->walk.root_fd = openat(options->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (f->walk.root_fd < 0) {
        /* To be opened by the name `.` a directory must be searched; a copy needs no right. */
        f->walk.root_fd = fcntl(options->root_fd, F_DUPFD_CLOEXEC, 0);
        if (f->walk.root_fd < 0)
            return err_errno(e, -errno, "cannot use the directory");
    }
    if (options->cache_path) {
        size_t size = strlen(options->cache_path) + 1;
        f->cache_path = alloc_resize(f->allocator, NULL, size);
        if (!f->cache_path)
            return err_set(e, -ENOMEM, "out of memory");
        memcpy(f->cache_path, options->cache_path, size);
    }
    return copy_exclude(f, options->exclude, e);
}

/* A cache that was made with other exclusions knows of other directories. */
static void note_asked(struct fs_hash *f)
{
    struct sha256 s;
    sha256_start(&s);
    sha256_add(&s, &f->walk.mark_unreadable, 1);
    for (char *const *path = f->exclude; *path; path++)
        sha256_add(&s, *path, strlen(*path) + 1);
    sha256_end(&s, f->asked);
}

/* What the cache knows and what became different since. */
static int walk_cached(struct fs_hash *f, struct err *e)
{
    fold_tree(&f->tree, &f->cache);
    if (memcmp(f->cache.asked, f->asked, SHA256_BYTES) != 0) {
        f->tree.unsaved = true;
        return finish(f, walk_all(&f->walk, e));
    }
    unsigned char *same;
    int r = check_parts(&f->cache, f->allocator, f->walk.root_fd, &same);
    if (r < 0)
        return err_set(e, r, "out of memory");
    if (r == 1)
        memcpy(f->root, f->cache.root, SHA256_BYTES);
    else
        r = finish(f, walk_parts(&f->walk, same, e));
    alloc_free(f->allocator, same);
    return r < 0 ? r : 0;
}

static int walk_first(struct fs_hash *f, struct err *e)
{
    int r = f->cache_path ? cache_load(&f->cache, f->allocator, f->cache_path) : -ENOENT;
    if (r == 0) {
        r = walk_cached(f, e);
        if (r != -EBADMSG)
            return r;
        r = mend(f, e);
        if (r < 0)
            return r;
    }
    return finish(f, walk_all(&f->walk, e));
}

int fs_hash_open(const struct fs_hash_options *options, struct fs_hash **ret, struct err *e)
{
    struct fs_hash *f = alloc_zeroed(options->allocator, sizeof(*f));
    if (!f)
        return err_set(e, -ENOMEM, "out of memory");
    f->allocator = options->allocator;
    walk_init(&f->walk, &f->tree);
    int r = have_tree(f, e);
    if (r == 0)
        r = copy_options(f, options, e);
    if (r == 0) {
        note_asked(f);
        r = walk_first(f, e);
    }
    if (r < 0) {
        fs_hash_close(f);
        return r;
    }
    if (f->cache_path && f->tree.unsaved)
        fs_hash_save(f, NULL);
    *ret = f;
    return 0;
}

void fs_hash_close(struct fs_hash *f)
{
    if (!f)
        return;
    tree_release(&f->tree);
    cache_release(&f->cache, f->allocator);
    walk_rest(&f->walk);
    fd_close(&f->walk.root_fd);
    alloc_free(f->allocator, f->cache_path);
    alloc_free(f->allocator, f->exclude);
    alloc_free(f->allocator, f);
}

/* --- using ----------------------------------------------------------------------------------- */

int fs_hash_update(struct fs_hash *f, const char *const *paths, const size_t *lengths, size_t count,
                   struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        if (!walk_check_path(paths[i], lengths[i]))
            return err_set(e, -EINVAL, "cannot look at '%.*s': not a plain relative path",
                           (int)(lengths[i] < 256 ? lengths[i] : 256), paths[i]);
    }
    int r = mend(f, e);
    if (r < 0)
        return r;
    r = finish(f, f->failed ? walk_all(&f->walk, e)
                            : walk_changes(&f->walk, paths, lengths, count, e));
    if (r != -EBADMSG)
        return r;
    /* The cache was none. */
    r = mend(f, e);
    return r < 0 ? r : finish(f, walk_all(&f->walk, e));
}

void fs_hash_root(const struct fs_hash *f, char ret_hex[SHA256_HEX + 1])
{
    sha256_hex(f->root, ret_hex);
}

void fs_hash_sum(const struct fs_hash *f, struct fs_hash_sums *ret)
{
    *ret = f->tree.sums;
}

int fs_hash_find(struct fs_hash *f, const char *path, size_t len, struct fs_hash_entry *ret)
{
    if (f->failed)
        return -ESTALE;
    if (!walk_check_path(path, len))
        return -ENOENT;
    struct entry *entry = f->tree.root;
    const char *end = path + len;
    for (const char *rest = len ? path : NULL; rest;) {
        const char *part = rest;
        size_t part_len = walk_part(part, (size_t)(end - part), &rest);
        if (!entry->directory)
            return -ENOENT;
        int r = fold_open(&f->tree, entry);
        if (r < 0) {
            f->failed = f->broken = true;
            return r == -EBADMSG ? -ESTALE : r;
        }
        entry = tree_find(entry, part, part_len);
        if (!entry)
            return -ENOENT;
    }
    *ret = (struct fs_hash_entry){
        .type = entry->type,
        .mode = entry->mode,
        .size_bytes = entry->type == FS_HASH_FILE ? entry->identity.size : 0,
        .unread = entry->state != ENTRY_READ,
    };
    memcpy(ret->hash, entry->hash, SHA256_BYTES);
    return 0;
}

int fs_hash_save(struct fs_hash *f, struct err *e)
{
    if (!f->cache_path)
        return err_set(e, -EINVAL, "there is no path for a cache");
    if (f->failed)
        return err_set(e, -ESTALE, "the last update failed");
    if (!f->tree.unsaved)
        return 0;
    int r = cache_save(&f->tree, f->root, f->asked, f->cache_path, e);
    if (r == 0)
        f->tree.unsaved = false;
    return r;
}
