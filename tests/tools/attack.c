/*
 * What a shell cannot try by itself. Each attack prints one line for every thing it got, and `done`
 * when it has tried everything, so that a silent crash is not taken for a failure to get in.
 *
 *   connect tcp PORT | udp PORT | unix PATH | abstract NAME
 *   families                socket families other than unix, inet, inet6 that can be made
 *   interfaces              the network interfaces
 *   keyring-hold COMMAND…   (outside) puts a secret into the session keyring and runs the command
 *                           with the word SERIAL replaced by the key's number
 *   keyring-read SERIAL     looks for that secret
 *   push-input              TIOCSTI and TIOCLINUX on every terminal in reach
 *   trace PID               ptrace, memory and descriptors of a process
 *   signal PID…             every signal, one after the other
 *   ipc-hold KEY FILE       (outside) makes SysV objects and a message queue, then waits
 *   ipc-look KEY            looks for them
 *   stubborn SECONDS WORD   ignores every signal that can be ignored
 *   nodes DIR               makes device nodes there, and opens those that could be made
 *   mounts                  mounts and remounts with the system calls, old and new
 *   nested                  makes a user namespace, where it has every capability, and tries from
 *                           there to write to the system, uncover what is covered, mount a /proc
 *   set-id DIR              makes files with set-id bits in every way
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECRET "nacre-keyring-secret"
#define QUEUE  "/nacre-test-queue"

static void got(const char *what)
{
    printf("GOT %s\n", what);
    fflush(stdout);
}

static int attack_connect(char **argv)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in inet = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct sockaddr *address = (struct sockaddr *)&inet;
    socklen_t len = sizeof(inet);
    int type = SOCK_STREAM;
    if (strcmp(argv[0], "unix") == 0 || strcmp(argv[0], "abstract") == 0) {
        int abstract = argv[0][0] == 'a';
        snprintf(local.sun_path + abstract, sizeof(local.sun_path) - 1, "%s", argv[1]);
        address = (struct sockaddr *)&local;
        len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + abstract + strlen(argv[1]));
    } else {
        inet.sin_port = htons((uint16_t)atoi(argv[1]));
        if (strcmp(argv[0], "udp") == 0)
            type = SOCK_DGRAM;
    }
    int fd = socket(address->sa_family, type, 0);
    if (fd < 0 || connect(fd, address, len) < 0)
        return 0;
    /* The peer may have hung up already: that it answered is enough. */
    send(fd, "x", 1, MSG_NOSIGNAL);
    if (type == SOCK_STREAM)
        got(argv[0]);
    return 0;
}

static int attack_families(void)
{
    static const int harmless[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};
    for (int family = 1; family < 64; family++) {
        int known = 0;
        for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
            known |= family == harmless[i];
        for (size_t i = 0; !known && i < sizeof(types) / sizeof(types[0]); i++) {
            int fd = socket(family, types[i], 0);
            if (fd >= 0) {
                printf("GOT family %d type %d\n", family, types[i]);
                close(fd);
            }
        }
    }
    int fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    if (fd >= 0)
        got("a raw socket");
    return 0;
}

static int attack_interfaces(void)
{
    struct if_nameindex *names = if_nameindex();
    for (struct if_nameindex *n = names; n && n->if_name; n++)
        printf("interface %s\n", n->if_name);
    return 0;
}

static long key_call(int operation, long a, long b, long c, long d)
{
    return syscall(SYS_keyctl, operation, a, b, c, d);
}

static int keyring_hold(char **argv)
{
    if (key_call(KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) < 0) {
        perror("keyctl");
        return 3;
    }
    long key = syscall(SYS_add_key, "user", "nacre-test", SECRET, strlen(SECRET),
                       KEY_SPEC_SESSION_KEYRING);
    if (key < 0) {
        perror("add_key");
        return 3;
    }
    char serial[32];
    snprintf(serial, sizeof(serial), "%ld", key);
    for (char **word = argv; *word; word++) {
        char *place = strstr(*word, "SERIAL");
        if (!place)
            continue;
        char *text = malloc(strlen(*word) + sizeof(serial));
        sprintf(text, "%.*s%s%s", (int)(place - *word), *word, serial, place + strlen("SERIAL"));
        *word = text;
    }
    execvp(argv[0], argv);
    perror(argv[0]);
    return 127;
}

