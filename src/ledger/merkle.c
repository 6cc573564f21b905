/* The Merkle tree of RFC 6962; see merkle.h. */
#include "ledger/merkle.h"

#include <errno.h>
#include <string.h>

void merkle_leaf(const void *bytes, size_t len, struct merkle_hash *ret)
{
    struct sha256 hash;
    sha256_start(&hash);
    sha256_add(&hash, "\0", 1);
    sha256_add(&hash, bytes, len);
    sha256_end(&hash, ret->bytes);
}

void merkle_node(const struct merkle_hash *left, const struct merkle_hash *right,
                 struct merkle_hash *ret)
{
    unsigned char both[1 + 2 * SHA256_BYTES] = {1};
    memcpy(both + 1, left->bytes, SHA256_BYTES);
    memcpy(both + 1 + SHA256_BYTES, right->bytes, SHA256_BYTES);
    struct sha256 hash;
    sha256_start(&hash);
    sha256_add(&hash, both, sizeof(both));
    sha256_end(&hash, ret->bytes);
}

void merkle_add(struct merkle *tree, const struct merkle_hash *leaf)
{
    struct merkle_hash carry = *leaf;
    unsigned level = 0;
    for (; tree->size >> level & 1; level++)
        merkle_node(&tree->edge[level], &carry, &carry);
    tree->edge[level] = carry;
    tree->size++;
}

void merkle_add_seen(struct merkle *tree, const struct merkle_hash *leaf,
                     struct merkle_hash seen[MERKLE_LEVELS / 8 + 1])
{
    struct merkle_hash carry = *leaf;
    unsigned level = 0;
    for (; tree->size >> level & 1; level++) {
        if (level % 8 == 0)
            seen[level / 8] = carry;
        merkle_node(&tree->edge[level], &carry, &carry);
    }
    if (level % 8 == 0)
        seen[level / 8] = carry;
    tree->edge[level] = carry;
    tree->size++;
}

void merkle_root(const struct merkle *tree, struct merkle_hash *ret)
{
    bool any = false;
    struct merkle_hash root;
    for (unsigned level = 0; level < MERKLE_LEVELS; level++) {
        if (!(tree->size >> level & 1))
            continue;
        if (any)
            merkle_node(&tree->edge[level], &root, &root);
        else
            root = tree->edge[level];
        any = true;
    }
    if (!any) {
        struct sha256 nothing;
        sha256_start(&nothing);
        sha256_end(&nothing, root.bytes);
    }
    *ret = root;
}

size_t merkle_edge_count(uint64_t size)
{
    return (size_t)__builtin_popcountll(size);
}

void merkle_edge_save(const struct merkle *tree, struct merkle_hash *ret)
{
    for (unsigned level = MERKLE_LEVELS; level-- > 0;) {
        if (tree->size >> level & 1)
            *ret++ = tree->edge[level];
    }
}

void merkle_edge_load(uint64_t size, const struct merkle_hash *edge, struct merkle *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->size = size;
    for (unsigned level = MERKLE_LEVELS; level-- > 0;) {
        if (size >> level & 1)
            ret->edge[level] = *edge++;
    }
}

bool merkle_same(const struct merkle_hash *a, const struct merkle_hash *b)
{
    return memcmp(a->bytes, b->bytes, SHA256_BYTES) == 0;
}

void merkle_fold(const struct merkle_hash *nodes, size_t count, struct merkle_hash *ret)
{
    struct merkle tree = {0};
    for (size_t i = 0; i < count; i++)
        merkle_add(&tree, &nodes[i]);
    merkle_root(&tree, ret);
}

bool merkle_includes(const struct merkle_hash *root, uint64_t size, uint64_t index,
                     const struct merkle_hash *leaf, const struct merkle_hash *proof, size_t count)
{
    if (index >= size)
        return false;
    /* RFC 9162, 2.1.3.2: `index` climbs with the leaf, `last` with the tree's last leaf. */
    uint64_t last = size - 1;
    struct merkle_hash at = *leaf;
    for (size_t i = 0; i < count; i++) {
        if (last == 0)
            return false;
        if ((index & 1) || index == last) {
            merkle_node(&proof[i], &at, &at);
            while (!(index & 1) && index) {
                index >>= 1;
                last >>= 1;
            }
        } else {
            merkle_node(&at, &proof[i], &at);
        }
        index >>= 1;
        last >>= 1;
    }
    return last == 0 && merkle_same(&at, root);
}

/* The hash of the leaves [from, to), where `from` is a multiple of a power of two that is large
 * enough: perfect subtrees from the source, joined from the right. */
static int range_hash(uint64_t from, uint64_t to, merkle_source *source, void *user,
                      struct merkle_hash *ret)
{
    struct merkle tree = {.size = to - from};
    uint64_t at = from;
    for (unsigned level = MERKLE_LEVELS; level-- > 0;) {
        if (!(tree.size >> level & 1))
            continue;
        int r = source(user, level, at >> level, &tree.edge[level]);
        if (r < 0)
            return r;
        at += (uint64_t)1 << level;
    }
    merkle_root(&tree, ret);
    return 0;
}

int merkle_prove(uint64_t size, uint64_t index, merkle_source *source, void *user,
                 struct merkle_hash ret_proof[MERKLE_PROOF_MAX], size_t *ret_count)
{
    struct merkle_hash down[MERKLE_PROOF_MAX];
    size_t count = 0;
    uint64_t from = 0, to = size;
    if (index >= size)
        return -ERANGE;
    while (to - from > 1) {
        /* The largest power of two below the number of leaves divides them. */
        uint64_t half = (uint64_t)1 << (63 - __builtin_clzll(to - from - 1));
        uint64_t middle = from + half;
        bool left = index < middle;
        int r = left ? range_hash(middle, to, source, user, &down[count])
                     : range_hash(from, middle, source, user, &down[count]);
        if (r < 0)
            return r;
        count++;
        if (left)
            to = middle;
        else
            from = middle;
    }
    for (size_t i = 0; i < count; i++)
        ret_proof[i] = down[count - 1 - i];
    *ret_count = count;
    return 0;
}
