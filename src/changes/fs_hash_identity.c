/* The identity of files; see fs_hash_identity.h. */
#include "changes/fs_hash_identity.h"

#include <time.h>

#define SECOND_NS INT64_C(1000000000)

/* Two ticks of the slowest clock that kernels are built with, 100 a second. */
#define MARGIN_NS (2 * SECOND_NS / 100)
/* File systems that count seconds; FAT counts every other one. */
#define COARSE_MARGIN_NS (2 * SECOND_NS + MARGIN_NS)

static int64_t nanoseconds(const struct timespec *time)
{
    int64_t ns;
    if (__builtin_mul_overflow((int64_t)time->tv_sec, SECOND_NS, &ns) ||
        __builtin_add_overflow(ns, (int64_t)time->tv_nsec, &ns))
        return INT64_MAX;
    return ns;
}

struct identity identity_of(const struct stat *st)
{
    return (struct identity){
        .device = st->st_dev,
        .inode = st->st_ino,
        .size = (uint64_t)st->st_size,
        .modified_ns = nanoseconds(&st->st_mtim),
        .changed_ns = nanoseconds(&st->st_ctim),
        .mode = st->st_mode,
    };
}

bool identity_is_same(const struct identity *a, const struct identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns && a->mode == b->mode;
}

int64_t identity_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return nanoseconds(&now);
}

static bool is_past(int64_t time_ns, int64_t read_ns)
{
    return time_ns < read_ns - (time_ns % SECOND_NS ? MARGIN_NS : COARSE_MARGIN_NS);
}

bool identity_is_settled(const struct identity *identity, int64_t read_ns)
{
    return is_past(identity->modified_ns, read_ns) && is_past(identity->changed_ns, read_ns);
}

void identity_pause(unsigned tries)
{
    if (tries == 0)
        return;
    const struct timespec time = {.tv_nsec = 1000000L << tries};
    nanosleep(&time, NULL);
}
