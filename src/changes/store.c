/* See store.h. */
#include "changes/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/beneath.h"
#include "changes/copy.h"

enum { NAME_BYTES = 8 };

/* A file of a store, to be read: nothing else is waited for or followed. */
static int open_plain(int dir, const char *name)
{
    FD_CLEANUP int fd =
        openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    return fd_steal(&fd);
}

/* What must be alike for a rename: the file system, and the mount by which it is seen. */
struct place {
    uint64_t device, mount;
};

static int place_of(const char *path, struct place *ret)
{
    struct statx st;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_MNT_ID, &st) < 0)
        return -errno;
    ret->device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
    ret->mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
    return 0;
}

/* Makes every directory of a path that is missing, for the owner alone. Mostly none is. */
static int make_dirs(const char *path)
{
    char part[PATH_MAX];
    size_t len = strlen(path), done = len;
    if (len >= sizeof(part))
        return -ENAMETOOLONG;
    memcpy(part, path, len + 1);
    for (;;) {
        if (mkdir(part, 0700) < 0 && errno != EEXIST) {
            if (errno != ENOENT)
                return -errno;
            char *slash = strrchr(part, '/');
            if (!slash || slash == part)
                return -ENOENT;
            *slash = '\0';
            done = (size_t)(slash - part);
            continue;
        }
        if (done == len)
            return 0;
        part[done] = '/';
        done += 1 + strlen(part + done + 1);
    }
}

/* Without links as far as it is there; what is not there yet can be none. NULL: it climbs. */
static const char *without_links(struct arena *arena, const char *path)
{
    char part[PATH_MAX], real[PATH_MAX];
    size_t len = strlen(path);
    if (len >= sizeof(part))
        return NULL;
    memcpy(part, path, len + 1);
    while (len && !realpath(part, real)) {
        while (len && part[len - 1] != '/')
            len--;
        len -= len > 0;
        part[len] = '\0';
    }
    const char *rest = path + len;
    if (!len || strstr(rest, "/.."))
        return NULL;
    return arena_format(arena, "%s%s", strcmp(real, "/") == 0 ? "" : real, rest);
}

const char *store_state_dir(struct arena *arena, const char *state_home, const char *home)
{
    struct stat st;
    bool named = state_home && state_home[0] == '/';
    if (!named && (!home || home[0] != '/' || stat(home, &st) < 0 || !S_ISDIR(st.st_mode)))
        return NULL;
    const char *path = named ? arena_format(arena, "%s/nacre", state_home)
                             : arena_format(arena, "%s/.local/state/nacre", home);
    return path ? without_links(arena, path) : NULL;
}

/* What is there of a path that may not be there yet. */
static int place_above(const char *path, struct place *ret)
{
    char part[PATH_MAX];
    if (strlen(path) >= sizeof(part))
        return -ENAMETOOLONG;
    memcpy(part, path, strlen(path) + 1);
    int r;
    while ((r = place_of(part, ret)) == -ENOENT) {
        char *slash = strrchr(part, '/');
        if (!slash || slash == part)
            return r;
        *slash = '\0';
    }
    return r == 0 && access(part, W_OK) < 0 ? -errno : r;
}

/* The place of a store that is to be on the file system of `root`; NULL: it has to be in it. */
static const char *in_state(struct arena *arena, const char *state, const char *root)
{
    unsigned char digest[SHA256_BYTES];
    char hex[SHA256_HEX + 1];
    struct sha256 hash;
    struct place a = {0}, b = {0};
    if (!state || place_above(state, &a) < 0 || place_of(root, &b) < 0 || a.device != b.device ||
        a.mount != b.mount)
        return NULL;
    sha256_start(&hash);
    sha256_add(&hash, root, strlen(root));
    sha256_end(&hash, digest);
    sha256_hex(digest, hex);
    hex[(size_t)2 * NAME_BYTES] = '\0';
    return arena_format(arena, "%s/store/%s", state, hex);
}

/* --- a store in its root ------------------------------------------------------------------------
 */

enum { KEY_BYTES = 32 };

