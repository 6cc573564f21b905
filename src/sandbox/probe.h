/*
 * What this kernel and this user can enforce: every feature that the design needs, tried for real.
 *
 * In: nothing. Out: a row for each feature with what was found and, where it is missing, what to do
 * about it. Each feature is tried in a child of its own that is killed when it hangs. Nothing is
 * printed, nothing stays behind: no child, no descriptor, no mount, no file.
 */
#ifndef NACRE_SANDBOX_PROBE_H
#define NACRE_SANDBOX_PROBE_H

#include <stddef.h>

enum probe_need {
    PROBE_REQUIRED, /* no run in full strength without it */
    PROBE_WANTED,   /* without it something is weaker or slower, or comes later */
};

enum probe_state { PROBE_MISSING, PROBE_PRESENT };

struct probe_result {
    const char *name; /* constant, unique among the rows */
    enum probe_need need;
    enum probe_state state;
    char detail[160]; /* what was found, never empty */
    char remedy[320]; /* one sentence to act on; empty when present */
};

/* No table is longer; an array of this size always has room. */
enum { PROBE_MAX = 32 };

/* Tries the features in the order of the table and fills at most `max` rows. Returns how many. */
size_t probe_all(struct probe_result *ret, size_t max);

/*
 * Why a user namespace could not be made, or was useless once made: one sentence with the command
 * that helps. `code` is the negative errno of clone, unshare, the write to uid_map, or the first
 * privileged call inside. Only reads files; safe in a process with threads.
 */
void probe_explain_userns(int code, char *ret_remedy, size_t size);

#endif
