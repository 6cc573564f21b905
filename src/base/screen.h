/*
 * What a program draws on a terminal of its own, made fit for the person's: it may write, move and
 * colour, and nothing else.
 *
 * Passed on: text as escape.h calls it plain; BEL, BS, TAB, LF, CR, SO, SI; of CSI sequences those
 * that move, erase, insert, delete, scroll and colour, and the modes of the list in screen.c; a few
 * short ones (save, restore, index, keypad, line drawing). Dropped: OSC, DCS, APC, PM and SOS
 * strings (clipboard, title, links, notes), every question that the terminal would answer by typing
 * (DA, DSR, window reports), resets, C1. Characters that an eye would miss become U+FFFD, or `?`.
 */
#ifndef NACRE_BASE_SCREEN_H
#define NACRE_BASE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum screen_at {
    SCREEN_TEXT,
    SCREEN_ESCAPE,  /* behind ESC */
    SCREEN_CHARSET, /* behind ESC ( or ESC ) */
    SCREEN_CSI,
    SCREEN_STRING, /* of a string that is dropped */
    SCREEN_STRING_ESCAPE,
};

struct screen {
    bool ascii_only;
    enum screen_at at;
    char held[48]; /* a sequence that is not whole yet, or the start of a character */
    size_t held_len;
    bool too_long;  /* and so it is dropped */
    uint32_t modes; /* of the list in screen.c: those that are not as they were */
};

int screen_append(struct screen *s, const char *bytes, size_t len, struct buf *out);

/* What puts back the modes that were left changed, and colours. */
int screen_finish(struct screen *s, struct buf *out);

#endif
