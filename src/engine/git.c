/*
 * git outside of the workspace: the caller's identity, and the repository of a linked worktree; see
 * surroundings.h.
 *
 * G1. Files are read by git_config.h alone: nothing but small regular files.
 * G2. The file .git of a workspace may be the inside's work. Nothing but what the repository that
 *     it names says of itself, and who owns that, decides whether it is shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "engine/git_config.h"
#include "engine/surroundings.h"

enum {
    INCLUDE_DEPTH_MAX = 5,
    FILES_MAX = 32, /* a file that includes itself twice must not be read 2^5 times for each line */
};

/* --- who commits ------------------------------------------------------------------------------ */

static bool is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

struct reader {
    struct arena *arena;
    const char *home;
    struct git_identity identity;
    int files; /* read so far */
};

static void read_identity(struct reader *r, const char *path, int depth);

static void take_identity(struct reader *r, const char *path, const char *text, size_t len,
                          int depth)
{
    struct git_config c;
    const char *directory = arena_copy(r->arena, path, (size_t)(strrchr(path, '/') - path));
    if (!directory)
        return;
    git_config_init(&c, r->arena, text, len);
    while (git_config_next(&c)) {
        const char **field = git_config_is(&c, "user", "name")    ? &r->identity.name
                             : git_config_is(&c, "user", "email") ? &r->identity.email
                                                                  : NULL;
        if (field && is_plain(c.value.data, c.value.len))
            *field = c.value.len ? arena_copy(r->arena, c.value.data, c.value.len) : NULL;
        if (git_config_is(&c, "include", "path") && depth < INCLUDE_DEPTH_MAX) {
            const char *target = git_config_path(r->arena, &c, directory, r->home);
            if (target)
                read_identity(r, target, depth + 1);
        }
    }
    if (c.value.failed == -ENOMEM)
        r->arena->failed = true;
    git_config_release(&c);
}

static void read_identity(struct reader *r, const char *path, int depth)
{
    size_t len;
    if (r->files++ >= FILES_MAX)
        return;
    /* Many files of the greatest size must not fill the arena of the request. */
    struct arena own;
    arena_init(&own, r->arena->allocator, (size_t)2 * GIT_CONFIG_BYTES_MAX);
    const char *text = git_read_file(&own, AT_FDCWD, path, 0, GIT_CONFIG_BYTES_MAX, &len, NULL);
    if (text)
        take_identity(r, path, text, len, depth);
    if (own.failed)
        r->arena->failed = true;
    arena_release(&own);
}

int git_identity_read(struct arena *arena, const char *home, const char *const *environment,
                      struct git_identity *ret)
{
    struct reader r = {.arena = arena, .home = home && home[0] == '/' ? home : NULL};
    const char *config = surroundings_variable(environment, "XDG_CONFIG_HOME");
    const char *path = NULL;
    if (config && config[0] == '/')
        path = arena_format(arena, "%s/git/config", config);
    else if (r.home && (!config || !config[0]))
        path = arena_format(arena, "%s/.config/git/config", r.home);
    if (path)
        read_identity(&r, path, 0);
    path = r.home ? arena_format(arena, "%s/.gitconfig", r.home) : NULL;
    if (path)
        read_identity(&r, path, 0);
    if (arena->failed)
        return -ENOMEM;
    *ret = r.identity;
    return 0;
}

static void write_value(struct buf *out, const char *key, const char *value)
{
    if (!value)
        return;
    buf_append_format(out, "\t%s = \"", key);
    for (; *value; value++) {
        if (*value == '\t') {
            buf_append_text(out, "\\t");
            continue;
        }
        if (*value == '"' || *value == '\\')
            buf_append_byte(out, '\\');
        buf_append_byte(out, *value);
    }
    buf_append_text(out, "\"\n");
}

int git_identity_write(struct arena *arena, const struct git_identity *identity,
                       const char **ret_text)
{
    const char *name = identity->name, *email = identity->email;
    /* A newline here could end the value and begin another: what read the identity drops such. */
    if (name && !is_plain(name, strlen(name)))
        name = NULL;
    if (email && !is_plain(email, strlen(email)))
        email = NULL;
    if (!name && !email) {
        *ret_text = NULL;
        return 0;
    }
    struct buf out;
    buf_init(&out, arena->allocator, (size_t)4 * GIT_CONFIG_BYTES_MAX + GIT_CONFIG_KEY_MAX);
    buf_append_text(&out, "[user]\n");
    write_value(&out, "name", name);
    write_value(&out, "email", email);
    const char *text = out.failed ? NULL : arena_copy(arena, out.data, out.len);
    buf_release(&out);
    if (!text)
        return -ENOMEM;
    *ret_text = text;
    return 0;
}

/* --- a linked worktree ------------------------------------------------------------------------ */

struct trust {
    struct arena *arena;
    const char *workspace, *home;
    const char *const *writable;
    uid_t owner; /* of the workspace, so of all of the repository */
};

static bool is_owned(const struct trust *t, const struct stat *st)
{
    return st->st_uid == t->owner && !(st->st_mode & S_IWOTH);
}

static bool is_owned_entry(const struct trust *t, int dir, const char *name, mode_t type)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && (st.st_mode & S_IFMT) == type &&
           is_owned(t, &st);
}

/* The one line of a file of the repository: a path. NULL if it is not that, or not the owner's. */
static const char *read_line(const struct trust *t, int dir, const char *name)
{
    size_t len;
    struct stat st;
    char *text = git_read_file(t->arena, dir, name, O_NOFOLLOW, GIT_POINTER_BYTES_MAX, &len, &st);
    if (!text || !is_owned(t, &st))
        return NULL;
    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        text[--len] = '\0';
    return len && strlen(text) == len && !strchr(text, '\n') ? text : NULL;
}

