/* Random UUIDs (RFC 9562, version 4). */
#ifndef NACRE_BASE_UUID_H
#define NACRE_BASE_UUID_H

enum { UUID_TEXT = 36 };

/* Fills `ret_text` with a new UUID and a NUL. Returns 0 or a negative errno. */
int uuid_new(char ret_text[UUID_TEXT + 1]);

#endif
