/* Base64; see base64.h. */
#include "ledger/base64.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* The last one fills up. */
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

void base64_write(const void *bytes, size_t len, char *ret_text)
{
    const unsigned char *in = bytes;
    for (size_t i = 0; i < len; i += 3) {
        uint32_t three = (uint32_t)in[i] << 16;
        if (i + 1 < len)
            three |= (uint32_t)in[i + 1] << 8;
        if (i + 2 < len)
            three |= in[i + 2];
        *ret_text++ = digits[three >> 18];
        *ret_text++ = digits[three >> 12 & 63];
        *ret_text++ = digits[i + 1 < len ? three >> 6 & 63 : 64];
        *ret_text++ = digits[i + 2 < len ? three & 63 : 64];
    }
}

int base64_read(const char *text, size_t text_len, void *ret_bytes, size_t len)
{
    if (text_len != BASE64_LEN(len))
        return -EBADMSG;
    unsigned char *out = ret_bytes;
    for (size_t i = 0, at = 0; i < text_len; i += 4) {
        uint32_t three = 0;
        size_t here = len - at < 3 ? len - at : 3;
        for (size_t k = 0; k < 4; k++) {
            const char *digit = text[i + k] ? strchr(digits, text[i + k]) : NULL;
            if (k > here ? text[i + k] != '=' : !digit || *digit == '=')
                return -EBADMSG;
            three = three << 6 | (k > here ? 0 : (uint32_t)(digit - digits));
        }
        /* Bits that belong to no byte must be 0, or two texts would mean the same. */
        if ((here == 1 && three & 0xFFFF) || (here == 2 && three & 0xFF))
            return -EBADMSG;
        for (size_t k = 0; k < here; k++)
            out[at++] = (unsigned char)(three >> (16 - 8 * k));
    }
    return 0;
}
