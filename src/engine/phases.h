/*
 * Where the time of one run goes: its phases, one after the other, by the monotonic clock. Stamps
 * are taken always, for they cost less than asking whether somebody wants them.
 */
#ifndef NACRE_ENGINE_PHASES_H
#define NACRE_ENGINE_PHASES_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

enum phase {
    PHASE_SETTING, /* workspace, policy, surroundings */
    PHASE_PARSE,
    PHASE_FACTS,
    PHASE_VERDICT,
    PHASE_CONFIRM, /* a person is asked */
    PHASE_PLAN,    /* and the layers that it speaks of */
    PHASE_WALLS,
    PHASE_RUN,
    PHASE_CHANGES,
    PHASE_COMMIT,
    PHASE_LEDGER,
    PHASES
};

enum { PHASES_MAX = 32 };

struct phases {
    struct {
        enum phase phase;
        uint64_t from_ns, to_ns;
    } spans[PHASES_MAX];
    size_t count;
};

const char *phases_name(enum phase phase);

/* What comes from here on belongs to this one. `p` may be NULL. */
void phases_enter(struct phases *p, enum phase phase);
void phases_end(struct phases *p);

/* An array of {phase, start_us, duration_us}, the start counted from the first one's. */
void phases_write_json(const struct phases *p, struct json *j);
/* The same as events of Chrome's trace format. */
void phases_write_events(const struct phases *p, struct json *j);

#endif
