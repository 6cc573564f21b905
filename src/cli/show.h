/*
 * Output from inside, shown on one of our streams as it comes: raw, or made safe where a terminal
 * would obey what it is given.
 */
#ifndef NACRE_CLI_SHOW_H
#define NACRE_CLI_SHOW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/escape.h"
#include "base/screen.h"

struct show {
    int fd;
    int stop_fd; /* when it is readable, writing ends with -EINTR */
    bool escape;
    struct escape state;
    bool draws; /* the program has a terminal of its own: what it draws passes (base/screen.h) */
    struct screen screen;
    size_t bytes; /* shown so far */
    int failure;  /* the first negative errno */
};

void show_init(struct show *s, int fd, int stop_fd);

/* `last` ends the stream. Returns 0 or a negative errno, which is also kept. */
int show_bytes(struct show *s, const char *bytes, size_t len, bool last);

#endif
