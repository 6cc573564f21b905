/* From policy and surroundings to the request for a plan; see box.h. */
#include "engine/box.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

/* From the caller's environment, if set: how to speak, never what to load or whom to trust. */
static const char *const passed[] = {"TERM", "COLORTERM", "NO_COLOR", "TZ", "CI"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

void note(struct notes *notes, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const char *copy = notes ? arena_copy(notes->arena, text, strlen(text)) : NULL;
    if (copy && notes->count < COUNT(notes->items))
        notes->items[notes->count++] = copy;
}

/* --- variables ------------------------------------------------------------------------------ */

static const char *find_variable(const char *const *environment, const char *name)
{
    size_t len = strlen(name);
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
            return *environment;
    }
    return NULL;
}

const char *box_variable(const char *const *environment, const char *name)
{
    const char *found = find_variable(environment, name);
    return found ? found + strlen(name) + 1 : NULL;
}

static int find_variables(struct arena *arena, const struct policy *policy,
                          const char *const *environment, struct box *box)
{
    const struct toolchains *tools = &box->toolchains;
    size_t max =
        COUNT(passed) + policy->env_pass.count + tools->variable_count + policy->env_set.count;
    const char **all = arena_alloc_array(arena, max, sizeof(*all));
    size_t count = 0;
    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < tools->variable_count; i++)
        all[count++] = tools->variables[i];
    for (size_t i = 0; i < COUNT(passed) + policy->env_pass.count; i++) {
        const char *name =
            i < COUNT(passed) ? passed[i] : policy->env_pass.items[i - COUNT(passed)].text;
        const char *variable = find_variable(environment, name);
        if (variable)
            all[count++] = arena_copy(arena, variable, strlen(variable));
    }
    for (size_t i = 0; i < policy->env_set.count; i++)
        all[count++] = policy->env_set.items[i].text;
    box->variables = (struct plan_texts){.items = all, .count = count};
    return arena->failed ? -ENOMEM : 0;
}

/* --- paths ---------------------------------------------------------------------------------- */

/* What the request is put together from. */
struct maker {
    struct arena *arena;
    const struct policy *policy;
    const struct workspace *workspace;
    const char *home;
    const struct box *box;
    struct notes *notes;
    struct plan_request *request;
    struct err *e;
};

/* A path of the policy's, absolute; NULL: it is below a home that nobody has. */
static const char *absolute(const struct maker *m, const char *text)
{
    if (text[0] == '/')
        return text;
    if (text[0] == '~' && (text[1] == '/' || text[1] == '\0'))
        return m->home ? arena_format(m->arena, "%s%s", m->home, text + 1) : NULL;
    return arena_path(m->arena, m->workspace->root, text);
}

static int fail_path(const struct maker *m, const char *key, const struct policy_text *text,
                     int code, const char *why)
{
    if (!why)
        return err_errno(m->e, code, "paths.%s: '%s'", key, text->text);
    return err_set(m->e, code, "paths.%s: '%s' %s", key, text->text, why);
}

/*
 * Listed paths count by where they lead, whoever made the links on the way: one that a command made
 * is refused later, and until then more is distrusted, not less.
 */
static int find_writable(const struct maker *m, struct box *box)
{
    const struct policy_texts *texts = &m->policy->write;
    const char **list = arena_alloc_array(m->arena, texts->count + 3, sizeof(*list));
    size_t count = 0;
    if (!list)
        return -ENOMEM;
    if (!m->workspace->in_memory)
        list[count++] = m->workspace->root;
    for (size_t i = 0; i < texts->count; i++) {
        char real[PATH_MAX];
        const char *path = texts->items[i].origin.layer == LAYER_BUILTIN
                               ? NULL
                               : absolute(m, texts->items[i].text);
        if (path && realpath(path, real))
            list[count++] = arena_copy(m->arena, real, strlen(real));
    }
    if (m->arena->failed)
        return -ENOMEM;
    box->writable = list;
    if (!m->workspace->in_memory &&
        git_worktree_find(m->arena, m->workspace->root, m->home, list, &box->tree) < 0)
        return -ENOMEM;
    list[count] = box->tree.common;
    return 0;
}

