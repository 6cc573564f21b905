/* What is at one name; see fs_hash_look.h. */
#include "changes/fs_hash_look.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/fs_hash_object.h"

/* One look at one name: what it needs everywhere. */
struct look {
    struct walk *walk;
    struct entry *parent;
    int fd; /* of the parent */
    const char *name;
    size_t len;
    bool again;
    struct entry *entry; /* that is known; NULL: none */
    struct identity identity;
    int64_t now_ns;         /* when that was seen, or before */
    uint64_t device_number; /* of a device */
};

bool look_is_gone(int code)
{
    return code == -ENOENT || code == -ENOTDIR || code == -ELOOP || code == -ENXIO ||
           code == -ESTALE;
}

bool look_is_denied(int code)
{
    return code == -EACCES || code == -EPERM;
}

/* --- messages -------------------------------------------------------------------------------- */

enum { PATH_TEXT = ERR_MESSAGE_MAX - 128 };

/* The end of a path, since its start is known best to who asked. Returns where it starts. */
static const char *path_text(const struct entry *parent, const char *name,
                             char text[static PATH_TEXT])
{
    static const char cut[] = "…";
    size_t at = PATH_TEXT - 1;
    text[at] = '\0';
    size_t len = strlen(name);
    for (;;) {
        if (len + sizeof(cut) > at) {
            at -= sizeof(cut) - 1;
            memcpy(text + at, cut, sizeof(cut) - 1);
            return text + at;
        }
        at -= len;
        memcpy(text + at, name, len);
        if (!parent || !parent->parent)
            return text + at;
        text[--at] = '/';
        name = parent->name;
        len = parent->name_len;
        parent = parent->parent;
    }
}

int look_fail(const struct entry *parent, const char *name, int code, struct err *e)
{
    char text[PATH_TEXT];
    const char *path = parent ? path_text(parent, name, text) : ".";
    if (code == -EAGAIN)
        return err_set(e, -EBUSY, "'%s' changes while it is read", path);
    if (code == -ENOMEM)
        return err_set(e, code, "out of memory");
    return err_errno(e, code, "cannot read '%s'", path);
}

/* --- exclusions ------------------------------------------------------------------------------ */

static bool is_path(const struct entry *parent, const char *name, size_t len, const char *path)
{
    size_t left = strlen(path);
    for (;;) {
        if (left < len || memcmp(path + left - len, name, len) != 0)
            return false;
        left -= len;
        if (!parent->parent)
            return left == 0;
        if (left == 0 || path[--left] != '/')
            return false;
        name = parent->name;
        len = parent->name_len;
        parent = parent->parent;
    }
}

bool look_is_excluded(const struct walk *w, const struct entry *parent, const char *name,
                      size_t len)
{
    for (char *const *path = w->exclude; *path; path++) {
        if (is_path(parent, name, len, *path))
            return true;
    }
    return false;
}

/* --- by type --------------------------------------------------------------------------------- */

int look_open(int fd, const char *name, int flags)
{
    /* A FIFO that took a file's place in this moment must not hold us. */
    flags |= O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    int opened = openat(fd, name, flags | O_NOATIME);
    if (opened < 0 && errno == EPERM)
        opened = openat(fd, name, flags);
    return opened < 0 ? -errno : opened;
}

/* Makes the entry what it has to be; one of another type goes away. */
static int have_entry(struct look *l, enum fs_hash_type type)
{
    struct tree *t = l->walk->tree;
    if (l->entry && l->entry->type != type) {
        int r = tree_remove(t, l->entry);
        l->entry = NULL;
        if (r < 0)
            return r;
    }
    if (!l->entry) {
        int r = tree_add(t, l->parent, l->name, l->len, type, &l->entry);
        if (r < 0)
            return r;
    }
    l->entry->seen = l->walk->listing;
    return 0;
}

static int have(struct look *l, enum fs_hash_type type, bool settled, enum entry_state state,
                const unsigned char hash[SHA256_BYTES])
{
    int r = have_entry(l, type);
    if (r == 0)
        tree_set(l->walk->tree, l->entry, &l->identity, settled, state, hash);
    return r;
}

/* Nothing changed since it was read. */
static bool is_known(const struct look *l)
{
    if (l->again || !l->entry || !l->entry->settled ||
        !identity_is_same(&l->entry->identity, &l->identity))
        return false;
    l->entry->seen = l->walk->listing;
    return true;
}