static void try_key(long key, const char *how)
{
    char payload[256] = "";
    if (key > 0 && key_call(KEYCTL_READ, key, (long)payload, sizeof(payload) - 1, 0) > 0 &&
        strstr(payload, SECRET))
        got(how);
}

static int keyring_read(char **argv)
{
    long serial = atol(argv[0]);
    static const long rings[] = {KEY_SPEC_THREAD_KEYRING,       KEY_SPEC_PROCESS_KEYRING,
                                 KEY_SPEC_SESSION_KEYRING,      KEY_SPEC_USER_KEYRING,
                                 KEY_SPEC_USER_SESSION_KEYRING, KEY_SPEC_GROUP_KEYRING};
    try_key(serial, "the key by its number");
    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
        try_key(key_call(KEYCTL_SEARCH, rings[i], (long)"user", (long)"nacre-test", 0),
                "the key by a search");
        if (key_call(KEYCTL_LINK, serial, rings[i], 0, 0) == 0)
            try_key(serial, "the key by a link");
        if (key_call(KEYCTL_LINK, rings[i], KEY_SPEC_PROCESS_KEYRING, 0, 0) == 0)
            try_key(serial, "the key by a linked ring");
    }
    try_key(syscall(SYS_request_key, "user", "nacre-test", NULL, 0), "the key by a request");
    if (key_call(KEYCTL_SETPERM, serial, 0x3f3f3f3f, 0, 0) == 0)
        got("the key's permissions");
    if (key_call(KEYCTL_REVOKE, serial, 0, 0, 0) == 0 ||
        key_call(KEYCTL_INVALIDATE, serial, 0, 0, 0) == 0)
        got("the key's end");
    return 0;
}

static int attack_push_input(void)
{
    static const char *const paths[] = {"/dev/tty",   "/dev/console", "/dev/tty0",
                                        "/dev/tty1",  "/dev/pts/0",   "/dev/pts/1",
                                        "/dev/pts/2", "/proc/1/fd/0", "/proc/self/fd/0"};
    int fds[3 + sizeof(paths) / sizeof(paths[0])] = {0, 1, 2};
    size_t count = 3;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        int fd = open(paths[i], O_RDWR | O_NOCTTY);
        if (fd >= 0)
            fds[count++] = fd;
    }
    for (size_t i = 0; i < count; i++) {
        char byte = 'X', paste = 3;
        /* Only 32 bits of the request count; filters that compare 64 are passed by the second. */
        if (syscall(SYS_ioctl, fds[i], (unsigned long)TIOCSTI, &byte) == 0 ||
            syscall(SYS_ioctl, fds[i], (unsigned long)TIOCSTI | 1UL << 32, &byte) == 0)
            got("TIOCSTI");
        if (syscall(SYS_ioctl, fds[i], (unsigned long)TIOCLINUX, &paste) == 0)
            got("TIOCLINUX");
        if (isatty(fds[i]))
            got("a terminal");
        if (tcgetpgrp(fds[i]) > 0)
            got("a terminal's process group");
    }
    int fd = open("/dev/tty", O_RDWR);
    if (fd >= 0)
        got("a controlling terminal");
    return 0;
}

static int attack_trace(char **argv)
{
    pid_t pid = (pid_t)atoi(argv[0]);
    char path[64], bytes[64];
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0)
        got("ptrace (seize)");
    if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0)
        got("ptrace (attach)");
    static const char *const files[] = {"mem",   "maps",    "environ", "auxv",
                                        "stack", "syscall", "io",      "smaps"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, files[i]);
        int fd = open(path, O_RDONLY);
        if (fd >= 0 && (i == 0 || read(fd, bytes, sizeof(bytes)) > 0))
            got(path);
    }
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    if (open(path, O_RDONLY | O_DIRECTORY) >= 0)
        got(path);
    static const char *const links[] = {"root", "cwd", "exe", "ns/user", "ns/mnt", "ns/net"};
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, links[i]);
        int fd = open(path, O_RDONLY);
        if (fd >= 0)
            got(path);
    }
    /* Where a static program that is not position independent lies. */
    struct iovec ours = {bytes, sizeof(bytes)}, theirs = {(void *)0x400000, sizeof(bytes)};
    if (process_vm_readv(pid, &ours, 1, &theirs, 1, 0) > 0)
        got("process_vm_readv");
    if (process_vm_writev(pid, &ours, 1, &theirs, 1, 0) > 0)
        got("process_vm_writev");
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    for (int fd = 0; pidfd >= 0 && fd < 16; fd++) {
        if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0)
            got("pidfd_getfd");
    }
    return 0;
}

