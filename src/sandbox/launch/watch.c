/*
 * CPU time and memory of the whole tree, looked at now and then: works for everybody and
 * everywhere. How often depends on how near a limit is; a short run is never looked at.
 */
#include <string.h>
#include <sys/random.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "sandbox/launch/guard.h"

enum {
    LEAST_MS = 4,
    MOST_MS = 50,
    FILLED_BYTES_A_MS = 4 << 20, /* by a few processors that do nothing else */
    SLOW_SHARE = 10,             /* the slow count takes at most a tenth of the time */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static long processors(void)
{
    static long count;
    if (!count)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    return count;
}

static uint64_t bytes_in(int tmpfs)
{
    struct statfs fs;
    if (tmpfs < 0 || fstatfs(tmpfs, &fs) < 0)
        return 0;
    return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

static uint64_t scratch_bytes(const struct watch *w)
{
    return bytes_in(w->scratch) + bytes_in(w->held);
}

/*
 * The kernel adds the time of the dead to those who waited for them. Who ignores his children's end
 * hides their time; that of those we saw is kept, and for those who come and go between two looks
 * the looks are a sample: half of what they seem to use is taken for granted. A control group
 * misses nobody, but for init, which is not in it.
 */
static void count_cpu(struct watch *w, const struct census_use *use, uint64_t group_ms,
                      uint64_t now_ms)
{
    uint64_t grown = use->cpu_ms > w->last_cpu_ms ? use->cpu_ms - w->last_cpu_ms : 0;
    uint64_t running = least(use->new_running, (uint64_t)processors());
    uint64_t sampled = running * (now_ms - w->last_ms) / 2;
    w->cpu_ms += grown > sampled || group_ms ? grown : sampled;
    w->last_cpu_ms = use->cpu_ms;
    w->last_ms = now_ms;
    watch_raise_cpu(w, group_ms);
}

void watch_raise_cpu(struct watch *w, uint64_t group_cpu_ms)
{
    if (group_cpu_ms && w->joined_cpu_ms + group_cpu_ms > w->cpu_ms)
        w->cpu_ms = w->joined_cpu_ms + group_cpu_ms;
}

/*
 * Bytes in use. The quick count never says too little but may say too much: processes that came of
 * one another share pages. Only when it says too much is the slow one made.
 */
static uint64_t count_memory(struct watch *w, uint64_t limit, uint64_t resident, uint64_t scratch,
                             const struct census *c, uint64_t now_ms)
{
    uint64_t upper = resident + scratch;
    if (!limit || upper <= limit) {
        w->exact_next_ms = 0;
        return upper;
    }
    uint64_t grown = upper > w->exact_at_upper ? upper - w->exact_at_upper : 0;
    if (w->exact_next_ms && now_ms < w->exact_next_ms && w->exact_bytes + grown <= limit)
        return w->exact_bytes + grown;
    struct census_memory memory = census_memory(c);
    /* Files of the scratch that are mapped are in both. What is not may hide as much again. */
    w->exact_bytes =
        memory.own_bytes + (memory.shared_bytes > scratch ? memory.shared_bytes : scratch);
    w->exact_at_upper = upper;
    uint64_t after = clock_monotonic_ms();
    w->exact_next_ms = after + 1 + (after - now_ms) * SLOW_SHARE;
    return w->exact_bytes;
}

static uint64_t random_below(uint64_t bound)
{
    uint32_t random = 0;
    return getrandom(&random, sizeof(random), GRND_NONBLOCK) == sizeof(random) ? random % bound : 0;
}

enum wire_limit watch_look(struct watch *w, const struct budgets *budgets, struct census *c,
                           uint64_t group_cpu_ms, uint64_t now_ms)
{
    struct census_use use = census_read(c);
    count_cpu(w, &use, group_cpu_ms, now_ms);
    uint64_t memory =
        count_memory(w, budgets->memory_bytes, use.memory_bytes, scratch_bytes(w), c, now_ms);
    if (memory > w->memory_peak)
        w->memory_peak = memory;
    if (budgets->cpu_ms && w->cpu_ms > budgets->cpu_ms)
        return WIRE_LIMIT_CPU;
    if (budgets->memory_bytes && memory > budgets->memory_bytes)
        return WIRE_LIMIT_MEMORY;

    uint64_t wait = MOST_MS;
    if (budgets->memory_bytes)
        wait = least(wait, (budgets->memory_bytes - memory) / FILLED_BYTES_A_MS);
    if (budgets->cpu_ms)
        wait = least(wait, (budgets->cpu_ms - w->cpu_ms) / (uint64_t)processors());
    /* Not to be foreseen by those who would hide from it. */
    w->next_ms = now_ms + (wait < LEAST_MS ? LEAST_MS : wait / 2 + random_below(wait / 2 + 1));
    return WIRE_LIMIT_NONE;
}
