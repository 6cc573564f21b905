/* Any text as a duration or a size: refused, or a number; formatting what came out never overruns.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), out[UNITS_TEXT];
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    uint64_t value;
    if (units_parse_duration(text, &value) == 0) {
        units_format_duration(value, out);
        if (strlen(out) >= sizeof(out))
            abort();
    }
    if (units_parse_size(text, &value) == 0) {
        units_format_size(value, out);
        if (strlen(out) >= sizeof(out))
            abort();
    }
    free(text);
    return 0;
}
