/* Points in time as people write them. */
#ifndef NACRE_HISTORY_WHEN_H
#define NACRE_HISTORY_WHEN_H

#include <stdint.h>

/* RFC 3339, or a date alone, which is its first moment in UTC. 0 or -EINVAL. */
int when_parse_rfc3339(const char *text, int64_t *ret_utc_ms);

/* That, or how long ago: 90s, 10m, 2h, 3d, 1w. */
int when_parse(const char *text, int64_t now_utc_ms, int64_t *ret_utc_ms);

#endif
