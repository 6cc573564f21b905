/*
 * Secrets that a run writes into files which git tracks: the next commit would carry them away. The
 * list of tracked files is read from git's index, as the run left it (gitformat-index(5), versions
 * 2 to 4); it may be the inside's work, and is read as such.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/beneath.h"
#include "engine/engine.h"

enum {
    INDEX_BYTES_MAX = 64 << 20,
    FILE_BYTES_MAX = 4 << 20, /* larger ones are seldom written by hand, and never looked at */
    ALL_BYTES_MAX = 64 << 20,
};

/* --- git's index ------------------------------------------------------------------------------ */

static uint32_t read_u32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

struct index {
    const unsigned char *at, *end;
    uint32_t version, left;
    char name[4096]; /* of the last entry */
    size_t name_len;
};

static bool index_begin(struct index *i, const unsigned char *bytes, size_t len)
{
    enum { HEADER = 12 };
    *i = (struct index){.at = bytes + HEADER, .end = bytes + len};
    if (len < HEADER || memcmp(bytes, "DIRC", 4) != 0)
        return false;
    i->version = read_u32(bytes + 4);
    i->left = read_u32(bytes + 8);
    return i->version >= 2 && i->version <= 4;
}

/* How many bytes of the name before it a name of version 4 drops: 7 bits a byte, the high first. */
static bool read_dropped(struct index *i, size_t *ret)
{
    size_t value = 0;
    for (int k = 0; k < 4 && i->at < i->end; k++) {
        unsigned char byte = *i->at++;
        value = k ? (value + 1) << 7 | (byte & 127) : byte & 127U;
        if (!(byte & 128)) {
            *ret = value;
            return true;
        }
    }
    return false;
}

/* The next entry's name goes to `name`. False: there is none, or it is not to be understood. */
static bool index_next(struct index *i)
{
    enum { FIXED = 62, FLAGS = 60, EXTENDED = 0x4000 };
    const unsigned char *start = i->at;
    if (!i->left || (size_t)(i->end - start) < FIXED + 2)
        return false;
    bool extended = i->version >= 3 && (start[FLAGS] << 8 & EXTENDED);
    i->at += FIXED + (extended ? 2 : 0);
    size_t dropped = 0, kept = 0;
    if (i->version == 4 && !read_dropped(i, &dropped))
        return false;
    if (i->version == 4)
        kept = dropped <= i->name_len ? i->name_len - dropped : 0;
    const unsigned char *nul = memchr(i->at, '\0', (size_t)(i->end - i->at));
    size_t rest = nul ? (size_t)(nul - i->at) : sizeof(i->name);
    if (kept + rest >= sizeof(i->name))
        return false;
    memcpy(i->name + kept, i->at, rest);
    i->name_len = kept + rest;
    i->name[i->name_len] = '\0';
    i->at = nul + 1;
    /* Until version 4 entries are filled up to a multiple of eight bytes. */
    if (i->version < 4) {
        size_t whole = ((size_t)(nul - start) + 8) & ~(size_t)7;
        if (whole > (size_t)(i->end - start))
            return false;
        i->at = start + whole;
    }
    i->left--;
    return true;
}

/* --- files ------------------------------------------------------------------------------------ */

static int read_all(struct arena *arena, int fd, size_t max, const char **ret, size_t *ret_len)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 ||
        (uint64_t)st.st_size > max)
        return -EINVAL;
    char *bytes = arena_alloc(arena, (size_t)st.st_size + 1);
    size_t used = 0;
    ssize_t n = 1;
    while (bytes && n > 0 && used < (size_t)st.st_size) {
        n = read(fd, bytes + used, (size_t)st.st_size - used);
        used += n > 0 ? (size_t)n : 0;
    }
    *ret = bytes;
    *ret_len = used;
    return bytes ? 0 : -ENOMEM;
}

