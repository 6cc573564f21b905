/*
 * What of a call's arguments is looked at, rule by rule. A filter sees registers, never memory:
 * what lies behind a pointer can change after the look.
 *
 *   namespaces   no new ones; clone3 hides its flags in memory and so does not exist
 *   terminal     no ioctl that types on a terminal, or changes what reads it
 *   trace        nobody: all of them are traced already
 *   personality  only those that change nothing of security
 *   core         the limit on core files stays: at 0 a crash would start a handler of the host's
 *   init         process 1 has the program's uid; nobody slows it down while it has a tree to end
 *   setid        no file gets a set-user-id bit. Started by root, the inside's files in the
 *                workspace are root's to the host, and such a file would be root's rights for
 *                whoever finds it. Then set-group-id too; ordinary users' shared directories have
 *                that, and may.
 *   spawn        the tracer (trace.c) is asked before a process is made
 *   memory       the guard makes files in memory, and counts what SysV IPC and fallocate take
 *   buffers      sockets keep the size they are made with: what waits in them counts for nobody
 *   leases       nobody who opens a file has to wait for the inside
 *   process      only what prctl does for the caller itself and has done for long
 *   others       without namespaces: nobody else's limits, priority or scheduling, nothing of the
 *                host's IPC, no attributes of files by name
 *   sockets …    only these families: others may ignore network namespaces (vsock does), and each
 *                is a part of the kernel that nothing here needs
 */
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "sandbox/launch/filter.h"
#include "sandbox/launch/trace.h"

#define NEW_NAMESPACES                                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- small pieces ------------------------------------------------------------------------- */

