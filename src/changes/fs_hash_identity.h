/*
 * By what a file is known to be the same as before without reading it, and when that is believed.
 */
#ifndef NACRE_CHANGES_FS_HASH_IDENTITY_H
#define NACRE_CHANGES_FS_HASH_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* How often something that changes under our eyes is looked at again. */
enum { IDENTITY_TRIES = 5 };

struct identity {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns; /* since 1970; INT64_MAX for times that have no such number */
    uint32_t mode;                   /* with the type */
};

struct identity identity_of(const struct stat *st);
bool identity_is_same(const struct identity *a, const struct identity *b);

/* The clock by which the kernel stamps files. */
int64_t identity_now_ns(void);

/*
 * Whether a change after `read_ns` must show in the times. A file that changed just before it was
 * read may change again within the same tick, and keep its times and size: what was read is right,
 * but a later look could not tell.
 */
bool identity_is_settled(const struct identity *identity, int64_t read_ns);

/* Before the try of this number: nothing before the first, then some milliseconds. */
void identity_pause(unsigned tries);

#endif
