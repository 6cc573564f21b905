/* Durations and sizes; see units.h. Decimal arithmetic in integers: no locale, no rounding. */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit durations[] = {
    {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"min", 60000}, {"h", 3600000}, {NULL, 0},
};

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define TIB ((uint64_t)1 << 40)

static const struct unit sizes[] = {
    {"", 1},      {"B", 1},    {"K", KIB},   {"KB", KIB},  {"KiB", KIB},
    {"M", MIB},   {"MB", MIB}, {"MiB", MIB}, {"G", GIB},   {"GB", GIB},
    {"GiB", GIB}, {"T", TIB},  {"TB", TIB},  {"TiB", TIB}, {NULL, 0},
};

/* Digits, at most three of them behind a point, and a unit from the table. */
static int parse(const char *text, const struct unit *units, uint64_t *ret)
{
    const char *s = text;
    uint64_t whole = 0, thousandths = 0;
    if (*s < '0' || *s > '9')
        return -EINVAL;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(*s - '0'), &whole))
            return -ERANGE;
    }
    if (*s == '.') {
        s++;
        if (*s < '0' || *s > '9')
            return -EINVAL;
        for (uint64_t place = 100; *s >= '0' && *s <= '9'; s++, place /= 10) {
            if (place == 0 && *s != '0')
                return -EINVAL;
            thousandths += place * (uint64_t)(*s - '0');
        }
    }
    if (s[0] == ' ' && s[1])
        s++;

    const struct unit *unit = units;
    while (unit->name && strcasecmp(unit->name, s) != 0)
        unit++;
    if (!unit->name)
        return -EINVAL;

    uint64_t value, fraction;
    if (__builtin_mul_overflow(whole, unit->factor, &value) ||
        __builtin_mul_overflow(thousandths, unit->factor, &fraction) ||
        __builtin_add_overflow(value, fraction / 1000, &value))
        return -ERANGE;
    /* Zero often means "none", so less than one of the smallest unit must not become it. */
    if (value == 0 && thousandths)
        return -EINVAL;
    *ret = value;
    return 0;
}

int units_parse_duration(const char *text, uint64_t *ret_ms)
{
    return parse(text, durations, ret_ms);
}

int units_parse_size(const char *text, uint64_t *ret_bytes)
{
    return parse(text, sizes, ret_bytes);
}

/* `value` in units of `factor` with one digit behind the point where it is not whole. */
static void format(uint64_t value, uint64_t factor, const char *unit, char ret_text[UNITS_TEXT])
{
    uint64_t tenths = value % factor * 10 / factor;
    if (tenths)
        snprintf(ret_text, UNITS_TEXT, "%" PRIu64 ".%u %s", value / factor, (unsigned)(tenths % 10),
                 unit);
    else
        snprintf(ret_text, UNITS_TEXT, "%" PRIu64 " %s", value / factor, unit);
}

void units_format_duration(uint64_t ms, char ret_text[UNITS_TEXT])
{
    if (ms < 1000)
        format(ms, 1, "ms", ret_text);
    else
        format(ms, 1000, "s", ret_text);
}

void units_format_size(uint64_t bytes, char ret_text[UNITS_TEXT])
{
    static const struct unit scale[] = {{"TB", TIB}, {"GB", GIB}, {"MB", MIB}, {"KB", KIB}};
    for (size_t i = 0; i < sizeof(scale) / sizeof(scale[0]); i++) {
        if (bytes >= scale[i].factor) {
            format(bytes, scale[i].factor, scale[i].name, ret_text);
            return;
        }
    }
    format(bytes, 1, "B", ret_text);
}
