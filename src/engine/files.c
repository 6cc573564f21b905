/* See files.h. */
#include "engine/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

/* In the state directory. */
#define NAMES "names"

enum { ENTRIES_MAX = 4096, CHUNK = 1 << 14 };

/*
 * Files that are many commands. What one of them is called says what it does, so a rule on one name
 * says nothing about the others.
 */
static const struct {
    const char *name;
    bool argument;
} several[] = {
    {"busybox", true},
    {"toybox", true},
    {"coreutils", true},
    {"systemctl", false},
    {"kmod", false},
    {"pgrep", false},
    {"rustup", false},
    {"xtables-nft-multi", true},
    {"xtables-legacy-multi", true},
};

static const char *const loaders[] = {
    "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux.so.2",       "/libx32/ld-linux-x32.so.2",
    "/lib/ld-linux-aarch64.so.1",  "/lib/ld-linux-armhf.so.3", "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",   "/lib/ld-musl-i386.so.1",
};

bool files_is_several(const char *name, bool *ret_argument)
{
    for (size_t i = 0; i < sizeof(several) / sizeof(several[0]); i++) {
        if (strcmp(several[i].name, name) == 0) {
            *ret_argument = several[i].argument;
            return true;
        }
    }
    return false;
}

const char *files_several(size_t index)
{
    return index < sizeof(several) / sizeof(several[0]) ? several[index].name : NULL;
}

static int open_dirs(struct arena *arena, const char *search_path, struct files *f,
                     struct stat known[static FILES_DIRS_MAX])
{
    f->dirs = arena_alloc_array(arena, FILES_DIRS_MAX, sizeof(*f->dirs));
    if (!f->dirs)
        return -ENOMEM;
    for (const char *at = search_path; *at && f->dir_count < FILES_DIRS_MAX;) {
        size_t len = strcspn(at, ":"), i = 0;
        const char *dir = arena_copy(arena, at, len);
        at += len + (at[len] == ':');
        struct stat st;
        FD_CLEANUP int fd = dir && dir[0] == '/' ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (fd < 0 || fstat(fd, &st) < 0)
            continue;
        while (i < f->dir_count && (known[i].st_dev != st.st_dev || known[i].st_ino != st.st_ino))
            i++;
        if (i < f->dir_count)
            continue; /* /bin is /usr/bin */
        known[f->dir_count] = st;
        f->dirs[f->dir_count++] = fd_steal(&fd);
    }
    return 0;
}

static bool is_program(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH);
}

/* There may be many, and are few: what is never used is not to be touched. */
static int grow(struct arena *arena, struct files *f)
{
    enum { ROOM = 64 };
    const size_t room = f->room ? 4 * f->room : ROOM;
    struct files_entry *entries = arena_alloc_array(arena, room, sizeof(*entries));
    if (!entries)
        return -ENOMEM;
    if (f->count)
        memcpy(entries, f->entries, f->count * sizeof(*entries));
    f->entries = entries;
    f->room = room;
    return 0;
}

static int add(struct arena *arena, struct files *f, enum files_kind kind, const char *name,
               int dir, const char *path)
{
    struct stat st;
    if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    bool link = S_ISLNK(st.st_mode);
    if ((link && fstatat(dir, path, &st, 0) < 0) || !is_program(&st) || f->count == ENTRIES_MAX)
        return 0;
    if (f->count == f->room && grow(arena, f) < 0)
        return -ENOMEM;
    /* It is opened again where bytes are compared: by its directory, which does not change. */
    const char *copy =
        dir == AT_FDCWD ? path : arena_format(arena, "/proc/self/fd/%d/%s", dir, path);
    if (!copy)
        return -ENOMEM;
    f->entries[f->count++] = (struct files_entry){.kind = kind,
                                                  .name = name,
                                                  .path = copy,
                                                  .link = link,
                                                  .dev = st.st_dev,
                                                  .ino = st.st_ino,
                                                  .size = st.st_size};
    return 0;
}

