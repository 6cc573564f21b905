/* See git_effects.h. */
#include "engine/git_effects.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/beneath.h"
#include "changes/listing.h"
#include "engine/git_config.h"

/* --- what will be there ----------------------------------------------------------------------- */

static const char *absolute(const struct git_effects *g, uint32_t root, const char *path)
{
    return arena_format(g->arena, "%s/%s", g->set->roots[root].path, path);
}

static bool make_index(struct git_effects *g)
{
    const struct change_set *set = g->set;
    if (g->index.items)
        return true;
    struct path_entry *items = arena_alloc_array(g->arena, set->change_count + 1, sizeof(*items));
    for (size_t i = 0; items && i < set->change_count; i++) {
        items[i] = (struct path_entry){absolute(g, set->changes[i].root, set->changes[i].path), i};
        if (!items[i].path)
            return false;
    }
    if (!items)
        return false;
    g->index = (struct path_index){items, set->change_count};
    path_index_sort(&g->index);
    return true;
}

/* The change that leaves something at a path; `ret_known`: there is one, of whatever kind. */
static const struct change *find_change(const struct git_effects *g, uint32_t root,
                                        const char *path, bool *ret_known)
{
    const char *wanted = absolute(g, root, path);
    *ret_known = false;
    for (size_t i = wanted ? path_index_first(&g->index, wanted) : g->index.count;
         i < g->index.count && strcmp(g->index.items[i].path, wanted) == 0; i++) {
        const struct change *c = &g->set->changes[g->index.items[i].value];
        *ret_known = true;
        if (c->after.mode)
            return c;
    }
    return NULL;
}

static int open_dir(const char *path)
{
    return open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* With its type; 0: nothing. */
static mode_t mode_before(const struct git_effects *g, uint32_t root, const char *path)
{
    FD_CLEANUP int dir = open_dir(g->set->roots[root].path);
    struct beneath b = BENEATH_AT(dir);
    struct stat st;
    mode_t mode = dir >= 0 && beneath_stat(&b, path, &st) == 0 ? st.st_mode : 0;
    beneath_release(&b);
    return mode;
}

static mode_t mode_after(const struct git_effects *g, uint32_t root, const char *path)
{
    bool known;
    const struct change *c = find_change(g, root, path, &known);
    return c ? c->after.mode : known ? 0 : mode_before(g, root, path);
}

/* A file as it will be, to be read; -1: it is none. */
static int open_after(const struct git_effects *g, uint32_t root, const char *path)
{
    bool known;
    const struct change *c = find_change(g, root, path, &known);
    const char *slot = c ? change_slot(g->set, c, g->arena) : NULL;
    if (known && !slot)
        return -1;
    const struct change_root *r = &g->set->roots[root];
    FD_CLEANUP int dir = open_dir(known ? r->layer : r->path);
    FD_CLEANUP int fd = dir < 0 ? -1 : beneath_open_file(dir, known ? slot : path);
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fd_steal(&fd) : -1;
}

static bool is_plain_config(const struct git_effects *g, uint32_t root, const char *path)
{
    FD_CLEANUP int fd = open_after(g, root, path);
    return fd >= 0 && git_config_is_plain(g->arena, fd);
}

/* One line, without its end; false: it is something else. */
static bool read_line(const struct git_effects *g, uint32_t root, const char *path,
                      char ret[static GIT_POINTER_BYTES_MAX])
{
    FD_CLEANUP int fd = open_after(g, root, path);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, GIT_POINTER_BYTES_MAX - 1);
    if (n <= 0 || n == GIT_POINTER_BYTES_MAX - 1)
        return false;
    ret[n] = '\0';
    ret[n - (ret[n - 1] == '\n')] = '\0';
    return strlen(ret) + 1 >= (size_t)n && !strchr(ret, '\n');
}

/* --- repositories ----------------------------------------------------------------------------- */

static const char *inside(const struct git_effects *g, const char *dir, const char *name)
{
    return dir[0] ? arena_format(g->arena, "%s/%s", dir, name) : name;
}

/* As git tells one: by these names. */
static bool is_repository(const struct git_effects *g, uint32_t root, const char *dir,
                          mode_t (*mode)(const struct git_effects *, uint32_t, const char *))
{
    const char *head = inside(g, dir, "HEAD"), *objects = inside(g, dir, "objects"),
               *refs = inside(g, dir, "refs"), *common = inside(g, dir, "commondir");
    if (!head || !objects || !refs || !common)
        return true; /* out of memory, which is told elsewhere */
    return mode(g, root, head) &&
           ((mode(g, root, objects) && mode(g, root, refs)) || mode(g, root, common));
}

/* Whether git would obey what was there before it was a repository. */
static bool has_orders(const struct git_effects *g, uint32_t root, const char *dir)
{
    static const char *const obeyed[] = {"config.worktree", "commondir", "info/attributes"};
    const char *config = inside(g, dir, "config"), *hooks = inside(g, dir, "hooks");
    if (!config || !hooks || (mode_before(g, root, config) && !is_plain_config(g, root, config)))
        return true;
    for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++) {
        const char *path = inside(g, dir, obeyed[i]);
        if (!path || mode_before(g, root, path))
            return true;
    }
    FD_CLEANUP int base = open_dir(g->set->roots[root].path);
    struct listing list = {0};
    mode_t mode = mode_before(g, root, hooks);
    if (!mode)
        return false;
    if (!S_ISDIR(mode) || base < 0 || listing_read(g->arena, base, hooks, &list) < 0)
        return true;
    for (size_t i = 0; i < list.count; i++) {
        size_t len = strlen(list.items[i].name);
        if (len < 7 || strcmp(list.items[i].name + len - 7, ".sample") != 0)
            return true;
    }
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0 && (a == b || text[a - b - 1] == '/');
}

