/*
 * Inside the launcher: the small program that receives a plan on a descriptor, builds the walls and
 * executes. It links nothing but these files, a few of base and the plan's decoder, and is executed
 * afresh for every sandbox, so that nothing of the caller's memory or environment can be found in
 * it.
 *
 * Two processes come of it: the guard, outside, which waits for the supervisor's word and for the
 * end; and init, process 1 inside, which builds the walls, drops every privilege, starts the
 * program and reaps. Invariants, which the tests in tests/escape name:
 *
 *   L1  The guard dies with the supervisor; init dies with the guard; everything dies with init.
 *   L2  GONE is sent only after init was reaped, so nothing of the tree runs then.
 *   L3  Any step that fails ends the launch before the program runs.
 *   L4  Init has no capability and cannot be traced when the program starts.
 *   L5  Host uid 0 is never mapped into the sandbox.
 */
#ifndef NACRE_SANDBOX_LAUNCH_H
#define NACRE_SANDBOX_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"
#include "sandbox/wire.h"

/* Who the inside is to the kernel, and what it believes to be. */
struct identity {
    uid_t outer_uid, inner_uid;
    gid_t outer_gid, inner_gid;
};

struct launch {
    struct plan plan;
    bool privileged; /* started by root: sources are opened, and owners mapped, by root */
    struct identity identity;
    int alive; /* init's end of a pipe that the guard holds open */
    int root;  /* the new root, while it is built */
    enum wire_stage stage;
    int tree[PLAN_STEPS_MAX]; /* the detached mount for each bind step */
    struct err err;
};

/* identity.c: which ids, and how the kernel is told. */
int identity_choose(struct launch *l);
int identity_write_maps(struct launch *l, pid_t child);
int identity_assume(struct launch *l);
int identity_owner_map(struct launch *l, uid_t owner, gid_t group); /* a user namespace's fd */

/* tree.c: what the host shows, as detached mounts. */
int tree_open_all(struct launch *l);

/* root.c: the new root and everything in it. */
int root_apply(struct launch *l, size_t index);
int root_enter(struct launch *l);

/* net.c */
int net_loopback_up(struct launch *l);

/* privilege.c */
int privilege_drop(struct launch *l);
void privilege_keep_kill(void);

/* filter.c: after privilege_drop, which makes it possible without privileges. */
int filter_install(struct launch *l);

/* init.c: never returns. */
_Noreturn void init_main(struct launch *l);

/* launch.c: what the supervisor is told; launch_give_up tells why and ends the process (L3). */
void launch_report(enum wire_kind kind, const struct launch *l, int code);
_Noreturn void launch_give_up(const struct launch *l);

#endif
