/*
 * Any bytes as a sed script or an awk program (the first byte chooses): every report lies within
 * them, and what is reported does not depend on what was read before.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "facts/lang.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reports {
    size_t text_len, count, sum;
};

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void collect(void *user, enum lang_use use, const char *text, size_t len, size_t offset)
{
    struct reports *r = user;
    require(offset <= r->text_len && len <= r->text_len - offset);
    require(text || len == 0);
    r->count++;
    r->sum = r->sum * 31 + (size_t)use * 7 + offset;
    for (size_t i = 0; i < len; i++)
        r->sum = r->sum * 31 + (unsigned char)text[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    struct reports first = {.text_len = size - 1}, again = first;
    for (int i = 0; i < 2; i++) {
        struct reports *r = i == 0 ? &first : &again;
        if (data[0] & 1)
            lang_awk(text, size - 1, collect, r);
        else
            lang_sed(text, size - 1, data[0] & 2, collect, r);
    }
    require(first.count == again.count && first.sum == again.sum);
    return 0;
}
