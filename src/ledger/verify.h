/* What the files of the verification share. */
#ifndef NACRE_LEDGER_VERIFY_H
#define NACRE_LEDGER_VERIFY_H

#include "ledger/internal.h"
#include "ledger/tiles.h"

/* A root that must come out at some size. */
struct expected {
    uint64_t size;
    struct merkle_hash root;
    const char *whose; /* for the message */
};

struct verifier {
    const struct allocator *allocator;
    const struct ledger_verify_options *options;
    struct ledger_report *report;
    int dir;
    struct note_key key;
    uint64_t *segments;
    size_t segment_count;
    uint64_t bytes_all, bytes_told;

    struct expected *expected; /* by size */
    size_t expected_count, expected_next;
    uint64_t durable; /* what the lock file says; 0: nothing */

    struct segment segment;
    uint64_t offset; /* in it */
    struct frame_chain chain;
    struct merkle tree;
    bool broken; /* an entry is missing or wrong: the roots behind it cannot be right any more */
    uint64_t signed_size;
    struct merkle_hash signed_root;
    char last_note[NOTE_MAX]; /* whose signature was not checked yet */
    size_t last_note_len;
    uint64_t last_note_offset;

    /* Hashes of the tiles that are being filled. */
    bool tiles; /* from the ledger's start, or the start of a tile */
    unsigned tile_levels;
    struct merkle_hash tile[TILE_LEVELS][TILE_WIDTH];
};

/* Adds to the report; `offset` 0: not at a place in a segment. */
void verify_damage(struct verifier *v, uint64_t index, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* --- verify_expected.c: checkpoints from elsewhere, and hashes without records --- */

/* Gathers what is expected: the caller's checkpoints, the checkpoint file, the lock file. */
int expected_gather(struct verifier *v, struct err *e);
/* Compares the tree with what is expected at its size. */
void expected_compare(struct verifier *v);
/* What was expected behind the end. */
void expected_finish(struct verifier *v);

/* Takes a leaf into tree and tiles; whole tiles are compared with their files. */
void verify_leaf(struct verifier *v, const struct merkle_hash *leaf);
/* Builds the tree of the records before `first`, which were dropped, from the tiles. */
int verify_dropped(struct verifier *v, uint64_t first, struct err *e);

#endif
