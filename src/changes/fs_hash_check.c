/* Looking whether all is as it was, by several threads; see fs_hash_check.h. */
#include "changes/fs_hash_check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "changes/beneath.h"

/* A thread costs some tens of microseconds, as much as that many looks. */
enum { THREADS_MAX = 4, UNIT_RECORDS = 512, RECORDS_FOR_A_THREAD = 1000 };

/* What one thread does in one go: a directory, or a piece of a large one. */
struct unit {
    uint64_t at; /* of the first record */
    uint32_t count;
    uint32_t part;
};

struct check {
    const struct cache *cache;
    int root_fd;
    const struct unit *units;
    size_t unit_count;
    atomic_size_t next;
    _Atomic unsigned char *same;
};

bool check_is_stamped(int fd)
{
    static const uint32_t types[] = {
        EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,    TMPFS_MAGIC,
        F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, 0x2fc12fc1 /* ZFS */, 0xca451a4e /* bcachefs */,
    };
    struct statfs fs;
    if (fstatfs(fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if ((uint32_t)fs.f_type == types[i])
            return true;
    }
    return false;
}

/* From the root; NULL for one that is too long to be opened in one go. */
static const char *path_of(const struct cache *c, uint32_t part, char room[static PATH_MAX])
{
    size_t at = PATH_MAX - 1;
    room[at] = '\0';
    if (part == 0)
        return ".";
    for (; part; part = c->parts[part].parent) {
        const struct cache_record *record = cache_record(c, c->parts[part].name_at);
        if (record->name_len + 1U > at)
            return NULL;
        at -= record->name_len;
        memcpy(room + at, record->name, record->name_len);
        room[--at] = '/';
    }
    return room + at + 1;
}

static bool is_at(int fd, const char *name, int flags, const struct identity *known)
{
    struct stat st;
    if (fstatat(fd, name, &st, flags) < 0)
        return false;
    struct identity now = identity_of(&st);
    return identity_is_same(&now, known);
}

static bool is_same(const struct check *check, const struct unit *unit)
{
    char room[PATH_MAX];
    const struct cache *c = check->cache;
    const struct identity itself = cache_part_identity(&c->parts[unit->part]);
    const char *path = path_of(c, unit->part, room);
    /* To be read, though it is not: one that became unreadable is not what it was. */
    FD_CLEANUP int fd =
        path ? beneath_open(check->root_fd, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK) : -1;
    if (fd < 0 || !is_at(fd, ".", 0, &itself))
        return false;
    uint64_t at = unit->at;
    for (uint32_t i = 0; i < unit->count; i++) {
        const struct cache_record *record = cache_record(c, at);
        const struct identity known = cache_record_identity(record);
        if (!is_at(fd, record->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, &known))
            return false;
        at = cache_next(c, at);
    }
    return is_at(fd, ".", 0, &itself);
}

static void *work(void *user)
{
    struct check *check = user;
    for (size_t i; (i = atomic_fetch_add(&check->next, 1)) < check->unit_count;) {
        const struct unit *unit = &check->units[i];
        if (!is_same(check, unit))
            atomic_store(&check->same[unit->part], 0);
    }
    return NULL;
}

static size_t threads_for(size_t records)
{
    cpu_set_t set;
    size_t most = sched_getaffinity(0, sizeof(set), &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
    most = most < THREADS_MAX ? most : THREADS_MAX;
    return records / RECORDS_FOR_A_THREAD + 1 < most ? records / RECORDS_FOR_A_THREAD + 1 : most;
}

static void work_together(struct check *check, size_t records)
{
    pthread_t threads[THREADS_MAX];
    size_t started = 0, wanted = threads_for(records) - 1;
    while (started < wanted && pthread_create(&threads[started], NULL, work, check) == 0)
        started++;
    work(check);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

/* How many there are; writes them where there is room. */
static size_t cut_units(const struct cache *c, unsigned char *same, struct unit *units,
                        size_t *records)
{
    size_t count = 0;
    *records = 0;
    for (uint32_t i = 0; i < c->part_count; i++) {
        const struct cache_part *part = &c->parts[i];
        if (part->flags != (CACHE_SETTLED | CACHE_WHOLE)) {
            same[i] = 0;
            continue;
        }
        *records += 1 + (size_t)part->others;
        uint64_t at = part->others_at;
        uint32_t left = part->others;
        do {
            uint32_t some = left < UNIT_RECORDS ? left : UNIT_RECORDS;
            if (units)
                units[count] = (struct unit){at, some, i};
            count++;
            left -= some;
            for (; left && units && some; some--)
                at = cache_next(c, at);
        } while (left);
    }
    return count;
}

int check_parts(const struct cache *c, const struct allocator *allocator, int root_fd,
                unsigned char **ret_same)
{
    unsigned char *same = alloc_resize(allocator, NULL, c->part_count);
    if (!same)
        return -ENOMEM;
    memset(same, 1, c->part_count);
    size_t records, count = cut_units(c, same, NULL, &records);
    struct unit *units = alloc_resize(allocator, NULL, (count + 1) * sizeof(*units));
    if (!units) {
        alloc_free(allocator, same);
        return -ENOMEM;
    }
    cut_units(c, same, units, &records);
    struct check check = {.cache = c,
                          .root_fd = root_fd,
                          .units = units,
                          .unit_count = count,
                          .same = (_Atomic unsigned char *)same};
    work_together(&check, records);
    alloc_free(allocator, units);
    *ret_same = same;
    return memchr(same, 0, c->part_count) ? 0 : 1;
}
