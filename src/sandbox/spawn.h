/*
 * Executing the launcher. It begins with an empty environment, default signals, and no descriptor
 * but one end of a socket: everything else comes with the plan.
 */
#ifndef NACRE_SANDBOX_SPAWN_H
#define NACRE_SANDBOX_SPAWN_H

#include <sys/types.h>

#include "plan/plan.h"

/* `argument` may be NULL. The socket's other end, close-on-exec, goes to *ret_control. */
int spawn_launcher(const char *launcher, const char *argument, pid_t *ret_pid, int *ret_control);

/*
 * Gives it the head of the plan (plan_build_head), to begin with. What fails is not told: the plan
 * that comes after it has all of it.
 */
void spawn_send_head(int control, const struct allocator *allocator, const struct plan_host *host);

/* A plan as a sealed memory file: a descriptor, or a negative errno. */
int spawn_plan_file(const struct allocator *allocator, const struct plan *plan);

#endif
