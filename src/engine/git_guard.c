/*
 * What of a repository runs programs when somebody outside uses it later: settings and hooks, its
 * own and those of its submodules and worktrees, the files that say where a repository is, and what
 * the settings name in turn. Those that are there are protected; one that git follows and that was
 * not there is taken away after the run.
 *
 * Q1. Everything is found from what is protected itself; .gitmodules is asked besides, which a
 *     command may write. So what one run changes does not take another's protection away.
 * Q2. Links are followed, since what they lead to is only ever protected, and only where it is
 *     writable: whoever makes one has less.
 * Q3. What is looked at waits in one list with an end. Past that, or where a path cannot be
 *     protected, there is no run.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "engine/box.h"
#include "engine/git_config.h"
#include "sandbox/kernel_calls.h"

enum { ITEMS_MAX = 4096, ENTRIES_MAX = 1 << 16, HOOKS_MAX = 16 };

/* In every directory of a repository, a submodule's or a worktree's. */
static const char *const parts[] = {"config", "config.worktree", "hooks", "commondir", "gitdir"};

/* A file that makes git take settings and hooks from elsewhere. */
#define ELSEWHERE "commondir"

/* In a repository, no part of a submodule's name; that one is found by the settings if it is. */
static const char *const internals[] = {"objects", "refs", "logs",    "hooks",
                                        "info",    "lfs",  "branches"};

enum kind {
    TOP,      /* a directory in which there may be a .git */
    STORE,    /* a repository, or what a worktree has of its own */
    GROUP,    /* of submodules, whose names may have slashes */
    SETTINGS, /* a file that other settings include */
};

struct item {
    enum kind kind;
    const char *path; /* canonical */
    size_t len;
};

struct search {
    struct arena *arena;
    const char *const *writable;
    const char *home;
    struct item *items;
    size_t item_count;
    size_t entries;               /* of directories, read so far */
    const char *hooks[HOOKS_MAX]; /* places of hooks that are relative to a worktree */
    size_t hook_count;
    struct git_guard *guard;
    int failure;
    struct err *e;
};

/* --- the list --------------------------------------------------------------------------------- */

static void fail_many(struct search *s)
{
    if (!s->failure)
        s->failure = err_set(s->e, -E2BIG,
                             "git: there are more settings, hooks and submodules than can be "
                             "protected; remove submodules and worktrees that are not used any "
                             "more, or take a smaller workspace");
}

/* A list with room for one more, which ends at powers of two; NULL when out of memory. */
static void *with_room(struct arena *arena, void *list, size_t count, size_t size)
{
    enum { LEAST = 32 };
    if (list && (count < LEAST || count & (count - 1)))
        return list;
    void *larger = arena_alloc_array(arena, count < LEAST ? LEAST : 2 * count, size);
    return larger && count ? memcpy(larger, list, count * size) : larger;
}

static void add_path(struct search *s, const char *path, size_t max, const char ***list,
                     size_t *count)
{
    const char **room = *count < max ? with_room(s->arena, *list, *count, sizeof(*room)) : NULL;
    if (*count == max)
        fail_many(s);
    if (!room)
        return;
    *list = room;
    room[(*count)++] = path;
}

static void push(struct search *s, enum kind kind, const char *path)
{
    size_t len = path ? strlen(path) : 0;
    for (size_t i = 0; i < s->item_count; i++) {
        const struct item *item = &s->items[i];
        if (item->len == len && item->kind == kind && memcmp(item->path, path, len) == 0)
            return;
    }
    if (len == 0)
        return;
    if (s->item_count == ITEMS_MAX) {
        fail_many(s);
        return;
    }
    struct item *items = with_room(s->arena, s->items, s->item_count, sizeof(*items));
    if (!items)
        return;
    s->items = items;
    items[s->item_count++] = (struct item){kind, path, len};
}

/* The canonical form of what is there and writable, and which type it has; else NULL. */
static const char *find(const struct search *s, const char *path, mode_t *ret_type)
{
    char real[PATH_MAX];
    struct stat st;
    if (!path || surroundings_resolve(path, 0, NULL, real, &st) < 0 ||
        !surroundings_is_below(real, s->writable))
        return NULL;
    *ret_type = st.st_mode & S_IFMT;
    return strcmp(real, path) == 0 ? path : arena_copy(s->arena, real, strlen(real));
}

