/*
 * What passes between the supervisor and the launcher: descriptors with fixed numbers, and messages
 * on a SOCK_SEQPACKET pair. The program inside never holds the socket.
 *
 * The supervisor says two things only: the plan, and, by closing its end: kill everything.
 */
#ifndef NACRE_SANDBOX_WIRE_H
#define NACRE_SANDBOX_WIRE_H

#include <signal.h>
#include <stdint.h>

/*
 * 0, 1 and 2 are the program's own. The plan, and the mount that it may hold, come later, on the
 * control socket: namespaces take a while to make, and need not wait for it.
 */
enum { WIRE_CONTROL_FD = 3, WIRE_PLAN_FD = 4, WIRE_HELD_FD = 5 };

/* The launcher's argument that makes it a keeper (keep.c) of a file system in memory. */
#define WIRE_KEEP "keep"

/* From the guard to init: kill everything inside, reap it, and end. */
#define WIRE_END_SIGNAL SIGTERM

enum wire_kind {
    WIRE_NOTHING,
    WIRE_FAILED,  /* a wall could not be built, or the program not be executed: code, stage, text */
    WIRE_BUILT,   /* the walls stand: what comes on standard input is safe to pass on */
    WIRE_ENDED,   /* the program ended: code is its wait status */
    WIRE_COUNTED, /* how many processes there were: usage, as far as init knows it */
    WIRE_GONE,    /* the whole tree is dead: usage */
};

/* Where building stopped, as far as there is a remedy to tell. */
enum wire_stage {
    WIRE_STAGE_OTHER,
    WIRE_STAGE_NAMESPACES,
    WIRE_STAGE_IDMAP,
    WIRE_STAGE_PROC,
    WIRE_STAGE_LAYER
};

/* Which limit ended it all. */
enum wire_limit {
    WIRE_LIMIT_NONE,
    WIRE_LIMIT_WALL,
    WIRE_LIMIT_CPU,
    WIRE_LIMIT_MEMORY,
    WIRE_LIMIT_DISK
};

/* What kept it: looking at the processes, or a control group of the kernel's. */
enum wire_means { WIRE_BY_WATCHING, WIRE_BY_CGROUP_V2, WIRE_BY_CGROUP_V1 };

struct wire_usage {
    uint64_t cpu_us;
    uint64_t memory_peak_bytes;
    uint64_t bytes_written;
    uint32_t processes_peak;
    uint32_t spawns_refused; /* processes that were not started, for there were too many */
};

struct wire_message {
    uint32_t kind;
    uint32_t stage;
    int32_t code;
    uint32_t limit;     /* WIRE_GONE */
    uint32_t means;     /* WIRE_GONE: how it was, or would have been, kept */
    uint32_t survivors; /* WIRE_ENDED: processes that were still there, and were killed */
    struct wire_usage usage;
    char text[512];
};

#endif
