/*
 * Path sockets of the host below the places that the box shows; see surroundings.h.
 *
 * The kernel is asked by netlink for what could be connected or sent to, which leaves out the many
 * ends of connections; or, where that is closed, by /proc/net/unix. Names are as they were given to
 * bind(2). One is placed in the roots in the cheapest way that its form allows:
 *
 *   absolute, and there is a socket   that one, if it lies in a root
 *   absolute, and there is none       its directory was moved, or it was bound in a container that
 *                                     has a root mounted: each end of the name, in each root
 *   relative, or by way of /proc      the roots are searched for that file name
 *
 * As text, a name with a newline cannot be told from the next line, nor '@' from the NUL of an
 * abstract name: for the first any socket counts, the second is looked for at the top of each root.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "engine/surroundings.h"

enum {
    LIST_BYTES_MAX = 4 << 20,
    ANSWER_BYTES = 32 << 10, /* as much as the kernel puts into one */
    ENTRIES_MAX = 200000,
    DEPTH_MAX = 64,
    FOUND_MAX = 4096,
    TABLE_SIZE = 256, /* of names seen and of directories; a power of two */
    NAME_MAX_BYTES = sizeof(((struct sockaddr_un *)0)->sun_path),
};

/* A text of the list that was seen, so that the many lines of one socket cost one look. */
struct seen {
    const char *text;
    size_t len;
    const char *place; /* of a directory: canonical; NULL if there is none */
};

struct finder {
    struct arena *arena;
    const char *const *roots;
    size_t root_count;
    struct seen *names, *directories;
    const char **wanted; /* file names of relative names */
    size_t wanted_count, wanted_room;
    bool any; /* every socket in the roots is wanted */
    const char **found;
    size_t found_count, found_room;
    size_t entries;  /* that the search has passed */
    bool incomplete; /* the search ended at a bound */
};

/* A list that doubles in the arena, since most are empty. */
static void push(struct arena *arena, const char ***list, size_t *count, size_t *room,
                 const char *text)
{
    if (*count == *room) {
        size_t more = *room ? 2 * *room : 16;
        const char **bigger = arena_alloc_array(arena, more, sizeof(*bigger));
        if (!bigger)
            return;
        if (*count)
            memcpy(bigger, *list, *count * sizeof(*bigger));
        *list = bigger;
        *room = more;
    }
    (*list)[(*count)++] = text;
}

static bool is_below_root(const struct finder *f, const char *path)
{
    for (size_t i = 0; i < f->root_count; i++) {
        if (path_is_below(path, f->roots[i]))
            return true;
    }
    return false;
}

static void add_found(struct finder *f, const char *path)
{
    for (size_t i = 0; i < f->found_count; i++) {
        if (strcmp(f->found[i], path) == 0)
            return;
    }
    if (f->found_count == FOUND_MAX) {
        f->incomplete = true;
        return;
    }
    const char *copy = arena_copy(f->arena, path, strlen(path));
    if (copy)
        push(f->arena, &f->found, &f->found_count, &f->found_room, copy);
}

/* The place of a text in a table; NULL when the table is full, and then nothing is remembered. */
static struct seen *look_up(struct seen *table, const char *text, size_t len, bool *ret_there)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619U;
    *ret_there = false;
    for (uint32_t i = 0; i < 16; i++) {
        struct seen *seen = &table[(hash + i) % TABLE_SIZE];
        *ret_there = seen->text && seen->len == len && memcmp(seen->text, text, len) == 0;
        if (*ret_there || !seen->text)
            return seen;
    }
    return NULL;
}

static bool is_socket(int dir, const char *path)
{
    struct stat st;
    return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode);
}

/* --- names ------------------------------------------------------------------------------------ */

