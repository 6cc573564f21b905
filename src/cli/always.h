/* 'Always', written into a configuration; see approve/rule.c. */
#ifndef NACRE_CLI_ALWAYS_H
#define NACRE_CLI_ALWAYS_H

#include "approve/approve.h"

enum { ALWAYS_LINES_MAX = 16 };

struct always {
    const char *file;
    const char *const *patterns;
    size_t lines[ALWAYS_LINES_MAX]; /* of each, in the file */
    size_t count;
    bool made; /* there was no such file */
};

/*
 * Adds the rules that mean just what the question shows to the user's configuration, or to the
 * agent's file there, and sees that the text is allowed by them. On failure the file is as before.
 */
int always_write(struct arena *arena, const struct question *q, struct always *ret, struct err *e);

#endif