static int attack_signal(char **argv)
{
    for (; *argv; argv++) {
        for (int number = 1; number < 65; number++)
            kill((pid_t)atoi(*argv), number);
    }
    return 0;
}

static int ipc_hold(char **argv)
{
    key_t key = (key_t)atol(argv[0]);
    int shm = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0666);
    int sem = semget(key, 1, IPC_CREAT | IPC_EXCL | 0666);
    int msg = msgget(key, IPC_CREAT | IPC_EXCL | 0666);
    struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 16};
    mq_unlink(QUEUE);
    mode_t before = umask(0);
    mqd_t queue = mq_open(QUEUE, O_CREAT | O_RDWR, 0666, &attr);
    umask(before);
    FILE *f = fopen(argv[1], "we");
    if (shm < 0 || sem < 0 || msg < 0 || queue < 0 || !f) {
        perror("ipc-hold");
        return 3;
    }
    fprintf(f, "%d\n", shm);
    fclose(f);
    /* Until the test closes our input. */
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    struct shmid_ds now;
    if (shmctl(shm, IPC_STAT, &now) == 0 && semctl(sem, 0, GETVAL) == 0 &&
        msgctl(msg, IPC_STAT, (struct msqid_ds[1]){0}) == 0 && now.shm_nattch == 0)
        printf("untouched\n");
    shmctl(shm, IPC_RMID, NULL);
    semctl(sem, 0, IPC_RMID);
    msgctl(msg, IPC_RMID, NULL);
    mq_unlink(QUEUE);
    return 0;
}

static int ipc_look(char **argv)
{
    key_t key = (key_t)atol(argv[0]);
    if (shmget(key, 0, 0) >= 0)
        got("shared memory by key");
    if (semget(key, 0, 0) >= 0)
        got("a semaphore by key");
    if (msgget(key, 0) >= 0)
        got("a queue by key");
    if (mq_open(QUEUE, O_RDWR) >= 0)
        got("a POSIX queue");
    struct shmid_ds ds;
    struct shm_info info;
    int highest = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info);
    for (int i = 0; i <= highest; i++) {
        int id = shmctl(i, SHM_STAT, &ds);
        if (id >= 0)
            got("shared memory by index");
        if (id >= 0)
            shmctl(id, IPC_RMID, NULL);
    }
    return 0;
}

static int attack_stubborn(char **argv)
{
    for (int number = 1; number < 65; number++)
        signal(number, SIG_IGN);
    setsid();
    for (unsigned left = (unsigned)atoi(argv[0]); left;)
        left = sleep(left);
    return 0;
}

static int attack_nodes(char **argv)
{
    static const struct {
        const char *name;
        mode_t type;
        unsigned major, minor;
    } nodes[] = {
        {"mem", S_IFCHR, 1, 1},    {"kmsg", S_IFCHR, 1, 11},   {"sda", S_IFBLK, 8, 0},
        {"vda", S_IFBLK, 254, 0},  {"fuse", S_IFCHR, 10, 229}, {"null", S_IFCHR, 1, 3},
        {"kvm", S_IFCHR, 10, 232}, {"tun", S_IFCHR, 10, 200},
    };
    char path[512], bytes[16];
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        snprintf(path, sizeof(path), "%s/node-%s", argv[0], nodes[i].name);
        if (mknod(path, nodes[i].type | 0666, makedev(nodes[i].major, nodes[i].minor)) == 0)
            got(path);
        int fd = open(path, O_RDONLY | O_NONBLOCK);
        if (fd >= 0 && read(fd, bytes, sizeof(bytes)) >= 0)
            got(path);
    }
    return 0;
}

