/*
 * Attacks on the kernel's own doors. Each prints one line that begins with GOT for every thing it
 * got, and `done` when it has tried everything. What may be killed for trying tries in a child.
 *
 *   calls plain|high|x32    system calls that must not be in reach; `high` sets bits of the number
 *                           that the kernel does not look at, `x32` uses the numbers of that ABI
 *   ia32 FILE               the same through the 32-bit entry, from both kinds of code; also tries
 *                           to give FILE a set-id bit
 *   namespaces              a new namespace of each kind, with each call; and those of process 1
 *   terminal                input pushed into a terminal, with all spellings of the number
 *   trace                   a process that traces and reads its brother
 *   reach PID...            whatever else acts on a process by its number
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static void got(const char *what)
{
    printf("GOT %s\n", what);
    fflush(stdout);
}

/* Whether the kernel took the call for itself: it worked, or it was looked at closely enough to be
 * told what is wrong with it. */
static int in_reach(long result, int error)
{
    return result >= 0 || (error != EPERM && error != ENOSYS && error != EACCES);
}

#ifdef __x86_64__

static char zeros[4096];

/* Arguments with which an ordinary user's call would work, or fail for what it was given. */
static const struct forbidden {
    const char *name;
    long number;
    long args[6];
} forbidden[] = {
    {"unshare", SYS_unshare, {CLONE_NEWUSER}},
    {"unshare of files and everything", SYS_unshare, {CLONE_NEWUSER | CLONE_FILES | CLONE_FS}},
    {"clone3", 435, {0, 0}},
    {"setns", SYS_setns, {-1, 0}},
    {"mount", SYS_mount, {0, 0, 0, 0, 0}},
    {"umount2", SYS_umount2, {0, 0}},
    {"pivot_root", SYS_pivot_root, {0, 0}},
    {"chroot", SYS_chroot, {0}},
    {"open_tree", 428, {AT_FDCWD, 0, 1}},
    {"move_mount", 429, {-1, 0, -1, 0, 0}},
    {"fsopen", 430, {0, 0}},
    {"fsconfig", 431, {-1, 0, 0, 0, 0}},
    {"fsmount", 432, {-1, 0, 0}},
    {"fspick", 433, {AT_FDCWD, 0, 0}},
    {"mount_setattr", 442, {-1, 0, 0, 0, 0}},
    {"open_tree_attr", 467, {AT_FDCWD, 0, 1, 0, 0}},
    {"ptrace attach", SYS_ptrace, {PTRACE_ATTACH, 0x7ffffff0, 0, 0}},
    {"ptrace seize", SYS_ptrace, {PTRACE_SEIZE, 0x7ffffff0, 0, 0}},
    {"process_vm_readv", SYS_process_vm_readv, {0x7ffffff0, (long)zeros, 1, (long)zeros, 1, 0}},
    {"process_vm_writev", SYS_process_vm_writev, {0x7ffffff0, (long)zeros, 1, (long)zeros, 1, 0}},
    {"keyctl", SYS_keyctl, {0, -3, 1}},
    {"add_key", SYS_add_key, {0, 0, 0, 0, 0}},
    {"request_key", SYS_request_key, {0, 0, 0, 0}},
    {"bpf", SYS_bpf, {0, (long)zeros, 72}},
    {"perf_event_open", SYS_perf_event_open, {0, 0, -1, -1, 0}},
    {"userfaultfd", SYS_userfaultfd, {1 /* user mode only */}},
    {"io_uring_setup", 425, {8, (long)zeros}},
    {"io_uring_enter", 426, {-1, 0, 0, 0, 0, 0}},
    {"io_uring_register", 427, {-1, 0, 0, 0}},
    {"open_by_handle_at", SYS_open_by_handle_at, {-1, 0, 0}},
    {"memfd_secret", 447, {0}},
    {"modify_ldt", SYS_modify_ldt, {0, (long)zeros, 64}},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, 0}},
    {"kexec_file_load", SYS_kexec_file_load, {-1, -1, 0, 0, 0}},
    {"init_module", SYS_init_module, {0, 0, 0}},
    {"finit_module", SYS_finit_module, {-1, 0, 0}},
    {"delete_module", SYS_delete_module, {0, 0}},
    {"swapon", SYS_swapon, {0, 0}},
    {"swapoff", SYS_swapoff, {0}},
    {"reboot", SYS_reboot, {(int)0xfee1dead, 672274793, 0, 0}},
    {"iopl", SYS_iopl, {3}},
    {"ioperm", SYS_ioperm, {0x80, 1, 1}},
    {"acct", SYS_acct, {0}},
    {"quotactl", SYS_quotactl, {0, 0, 0, 0}},
    {"syslog", SYS_syslog, {10, 0, 0}},
    {"settimeofday", SYS_settimeofday, {(long)zeros, 0}},
    {"clock_settime", SYS_clock_settime, {0, 0}},
    {"sethostname", SYS_sethostname, {0, 0}},
    {"setdomainname", SYS_setdomainname, {0, 0}},
    {"vhangup", SYS_vhangup, {0}},
    {"lookup_dcookie", SYS_lookup_dcookie, {0, 0, 0}},
    {"fanotify_init", SYS_fanotify_init, {0, 0}},
    {"kcmp", SYS_kcmp, {0x7ffffff0, 0x7ffffff0, 0, 0, 0}},
    {"move_pages", SYS_move_pages, {0x7ffffff0, 0, 0, 0, 0, 0}},
    {"migrate_pages", SYS_migrate_pages, {0x7ffffff0, 0, 0, 0}},
    {"nfsservctl", SYS_nfsservctl, {0}},
    {"uselib", SYS_uselib, {0}},
    {"a number that no kernel has", 999, {0}},
};