/* A file named `name` below a root, by whatever links: added by its canonical path. */
static void add_in_roots(struct finder *f, const char *name)
{
    for (size_t i = 0; i < f->root_count; i++) {
        char path[2 * PATH_MAX], real[PATH_MAX];
        int n = snprintf(path, sizeof(path), "%s/%s", f->roots[i], name);
        if (n > 0 && (size_t)n < sizeof(path) && is_socket(AT_FDCWD, path) &&
            realpath(path, real) && is_below_root(f, real))
            add_found(f, real);
    }
}

/* The canonical directory of an absolute name, of which `len` bytes are the directory. */
static const char *directory_of(struct finder *f, const char *name, size_t len)
{
    bool there;
    struct seen *seen = look_up(f->directories, name, len, &there);
    if (there)
        return seen->place;
    char path[NAME_MAX_BYTES + 1], real[PATH_MAX];
    memcpy(path, name, len);
    path[len] = '\0';
    const char *place = realpath(len ? path : "/", real);
    place = place ? arena_copy(f->arena, place, strlen(place)) : NULL;
    if (seen)
        *seen = (struct seen){name, len, place};
    return place;
}

static void place_absolute(struct finder *f, const char *name)
{
    const char *base = strrchr(name, '/') + 1;
    char path[2 * PATH_MAX];
    struct stat st;
    const char *directory = directory_of(f, name, (size_t)(base - 1 - name));
    /* Most sockets lie elsewhere: no look at them. */
    bool below = false;
    if (directory) {
        snprintf(path, sizeof(path), "%s/%s", directory[1] ? directory : "", base);
        below = is_below_root(f, path);
    }
    if (below && is_socket(AT_FDCWD, path)) {
        add_found(f, path);
        return;
    }
    if (directory && !below && (lstat(path, &st) == 0 ? S_ISSOCK(st.st_mode) : errno != ENOENT))
        return;
    for (const char *end = name; (end = strchr(end, '/')) && end[1]; end++)
        add_in_roots(f, end + 1);
}

/* A name, which has no NUL in it, from the list as text or not. */
static void place_name(struct finder *f, const char *bytes, size_t len, bool text)
{
    bool there;
    struct seen *seen = look_up(f->names, bytes, len, &there);
    const char *name = there ? NULL : arena_copy(f->arena, bytes, len);
    if (!name)
        return;
    if (seen)
        *seen = (struct seen){name, len, NULL};
    const char *base = strrchr(name, '/');
    if (len > NAME_MAX_BYTES)
        f->any = true;
    else if (text && name[0] == '@')
        add_in_roots(f, name);
    else if (name[0] == '/' && strncmp(name, "/proc/", 6) != 0)
        place_absolute(f, name);
    else
        push(f->arena, &f->wanted, &f->wanted_count, &f->wanted_room, base ? base + 1 : name);
}

/* --- the kernel's list by netlink ------------------------------------------------------------- */

/* As in the kernel's TCP_ESTABLISHED and so on: connected, unconnected, waiting for connections. */
enum { STATE_CONNECTED = 1, STATE_CLOSE = 7, STATE_LISTEN = 10 };

/* The name in the answer for one socket, if it is of a file. */
static void read_answer(struct finder *f, const char *bytes, size_t size)
{
    struct unix_diag_msg socket_info;
    if (size < sizeof(socket_info))
        return;
    memcpy(&socket_info, bytes, sizeof(socket_info));
    /* Nobody else connects to one that is connected; but a datagram socket is so called, too, when
     * it is the other side that is. */
    if (socket_info.udiag_state == STATE_CONNECTED && socket_info.udiag_type != SOCK_DGRAM)
        return;
    for (size_t at = NLMSG_ALIGN(sizeof(struct unix_diag_msg)); at + RTA_LENGTH(0) <= size;) {
        struct rtattr attribute;
        memcpy(&attribute, bytes + at, sizeof(attribute));
        if (attribute.rta_len < RTA_LENGTH(0) || attribute.rta_len > size - at)
            return;
        const char *name = bytes + at + RTA_LENGTH(0);
        size_t len = attribute.rta_len - RTA_LENGTH(0);
        if (attribute.rta_type == UNIX_DIAG_NAME && len && name[0])
            place_name(f, name, strnlen(name, len), false);
        at += RTA_ALIGN((size_t)attribute.rta_len);
    }
}

