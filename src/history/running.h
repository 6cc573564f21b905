/*
 * Whether a run is under way, told without a daemon: its process holds a lock on one byte of the
 * file STATE/running, at the index of its intent, and the lock goes with the process. Nothing is
 * written to the file, and no file is made for a run.
 */
#ifndef NACRE_HISTORY_RUNNING_H
#define NACRE_HISTORY_RUNNING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Held until `ret_fd` is closed. It is close-on-exec, so no other program holds it on. */
int running_begin(const char *state, uint64_t intent, int *ret_fd, struct err *e);

bool running_is(const char *state, uint64_t intent);

#endif
