/* The cache's bytes; see fs_hash_cache.h. The file itself: fs_hash_cache_file.c. */
#include "changes/fs_hash_cache.h"

#include <errno.h>
#include <string.h>

#define BYTE_ORDER_MARK UINT32_C(0x01020304)

struct header {
    char title[16];
    uint32_t order;
    uint32_t record_bytes;
};

/* No gaps, so that no byte of it is left to chance. */
struct record {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
    uint32_t identity_mode;
    uint16_t name_len;
    uint8_t type;
    uint8_t zero;
    unsigned char hash[SHA256_BYTES];
};
_Static_assert(sizeof(struct record) == 80, "a record has no gaps");

static struct header header_of_ours(void)
{
    return (struct header){.title = {"nacre fs cache 1"},
                           .order = BYTE_ORDER_MARK,
                           .record_bytes = sizeof(struct record)};
}

/* --- writing --------------------------------------------------------------------------------- */

/* Files and links that were at rest when they were read, and the way to them. */
static bool is_kept(const struct entry *entry)
{
    return entry->directory ? entry->state == ENTRY_READ : entry->settled;
}

static void encode_entry(const struct entry *entry, struct buf *out)
{
    struct record record = {.name_len = entry->name_len, .type = (uint8_t)entry->type};
    if (!entry->directory) {
        record.device = entry->identity.device;
        record.inode = entry->identity.inode;
        record.size = entry->identity.size;
        record.modified_ns = entry->identity.modified_ns;
        record.changed_ns = entry->identity.changed_ns;
        record.identity_mode = entry->identity.mode;
        memcpy(record.hash, entry->hash, SHA256_BYTES);
    }
    buf_append(out, &record, sizeof(record));
    buf_append(out, entry->name, entry->name_len);
}

int cache_encode(const struct tree *t, struct buf *out)
{
    const struct header header = header_of_ours();
    buf_append(out, &header, sizeof(header));
    /* Directories that were written and whose own entries were not yet; `next` is in use by both
     * lists, and an entry leaves the one before it comes into the other. */
    struct entry *first = t->root, *last = t->root;
    first->next = NULL;
    for (; first && !out->failed; first = first->next) {
        uint32_t count = 0;
        size_t at = out->len;
        buf_append(out, &count, sizeof(count));
        struct entry *next;
        for (struct entry *entry = tree_list(first); entry; entry = next) {
            next = entry->next;
            if (!is_kept(entry))
                continue;
            encode_entry(entry, out);
            count++;
            if (entry->directory) {
                entry->next = NULL;
                last->next = entry;
                last = entry;
            }
        }
        if (!out->failed)
            memcpy(out->data + at, &count, sizeof(count));
    }
    return out->failed;
}

/* --- reading --------------------------------------------------------------------------------- */

struct input {
    const char *bytes;
    size_t left;
};

static const char *take(struct input *in, size_t len)
{
    const char *taken = in->bytes;
    if (len > in->left)
        return NULL;
    in->bytes += len;
    in->left -= len;
    return taken;
}

static bool is_name(const char *name, size_t len)
{
    return len > 0 && len <= NAME_BYTES_MAX && !memchr(name, '/', len) &&
           !memchr(name, '\0', len) && !(len == 1 && name[0] == '.') &&
           !(len == 2 && name[0] == '.' && name[1] == '.');
}

static bool is_type(const struct record *record)
{
    uint32_t format = record->identity_mode & S_IFMT;
    switch (record->type) {
    case FS_HASH_DIRECTORY:
        return record->identity_mode == 0;
    case FS_HASH_FILE:
        return format == S_IFREG;
    case FS_HASH_LINK:
        return format == S_IFLNK;
    default:
        return false;
    }
}

static int decode_entry(struct tree *t, struct entry *parent, struct input *in, struct entry **ret)
{
    struct record record;
    const char *bytes = take(in, sizeof(record));
    if (!bytes)
        return -EBADMSG;
    memcpy(&record, bytes, sizeof(record));
    const char *name = take(in, record.name_len);
    if (!name || record.zero || !is_name(name, record.name_len) || !is_type(&record) ||
        tree_find(parent, name, record.name_len))
        return -EBADMSG;
    if (record.type == FS_HASH_DIRECTORY && parent->depth == FS_HASH_DEPTH_MAX)
        return -EBADMSG;
    struct entry *entry;
    int r = tree_add(t, parent, name, record.name_len, record.type, &entry);
    if (r < 0)
        return r;
    const struct identity identity = {
        .device = record.device,
        .inode = record.inode,
        .size = record.size,
        .modified_ns = record.modified_ns,
        .changed_ns = record.changed_ns,
        .mode = record.identity_mode,
    };
    if (!entry->directory)
        tree_set(t, entry, &identity, true, ENTRY_READ, record.hash);
    *ret = entry;
    return 0;
}

int cache_decode(struct tree *t, const char *bytes, size_t len)
{
    struct input in = {bytes, len};
    const struct header ours = header_of_ours();
    const char *header = take(&in, sizeof(ours));
    if (!header || memcmp(header, &ours, sizeof(ours)) != 0)
        return -EBADMSG;
    struct entry *first = t->root, *last = t->root;
    first->next = NULL;
    for (; first; first = first->next) {
        uint32_t count;
        const char *number = take(&in, sizeof(count));
        if (!number)
            return -EBADMSG;
        memcpy(&count, number, sizeof(count));
        for (; count; count--) {
            struct entry *entry = NULL;
            int r = decode_entry(t, first, &in, &entry);
            if (r < 0)
                return r;
            if (entry->directory) {
                last->next = entry;
                last = entry;
            }
        }
    }
    t->unsaved = false;
    return in.left ? -EBADMSG : 0;
}
