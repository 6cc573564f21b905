/*
 * Inside the launcher: the small program that receives a plan on a descriptor, builds the walls and
 * executes. It links nothing but these files, a few of base and the plan's decoder, and is executed
 * afresh for every sandbox, so that nothing of the caller's memory or environment can be found in
 * it.
 *
 * Two processes come of it: the guard, outside, which keeps the limits and waits for the
 * supervisor's word and for the end; and init, process 1 inside, which builds the walls, drops
 * every privilege, starts the program and reaps. In landlock strength there is no inside of its
 * own: init becomes the program, and the guard reaps. Invariants, which the tests in tests/escape
 * name:
 *
 *   L1  The guard ends with the supervisor; init dies with the guard; everything dies with init.
 *   L2  GONE is sent only after init was reaped, or when init has: then nothing of the tree is left
 * but init itself, which ends at once, and runs nothing that is not here. L3  Any step that fails
 * ends the launch before the program runs. L4  Init has no capability and cannot be traced when the
 * program starts. L5  Host uid 0 is never mapped into the sandbox. L6  The program starts no
 * process that its tracer has not agreed to. L7  A program that is executed ahead reads nothing but
 * the gate until L4 holds and the last wall stands; and it is the only one that its launcher ever
 * starts. L8  No program runs an instruction before the supervisor has seen it and agreed, but for
 * the shell that runs the text, which is only seen.
 */
#ifndef NACRE_SANDBOX_LAUNCH_H
#define NACRE_SANDBOX_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"
#include "sandbox/launch/trace.h"
#include "sandbox/wire.h"

/* Who the inside is to the kernel, and what it believes to be. */
struct identity {
    uid_t outer_uid, inner_uid;
    gid_t outer_gid, inner_gid;
};

/* For the whole tree; 0: no limit. */
struct budgets {
    uint64_t wall_ms, cpu_ms, memory_bytes, processes, disk_bytes, disk_inodes;
};

struct launch {
    struct plan plan;
    size_t done;     /* so many of its steps are built: the head, which came first */
    bool waits;      /* the plan so far ends where the program waits for the rest of it */
    bool keeps;      /* the hanger is our own, and has what the rest of the plan needs */
    bool full;       /* else landlock strength */
    bool held;       /* there is a mount at WIRE_HELD_FD */
    bool session;    /* there is a pipe for a session's state at WIRE_HELD_FD */
    bool networked;  /* has the host's network */
    bool privileged; /* started by root: sources are opened, and owners mapped, by root */
    bool swept;      /* what killed guards have left is gone */
    struct identity identity;
    struct budgets budgets;
    int alive;                 /* init's end of a socket whose other end the guard holds open */
    int root;                  /* the new root, while it is built */
    int old_root;              /* the new one is entered, but the old one is there; -1: not so */
    const char *kept, *store;  /* what hangs there for a plan that waits: workspace, store */
    int covered;               /* the directory on which it hangs, as the host has it */
    int blank_file, blank_dir; /* what covers a hidden path */
    int peg;                   /* a directory of the new root, below /proc, for the next */
    int hanger;                /* a directory on which layers hang until they are laid */
    int ruleset;               /* Landlock's; -1: none */
    int text;                  /* what is to run is written here, behind all walls; -1 */
    enum wire_stage stage;
    int tree[PLAN_STEPS_MAX]; /* the mount for each step that needs one; of a layer, kept */
    struct trace trace;       /* kept by the one that reaps */
    struct err err;
};

/* identity.c: which ids, and how the kernel is told. */
int identity_choose(struct launch *l);
int identity_write_maps(struct launch *l, pid_t child);
int identity_assume(struct launch *l);
int identity_owner_map(struct launch *l, uid_t owner, gid_t group); /* a user namespace's fd */
void identity_reap(void); /* the process that made the last one */

/* Where the new root hangs while it is built: any directory that every system has. */
#define STAGING "/usr"
/* And where layers hang until an overlay has them. Nothing is looked up below it by then. */
#define HANGER "/etc"

/* tree.c: what the host shows, as detached mounts; of steps that are not done. */
int tree_open_all(struct launch *l);
int tree_open(const struct launch *l, const char *path);
void tree_expect(struct launch *l);

/* root.c: the new root and everything in it. */
int root_apply(struct launch *l, size_t index);
int root_enter(struct launch *l); /* the old one is there until it is let go */
int root_keep(struct launch *l);  /* what a plan that waits needs of it later */
int root_let_go(struct launch *l);
int root_close(struct launch *l);      /* nothing is built any more */
int root_open_text(struct launch *l);  /* while it can be: for what comes later */
int root_write_text(struct launch *l); /* of the steps that are not done */

/* net.c */
int net_loopback_up(struct launch *l);

/* privilege.c: what can be closed while rights are still needed, and the rights. */
int privilege_bound(struct launch *l);
int privilege_drop(struct launch *l);
void privilege_shed(const struct launch *l);
void privilege_override(bool on);

/* landlock.c: the rules are made first and put on last. */
int landlock_prepare(struct launch *l);
int landlock_restrict(struct launch *l);

/* filter.c: after privilege_drop. Returns the listener of what is asked of the guard, or < 0. */
int filter_install(struct launch *l);

/* handover.c: what the guard needs of the inside, as descriptors. */
enum { HANDOVER_DISKS = 8, HANDOVER_IPC = 3 };
struct handover {
    int listener;              /* system calls that wait for an answer */
    int proc;                  /* /proc of the inside */
    int scratch;               /* a place in the tmpfs of the inside; -1 in landlock strength */
    int ipc[HANDOVER_IPC];     /* the kernel's lists of shared memory, semaphores and queues */
    int disks[HANDOVER_DISKS]; /* what is written there is counted */
    size_t disk_count;
};
int handover_send(struct launch *l, int listener);
int handover_receive(int socket, bool full, struct handover *ret);

/* init.c: never returns. */
_Noreturn void init_main(struct launch *l, bool own_network);

/*
 * launch.c: waits for the plan, with descriptors, or for its head, which comes alone. 1: that was
 * the head; 0: all is there, or, where it waits, all but the rest, for which it is called again;
 * -EPIPE: the other end is gone. It is passed on to the socket `on`, unless that is -1, before it
 * is read: whoever has it there need not wait for that.
 */
int launch_receive_plan(struct launch *l, int socket, int on);

/* launch.c: to be ready for programs, before the first. 0, or l->err is set. */
int launch_begin_programs(struct launch *l, uid_t uid, gid_t gid);

/* guard.c: returns when everything is over and told. */
void guard_main(struct launch *l, pid_t init, int pidfd, int alive);
void guard_sweep(struct launch *l); /* once: control groups of guards that were killed */
struct rusage;
void guard_add_usage(struct wire_usage *usage, const struct rusage *r);

/* keep.c: never returns. */
_Noreturn void keep_main(struct launch *l);

/* launch.c: what the supervisor is told; launch_give_up tells why and ends the process (L3). */
void launch_report(enum wire_kind kind, const struct launch *l, int code);
_Noreturn void launch_give_up(const struct launch *l);

#endif
