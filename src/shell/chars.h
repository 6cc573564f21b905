/*
 * What each byte means to bash's reader: one table instead of many comparisons.
 *
 * Blanks are space and tab alone; other white space is text. Bytes above 127 are text.
 */
#ifndef NACRE_SHELL_CHARS_H
#define NACRE_SHELL_CHARS_H

#include <stdbool.h>
#include <stdint.h>

enum char_class {
    CHAR_BLANK = 1 << 0,      /* space, tab */
    CHAR_BREAK = 1 << 1,      /* ends a word: blanks, newline, ; & | ( ) < >, the end */
    CHAR_WORD_STOP = 1 << 2,  /* needs a look in a word: what breaks it, quotes, $ and controls */
    CHAR_QUOTE_STOP = 1 << 3, /* needs a look in double quotes: " ` $ \ and the end */
    CHAR_LATE_STOP = 1 << 4,  /* needs a look in late text: those and ' < > ( ) [ ] { } */
    CHAR_NAME_START = 1 << 5, /* letters, _ */
    CHAR_NAME = 1 << 6,       /* letters, digits, _ */
    CHAR_DIGIT = 1 << 7,
    CHAR_SPECIAL = 1 << 8,  /* $@ $* $# $? $- $$ $! */
    CHAR_RESERVED = 1 << 9, /* a reserved word may start with it */
};

extern const uint16_t char_table[256];

static inline bool char_is(char c, enum char_class classes)
{
    return char_table[(unsigned char)c] & classes;
}

#endif
