/*
 * Writing the cache's bytes; see fs_hash_cache.h. Directories that are not unfolded have their
 * bytes in the old cache, and are copied from there.
 */
#include <errno.h>
#include <string.h>

#include "changes/fs_hash_cache_format.h"

/* Where a directory's entries are: in memory, or folded in the old cache. */
struct source {
    struct entry *entry; /* NULL: folded */
    uint32_t part;       /* there */
};

struct writer {
    const struct cache *old;
    struct buf *out;
    struct buf parts;   /* rows; those that wait have their place alone */
    struct buf sources; /* of each row */
};

static struct cache_part *row(const struct writer *w, size_t number)
{
    return &((struct cache_part *)(void *)w->parts.data)[number];
}

static void add_part(struct writer *w, const struct source *source, uint32_t parent,
                     uint64_t name_at, unsigned depth)
{
    const struct cache_part part = {.parent = parent, .name_at = name_at, .depth = (uint16_t)depth};
    buf_append(&w->parts, &part, sizeof(part));
    buf_append(&w->sources, source, sizeof(*source));
}

static struct source source_of(struct entry *directory)
{
    return (struct source){directory->directory->folded ? NULL : directory,
                           directory->directory->part};
}

/* --- from the old cache ---------------------------------------------------------------------- */

static void copy_part(struct writer *w, uint32_t number, uint32_t from)
{
    const struct cache_part *old = &w->old->parts[from];
    uint64_t at = w->out->len;
    uint64_t end = from + 1 < w->old->part_count
                       ? old[1].at
                       : w->old->len - w->old->part_count * sizeof(struct cache_part);
    buf_append(w->out, w->old->bytes + old->at, end - old->at);
    struct cache_part *part = row(w, number);
    struct cache_part copy = *old;
    copy.parent = part->parent;
    copy.name_at = part->name_at;
    copy.at = at;
    copy.others_at = at + (old->others_at - old->at);
    copy.first = (uint32_t)(w->parts.len / sizeof(copy));
    *part = copy;
    for (uint32_t i = 0; i < old->directories && !w->parts.failed; i++) {
        const struct source source = {.part = old->first + i};
        uint64_t name_at = w->old->parts[source.part].name_at;
        add_part(w, &source, number, at + (name_at - old->at), old->depth + 1U);
    }
}

/* --- from memory ----------------------------------------------------------------------------- */

/* What was at rest when it was read, and the way to it. */
static bool is_kept(const struct entry *entry)
{
    return entry->directory ? entry->state == ENTRY_READ : entry->settled;
}

static void add_record(struct writer *w, const struct entry *entry)
{
    static const char zeros[sizeof(uint64_t)];
    struct cache_record record = {.name_len = entry->name_len, .type = (uint8_t)entry->type};
    if (!entry->directory) {
        record.device = entry->identity.device;
        record.inode = entry->identity.inode;
        record.size = entry->identity.size;
        record.modified_ns = entry->identity.modified_ns;
        record.changed_ns = entry->identity.changed_ns;
        record.mode = entry->identity.mode;
        memcpy(record.hash, entry->hash, SHA256_BYTES);
    }
    buf_append(w->out, &record, sizeof(record));
    buf_append(w->out, entry->name, entry->name_len);
    buf_append(w->out, zeros,
               cache_record_bytes(entry->name_len) - sizeof(record) - entry->name_len);
}

static void write_part(struct writer *w, uint32_t number, const struct entry *directory)
{
    struct cache_part part = *row(w, number);
    const struct identity *identity = &directory->identity;
    part.device = identity->device;
    part.inode = identity->inode;
    part.size = identity->size;
    part.modified_ns = identity->modified_ns;
    part.changed_ns = identity->changed_ns;
    part.mode = S_IFDIR | directory->mode;
    memcpy(part.hash, directory->hash, SHA256_BYTES);
    part.at = w->out->len;
    part.first = (uint32_t)(w->parts.len / sizeof(part));
    struct entry *list = tree_list(directory);
    bool whole = true;
    for (struct entry *entry = list; entry; entry = entry->next) {
        whole = whole && is_kept(entry);
        if (!entry->directory || !is_kept(entry))
            continue;
        const struct source source = source_of(entry);
        add_part(w, &source, number, w->out->len, entry->depth);
        add_record(w, entry);
        part.directories++;
    }
    part.others_at = w->out->len;
    for (struct entry *entry = list; entry; entry = entry->next) {
        if (entry->directory || !is_kept(entry))
            continue;
        add_record(w, entry);
        part.others++;
        part.files += entry->type == FS_HASH_FILE;
        part.bytes += entry->type == FS_HASH_FILE ? entry->identity.size : 0;
    }
    part.flags = (uint16_t)((directory->settled ? CACHE_SETTLED : 0) | (whole ? CACHE_WHOLE : 0));
    if (!w->parts.failed)
        *row(w, number) = part;
}

int cache_encode(const struct tree *t, const unsigned char root[SHA256_BYTES],
                 const unsigned char asked[SHA256_BYTES], struct buf *out)
{
    struct cache_header header = cache_header_of_ours();
    struct writer w = {.old = t->cache, .out = out};
    buf_init(&w.parts, t->allocator, out->max);
    buf_init(&w.sources, t->allocator, out->max);
    /* Mostly it is as long as the old one. */
    if (t->cache && t->cache->bytes)
        buf_reserve(out, t->cache->len + t->cache->len / 16);
    memcpy(header.root, root, SHA256_BYTES);
    memcpy(header.asked, asked, SHA256_BYTES);
    buf_append(out, &header, sizeof(header));
    const struct source top = source_of(t->root);
    add_part(&w, &top, 0, 0, 0);
    for (uint32_t i = 0; i < w.parts.len / sizeof(struct cache_part); i++) {
        if (out->failed || w.parts.failed || w.sources.failed)
            break;
        struct source source;
        memcpy(&source, w.sources.data + i * sizeof(source), sizeof(source));
        if (source.entry)
            write_part(&w, i, source.entry);
        else
            copy_part(&w, i, source.part);
        header.part_count = i + 1U;
    }
    buf_append(out, w.parts.data, w.parts.len);
    if (!out->failed)
        memcpy(out->data, &header, sizeof(header));
    int r = w.parts.failed ? w.parts.failed : w.sources.failed;
    if (r < 0 && !out->failed)
        out->failed = r;
    buf_release(&w.parts);
    buf_release(&w.sources);
    return out->failed;
}
