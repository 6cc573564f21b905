/*
 * Tiles: the tree's hashes in files, 256 at a time, as C2SP's tlog-tiles lays them out. Derived
 * from the records, and kept when these are dropped.
 *
 *   tile/L/N        256 hashes of level L (of subtrees with 256^L leaves), from number 256 N on
 *   tile/L/N.p/W    the first W of them, where there are no more yet
 *   tile/entries/N  records 256 N and on, each behind its length in two bytes, big-endian
 */
#ifndef NACRE_LEDGER_TILES_H
#define NACRE_LEDGER_TILES_H

#include "ledger/internal.h"

enum {
    TILE_WIDTH = 256,
    TILE_BYTES = TILE_WIDTH * SHA256_BYTES,
    TILE_LEVELS = MERKLE_LEVELS / 8,
    TILE_ENTRIES = -1, /* the level of entry bundles */
    TILE_NAME_MAX = 80,
};

/* The path of a tile below the ledger's directory; a `width` of TILE_WIDTH is a whole tile. */
void tile_name(int level, uint64_t number, unsigned width, char ret[TILE_NAME_MAX]);

/* Reads a whole tile. -ENOENT, or -EBADMSG if it has not the right size. */
int tile_read(int dir, unsigned level, uint64_t number, struct merkle_hash ret[TILE_WIDTH]);

/* Writes a file below the directory: whole or not at all, directories made, not synced. */
int tile_write(int dir, const char *name, const void *bytes, size_t len);

/* A view of the tree at one size: whole tiles from files, the rest from the records. */
struct tile_view {
    struct ledger *l;
    uint64_t size;
    uint64_t base;              /* the leaves from here on are in memory */
    struct merkle_hash *leaves; /* size - base of them */
    /* The tile that was read last: neighbours are often asked for one after the other. */
    unsigned cached_level;
    uint64_t cached_number;
    bool cached;
    struct merkle_hash cache[TILE_WIDTH];
};

int tile_view_open(struct ledger *l, uint64_t size, struct tile_view **ret, struct err *e);
void tile_view_free(struct tile_view *v);
merkle_source tile_view_node; /* `user` is the view */

#endif