static void call_one(const struct forbidden *f, long number, const char *how)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        errno = 0;
        const long *a = f->args;
        long result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
        if (in_reach(result, errno)) {
            printf("GOT %s%s (%ld, %s)\n", f->name, how, result, strerror(errno));
            fflush(stdout);
        }
        _exit(0);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        printf("GOT no child for %s\n", f->name);
}

static int attack_calls(char **argv)
{
    const char *how = argv[0][0] == 'p' ? "" : argv[0][0] == 'h' ? " (high)" : " (x32)";
    for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
        long number = forbidden[i].number;
        if (argv[0][0] == 'h')
            number |= 0x5aL << 32;
        if (argv[0][0] == 'x')
            number |= 0x40000000;
        call_one(&forbidden[i], number, how);
    }
    if (argv[0][0] == 'x') {
        /* The calls that have numbers of their own there: ptrace, execveat and others. */
        static const struct forbidden own[] = {
            {"ptrace of x32", 521, {PTRACE_SEIZE, 0x7ffffff0}},
            {"process_vm_readv of x32", 539, {0x7ffffff0, 0, 0, 0, 0, 0}},
            {"kexec_load of x32", 528, {0, 0, 0, 0}},
            {"getpid of x32", SYS_getpid, {0}},
            {"execveat of x32", 545, {-1, 0, 0, 0, 0}},
        };
        for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
            call_one(&own[i], own[i].number | 0x40000000, "");
    }
    return 0;
}

/* What 32-bit code can reach: code, arguments and the answer lie below 4 GB. */
struct low {
    unsigned char code[256];
    volatile int32_t answer;
    uint32_t words[16];
    char text[256];
};

static struct low *low;

static long by_gate(long number, const long *a)
{
    long result = number;
    __asm__ volatile("int $0x80"
                     : "+a"(result)
                     : "b"(a[0]), "c"(a[1]), "d"(a[2]), "S"(a[3]), "D"(a[4])
                     : "memory", "r8", "r9", "r10", "r11");
    return result;
}

static size_t put(size_t at, const void *bytes, size_t len)
{
    memcpy(low->code + at, bytes, len);
    return at + len;
}

static size_t put_load(size_t at, unsigned char opcode, uint32_t value)
{
    at = put(at, &opcode, 1);
    return put(at, &value, sizeof(value));
}

/* Goes over to 32-bit code, which makes the call, keeps the answer, and never comes back. */
_Noreturn static void by_segment(long number, const long *a)
{
    static const unsigned char gate[] = {0xcd, 0x80}, stop[] = {0x0f, 0x0b};
    static const unsigned char data[] = {0x66, 0xb8, 0x2b, 0x00, 0x8e, 0xd8}; /* ds = 0x2b */
    size_t at = put(0, data, sizeof(data));
    at = put_load(at, 0xbb, (uint32_t)a[0]);
    at = put_load(at, 0xb9, (uint32_t)a[1]);
    at = put_load(at, 0xba, (uint32_t)a[2]);
    at = put_load(at, 0xbe, (uint32_t)a[3]);
    at = put_load(at, 0xbf, (uint32_t)a[4]);
    at = put_load(at, 0xb8, (uint32_t)number);
    at = put(at, gate, sizeof(gate));
    at = put_load(at, 0xa3, (uint32_t)(uintptr_t)&low->answer); /* mov [answer], eax */
    at = put_load(at, 0xb8, 1);                                 /* exit */
    at = put_load(at, 0xbb, 0);
    at = put(at, gate, sizeof(gate));
    put(at, stop, sizeof(stop));
    struct {
        uint32_t offset;
        uint16_t segment;
    } __attribute__((packed)) target = {(uint32_t)(uintptr_t)low->code, 0x23};
    __asm__ volatile("ljmp *%0" : : "m"(target) : "memory");
    __builtin_unreachable();
}

