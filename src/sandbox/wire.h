/*
 * What passes between the supervisor and the launcher: descriptors with fixed numbers, and messages
 * on a SOCK_SEQPACKET pair. The program inside never holds the socket.
 *
 * The supervisor says one thing only, by closing its end: kill everything.
 */
#ifndef NACRE_SANDBOX_WIRE_H
#define NACRE_SANDBOX_WIRE_H

#include <signal.h>
#include <stdint.h>

/* 0, 1 and 2 are the program's own. */
enum { WIRE_CONTROL_FD = 3, WIRE_PLAN_FD = 4 };

/* From the guard to init: kill everything inside, reap it, and end. */
#define WIRE_END_SIGNAL SIGTERM

enum wire_kind {
    WIRE_NOTHING,
    WIRE_FAILED, /* a wall could not be built, or the program not be executed: code, stage, text */
    WIRE_ENDED,  /* the program ended: code is its wait status */
    WIRE_GONE,   /* the whole tree is dead: usage */
};

/* Where building stopped, as far as there is a remedy to tell. */
enum wire_stage { WIRE_STAGE_OTHER, WIRE_STAGE_NAMESPACES, WIRE_STAGE_IDMAP, WIRE_STAGE_PROC };

struct wire_message {
    uint32_t kind;
    uint32_t stage;
    int32_t code;
    uint32_t timed_out; /* WIRE_GONE: the guard killed it at its time limit */
    uint32_t survivors; /* WIRE_ENDED: processes that were still there, and were killed */
    uint64_t cpu_us;
    uint64_t memory_peak_bytes;
    char text[512];
};

#endif
