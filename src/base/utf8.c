/* Strict UTF-8; see utf8.h. */
#include "base/utf8.h"

size_t utf8_decode(const char *bytes, size_t len, uint32_t *ret_char, bool *ret_more)
{
    const unsigned char *s = (const unsigned char *)bytes;
    if (ret_more)
        *ret_more = false;
    if (len == 0)
        return 0;
    if (s[0] < 0x80) {
        *ret_char = s[0];
        return 1;
    }

    /* The second byte's range rules out overlong forms, surrogates and what lies past U+10FFFF. */
    size_t length;
    unsigned char low = 0x80, high = 0xBF;
    uint32_t value;
    if (s[0] >= 0xC2 && s[0] <= 0xDF) {
        length = 2;
        value = s[0] & 0x1FU;
    } else if (s[0] >= 0xE0 && s[0] <= 0xEF) {
        length = 3;
        value = s[0] & 0x0FU;
        low = s[0] == 0xE0 ? 0xA0 : low;
        high = s[0] == 0xED ? 0x9F : high;
    } else if (s[0] >= 0xF0 && s[0] <= 0xF4) {
        length = 4;
        value = s[0] & 0x07U;
        low = s[0] == 0xF0 ? 0x90 : low;
        high = s[0] == 0xF4 ? 0x8F : high;
    } else {
        return 0;
    }

    for (size_t i = 1; i < length; i++) {
        if (i == len) {
            if (ret_more)
                *ret_more = true;
            return 0;
        }
        if (s[i] < low || s[i] > high)
            return 0;
        value = value << 6 | (s[i] & 0x3FU);
        low = 0x80;
        high = 0xBF;
    }
    *ret_char = value;
    return length;
}

size_t utf8_cut_before(const char *bytes, size_t len)
{
    /* A cut character shows within the last three bytes. */
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char byte = (unsigned char)bytes[len - back];
        if ((byte & 0xC0) == 0x80)
            continue;
        uint32_t ignored;
        bool more;
        if (utf8_decode(bytes + len - back, back, &ignored, &more) == 0 && more)
            return len - back;
        break;
    }
    return len;
}

bool utf8_valid(const char *bytes, size_t len)
{
    while (len) {
        uint32_t ignored;
        size_t n = utf8_decode(bytes, len, &ignored, NULL);
        if (n == 0)
            return false;
        bytes += n;
        len -= n;
    }
    return true;
}
