/* The common start of every hashed message; see fs_hash_object.h. */
#include "changes/fs_hash_object.h"

#include <string.h>

enum { HEADER_BYTES = 16 };

void object_start(struct sha256 *s, enum object_tag tag)
{
    unsigned char header[HEADER_BYTES] = "nacre fs_hash 1";
    header[HEADER_BYTES - 1] = (unsigned char)tag;
    sha256_start(s);
    sha256_add(s, header, sizeof(header));
}

void object_hash(enum object_tag tag, const void *bytes, size_t len,
                 unsigned char ret_hash[SHA256_BYTES])
{
    struct sha256 s;
    object_start(&s, tag);
    sha256_add(&s, bytes, len);
    sha256_end(&s, ret_hash);
}

void object_put_number(unsigned char *to, size_t len, uint64_t value)
{
    for (size_t i = len; i-- > 0; value >>= 8)
        to[i] = (unsigned char)value;
}
