/* The table of characters; see chars.h. */
#include "shell/chars.h"

enum {
    LETTER = CHAR_NAME_START | CHAR_NAME,
    STARTS = LETTER | CHAR_RESERVED,
    DIGIT = CHAR_NAME | CHAR_DIGIT,
    BLANK = CHAR_BLANK | CHAR_BREAK | CHAR_WORD_STOP,
    META = CHAR_BREAK | CHAR_WORD_STOP,
    CONTROL = CHAR_WORD_STOP,
    OPENS = CHAR_WORD_STOP | CHAR_QUOTE_STOP | CHAR_LATE_STOP,
};

__extension__ const uint16_t char_table[256] = {
    [0] = META | OPENS,
    [1 ... 8] = CONTROL,
    ['\t'] = BLANK,
    ['\n'] = META,
    [11 ... 12] = CONTROL, /* 13, a carriage return, is text */
    [14 ... 31] = CONTROL,
    [127] = CONTROL,
    [' '] = BLANK,
    ['A' ... 'Z'] = LETTER,
    ['a' ... 'b'] = LETTER,
    ['c' ... 'f'] = STARTS, /* case coproc do done elif else esac fi for function */
    ['g' ... 'h'] = LETTER,
    ['i'] = STARTS, /* if in */
    ['j' ... 'r'] = LETTER,
    ['s' ... 'u'] = STARTS, /* select then time until */
    ['v'] = LETTER,
    ['w'] = STARTS, /* while */
    ['x' ... 'z'] = LETTER,
    ['_'] = LETTER,
    ['0' ... '9'] = DIGIT,
    [';'] = META,
    ['&'] = META,
    ['|'] = META,
    ['<'] = META | CHAR_LATE_STOP,
    ['>'] = META | CHAR_LATE_STOP,
    ['('] = META | CHAR_LATE_STOP,
    [')'] = META | CHAR_LATE_STOP,
    ['['] = CHAR_LATE_STOP | CHAR_RESERVED,
    [']'] = CHAR_LATE_STOP | CHAR_RESERVED,
    ['{'] = CHAR_LATE_STOP | CHAR_RESERVED,
    ['}'] = CHAR_LATE_STOP | CHAR_RESERVED,
    ['\''] = CHAR_WORD_STOP | CHAR_LATE_STOP,
    ['"'] = OPENS,
    ['`'] = OPENS,
    ['\\'] = OPENS,
    ['$'] = OPENS | CHAR_SPECIAL,
    ['@'] = CHAR_SPECIAL,
    ['*'] = CHAR_SPECIAL,
    ['?'] = CHAR_SPECIAL,
    ['#'] = CHAR_SPECIAL,
    ['-'] = CHAR_SPECIAL,
    ['!'] = CHAR_SPECIAL | CHAR_RESERVED,
};
