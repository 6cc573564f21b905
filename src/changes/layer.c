/* See layer.h. */
#include "changes/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "changes/attributes.h"
#include "changes/copy.h"

int layer_imitate(int layer, const char *root)
{
    FD_CLEANUP int upper = openat(layer, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_CLEANUP int lower = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (upper < 0 || lower < 0 || fstat(lower, &st) < 0)
        return -errno;
    /* Root's layers belong to the root's owner, as which the inside sees itself. */
    if (geteuid() == 0 && (fchown(upper, st.st_uid, st.st_gid) < 0 ||
                           fchownat(layer, "work", st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
                           fchown(layer, st.st_uid, st.st_gid) < 0))
        return -errno;
    struct arena arena;
    const char *bytes;
    size_t len;
    char path[ATTRIBUTES_PATH];
    arena_init(&arena, &allocator_libc, 1 << 20);
    attributes_path(lower, ".", path);
    int r = attributes_read(&arena, path, &bytes, &len);
    attributes_path(upper, ".", path);
    if (r == 0 && len)
        r = attributes_write(path, bytes, len);
    arena_release(&arena);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, st.st_mtim};
    if (r == 0 && (fchmod(upper, st.st_mode & 07777) < 0 || futimens(upper, times) < 0))
        r = -errno;
    return r;
}

/* The file system's clock goes by steps: waits for the next, so that nothing is as old as this. */
static int wait_for_tick(int layer, int64_t *ret_ns)
{
    enum { TRIES = 100 };
    int64_t first = 0;
    for (int i = 0; i < TRIES; i++) {
        struct stat st;
        struct change_side side;
        if (mkdirat(layer, "tick", 0700) < 0 || fstatat(layer, "tick", &st, 0) < 0 ||
            unlinkat(layer, "tick", AT_REMOVEDIR) < 0)
            return -errno;
        change_side_of(&st, &side);
        *ret_ns = side.ctime_ns;
        if (first && side.ctime_ns > first)
            return 0;
        first = first ? first : side.ctime_ns;
        const struct timespec moment = {.tv_nsec = 1000000};
        nanosleep(&moment, NULL);
    }
    return 0; /* a clock that stands still: everything is compared */
}

/* The whole root, but for the store if that lies in it. What is newer than the mark that is made
 * last is the run's work. */
static int make_copy(struct arena *arena, int layer, struct change_root *root, struct err *e)
{
    FD_CLEANUP int from = open(root->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_CLEANUP int into = openat(layer, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || into < 0)
        return err_errno(e, -errno, "cannot copy '%s'", root->path);
    size_t len = strlen(root->path);
    const char *except = NULL;
    if (path_is_below(root->layer, root->path)) {
        const char *store = store_of_layer(arena, root->layer);
        if (!store || strlen(store) <= len)
            return err_set(e, -ENOMEM, "out of memory");
        except = store + len + 1;
    }
    int r = copy_tree(from, into, except, e);
    if (r < 0)
        return err_context(e, r, "no overlay can be laid over '%s', and it cannot be copied",
                           root->path);
    r = wait_for_tick(layer, &root->copied_ns);
    return r < 0 ? err_errno(e, r, "cannot copy '%s'", root->path) : 0;
}

int layer_make(struct arena *arena, const struct store *store, const char *run, size_t index,
               const struct transaction_root *root, bool ready, struct change_root *ret,
               struct err *e)
{
    int r;
    if (root->copy)
        store_remember_copy(store, true);
    bool copy = root->copy || store_needs_copy(store, root->uid, root->gid);
    const char *dirs = arena_format(arena, "%s/%s", store->path, run);
    const char *layer = dirs ? arena_format(arena, "%s/layer%zu", dirs, index) : NULL;
    if (!layer)
        return err_set(e, -ENOMEM, "out of memory");
    FD_CLEANUP int dir = -1;
    if ((!ready && ((mkdir(dirs, 0700) < 0 && errno != EEXIST) || mkdir(layer, 0700) < 0)) ||
        (dir = open(layer, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        return err_errno(e, -errno, "cannot make '%s', where changes go", layer);
    if (!ready)
        store_spread(dir);
    if ((mkdirat(dir, "upper", 0700) < 0 && !(ready && errno == EEXIST)) ||
        (mkdirat(dir, "work", 0700) < 0 && !(ready && errno == EEXIST)))
        return err_errno(e, -errno, "cannot make '%s', where changes go", layer);
    *ret = (struct change_root){
        .path = root->path, .device = root->device, .inode = root->inode, .layer = layer};
    if (copy && (r = make_copy(arena, dir, ret, e)) < 0)
        return r;
    r = layer_imitate(dir, root->path);
    return r < 0 ? err_errno(e, r, "cannot make '%s', where changes go", layer) : 0;
}