static int attack_ia32(char **argv)
{
    low = mmap((void *)0x10000000, sizeof(*low), PROT_READ | PROT_WRITE | PROT_EXEC,
               MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (low == MAP_FAILED) {
        perror("mmap");
        return 3;
    }
    snprintf(low->text, sizeof(low->text), "%s", argv[0]);
    long text = (long)(uintptr_t)low->text, words = (long)(uintptr_t)low->words;
    low->words[0] = AF_INET;
    low->words[1] = SOCK_DGRAM;
    const struct forbidden calls[] = {
        {"getpid", 20, {0}},
        {"chmod", 15, {text, 06755}},
        {"fchmodat", 306, {AT_FDCWD, text, 06755}},
        {"creat", 8, {text, 06755}},
        {"open", 5, {text, O_RDWR | O_CREAT, 06755}},
        {"socket by socketcall", 102, {1, words}},
        {"vsock", 359, {40, SOCK_STREAM, 0}},
        {"unshare", 310, {CLONE_NEWUSER}},
        {"mount", 21, {0, 0, 0, 0, 0}},
        {"ptrace", 26, {PTRACE_ATTACH, 0x7ffffff0, 0, 0}},
        {"process_vm_readv", 347, {0x7ffffff0, 0, 0, 0, 0}},
        {"keyctl", 288, {0, -3, 1}},
        {"bpf", 357, {0, words, 48}},
        {"perf_event_open", 336, {0, 0, -1, -1, 0}},
        {"userfaultfd", 374, {1}},
        {"io_uring_setup", 425, {8, words}},
        {"open_by_handle_at", 342, {-1, 0, 0}},
        {"modify_ldt", 123, {0, words, 16}},
        {"clone3", 435, {0, 0}},
        {"vm86", 113, {0}},
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        for (int far = 0; far < 2; far++) {
            low->answer = -ENOSYS;
            fflush(stdout);
            pid_t pid = fork();
            if (pid == 0) {
                if (far)
                    by_segment(calls[i].number, calls[i].args);
                low->answer = (int32_t)by_gate(calls[i].number, calls[i].args);
                _exit(0);
            }
            waitpid(pid, NULL, 0);
            if (in_reach(low->answer, -low->answer))
                printf("GOT %s from %s code (%d)\n", calls[i].name, far ? "32-bit" : "64-bit",
                       low->answer);
        }
    }
    return 0;
}

#else

static int attack_calls(char **argv)
{
    (void)argv;
    return 0;
}

static int attack_ia32(char **argv)
{
    (void)argv;
    return 0;
}

#endif

static const struct kind {
    const char *name;
    int flag;
} kinds[] = {
    {"user", CLONE_NEWUSER},     {"mnt", CLONE_NEWNS},    {"pid", CLONE_NEWPID},
    {"net", CLONE_NEWNET},       {"ipc", CLONE_NEWIPC},   {"uts", CLONE_NEWUTS},
    {"cgroup", CLONE_NEWCGROUP}, {"time", CLONE_NEWTIME}, {"pid_for_children", 0},
};

static int nothing(void *unused)
{
    (void)unused;
    return 0;
}

enum way { UNSHARE, CLONE, CLONE_HIGH, CLONE3, WAYS };

static int try_kind(int flags, enum way way)
{
    static char stack[65536] __attribute__((aligned(16)));
    struct clone_args args = {.flags = (unsigned)flags, .exit_signal = SIGCHLD};
    long pid = -1;
    /* The lowest bits of clone's flags are a signal, which is where the flag of time lies. */
    if (way != UNSHARE && way != CLONE3 && (flags & 255))
        return 0;
    switch (way) {
    case UNSHARE:
        return unshare(flags) == 0;
    case CLONE:
        return clone(nothing, stack + sizeof(stack), flags | SIGCHLD, NULL) > 0;
    case CLONE_HIGH:
        pid = syscall(SYS_clone, 0xff00000000UL | (unsigned)(flags | SIGCHLD), 0, 0, 0, 0);
        break;
    case CLONE3:
        pid = syscall(SYS_clone3, &args, sizeof(args));
        break;
    case WAYS:
        break;
    }
    if (pid == 0)
        _exit(0);
    return pid > 0;
}

static void try_ways(const struct kind *k)
{
    static const int with[] = {0, CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWNS};
    static const char *const names[WAYS] = {"unshare", "clone", "clone with high bits", "clone3"};
    for (size_t i = 0; k->flag && i < sizeof(with) / sizeof(with[0]); i++) {
        for (enum way way = UNSHARE; way < WAYS; way++) {
            fflush(stdout);
            pid_t pid = fork();
            if (pid == 0) {
                if (try_kind(k->flag | with[i], way))
                    printf("GOT %s by %s\n", k->name, names[way]);
                fflush(stdout);
                _exit(0);
            }
            waitpid(pid, NULL, 0);
        }
    }
}

static int attack_namespaces(void)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        try_ways(&kinds[i]);
    static const char *const whose[] = {"1", "self", "thread-self"};
    for (size_t w = 0; w < 3; w++) {
        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
            char path[64];
            snprintf(path, sizeof(path), "/proc/%s/ns/%s", whose[w], kinds[i].name);
            int fd = open(path, O_RDONLY | O_CLOEXEC);
            if (fd >= 0 && (setns(fd, 0) == 0 || setns(fd, kinds[i].flag) == 0))
                printf("GOT %s by setns\n", path);
            /* The user namespace that owns it, and that one's parent. */
            int owner = fd < 0 ? -1 : ioctl(fd, 0xb701 /* NS_GET_USERNS */);
            int parent = owner < 0 ? -1 : ioctl(owner, 0xb702 /* NS_GET_PARENT */);
            if ((owner >= 0 && setns(owner, 0) == 0) || parent >= 0)
                printf("GOT the owner of %s\n", path);
        }
    }
    int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
    if (pidfd >= 0 && setns(pidfd, CLONE_NEWUSER | CLONE_NEWNS) == 0)
        got("the namespaces of process 1");
    return 0;
}