/* Every name has its looks, whether it needs them or not: which bit is whose depends on nothing
 * that was found, since that may be another program tomorrow, in the same directory. */
static int add_name(struct arena *arena, struct files *f, enum files_kind kind, const char *name)
{
    const size_t first = f->lookups;
    int r = 0;
    f->lookups += f->dir_count;
    for (size_t i = 0; i < f->count; i++) {
        if (f->entries[i].kind == kind && strcmp(f->entries[i].name, name) == 0)
            return 0;
    }
    for (size_t i = 0; r == 0 && i < f->dir_count; i++) {
        const size_t look = first + i;
        const bool remembered = f->found && look < FILES_LOOKUPS_MAX;
        const unsigned char bit = (unsigned char)(1U << look % 8);
        struct stat own;
        if (remembered && f->known && !(f->found[look / 8] & bit))
            continue;
        /* What changes no directory is not remembered: a mode, what a link leads to. */
        if (remembered && !f->known) {
            if (fstatat(f->dirs[i], name, &own, AT_SYMLINK_NOFOLLOW) < 0)
                continue;
            f->found[look / 8] |= bit;
        }
        r = add(arena, f, kind, name, f->dirs[i], name);
    }
    return r;
}

/* --- what was found before -------------------------------------------------------------------- */

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* False: something was just changed, and a later change might not show. */
static bool key_of(const struct policy *policy, const struct stat *dirs, size_t count,
                   unsigned char ret[SHA256_BYTES])
{
    static const char form[] = "2"; /* another version may look for other names */
    struct sha256 hash;
    struct timespec now;
    bool settled = true;
    clock_gettime(CLOCK_REALTIME, &now);
    sha256_start(&hash);
    sha256_add(&hash, form, sizeof(form));
    sha256_add(&hash, policy->hash, sizeof(policy->hash));
    for (size_t i = 0; i < sizeof(several) / sizeof(several[0]); i++)
        sha256_add(&hash, several[i].name, strlen(several[i].name) + 1); /* another version's */
    for (size_t i = 0; i < count; i++) {
        const int64_t facts[] = {(int64_t)dirs[i].st_dev, (int64_t)dirs[i].st_ino,
                                 ns_of(dirs[i].st_mtim), ns_of(dirs[i].st_ctim)};
        sha256_add(&hash, facts, sizeof(facts));
        settled = settled && clock_is_settled(&dirs[i], ns_of(now));
    }
    sha256_end(&hash, ret);
    return settled;
}

/* Only its owner gets into the state directory; what is there is as good as our own memory. */
static bool load(const char *state, struct files_known *ret)
{
    char path[PATH_MAX];
    struct stat st;
    if (!state || snprintf(path, sizeof(path), "%s/" NAMES, state) >= (int)sizeof(path))
        return false;
    FD_CLEANUP int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & 077) && read(fd, ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
}

/* That it cannot be written is no failure: the next one looks again. */
static void save(const char *state, const struct files_known *known)
{
    char path[PATH_MAX], temporary[PATH_MAX + 8];
    if (!state || snprintf(path, sizeof(path), "%s/" NAMES, state) >= (int)sizeof(path))
        return;
    snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
    FD_CLEANUP int fd = mkostemp(temporary, O_CLOEXEC); /* 0600 */
    if (fd >= 0 &&
        (fd_write_all(fd, (const char *)known, sizeof(*known)) < 0 || rename(temporary, path) < 0))
        unlink(temporary);
}

static void recall(struct files_memory *memory, const char *state,
                   const unsigned char key[SHA256_BYTES], struct files *f)
{
    pthread_mutex_lock(&memory->lock);
    if (!memory->known)
        memory->known = load(state, &memory->last);
    f->known = memory->known && memcmp(memory->last.key, key, SHA256_BYTES) == 0;
    if (f->known)
        memcpy(f->found, memory->last.found, sizeof(memory->last.found));
    pthread_mutex_unlock(&memory->lock);
}

