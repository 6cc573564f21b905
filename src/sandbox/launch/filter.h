/*
 * The filter of system calls, in three files: which calls there are (filter_calls.c), what of their
 * arguments is looked at (filter_checks.c), and the program that the kernel gets (filter.c).
 */
#ifndef NACRE_SANDBOX_LAUNCH_FILTER_H
#define NACRE_SANDBOX_LAUNCH_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const unsigned short filter_allowed[];
extern const size_t filter_allowed_count;
extern const unsigned short filter_forbidden[];
extern const size_t filter_forbidden_count;

/* No call has a higher number, as far as these lists know. */
enum { FILTER_CALLS_MAX = 512, FILTER_CODE_MAX = 1024 };

/* A program that grows. One that is too long is refused by the kernel: it does not end. */
struct filter_code {
    struct sock_filter code[FILTER_CODE_MAX];
    size_t len;
};

struct filter {
    /* What each call is answered with: SECCOMP_RET_*. */
    uint32_t answer[FILTER_CALLS_MAX];
    /* Where in `checks` a call's arguments are looked at, plus one; 0: nowhere. */
    size_t check[FILTER_CALLS_MAX];
    struct filter_code checks;
    bool privileged;
    bool others; /* the rule of this name was added, and those behind it heed that */

    uint32_t families; /* enum filter_family */
};

enum filter_family { FILTER_UNIX = 1, FILTER_INET = 2, FILTER_NETLINK = 4 };

/* One instruction behind the others. */
void filter_emit(struct filter_code *c, struct sock_filter instruction);
void filter_load(struct filter_code *c, size_t offset);
void filter_return(struct filter_code *c, uint32_t answer);

/* filter_checks.c: carries out the plan's rule of this name; -EINVAL: there is none. */
int filter_add_rule(struct filter *f, const char *name);
void filter_add_families(struct filter *f);

#define FILTER_REFUSE(error) (SECCOMP_RET_ERRNO | (uint32_t)(error))

#endif