int box_look(struct arena *arena, const struct policy *policy, const struct workspace *workspace,
             const char *home, const char *const *environment, struct box *ret, struct err *e)
{
    const struct maker m = {.arena = arena, .policy = policy, .workspace = workspace, .home = home};
    if (find_writable(&m, ret) < 0)
        return err_set(e, -ENOMEM, "out of memory");
    int r = toolchains_find(arena, policy->toolchains, home, workspace->root, ret->writable,
                            environment, &ret->toolchains, e);
    if (r == 0 && find_variables(arena, policy, environment, ret) < 0)
        r = err_set(e, -ENOMEM, "out of memory");
    return r;
}

static int compare_places(const void *a, const void *b)
{
    return strcmp(((const struct plan_place *)a)->path, ((const struct plan_place *)b)->path);
}

/* One listed path, and, where it is written with a link in it, the link. */
static int add_listed(const struct maker *m, const char *key, const struct policy_text *text,
                      bool writable, struct plan_place *list, size_t *count)
{
    static const char *const never[] = {"/proc", "/dev", NULL};
    char real[PATH_MAX];
    struct stat st;
    const char *path = absolute(m, text->text);
    if (!path)
        return m->arena->failed ? -ENOMEM : 0;
    int r = surroundings_resolve(path, 0, m->box->writable, real, &st);
    if (r == -EPERM)
        return fail_path(
            m, key, text, r,
            "leads through a link that a command could have made; list where it leads");
    if (r < 0) {
        if (r != -ENOENT && r != -ENOTDIR)
            return fail_path(m, key, text, r, NULL);
        note(m->notes, "paths.%s: '%s' is not there, and so is not shown", key, text->text);
        return 0;
    }
    if (strcmp(real, "/") == 0 || surroundings_is_below(real, never))
        return fail_path(m, key, text, -EINVAL, "cannot be shown: it is the whole system's");
    struct err why;
    if (writable && plan_check_workspace(real, &why) < 0)
        return fail_path(m, key, text, -EINVAL, "is the system's, and cannot be written to");
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return fail_path(m, key, text, -EINVAL, "is neither a directory nor an ordinary file");
    const char *copy = arena_copy(m->arena, real, strlen(real));
    if (!copy)
        return err_set(m->e, -ENOMEM, "out of memory");
    list[(*count)++] =
        (struct plan_place){.path = copy, .device = st.st_dev, .inode = st.st_ino, .owned = true};
    if (strcmp(real, path) != 0 && !path_is_below(path, m->workspace->root))
        list[(*count)++] = (struct plan_place){.path = path, .target = copy};
    return 0;
}

/* Paths that the policy's files or the call list; what is built in, every box has. */
static int list_places(const struct maker *m, const char *key, const struct policy_texts *texts,
                       bool writable, struct plan_place *list, size_t *count)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (texts->items[i].origin.layer == LAYER_BUILTIN)
            continue;
        int r = add_listed(m, key, &texts->items[i], writable, list, count);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Sorted, and nothing that another one shows already. */
static struct plan_places finish_places(struct plan_place *list, size_t count)
{
    size_t kept = 0;
    const char *top = NULL;
    if (list && count)
        qsort(list, count, sizeof(*list), compare_places);
    for (size_t i = 0; i < count; i++) {
        if (!list[i].path || (top && path_is_below(list[i].path, top)) ||
            (kept && strcmp(list[kept - 1].path, list[i].path) == 0))
            continue;
        if (!list[i].target)
            top = list[i].path;
        list[kept++] = list[i];
    }
    return (struct plan_places){list, kept};
}