/* A file of a root as the run left it: in its layer if it was written there, else in the root. */
static int open_left(const nacre_result *r, uint32_t root, const char *path, struct arena *arena)
{
    const struct change_set *set = &r->changes;
    const char *from = set->roots[root].path;
    for (size_t i = 0; i < set->change_count; i++) {
        const struct change *c = &set->changes[i];
        if (c->root == root && strcmp(c->path, path) == 0 && c->after.mode) {
            path = change_slot(set, c, arena);
            from = set->roots[root].layer;
            break;
        }
    }
    FD_CLEANUP int dir = open(from, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return dir < 0 || !path ? -1 : beneath_open_file(dir, path);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a root's index, sorted; read once, for it may be large, and the changes many. */
static const struct leaks_index *read_index(nacre_result *r, uint32_t root, uint64_t *looked_at)
{
    struct leaks_index *i = &r->leaks_index;
    struct index index;
    const char *bytes = NULL;
    size_t len = 0, room = 0;
    if (i->known && i->root == root)
        return i;
    *i = (struct leaks_index){.known = true, .root = root};
    FD_CLEANUP int fd = open_left(r, root, ".git/index", &r->arena);
    if (read_all(&r->arena, fd, INDEX_BYTES_MAX, &bytes, &len) < 0 ||
        !index_begin(&index, (const unsigned char *)bytes, len))
        return i;
    *looked_at += len;
    /* An entry has 64 bytes at least, so there are no more than that. */
    room = len / 64 + 1;
    i->names = arena_alloc_array(&r->arena, room, sizeof(*i->names));
    /* Names of version 4 are longer than what stands for them. */
    size_t all = 0;
    while (i->names && i->count < room && index_next(&index) &&
           (all += index.name_len) <= INDEX_BYTES_MAX) {
        const char *name = arena_copy(&r->arena, index.name, index.name_len);
        if (!name)
            break;
        i->names[i->count++] = name;
    }
    if (i->names && i->count)
        qsort(i->names, i->count, sizeof(*i->names), compare_names);
    return i;
}

static bool is_tracked(nacre_result *r, uint32_t root, const char *path, uint64_t *looked_at)
{
    const struct leaks_index *i = read_index(r, root, looked_at);
    return i->count && bsearch(&path, i->names, i->count, sizeof(*i->names), compare_names);
}

/* The rule by which a file holds a secret; NULL: it holds none, or is not looked at. */
static const char *find_secret(const nacre_result *r, int fd, uint64_t *looked_at)
{
    struct arena arena;
    struct redact_found found;
    const char *bytes, *rule = NULL;
    size_t len;
    arena_init(&arena, &allocator_libc, (size_t)FILE_BYTES_MAX + (1 << 16));
    if (read_all(&arena, fd, FILE_BYTES_MAX, &bytes, &len) == 0) {
        *looked_at += len;
        const struct redactor *redactor =
            r->recording.output_redactor ? r->recording.output_redactor : r->recording.redactor;
        if (redact_find(redactor, bytes, len, &found, NULL) == 1)
            rule = found.rule;
    }
    arena_release(&arena);
    return rule;
}

const char *leaks_find(nacre_result *r, const struct change *c, uint64_t *looked_at)
{
    if (!r->recording.redactor || *looked_at > ALL_BYTES_MAX || !S_ISREG(c->after.mode) ||
        (c->kind != CHANGE_CREATED && c->kind != CHANGE_MODIFIED))
        return NULL;
    const struct change_set *set = &r->changes;
    const char *slot = change_slot(set, c, &r->arena);
    FD_CLEANUP int layer =
        open(set->roots[c->root].layer, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_CLEANUP int after = layer < 0 || !slot ? -1 : beneath_open_file(layer, slot);
    const char *rule = find_secret(r, after, looked_at);
    if (!rule)
        return NULL;
    /* One that was there before is no news. */
    FD_CLEANUP int root =
        open(set->roots[c->root].path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    FD_CLEANUP int before =
        root < 0 || !S_ISREG(c->before.mode) ? -1 : beneath_open_file(root, c->path);
    const char *old = before < 0 ? NULL : find_secret(r, before, looked_at);
    bool known = old && strcmp(old, rule) == 0;
    return !known && is_tracked(r, c->root, c->path, looked_at) ? rule : NULL;
}
