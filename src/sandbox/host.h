/* What this host has to show, for the plan, which does not look itself. */
#ifndef NACRE_SANDBOX_HOST_H
#define NACRE_SANDBOX_HOST_H

#include "plan/plan.h"

int host_look(struct arena *arena, struct plan_host *ret, struct err *e);

#endif