static int attack_mounts(void)
{
    static const char *const places[] = {"/usr", "/etc/ssl/certs", "/proc", "/", "/dev/null"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (mount(NULL, places[i], NULL, MS_REMOUNT | MS_BIND, NULL) == 0 ||
            mount(NULL, places[i], NULL, MS_REMOUNT, NULL) == 0)
            got("a remount");
        if (umount2(places[i], MNT_DETACH) == 0)
            got("an unmount");
        if (mount("none", places[i], "tmpfs", 0, NULL) == 0)
            got("a mount over a system directory");
    }
    if (mount("none", "/tmp", "tmpfs", 0, NULL) == 0)
        got("a tmpfs");
    if (mount("/", "/tmp", NULL, MS_BIND | MS_REC, NULL) == 0)
        got("a bind mount");
    if (syscall(SYS_fsopen, "tmpfs", 0) >= 0)
        got("fsopen");
    if (syscall(SYS_open_tree, AT_FDCWD, "/usr", 1 /* OPEN_TREE_CLONE */) >= 0)
        got("open_tree");
    if (chroot("/tmp") == 0)
        got("chroot");
    if (syscall(SYS_pivot_root, ".", ".") == 0)
        got("pivot_root");
    if (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWNET) == 0)
        got("a namespace without a user namespace");
    return 0;
}

static void try_write(const char *path, const char *what)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return;
    close(fd);
    unlink(path);
    got(what);
}

/* A /proc of its own would be writable and show what is covered. */
static void try_proc(void)
{
    mkdir("/tmp/proc", 0755);
    int fs = (int)syscall(SYS_fsopen, "proc", 0);
    if (fs >= 0 && syscall(SYS_fsconfig, fs, 6 /* CMD_CREATE */, NULL, NULL, 0) == 0 &&
        syscall(SYS_fsmount, fs, 0, 0) >= 0)
        got("a /proc by fsmount");
    if (mount("none", "/tmp/proc", "proc", 0, NULL) == 0)
        got("a /proc");
    int fd = open("/tmp/proc/sys/kernel/core_pattern", O_WRONLY);
    if (fd >= 0)
        got("core_pattern");
}

static int attack_nested(void)
{
    int flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC;
    if (unshare(flags) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
        printf("no namespace: %s\n", strerror(errno));
        return 0;
    }
    printf("a namespace\n");
    fflush(stdout);
    pid_t pid = fork(); /* process 1 of the new pid namespace */
    if (pid != 0) {
        waitpid(pid, NULL, 0);
        return 0;
    }

    static const char *const covered[] = {
        "/usr", "/proc/keys", "/proc/key-users", "/proc", "/etc/passwd", "/dev/null", "/tmp"};
    static const unsigned long weaker[] = {0, MS_NOSUID, MS_NODEV, MS_NOSUID | MS_NODEV};
    for (size_t i = 0; i < sizeof(weaker) / sizeof(weaker[0]); i++) {
        mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND | weaker[i], NULL);
        mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | weaker[i], NULL);
        mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND | weaker[i], NULL);
    }
    try_write("/usr/nacre-test-nested", "/usr by a remount");
    try_write("/nacre-test-nested", "the root by a remount");
    if (open("/proc/sys/kernel/core_pattern", O_WRONLY) >= 0)
        got("core_pattern by a remount");
    for (size_t i = 0; i < sizeof(covered) / sizeof(covered[0]); i++) {
        if (umount2(covered[i], MNT_DETACH) == 0)
            got(covered[i]);
    }

    mkdir("/tmp/copy", 0755);
    static const char *const copied[] = {"/", "/usr"};
    for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
        if (mount(copied[i], "/tmp/copy", NULL, MS_BIND, NULL) < 0 &&
            mount(copied[i], "/tmp/copy", NULL, MS_BIND | MS_REC, NULL) < 0)
            continue;
        mount(NULL, "/tmp/copy", NULL, MS_REMOUNT | MS_BIND, NULL);
        try_write("/tmp/copy/nacre-test-nested", "a read-only place by a copy");
    }
    struct {
        uint64_t set, clear, propagation, userns;
    } writable = {.clear = 1 /* MOUNT_ATTR_RDONLY */};
    int tree =
        (int)syscall(SYS_open_tree, AT_FDCWD, "/usr", 1 /* OPEN_TREE_CLONE */ | AT_RECURSIVE);
    if (tree >= 0) {
        syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &writable,
                sizeof(writable));
        if (openat(tree, "nacre-test-nested", O_WRONLY | O_CREAT, 0644) >= 0)
            got("/usr by a detached copy");
    }
    try_proc();
    if (mount("none", "/tmp/copy", "tmpfs", 0, NULL) == 0) {
        char *place[] = {"/tmp/copy", NULL};
        attack_nodes(place);
    }
    static const char *const types[] = {"sysfs", "cgroup2", "cgroup", "bpf", "debugfs", "ext4"};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        /* Over a network namespace of one's own sysfs is harmless but may not be had; see P1. */
        if (mount("none", "/tmp/copy", types[i], 0, NULL) == 0)
            got(types[i]);
    }
    fflush(stdout);
    _exit(0);
}

