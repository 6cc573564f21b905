/* The entries of one directory, a tree whose form depends on the names alone; see fs_hash_shelf.h.
 */
#include "changes/fs_hash_shelf.h"

#include <errno.h>
#include <string.h>

#include "changes/fs_hash_object.h"

enum { WAY_BITS = 4, FIRST_CAPACITY = 4 };

/* The first 64 bits of a hash, so that nobody can choose names that all go one way. */
static uint64_t name_key(const char *name, size_t len)
{
    unsigned char hash[SHA256_BYTES];
    uint64_t key = 0;
    object_hash(OBJECT_NAME, name, len, hash);
    for (size_t i = 0; i < sizeof(key); i++)
        key = key << 8 | hash[i];
    return key;
}

static struct shelf *part_for(const struct shelf *shelf, uint64_t key)
{
    return shelf->parts[key >> (64 - WAY_BITS * (shelf->depth + 1U)) & (SHELF_WAYS - 1)];
}

struct shelf *shelf_new(const struct allocator *allocator, unsigned depth)
{
    struct shelf *shelf = alloc_resize(allocator, NULL, sizeof(*shelf));
    if (shelf)
        *shelf = (struct shelf){.stale = true, .depth = (uint8_t)depth};
    return shelf;
}

static void free_parts(const struct allocator *allocator, struct shelf *shelf)
{
    for (size_t i = 0; shelf->parts && i < SHELF_WAYS; i++)
        shelf_free(allocator, shelf->parts[i]);
    alloc_free(allocator, shelf->parts);
    shelf->parts = NULL;
}

/* At most SHELF_DEPTH_MAX deep, as everything here that calls itself. */
void shelf_free(const struct allocator *allocator, struct shelf *shelf)
{
    if (!shelf)
        return;
    free_parts(allocator, shelf);
    alloc_free(allocator, shelf->entries);
    alloc_free(allocator, shelf);
}

