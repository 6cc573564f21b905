/*
 * The Merkle tree of RFC 6962 over SHA-256: a leaf is hashed with 0x00 in front, a node with 0x01,
 * the empty tree is the hash of nothing.
 *
 * What is needed to add a leaf and to know the root is the tree's right edge: one hash for each bit
 * that is set in its size, that of the perfect subtree with so many leaves.
 */
#ifndef NACRE_LEDGER_MERKLE_H
#define NACRE_LEDGER_MERKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"

enum { MERKLE_LEVELS = 56 }; /* sizes stay below 2^56 */

struct merkle_hash {
    unsigned char bytes[SHA256_BYTES];
};

struct merkle {
    uint64_t size;
    struct merkle_hash edge[MERKLE_LEVELS]; /* [n] counts if bit n of the size is set */
};

void merkle_leaf(const void *bytes, size_t len, struct merkle_hash *ret);
void merkle_node(const struct merkle_hash *left, const struct merkle_hash *right,
                 struct merkle_hash *ret);

void merkle_add(struct merkle *tree, const struct merkle_hash *leaf);
/* The same, and keeps the hashes of the subtrees with 256^n leaves that it completes in seen[n]. */
void merkle_add_seen(struct merkle *tree, const struct merkle_hash *leaf,
                     struct merkle_hash seen[MERKLE_LEVELS / 8 + 1]);
void merkle_root(const struct merkle *tree, struct merkle_hash *ret);

/* The edge alone, largest subtree first, as it is written down; its number of hashes. */
size_t merkle_edge_count(uint64_t size);
void merkle_edge_save(const struct merkle *tree, struct merkle_hash *ret);
void merkle_edge_load(uint64_t size, const struct merkle_hash *edge, struct merkle *ret);

bool merkle_same(const struct merkle_hash *a, const struct merkle_hash *b);

/* The root of a perfect subtree whose nodes at one level are these; `count` is a power of two. */
void merkle_fold(const struct merkle_hash *nodes, size_t count, struct merkle_hash *ret);

/*
 * Whether the leaf stands at `index` in the tree of `size` with this root, by an inclusion proof
 * (RFC 6962, 2.1.1; the leaf's sibling first).
 */
bool merkle_includes(const struct merkle_hash *root, uint64_t size, uint64_t index,
                     const struct merkle_hash *leaf, const struct merkle_hash *proof, size_t count);

/*
 * Where hashes of perfect subtrees come from: `number` of those with 2^level leaves. 0 or a
 * negative errno.
 */
typedef int merkle_source(void *user, unsigned level, uint64_t number, struct merkle_hash *ret);

enum { MERKLE_PROOF_MAX = 2 * MERKLE_LEVELS };

/* The inclusion proof of `index` in the tree of `size`; the number of its hashes in `ret_count`. */
int merkle_prove(uint64_t size, uint64_t index, merkle_source *source, void *user,
                 struct merkle_hash ret_proof[MERKLE_PROOF_MAX], size_t *ret_count);

#endif