/*
 * `path`, from `base` where it is relative, in canonical form. Not by a link that lies in what is
 * writable: it could make the name of another worktree lead to this one.
 */
static bool resolve(const struct trust *t, const char *base, const char *path,
                    char ret[static PATH_MAX])
{
    char joined[2 * PATH_MAX];
    struct stat st;
    int n = path[0] == '/' ? snprintf(joined, sizeof(joined), "%s", path)
                           : snprintf(joined, sizeof(joined), "%s/%s", base, path);
    return n > 0 && (size_t)n < sizeof(joined) &&
           surroundings_resolve(joined, 0, t->writable, ret, &st) == 0;
}

/* A directory with objects and refs that is no part of the workspace, nor holds it or home. */
static bool is_repository(const struct trust *t, const char *path, struct stat *ret_st)
{
    if (path_is_below(path, t->workspace) || path_is_below(t->workspace, path) ||
        (t->home && path_is_below(t->home, path)) || strcmp(path, "/") == 0)
        return false;
    FD_CLEANUP int dir = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir >= 0 && fstat(dir, ret_st) == 0 && is_owned(t, ret_st) &&
           is_owned_entry(t, dir, "HEAD", S_IFREG) && is_owned_entry(t, dir, "objects", S_IFDIR) &&
           is_owned_entry(t, dir, "refs", S_IFDIR);
}

/* `admin` is COMMON/worktrees/NAME, and names this workspace and COMMON. */
static bool believe_worktree(const struct trust *t, const char *admin, int dir, const char *common)
{
    static const char DOT_GIT[] = "/.git";
    char path[PATH_MAX];
    const char *back = read_line(t, dir, "gitdir");
    size_t len = back ? strlen(back) : 0, tail = sizeof(DOT_GIT) - 1;
    if (len <= tail || len >= PATH_MAX || strcmp(back + len - tail, DOT_GIT) != 0)
        return false;
    memcpy(path, back, len - tail);
    path[len - tail] = '\0';
    char real[PATH_MAX];
    if (!resolve(t, admin, path, real) || strcmp(real, t->workspace) != 0)
        return false;
    const char *lead = read_line(t, dir, "commondir");
    if (!lead || !resolve(t, admin, lead, real) || strcmp(real, common) != 0)
        return false;
    FD_CLEANUP int top = open(common, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return top >= 0 && is_owned_entry(t, top, "worktrees", S_IFDIR);
}

/* `admin` is a repository of its own, whose configuration leads back to this workspace. */
static bool believe_submodule(const struct trust *t, const char *admin, int dir)
{
    size_t len;
    struct stat st;
    struct arena own;
    arena_init(&own, t->arena->allocator, (size_t)2 * GIT_CONFIG_BYTES_MAX);
    const char *text =
        git_read_file(&own, dir, "config", O_NOFOLLOW, GIT_CONFIG_BYTES_MAX, &len, &st);
    bool leads_back = false;
    if (text && is_owned(t, &st)) {
        struct git_config c;
        git_config_init(&c, t->arena, text, len);
        while (git_config_next(&c)) {
            char real[PATH_MAX];
            if (git_config_is(&c, "core", "worktree"))
                leads_back = strlen(c.value.data) == c.value.len &&
                             resolve(t, admin, c.value.data, real) &&
                             strcmp(real, t->workspace) == 0;
        }
        git_config_release(&c);
    }
    arena_release(&own);
    return leads_back;
}

/* What the file .git says, canonical; false if there is no such file. */
static bool read_pointer(const struct trust *t, int dir, char admin[static PATH_MAX])
{
    static const char WORD[] = "gitdir: ";
    const char *line = read_line(t, dir, ".git");
    return line && strncmp(line, WORD, sizeof(WORD) - 1) == 0 && line[sizeof(WORD) - 1] &&
           resolve(t, t->workspace, line + sizeof(WORD) - 1, admin);
}

/* True with the canonical directories if the workspace's .git file is believed. */
static bool find_worktree(struct trust *t, char admin[static PATH_MAX],
                          char common[static PATH_MAX], struct stat *ret_st)
{
    struct stat st;
    FD_CLEANUP int top = open(t->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0 || fstat(top, &st) < 0)
        return false;
    t->owner = st.st_uid;
    if (!read_pointer(t, top, admin) || path_is_below(admin, t->workspace))
        return false;
    FD_CLEANUP int dir = open(admin, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0 || !is_owned(t, &st))
        return false;

    memcpy(common, admin, strlen(admin) + 1);
    char *name = strrchr(common, '/');
    *name = '\0';
    char *parent = strrchr(common, '/');
    if (parent && parent != common && strcmp(parent, "/worktrees") == 0) {
        *parent = '\0';
        return is_repository(t, common, ret_st) && believe_worktree(t, admin, dir, common);
    }
    *name = '/';
    return strstr(admin, "/modules/") && is_repository(t, common, ret_st) &&
           believe_submodule(t, admin, dir);
}

int git_worktree_find(struct arena *arena, const char *workspace, const char *home,
                      const char *const *writable, struct git_worktree *ret)
{
    struct trust t = {.arena = arena, .workspace = workspace, .home = home, .writable = writable};
    struct git_worktree found = {0};
    char admin[PATH_MAX], common[PATH_MAX];
    struct stat st;
    if (find_worktree(&t, admin, common, &st)) {
        found.common = arena_copy(arena, common, strlen(common));
        found.admin = arena_copy(arena, admin, strlen(admin));
        found.common_device = st.st_dev;
        found.common_inode = st.st_ino;
    }
    if (arena->failed)
        return -ENOMEM;
    *ret = found;
    return 0;
}