static void remember(struct files_memory *memory, const char *state,
                     const unsigned char key[SHA256_BYTES], const struct files *f)
{
    struct files_known now;
    memcpy(now.key, key, SHA256_BYTES);
    memcpy(now.found, f->found, sizeof(now.found));
    pthread_mutex_lock(&memory->lock);
    memory->known = true;
    memory->last = now;
    pthread_mutex_unlock(&memory->lock);
    save(state, &now);
}

int files_open(struct arena *arena, const struct policy *policy, const char *search_path,
               struct files_memory *memory, const char *state, struct files *ret)
{
    const struct policy_patterns *const lists[] = {&policy->deny, &policy->confirm};
    struct stat dirs[FILES_DIRS_MAX] = {0};
    unsigned char key[SHA256_BYTES];
    *ret = (struct files){0};
    int r = open_dirs(arena, search_path, ret, dirs);
    bool settled = r == 0 && memory && key_of(policy, dirs, ret->dir_count, key);
    ret->found = settled ? arena_alloc(arena, sizeof(memory->last.found)) : NULL;
    if (ret->found) {
        memset(ret->found, 0, sizeof(memory->last.found));
        recall(memory, state, key, ret);
    }
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; r == 0 && i < lists[l]->count; i++) {
            const struct policy_pattern *p = &lists[l]->items[i];
            if (!p->lifted && !strchr(p->words[0], '/'))
                r = add_name(arena, ret, FILES_NAMED, p->words[0]);
        }
    }
    for (size_t i = 0; r == 0 && i < sizeof(several) / sizeof(several[0]); i++)
        r = add_name(arena, ret, FILES_SEVERAL, several[i].name);
    for (size_t i = 0; r == 0 && i < sizeof(loaders) / sizeof(loaders[0]); i++)
        r = add(arena, ret, FILES_LOADER, loaders[i], AT_FDCWD, loaders[i]);
    if (r == 0 && ret->found && !ret->known)
        remember(memory, state, key, ret);
    if (r < 0)
        files_close(ret);
    return r;
}

void files_close(struct files *f)
{
    while (f->dir_count)
        close(f->dirs[--f->dir_count]);
}

/* Files that are as long as each other: to the first byte that differs. */
static bool has_same_bytes(int fd, const char *path, off_t size)
{
    char ours[CHUNK], theirs[CHUNK];
    FD_CLEANUP int other = open(path, O_RDONLY | O_CLOEXEC);
    if (other < 0)
        return false;
    for (off_t at = 0; at < size;) {
        ssize_t a = pread(fd, ours, sizeof(ours), at), b = pread(other, theirs, sizeof(theirs), at);
        if (a <= 0 || a != b || memcmp(ours, theirs, (size_t)a) != 0)
            return false;
        at += a;
    }
    return true;
}

const struct files_entry *files_match(const struct files *f, int fd, const struct stat *st,
                                      size_t *at, bool *exact)
{
    while (*at < f->count) {
        const struct files_entry *entry = &f->entries[(*at)++];
        if (entry->size != st->st_size)
            continue;
        *exact = entry->dev == st->st_dev && entry->ino == st->st_ino;
        if (*exact || has_same_bytes(fd, entry->path, entry->size))
            return entry;
    }
    return NULL;
}

bool files_is_found(const struct files *f, const char *name, const struct stat *st, bool *ret_link)
{
    struct stat found, own;
    if (!name[0] || strchr(name, '/'))
        return false;
    for (size_t i = 0; i < f->dir_count; i++) {
        if (fstatat(f->dirs[i], name, &found, 0) < 0 || !is_program(&found))
            continue;
        *ret_link =
            fstatat(f->dirs[i], name, &own, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(own.st_mode);
        return found.st_dev == st->st_dev && found.st_ino == st->st_ino;
    }
    return false;
}