static int add_place(const struct maker *m, const char *path, struct plan_place *list,
                     size_t *count)
{
    struct stat st;
    if (surroundings_stat(path, &st))
        list[(*count)++] =
            (struct plan_place){.path = path, .device = st.st_dev, .inode = st.st_ino};
    return m->arena->failed ? -ENOMEM : 0;
}

static int fill_read(const struct maker *m, const struct toolchains *tools)
{
    size_t max = 2 * m->policy->read.count + tools->shown_count + tools->link_count, count = 0;
    struct plan_place *list = arena_alloc_array(m->arena, max + 1, sizeof(*list));
    if (!list)
        return err_set(m->e, -ENOMEM, "out of memory");
    for (size_t i = 0; i < tools->shown_count; i++)
        add_place(m, tools->shown[i], list, &count);
    for (size_t i = 0; i < tools->link_count; i++)
        list[count++] =
            (struct plan_place){.path = tools->links[i].path, .target = tools->links[i].target};
    int r = list_places(m, "read", &m->policy->read, false, list, &count);
    m->request->read = finish_places(list, count);
    return r;
}

/* The repository of a worktree is written to by every commit; its hooks and settings are not. */
static int fill_write(const struct maker *m, const struct git_worktree *tree)
{
    size_t max = 2 * m->policy->write.count + 1, count = 0;
    struct plan_place *list = arena_alloc_array(m->arena, max, sizeof(*list));
    if (!list)
        return err_set(m->e, -ENOMEM, "out of memory");
    if (tree->common)
        list[count++] = (struct plan_place){.path = tree->common,
                                            .device = tree->common_device,
                                            .inode = tree->common_inode,
                                            .owned = true};
    int r = list_places(m, "write", &m->policy->write, true, list, &count);
    m->request->write = finish_places(list, count);
    return r;
}

/* --- what is covered ------------------------------------------------------------------------ */

static bool is_toolchain(const struct toolchains *tools, const char *path)
{
    for (size_t i = 0; i < tools->shown_count; i++) {
        if (strcmp(tools->shown[i], path) == 0)
            return true;
    }
    return false;
}

enum roots { ROOTS_WRITABLE, ROOTS_LISTED, ROOTS_SHOWN };

/* What is shown beside the system: only what is writable, or what is listed too, or all of it. */
static const char *const *shown_roots(const struct maker *m, enum roots which)
{
    const struct plan_places *read = &m->request->read, *write = &m->request->write;
    const char **roots =
        arena_alloc_array(m->arena, read->count + write->count + 2, sizeof(*roots));
    size_t count = 0;
    if (!roots)
        return NULL;
    if (!m->workspace->in_memory)
        roots[count++] = m->workspace->root;
    for (size_t i = 0; i < write->count; i++) {
        if (!write->items[i].target)
            roots[count++] = write->items[i].path;
    }
    for (size_t i = 0; which != ROOTS_WRITABLE && i < read->count; i++) {
        bool tool = is_toolchain(&m->box->toolchains, read->items[i].path);
        if (!read->items[i].target && (which == ROOTS_SHOWN || !tool))
            roots[count++] = read->items[i].path;
    }
    roots[count] = NULL;
    return roots;
}

static size_t count_roots(const char *const *roots)
{
    size_t count = 0;
    while (roots[count])
        count++;
    return count;
}

/* Whether a canonical path is on a list, or something above it, by a name that stays. */
static bool is_listed(const struct maker *m, const struct policy_texts *texts, const char *real)
{
    for (size_t i = 0; i < texts->count; i++) {
        char other[PATH_MAX];
        struct stat st;
        const char *path = absolute(m, texts->items[i].text);
        if (path && surroundings_resolve(path, 0, m->box->writable, other, &st) == 0 &&
            path_is_below(real, other))
            return true;
    }
    return false;
}