static int attack_terminal(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) {
        perror("pty");
        return 3;
    }
    char name[64];
    if (ptsname_r(master, name, sizeof(name)) != 0)
        return 3;
    pid_t pid = fork();
    if (pid != 0) {
        waitpid(pid, NULL, 0);
        return 0;
    }
    setsid();
    int slave = open(name, O_RDWR);
    ioctl(slave, TIOCSCTTY, 0);
    static const unsigned long high[] = {0, 1UL << 32, 1UL << 63, 0xffffffffUL << 32};
    static const struct {
        const char *name;
        unsigned long request;
        int value;
    } requests[] = {
        {"TIOCSTI", TIOCSTI, 'X'},
        {"TIOCLINUX", TIOCLINUX, 3},
        {"TIOCSETD", TIOCSETD, 3 /* slip */},
        {"TIOCSETD to what it is", TIOCSETD, 0},
        {"TIOCSETD, a line discipline of modems", TIOCSETD, 21},
    };
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        for (size_t h = 0; h < sizeof(high) / sizeof(high[0]); h++) {
            int value = requests[i].value;
            if (syscall(SYS_ioctl, slave, requests[i].request | high[h], &value) == 0)
                got(requests[i].name);
        }
    }
    int waiting = 0;
    if (ioctl(slave, FIONREAD, &waiting) == 0 && waiting > 0)
        got("input that nobody typed");
    fflush(stdout);
    _exit(0);
}