static void push_dir(struct search *s, enum kind kind, const char *path)
{
    mode_t type;
    const char *real = find(s, path, &type);
    if (real && type == S_IFDIR)
        push(s, kind, real);
}

static void protect(struct search *s, const char *path)
{
    mode_t type;
    const char *real = find(s, path, &type);
    if (!real || s->failure)
        return;
    for (const char *const *root = s->writable; *root; root++) {
        /* One file that somebody lists by its name is to be written. */
        if (type == S_IFREG && strcmp(*root, real) == 0)
            return;
        if (path_is_below(*root, real)) {
            s->failure =
                err_set(s->e, -EPERM,
                        "git: settings or hooks are taken from '%s', which is to be writable as a "
                        "whole; have core.hooksPath or the include lead to a directory of its own, "
                        "or take it from paths.write",
                        real);
            return;
        }
    }
    add_path(s, real, GIT_GUARD_MAX, &s->guard->paths, &s->guard->count);
}

static const char *join(const struct search *s, const char *dir, const char *name)
{
    return name[0] == '/' ? name : arena_path(s->arena, dir, name);
}

static bool is_there(const struct search *s, const char *dir, const char *name)
{
    struct stat st;
    const char *path = join(s, dir, name);
    return path && lstat(path, &st) == 0;
}

