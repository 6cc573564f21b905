/* See phases.h. */
#include "engine/phases.h"

#include <time.h>
#include <unistd.h>

static const char *const names[PHASES] = {
    [PHASE_SETTING] = "setting", [PHASE_PARSE] = "parse",     [PHASE_FACTS] = "facts",
    [PHASE_VERDICT] = "verdict", [PHASE_CONFIRM] = "confirm", [PHASE_PLAN] = "plan",
    [PHASE_WALLS] = "walls",     [PHASE_RUN] = "run",         [PHASE_CHANGES] = "changes",
    [PHASE_COMMIT] = "commit",   [PHASE_LEDGER] = "ledger",
};

const char *phases_name(enum phase phase)
{
    return names[phase];
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void phases_end(struct phases *p)
{
    if (p && p->count && !p->spans[p->count - 1].to_ns)
        p->spans[p->count - 1].to_ns = now_ns();
}

void phases_enter(struct phases *p, enum phase phase)
{
    if (!p)
        return;
    phases_end(p);
    if (p->count < PHASES_MAX) {
        uint64_t from = p->count ? p->spans[p->count - 1].to_ns : now_ns();
        p->spans[p->count].phase = phase;
        p->spans[p->count].from_ns = from;
        p->spans[p->count++].to_ns = 0;
    }
}

void phases_write_json(const struct phases *p, struct json *j)
{
    json_array_begin(j);
    for (size_t i = 0; i < p->count; i++) {
        json_object_begin(j);
        json_key(j, "phase");
        json_text(j, names[p->spans[i].phase]);
        json_key(j, "start_us");
        json_unsigned(j, (p->spans[i].from_ns - p->spans[0].from_ns) / 1000);
        json_key(j, "duration_us");
        json_unsigned(j, (p->spans[i].to_ns - p->spans[i].from_ns) / 1000);
        json_object_end(j);
    }
    json_array_end(j);
}

void phases_write_events(const struct phases *p, struct json *j)
{
    json_object_begin(j);
    json_key(j, "displayTimeUnit");
    json_text(j, "ms");
    json_key(j, "traceEvents");
    json_array_begin(j);
    for (size_t i = 0; i < p->count; i++) {
        json_object_begin(j);
        json_key(j, "name");
        json_text(j, names[p->spans[i].phase]);
        json_key(j, "cat");
        json_text(j, "nacre");
        json_key(j, "ph");
        json_text(j, "X");
        json_key(j, "ts");
        json_unsigned(j, (p->spans[i].from_ns - p->spans[0].from_ns) / 1000);
        json_key(j, "dur");
        json_unsigned(j, (p->spans[i].to_ns - p->spans[i].from_ns) / 1000);
        json_key(j, "pid");
        json_unsigned(j, (uint64_t)getpid());
        json_key(j, "tid");
        json_unsigned(j, 1);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}
