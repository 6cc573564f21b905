/* Base64 with padding (RFC 4648, section 4). Only the one canonical spelling is read. */
#ifndef NACRE_LEDGER_BASE64_H
#define NACRE_LEDGER_BASE64_H

#include <stddef.h>

#define BASE64_LEN(bytes) (((bytes) + 2) / 3 * 4)

/* Writes BASE64_LEN(len) characters and no NUL. */
void base64_write(const void *bytes, size_t len, char *ret_text);

/* The text must stand for exactly `len` bytes. 0 or -EBADMSG. */
int base64_read(const char *text, size_t text_len, void *ret_bytes, size_t len);

#endif
