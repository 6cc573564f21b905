/* See when.h. */
#include "history/when.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/units.h"

/* `count` digits at `*at`. */
static bool get_digits(const char **at, unsigned count, int *ret)
{
    int number = 0;
    for (unsigned i = 0; i < count; i++, ++*at) {
        if (**at < '0' || **at > '9')
            return false;
        number = number * 10 + (**at - '0');
    }
    *ret = number;
    return true;
}

static bool get_byte(const char **at, const char *any)
{
    if (!**at || !strchr(any, **at))
        return false;
    ++*at;
    return true;
}

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* Days from 1970-01-01 in the Gregorian calendar; years begin in March here, so that the leap day
 * is their last. */
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool get_time(const char **at, int64_t *ret_ms)
{
    int hour, minute, second, ms = 0;
    if (!get_digits(at, 2, &hour) || !get_byte(at, ":") || !get_digits(at, 2, &minute) ||
        !get_byte(at, ":") || !get_digits(at, 2, &second) || hour > 23 || minute > 59 ||
        second > 60)
        return false;
    if (get_byte(at, ".")) {
        int digit, scale = 100;
        if (!get_digits(at, 1, &digit))
            return false;
        do {
            ms += digit * scale;
            scale /= 10;
        } while (get_digits(at, 1, &digit));
    }
    *ret_ms = (((int64_t)hour * 60 + minute) * 60 + second) * 1000 + ms;
    return true;
}

/* Z or ±hh:mm, as what is to be taken off. */
static bool get_zone(const char **at, int64_t *ret_ms)
{
    int hour, minute;
    *ret_ms = 0;
    if (get_byte(at, "Zz"))
        return true;
    int sign = **at == '-' ? -1 : 1;
    if (!get_byte(at, "+-") || !get_digits(at, 2, &hour) || !get_byte(at, ":") ||
        !get_digits(at, 2, &minute) || hour > 23 || minute > 59)
        return false;
    *ret_ms = (int64_t)sign * (hour * 60 + minute) * 60000;
    return true;
}

int when_parse_rfc3339(const char *text, int64_t *ret_utc_ms)
{
    enum { DAY_MS = 86400000 };
    const char *at = text;
    int year, month, day;
    int64_t time = 0, zone = 0;
    if (!get_digits(&at, 4, &year) || !get_byte(&at, "-") || !get_digits(&at, 2, &month) ||
        !get_byte(&at, "-") || !get_digits(&at, 2, &day) || month < 1 || month > 12 || day < 1 ||
        day > days_of_month(year, month))
        return -EINVAL;
    if (*at && (!get_byte(&at, "Tt ") || !get_time(&at, &time) || !get_zone(&at, &zone)))
        return -EINVAL;
    if (*at)
        return -EINVAL;
    *ret_utc_ms = days_since_1970(year, month, day) * DAY_MS + time - zone;
    return 0;
}

int when_parse(const char *text, int64_t now_utc_ms, int64_t *ret_utc_ms)
{
    enum { HOURS_OF_DAY = 24, HOURS_OF_WEEK = 168 };
    char number[32];
    size_t len = strlen(text);
    uint64_t ms, times = 1;
    if (when_parse_rfc3339(text, ret_utc_ms) == 0)
        return 0;
    if (len < 2 || len >= sizeof(number))
        return -EINVAL;
    memcpy(number, text, len + 1);
    /* Days and weeks are hours, many times. */
    if (number[len - 1] == 'd' || number[len - 1] == 'w') {
        times = number[len - 1] == 'd' ? HOURS_OF_DAY : HOURS_OF_WEEK;
        number[len - 1] = 'h';
    } else if (number[len - 1] >= '0' && number[len - 1] <= '9') {
        return -EINVAL; /* of what? */
    }
    if (units_parse_duration(number, &ms) < 0 || ms > INT64_MAX / 4 / times)
        return -EINVAL;
    *ret_utc_ms = now_utc_ms - (int64_t)(ms * times);
    return 0;
}
