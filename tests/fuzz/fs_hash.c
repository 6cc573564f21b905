/*
 * Any bytes as a cache of directory hashes, without the checksum that would refuse nearly all of
 * them: refused, or a tree. Folded, it is written to the same bytes; unfolded, to bytes which read
 * to the same tree.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "changes/fs_hash_fold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Negative: two entries have one name. */
static int unfold_all(struct tree *t)
{
    struct entry *last = t->root;
    t->root->next = NULL;
    for (struct entry *at = t->root; at; at = at->next) {
        if (fold_open(t, at) < 0)
            return -1;
        for (struct entry *entry = tree_list(at), *next; entry; entry = next) {
            next = entry->next;
            if (!entry->directory)
                continue;
            entry->next = NULL;
            last->next = entry;
            last = entry;
        }
    }
    return 0;
}

static void encode(const struct tree *t, const struct cache *c, struct buf *ret)
{
    buf_init(ret, &allocator_libc, 64 << 20);
    if (cache_encode(t, c->root, c->asked, ret) < 0)
        abort();
}

/* Whether the bytes are a cache; then what they are written to. */
static bool decode(const char *bytes, size_t len, struct buf *ret_again)
{
    static struct tree t;
    struct cache c;
    char *copy = malloc(len + 1);
    buf_init(ret_again, &allocator_libc, 0);
    if (!copy || tree_init(&t, &allocator_libc) < 0)
        abort();
    memcpy(copy, bytes, len);
    if (cache_read(&c, copy, len) < 0) {
        tree_release(&t);
        free(copy);
        return false;
    }
    fold_tree(&t, &c);
    struct buf folded;
    encode(&t, &c, &folded);
    if (folded.len != len || memcmp(folded.data, bytes, len) != 0)
        abort();
    buf_release(&folded);
    const struct fs_hash_sums sums = t.sums;
    bool good = unfold_all(&t) == 0;
    if (good) {
        tree_hash(&t);
        if (sums.files != t.sums.files || sums.bytes != t.sums.bytes)
            abort();
        encode(&t, &c, ret_again);
    }
    tree_release(&t);
    cache_release(&c, &allocator_libc);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf once, twice;
    if (decode((const char *)data, size, &once)) {
        if (!decode(once.data, once.len, &twice) || once.len != twice.len ||
            memcmp(once.data, twice.data, once.len) != 0)
            abort();
        buf_release(&twice);
    }
    buf_release(&once);
    return 0;
}
