/* See attributes.h. The kernel has no calls for them that take a directory and a name. */
#include "changes/attributes.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { LIST_MAX = 65536, VALUE_MAX = 65536 }; /* the kernel's own limits */

/* The overlay's own; the inside cannot set them, and what it named so (escaped as
 * user.overlay.overlay.) would mean something to the next overlay: it is not kept either. */
#define OURS "user.overlay."

void attributes_path(int dir, const char *name, char ret[static ATTRIBUTES_PATH])
{
    /* With a slash behind it the link is followed, and nothing is looked for in the directory,
     * which may not be searched. */
    bool self = strcmp(name, ".") == 0;
    snprintf(ret, ATTRIBUTES_PATH, "/proc/self/fd/%d/%s", dir, self ? "" : name);
}

static bool starts(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Not a file system with such attributes: then there are none. */
static ssize_t list_names(const char *path, char *names, size_t size)
{
    ssize_t n = llistxattr(path, names, size);
    return n < 0 && (errno == ENOTSUP || errno == ENOSYS) ? 0 : n < 0 ? -errno : n;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What its owner may not read or write has attributes that its owner may not read or write either.
 */
struct opened {
    const char *path;
    mode_t mode; /* with its type; 0: it was open */
};

static bool open_up(const char *path, struct opened *o)
{
    struct stat st;
    o->path = path;
    if (o->mode || lstat(path, &st) < 0 || S_ISLNK(st.st_mode) || (st.st_mode & 0600) == 0600 ||
        chmod(path, (st.st_mode & 07777) | 0600) < 0)
        return false;
    o->mode = st.st_mode;
    return true;
}

static int close_again(const struct opened *o)
{
    return o->mode && chmod(o->path, o->mode & 07777) < 0 ? -errno : 0;
}

static ssize_t get_one(const char *path, const char *name, char *value, size_t size,
                       struct opened *o)
{
    ssize_t n = lgetxattr(path, name, value, size);
    if (n < 0 && errno == EACCES && open_up(path, o))
        n = lgetxattr(path, name, value, size);
    return n < 0 ? -errno : n;
}

/* Security modules keep these themselves, and nobody else may write them. */
static bool is_kept(const char *name)
{
    return !starts(name, "security.") && !starts(name, OURS);
}

int attributes_read(struct arena *arena, const char *path, const char **ret, size_t *ret_len)
{
    char small[1024];
    *ret = "";
    *ret_len = 0;
    ssize_t n = list_names(path, small, sizeof(small));
    if (n == 0)
        return 0;
    char *names = small, *large = NULL;
    if (n == -ERANGE) {
        names = large = malloc(LIST_MAX);
        n = large ? list_names(path, large, LIST_MAX) : -ENOMEM;
    }
    const char **sorted = n > 0 ? malloc((size_t)n * sizeof(*sorted)) : NULL;
    char *value = n > 0 ? malloc(VALUE_MAX) : NULL;
    int r = n < 0 ? (int)n : !sorted || !value ? -ENOMEM : 0;
    size_t count = 0, used = 0, room = 0;
    char *bytes = NULL;
    struct opened opened = {0};
    for (ssize_t at = 0; r == 0 && at < n; at += (ssize_t)strlen(names + at) + 1) {
        if (is_kept(names + at))
            sorted[count++] = names + at;
    }
    if (count)
        qsort(sorted, count, sizeof(*sorted), compare_names);
    for (size_t i = 0; r == 0 && i < count; i++) {
        ssize_t len = get_one(path, sorted[i], value, VALUE_MAX, &opened);
        if (len < 0) {
            r = len == -ENODATA ? 0 : (int)len;
            continue;
        }
        size_t name_len = strlen(sorted[i]) + 1,
               need = used + name_len + sizeof(uint32_t) + (size_t)len;
        if (need > room || !bytes) {
            room = need * 2;
            char *more = arena_alloc(arena, room);
            if (!more) {
                r = -ENOMEM;
                break;
            }
            if (bytes)
                memcpy(more, bytes, used);
            bytes = more;
        }
        uint32_t size = (uint32_t)len;
        memcpy(bytes + used, sorted[i], name_len);
        memcpy(bytes + used + name_len, &size, sizeof(size));
        memcpy(bytes + used + name_len + sizeof(size), value, (size_t)len);
        used = need;
    }
    free(large);
    free(sorted);
    free(value);
    int closed = close_again(&opened);
    r = r < 0 ? r : closed;
    if (r == 0 && used) {
        *ret = bytes;
        *ret_len = used;
    }
    return r;
}

/* One record of the bytes; false at their end, or where they are not whole. */
static bool next_record(const char **at, const char *end, const char **ret_name,
                        const char **ret_value, uint32_t *ret_len)
{
    const char *nul = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;
    if (!nul || (size_t)(end - nul - 1) < sizeof(*ret_len))
        return false;
    *ret_name = *at;
    memcpy(ret_len, nul + 1, sizeof(*ret_len));
    *ret_value = nul + 1 + sizeof(*ret_len);
    if (*ret_len > (size_t)(end - *ret_value))
        return false;
    *at = *ret_value + *ret_len;
    return true;
}

static bool is_among(const char *bytes, size_t len, const char *wanted)
{
    const char *at = bytes, *end = bytes + len, *name, *value;
    uint32_t value_len;
    while (next_record(&at, end, &name, &value, &value_len)) {
        if (strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

static int remove_one(const char *path, const char *name, struct opened *o)
{
    if (lremovexattr(path, name) == 0 || errno == ENODATA ||
        (errno == EACCES && open_up(path, o) && lremovexattr(path, name) == 0))
        return 0;
    return -errno;
}

static int set_one(const char *path, const char *name, const char *value, size_t len,
                   struct opened *o)
{
    if (lsetxattr(path, name, value, len, 0) == 0 ||
        (errno == EACCES && open_up(path, o) && lsetxattr(path, name, value, len, 0) == 0))
        return 0;
    return -errno;
}

int attributes_write(const char *path, const char *bytes, size_t len)
{
    char *names = malloc(LIST_MAX);
    if (!names)
        return -ENOMEM;
    struct opened opened = {0};
    ssize_t n = list_names(path, names, LIST_MAX);
    int r = n < 0 ? (int)n : 0;
    for (ssize_t at = 0; r == 0 && at < n; at += (ssize_t)strlen(names + at) + 1) {
        if (!starts(names + at, "security.") && !is_among(bytes, len, names + at))
            r = remove_one(path, names + at, &opened);
    }
    free(names);
    const char *at = bytes, *end = bytes + len, *name, *value;
    uint32_t value_len;
    while (r == 0 && next_record(&at, end, &name, &value, &value_len))
        r = set_one(path, name, value, value_len, &opened);
    int closed = close_again(&opened);
    return r < 0 ? r : closed;
}

int attributes_marks(const char *path, unsigned *ret)
{
    char value[8];
    *ret = 0;
    struct opened opened = {0};
    ssize_t n = get_one(path, OURS "opaque", value, sizeof(value), &opened);
    int r = n < 0 && n != -ENODATA && n != -ENOTSUP ? (int)n : 0;
    if (n == 1 && value[0] == 'y')
        *ret |= ATTRIBUTES_OPAQUE;
    if (r == 0 && get_one(path, OURS "origin", NULL, 0, &opened) >= 0)
        *ret |= ATTRIBUTES_COPIED;
    int closed = close_again(&opened);
    return r < 0 ? r : closed;
}

int attributes_strip(const char *path)
{
    char names[4096];
    ssize_t n = list_names(path, names, sizeof(names));
    char *large = NULL, *all = names;
    if (n == -ERANGE) {
        all = large = malloc(LIST_MAX);
        n = large ? list_names(path, large, LIST_MAX) : -ENOMEM;
    }
    int r = n < 0 ? (int)n : 0;
    struct opened opened = {0};
    for (ssize_t at = 0; r == 0 && at < n; at += (ssize_t)strlen(all + at) + 1) {
        if (starts(all + at, OURS))
            r = remove_one(path, all + at, &opened);
    }
    free(large);
    int closed = close_again(&opened);
    return r < 0 ? r : closed;
}
