/*
 * Any bytes as a cache of directory hashes, without the checksum that would refuse nearly all of
 * them: refused, or read to a tree that is written to bytes which read to the same tree.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "changes/fs_hash_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Directories that nobody walked are not written: say that all of them were. */
static void mark_walked(struct entry *root)
{
    struct entry *last = root;
    root->next = NULL;
    for (struct entry *at = root; at; at = at->next) {
        for (struct entry *entry = tree_list(at), *next; entry; entry = next) {
            next = entry->next;
            if (!entry->directory)
                continue;
            entry->state = ENTRY_READ;
            entry->next = NULL;
            last->next = entry;
            last = entry;
        }
    }
}

static void decode(const char *bytes, size_t len, struct tree *t, struct buf *ret_again)
{
    buf_init(ret_again, &allocator_libc, 64 << 20);
    if (tree_init(t, &allocator_libc) < 0)
        abort();
    if (cache_decode(t, bytes, len) < 0)
        return;
    mark_walked(t->root);
    if (cache_encode(t, ret_again) < 0)
        abort();
    tree_hash(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tree first, second;
    struct buf once, twice;
    decode((const char *)data, size, &first, &once);
    decode(once.data, once.len, &second, &twice);
    if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
        abort();
    tree_release(&first);
    tree_release(&second);
    buf_release(&once);
    buf_release(&twice);
    return 0;
}
