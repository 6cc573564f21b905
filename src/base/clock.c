/* Time; see clock.h. */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t read_ms(clockid_t id)
{
    struct timespec t = {0};
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

uint64_t clock_monotonic_ms(void)
{
    return (uint64_t)read_ms(CLOCK_MONOTONIC);
}

int64_t clock_utc_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool clock_is_settled(const struct stat *st, int64_t now_ns)
{
    const int64_t fine_ns = 100000000, coarse_ns = 3000000000;
    const int64_t since_ns = now_ns - (st->st_ctim.tv_nsec ? fine_ns : coarse_ns);
    return ns_of(st->st_mtim) < since_ns && ns_of(st->st_ctim) < since_ns;
}

struct date {
    unsigned year, month, day;
};

/* By hand: gmtime reads the file of the local time zone, which takes longer than all else here. */
static void date_of(int64_t days, struct date *ret)
{
    enum { YEAR = 365, YEARS_4 = 4 * YEAR + 1, YEARS_100 = 25 * YEARS_4 - 1 };
    enum { YEARS_400 = 4 * YEARS_100 + 1, JANUARY_FEBRUARY = 59 };
    static const unsigned char lengths[] = {31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 29};
    /* Counted from the first of March of the year 0, a leap day is the last day of its cycle. */
    unsigned left = (unsigned)days + YEAR + 1 - (JANUARY_FEBRUARY + 1), month = 0;
    unsigned year = left / YEARS_400 * 400;
    left %= YEARS_400;
    unsigned centuries = left / YEARS_100;
    centuries -= centuries == 4;
    left -= centuries * YEARS_100;
    unsigned fours = left / YEARS_4;
    left %= YEARS_4;
    unsigned single = left / YEAR;
    single -= single == 4;
    left -= single * YEAR;
    year += centuries * 100 + fours * 4 + single;
    while (left >= lengths[month])
        left -= lengths[month++];
    const bool is_next = month >= 10; /* January and February */
    *ret = (struct date){year + is_next, is_next ? month - 9 : month + 3, left + 1};
}

void clock_format_rfc3339(int64_t utc_ms, char ret_text[CLOCK_RFC3339 + 1])
{
    static const int64_t first_ms = -62135596800000, last_ms = 253402300799999;
    if (utc_ms < first_ms)
        utc_ms = first_ms;
    if (utc_ms > last_ms)
        utc_ms = last_ms;

    int64_t ms = utc_ms % 1000;
    if (ms < 0)
        ms += 1000;
    const int64_t seconds = (utc_ms - ms) / 1000 - first_ms / 1000; /* since the year 1 */
    const unsigned of_day = (unsigned)(seconds % 86400);
    struct date date;
    date_of(seconds / 86400, &date);
    /* The remainders are no-ops that let the compiler see the width of each number. */
    snprintf(ret_text, CLOCK_RFC3339 + 1, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", date.year % 10000,
             date.month % 100, date.day % 100, of_day / 3600, of_day / 60 % 60, of_day % 60,
             (unsigned)ms % 1000);
}
