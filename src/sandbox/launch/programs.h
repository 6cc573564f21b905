/*
 * Which programs are started: each is shown to the supervisor, with its file and its arguments,
 * before its first instruction, and goes on only when the supervisor says so (L8).
 *
 * It is ptrace's stop behind exec that shows them, and neither the filter nor a notification of
 * the call, since before exec there is nothing to be sure of: the path leads elsewhere a moment
 * later, and other threads write to the arguments. Behind it the kernel has copied the arguments
 * to the new stack, other threads are gone, and /proc/PID/exe is the file that was mapped, whatever
 * way led to it: #!, a memory file, a descriptor. Every exec that succeeds comes by there, from any
 * thread and by any of its calls, and a kill there lets no instruction run.
 *
 * The others are served while one waits. Where the supervisor is gone, nothing starts any more. Of
 * what it has said that it has no rule for (struct wire_interest), it is told without waiting.
 */
#ifndef NACRE_SANDBOX_LAUNCH_PROGRAMS_H
#define NACRE_SANDBOX_LAUNCH_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/wire.h"

enum {
    PROGRAMS_ASKED = 64,        /* at once: their answers always fit in the socket */
    PROGRAMS_WAITING = 1 << 14, /* more than there can be processes */
    PROGRAMS_AGAIN_MS = 2,      /* the kernel has no room for descriptors on their way: try again */
};

struct programs {
    int socket; /* -1: broken */
    int proc;   /* /proc */
    uint32_t last;
    bool first_waits; /* else the very first is only told */
    bool again;       /* the last try failed for want of room for descriptors */
    uid_t uid;        /* whose files and processes these are */
    gid_t gid;
    struct programs_asked {
        uint32_t id;
        pid_t pid; /* 0: free */
    } asked[PROGRAMS_ASKED];
    size_t asked_count;
    struct wire_program_end ends[WIRE_PROGRAM_ENDS]; /* not told yet */
    uint32_t end_count;
    bool interested; /* `interest` has come */
    struct wire_interest interest;
    /* Stopped, and not shown yet. */
    pid_t waiting[PROGRAMS_WAITING];
    size_t waiting_count;
};

enum programs_outcome { PROGRAMS_STOPS, PROGRAMS_GOES, PROGRAMS_DIES };

/* Before the first. -errno: there is no /proc. */
int programs_begin(struct programs *p, bool first_waits, uid_t uid, gid_t gid);

/*
 * Somebody stands behind exec. `*program` is what its process ran before, and then what it runs.
 * What is to be done with it; PROGRAMS_STOPS: nothing, until programs_answer says. `again`: it is
 * one that programs_next has given.
 */
enum programs_outcome programs_show(struct programs *p, pid_t pid, uint32_t *program, bool again);

/* One of those that could not be shown before, and now may be; 0: there is none. */
pid_t programs_next(struct programs *p);

/* Takes an answer, if there is one: whose it is, and what is to be done. 0: there is none. */
pid_t programs_answer(struct programs *p, enum programs_outcome *ret);

/* What a process ran last has ended with this status; somebody is not there any more. */
void programs_ended(struct programs *p, uint32_t program, int status);
void programs_forget(struct programs *p, pid_t pid);
/* At the end of all: what has not been told yet. */
void programs_finish(struct programs *p);

/* What to poll for, or 0; and for how long at most, or -1. */
short programs_events(const struct programs *p);
int programs_patience_ms(const struct programs *p);

#endif
