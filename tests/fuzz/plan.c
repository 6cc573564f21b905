/* Any bytes as a plan: refused, or decoded to steps that encode to the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct plan_step steps[PLAN_STEPS_MAX];
    struct plan plan;
    struct err e;
    if (plan_decode((const char *)data, size, steps, PLAN_STEPS_MAX, &plan, &e) < 0)
        return 0;
    struct buf again, json;
    buf_init(&again, &allocator_libc, PLAN_BYTES_MAX);
    buf_init(&json, &allocator_libc, 64 << 20);
    if (plan_encode(&plan, &again) == 0 &&
        (again.len != size || memcmp(again.data, data, size) != 0))
        abort();
    struct json j;
    json_init_buf(&j, &json);
    plan_write_json(&plan, &j);
    if (json_finish(&j) < 0 && !json.failed)
        abort();
    buf_release(&again);
    buf_release(&json);
    return 0;
}
