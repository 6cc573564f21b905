/* SHA-256, with the processor's instructions where it has them. */
#ifndef NACRE_BASE_SHA256_H
#define NACRE_BASE_SHA256_H

#include <nettle/sha2.h>
#include <stddef.h>

enum { SHA256_BYTES = 32, SHA256_HEX = 64 };

struct sha256 {
    struct sha256_ctx state;
};

void sha256_start(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *bytes, size_t len);
void sha256_end(struct sha256 *s, unsigned char ret_digest[SHA256_BYTES]);

/* Lower-case hexadecimal with a NUL. */
void sha256_hex(const unsigned char digest[SHA256_BYTES], char ret_text[SHA256_HEX + 1]);

#endif