static int look_at_file(struct look *l)
{
    if (is_known(l))
        return 0;
    unsigned char hash[SHA256_BYTES];
    FD_CLEANUP int file = look_open(l->fd, l->name, 0);
    if (look_is_denied(file) && l->walk->mark_unreadable) {
        const unsigned char type = FS_HASH_FILE;
        object_hash(OBJECT_UNREADABLE, &type, 1, hash);
        return have(l, FS_HASH_FILE, false, ENTRY_UNREADABLE, hash);
    }
    if (file < 0)
        return look_is_gone(file) ? -EAGAIN : file;
    struct identity read;
    int r = content_hash_file(&l->walk->content, file, &read, hash);
    if (r == -EINVAL || (r == 0 && !identity_is_same(&read, &l->identity)))
        return -EAGAIN;
    if (r < 0)
        return r;
    return have(l, FS_HASH_FILE, identity_is_settled(&read, l->now_ns), ENTRY_READ, hash);
}

static int look_at_link(struct look *l)
{
    if (is_known(l))
        return 0;
    unsigned char hash[SHA256_BYTES];
    struct content *c = &l->walk->content;
    struct stat st;
    ssize_t len = readlinkat(l->fd, l->name, (char *)c->chunk, sizeof(c->chunk));
    if (len < 0)
        return errno == EINVAL || look_is_gone(-errno) ? -EAGAIN : -errno;
    if ((size_t)len == sizeof(c->chunk))
        return -ENAMETOOLONG;
    if (fstatat(l->fd, l->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return look_is_gone(-errno) ? -EAGAIN : -errno;
    struct identity after = identity_of(&st);
    if (!identity_is_same(&after, &l->identity))
        return -EAGAIN;
    object_hash(OBJECT_LINK, c->chunk, (size_t)len, hash);
    return have(l, FS_HASH_LINK, identity_is_settled(&after, l->now_ns), ENTRY_READ, hash);
}

/* It is the directory that was found to be the same. */
static bool is_checked(const struct look *l)
{
    const struct directory *d = l->entry->directory;
    return l->walk->same && d->part != PART_NONE && l->walk->same[d->part] &&
           identity_is_same(&l->entry->identity, &l->identity);
}

static int look_at_directory(struct look *l)
{
    if (l->parent->depth == FS_HASH_DEPTH_MAX)
        return -ENAMETOOLONG;
    int r = have_entry(l, FS_HASH_DIRECTORY);
    if (r < 0)
        return r;
    tree_set_directory(l->walk->tree, l->entry, l->identity.mode, l->entry->state);
    if (!is_checked(l))
        tree_wait(l->walk->tree, l->entry);
    return 0;
}

/* What has no content: its type, and a device its number, which stays as long as it does. */
static int look_at_other(struct look *l, enum fs_hash_type type)
{
    if (is_known(l))
        return 0;
    unsigned char number[8], hash[SHA256_BYTES];
    bool device = type == FS_HASH_CHARACTER || type == FS_HASH_BLOCK;
    object_put_number(number, 4, major(l->device_number));
    object_put_number(number + 4, 4, minor(l->device_number));
    object_hash((enum object_tag)type, number, device ? sizeof(number) : 0, hash);
    return have(l, type, identity_is_settled(&l->identity, l->now_ns), ENTRY_READ, hash);
}

static int look_once(struct look *l)
{
    struct stat st;
    l->now_ns = identity_now_ns();
    l->entry = tree_find(l->parent, l->name, l->len);
    if (fstatat(l->fd, l->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0) {
        if (errno != ENOENT)
            return -errno;
        return l->entry ? tree_remove(l->walk->tree, l->entry) : 0;
    }
    l->identity = identity_of(&st);
    l->device_number = st.st_rdev;
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
        return look_at_file(l);
    case S_IFLNK:
        return look_at_link(l);
    case S_IFDIR:
        return look_at_directory(l);
    case S_IFIFO:
        return look_at_other(l, FS_HASH_FIFO);
    case S_IFSOCK:
        return look_at_other(l, FS_HASH_SOCKET);
    case S_IFCHR:
        return look_at_other(l, FS_HASH_CHARACTER);
    case S_IFBLK:
        return look_at_other(l, FS_HASH_BLOCK);
    default:
        return -EOPNOTSUPP;
    }
}

int look_at(struct walk *w, struct entry *parent, int fd, const char *name, size_t len, bool again,
            struct err *e)
{
    if (look_is_excluded(w, parent, name, len))
        return 0;
    if (len > NAME_BYTES_MAX)
        return look_fail(parent, name, -ENAMETOOLONG, e);
    struct look look = {
        .walk = w, .parent = parent, .fd = fd, .name = name, .len = len, .again = again};
    int r = -EAGAIN;
    for (unsigned tries = 0; r == -EAGAIN && tries < IDENTITY_TRIES; tries++) {
        identity_pause(tries);
        r = look_once(&look);
    }
    return r < 0 ? look_fail(parent, name, r, e) : 0;
}
