/* See policy_cache.h. */
#include "engine/policy_cache.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"

enum {
    POLICY_BYTES_MAX = 256 << 20,
    FILES_MAX = 256,
};

/* --- what a request stands for ---------------------------------------------------------------- */

struct fingerprint {
    struct sha256 hash;
    int64_t now_ns;
    bool settled; /* all of it may be believed */
    size_t files;
};

static void add_text(struct fingerprint *f, const char *text)
{
    uint64_t len = text ? strlen(text) : UINT64_MAX;
    sha256_add(&f->hash, &len, sizeof(len));
    if (text)
        sha256_add(&f->hash, text, len);
}

static void add_list(struct fingerprint *f, const char *const *list)
{
    for (; list && *list; list++)
        add_text(f, *list);
    add_text(f, NULL);
}

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* True: it is a directory. */
static bool add_file(struct fingerprint *f, const char *path)
{
    struct stat st;
    int64_t facts[9] = {-1};
    bool there = stat(path, &st) == 0;
    if (there) {
        const int64_t found[] = {
            (int64_t)st.st_dev, (int64_t)st.st_ino, st.st_mode, st.st_uid, st.st_gid, st.st_size, 0,
            ns_of(st.st_mtim),  ns_of(st.st_ctim),
        };
        memcpy(facts, found, sizeof(facts));
        f->settled = f->settled && clock_is_settled(&st, f->now_ns);
    } else {
        facts[6] = errno;
    }
    add_text(f, path);
    sha256_add(&f->hash, facts, sizeof(facts));
    return there && S_ISDIR(st.st_mode);
}

static void add_directory(struct fingerprint *f, const char *path)
{
    char name[4096 + 256 + 2];
    if (!add_file(f, path))
        return;
    DIR *directory = opendir(path);
    const struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        if (++f->files > FILES_MAX ||
            snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) >= (int)sizeof(name)) {
            f->settled = false;
            break;
        }
        if (entry->d_name[0] != '.')
            add_file(f, name);
    }
    f->settled = f->settled && directory;
    if (directory)
        closedir(directory);
}

/* A layer's own directory, its configuration, its agents and what it knows of commands. */
static void add_layer(struct fingerprint *f, const char *directory, const char *sub)
{
    static const char *const inner[] = {"agents", "commands"};
    char path[4096], below[4096];
    if (!directory)
        return;
    int len = snprintf(path, sizeof(path), "%s%s", directory, sub);
    if (len >= (int)sizeof(path) - 32) {
        f->settled = false;
        return;
    }
    if (!add_file(f, path))
        return;
    snprintf(below, sizeof(below), "%.*s/config.yaml", (int)sizeof(below) - 16, path);
    add_file(f, below);
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
        snprintf(below, sizeof(below), "%.*s/%s", (int)sizeof(below) - 16, path, inner[i]);
        add_directory(f, below);
    }
}

static bool take_fingerprint(const struct policy_request *request, const char *home,
                             const char *workspace, unsigned char ret[SHA256_BYTES])
{
    struct fingerprint f = {.settled = true};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    f.now_ns = ns_of(now);
    sha256_start(&f.hash);
    const char *const texts[] = {
        request->profile,  request->agent,   request->config,     request->workspace,
        request->user_dir, request->network, request->system_dir, home,
        workspace};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        add_text(&f, texts[i]);
    add_list(&f, request->allow);
    add_text(&f, request->allow ? "mandate" : NULL);
    add_list(&f, request->read_paths);
    add_list(&f, request->write_paths);
    add_list(&f, request->limits);
    add_list(&f, request->session.allow);
    add_text(&f, request->session.allow ? "mandate" : NULL);
    add_list(&f, request->session.deny);
    add_list(&f, request->session.limits);
    add_text(&f, request->session.network);
    if (request->config)
        add_file(&f, request->config);
    add_layer(&f, request->system_dir, "");
    add_layer(&f, request->user_dir, "");
    add_layer(&f, request->workspace, "/.nacre");
    sha256_end(&f.hash, ret);
    return f.settled;
}

/* --- entries ---------------------------------------------------------------------------------- */

static const char *copy(struct arena *arena, const char *text)
{
    return text ? arena_copy(arena, text, strlen(text)) : NULL;
}

static const char *const *copy_list(struct arena *arena, const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    const char **copied = list ? arena_alloc_array(arena, count + 1, sizeof(*copied)) : NULL;
    for (size_t i = 0; copied && i < count; i++)
        copied[i] = copy(arena, list[i]);
    if (copied)
        copied[count] = NULL;
    return copied;
}