/* The directory that would be a repository, if `rest`, which git obeys there, is part of it. */
static const char *above(const struct git_effects *g, const char *path, const char *rest)
{
    size_t len = strlen(path) - strlen(rest);
    return arena_copy(g->arena, path, len - (len > 0));
}

/* `part`, the end of a path, if the rest of it is a repository that obeys it. */
static const char *judge_part(struct git_effects *g, const struct change *c, const char *part)
{
    const char *dir = above(g, c->path, part);
    if (!dir || ends_with(dir, ".git") || !make_index(g) ||
        !is_repository(g, c->root, dir, mode_after))
        return NULL;
    const bool makes_it =
        strcmp(part, "HEAD") == 0 || strcmp(part, "objects") == 0 || strcmp(part, "refs") == 0;
    if (!makes_it)
        return part;
    /* One that is a repository only now obeys what was laid there before. */
    return !is_repository(g, c->root, dir, mode_before) && has_orders(g, c->root, dir) ? "config"
                                                                                       : NULL;
}

static const char *find_inside(struct git_effects *g, const struct change *c)
{
    static const char *const parts[] = {
        "config", "config.worktree", "commondir", "info/attributes", "hooks", "info",
        "HEAD",   "objects",         "refs"};
    const char *found = NULL;
    for (size_t i = 0; !found && i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (ends_with(c->path, parts[i]))
            found = judge_part(g, c, c->path + strlen(c->path) - strlen(parts[i]));
    }
    for (const char *at = c->path; !found && at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "hooks/", 6) == 0)
            found = judge_part(g, c, at);
    }
    return found;
}

/* --- what is harmless ------------------------------------------------------------------------- */

/* What `git worktree add` makes of a repository's own: a directory whose settings are the
 * repository's. */
static bool is_worktree_part(const struct git_effects *g, uint32_t root, const char *dir)
{
    char line[GIT_POINTER_BYTES_MAX];
    const char *common = inside(g, dir, "commondir"), *own = inside(g, dir, "config.worktree");
    const char *name = strrchr(dir, '/');
    const size_t len = name ? (size_t)(name - dir) : 0;
    const char *group = name ? arena_copy(g->arena, dir, len) : NULL;
    if (!common || !own || !group || !ends_with(group, ".git/worktrees") || !name[1])
        return false;
    return read_line(g, root, common, line) && strcmp(line, "../..") == 0 &&
           (!mode_after(g, root, own) || is_plain_config(g, root, own));
}

/* Every part of it is a directory and no link. */
static bool is_real_directory(const struct git_effects *g, uint32_t root, const char *path)
{
    for (const char *slash = path; slash;) {
        slash = strchr(slash + 1, '/');
        const char *part = slash ? arena_copy(g->arena, path, (size_t)(slash - path)) : path;
        if (!part || !S_ISDIR(mode_after(g, root, part)))
            return false;
    }
    return true;
}

/* A `.git` file that leads to a worktree's part of a repository that is in reach of the verdict. */
static bool is_worktree_pointer(const struct git_effects *g, const struct change *c)
{
    static const char word[] = "gitdir: ";
    char line[GIT_POINTER_BYTES_MAX];
    if (!S_ISREG(c->after.mode) || !read_line(g, c->root, c->path, line) ||
        strncmp(line, word, sizeof(word) - 1) != 0)
        return false;
    const char *target = line + sizeof(word) - 1;
    if (strstr(target, "//") || strstr(target, "/./") || strstr(target, "..") ||
        ends_with(target, "."))
        return false;
    for (uint32_t root = 0; root < g->set->root_count; root++) {
        const char *top = g->set->roots[root].path;
        size_t len = strlen(top);
        if (strncmp(target, top, len) != 0 || target[len] != '/' || !target[len + 1])
            continue;
        const char *path = target + len + 1;
        const char *group = strstr(path, ".git/worktrees/");
        if (group && (group == path || group[-1] == '/') && is_real_directory(g, root, path) &&
            is_worktree_part(g, root, path))
            return true;
    }
    return false;
}

/* `path` as if the repository were called `.git`. */
static bool is_harmless(struct git_effects *g, const struct change *c, const char *path)
{
    const size_t len = strlen(path);
    if (c->kind != CHANGE_CREATED)
        return false;
    if (ends_with(path, ".git/hooks"))
        return S_ISDIR(c->after.mode);
    if (strstr(path, ".git/hooks/"))
        return len > 7 && strcmp(path + len - 7, ".sample") == 0;
    const bool config = ends_with(path, ".git/config"), pointer = ends_with(path, ".git"),
               common = ends_with(path, ".git/commondir");
    if ((!config && !pointer && !common) || !make_index(g))
        return false;
    if (config)
        return is_plain_config(g, c->root, c->path);
    if (pointer)
        return is_worktree_pointer(g, c);
    const char *dir = above(g, c->path, "commondir");
    return dir && is_worktree_part(g, c->root, dir);
}

void git_effects_look(struct git_effects *g, const struct change *c, const char **ret_inside,
                      bool *ret_harmless)
{
    *ret_inside = c->after.mode ? find_inside(g, c) : NULL;
    const char *path = *ret_inside ? arena_format(g->arena, ".git/%s", *ret_inside) : c->path;
    *ret_harmless =
        path &&
        !(*ret_inside && strcmp(*ret_inside, "config") == 0 && !ends_with(c->path, "config")) &&
        is_harmless(g, c, path);
}
