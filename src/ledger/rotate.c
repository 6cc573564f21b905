/*
 * A new segment. It starts with everything that is needed to go on from there: the tree's right
 * edge, and the checkpoint that signs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "ledger/internal.h"

enum { START_MAX = SEGMENT_HEADER + FRAME_HEADER + MERKLE_LEVELS * SHA256_BYTES + NOTE_MAX };

/* Durable, with its name, before anything is told of it. */
static int write_segment(struct ledger *l, uint64_t first, const struct buf *bytes)
{
    char name[SEGMENT_NAME_MAX], new[SEGMENT_NAME_MAX + 8];
    segment_name(first, name);
    snprintf(new, sizeof(new), "%s.new", name);
    FD_CLEANUP int fd =
        openat(l->dir, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    FD_CLEANUP int dir =
        openat(l->dir, SEGMENT_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || dir < 0)
        return -errno;
    int r = fd_write_all(fd, bytes->data, bytes->len);
    if (r == 0 && (fdatasync(fd) < 0 || renameat(l->dir, new, l->dir, name) < 0 || fsync(dir) < 0))
        r = -errno;
    return r;
}

int segment_begin(struct ledger *l, const struct merkle *tree, struct err *e)
{
    struct lockfile_state *s = l->state.shared;
    struct frame_chain chain = {0};
    struct merkle_hash root;
    struct buf file;
    unsigned char payload[MERKLE_LEVELS * SHA256_BYTES + NOTE_MAX];
    struct merkle_hash edge[MERKLE_LEVELS];
    size_t edge_bytes = merkle_edge_count(tree->size) * SHA256_BYTES;
    merkle_edge_save(tree, edge);
    memcpy(payload, edge, edge_bytes);
    merkle_root(tree, &root);
    /* Ed25519 is deterministic: for a tree that was signed this is the same note again. */
    size_t note = note_write(&l->signer, tree->size, &root, (char *)payload + edge_bytes);
    buf_init(&file, l->allocator, START_MAX);
    buf_append(&file, SEGMENT_MAGIC, SEGMENT_HEADER);
    frame_write(&file, &chain, FRAME_START, tree->size, payload, edge_bytes + note);
    size_t len = file.len;
    int r = file.failed ? file.failed : write_segment(l, tree->size, &file);
    buf_release(&file);
    if (r < 0)
        return err_errno(e, r, "cannot make a new segment of the ledger");
    __atomic_store_n(&s->dirty, 1, __ATOMIC_RELEASE);
    s->segment = tree->size;
    s->end = len;
    s->room = len;
    s->chain = chain;
    s->tree = *tree;
    s->signed_offset = SEGMENT_HEADER;
    s->signed_tree = *tree;
    __atomic_store_n(&s->dirty, 0, __ATOMIC_RELEASE);
    r = append_open_segment(l, tree->size, e);
    if (r < 0)
        l->attached = false;
    return r == -ENOENT ? err_errno(e, r, "the ledger's new segment") : r;
}