static void free_entry(const struct policy_cache *c, struct cached_policy *entry)
{
    arena_release(&entry->arena);
    alloc_free(c->allocator, entry);
}

/* Nothing in it points to what the caller may free. */
static int load(struct policy_cache *c, const struct policy_request *request, const char *home,
                const char *workspace, struct cached_policy **ret, struct err *e)
{
    struct cached_policy *entry = alloc_resize(c->allocator, NULL, sizeof(*entry));
    if (!entry)
        return err_set(e, -ENOMEM, "out of memory");
    *entry = (struct cached_policy){.users = 1};
    struct arena *arena = &entry->arena;
    arena_init(arena, c->allocator, POLICY_BYTES_MAX);
    const struct policy_request own = {
        .profile = copy(arena, request->profile),
        .agent = copy(arena, request->agent),
        .config = copy(arena, request->config),
        .workspace = copy(arena, request->workspace),
        .system_dir = copy(arena, request->system_dir),
        .user_dir = copy(arena, request->user_dir),
        .allow = copy_list(arena, request->allow),
        .network = copy(arena, request->network),
        .read_paths = copy_list(arena, request->read_paths),
        .write_paths = copy_list(arena, request->write_paths),
        .limits = copy_list(arena, request->limits),
        .session = {.allow = copy_list(arena, request->session.allow),
                    .deny = copy_list(arena, request->session.deny),
                    .limits = copy_list(arena, request->session.limits),
                    .network = copy(arena, request->session.network)},
    };
    int r = arena->failed ? err_set(e, -ENOMEM, "out of memory")
                          : policy_load(arena, &own, &entry->policy, e);
    if (r == 0)
        r = judge_new(arena, entry->policy, copy(arena, home), copy(arena, workspace),
                      &entry->judge, e);
    if (r < 0) {
        free_entry(c, entry);
        return r;
    }
    *ret = entry;
    return 0;
}

static void release_locked(const struct policy_cache *c, struct cached_policy *entry)
{
    if (entry && --entry->users == 0)
        free_entry(c, entry);
}

/* In front of all others; the one that was used longest ago goes. */
static void move_to_front(struct policy_cache *c, size_t at, struct cached_policy *entry)
{
    for (; at > 0; at--)
        c->entries[at] = c->entries[at - 1];
    c->entries[0] = entry;
}

static struct cached_policy *find(struct policy_cache *c, const unsigned char key[SHA256_BYTES])
{
    for (size_t i = 0; i < POLICY_CACHE_MAX && c->entries[i]; i++) {
        struct cached_policy *entry = c->entries[i];
        if (memcmp(entry->key, key, SHA256_BYTES) != 0)
            continue;
        move_to_front(c, i, entry);
        entry->users++;
        return entry;
    }
    return NULL;
}

void policy_cache_init(struct policy_cache *c, const struct allocator *allocator)
{
    *c = (struct policy_cache){.allocator = allocator};
    pthread_mutex_init(&c->lock, NULL);
}

void policy_cache_clear(struct policy_cache *c)
{
    for (size_t i = 0; i < POLICY_CACHE_MAX; i++)
        release_locked(c, c->entries[i]);
    pthread_mutex_destroy(&c->lock);
}

int policy_cache_get(struct policy_cache *c, const struct policy_request *request, const char *home,
                     const char *workspace, struct cached_policy **ret, struct err *e)
{
    unsigned char key[SHA256_BYTES];
    bool settled = take_fingerprint(request, home, workspace, key);
    pthread_mutex_lock(&c->lock);
    struct cached_policy *entry = settled ? find(c, key) : NULL;
    pthread_mutex_unlock(&c->lock);
    int r = entry ? 0 : load(c, request, home, workspace, &entry, e);
    if (r < 0 || !entry)
        return r < 0 ? r : -EINVAL;
    /* The key was taken before the files were read: a change in between is seen next time. */
    pthread_mutex_lock(&c->lock);
    if (settled && entry->users == 1 && !find(c, key)) {
        memcpy(entry->key, key, SHA256_BYTES);
        release_locked(c, c->entries[POLICY_CACHE_MAX - 1]);
        move_to_front(c, POLICY_CACHE_MAX - 1, entry);
        entry->users++;
    }
    pthread_mutex_unlock(&c->lock);
    *ret = entry;
    return 0;
}

void policy_cache_release(struct policy_cache *c, struct cached_policy *entry)
{
    pthread_mutex_lock(&c->lock);
    release_locked(c, entry);
    pthread_mutex_unlock(&c->lock);
}
