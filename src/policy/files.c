/*
 * The files of the layers. A file is checked and read through the same descriptor.
 *
 * F1. What exists and cannot be read is an error, never an absent file.
 * F2. The system's and the user's files, and their directories, are refused where others than root
 *     and the caller may write to them.
 * F3. In a project no symbolic link is followed: it could lead to a file that its writer may not
 * see.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "policy/load.h"

enum { FILES_MAX = 1024, AGENT_NAME_MAX = 64 };

#define SUFFIX ".yaml"

/* A directory of a layer; `fd` is -1 when there is none. */
struct folder {
    int fd;
    const char *path; /* for messages */
    bool project;     /* its links are not followed, and its owner does not matter */
};

bool policy_is_profile(const char *name)
{
    return strcmp(name, "safe") == 0 || strcmp(name, "dev") == 0 || strcmp(name, "full-auto") == 0;
}

bool policy_is_agent_name(const char *name)
{
    static const char ALLOWED[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    size_t len = strlen(name);
    return len && len <= AGENT_NAME_MAX && strspn(name, ALLOWED) == len && name[0] != '.' &&
           name[0] != '-' && !policy_is_profile(name);
}

/* --- opening ---------------------------------------------------------------------------------- */

static int check_owner(const struct stat *st, const char *path, struct err *e)
{
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return err_set(e, -EPERM, "%s: belongs to another user, who could change it", path);
    /* A group with the owner's own number is the owner alone. */
    bool group = st->st_mode & S_IWGRP && st->st_gid != 0 && st->st_gid != st->st_uid;
    if (group || st->st_mode & S_IWOTH)
        return err_set(e, -EPERM, "%s: others can write to it (chmod go-w takes that away)", path);
    return 0;
}

/* A directory in `parent`, never through a link. 0 with *ret -1 when there is none. */
static int open_own_folder(int parent, const char *name, const char *path, int *ret, struct err *e)
{
    struct stat st;
    *ret = -1;
    FD_CLEANUP int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_errno(e, -errno, "%s", path);
    if (S_ISLNK(st.st_mode))
        return err_set(e, -ELOOP, "%s: is a symbolic link, which is not followed in a project",
                       path);
    if (S_ISDIR(st.st_mode))
        *ret = fd_steal(&fd);
    return 0;
}

static int open_project(struct arena *arena, const char *workspace, const char *sub,
                        struct folder *ret, struct err *e)
{
    const char *path = arena_format(arena, "%s/.nacre", workspace);
    if (!path)
        return err_set(e, -ENOMEM, "policy: out of memory");
    FD_CLEANUP int top = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return err_errno(e, -errno, "%s", workspace);
    FD_CLEANUP int own = -1;
    int r = open_own_folder(top, ".nacre", path, &own, e);
    if (r < 0)
        return r;
    if (sub && own >= 0) {
        int below = -1;
        path = arena_format(arena, "%s/%s", path, sub);
        if (!path)
            return err_set(e, -ENOMEM, "policy: out of memory");
        if ((r = open_own_folder(own, sub, path, &below, e)) < 0)
            return r;
        fd_close(&own);
        own = below;
    }
    *ret = (struct folder){.fd = fd_steal(&own), .path = path, .project = true};
    return 0;
}

static int open_trusted(struct arena *arena, const char *directory, const char *sub,
                        struct folder *ret, struct err *e)
{
    const char *path = directory;
    FD_CLEANUP int fd = -1;
    for (int level = 0; level < (sub ? 2 : 1); level++) {
        if (level == 1)
            path = arena_format(arena, "%s/%s", directory, sub);
        if (!path)
            return err_set(e, -ENOMEM, "policy: out of memory");
        fd_close(&fd);
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
            return err_errno(e, -errno, "%s", path);
        struct stat st;
        if (fd < 0)
            break;
        if (fstat(fd, &st) < 0)
            return err_errno(e, -errno, "%s", path);
        int r = check_owner(&st, path, e);
        if (r < 0)
            return r;
    }
    *ret = (struct folder){.fd = fd_steal(&fd), .path = path};
    return 0;
}

static int open_folder(struct arena *arena, const struct policy_request *request,
                       enum policy_layer layer, const char *sub, struct folder *ret, struct err *e)
{
    const char *directory = layer == LAYER_SYSTEM ? request->system_dir : request->user_dir;
    *ret = (struct folder){.fd = -1};
    if (layer == LAYER_PROJECT)
        return request->workspace ? open_project(arena, request->workspace, sub, ret, e) : 0;
    return directory ? open_trusted(arena, directory, sub, ret, e) : 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int read_bytes(int fd, const char *path, struct buf *out, struct err *e)
{
    for (;;) {
        char chunk[8192];
        ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, -errno, "%s", path);
        if (n == 0)
            return 0;
        int r = buf_append(out, chunk, (size_t)n);
        if (r == -E2BIG)
            return err_set(e, -EINVAL, "%s:1:1: longer than %d bytes", path, YAML_BYTES_MAX);
        if (r < 0)
            return err_set(e, r, "%s: out of memory", path);
    }
}

static void hash_bytes(const struct buf *bytes, char ret_hash[65])
{
    struct sha256 state;
    unsigned char digest[SHA256_BYTES];
    sha256_start(&state);
    sha256_add(&state, bytes->data, bytes->len);
    sha256_end(&state, digest);
    sha256_hex(digest, ret_hash);
}

/* The tree of an open file, which is `named` by the caller or lies in a layer's directory. */
static int read_tree(struct arena *arena, int fd, const char *path, bool owned,
                     const struct yaml_node **ret, char *ret_hash, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_errno(e, -errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, -EINVAL, "%s: not a regular file", path);
    int r = owned ? check_owner(&st, path, e) : 0;
    if (r < 0)
        return r;
    if (st.st_size > YAML_BYTES_MAX)
        return err_set(e, -EINVAL, "%s:1:1: longer than %d bytes", path, YAML_BYTES_MAX);
    struct buf bytes;
    buf_init(&bytes, arena->allocator, YAML_BYTES_MAX);
    r = read_bytes(fd, path, &bytes, e);
    if (r == 0)
        r = yaml_parse(arena, path, bytes.data, bytes.len, ret, e);
    if (r == 0 && ret_hash)
        hash_bytes(&bytes, ret_hash);
    buf_release(&bytes);
    return r;
}

static int read_in_folder(struct arena *arena, const struct folder *folder, const char *name,
                          struct policy_file *ret, char *ret_hash, struct err *e)
{
    const char *path = arena_format(arena, "%s/%s", folder->path, name);
    if (!path)
        return err_set(e, -ENOMEM, "policy: out of memory");
    /* O_NONBLOCK: a FIFO in the place of a file must not hang us. */
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (folder->project ? O_NOFOLLOW : 0);
    FD_CLEANUP int fd = openat(folder->fd, name, flags);
    if (fd < 0 && errno == ENOENT) {
        struct stat st;
        if (fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return 0;
        return err_errno(e, -ENOENT, "%s: is a symbolic link that leads nowhere", path);
    }
    if (fd < 0 && errno == ELOOP && folder->project)
        return err_set(e, -ELOOP, "%s: is a symbolic link, which is not followed in a project",
                       path);
    if (fd < 0)
        return err_errno(e, -errno, "%s", path);
    ret->name = path;
    return read_tree(arena, fd, path, !folder->project, &ret->tree, ret_hash, e);
}

static int read_named(struct arena *arena, const char *path, struct policy_file *ret, struct err *e)
{
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_errno(e, -errno, "%s", path);
    /* Whose it is, its name on the command line has settled; who else may write has not. */
    if (S_ISREG(st.st_mode) && st.st_mode & S_IWOTH)
        return err_set(e, -EPERM, "%s: others can write to it (chmod go-w takes that away)", path);
    ret->name = path;
    return read_tree(arena, fd, path, false, &ret->tree, NULL, e);
}

int policy_read_config(struct arena *arena, const struct policy_request *request,
                       enum policy_layer layer, struct policy_file *ret, struct err *e)
{
    *ret = (struct policy_file){.layer = layer};
    if (layer == LAYER_USER && request->config)
        return read_named(arena, request->config, ret, e);
    struct folder folder;
    int r = open_folder(arena, request, layer, NULL, &folder, e);
    if (r < 0 || folder.fd < 0)
        return r;
    r = read_in_folder(arena, &folder, "config" SUFFIX, ret, NULL, e);
    fd_close(&folder.fd);
    return r;
}

int policy_read_listed(struct arena *arena, const struct policy_request *request,
                       enum policy_layer layer, const char *sub, const char *name,
                       struct policy_file *ret, char ret_hash[65], struct err *e)
{
    *ret = (struct policy_file){.layer = layer};
    const char *file = arena_format(arena, "%s" SUFFIX, name);
    if (!file)
        return err_set(e, -ENOMEM, "policy: out of memory");
    struct folder folder;
    int r = open_folder(arena, request, layer, sub, &folder, e);
    if (r < 0 || folder.fd < 0)
        return r;
    r = read_in_folder(arena, &folder, file, ret, ret_hash, e);
    fd_close(&folder.fd);
    return r;
}

int policy_read_agent(struct arena *arena, const struct policy_request *request,
                      enum policy_layer layer, const char *name, struct policy_file *ret,
                      struct err *e)
{
    int r = 0;
    if (layer == LAYER_BUILTIN) {
        *ret = (struct policy_file){.layer = layer};
        for (const struct policy_builtin *b = policy_builtins; b->name; b++) {
            if (b->agent && strcmp(b->name, name) == 0)
                *ret = (struct policy_file){
                    .layer = layer, .name = b->name, .tree = b->tree, .preset = b->preset};
        }
    } else {
        r = policy_read_listed(arena, request, layer, "agents", name, ret, NULL, e);
    }
    ret->agent = true;
    ret->agent_name = name;
    return r;
}

/* --- listing ---------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int policy_list_files(struct arena *arena, const struct policy_request *request,
                      enum policy_layer layer, const char *sub, const char *const **ret,
                      size_t *ret_count, struct err *e)
{
    struct folder folder;
    *ret = NULL;
    *ret_count = 0;
    int r = open_folder(arena, request, layer, sub, &folder, e);
    if (r < 0 || folder.fd < 0)
        return r;
    /* The descriptor is a path; reading needs one of its own. */
    int fd = openat(folder.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r = fd < 0 ? -errno : 0;
    fd_close(&folder.fd);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        r = r ? r : -errno;
        fd_close(&fd);
        return err_errno(e, r, "%s", folder.path);
    }
    const char **names = arena_alloc_array(arena, FILES_MAX, sizeof(*names));
    size_t count = 0;
    const struct dirent *entry;
    while (names && r == 0 && (entry = readdir(directory))) {
        size_t len = strlen(entry->d_name), suffix = strlen(SUFFIX);
        if (entry->d_name[0] == '.' || len <= suffix ||
            strcmp(entry->d_name + len - suffix, SUFFIX) != 0)
            continue;
        if (count == FILES_MAX)
            r = err_set(e, -E2BIG, "%s: more than %d files", folder.path, FILES_MAX);
        else if (!(names[count++] = arena_copy(arena, entry->d_name, len - suffix)))
            names = NULL;
    }
    closedir(directory);
    if (!names)
        return err_set(e, -ENOMEM, "policy: out of memory");
    if (r < 0)
        return r;
    qsort(names, count, sizeof(*names), compare_names);
    *ret = names;
    *ret_count = count;
    return 0;
}
