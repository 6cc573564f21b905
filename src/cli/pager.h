/*
 * Longer output: through the reader's pager where it goes to a terminal, else to standard output.
 * A reader who leaves early has seen enough: that is no failure.
 */
#ifndef NACRE_CLI_PAGER_H
#define NACRE_CLI_PAGER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pager {
    int fd;                           /* -1: there is none */
    pid_t pid;                        /* of the pager */
    bool left;                        /* the reader has seen enough */
    struct sigaction interrupt, quit; /* what they did before */
};

/* $PAGER, else less, if there is one and standard output is a terminal that can show it. */
void pager_start(struct pager *p);

/* 0 or a negative errno; -EPIPE: no more is wanted. */
int pager_print(struct pager *p, const char *bytes, size_t len);

/* Waits until the reader is done, and returns `status`, or 1 where the output failed. */
int pager_finish(struct pager *p, int status);

#endif
