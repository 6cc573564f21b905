/* CRC-32C; see crc32c.h. The polynomial is 0x1EDC6F41, reflected: 0x82F63B78. */
#include "ledger/crc32c.h"

#include <string.h>

/* glibc has asked the processor already. To ask again costs much in a virtual machine, where each
 * question goes to the host; __builtin_cpu_supports would do so at every start of a program. */
#if defined(__x86_64__) && defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
#include <sys/platform/x86.h>
#define HAS_INSTRUCTION
#endif

/* Four bits at a time: the table is small enough to be checked by eye. */
static const uint32_t table[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c_portable(uint32_t before, const void *bytes, size_t len)
{
    const unsigned char *next = bytes;
    uint32_t sum = ~before;
    for (size_t i = 0; i < len; i++) {
        sum ^= next[i];
        sum = (sum >> 4) ^ table[sum & 15];
        sum = (sum >> 4) ^ table[sum & 15];
    }
    return ~sum;
}

#ifdef HAS_INSTRUCTION
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t before, const void *bytes,
                                                               size_t len)
{
    const unsigned char *next = bytes;
    uint64_t sum = ~before;
    for (; len >= 8; len -= 8, next += 8) {
        uint64_t word;
        memcpy(&word, next, 8);
        sum = __builtin_ia32_crc32di(sum, word);
    }
    uint32_t last = (uint32_t)sum;
    for (; len; len--, next++)
        last = __builtin_ia32_crc32qi(last, *next);
    return ~last;
}
#endif

uint32_t crc32c(uint32_t before, const void *bytes, size_t len)
{
#ifdef HAS_INSTRUCTION
    if (CPU_FEATURE_ACTIVE(SSE4_2))
        return crc32c_sse42(before, bytes, len);
#endif
    return crc32c_portable(before, bytes, len);
}