/*
 * A command could take a link away that lies in what it can write, and then what the link had led
 * to would be covered no more. So where somebody lists a path with such a link in it, that must be
 * on the list, too.
 */
static int check_links(const struct maker *m, const char *key, const struct policy_texts *texts,
                       const struct policy_text *text, const char *path, const char *real)
{
    char other[PATH_MAX];
    struct stat st;
    const char *root = m->workspace->root;
    if (text->origin.layer == LAYER_BUILTIN ||
        surroundings_resolve(path, 0, m->box->writable, other, &st) != -EPERM ||
        is_listed(m, texts, real))
        return 0;
    return err_set(m->e, -EPERM,
                   "paths.%s: '%s' leads through a link that a command could change; list '%s' too",
                   key, text->text, path_is_below(real, root) ? real + strlen(root) + 1 : real);
}

/* Whether one of the directories above a path of the workspace is a link. */
static bool is_behind_link(const struct maker *m, const char *path)
{
    char above[PATH_MAX];
    struct stat st;
    size_t at = strlen(m->workspace->root) + 1;
    if (!path_is_below(path, m->workspace->root) || strlen(path) >= sizeof(above))
        return false;
    for (; at < strlen(path); at++) {
        if (path[at] != '/')
            continue;
        memcpy(above, path, at);
        above[at] = '\0';
        if (lstat(above, &st) < 0)
            return false;
        if (S_ISLNK(st.st_mode))
            return true;
    }
    return false;
}

/* Resolves a path that is to be covered; a link leads to what it covers. 0: there is nothing. */
static int add_covered(const struct maker *m, const char *key, const struct policy_texts *texts,
                       const struct policy_text *text, const char *const *roots, const char **list,
                       size_t *count)
{
    char real[PATH_MAX];
    const char *path = absolute(m, text->text);
    if (!path)
        return m->arena->failed ? err_set(m->e, -ENOMEM, "out of memory") : 0;
    bool hide = strcmp(key, "hide") == 0;
    /* Most are not there: one look tells, where following every link takes many. One that is to be
     * hidden may yet come, before the walls stand; not by a link, which no cover could be put on.
     */
    if (looks_missing(m->box->looks, path)) {
        if (hide && surroundings_is_below(path, roots) && !strstr(path, "/../") &&
            !is_behind_link(m, path))
            list[(*count)++] = path;
        return 0;
    }
    if (!realpath(path, real))
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG
                   ? 0
                   : fail_path(m, key, text, -errno, NULL);
    if (hide && path_is_below(m->workspace->root, real))
        return fail_path(m, key, text, -EINVAL, "holds the workspace, or is it");
    if (!surroundings_is_below(real, roots) &&
        !(hide && surroundings_is_below(real, plan_system_paths)))
        return 0;
    int r = check_links(m, key, texts, text, path, real);
    if (r < 0)
        return r;
    const char *copy = arena_copy(m->arena, real, strlen(real));
    if (!copy)
        return err_set(m->e, -ENOMEM, "out of memory");
    list[(*count)++] = copy;
    return 0;
}

static int fill_covered(const struct maker *m, const char *key, const struct policy_texts *texts,
                        const char *const *roots, const char *const *more, size_t more_count,
                        struct plan_texts *ret)
{
    const char **list = arena_alloc_array(m->arena, texts->count + more_count + 1, sizeof(*list));
    size_t count = 0;
    int r = 0;
    if (!list)
        return err_set(m->e, -ENOMEM, "out of memory");
    for (size_t i = 0; r == 0 && i < texts->count; i++) {
        /* Without mounts nothing can be covered: what nobody asked for is said to be lost. */
        if (m->request->strength == PLAN_LANDLOCK_ONLY &&
            texts->items[i].origin.layer == LAYER_BUILTIN)
            continue;
        r = add_covered(m, key, texts, &texts->items[i], roots, list, &count);
    }
    for (size_t i = 0; r == 0 && i < more_count; i++)
        list[count++] = more[i];
    *ret = (struct plan_texts){list, count};
    return r;
}

