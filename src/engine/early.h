/*
 * Walls that are built before the text is judged, or before there is one.
 *
 * What a run is shown hardly ever differs from what the last one like it was shown. So when nobody
 * runs, a sandbox of the pool gets the workspace's part of that one's plan, with a layer of its
 * own, and waits for nothing but a text. If there is none such, the same is done while the text is
 * judged. The plan is made all the same: only if it begins with exactly the steps that were built
 * does its text go there. Else the sandbox and the layer are thrown away; nothing has run in them.
 *
 * An overlay that is mounted does not see all that becomes of the directory below it. What nobody
 * has looked for it has not seen either, and so it shows it as it is when the run begins. Looked
 * for are only the paths that are covered, and those above them: they are compared, at the use,
 * with what they were before the overlay was mounted, and if one is another, that sandbox is not
 * used (W1).
 */
#ifndef NACRE_ENGINE_EARLY_H
#define NACRE_ENGINE_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "changes/ahead.h"
#include "plan/plan.h"
#include "sandbox/sandbox.h"

enum { EARLY_MAX = 8, EARLY_READY_MAX = 2 };

/* One that waits for its text alone. */
struct early_ready {
    struct arena *arena; /* for what its layer is called; NULL: there is none */
    struct sandbox sandbox;
    struct layer_ahead layer;
    uint64_t seen; /* what was at the paths that are covered */
    uint64_t built_ms;
};

/* A plan that was used, without its text. */
struct early_plan {
    struct arena arena;
    unsigned users;
    uint64_t key; /* of the options that led to it */
    size_t ahead; /* so many steps were built ahead */
    size_t layer; /* the step that names the run's own layer */
    struct plan plan;
    const char *state_dir;
    const char *root; /* the workspace */
    uint64_t device, inode;
    struct early_ready ready[EARLY_READY_MAX];
    size_t ready_count, failures;
};

/* Of a handle, with its lock; the last one first. */
struct early_plans {
    struct early_plan *items[EARLY_MAX];
};

/* Of a run. */
struct early {
    struct early_plan *of;    /* NULL: none is being built */
    struct early_ready ready; /* it was built before, and is not the run's yet */
    struct plan plan;         /* that is: the same, with the run's own layer */
    bool missed;              /* there was no sandbox for it */
};

#endif