/* 1 at the end of the list, 0 if there is more of it, or a negative errno. */
static int read_answers(struct finder *f, const char *bytes, size_t size)
{
    for (size_t at = 0; at + NLMSG_HDRLEN <= size;) {
        struct nlmsghdr header;
        memcpy(&header, bytes + at, sizeof(header));
        if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > size - at)
            return -EBADMSG;
        if (header.nlmsg_type == NLMSG_DONE)
            return 1;
        if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
            return -EOPNOTSUPP;
        read_answer(f, bytes + at + NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
        at += NLMSG_ALIGN((size_t)header.nlmsg_len);
    }
    return 0;
}

/* A negative errno where the kernel does not answer: without the module, or in some containers. */
static int ask_kernel(struct finder *f)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } ask = {
        .header = {.nlmsg_len = sizeof(ask),
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = 1U << STATE_CONNECTED | 1U << STATE_CLOSE | 1U << STATE_LISTEN,
                    .udiag_show = UDIAG_SHOW_NAME},
    };
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    FD_CLEANUP int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0 || sendto(fd, &ask, sizeof(ask), 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
        return -errno;
    char *bytes = arena_alloc(f->arena, ANSWER_BYTES);
    for (size_t total = 0; bytes;) {
        ssize_t n = recv(fd, bytes, ANSWER_BYTES, MSG_TRUNC);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        total += (size_t)n;
        if (n > ANSWER_BYTES || total > LIST_BYTES_MAX)
            return -EMSGSIZE;
        int r = read_answers(f, bytes, (size_t)n);
        if (r)
            return r < 0 ? r : 0;
    }
    return -ENOMEM;
}

/* --- the kernel's list as text
 * ------------------------------------------------------------------------ */

static const char *skip_hex(const char *p, size_t least)
{
    size_t n = strspn(p, "0123456789abcdefABCDEF");
    return n >= least ? p + n : NULL;
}

/*
 * A line: "ADDRESS: REFCOUNT PROTOCOL FLAGS TYPE ST INODE" and perhaps a blank and a name. False
 * if it is none. *ret_name is NULL where there is no name.
 */
static bool read_line(const char *line, const char **ret_name)
{
    static const size_t widths[] = {8, 8, 8, 4, 2};
    const char *p = skip_hex(line, 8);
    if (!p || *p++ != ':')
        return false;
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        if (*p++ != ' ' || !(p = skip_hex(p, widths[i])))
            return false;
    }
    if (*p != ' ')
        return false;
    p += strspn(p, " ");
    size_t digits = strspn(p, "0123456789");
    if (digits == 0)
        return false;
    p += digits;
    *ret_name = *p == ' ' ? p + 1 : NULL;
    return *p == ' ' || *p == '\0';
}

static void read_list(struct finder *f, char *text, size_t len)
{
    char *end = text + len, *line = memchr(text, '\n', len);
    /* Behind the heading. */
    for (line = line ? line + 1 : end; line < end;) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop)
            stop = end;
        *stop = '\0';
        const char *name = NULL;
        if (strlen(line) != (size_t)(stop - line) || !read_line(line, &name))
            f->any = true; /* the rest of a name with a newline */
        else if (name && *name)
            place_name(f, name, (size_t)(stop - name), true);
        line = stop + 1;
    }
}

/* All of a file of /proc. -E2BIG past the bound. */
static int read_proc(const char *path, struct buf *out, struct err *e)
{
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, -errno, "%s", path);
    for (size_t chunk = 32 << 10;;) {
        int r = buf_reserve(out, chunk);
        if (r < 0)
            return r;
        ssize_t n = read(fd, out->data + out->len, chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, -errno, "%s", path);
        if (n == 0)
            return 0;
        out->len += (size_t)n;
        out->data[out->len] = '\0';
    }
}

