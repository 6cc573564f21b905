/* Reading the cache's bytes; see fs_hash_cache.h. Writing them: fs_hash_cache_write.c. */
#include "changes/fs_hash_cache.h"

#include <errno.h>
#include <string.h>

#include "changes/fs_hash_cache_format.h"

struct cache_header cache_header_of_ours(void)
{
    return (struct cache_header){.title = {"nacre fs cache 2"},
                                 .order = BYTE_ORDER_MARK,
                                 .record_bytes = sizeof(struct cache_record),
                                 .part_bytes = sizeof(struct cache_part)};
}

size_t cache_record_bytes(size_t name_len)
{
    return (sizeof(struct cache_record) + name_len + sizeof(uint64_t)) & ~(sizeof(uint64_t) - 1);
}

uint64_t cache_next(const struct cache *c, uint64_t at)
{
    return at + cache_record_bytes(cache_record(c, at)->name_len);
}

struct identity cache_part_identity(const struct cache_part *part)
{
    return (struct identity){part->device,      part->inode,      part->size,
                             part->modified_ns, part->changed_ns, part->mode};
}

struct identity cache_record_identity(const struct cache_record *record)
{
    return (struct identity){record->device,      record->inode,      record->size,
                             record->modified_ns, record->changed_ns, record->mode};
}

struct fs_hash_sums cache_sum(const struct cache *c, uint32_t part)
{
    struct fs_hash_sums sums = {0};
    /* One level after the other: their numbers have no gaps. */
    for (uint32_t from = part, to = part + 1; from < to;) {
        for (uint32_t i = from; i < to; i++) {
            sums.files += c->parts[i].files;
            sums.bytes += c->parts[i].bytes;
        }
        uint32_t below = c->parts[from].first;
        to = c->parts[to - 1].first + c->parts[to - 1].directories;
        from = below;
    }
    return sums;
}

/* --- what is refused ------------------------------------------------------------------------- */

static bool is_name(const char *name, size_t len)
{
    return len > 0 && len <= NAME_BYTES_MAX && !memchr(name, '/', len) &&
           !memchr(name, '\0', len) && !(len == 1 && name[0] == '.') &&
           !(len == 2 && name[0] == '.' && name[1] == '.');
}

static bool is_type(const struct cache_record *record)
{
    uint32_t format = record->mode & S_IFMT;
    switch (record->type) {
    case FS_HASH_DIRECTORY:
        return record->mode == 0;
    case FS_HASH_FILE:
        return format == S_IFREG;
    case FS_HASH_LINK:
        return format == S_IFLNK;
    case FS_HASH_FIFO:
        return format == S_IFIFO;
    case FS_HASH_SOCKET:
        return format == S_IFSOCK;
    case FS_HASH_CHARACTER:
        return format == S_IFCHR;
    case FS_HASH_BLOCK:
        return format == S_IFBLK;
    default:
        return false;
    }
}

/* The record at `*at`, which must end before `end`; `*at` is behind it then. */
static const struct cache_record *take(const struct cache *c, uint64_t *at, uint64_t end)
{
    if (end - *at < sizeof(struct cache_record))
        return NULL;
    const struct cache_record *record = cache_record(c, *at);
    size_t size = cache_record_bytes(record->name_len);
    if (end - *at < size || record->zero || !is_name(record->name, record->name_len) ||
        !is_type(record))
        return NULL;
    for (const char *gap = record->name + record->name_len; gap < (const char *)record + size;
         gap++) {
        if (*gap)
            return NULL;
    }
    *at += size;
    return record;
}

/* Whether a part's row says what its records say, which are the next ones. */
static bool is_part(const struct cache *c, uint32_t number, uint64_t *at, uint64_t end,
                    uint32_t *next)
{
    const struct cache_part *part = &c->parts[number];
    if (part->at != *at || part->first != *next || part->zero ||
        part->flags & ~(CACHE_SETTLED | CACHE_WHOLE) || !S_ISDIR(part->mode))
        return false;
    for (uint32_t i = 0; i < part->directories; i++, (*next)++) {
        uint64_t name_at = *at;
        const struct cache_record *record = take(c, at, end);
        const struct cache_part *below = &c->parts[*next];
        if (!record || record->type != FS_HASH_DIRECTORY || *next >= c->part_count ||
            below->parent != number || below->name_at != name_at ||
            part->depth == FS_HASH_DEPTH_MAX || below->depth != part->depth + 1)
            return false;
    }
    if (part->others_at != *at)
        return false;
    uint32_t files = 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < part->others; i++) {
        const struct cache_record *record = take(c, at, end);
        if (!record || record->type == FS_HASH_DIRECTORY)
            return false;
        files += record->type == FS_HASH_FILE;
        bytes += record->type == FS_HASH_FILE ? record->size : 0;
    }
    return part->files == files && part->bytes == bytes;
}

int cache_read(struct cache *c, char *bytes, size_t len)
{
    struct cache_header header, ours = cache_header_of_ours();
    if (len < sizeof(header))
        return -EBADMSG;
    memcpy(&header, bytes, sizeof(header));
    memcpy(ours.root, header.root, SHA256_BYTES);
    memcpy(ours.asked, header.asked, SHA256_BYTES);
    ours.part_count = header.part_count;
    if (memcmp(&header, &ours, sizeof(header)) != 0 || header.part_count == 0 ||
        header.part_count > UINT32_MAX ||
        (len - sizeof(header)) / sizeof(struct cache_part) < header.part_count)
        return -EBADMSG;
    uint64_t at = sizeof(header), end = len - header.part_count * sizeof(struct cache_part);
    if (end % sizeof(uint64_t))
        return -EBADMSG;
    struct cache read = {
        .bytes = bytes,
        .len = len,
        .parts = (const void *)(bytes + end),
        .part_count = (uint32_t)header.part_count,
        .root = (const unsigned char *)bytes + offsetof(struct cache_header, root),
        .asked = (const unsigned char *)bytes + offsetof(struct cache_header, asked),
    };
    uint32_t next = 1;
    if (read.parts[0].parent || read.parts[0].name_at || read.parts[0].depth)
        return -EBADMSG;
    for (uint32_t i = 0; i < read.part_count; i++) {
        if (!is_part(&read, i, &at, end, &next))
            return -EBADMSG;
    }
    if (at != end || next != read.part_count)
        return -EBADMSG;
    *c = read;
    return 0;
}
