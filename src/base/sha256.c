/* SHA-256 by nettle, which picks SHA-NI or the like at run time; see sha256.h. */
#include "base/sha256.h"

void sha256_start(struct sha256 *s)
{
    sha256_init(&s->state);
}

void sha256_add(struct sha256 *s, const void *bytes, size_t len)
{
    sha256_update(&s->state, len, bytes);
}

void sha256_end(struct sha256 *s, unsigned char ret_digest[SHA256_BYTES])
{
    sha256_digest(&s->state, SHA256_BYTES, ret_digest);
}

void sha256_hex(const unsigned char digest[SHA256_BYTES], char ret_text[SHA256_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        ret_text[2 * i] = digits[digest[i] >> 4];
        ret_text[2 * i + 1] = digits[digest[i] & 0xF];
    }
    ret_text[SHA256_HEX] = '\0';
}
