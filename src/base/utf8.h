/* UTF-8, decoded strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef NACRE_BASE_UTF8_H
#define NACRE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads one character. Returns its length in bytes and the character in `ret_char`, or 0 when the
 * bytes are not one. `ret_more` (may be NULL) then says whether they are the start of one that is
 * cut off by `len`.
 */
size_t utf8_decode(const char *bytes, size_t len, uint32_t *ret_char, bool *ret_more);

/* The largest length up to `len` that does not cut a character. */
size_t utf8_cut_before(const char *bytes, size_t len);

bool utf8_valid(const char *bytes, size_t len);

#endif