/* The path that a file consists of, behind a word; from `base` where it is relative. Or NULL. */
static const char *read_pointer(const struct search *s, const char *file, const char *word,
                                const char *base)
{
    size_t len, skip = strlen(word);
    char *text = file ? git_read_canonical(s->arena, file, GIT_POINTER_BYTES_MAX, &len) : NULL;
    if (!text || strncmp(text, word, skip) != 0)
        return NULL;
    while (len > skip && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        text[--len] = '\0';
    return len > skip && strlen(text) == len ? join(s, base, text + skip) : NULL;
}

/* --- settings --------------------------------------------------------------------------------- */

/* One that is included is read wherever it is: it may name what is writable. */
static void push_included(struct search *s, const char *path)
{
    char real[PATH_MAX];
    struct stat st;
    if (!path)
        return;
    protect(s, path);
    if (surroundings_resolve(path, 0, NULL, real, &st) == 0 && S_ISREG(st.st_mode))
        push(s, SETTINGS, arena_copy(s->arena, real, strlen(real)));
}

static void add_hooks(struct search *s, const struct git_config *c)
{
    const char *value = c->value.data;
    if (value[0] == '/' || value[0] == '~') {
        protect(s, git_config_path(s->arena, c, "/", s->home));
        return;
    }
    if (!git_config_path(s->arena, c, "/", NULL))
        return;
    for (size_t i = 0; i < s->hook_count; i++) {
        if (strcmp(s->hooks[i], value) == 0)
            return;
    }
    if (s->hook_count == HOOKS_MAX)
        fail_many(s);
    else if ((value = arena_copy(s->arena, value, c->value.len)))
        s->hooks[s->hook_count++] = value;
}

/* A submodule that a repository knows by its name, which is mostly its path, too. */
static void add_submodule(struct search *s, const struct git_config *c, const char *store)
{
    static const char DOT_GIT[] = "/.git";
    const char *name = c->subsection.data;
    size_t len = strlen(store), tail = sizeof(DOT_GIT) - 1;
    if (c->subsection.len == 0 || strlen(name) != c->subsection.len)
        return;
    push_dir(s, STORE, arena_format(s->arena, "%s/modules/%s", store, name));
    if (len > tail && strcmp(store + len - tail, DOT_GIT) == 0)
        push_dir(s, TOP, arena_format(s->arena, "%.*s/%s", (int)(len - tail), store, name));
}

static void take_settings(struct search *s, struct git_config *c, const char *base,
                          const char *store)
{
    while (!s->failure && git_config_next(c)) {
        if (git_config_is(c, "include", "path") || git_config_is_of_some(c, "includeif", "path"))
            push_included(s, git_config_path(s->arena, c, base, s->home));
        else if (git_config_is(c, "core", "hookspath"))
            add_hooks(s, c);
        else if (store && git_config_is(c, "core", "worktree"))
            push_dir(s, TOP, git_config_path(s->arena, c, store, s->home));
        else if (store && c->has_subsection && strcmp(c->section, "submodule") == 0)
            add_submodule(s, c, store);
    }
}

/* `store` is the repository whose own settings these are, or NULL. */
static void read_settings(struct search *s, const char *file, const char *store)
{
    char real[PATH_MAX];
    struct stat st;
    size_t len;
    if (!file || surroundings_resolve(file, 0, NULL, real, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    if (st.st_size > GIT_CONFIG_BYTES_MAX) {
        s->failure = err_set(s->e, -E2BIG,
                             "git: '%s' is larger than 1 MB, so that what it names is not known; "
                             "make it smaller",
                             real);
        return;
    }
    /* Many files of the greatest size must not fill the arena of the request. */
    struct arena own;
    arena_init(&own, s->arena->allocator, (size_t)2 * GIT_CONFIG_BYTES_MAX);
    const char *text = git_read_canonical(&own, real, GIT_CONFIG_BYTES_MAX, &len);
    const char *base = arena_copy(s->arena, real, (size_t)(strrchr(real, '/') - real));
    if (text && base) {
        struct git_config c;
        git_config_init(&c, s->arena, text, len);
        take_settings(s, &c, base, store);
        if (c.value.failed == -ENOMEM || c.subsection.failed == -ENOMEM)
            s->arena->failed = true;
        git_config_release(&c);
    }
    if (own.failed)
        s->arena->failed = true;
    arena_release(&own);
}

/* --- directories ------------------------------------------------------------------------------ */

static bool is_internal(const char *name)
{
    for (size_t i = 0; i < sizeof(internals) / sizeof(internals[0]); i++) {
        if (strcmp(name, internals[i]) == 0)
            return true;
    }
    return false;
}

/* What may be a directory in `dir`, one after the other; NULL at the end. */
static const char *next_entry(struct search *s, DIR *stream, const char *dir, bool skip_internals)
{
    const struct dirent *entry;
    while (stream && !s->failure && !s->arena->failed && (entry = readdir(stream))) {
        const char *name = entry->d_name;
        if (++s->entries > ENTRIES_MAX)
            fail_many(s);
        if (entry->d_type != DT_DIR && entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
            continue;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
            !(skip_internals && is_internal(name)))
            return join(s, dir, name);
    }
    return NULL;
}

static DIR *open_dir(const char *path)
{
    int fd = path ? surroundings_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !stream)
        fd_close(&fd);
    return stream;
}

static void look_at_group(struct search *s, const char *dir)
{
    DIR *stream = open_dir(dir);
    bool is_repository = is_there(s, dir, "HEAD");
    const char *path;
    while ((path = next_entry(s, stream, dir, is_repository))) {
        push_dir(s, STORE, path);
        push_dir(s, GROUP, path);
    }
    if (stream)
        closedir(stream);
}

static void look_at_worktrees(struct search *s, const char *dir)
{
    static const char DOT_GIT[] = "/.git";
    DIR *stream = open_dir(dir);
    const char *path;
    while ((path = next_entry(s, stream, dir, false))) {
        push_dir(s, STORE, path);
        const char *file = read_pointer(s, join(s, path, "gitdir"), "", path);
        size_t len = file ? strlen(file) : 0, tail = sizeof(DOT_GIT) - 1;
        if (len > tail && strcmp(file + len - tail, DOT_GIT) == 0)
            push_dir(s, TOP, arena_copy(s->arena, file, len - tail));
    }
    if (stream)
        closedir(stream);
}

static void look_at_store(struct search *s, const char *dir)
{
    struct stat st;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        protect(s, join(s, dir, parts[i]));
    const char *elsewhere = join(s, dir, ELSEWHERE);
    if (elsewhere && lstat(elsewhere, &st) < 0 && errno == ENOENT)
        add_path(s, elsewhere, ITEMS_MAX, &s->guard->absent, &s->guard->absent_count);
    else
        push_dir(s, STORE, read_pointer(s, elsewhere, "", dir));
    read_settings(s, join(s, dir, "config"), dir);
    read_settings(s, join(s, dir, "config.worktree"), dir);
    push_dir(s, GROUP, join(s, dir, "modules"));
    look_at_worktrees(s, join(s, dir, "worktrees"));
}

/* .gitmodules says where submodules are, also those that have a .git of their own. */
static void look_at_modules(struct search *s, const char *dir)
{
    size_t len;
    struct arena own;
    arena_init(&own, s->arena->allocator, (size_t)2 * GIT_CONFIG_BYTES_MAX);
    const char *file = join(s, dir, ".gitmodules");
    const char *text = file ? git_read_canonical(&own, file, GIT_CONFIG_BYTES_MAX, &len) : NULL;
    if (text) {
        struct git_config c;
        git_config_init(&c, s->arena, text, len);
        while (!s->failure && git_config_next(&c)) {
            if (git_config_is_of_some(&c, "submodule", "path"))
                push_dir(s, TOP, git_config_path(s->arena, &c, dir, NULL));
        }
        git_config_release(&c);
    }
    if (own.failed)
        s->arena->failed = true;
    arena_release(&own);
}

static void look_at_top(struct search *s, const char *dir)
{
    mode_t type = 0;
    const char *path = find(s, join(s, dir, ".git"), &type);
    if (path && type == S_IFDIR)
        push(s, STORE, path);
    if (path && type == S_IFREG) {
        protect(s, path);
        push_dir(s, STORE, read_pointer(s, path, "gitdir: ", dir));
    }
    /* Without a working tree, it is all there. */
    if (!path && is_there(s, dir, "HEAD") && is_there(s, dir, "objects"))
        push(s, STORE, dir);
    look_at_modules(s, dir);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void look_at(struct search *s, struct item item)
{
    switch (item.kind) {
    case TOP:
        look_at_top(s, item.path);
        break;
    case STORE:
        look_at_store(s, item.path);
        break;
    case GROUP:
        look_at_group(s, item.path);
        break;
    case SETTINGS:
        read_settings(s, item.path, NULL);
        break;
    }
}

static void protect_hooks(struct search *s)
{
    for (size_t i = 0; s->hook_count && i < s->item_count; i++) {
        for (size_t k = 0; s->items[i].kind == TOP && k < s->hook_count; k++)
            protect(s, join(s, s->items[i].path, s->hooks[k]));
    }
}

int git_guard_find(struct arena *arena, const char *const *writable, const char *home,
                   struct git_guard *ret, struct err *e)
{
    struct git_guard guard = {0};
    struct search s = {.arena = arena, .writable = writable, .home = home, .guard = &guard, .e = e};
    for (; *writable; writable++)
        push(&s, TOP, *writable);
    if (home) {
        push_included(&s, join(&s, home, ".gitconfig"));
        push_included(&s, join(&s, home, ".config/git/config"));
    }
    for (size_t i = 0; !s.failure && !arena->failed && i < s.item_count; i++)
        look_at(&s, s.items[i]);
    if (!s.failure)
        protect_hooks(&s);
    if (arena->failed)
        return err_set(e, -ENOMEM, "out of memory");
    if (s.failure == 0)
        *ret = guard;
    return s.failure;
}

/* The inside may have put links where the repository was: none is followed. */
static int open_dir_of(const char *path, const char **ret_name)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS};
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = (size_t)(slash - path);
    if (len >= sizeof(dir))
        return -ENAMETOOLONG;
    memcpy(dir, path, len);
    dir[len] = '\0';
    *ret_name = slash + 1;
    return kernel_openat2(AT_FDCWD, dir, &how);
}

void git_guard_finish(const struct git_guard *g, struct notes *notes)
{
    for (size_t i = 0; i < g->absent_count; i++) {
        struct stat st;
        const char *name = NULL;
        FD_CLEANUP int dir = open_dir_of(g->absent[i], &name);
        if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (unlinkat(dir, name, 0) == 0)
            note(notes, "'%s' was made, which would let git run programs of the inside's: removed",
                 g->absent[i]);
        else
            note(notes,
                 "'%s' was made and lets git run programs of the inside's: remove it before you "
                 "use git there",
                 g->absent[i]);
    }
}
