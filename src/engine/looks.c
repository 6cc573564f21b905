/* See looks.h. */
#include "engine/looks.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    DIRS_MAX = 64,
    NAMES_MAX = 128, /* that are not in a directory */
    /* The coarsest clock of a file system goes by two seconds. */
    GRAIN_S = 3,
};

struct looks_dir {
    struct looks_dir *next;
    unsigned users;    /* with the lock */
    atomic_bool known; /* it was seen to be unchanged for so long that it tells of every change */
    struct stat st;
    size_t name_count;
    char *names[NAMES_MAX];
    size_t path_len;
    char path[];
};

void looks_init(struct looks_memory *m, const struct allocator *allocator)
{
    *m = (struct looks_memory){.allocator = allocator};
    pthread_mutex_init(&m->lock, NULL);
}

static void let_go(struct looks_memory *m, struct looks_dir *dir)
{
    if (--dir->users)
        return;
    while (dir->name_count)
        alloc_free(m->allocator, dir->names[--dir->name_count]);
    alloc_free(m->allocator, dir);
}

void looks_clear(struct looks_memory *m)
{
    while (m->dirs) {
        struct looks_dir *dir = m->dirs;
        m->dirs = dir->next;
        let_go(m, dir);
    }
    pthread_mutex_destroy(&m->lock);
}

void looks_end(struct looks *l)
{
    if (!l->memory)
        return;
    pthread_mutex_lock(&l->memory->lock);
    while (l->count)
        let_go(l->memory, l->same[--l->count]);
    pthread_mutex_unlock(&l->memory->lock);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) == 0 &&
           memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim)) == 0;
}

/* K1 */
static bool is_old(const struct stat *st)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return st->st_mtim.tv_sec + GRAIN_S < now.tv_sec && st->st_ctim.tv_sec + GRAIN_S < now.tv_sec;
}

static bool is_called(const struct looks_dir *dir, const char *path, size_t len)
{
    return dir->path_len == len && memcmp(dir->path, path, len) == 0;
}

/* With the lock: takes it out of the list, with the list's share in it. */
static struct looks_dir *take_out(struct looks_memory *m, const char *path, size_t len)
{
    struct looks_dir **at = &m->dirs, *found;
    while (*at && !is_called(*at, path, len))
        at = &(*at)->next;
    found = *at;
    if (found)
        *at = found->next;
    return found;
}

/* With the lock: in front; the one that was used longest ago is forgotten. */
static void put_first(struct looks_memory *m, struct looks_dir *dir)
{
    size_t count = 1;
    dir->next = m->dirs;
    m->dirs = dir;
    for (struct looks_dir *at = dir; at->next; at = at->next) {
        if (++count > DIRS_MAX && !at->next->next) {
            let_go(m, at->next);
            at->next = NULL;
            break;
        }
    }
}

static bool knows(const struct looks_dir *dir, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < dir->name_count && !found; i++)
        found = strcmp(dir->names[i], name) == 0;
    return found;
}

static void remember(struct looks_memory *m, struct looks_dir *dir, const char *name)
{
    size_t size = strlen(name) + 1;
    char *copy = dir->name_count < NAMES_MAX && !knows(dir, name)
                     ? alloc_resize(m->allocator, NULL, size)
                     : NULL;
    if (copy) {
        memcpy(copy, name, size);
        dir->names[dir->name_count++] = copy;
    }
}

/* The directory above, if it was looked at in this run and tells of every change. */
static struct looks_dir *known_above(const struct looks *l, const char *path, size_t *ret_len)
{
    size_t len = *ret_len;
    while (len && path[len - 1] != '/')
        len--;
    len -= len > 0;
    *ret_len = len;
    for (size_t i = 0; i < l->count; i++) {
        if (is_called(l->same[i], path, len))
            return l->same[i]->known ? l->same[i] : NULL;
    }
    return NULL;
}

/* The directory as it is now, with what is known of it in this state. NULL: none can be had, or it
 * is not there itself. */
static struct looks_dir *open_dir(struct looks *l, const char *path, size_t len, bool *ret_gone)
{
    struct looks_memory *m = l->memory;
    for (size_t i = 0; i < l->count; i++) {
        if (is_called(l->same[i], path, len))
            return l->same[i];
    }
    char text[PATH_MAX];
    struct stat st;
    if (l->count == LOOKS_DIRS || len >= sizeof(text))
        return NULL;
    memcpy(text, path, len);
    text[len] = '\0';
    size_t above_len = len;
    struct looks_dir *above = known_above(l, path, &above_len);
    if (above) {
        pthread_mutex_lock(&m->lock);
        *ret_gone = knows(above, text + above_len + 1);
        pthread_mutex_unlock(&m->lock);
    }
    if (*ret_gone)
        return NULL;
    if (stat(len ? text : "/", &st) < 0) {
        *ret_gone = errno == ENOENT;
        /* A link that leads nowhere may lead somewhere tomorrow. */
        if (*ret_gone && above && lstat(text, &st) < 0 && errno == ENOENT) {
            pthread_mutex_lock(&m->lock);
            remember(m, above, text + above_len + 1);
            pthread_mutex_unlock(&m->lock);
        }
        return NULL;
    }
    pthread_mutex_lock(&m->lock);
    struct looks_dir *dir = take_out(m, path, len);
    if (dir && !is_same(&dir->st, &st)) {
        let_go(m, dir);
        dir = NULL;
    }
    if (!dir && (dir = alloc_resize(m->allocator, NULL, sizeof(*dir) + len))) {
        *dir = (struct looks_dir){.users = 1, .st = st, .path_len = len};
        memcpy(dir->path, path, len);
    }
    if (dir) {
        dir->known = dir->known || is_old(&st);
        dir->users++;
        put_first(m, dir);
        l->same[l->count++] = dir;
    }
    pthread_mutex_unlock(&m->lock);
    return dir;
}

bool looks_missing(struct looks *l, const char *path)
{
    struct stat st;
    const char *slash = strrchr(path, '/');
    bool known = false;
    struct looks_dir *dir = l && l->memory && slash && slash[1]
                                ? open_dir(l, path, (size_t)(slash - path), &known)
                                : NULL;
    if (dir && dir->known) {
        pthread_mutex_lock(&l->memory->lock);
        known = knows(dir, slash + 1);
        pthread_mutex_unlock(&l->memory->lock);
    }
    if (known)
        return true;
    if (lstat(path, &st) == 0 || errno != ENOENT)
        return false;
    if (dir && dir->known) {
        pthread_mutex_lock(&l->memory->lock);
        remember(l->memory, dir, slash + 1);
        pthread_mutex_unlock(&l->memory->lock);
    }
    return true;
}