static int attack_trace(void)
{
    static char secret[32] = "brother";
    int go[2];
    if (pipe(go) < 0)
        return 3;
    pid_t brother = fork();
    if (brother == 0) {
        char byte;
        close(go[1]);
        _exit(read(go[0], &byte, 1) == 0 && strcmp(secret, "brother") == 0 ? 0 : 9);
    }
    pid_t tracer = fork();
    if (tracer == 0) {
        close(go[1]);
        char bytes[32] = "";
        struct iovec ours = {bytes, sizeof(bytes)}, theirs = {secret, sizeof(secret)};
        if (process_vm_readv(brother, &ours, 1, &theirs, 1, 0) > 0)
            got("process_vm_readv");
        snprintf(bytes, sizeof(bytes), "harm");
        if (process_vm_writev(brother, &ours, 1, &theirs, 1, 0) > 0)
            got("process_vm_writev");
        if (ptrace(PTRACE_SEIZE, brother, NULL, NULL) == 0) {
            got("PTRACE_SEIZE");
            ptrace(PTRACE_DETACH, brother, NULL, NULL);
        }
        if (syscall(SYS_ptrace, (unsigned long)PTRACE_ATTACH | 7UL << 32, brother, 0, 0) == 0 ||
            ptrace(PTRACE_ATTACH, brother, NULL, NULL) == 0) {
            got("PTRACE_ATTACH");
            waitpid(brother, NULL, __WALL);
            ptrace(PTRACE_DETACH, brother, NULL, NULL);
        }
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    waitpid(tracer, NULL, 0);
    close(go[1]);
    kill(brother, SIGCONT);
    waitpid(brother, &status, 0);
    if (status != 0)
        got("a brother that was changed");
    return 0;
}

static void reach_by_calls(pid_t pid)
{
    char info[128] = {0};
    ((int *)(void *)info)[0] = SIGUSR1;
    ((int *)(void *)info)[2] = SI_QUEUE;
    if (syscall(SYS_tgkill, pid, pid, SIGUSR1) == 0 || syscall(SYS_tkill, pid, SIGUSR1) == 0)
        got("tgkill");
    if (syscall(SYS_rt_sigqueueinfo, pid, SIGUSR1, info) == 0 ||
        syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGUSR1, info) == 0)
        got("a queued signal");
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd >= 0)
        got("a pidfd");
    if (pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, SIGUSR1, NULL, 0) == 0)
        got("a signal by a pidfd");
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_NOFILE, NULL, &limit) == 0)
        got("its limits");
    cpu_set_t set;
    struct sched_param param = {0};
    if (sched_getaffinity(pid, sizeof(set), &set) == 0 ||
        sched_setscheduler(pid, SCHED_BATCH, &param) == 0)
        got("its scheduler");
    if (setpriority(PRIO_PROCESS, (id_t)pid, 10) == 0 || setpriority(PRIO_PGRP, (id_t)pid, 10) == 0)
        got("its priority");
    if (syscall(SYS_ioprio_set, 1, pid, 3 << 13) == 0)
        got("its priority for disks");
    if (getpgid(pid) >= 0 || getsid(pid) >= 0 || setpgid(0, pid) == 0)
        got("its group");
    if (syscall(SYS_kcmp, getpid(), pid, 0, 0, 0) >= 0)
        got("a comparison");
    void *list;
    size_t len;
    if (syscall(SYS_get_robust_list, pid, &list, &len) == 0)
        got("an address of it");
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) == 0)
        got("its clock");
    if (prctl(PR_SCHED_CORE, 3 /* share from */, pid, 0, 0) == 0)
        got("its core");
}

/* Signals that the kernel sends for us, to whom we say. */
static void reach_by_owner(pid_t pid)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return;
    struct f_owner_ex whole = {F_OWNER_PID, pid}, thread = {F_OWNER_TID, pid},
                      group = {F_OWNER_PGRP, pid};
    struct f_owner_ex *all[] = {&whole, &thread, &group};
    for (size_t i = 0; i < 3; i++) {
        fcntl(pair[0], F_SETSIG, SIGUSR1);
        fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK);
        if (fcntl(pair[0], F_SETOWN_EX, all[i]) == 0)
            got("ownership of a descriptor");
        if (write(pair[1], "x", 1) != 1)
            return;
    }
    if (fcntl(pair[0], F_SETOWN, pid) == 0 || fcntl(pair[0], F_SETOWN, -pid) == 0)
        got("ownership of a descriptor");
    if (write(pair[1], "x", 1) != 1)
        return;
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event._sigev_un._tid = pid;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        got("a timer of somebody else's");
}

static int attack_reach(char **argv)
{
    for (; *argv; argv++) {
        pid_t pid = (pid_t)strtol(*argv, NULL, 10);
        reach_by_calls(pid);
        reach_by_owner(pid);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **words);
        int (*run_plain)(void);
    } attacks[] = {
        {"calls", 1, attack_calls, NULL},           {"ia32", 1, attack_ia32, NULL},
        {"namespaces", 0, NULL, attack_namespaces}, {"terminal", 0, NULL, attack_terminal},
        {"trace", 0, NULL, attack_trace},           {"reach", 1, attack_reach, NULL},
    };
    for (size_t i = 0; argc > 1 && i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        if (strcmp(argv[1], attacks[i].name) != 0 || argc - 2 < attacks[i].words)
            continue;
        int status = attacks[i].run ? attacks[i].run(argv + 2) : attacks[i].run_plain();
        if (status == 0)
            printf("done\n");
        return status;
    }
    fprintf(stderr, "usage: attack_kernel NAME WORDS...\n");
    return 2;
}