/* Made at its first use. */
static int read_key(const char *state, unsigned char ret[static KEY_BYTES])
{
    char path[PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(path, sizeof(path), "%s/key", state) >= sizeof(path))
        return -ENAMETOOLONG;
    /* Whole or not at all: written without a name, and then named, unless another was faster. */
    if (access(path, F_OK) < 0 && errno == ENOENT) {
        char nameless[40];
        FD_CLEANUP int made =
            make_dirs(state) < 0 ? -1 : open(state, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
        snprintf(nameless, sizeof(nameless), "/proc/self/fd/%d", made);
        if (made < 0 || getrandom(ret, KEY_BYTES, 0) != KEY_BYTES ||
            fd_write_all(made, ret, KEY_BYTES) < 0 ||
            (linkat(AT_FDCWD, nameless, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0 && errno != EEXIST))
            return -errno;
    }
    FD_CLEANUP int fd = open_plain(AT_FDCWD, path);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid() || st.st_mode & 077 || read(fd, ret, KEY_BYTES) != KEY_BYTES)
        return -EPERM;
    return 0;
}

/* What only we can say of this very directory: by the key on both sides of what it is. */
static int make_stamp(const struct store *s, const struct stat *st, char ret[static SHA256_HEX + 1])
{
    unsigned char key[KEY_BYTES], digest[SHA256_BYTES];
    struct sha256 hash;
    int r = read_key(s->state, key);
    if (r < 0)
        return r;
    /* Not by the device's number, which may be another after a restart. */
    const uint64_t where = st->st_ino;
    sha256_start(&hash);
    sha256_add(&hash, key, sizeof(key));
    sha256_add(&hash, &where, sizeof(where));
    sha256_add(&hash, s->path, strlen(s->path));
    sha256_add(&hash, key, sizeof(key));
    sha256_end(&hash, digest);
    sha256_hex(digest, ret);
    return 0;
}

/* `made`: it was not there before. */
static int check_stamp(const struct store *s, int dir, const struct stat *st, bool made,
                       struct err *e)
{
    char wanted[SHA256_HEX + 1], found[SHA256_HEX + 1] = "";
    int r = make_stamp(s, st, wanted);
    if (r < 0)
        return err_errno(e, r, "cannot use '%s/key'", s->state);
    FD_CLEANUP int fd = made ? openat(dir, "stamp", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                             : open_plain(dir, "stamp");
    if (made) {
        r = fd < 0 ? -errno : fd_write_all(fd, wanted, SHA256_HEX);
        return r < 0 ? err_errno(e, r, "cannot make '%s', where changes are kept", s->path) : 0;
    }
    if (fd < 0 || read(fd, found, SHA256_HEX) != SHA256_HEX ||
        memcmp(wanted, found, SHA256_HEX) != 0)
        return err_set(e, -EPERM,
                       "'%s' is where changes are kept, but was not made by nacre here: "
                       "remove it",
                       s->path);
    return 0;
}

/* Nothing of it is to be added to a repository by accident. */
static void ignore_it(int dir)
{
    FD_CLEANUP int fd =
        openat(dir, ".gitignore", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && fd_write_all(fd, "*\n", 2) < 0)
        return;
}

const char *store_of_layer(struct arena *arena, const char *layer)
{
    size_t len = strlen(layer);
    for (int parts = 0; parts < 3; parts++) {
        while (len && layer[len - 1] != '/')
            len--;
        len -= len > 0;
    }
    return arena_copy(arena, layer, len);
}

const char *store_place(struct arena *arena, const char *state, const char *root)
{
    const char *path = in_state(arena, state, root);
    return path ? path : arena_format(arena, "%s/" STORE_IN_ROOT, root);
}

/* The directory of a store, made if it is not there. A descriptor, or a negative errno. */
static int open_store(const struct store *s, bool inside, struct err *e)
{
    bool made = inside && mkdir(s->path, 0700) == 0;
    int r = inside ? 0 : make_dirs(s->path);
    FD_CLEANUP int dir = r < 0 ? r : open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (r < 0 || dir < 0 || fstat(dir, &st) < 0)
        return err_errno(e, r < 0 ? r : -errno, "cannot make '%s', where changes are kept",
                         s->path);
    if (st.st_uid != geteuid() || (st.st_mode & 077 && fchmod(dir, 0700) < 0))
        return err_set(e, -EPERM, "'%s', where changes are kept, is not ours alone", s->path);
    if (inside && !s->temporary && (r = check_stamp(s, dir, &st, made, e)) < 0)
        return r;
    if (inside)
        ignore_it(dir);
    bool fresh = mkdirat(dir, "runs", 0700) == 0;
    if ((!fresh && errno != EEXIST) || (mkdirat(dir, "pending", 0700) < 0 && errno != EEXIST))
        return err_errno(e, -errno, "cannot make '%s', where changes are kept", s->path);
    FD_CLEANUP int runs = fresh ? openat(dir, "runs", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fresh)
        store_spread(runs);
    return fd_steal(&dir);
}

int store_open(struct arena *arena, const char *state, const char *root, struct store *ret,
               struct err *e)
{
    struct store s = {.state = state, .root = root, .path = in_state(arena, state, root)};
    bool inside = !s.path;
    if (inside && state) {
        s.path = arena_format(arena, "%s/" STORE_IN_ROOT, root);
    } else if (inside) {
        uint32_t name[2];
        s.temporary = true;
        if (getrandom(name, sizeof(name), 0) != (ssize_t)sizeof(name))
            return err_set(e, -EIO, "the kernel has no random numbers");
        s.path = arena_format(arena, "%s/" STORE_IN_ROOT "-%08x%08x", root, name[0], name[1]);
    }
    if (!s.path)
        return err_set(e, -ENOMEM, "out of memory");
    s.dir = open_store(&s, inside, e);
    if (s.dir < 0)
        return s.dir;
    *ret = s;
    return 0;
}

int store_make_dirs(const char *path)
{
    return make_dirs(path);
}

void store_close(struct store *s)
{
    fd_close(&s->dir);
}

void store_spread(int dir)
{
    int flags;
    if (ioctl(dir, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_TOPDIR_FL;
        ioctl(dir, FS_IOC_SETFLAGS, &flags); /* a wish */
    }
}

int store_lock(const struct store *s, struct err *e)
{
    FD_CLEANUP int fd = openat(s->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : 0;
    while (r == 0 && flock(fd, LOCK_EX) < 0) {
        if (errno != EINTR)
            r = -errno;
    }
    return r < 0 ? err_errno(e, r, "cannot lock '%s'", s->path) : fd_steal(&fd);
}

/* --- the second way -------------------------------------------------------------------------- */

#define OVERLAY "overlay" /* a file that says yes or no, as long as it is young */
enum { REMEMBERED_S = 600 };

void store_remember_copy(const struct store *s, bool needed)
{
    FD_CLEANUP int fd =
        openat(s->dir, OVERLAY, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && fd_write_all(fd, needed ? "no\n" : "yes\n", needed ? 3 : 4) < 0)
        unlinkat(s->dir, OVERLAY, 0);
}

bool store_needs_copy(const struct store *s, uint32_t uid, uint32_t gid)
{
    FD_CLEANUP int fd = open_plain(s->dir, OVERLAY);
    struct stat st;
    char answer = 0;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_mtim.tv_sec + REMEMBERED_S > time(NULL) &&
        read(fd, &answer, 1) == 1)
        return answer == 'n';
    FD_CLEANUP int root = open(s->root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool needed = root >= 0 && copy_is_needed(root, uid, gid) == 1;
    store_remember_copy(s, needed);
    return needed;
}

/* --- the log --------------------------------------------------------------------------------- */

int store_write_entry(int fd, const struct store_entry *entry)
{
    char line[160];
    int len = snprintf(line, sizeof(line), "%" PRIu64 " %s %" PRIu64 " %" PRId64 "\n",
                       entry->sequence, entry->id, entry->bytes, entry->time_s);
    return fd_write_all(fd, line, (size_t)len);
}

int store_append_log(const struct store *s, const struct store_entry *entry, struct err *e)
{
    FD_CLEANUP int fd =
        openat(s->dir, "log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = fd < 0 ? -errno : store_write_entry(fd, entry);
    return r < 0 ? err_errno(e, r, "cannot write '%s/log'", s->path) : 0;
}

/* A line that is not whole (a crash, a full disk) is passed over. */
int store_read_log(const struct store *s, struct arena *arena, struct store_log *ret, struct err *e)
{
    *ret = (struct store_log){0};
    FD_CLEANUP int fd = open_plain(s->dir, "log");
    if (fd < 0)
        return errno == ENOENT ? 0 : err_errno(e, -errno, "cannot read '%s/log'", s->path);
    FILE *f = fdopen(fd, "r");
    if (!f)
        return err_set(e, -ENOMEM, "out of memory");
    fd_steal(&fd);
    char line[160];
    size_t room = 0;
    int r = 0;
    while (r == 0 && fgets(line, sizeof(line), f)) {
        struct store_entry entry = {0};
        if (!strchr(line, '\n') ||
            sscanf(line, "%" SCNu64 " %36s %" SCNu64 " %" SCNd64, &entry.sequence, entry.id,
                   &entry.bytes, &entry.time_s) != 4 ||
            strlen(entry.id) != UUID_TEXT)
            continue;
        if (ret->count == room) {
            room = room ? room * 2 : 64;
            struct store_entry *more = arena_alloc_array(arena, room, sizeof(*more));
            if (!more) {
                r = err_set(e, -ENOMEM, "out of memory");
                break;
            }
            if (ret->count)
                memcpy(more, ret->items, ret->count * sizeof(*more));
            ret->items = more;
        }
        ret->items[ret->count++] = entry;
    }
    fclose(f);
    return r;
}

/* --- finding --------------------------------------------------------------------------------- */

int store_find(struct arena *arena, const char *state, const char *id, const char **ret,
               struct err *e)
{
    size_t len = strlen(id);
    char found[NAME_MAX + 1] = "";
    if (!state)
        return err_set(e, -ENOENT, "there is no state directory in which '%s' could be", id);
    const char *runs = arena_format(arena, "%s/runs", state);
    FD_CLEANUP int dir = runs ? open(runs, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    struct names names = {0};
    int r = dir < 0 || len == 0 ? -ENOENT : names_open(&names, dir);
    for (const char *name; r == 0 && (name = names_next(&names));) {
        if (strncmp(name, id, len) != 0)
            continue;
        if (found[0])
            r = err_set(e, -EINVAL, "more than one run begins with '%s'", id);
        snprintf(found, sizeof(found), "%s", name);
    }
    names_close(&names);
    if (r == -EINVAL)
        return r;
    if (!found[0])
        return err_set(e, -ENOENT, "no run '%s' has changes that are kept", id);
    char target[PATH_MAX];
    ssize_t n = readlinkat(dir, found, target, sizeof(target));
    if (n <= 0 || n == (ssize_t)sizeof(target) || target[0] != '/')
        return err_set(e, -ENOENT, "what run '%s' changed is no longer kept", found);
    *ret = arena_copy(arena, target, (size_t)n);
    return *ret ? 0 : err_set(e, -ENOMEM, "out of memory");
}

int store_open_private(const char *state, const char *name, bool make, struct err *e)
{
    char path[PATH_MAX];
    struct stat st;
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", state, name) >= sizeof(path))
        return err_set(e, -ENAMETOOLONG, "the state directory's name is too long");
    int r = make ? store_make_dirs(state) : 0;
    if (r == 0 && make && mkdir(path, 0700) < 0 && errno != EEXIST)
        r = -errno;
    if (r < 0)
        return err_errno(e, r, "cannot make '%s'", path);
    FD_CLEANUP int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0)
        return err_errno(e, -errno, "cannot open '%s'", path);
    if (st.st_uid != geteuid() || (st.st_mode & 077))
        return err_set(e, -EPERM, "'%s' is open to others, or not yours", path);
    return fd_steal(&dir);
}
