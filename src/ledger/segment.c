/* Segments; see segment.h. */
#include "ledger/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

enum { DIGITS = 20, SEGMENTS_MAX = 1 << 20 };

void segment_init(struct segment *s, const struct allocator *allocator)
{
    *s = (struct segment){.allocator = allocator, .fd = -1};
}

void segment_close(struct segment *s)
{
    fd_close(&s->fd);
    alloc_free(s->allocator, s->window);
    segment_init(s, s->allocator);
}

void segment_name(uint64_t first, char ret[SEGMENT_NAME_MAX])
{
    snprintf(ret, SEGMENT_NAME_MAX, SEGMENT_DIR "/%0*llu", DIGITS, (unsigned long long)first);
}

int segment_open(struct segment *s, int dir, uint64_t first, bool writable, struct err *e)
{
    char name[SEGMENT_NAME_MAX];
    fd_close(&s->fd);
    segment_forget(s);
    segment_name(first, name);
    int fd = openat(dir, name, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -ENOENT : err_errno(e, -errno, "cannot open '%s'", name);
    s->fd = fd;
    s->first = first;
    return 0;
}

void segment_forget(struct segment *s)
{
    s->len = 0;
}

int segment_load(struct segment *s, uint64_t offset, size_t need)
{
    if (need > s->capacity) {
        unsigned char *larger = alloc_resize(s->allocator, s->window, need);
        if (!larger)
            return -ENOMEM;
        s->window = larger;
        s->capacity = need;
    }
    s->at = offset;
    s->len = 0;
    while (s->len < need) {
        ssize_t n = pread(s->fd, s->window + s->len, need - s->len, (off_t)(offset + s->len));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        s->len += (size_t)n;
    }
    return 0;
}

int segment_frame(struct segment *s, uint64_t offset, size_t ahead, struct frame *ret)
{
    struct frame f = {0};
    int r = 0;
    if (ahead < FRAME_HEADER)
        ahead = FRAME_HEADER;
    if (offset < s->at || offset + FRAME_HEADER > s->at + s->len)
        r = segment_load(s, offset, ahead);
    enum frame_found found = FRAME_FOUND_NONE;
    for (int again = 0; r == 0 && again < 2; again++) {
        size_t before = (size_t)(offset - s->at);
        found = frame_read(s->window + before, s->len - before, &f);
        if (found != FRAME_FOUND_SHORT || s->len - before < FRAME_HEADER || again)
            break;
        r = segment_load(s, offset, frame_bytes(&f) > ahead ? frame_bytes(&f) : ahead);
    }
    if (r < 0)
        return r;
    *ret = f;
    return (int)found;
}

int segment_start(struct segment *s, size_t ahead, struct frame *ret_frame, struct merkle *ret_tree,
                  struct note *ret_note, struct err *e)
{
    unsigned char magic[SEGMENT_HEADER];
    struct frame f = {0};
    struct note note = {0};
    ssize_t n = pread(s->fd, magic, sizeof(magic), 0);
    if (n < 0)
        return err_errno(e, -errno, "cannot read the segment");
    if (n != sizeof(magic) || memcmp(magic, SEGMENT_MAGIC, sizeof(magic)) != 0)
        return err_set(e, -EBADMSG, "not a segment of this format");
    int found = segment_frame(s, SEGMENT_HEADER, ahead, &f);
    if (found < 0)
        return err_errno(e, found, "cannot read the segment");
    if (found != FRAME_FOUND_WHOLE || f.type != FRAME_START || f.before || f.back)
        return err_set(e, -EBADMSG, "the segment's start is damaged");
    size_t edge = merkle_edge_count(f.index) * SHA256_BYTES;
    if (f.index != s->first || f.length < edge)
        return err_set(e, -EBADMSG, "the segment's start does not fit its name");
    int r = note_read((const char *)f.payload + edge, f.length - edge, &note, e);
    if (r < 0)
        return err_context(e, r, "the segment's start");
    struct merkle tree;
    struct merkle_hash root, hashes[MERKLE_LEVELS];
    memcpy(hashes, f.payload, edge);
    merkle_edge_load(f.index, hashes, &tree);
    merkle_root(&tree, &root);
    if (note.size != f.index || note.len != f.length - edge || !merkle_same(&root, &note.root))
        return err_set(e, -EBADMSG, "the segment's start disagrees with its checkpoint");
    *ret_frame = f;
    *ret_tree = tree;
    if (ret_note)
        *ret_note = note;
    return 0;
}

int segment_find_frame(struct segment *s, uint64_t from, uint64_t end, unsigned types,
                       uint64_t index, struct frame *ret, uint64_t *ret_offset)
{
    enum { STEP = 1 << 20 };
    struct frame f = {0};
    for (uint64_t offset = from; offset < end; offset++) {
        /* Whether a header could stand here is seen in the window; only then is it read. */
        if (offset < s->at || offset + FRAME_HEADER > s->at + s->len) {
            int r = segment_load(s, offset, STEP);
            if (r < 0)
                return r;
            if (s->len < FRAME_HEADER)
                return 0;
        }
        const unsigned char *here = s->window + (offset - s->at);
        if (here[23] == FRAME_NONE || here[23] >= FRAME_TYPES || here[2] || here[3] ||
            !(types >> here[23] & 1))
            continue;
        int found = segment_frame(s, offset, STEP, &f);
        if (found < 0)
            return found;
        if (found == FRAME_FOUND_WHOLE && f.index >= index) {
            *ret = f;
            *ret_offset = offset;
            return 1;
        }
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int segment_list(int dir, const struct allocator *allocator, uint64_t **ret, size_t *ret_count,
                 struct err *e)
{
    FD_CLEANUP int fd = openat(dir, SEGMENT_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream)
        return err_errno(e, -errno, "cannot read the directory '" SEGMENT_DIR "'");
    fd_steal(&fd);
    uint64_t *all = NULL;
    size_t count = 0, room = 0;
    int r = 0;
    const struct dirent *entry;
    while (r == 0 && (errno = 0, entry = readdir(stream))) {
        const char *name = entry->d_name;
        if (strspn(name, "0123456789") != DIGITS || name[DIGITS] != '\0')
            continue;
        if (count == room) {
            room = room ? 2 * room : 64;
            uint64_t *larger =
                room > SEGMENTS_MAX ? NULL : alloc_resize(allocator, all, room * sizeof(*all));
            if (!larger) {
                r = -ENOMEM;
                break;
            }
            all = larger;
        }
        all[count++] = strtoull(name, NULL, 10);
    }
    if (r == 0 && errno)
        r = -errno;
    closedir(stream);
    if (r < 0) {
        alloc_free(allocator, all);
        return err_errno(e, r, "cannot read the directory '" SEGMENT_DIR "'");
    }
    if (count)
        qsort(all, count, sizeof(*all), compare);
    *ret = all;
    *ret_count = count;
    return 0;
}