static int attack_set_id(char **argv)
{
    static const mode_t bits[] = {04755, 02755, 06755, 04711, 06777};
    int dir = open(argv[0], O_RDONLY | O_DIRECTORY);
    umask(0);
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        char name[64];
        mode_t mode = bits[i];
#define NAME(way) (snprintf(name, sizeof(name), "set-id-%s-%o", way, (unsigned)mode), name)
        int fd = openat(dir, NAME("open"), O_WRONLY | O_CREAT, mode);
        close(fd);
        fd = openat(dir, NAME("fchmod"), O_WRONLY | O_CREAT, 0755);
        fchmod(fd, mode);
        close(fd);
        close(openat(dir, NAME("fchmodat"), O_WRONLY | O_CREAT, 0755));
        fchmodat(dir, name, mode, 0);
        close(openat(dir, NAME("fchmodat2"), O_WRONLY | O_CREAT, 0755));
        syscall(452, dir, name, mode, 0);
        mknodat(dir, NAME("mknod"), S_IFREG | mode, 0);
        mkdirat(dir, NAME("mkdir"), mode);
        struct {
            uint64_t flags, mode, resolve;
        } how = {O_WRONLY | O_CREAT, mode, 0};
        close((int)syscall(SYS_openat2, dir, NAME("openat2"), &how, sizeof(how)));
        fd = openat(dir, ".", O_TMPFILE | O_WRONLY, mode);
        if (fd >= 0) {
            char path[64];
            snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
            linkat(AT_FDCWD, path, dir, NAME("tmpfile"), AT_SYMLINK_FOLLOW);
            close(fd);
        }
        /* The high half of the register is not part of the mode. */
        close(openat(dir, NAME("high"), O_WRONLY | O_CREAT, 0755));
        syscall(SYS_fchmodat, dir, name, 0xff00000000UL | mode, 0);
#undef NAME
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
        {"connect", 2, attack_connect, NULL},
        {"families", 0, NULL, attack_families},
        {"interfaces", 0, NULL, attack_interfaces},
        {"keyring-hold", 1, keyring_hold, NULL},
        {"keyring-read", 1, keyring_read, NULL},
        {"push-input", 0, NULL, attack_push_input},
        {"trace", 1, attack_trace, NULL},
        {"signal", 1, attack_signal, NULL},
        {"ipc-hold", 2, ipc_hold, NULL},
        {"ipc-look", 1, ipc_look, NULL},
        {"stubborn", 1, attack_stubborn, NULL},
        {"nodes", 1, attack_nodes, NULL},
        {"mounts", 0, NULL, attack_mounts},
        {"nested", 0, NULL, attack_nested},
        {"set-id", 1, attack_set_id, NULL},
    };
    for (size_t i = 0; argc > 1 && i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        if (strcmp(argv[1], attacks[i].name) != 0 || argc - 2 < attacks[i].words)
            continue;
        int status = attacks[i].run ? attacks[i].run(argv + 2) : attacks[i].run_plain();
        if (status == 0)
            printf("done\n");
        return status;
    }
    fprintf(stderr, "usage: attack NAME WORDS...\n");
    return 2;
}
