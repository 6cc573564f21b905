/* A session's state on the disk; see session.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "changes/listing.h"
#include "changes/store.h"
#include "session/session.h"

#define HEAD "nacre session 1\n"

enum { FILE_MAX = 1 << 20, NAME_ROOM = SESSION_NAME_MAX + 8 };

bool session_is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-";
    size_t len = strlen(name);
    return len && len <= SESSION_NAME_MAX && strspn(name, allowed) == len && name[0] != '.' &&
           name[0] != '-' && !(len > 5 && strcmp(name + len - 5, ".lock") == 0);
}

/* The directory of a workspace's sessions; -ENOENT where it is not to be made and is not there. */
static int open_dir(const char *state, const char *workspace, bool make, struct err *e)
{
    char path[PATH_MAX], hex[SHA256_HEX + 1];
    unsigned char digest[SHA256_BYTES];
    struct sha256 hash;
    struct stat st;
    sha256_start(&hash);
    sha256_add(&hash, workspace, strlen(workspace));
    sha256_end(&hash, digest);
    sha256_hex(digest, hex);
    if ((size_t)snprintf(path, sizeof(path), "%s/sessions/%.16s", state, hex) >= sizeof(path))
        return err_set(e, -ENAMETOOLONG, "the state directory's name is too long");
    int r = make ? store_make_dirs(path) : 0;
    FD_CLEANUP int dir = r < 0 ? r : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0)
        return err_errno(e, r < 0 ? r : -errno, "cannot open '%s'", path);
    if (st.st_uid != geteuid() || (st.st_mode & 077))
        return err_set(e, -EPERM, "'%s' is open to others, or not yours", path);
    return fd_steal(&dir);
}

