/* How the commands come to a verdict: place, policy and call options become a decider. */
#ifndef NACRE_CLI_DECIDE_H
#define NACRE_CLI_DECIDE_H

#include "cli/place.h"
#include "cli/policy_options.h"

int decide_open(struct arena *arena, const struct place_options *place,
                const struct policy_options *policy, const struct policy_call_options *call,
                struct setting *ret, struct err *e);

/* Where the jobs of a project, or of the user, lie; `workspace` may be NULL. */
int decide_open_jobs(struct arena *arena, const struct policy_options *policy,
                     const char *workspace, bool make, struct work_root *ret, struct err *e);

/* The same for the library; what it points to lives in the arena. */
int decide_run_options(struct arena *arena, const struct policy_options *policy,
                       const struct policy_call_options *call, nacre_run_options *ret,
                       struct err *e);

#endif