static int fill_covers(const struct maker *m, const struct git_guard *guard)
{
    const char *const *shown = shown_roots(m, ROOTS_SHOWN);
    const char *const *listed = shown_roots(m, ROOTS_LISTED);
    const char *const *writable = shown_roots(m, ROOTS_WRITABLE);
    const char *const *sockets = NULL;
    size_t socket_count = 0;
    if (!shown || !listed || !writable)
        return err_set(m->e, -ENOMEM, "out of memory");
    /* Landlock strength has no Unix sockets at all; one that lies below a layer is not the same to
     * the kernel as the one that somebody listens on. */
    bool layered = !m->workspace->in_memory && !m->policy->workspace_read_only &&
                   !m->policy->accept_irreversible;
    int r = m->request->strength == PLAN_FULL && !(layered && count_roots(listed) == 1)
                ? host_sockets_find(m->arena, listed, count_roots(listed), &sockets, &socket_count,
                                    m->e)
                : 0;
    if (r < 0)
        return r;
    if (r > 0)
        note(m->notes, "there are too many files to find every Unix socket of the host among them");
    r = fill_covered(m, "hide", &m->policy->hide, shown, sockets, socket_count, &m->request->hide);
    if (r == 0)
        r = fill_covered(m, "protect", &m->policy->protect, writable, guard->paths, guard->count,
                         &m->request->protect);
    return r;
}

/* --- the whole ------------------------------------------------------------------------------ */

static int fill_git(const struct maker *m, const char *const *environment)
{
    struct git_identity identity = {0};
    int r = git_identity_read(m->arena, m->home, environment, &identity);
    if (r == 0)
        r = git_identity_write(m->arena, &identity, &m->request->git_config);
    return r < 0 ? err_set(m->e, -ENOMEM, "out of memory") : 0;
}

static void fill_network(const struct maker *m)
{
    char real[PATH_MAX];
    if (m->policy->network != NETWORK_ON)
        return;
    m->request->network = true;
    if (realpath("/etc/resolv.conf", real))
        m->request->resolv_conf = arena_copy(m->arena, real, strlen(real));
}

int box_request(struct arena *arena, const struct box *box, const struct policy *policy,
                const struct workspace *workspace, const char *home, const char *const *environment,
                enum plan_strength strength, struct plan_request *ret, struct git_guard *guard,
                struct notes *notes, struct err *e)
{
    *ret = (struct plan_request){
        .strength = strength,
        .workspace = {.path = workspace->root,
                      .device = workspace->device,
                      .inode = workspace->inode,
                      .owned = true},
        .workspace_read_only = policy->workspace_read_only,
        .workspace_held = workspace->in_memory,
        .cwd = workspace->cwd,
        .home = home,
        .uid = workspace->uid,
        .gid = workspace->gid,
        .search_path = box->toolchains.path,
        .variables = box->variables,
        .limits =
            {
                .cpu_ms = policy->limits.cpu_ms,
                .memory_bytes = policy->limits.memory_bytes,
                .processes = policy->limits.processes,
                .files = policy->limits.files,
                .disk_bytes = policy->limits.disk_bytes,
            },
    };
    const struct maker m = {arena, policy, workspace, home, box, notes, ret, e};
    int r = fill_read(&m, &box->toolchains);
    if (r == 0)
        r = fill_write(&m, &box->tree);
    *guard = (struct git_guard){0};
    if (r == 0)
        r = git_guard_find(arena, box->writable, home, guard, e);
    if (strength != PLAN_FULL)
        guard->count = 0; /* nothing can be covered there */
    if (r == 0)
        r = fill_covers(&m, guard);
    if (r == 0)
        r = fill_git(&m, environment);
    fill_network(&m);
    return r == 0 && arena->failed ? err_set(e, -ENOMEM, "out of memory") : r;
}
