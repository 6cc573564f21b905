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
    time_t seconds = (time_t)((utc_ms - ms) / 1000);
    struct tm t = {0};
    gmtime_r(&seconds, &t);
    /* The remainders are no-ops that let the compiler see the width of each number. */
    snprintf(ret_text, CLOCK_RFC3339 + 1, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
             (unsigned)(t.tm_year + 1900) % 10000, (unsigned)(t.tm_mon + 1) % 100,
             (unsigned)t.tm_mday % 100, (unsigned)t.tm_hour % 100, (unsigned)t.tm_min % 100,
             (unsigned)t.tm_sec % 100, (unsigned)ms % 1000);
}
