/* CRC-32C (Castagnoli), with the processor's instruction where it has one. */
#ifndef NACRE_LEDGER_CRC32C_H
#define NACRE_LEDGER_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The sum of `bytes`, going on from the sum of what stands before them; 0 starts. */
uint32_t crc32c(uint32_t before, const void *bytes, size_t len);

/* The same without the instruction; apart, so that a test can compare the two. */
uint32_t crc32c_portable(uint32_t before, const void *bytes, size_t len);

#endif
