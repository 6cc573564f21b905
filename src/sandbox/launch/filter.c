/*
 * System calls that are refused inside, as a seccomp filter put together from the plan's rules.
 *
 *   abi       only the machine's own calls: the filter would not know what the others mean
 *   io_uring  none, since it makes calls that no filter sees
 *   keyring   none: keys are found by user, and the user is the caller's
 *   core      the limit on core files stays: at 0 a crash would start a handler of the host's
 *   init      process 1 has the program's uid; nobody slows it down while it has a tree to end
 *   sockets   only local, IP and netlink: other families may ignore network namespaces (vsock does)
 *   setid     no file gets a set-user-id bit. Started by root, the inside's files in the workspace
 *             are root's to the host, and such a file would be root's rights for whoever finds it.
 *             Then set-group-id too; ordinary users' shared directories have that, and may.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sandbox/kernel_calls.h"
#include "sandbox/launch/launch.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "unknown architecture: its number in <linux/audit.h> is needed here"
#endif

#define X32_BIT 0x40000000U

enum { PROGRAM_MAX = 256 };

struct program {
    struct sock_filter code[PROGRAM_MAX];
    unsigned short len;
};

static void emit(struct program *p, struct sock_filter instruction)
{
    /* A program that is too long is refused by the kernel: its last instruction is no return. */
    if (p->len < PROGRAM_MAX)
        p->code[p->len++] = instruction;
}

static void load(struct program *p, size_t offset)
{
    emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

/* The low half of an argument: where mode_t and flags lie. Both machines are little-endian. */
static void load_argument(struct program *p, unsigned index)
{
    load(p, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

static void answer(struct program *p, unsigned value)
{
    emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
}

static void refuse(struct program *p, int error)
{
    answer(p, SECCOMP_RET_ERRNO | (unsigned)error);
}

static void load_number(struct program *p)
{
    load(p, offsetof(struct seccomp_data, nr));
}

static void add_abi(struct program *p, bool privileged)
{
    (void)privileged;
    load(p, offsetof(struct seccomp_data, arch));
    emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
    answer(p, SECCOMP_RET_KILL_PROCESS);
    load_number(p);
    emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1));
    refuse(p, ENOSYS);
}

static void refuse_call(struct program *p, unsigned number)
{
    load_number(p);
    emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    refuse(p, ENOSYS);
}

/* Answers a call with `error` when the low half of an argument is `value`. */
static void refuse_argument(struct program *p, unsigned number, unsigned index, unsigned value,
                            int error)
{
    load_number(p);
    emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3));
    load_argument(p, index);
    emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    refuse(p, error);
}

static void add_io_uring(struct program *p, bool privileged)
{
    (void)privileged;
    refuse_call(p, 425); /* io_uring_setup, _enter, _register: the same on every machine */
    refuse_call(p, 426);
    refuse_call(p, 427);
}

static void add_keyring(struct program *p, bool privileged)
{
    (void)privileged;
    refuse_call(p, SYS_add_key);
    refuse_call(p, SYS_request_key);
    refuse_call(p, SYS_keyctl);
}

/* Error 0: the caller believes that it was done, as `ulimit -c 0` in many a script wants. */
static void add_core(struct program *p, bool privileged)
{
    (void)privileged;
    refuse_argument(p, SYS_setrlimit, 0, RLIMIT_CORE, 0);
    load_number(p);
    emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 7));
    load_argument(p, 1);
    emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CORE, 0, 5));
    /* Without new limits it only reads: both halves of the pointer are 0. */
    load_argument(p, 2);
    emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2));
    load(p, offsetof(struct seccomp_data, args[2]) + sizeof(uint32_t));
    emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
    refuse(p, 0);
}

