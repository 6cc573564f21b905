/*
 * Functions whose misuse is too easy. Every source file sees this header through the compiler's
 * command line, so a call to one of them does not compile.
 *
 * sprintf and friends write without a bound; strcpy, strcat and strncpy lose track of length;
 * atoi and friends report no error; strtok keeps a global; gets needs no word.
 */
#ifndef NACRE_BASE_BANNED_H
#define NACRE_BASE_BANNED_H

#ifndef __cplusplus
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef strtok
#undef sprintf
#undef vsprintf
#undef atoi
#undef atol
#undef atoll
#undef alloca
#pragma GCC poison strcpy strcat strncpy strncat strtok sprintf vsprintf atoi atol atoll alloca gets
#endif

#endif
