/* Iterators, as the other files of this room see them: with the place of each record. */
#ifndef NACRE_LEDGER_ITERATE_H
#define NACRE_LEDGER_ITERATE_H

#include "ledger/internal.h"

#define OFFSETS_FILE "offsets"

/* Where every 256th record stands, derived: entry n of the file is for record 256 n. */
enum { OFFSETS_EVERY = 256, OFFSETS_ENTRY = 16 };

struct ledger_iterator {
    struct ledger *l;
    struct segment segment;
    uint64_t index;  /* of the next record */
    uint64_t offset; /* of the next frame */
    struct frame_chain chain;
    uint64_t limit;         /* records known to be signed */
    uint64_t record_offset; /* of the record that was given last */
};

void offsets_encode(uint64_t segment, uint64_t offset, unsigned char ret[OFFSETS_ENTRY]);

#endif
