/* Quantities as people write them: durations (30s, 1.5m, 500ms) and sizes (512MB, 1GB, 64KiB). */
#ifndef NACRE_BASE_UNITS_H
#define NACRE_BASE_UNITS_H

#include <stdint.h>

/*
 * Units ms, s, m (or min), h; a bare number is seconds; a fraction is allowed. Returns 0, -EINVAL
 * for what is not a duration, -ERANGE for what is too long to count.
 */
int units_parse_duration(const char *text, uint64_t *ret_ms);

/*
 * Units B, K, KB, KiB, M, MB, MiB, G, GB, GiB, T, TB, TiB in any case, each a power of 1024; a bare
 * number is bytes. Returns as above.
 */
int units_parse_size(const char *text, uint64_t *ret_bytes);

enum { UNITS_TEXT = 24 };

/* "120 s", "1.5 s", "250 ms". */
void units_format_duration(uint64_t ms, char ret_text[UNITS_TEXT]);

/* "1 MB", "1.5 GB", "12 B". */
void units_format_size(uint64_t bytes, char ret_text[UNITS_TEXT]);

#endif