/* --- searching the roots ---------------------------------------------------------------------- */

static bool is_wanted(const struct finder *f, const char *name)
{
    for (size_t i = 0; i < f->wanted_count; i++) {
        if (strcmp(f->wanted[i], name) == 0)
            return true;
    }
    return f->any;
}

/* Goes through the directory `fd`, which is closed in any case; `path` has room to grow. */
static void search(struct finder *f, int fd, char path[static PATH_MAX], dev_t device, int depth)
{
    DIR *dir = fdopendir(fd);
    if (!dir) {
        f->incomplete = true;
        fd_close(&fd);
        return;
    }
    size_t len = strlen(path);
    const struct dirent *entry;
    while (!f->arena->failed && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
            continue;
        if (f->entries++ >= ENTRIES_MAX) {
            f->incomplete = true;
            break;
        }
        unsigned char type = entry->d_type;
        struct stat st;
        if (type == DT_UNKNOWN && fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            type = (unsigned char)IFTODT(st.st_mode);
        if (type != DT_DIR && (type != DT_SOCK || !is_wanted(f, name)))
            continue;
        if (depth == DEPTH_MAX || len + strlen(name) + 2 > PATH_MAX) {
            f->incomplete = true;
            continue;
        }
        path[len] = '/';
        memcpy(path + len + 1, name, strlen(name) + 1);
        if (type == DT_SOCK) {
            add_found(f, path);
        } else {
            /* What we may not read, the inside may not either. */
            int below = openat(dirfd(dir), name,
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
            if (below >= 0 && fstat(below, &st) == 0 && st.st_dev == device)
                search(f, fd_steal(&below), path, device, depth + 1);
            fd_close(&below);
        }
        path[len] = '\0';
    }
    closedir(dir);
}

static void search_roots(struct finder *f)
{
    for (size_t i = 0; i < f->root_count; i++) {
        char path[PATH_MAX];
        struct stat st;
        size_t len = strlen(f->roots[i]);
        if (len >= sizeof(path))
            continue;
        memcpy(path, f->roots[i], len + 1);
        FD_CLEANUP int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0)
            search(f, fd_steal(&fd), path, st.st_dev, 0);
    }
}

static int find(struct arena *arena, const char *const *roots, size_t count, bool by_text,
                const char *const **ret, size_t *ret_count, struct err *e)
{
    struct finder f = {
        .arena = arena,
        .roots = roots,
        .root_count = count,
        .names = arena_alloc_array(arena, TABLE_SIZE, sizeof(struct seen)),
        .directories = arena_alloc_array(arena, TABLE_SIZE, sizeof(struct seen)),
    };
    int r = 0;
    if (!arena->failed && (by_text || ask_kernel(&f) < 0)) {
        struct buf text;
        buf_init(&text, arena->allocator, LIST_BYTES_MAX);
        r = read_proc("/proc/net/unix", &text, e);
        if (r == 0)
            read_list(&f, text.data, text.len);
        buf_release(&text);
    }
    /* A list that is too long says nothing of its end. */
    f.any = f.any || r == -E2BIG;
    if ((r == 0 || r == -E2BIG) && (f.any || f.wanted_count))
        search_roots(&f);
    if (r == -ENOMEM || arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    if (r < 0 && r != -E2BIG)
        return r;
    *ret = f.found;
    *ret_count = f.found_count;
    return f.incomplete ? 1 : 0;
}

int host_sockets_find(struct arena *arena, const char *const *roots, size_t count,
                      const char *const **ret, size_t *ret_count, struct err *e)
{
    return find(arena, roots, count, false, ret, ret_count, e);
}

int host_sockets_find_by_text(struct arena *arena, const char *const *roots, size_t count,
                              const char *const **ret, size_t *ret_count, struct err *e)
{
    return find(arena, roots, count, true, ret, ret_count, e);
}
