/*
 * Whether a tree does nothing but wait for its standard input, by what the kernel says of its
 * processes in /proc. What cannot be looked at, or waits for anything else that could come (a
 * timer, a socket, another file), is not waiting: the answer yes is certain, no is not.
 */
#ifndef NACRE_RUN_WAITING_H
#define NACRE_RUN_WAITING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Between two looks: the time that all of it had used. Begins zeroed. */
struct waiting {
    uint64_t used;
};

/* `launcher` is the guard, whose child is init. Two looks at the same state make a yes. */
bool waiting_for_input(pid_t launcher, struct waiting *w);

#endif
