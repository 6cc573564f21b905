/*
 * Walls that are begun while the text is still judged.
 *
 * What a run is shown hardly ever differs from what the last one like it was shown. So a sandbox of
 * the pool gets the workspace's part of that one's plan at once, with this run's own layer, and
 * builds it beside the verdict. The plan is made all the same: only if it begins with exactly the
 * steps that were built does its text go there. Else, and where nothing is to run, the sandbox and
 * the layer are thrown away; nothing has run in them.
 */
#ifndef NACRE_ENGINE_EARLY_H
#define NACRE_ENGINE_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "plan/plan.h"

enum { EARLY_MAX = 8 };

/* A plan that was used, without its text. */
struct early_plan {
    struct arena arena;
    unsigned users;
    uint64_t key; /* of the options that led to it */
    size_t ahead; /* so many steps were built ahead */
    size_t layer; /* the step that names the run's own layer */
    struct plan plan;
};

/* Of a handle, with its lock; the last one first. */
struct early_plans {
    struct early_plan *items[EARLY_MAX];
};

/* Of a run. */
struct early {
    struct early_plan *of; /* NULL: none is being built */
    struct plan plan;      /* that is: the same, with the run's own layer */
    bool missed;           /* there was no sandbox for it */
};

#endif
