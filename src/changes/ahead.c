/* See ahead.h. */
#include "changes/ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/attributes.h"
#include "changes/layer.h"
#include "changes/recovery.h"

/* A place for it, made of a layer that nobody wrote to if there is one. */
static int make_place(struct layer_ahead *a, bool *ret_ready)
{
    char place[NAME_MAX + 1];
    int r = uuid_new(a->name);
    snprintf(place, sizeof(place), STORE_AHEAD "/%s", a->name);
    if (r == 0 && mkdirat(a->store.dir, STORE_AHEAD, 0700) < 0 && errno != EEXIST)
        r = -errno;
    *ret_ready = r == 0 && store_take_spare(&a->store, place);
    if (r == 0 && !*ret_ready && mkdirat(a->store.dir, place, 0700) < 0)
        r = -errno;
    if (r < 0)
        return r;
    a->dir = openat(a->store.dir, place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (a->dir < 0)
        return -errno;
    /* Somebody else may have taken it for one that was left behind, before it was locked. */
    struct stat ours, there;
    if (flock(a->dir, LOCK_EX | LOCK_NB) < 0 || fstat(a->dir, &ours) < 0 ||
        fstatat(a->store.dir, place, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
        ours.st_ino != there.st_ino || ours.st_dev != there.st_dev) {
        fd_close(&a->dir);
        return -EAGAIN;
    }
    return 0;
}

int ahead_make(struct arena *arena, const char *state, const struct transaction_root *root,
               struct layer_ahead *ret, struct err *e)
{
    struct layer_ahead a = LAYER_AHEAD_NONE;
    struct change_root made = {0};
    bool ready = false;
    int r = store_open(arena, state, root->path, &a.store, e);
    if (r < 0)
        return r;
    /* What a crash has left is for a run to tell of. */
    if (recovery_is_due(&a.store))
        r = err_set(e, -EAGAIN, "'%s' is in use", root->path);
    else if (a.store.temporary || root->copy || store_needs_copy(&a.store, root->uid, root->gid))
        r = err_set(e, -ENOTSUP, "'%s' has no layers ahead", root->path);
    if (r == 0 && (lstat(root->path, &a.root) < 0 || (r = make_place(&a, &ready)) < 0))
        r = err_errno(e, r < 0 ? r : -errno, "cannot make a layer in '%s'", a.store.path);
    const char *run = r < 0 ? NULL : arena_format(arena, STORE_AHEAD "/%s", a.name);
    if (r == 0 && !run)
        r = err_set(e, -ENOMEM, "out of memory");
    if (r == 0)
        r = layer_make(arena, &a.store, run, 0, root, ready, &made, e);
    if (r < 0) {
        ahead_drop(&a);
        return r;
    }
    a.layer = made.layer;
    *ret = a;
    return 0;
}

/* Without its descriptor it is somebody's else, or removed when somebody tidies up. */
void ahead_drop(struct layer_ahead *ahead)
{
    char place[NAME_MAX + 1];
    snprintf(place, sizeof(place), STORE_AHEAD "/%s", ahead->name);
    if (ahead->dir >= 0)
        store_put_aside(&ahead->store, ahead->store.dir, place, ahead->name);
    fd_close(&ahead->dir);
    store_close(&ahead->store);
}

/* Whether two directories have the same attributes, but for those that an overlay has. */
static bool are_alike(struct arena *arena, int a, int b)
{
    char path[ATTRIBUTES_PATH];
    const char *bytes[2];
    size_t len[2];
    const int dirs[] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        attributes_path(dirs[i], ".", path);
        if (attributes_read(arena, path, &bytes[i], &len[i]) < 0)
            return false;
    }
    return len[0] == len[1] && (!len[0] || memcmp(bytes[0], bytes[1], len[0]) == 0);
}

/* Whether the root is as the layer was made to be, or has only been written to since. */
static int imitate_again(struct arena *arena, const struct layer_ahead *a,
                         const struct transaction_root *root)
{
    FD_CLEANUP int lower = open(root->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (lower < 0 || fstat(lower, &st) < 0)
        return -errno;
    if (st.st_dev != a->root.st_dev || st.st_ino != a->root.st_ino ||
        st.st_mode != a->root.st_mode || st.st_uid != a->root.st_uid || st.st_gid != a->root.st_gid)
        return -ESTALE;
    if (st.st_ctim.tv_sec == a->root.st_ctim.tv_sec &&
        st.st_ctim.tv_nsec == a->root.st_ctim.tv_nsec)
        return 0;
    FD_CLEANUP int layer =
        openat(a->dir, "layer0", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_CLEANUP int upper =
        layer < 0 ? -1 : openat(layer, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (upper < 0)
        return -errno;
    return are_alike(arena, lower, upper) ? layer_imitate(layer, root->path) : -ESTALE;
}

int ahead_adopt(struct arena *arena, struct layer_ahead *ahead, const char *id,
                const struct transaction_root *root, struct transaction *ret, struct err *e)
{
    struct transaction t = {.arena = arena, .store = ahead->store, .dir = -1};
    struct change_root *made = arena_alloc_array(arena, 1, sizeof(*made));
    char from[NAME_MAX + 1], to[NAME_MAX + 1];
    snprintf(from, sizeof(from), STORE_AHEAD "/%s", ahead->name);
    snprintf(to, sizeof(to), "runs/%s", id);
    snprintf(t.journal.id, sizeof(t.journal.id), "%s", id);
    t.store.path = arena_copy(arena, ahead->store.path, strlen(ahead->store.path));
    t.store.state = arena_copy(arena, ahead->store.state, strlen(ahead->store.state));
    t.store.root = root->path;
    t.path = arena_format(arena, "%s/%s", ahead->store.path, to);
    const char *layer = arena_format(arena, "%s/%s/layer0", ahead->store.path, to);
    int r = 0;
    if (!made || arena->failed)
        r = err_set(e, -ENOMEM, "out of memory");
    if (r == 0)
        r = recovery_run(&t.store, &t.mended, e);
    /* It is locked: nobody takes it for one that a crash has left before it has its mark. */
    bool renamed = r == 0 && renameat(t.store.dir, from, t.store.dir, to) == 0;
    if (r == 0 && (!renamed || (r = recovery_mark(&t.store, id, &t.journal.start_ns)) < 0))
        r = err_errno(e, r < 0 ? r : -errno, "cannot make '%s', where changes go", t.path);
    if (r == 0 && (r = imitate_again(arena, ahead, root)) < 0)
        err_errno(e, r, "cannot use the layer that was made for '%s'", root->path);
    if (r < 0 || !made) {
        if (renamed)
            store_put_aside(&t.store, t.store.dir, to, id);
        recovery_unmark(&t.store, id);
        fd_close(&ahead->dir);
        ahead_drop(ahead);
        ret->mended = t.mended; /* of which somebody has to tell */
        return r;
    }
    *made = (struct change_root){
        .path = root->path, .device = root->device, .inode = root->inode, .layer = layer};
    t.journal.set.roots = made;
    t.journal.set.root_count = 1;
    t.dir = fd_steal(&ahead->dir);
    ahead->store.dir = -1;
    *ret = t;
    return 0;
}