/* Where the name stands, or would stand. */
static size_t place_of(const struct shelf *shelf, const char *name, size_t len, bool *ret_found)
{
    size_t low = 0, high = shelf->count;
    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct entry *entry = shelf->entries[middle];
        int order = memcmp(entry->name, name, len < entry->name_len ? len : entry->name_len);
        if (order == 0 && entry->name_len == len) {
            *ret_found = true;
            return middle;
        }
        if (order < 0 || (order == 0 && entry->name_len < len))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct entry *shelf_find(const struct shelf *shelf, const char *name, size_t len)
{
    if (shelf->parts) {
        uint64_t key = name_key(name, len);
        while (shelf->parts)
            shelf = part_for(shelf, key);
    }
    bool found;
    size_t place = place_of(shelf, name, len, &found);
    return found ? shelf->entries[place] : NULL;
}

static int put(const struct allocator *allocator, struct shelf *shelf, struct entry *entry)
{
    if (shelf->count == shelf->capacity) {
        size_t capacity = shelf->capacity ? 2 * shelf->capacity : FIRST_CAPACITY;
        struct entry **more =
            alloc_resize(allocator, shelf->entries, capacity * sizeof(struct entry *));
        if (!more)
            return -ENOMEM;
        shelf->entries = more;
        shelf->capacity = capacity;
    }
    bool found;
    size_t place = place_of(shelf, entry->name, entry->name_len, &found);
    memmove(shelf->entries + place + 1, shelf->entries + place,
            (shelf->count - place) * sizeof(struct entry *));
    shelf->entries[place] = entry;
    shelf->count++;
    return 0;
}

static void take(struct shelf *shelf, const struct entry *entry)
{
    bool found;
    size_t place = place_of(shelf, entry->name, entry->name_len, &found);
    if (!found)
        return;
    shelf->count--;
    memmove(shelf->entries + place, shelf->entries + place + 1,
            (shelf->count - place) * sizeof(struct entry *));
}

static int split(const struct allocator *allocator, struct shelf *shelf)
{
    struct shelf **parts = alloc_resize(allocator, NULL, SHELF_WAYS * sizeof(struct shelf *));
    if (!parts)
        return -ENOMEM;
    memset(parts, 0, SHELF_WAYS * sizeof(struct shelf *));
    bool whole = true;
    for (size_t i = 0; i < SHELF_WAYS; i++) {
        parts[i] = shelf_new(allocator, shelf->depth + 1U);
        whole = whole && parts[i];
    }
    /* Until all stand in their parts they also stand here, for who has to list them. */
    struct shelf apart = {.depth = shelf->depth, .parts = parts};
    for (size_t i = 0; whole && i < shelf->count; i++) {
        struct entry *entry = shelf->entries[i];
        if (shelf->depth == 0)
            entry->key = name_key(entry->name, entry->name_len);
        whole = put(allocator, part_for(&apart, entry->key), entry) == 0;
    }
    if (!whole) {
        free_parts(allocator, &apart);
        return -ENOMEM;
    }
    alloc_free(allocator, shelf->entries);
    shelf->entries = NULL;
    shelf->capacity = 0;
    shelf->parts = parts;
    return 0;
}

int shelf_add(const struct allocator *allocator, struct shelf *shelf, struct entry *entry)
{
    if (shelf->parts)
        entry->key = name_key(entry->name, entry->name_len);
    for (; shelf->parts; shelf = part_for(shelf, entry->key)) {
        shelf->stale = true;
        shelf->count++;
    }
    int r = put(allocator, shelf, entry);
    shelf->stale = true;
    /* All of them may go the same way, and then again. */
    while (r == 0 && shelf->count > SHELF_MAX && shelf->depth < SHELF_DEPTH_MAX) {
        r = split(allocator, shelf);
        if (r == 0)
            shelf = part_for(shelf, entry->key);
        else
            take(shelf, entry);
    }
    return r;
}

static int gather(const struct allocator *allocator, const struct shelf *from, struct shelf *to)
{
    int r = 0;
    for (size_t i = 0; r == 0 && from->parts && i < SHELF_WAYS; i++)
        r = gather(allocator, from->parts[i], to);
    for (size_t i = 0; r == 0 && !from->parts && i < from->count; i++)
        r = put(allocator, to, from->entries[i]);
    return r;
}

/* Few enough to stand together again. */
static int join(const struct allocator *allocator, struct shelf *shelf)
{
    struct shelf together = {.depth = shelf->depth};
    int r = gather(allocator, shelf, &together);
    if (r < 0) {
        alloc_free(allocator, together.entries);
        return r;
    }
    free_parts(allocator, shelf);
    shelf->entries = together.entries;
    shelf->capacity = together.capacity;
    return 0;
}

int shelf_remove(const struct allocator *allocator, struct shelf *shelf, const struct entry *entry)
{
    struct shelf *small = NULL;
    for (; shelf->parts; shelf = part_for(shelf, entry->key)) {
        shelf->stale = true;
        if (--shelf->count <= SHELF_MAX && !small)
            small = shelf;
    }
    shelf->stale = true;
    take(shelf, entry);
    return small ? join(allocator, small) : 0;
}

void shelf_touch(struct shelf *shelf, const struct entry *entry)
{
    for (; shelf->parts; shelf = part_for(shelf, entry->key))
        shelf->stale = true;
    shelf->stale = true;
}

void shelf_list(const struct shelf *shelf, struct entry **list)
{
    for (size_t i = SHELF_WAYS; shelf->parts && i-- > 0;)
        shelf_list(shelf->parts[i], list);
    for (size_t i = shelf->count; shelf->entries && i-- > 0;) {
        shelf->entries[i]->next = *list;
        *list = shelf->entries[i];
    }
}

static void add_entry(struct sha256 *s, const struct entry *entry)
{
    enum { TYPE_MODE_LENGTH = 5 };
    unsigned char record[TYPE_MODE_LENGTH + NAME_BYTES_MAX + SHA256_BYTES];
    unsigned char *to = record;
    *to++ = (unsigned char)entry->type;
    object_put_number(to, 2, entry->mode);
    object_put_number(to + 2, 2, entry->name_len);
    to += 4;
    memcpy(to, entry->name, entry->name_len);
    to += entry->name_len;
    memcpy(to, entry->hash, SHA256_BYTES);
    sha256_add(s, record, (size_t)(to - record) + SHA256_BYTES);
}

void shelf_hash(struct shelf *shelf)
{
    if (!shelf->stale)
        return;
    struct sha256 s;
    object_start(&s, shelf->parts ? OBJECT_SPLIT : OBJECT_SHELF);
    sha256_add(&s, &shelf->depth, 1);
    for (size_t i = 0; shelf->parts && i < SHELF_WAYS; i++) {
        shelf_hash(shelf->parts[i]);
        sha256_add(&s, shelf->parts[i]->hash, SHA256_BYTES);
    }
    for (size_t i = 0; !shelf->parts && i < shelf->count; i++)
        add_entry(&s, shelf->entries[i]);
    sha256_end(&s, shelf->hash);
    shelf->stale = false;
}
