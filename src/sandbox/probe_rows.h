/* What the files of the probes share; nobody else includes this. */
#ifndef NACRE_SANDBOX_PROBE_ROWS_H
#define NACRE_SANDBOX_PROBE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sandbox/probe.h"

#define PROBE_USER_NAMESPACE "user namespace"
#define PROBE_NAMESPACES     "namespaces"

/* --- trying in a child (probe_try.c) -------------------------------------------------------- */

/*
 * What a child found, in memory that it shares with its parent. `step` is a constant, and since the
 * child is a copy of the parent the pointer means the same on both sides.
 */
struct probe_report {
    int code;          /* 0 or a negative errno; -ETIMEDOUT when the child hung */
    int signal;        /* that ended the child early, or 0 */
    const char *step;  /* what failed, or NULL */
    const char *first; /* name of the row whose lack explains this failure, or NULL */
    long value;
    char text[96];
};

/*
 * Runs `attempt` in a child inside new `namespaces` (CLONE_NEW…); with CLONE_NEWUSER the child is
 * root there. Returns the report's code. The attempt allocates nothing and may leave descriptors
 * open, since its process ends after it.
 */
int probe_try(unsigned long namespaces, int (*attempt)(struct probe_report *report),
              struct probe_report *ret);

/* For attempts: notes the step when `result` is below 0, and turns it into a negative errno. */
int probe_step(struct probe_report *report, const char *step, int result);

/* A user namespace, held by a process that only waits to be killed. */
int probe_hold_userns(struct probe_report *report, pid_t *ret_holder);

/* For attempts: the same for a call that worked but did not do what it should. */
int probe_wrong(struct probe_report *report, const char *step);

/*
 * For attempts: like fork, but the child dies with its parent and after one second at the latest,
 * so that waiting for it is bounded and no orphan is left when the attempt is killed.
 */
pid_t probe_fork(unsigned long namespaces);

/* --- small readers and rows (probe_explain.c) ----------------------------------------------- */

/* The file's first bytes with a NUL; the number of bytes or a negative errno. */
ssize_t probe_read(const char *path, char *ret, size_t size);

/* The number in a file of /proc/sys, or `fallback` when it is not there. */
long probe_read_number(const char *path, long fallback);

bool probe_in_container(void);
bool probe_is_filtered(void); /* a seccomp filter is on this process */

/* Fills the row. probe_failed says what the report says; the remedy comes from one of the others.
 */
void probe_found(struct probe_result *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void probe_failed(struct probe_result *r, const struct probe_report *report);
void probe_remedy(struct probe_result *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * The remedy for a call that the kernel or a policy refuses; `otherwise` is for when neither
 * another row nor a container explains it.
 */
void probe_remedy_refused(struct probe_result *r, const struct probe_report *report,
                          const char *otherwise);

/* --- the rows ------------------------------------------------------------------------------- */

/* probe_walls.c: namespaces, mounts, network */
void probe_user_namespace(struct probe_result *r);
void probe_namespaces(struct probe_result *r);
void probe_tmpfs_root(struct probe_result *r);
void probe_mount_api(struct probe_result *r);
void probe_proc(struct probe_result *r);
void probe_devpts(struct probe_result *r);
void probe_overlay(struct probe_result *r);
void probe_idmap(struct probe_result *r);
void probe_loopback(struct probe_result *r);

/* probe_calls.c: system calls of one process */
void probe_landlock(struct probe_result *r);
void probe_seccomp_filter(struct probe_result *r);
void probe_seccomp_notify(struct probe_result *r);
void probe_pidfd(struct probe_result *r);
void probe_close_range(struct probe_result *r);
void probe_openat2(struct probe_result *r);
void probe_ptrace(struct probe_result *r);

/* probe_host.c: how this machine is set up */
void probe_kernel(struct probe_result *r);
void probe_cgroup(struct probe_result *r);
void probe_subordinate_ids(struct probe_result *r);
void probe_bash(struct probe_result *r);

#endif
