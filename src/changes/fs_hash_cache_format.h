/* What reading and writing the cache's bytes share; fs_hash_cache.h has the format. */
#ifndef NACRE_CHANGES_FS_HASH_CACHE_FORMAT_H
#define NACRE_CHANGES_FS_HASH_CACHE_FORMAT_H

#include "changes/fs_hash_cache.h"

#define BYTE_ORDER_MARK UINT32_C(0x01020304)

struct cache_header {
    char title[16];
    uint32_t order;
    uint16_t record_bytes, part_bytes;
    uint64_t part_count;
    unsigned char root[SHA256_BYTES];
    unsigned char asked[SHA256_BYTES];
};
_Static_assert(sizeof(struct cache_header) == 96, "a header has no gaps");
_Static_assert(sizeof(struct cache_record) == 80, "a record has no gaps");
_Static_assert(sizeof(struct cache_part) == 136, "a part has no gaps");

struct cache_header cache_header_of_ours(void);

/* With the name, its NUL and what follows up to the next one. */
size_t cache_record_bytes(size_t name_len);

#endif