static void add_init(struct program *p, bool privileged)
{
    enum { ALL_OF_USER_PRIORITY = 2, ALL_OF_USER_IO = 3 };
    static const struct {
        unsigned number, index, value;
    } calls[] = {
        {SYS_sched_setscheduler, 0, 1},
        {SYS_sched_setparam, 0, 1},
        {SYS_sched_setattr, 0, 1},
        {SYS_sched_setaffinity, 0, 1},
        {SYS_prlimit64, 0, 1},
        {SYS_setpriority, 1, 1},
        {SYS_ioprio_set, 1, 1},
        {SYS_setpriority, 0, ALL_OF_USER_PRIORITY},
        {SYS_ioprio_set, 0, ALL_OF_USER_IO},
    };
    (void)privileged;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        refuse_argument(p, calls[i].number, calls[i].index, calls[i].value, EPERM);
}

/* socketpair makes only local ones; its other families fail by themselves. */
static void add_sockets(struct program *p, bool privileged)
{
    static const unsigned families[] = {AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    enum { COUNT = sizeof(families) / sizeof(families[0]) };
    (void)privileged;
    load_number(p);
    emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, COUNT + 2));
    load_argument(p, 0);
    for (unsigned i = 0; i < COUNT; i++)
        emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, families[i],
                                             (unsigned char)(COUNT - i), 0));
    refuse(p, EAFNOSUPPORT);
}

static void add_setid(struct program *p, bool privileged)
{
    enum { NO_FLAGS = -1 };
    /* Calls that give a file its mode; those with flags do so only when they create. */
    static const struct {
        unsigned number;
        int flags, mode; /* indices of the arguments */
    } calls[] = {
#ifdef SYS_chmod
        {SYS_chmod, NO_FLAGS, 1},   {SYS_creat, NO_FLAGS, 1},    {SYS_mknod, NO_FLAGS, 1},
        {SYS_open, 1, 2},
#endif
        {SYS_fchmod, NO_FLAGS, 1},  {SYS_fchmodat, NO_FLAGS, 2}, {452 /* fchmodat2 */, NO_FLAGS, 2},
        {SYS_mknodat, NO_FLAGS, 2}, {SYS_openat, 2, 3},
    };
    unsigned bits = S_ISUID | (privileged ? S_ISGID : 0);
    /* Its mode lies in memory, where no filter can look. libc and programs fall back to openat. */
    refuse_call(p, SYS_openat2);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        bool flags = calls[i].flags != NO_FLAGS;
        load_number(p);
        emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0,
                                             (unsigned char)(flags ? 5 : 3)));
        if (flags) {
            load_argument(p, (unsigned)calls[i].flags);
            /* O_TMPFILE without O_DIRECTORY is the bit that means it. */
            emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
                                                 O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 0, 3));
        }
        load_argument(p, (unsigned)calls[i].mode);
        emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
        refuse(p, EPERM);
    }
}

int filter_install(struct launch *l)
{
    static const struct {
        const char *name;
        void (*add)(struct program *p, bool privileged);
    } rules[] = {
        {"abi", add_abi},     {"io_uring", add_io_uring}, {"keyring", add_keyring},
        {"core", add_core},   {"init", add_init},         {"sockets", add_sockets},
        {"setid", add_setid},
    };

    struct program program = {.len = 0};
    for (size_t i = 0; i < l->plan.count; i++) {
        const struct plan_step *step = &l->plan.steps[i];
        if (step->kind != PLAN_FILTER)
            continue;
        size_t n = 0;
        while (n < sizeof(rules) / sizeof(rules[0]) && strcmp(rules[n].name, step->text) != 0)
            n++;
        if (n == sizeof(rules) / sizeof(rules[0]))
            return err_set(&l->err, -EINVAL, "unknown filter '%s'", step->text);
        rules[n].add(&program, l->privileged);
    }
    answer(&program, SECCOMP_RET_ALLOW);
    const struct sock_fprog filter = {.len = program.len, .filter = program.code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
        return err_errno(&l->err, -errno, "cannot install the filter of system calls");
    return 0;
}
