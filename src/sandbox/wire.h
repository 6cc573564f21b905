/*
 * What passes between the supervisor and the launcher: descriptors with fixed numbers, and messages
 * on a SOCK_SEQPACKET pair. The program inside never holds the socket.
 *
 * The supervisor says two things only: the plan, and, by closing its end: kill everything. What it
 * says of the programs that are started goes over a socket of its own, to the one that traces.
 */
#ifndef NACRE_SANDBOX_WIRE_H
#define NACRE_SANDBOX_WIRE_H

#include <signal.h>
#include <stdint.h>

/*
 * 0, 1 and 2 are the program's own. They come later, on the control socket, with the plan and the
 * mount that it may hold: namespaces take a while to make, and need not wait for it. In this order:
 * the plan, 0, 1, 2, the socket for programs, and, if the plan wants one of them, the mount or the
 * pipe for the session's state, which have the same number, for no run has both.
 */
enum { WIRE_CONTROL_FD = 3, WIRE_PLAN_FD = 4, WIRE_PROGRAMS_FD = 5, WIRE_HELD_FD = 6 };

/* Where the program finds that pipe: out of the way of what scripts number by hand. */
enum { WIRE_SESSION_FD = 63 };

/* The launcher's argument that makes it a keeper (keep.c) of a file system in memory. */
#define WIRE_KEEP "keep"

/* From the guard to init: kill everything inside, reap it, and end. */
#define WIRE_END_SIGNAL SIGTERM

enum wire_kind {
    WIRE_NOTHING,
    WIRE_FAILED,  /* a wall could not be built, or the program not be executed: code, stage, text */
    WIRE_WAITS,   /* built as far as can be: the program waits for the rest of its plan */
    WIRE_BUILT,   /* the walls stand: what comes on standard input is safe to pass on */
    WIRE_ENDED,   /* the program ended: code is its wait status */
    WIRE_COUNTED, /* nobody is left but init: usage, as far as it knows; code: WIRE_ASKED */
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

/* --- programs: on WIRE_PROGRAMS_FD, one message each ---------------------------------------- */

/* WIRE_COUNTED: whether the guard wished the end, and so has more to say of it. */
enum { WIRE_BY_ITSELF, WIRE_ASKED };

/* The guard looks for the first time when a run has lasted so long. What is over sooner, by itself,
 * it knows nothing of that init does not. */
enum { WIRE_FIRST_LOOK_MS = 8 };

enum wire_program_kind { WIRE_PROGRAM_NOTHING, WIRE_PROGRAM_STARTED, WIRE_PROGRAM_ENDED };

/* Ends are told with the next start, or when so many have come together. */
enum { WIRE_PROGRAM_ENDS = 16 };
struct wire_program_end {
    uint32_t id;
    int32_t status; /* as wait has it */
};

enum wire_program_flag {
    WIRE_PROGRAM_WAITS = 1 << 0, /* stopped before its first instruction, until it is answered */
    WIRE_PROGRAM_DARK = 1 << 1,  /* it may not be looked into, and so not be judged */
    WIRE_PROGRAM_CUT = 1 << 2,   /* its arguments are longer: the last descriptor has all of them */
    WIRE_PROGRAM_ALONE = 1 << 3, /* no loader was mapped with it: static, or a loader itself */
};

enum {
    WIRE_PROGRAM_NAME_MAX = 4096,
    WIRE_PROGRAM_WORDS_BYTES = 32 << 10, /* of the arguments, in a message */
    WIRE_PROGRAM_WORDS_LOOKED_AT = 32,   /* of a loader's words, for the program it loads */
    WIRE_PROGRAM_FILES = 8,              /* the program itself, its script, what a loader loads */
    WIRE_PROGRAM_BYTES_MAX = 3 * WIRE_PROGRAM_NAME_MAX + WIRE_PROGRAM_WORDS_BYTES,
};

/* `word` of the program's file, its script's, and a loader's of its own: which argument a file is,
 * else. */
enum { WIRE_PROGRAM_ITSELF = -1, WIRE_PROGRAM_SCRIPT = -2, WIRE_PROGRAM_LOADER = -3 };

/*
 * Behind it come the name by which it was started, the path of its file, the path of its script and
 * its arguments, each of which ends with NUL, as many bytes each as the message says. With it come
 * descriptors: its file first, then others as `word` says, and the list of all arguments if it was
 * cut. No descriptors come with one that may not be looked into, or does not wait.
 */
struct wire_program {
    uint32_t kind;
    uint32_t id;     /* 1, 2, 3 … in the order of the messages */
    uint32_t before; /* STARTED: the program that it replaces in its process; 0: none */
    uint32_t flags;
    uint32_t name_len, path_len, script_len, words_len;
    uint32_t file_count;
    int32_t word[WIRE_PROGRAM_FILES];
    uint32_t end_count; /* of programs that were told before */
    struct wire_program_end ends[WIRE_PROGRAM_ENDS];
};

/* Anything but WIRE_PROGRAM_GO kills it where it stands. */
enum { WIRE_PROGRAM_KILL, WIRE_PROGRAM_GO };
struct wire_program_answer {
    uint32_t id;
    uint32_t answer;
};

/*
 * What the supervisor has anything to say about: names, each of which ends with NUL, and the sizes
 * of files that it knows. Sent once, or never; from then on a program that cannot be one of these
 * does not wait.
 */
enum { WIRE_INTEREST_SIZES = 512, WIRE_INTEREST_NAMES_BYTES = 8192 };
struct wire_interest {
    uint32_t size_count, names_len;
    uint64_t sizes[WIRE_INTEREST_SIZES];
    char names[WIRE_INTEREST_NAMES_BYTES];
};

#endif
