/* Random UUIDs from the kernel; see uuid.h. */
#include "base/uuid.h"

#include <errno.h>
#include <sys/random.h>

int uuid_new(char ret_text[UUID_TEXT + 1])
{
    unsigned char bytes[16];
    /* Up to 256 bytes come whole or not at all. */
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return errno ? -errno : -EIO;
    bytes[6] = (unsigned char)((bytes[6] & 0x0F) | 0x40);
    bytes[8] = (unsigned char)((bytes[8] & 0x3F) | 0x80);

    static const char digits[] = "0123456789abcdef";
    char *out = ret_text;
    for (unsigned i = 0; i < sizeof(bytes); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        *out++ = digits[bytes[i] >> 4];
        *out++ = digits[bytes[i] & 0xF];
    }
    *out = '\0';
    return 0;
}
