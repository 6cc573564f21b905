/* See denials.h. */
#include "engine/denials.h"

#include <stdbool.h>
#include <string.h>

#include "base/path.h"

enum { LOOKED_AT_MAX = 64 << 10, SHOWN_MAX = 160 };

/* What the plan makes of a path. */
enum place {
    PLACE_ABSENT,    /* nothing is shown there */
    PLACE_HIDDEN,    /* covered */
    PLACE_PROTECTED, /* of the workspace, but read-only */
    PLACE_READ_ONLY, /* the system, a toolchain, a listed path */
    PLACE_HOME,      /* of the home, which is private */
    PLACE_OPEN,      /* writable: no wall is in the way */
};

static bool is_home(const struct plan *plan, const char *path)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (step->kind == PLAN_ENV && strncmp(step->text, "HOME=", 5) == 0)
            return strcmp(step->text + 5, path) == 0;
    }
    return false;
}

static enum place place_of(const struct plan *plan, const char *path)
{
    enum place place = PLACE_ABSENT;
    /* Later steps lie over earlier ones. */
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (!step->path || !path_is_below(path, step->path))
            continue;
        if (step->kind == PLAN_HIDE)
            place = PLACE_HIDDEN;
        else if (step->kind == PLAN_PIN && step->flags & PLAN_READ_ONLY)
            place = PLACE_PROTECTED;
        else if (step->kind == PLAN_LAYER || step->kind == PLAN_SCRATCH)
            place = is_home(plan, step->path) ? PLACE_HOME : PLACE_OPEN;
        else if (step->kind == PLAN_BIND || step->kind == PLAN_PROC)
            place = step->flags & PLAN_READ_ONLY ? PLACE_READ_ONLY : PLACE_OPEN;
        else if (step->kind == PLAN_FILE || step->kind == PLAN_LINK)
            place = PLACE_READ_ONLY;
    }
    return place;
}

/* The words of the C library, which programs repeat, and what they mean at a place. */
static const struct {
    const char *error;
    enum place place;
    const char *wall, *key;
} walls[] = {
    {"No such file or directory", PLACE_ABSENT, "is not shown in the box", "paths.read"},
    {"No such file or directory", PLACE_HOME, "is not in the box's own home", "paths.read"},
    {"Permission denied", PLACE_HIDDEN, "is hidden", "paths.hide"},
    {"Permission denied", PLACE_ABSENT, "is not shown in the box", "paths.read"},
    {"Read-only file system", PLACE_PROTECTED, "is protected", "paths.protect"},
    {"Read-only file system", PLACE_READ_ONLY, "is read-only in the box", "paths.write"},
    {"Read-only file system", PLACE_ABSENT, "lies in the box's own root", "paths.write"},
    {"Permission denied", PLACE_READ_ONLY, "is read-only in the box", "paths.write"},
    {"Permission denied", PLACE_PROTECTED, "is protected", "paths.protect"},
};

/* What needs no path. */
static const struct {
    const char *error, *wall, *key;
} others[] = {
    {"Network is unreachable", "the box has no network but its own loopback", "network"},
    {"Temporary failure in name resolution", "the box has no network but its own loopback",
     "network"},
    {"Could not resolve host", "the box has no network but its own loopback", "network"},
    {"Name or service not known", "the box has no network but its own loopback", "network"},
    {"Too many open files", "a process may have only so many files open", "limits.files"},
    {"fork: retry: Resource temporarily unavailable", "only so many processes may run at once",
     "limits.processes"},
};

static bool has_network(const struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->steps[i].kind == PLAN_UNSHARE && strcmp(plan->steps[i].text, "net") == 0)
            return false;
    }
    return true;
}

/* Quotes around names in messages, and what ends them. */
static const struct {
    const char *open, *close;
} quotes[] = {{"'", "'"}, {"\"", "\""}, {"`", "'"}, {"\xe2\x80\x98", "\xe2\x80\x99"}};

/* How long the path is that begins here, behind `before` bytes of the line. */
static size_t path_len(const char *at, size_t left, size_t before)
{
    for (size_t i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++) {
        size_t open = strlen(quotes[i].open);
        if (before < open || memcmp(at - open, quotes[i].open, open) != 0)
            continue;
        const char *close = memmem(at, left, quotes[i].close, strlen(quotes[i].close));
        return close ? (size_t)(close - at) : 0;
    }
    size_t len = 0;
    while (len < left && at[len] && !strchr(" :,;)'\"", at[len]))
        len++;
    return before && !strchr(" :=(<>", at[-1]) ? 0 : len;
}

/* The first absolute path in a line; NULL: there is none. */
static const char *find_path(struct arena *arena, const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        size_t path = line[i] == '/' ? path_len(line + i, len - i, i) : 0;
        if (path > 1 && path < SHOWN_MAX && !memchr(line + i, '\0', path))
            return arena_copy(arena, line + i, path);
    }
    return NULL;
}

static bool contains(const char *line, size_t len, const char *words)
{
    return memmem(line, len, words, strlen(words)) != NULL;
}

/* What explains this line; NULL: nothing that we know of. */
static const char *explain(struct arena *arena, const struct plan *plan, const char *line,
                           size_t len)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        bool network = strcmp(others[i].key, "network") == 0;
        if (contains(line, len, others[i].error) && !(network && has_network(plan)))
            return arena_format(arena, "the command said '%s': %s (%s decides that)",
                                others[i].error, others[i].wall, others[i].key);
    }
    const char *path = find_path(arena, line, len);
    if (!path || strstr(path, "/../"))
        return NULL;
    enum place place = place_of(plan, path);
    for (size_t i = 0; i < sizeof(walls) / sizeof(walls[0]); i++) {
        if (place == walls[i].place && contains(line, len, walls[i].error))
            return arena_format(arena, "the command said '%s': '%s' %s (%s decides that)",
                                walls[i].error, path, walls[i].wall, walls[i].key);
    }
    return NULL;
}

size_t denials_find(struct arena *arena, const struct plan *plan, const char *errors, size_t len,
                    const char *ret[static DENIALS_MAX])
{
    size_t count = 0;
    /* The last words are those that it failed with. */
    if (len > LOOKED_AT_MAX) {
        errors += len - LOOKED_AT_MAX;
        len = LOOKED_AT_MAX;
    }
    while (len && count < DENIALS_MAX) {
        const char *end = memchr(errors, '\n', len);
        size_t line = end ? (size_t)(end - errors) : len;
        const char *why = explain(arena, plan, errors, line);
        bool known = !why;
        for (size_t i = 0; !known && i < count; i++)
            known = strcmp(ret[i], why) == 0;
        if (!known)
            ret[count++] = why;
        size_t step = line < len ? line + 1 : len;
        errors += step;
        len -= step;
    }
    return count;
}