int session_open(const char *state, const char *workspace, const char *name, struct session *ret,
                 struct err *e)
{
    char lock_name[NAME_ROOM];
    if (!session_is_name(name))
        return err_set(e, -EINVAL,
                       "a session's name has up to %d letters, digits, dots, dashes and "
                       "underscores, not '%.80s'",
                       SESSION_NAME_MAX, name);
    if (!state)
        return err_set(e, -ENOTDIR, "there is no state directory for a session");
    FD_CLEANUP int dir = open_dir(state, workspace, true, e);
    if (dir < 0)
        return dir;
    snprintf(lock_name, sizeof(lock_name), "%s.lock", name);
    FD_CLEANUP int lock =
        openat(dir, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
    if (lock < 0)
        return err_errno(e, -errno, "cannot open session '%s'", name);
    if (flock(lock, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? err_set(e, -EBUSY, "session '%s' is in use by another run", name)
                   : err_errno(e, -errno, "cannot lock session '%s'", name);
    *ret = (struct session){.dir = fd_steal(&dir), .lock = fd_steal(&lock)};
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    return 0;
}

void session_close(struct session *s)
{
    fd_close(&s->lock);
    fd_close(&s->dir);
}

/* HEAD, the length of the directory, a newline, the directory, and the text to the end. */
static int parse(struct arena *arena, const char *bytes, size_t len, struct session_state *ret)
{
    const size_t head = sizeof(HEAD) - 1;
    unsigned cwd_len;
    int used = 0;
    if (len < head || memcmp(bytes, HEAD, head) != 0 ||
        sscanf(bytes + head, "%6u%n", &cwd_len, &used) != 1 || bytes[head + (size_t)used] != '\n')
        return -EBADMSG;
    size_t at = head + (size_t)used + 1;
    if (cwd_len > len - at)
        return -EBADMSG;
    *ret = (struct session_state){.len = len - at - cwd_len};
    ret->cwd = cwd_len ? arena_copy(arena, bytes + at, cwd_len) : NULL;
    ret->text = arena_copy(arena, bytes + at + cwd_len, ret->len);
    return arena->failed ? -ENOMEM : 0;
}

static int load(int dir, const char *name, struct arena *arena, struct session_state *ret,
                struct stat *ret_stat)
{
    FD_CLEANUP int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    struct buf bytes;
    char piece[1 << 14];
    ssize_t n;
    if (fd < 0 || fstat(fd, ret_stat) < 0)
        return -errno;
    buf_init(&bytes, arena->allocator, FILE_MAX);
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        buf_append(&bytes, piece, (size_t)n);
    int r = n < 0 ? -errno : bytes.failed ? bytes.failed : parse(arena, bytes.data, bytes.len, ret);
    buf_release(&bytes);
    return r;
}

static int cannot_read(const char *name, int code, struct err *e)
{
    return err_errno(e, code, "session '%s' cannot be read (`nacre session rm %s` ends it)", name,
                     name);
}

int session_load(const struct session *s, struct arena *arena, struct session_state *ret,
                 struct err *e)
{
    struct stat st;
    int r = load(s->dir, s->name, arena, ret, &st);
    if (r == -ENOENT) {
        *ret = (struct session_state){.text = ""};
        return 0;
    }
    return r < 0 ? cannot_read(s->name, r, e) : 0;
}

int session_peek(struct arena *arena, const char *state, const char *workspace, const char *name,
                 struct session_state *ret, struct err *e)
{
    struct stat st;
    *ret = (struct session_state){.text = ""};
    if (!session_is_name(name))
        return err_set(e, -EINVAL, "'%.80s' is not a session's name", name);
    FD_CLEANUP int dir = open_dir(state, workspace, false, e);
    int r = dir < 0 ? dir : load(dir, name, arena, ret, &st);
    if (r == -ENOENT)
        return err_set(e, r, "there is no session '%s' here", name);
    return dir < 0 || r == 0 ? r : cannot_read(name, r, e);
}

int session_save(const struct session *s, const struct session_state *state, struct err *e)
{
    char temporary[NAME_ROOM];
    struct buf bytes;
    size_t cwd_len = state->cwd ? strlen(state->cwd) : 0;
    buf_init(&bytes, &allocator_libc, FILE_MAX);
    buf_append_format(&bytes, HEAD "%zu\n", cwd_len);
    buf_append(&bytes, state->cwd, cwd_len);
    buf_append(&bytes, state->text, state->len);
    snprintf(temporary, sizeof(temporary), ".%s.new", s->name);
    FD_CLEANUP int fd =
        openat(s->dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = bytes.failed ? bytes.failed : fd < 0 ? -errno : 0;
    if (r == 0)
        r = fd_write_all(fd, bytes.data, bytes.len);
    if (r == 0 && renameat(s->dir, temporary, s->dir, s->name) < 0)
        r = -errno;
    if (r < 0)
        unlinkat(s->dir, temporary, 0);
    buf_release(&bytes);
    return r < 0 ? err_errno(e, r, "cannot keep session '%s'", s->name) : 0;
}

int session_list(struct arena *arena, const char *state, const char *workspace,
                 struct session_listed **ret, size_t *ret_count, struct err *e)
{
    struct listing listing;
    *ret = NULL;
    *ret_count = 0;
    FD_CLEANUP int dir = open_dir(state, workspace, false, e);
    if (dir == -ENOENT)
        return 0;
    int r = dir < 0 ? dir : listing_read(arena, dir, ".", &listing);
    if (r < 0)
        return dir < 0 ? r : err_errno(e, r, "cannot list the sessions");
    struct session_listed *items = arena_alloc_array(arena, listing.count + 1, sizeof(*items));
    if (!items)
        return err_set(e, -ENOMEM, "out of memory");
    for (size_t i = 0; i < listing.count; i++) {
        struct session_state s = {0};
        struct stat st = listing.items[i].st;
        if (!session_is_name(listing.items[i].name))
            continue;
        load(dir, listing.items[i].name, arena, &s, &st);
        items[(*ret_count)++] = (struct session_listed){
            .name = listing.items[i].name,
            .cwd = s.cwd,
            .bytes = s.len,
            .time_ms = st.st_mtim.tv_sec * INT64_C(1000) + st.st_mtim.tv_nsec / 1000000};
    }
    *ret = items;
    return 0;
}

int session_remove(const char *state, const char *workspace, const char *name, struct err *e)
{
    struct session s = SESSION_NONE;
    FD_CLEANUP int dir = open_dir(state, workspace, false, e);
    if (dir == -ENOENT ||
        (dir >= 0 && session_is_name(name) && faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0))
        return err_set(e, -ENOENT, "there is no session '%.80s' here", name);
    int r = dir < 0 ? dir : session_open(state, workspace, name, &s, e);
    if (r < 0)
        return r;
    if (unlinkat(s.dir, name, 0) < 0)
        r = err_errno(e, -errno, "cannot remove session '%s'", name);
    session_close(&s);
    return r;
}
