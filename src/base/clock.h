/* Time: monotonic for durations and deadlines, UTC for records. */
#ifndef NACRE_BASE_CLOCK_H
#define NACRE_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum { CLOCK_RFC3339 = 24 }; /* 2026-01-02T03:04:05.678Z */

uint64_t clock_monotonic_ms(void);

/* Milliseconds since 1970, UTC. */
int64_t clock_utc_ms(void);

/* Whether a file's times are so old that a later change shows in them: at once where they are kept
 * to less than a second, else when the coarsest clock of a file system has gone on. */
bool clock_is_settled(const struct stat *st, int64_t now_ns);

/* RFC 3339 in UTC with milliseconds, for years 1 to 9999; other times give the nearest of these. */
void clock_format_rfc3339(int64_t utc_ms, char ret_text[CLOCK_RFC3339 + 1]);

#endif
