/*
 * The two small languages that stand inside ordinary command lines: what a sed script or an awk
 * program runs, reads and writes besides its operands.
 *
 * Both readers are pure and linear, allocate nothing and take any bytes. What they are not certain
 * of they report; they never pass over it in silence.
 */
#ifndef NACRE_FACTS_LANG_H
#define NACRE_FACTS_LANG_H

#include <stdbool.h>
#include <stddef.h>

enum lang_use {
    LANG_UNKNOWN_CODE, /* runs, reads or writes something that cannot be told from the text */
    LANG_SHELL,        /* text that sh -c runs */
    LANG_READ,         /* a file */
    LANG_WRITE,
};

/*
 * Text is NULL when it is no constant. Otherwise it lives only as long as the call, for escapes may
 * have been taken out of it. The offset is that of the text, or of what was found, in the script.
 */
typedef void lang_found(void *user, enum lang_use use, const char *text, size_t len, size_t offset);

/*
 * A script as GNU sed 4.9 reads it. Scripts of several -e are one, with newlines between them.
 * Whether regular expressions are extended (-E) does not change where they end.
 */
void lang_sed(const char *script, size_t len, bool extended, lang_found *found, void *user);

/*
 * A program as gawk and mawk read it; where they differ, the program is not certain. Special names
 * such as /dev/stderr and /inet/tcp/… are reported like any other file.
 */
void lang_awk(const char *program, size_t len, lang_found *found, void *user);

#endif