/* The low half of an argument: where ints and flags lie. Both machines are little-endian. */
static void load_argument(struct filter_code *c, unsigned index)
{
    filter_load(c, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

/* Goes on when the loaded value compares so; skips `skip` instructions when it does not. */
static void proceed_if(struct filter_code *c, unsigned compare, uint32_t value, unsigned skip)
{
    filter_emit(
        c, (struct sock_filter)BPF_JUMP(BPF_JMP | compare | BPF_K, value, 0, (unsigned char)skip));
}

/* Answers when the loaded value compares so; goes on when it does not. */
static void answer_if(struct filter_code *c, unsigned compare, uint32_t value, uint32_t answer)
{
    proceed_if(c, compare, value, 1);
    filter_return(c, answer);
}

/* The checks of this call start here; each ends with an answer of its own. */
static struct filter_code *begin(struct filter *f, unsigned number)
{
    f->check[number] = f->checks.len + 1;
    return &f->checks;
}

/* --- the rules ---------------------------------------------------------------------------- */

/* The machine's own calls alone is what every program starts with; see filter.c. */
static void rule_abi(struct filter *f)
{
    (void)f;
}

static void rule_calls(struct filter *f)
{
    for (size_t i = 0; i < filter_allowed_count; i++)
        f->answer[filter_allowed[i]] = SECCOMP_RET_ALLOW;
    for (size_t i = 0; i < filter_forbidden_count; i++)
        f->answer[filter_forbidden[i]] = FILTER_REFUSE(EPERM);
}

/* clone is with `spawn`, which looks at the same flags. */
static void rule_namespaces(struct filter *f)
{
    struct filter_code *c = begin(f, SYS_unshare);
    load_argument(c, 0);
    answer_if(c, BPF_JSET, NEW_NAMESPACES | CLONE_NEWTIME, FILTER_REFUSE(EPERM));
    filter_return(c, SECCOMP_RET_ALLOW);
}

/* Threads are the program's own affair, as far as RLIMIT_NPROC goes; none escapes the tracer. */
static void rule_spawn(struct filter *f)
{
    struct filter_code *c = begin(f, SYS_clone);
    load_argument(c, 0);
    answer_if(c, BPF_JSET, NEW_NAMESPACES | CLONE_UNTRACED, FILTER_REFUSE(EPERM));
    /* Where no namespace counts them, the tracer does. */
    answer_if(c, BPF_JSET, CLONE_THREAD,
              f->others ? SECCOMP_RET_TRACE | TRACE_THREAD : SECCOMP_RET_ALLOW);
    filter_return(c, SECCOMP_RET_TRACE);
#ifdef SYS_fork
    f->answer[SYS_fork] = f->answer[SYS_vfork] = SECCOMP_RET_TRACE;
#endif
}

/* Memory that is shared and has no file: what is not looked at is resident with nobody. */
static void rule_shared_memory(struct filter *f, uint32_t answer)
{
    struct filter_code *c = begin(f, SYS_mmap);
    load_argument(c, 3);
    /* Huge pages of the host's pool are resident with nobody either. */
    answer_if(c, BPF_JSET, MAP_HUGETLB, FILTER_REFUSE(ENOMEM));
    proceed_if(c, BPF_JSET, MAP_SHARED, 3);
    proceed_if(c, BPF_JSET, MAP_ANONYMOUS, 1);
    filter_return(c, answer);
    filter_return(c, SECCOMP_RET_ALLOW);
    filter_return(c, SECCOMP_RET_ALLOW);
}

static void rule_memory(struct filter *f)
{
    f->answer[SYS_memfd_create] = f->answer[SYS_fallocate] = SECCOMP_RET_USER_NOTIF;
    f->answer[SYS_shmget] = f->answer[SYS_semget] = f->answer[SYS_msgget] = SECCOMP_RET_USER_NOTIF;
    rule_shared_memory(f, SECCOMP_RET_USER_NOTIF);
}

static void rule_no_memory_files(struct filter *f)
{
    f->answer[SYS_memfd_create] = FILTER_REFUSE(ENOSYS);
    f->answer[SYS_shmget] = f->answer[SYS_semget] = f->answer[SYS_msgget] = FILTER_REFUSE(ENOSYS);
    rule_shared_memory(f, SECCOMP_RET_USER_NOTIF);
}

/* Error 0: a larger buffer is a wish that the kernel often does not fulfil either. */
static void rule_buffers(struct filter *f)
{
    struct filter_code *c = begin(f, SYS_setsockopt);
    load_argument(c, 1);
    proceed_if(c, BPF_JEQ, SOL_SOCKET, 7);
    load_argument(c, 2);
    answer_if(c, BPF_JEQ, SO_SNDBUF, FILTER_REFUSE(0));
    answer_if(c, BPF_JEQ, SO_RCVBUF, FILTER_REFUSE(0));
    answer_if(c, BPF_JEQ, SO_ZEROCOPY, FILTER_REFUSE(EOPNOTSUPP));
    filter_return(c, SECCOMP_RET_ALLOW);
}

/* A lease on a file makes everybody on the host wait who opens it. */
static void rule_leases(struct filter *f)
{
    struct filter_code *c = begin(f, SYS_fcntl);
    load_argument(c, 1);
    answer_if(c, BPF_JEQ, F_SETLEASE, FILTER_REFUSE(EINVAL));
    answer_if(c, BPF_JEQ, F_NOTIFY, FILTER_REFUSE(EINVAL));
    filter_return(c, SECCOMP_RET_ALLOW);
}

/*
 * Which wishes prctl may be asked, by the range of their numbers: newer ones are parts of the
 * kernel that nothing here needs, and one of them (78) takes memory that counts for nobody.
 */
static void rule_process(struct filter *f)
{
    static const struct {
        uint32_t first, last;
    } wishes[] = {
        {1, 30},                  /* names, signals, capabilities, seccomp, timer slack */
        {33, 34},                 /* memory errors */
        {36, 56},                 /* reaping, no_new_privs, huge pages, speculation */
        {65, 66},                 /* memory that is never written and executed */
        {0x41555856, 0x41555856}, /* the auxiliary vector, for the caller to read */
        {0x53564d41, 0x53564d41}, /* names of memory */
        {0x59616d61, 0x59616d61}, /* who may trace: nobody can */
    };
    struct filter_code *c = begin(f, SYS_prctl);
    load_argument(c, 0);
    for (size_t i = 0; i < COUNT(wishes); i++) {
        proceed_if(c, BPF_JGE, wishes[i].first, 2);
        filter_emit(c,
                    (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, wishes[i].last, 1, 0));
        filter_return(c, SECCOMP_RET_ALLOW);
    }
    filter_return(c, FILTER_REFUSE(EINVAL));
}

/* The kernel looks at the low half of the request alone, and so does this. */
static void rule_terminal(struct filter *f)
{
    static const uint32_t requests[] = {TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCSSERIAL};
    struct filter_code *c = begin(f, SYS_ioctl);
    load_argument(c, 1);
    for (size_t i = 0; i < COUNT(requests); i++)
        answer_if(c, BPF_JEQ, requests[i], FILTER_REFUSE(EPERM));
    filter_return(c, SECCOMP_RET_ALLOW);
}

/* A child that asks to be traced would be refused all the same. */
static void rule_trace(struct filter *f)
{
    f->answer[SYS_ptrace] = FILTER_REFUSE(EPERM);
}

static void rule_personality(struct filter *f)
{
    /* Ordinary, 32-bit names, no randomized addresses (debuggers), and the question which it is. */
    static const uint32_t harmless[] = {0, 0x0008, 0x0020000, 0x0040000, 0xffffffff};
    struct filter_code *c = begin(f, SYS_personality);
    load_argument(c, 0);
    for (size_t i = 0; i < COUNT(harmless); i++)
        answer_if(c, BPF_JEQ, harmless[i], SECCOMP_RET_ALLOW);
    filter_return(c, FILTER_REFUSE(EPERM));
}

/* Error 0: the caller believes that it was done, as `ulimit -c 0` in many a script wants. */
static void rule_core(struct filter *f)
{
    struct filter_code *c = begin(f, SYS_setrlimit);
    load_argument(c, 0);
    answer_if(c, BPF_JEQ, RLIMIT_CORE, FILTER_REFUSE(0));
    filter_return(c, SECCOMP_RET_ALLOW);

    c = begin(f, SYS_prlimit64);
    load_argument(c, 0);
    if (f->others) {
        proceed_if(c, BPF_JEQ, 0, 1);
        filter_emit(c, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 1));
        filter_return(c, FILTER_REFUSE(EPERM));
    }
    answer_if(c, BPF_JEQ, 1, FILTER_REFUSE(EPERM)); /* process 1 */
    load_argument(c, 1);
    proceed_if(c, BPF_JEQ, RLIMIT_CORE, 5);
    /* Without new limits it only reads: both halves of the pointer are 0. */
    load_argument(c, 2);
    proceed_if(c, BPF_JEQ, 0, 2);
    filter_load(c, offsetof(struct seccomp_data, args[2]) + sizeof(uint32_t));
    filter_emit(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
    filter_return(c, FILTER_REFUSE(0));
    filter_return(c, SECCOMP_RET_ALLOW);
}

/* Calls that change how another process is scheduled, or what it may use. */
static const struct {
    unsigned number, process; /* index of the argument that says whose */
    int which;                /* index of one that says what kind of number that is; NO_KIND */
    uint32_t one, all;        /* its value for one process, and for all of a user */
} processes[] = {
#define NO_KIND (-1)
    {SYS_sched_setscheduler, 0, NO_KIND, 0, 0},
    {SYS_sched_setparam, 0, NO_KIND, 0, 0},
    {SYS_sched_setattr, 0, NO_KIND, 0, 0},
    {SYS_sched_setaffinity, 0, NO_KIND, 0, 0},
    {SYS_setpriority, 1, 0, 0, 2},
    {SYS_ioprio_set, 1, 0, 1, 3},
};

static void rule_init(struct filter *f)
{
    for (size_t i = 0; i < COUNT(processes); i++) {
        struct filter_code *c = begin(f, processes[i].number);
        load_argument(c, processes[i].process);
        answer_if(c, BPF_JEQ, 1, FILTER_REFUSE(EPERM));
        if (processes[i].which != NO_KIND) {
            load_argument(c, (unsigned)processes[i].which);
            answer_if(c, BPF_JEQ, processes[i].all, FILTER_REFUSE(EPERM));
        }
        filter_return(c, SECCOMP_RET_ALLOW);
    }
}

/* Where the inside sees the host's processes, only oneself is in reach, by the number 0. */
static void rule_others(struct filter *f)
{
    static const unsigned ipc[] = {
        SYS_shmat,     SYS_shmdt,        SYS_shmctl,          SYS_semop,     SYS_semtimedop,
        SYS_semctl,    SYS_msgsnd,       SYS_msgrcv,          SYS_msgctl,    SYS_mq_open,
        SYS_mq_unlink, SYS_mq_timedsend, SYS_mq_timedreceive, SYS_mq_notify, SYS_mq_getsetattr};
    static const unsigned named[] = {SYS_setxattr, SYS_lsetxattr, SYS_removexattr,
                                     SYS_lremovexattr};
    for (size_t i = 0; i < COUNT(processes); i++) {
        struct filter_code *c = begin(f, processes[i].number);
        if (processes[i].which != NO_KIND) {
            load_argument(c, (unsigned)processes[i].which);
            proceed_if(c, BPF_JEQ, processes[i].one, 3);
        }
        load_argument(c, processes[i].process);
        answer_if(c, BPF_JEQ, 0, SECCOMP_RET_ALLOW);
        filter_return(c, FILTER_REFUSE(EPERM));
    }
    for (size_t i = 0; i < COUNT(ipc); i++)
        f->answer[ipc[i]] = FILTER_REFUSE(ENOSYS);
    for (size_t i = 0; i < COUNT(named); i++)
        f->answer[named[i]] = FILTER_REFUSE(EPERM);
    f->others = true;
}

static void rule_setid(struct filter *f)
{
    enum { NO_FLAGS = -1 };
    /* Calls that give a file its mode; those with flags do so only when they create. openat2 has
     * its mode in memory and so is not among the calls at all. */
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
    uint32_t bits = S_ISUID | (f->privileged ? S_ISGID : 0);
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct filter_code *c = begin(f, calls[i].number);
        if (calls[i].flags != NO_FLAGS) {
            load_argument(c, (unsigned)calls[i].flags);
            /* O_TMPFILE without O_DIRECTORY is the bit that means it. */
            proceed_if(c, BPF_JSET, O_CREAT | (O_TMPFILE & ~O_DIRECTORY), 3);
        }
        load_argument(c, (unsigned)calls[i].mode);
        answer_if(c, BPF_JSET, bits, FILTER_REFUSE(EPERM));
        filter_return(c, SECCOMP_RET_ALLOW);
    }
}

static void rule_sockets_unix(struct filter *f)
{
    f->families |= FILTER_UNIX;
}

static void rule_sockets_inet(struct filter *f)
{
    f->families |= FILTER_INET;
}

static void rule_sockets_netlink(struct filter *f)
{
    f->families |= FILTER_NETLINK;
}

/* socketpair makes only local ones; its other families fail by themselves. */
void filter_add_families(struct filter *f)
{
    static const uint32_t protocols[] = {0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_ICMPV6};
    struct filter_code *c = begin(f, SYS_socket);
    load_argument(c, 0);
    if (f->families & FILTER_UNIX)
        answer_if(c, BPF_JEQ, AF_UNIX, SECCOMP_RET_ALLOW);
    if (f->families & FILTER_NETLINK) {
        /* Only the kind that tells interfaces and routes: getaddrinfo asks it. */
        proceed_if(c, BPF_JEQ, AF_NETLINK, 4);
        load_argument(c, 2);
        answer_if(c, BPF_JEQ, NETLINK_ROUTE, SECCOMP_RET_ALLOW);
        filter_return(c, FILTER_REFUSE(EPROTONOSUPPORT));
    }
    if (f->families & FILTER_INET) {
        filter_emit(c, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0));
        proceed_if(c, BPF_JEQ, AF_INET6, 2 + 2 * COUNT(protocols));
        load_argument(c, 2);
        for (size_t i = 0; i < COUNT(protocols); i++)
            answer_if(c, BPF_JEQ, protocols[i], SECCOMP_RET_ALLOW);
        filter_return(c, FILTER_REFUSE(EPROTONOSUPPORT));
    }
    filter_return(c, FILTER_REFUSE(EAFNOSUPPORT));
}

int filter_add_rule(struct filter *f, const char *name)
{
    static const struct {
        const char *name;
        void (*add)(struct filter *f);
    } rules[] = {
        {"abi", rule_abi},
        {"calls", rule_calls},
        {"namespaces", rule_namespaces},
        {"terminal", rule_terminal},
        {"trace", rule_trace},
        {"personality", rule_personality},
        {"core", rule_core},
        {"init", rule_init},
        {"setid", rule_setid},
        {"spawn", rule_spawn},
        {"memory", rule_memory},
        {"buffers", rule_buffers},
        {"leases", rule_leases},
        {"process", rule_process},
        {"others", rule_others},
        {"no memory files", rule_no_memory_files},
        {"sockets unix", rule_sockets_unix},
        {"sockets inet", rule_sockets_inet},
        {"sockets netlink", rule_sockets_netlink},
    };
    for (size_t i = 0; i < COUNT(rules); i++) {
        if (strcmp(rules[i].name, name) == 0) {
            rules[i].add(f);
            return 0;
        }
    }
    return -EINVAL;
}
