/*
 * Kernel calls that older C libraries have no wrapper for (Ubuntu 22.04 lacks the mount API), and
 * the constants that older headers lack. Each function behaves like a libc wrapper: -1 with errno,
 * and ENOSYS where the kernel does not know the call.
 *
 * Include this header, never <linux/mount.h> (nor <linux/fs.h>, which brings it in): the two mount
 * headers clash on glibc 2.36 and only in this order on older ones.
 */
#ifndef NACRE_SANDBOX_KERNEL_CALLS_H
#define NACRE_SANDBOX_KERNEL_CALLS_H

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* glibc before 2.36: its <sys/mount.h> has none of the new mount API, the kernel's header has. */
#ifndef FSCONFIG_SET_FLAG
#include <linux/mount.h>
#endif

/* These numbers are the same on every architecture that we build for. */
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_move_mount
#define SYS_move_mount 429
#endif
#ifndef SYS_fsopen
#define SYS_fsopen 430
#endif
#ifndef SYS_fsconfig
#define SYS_fsconfig 431
#endif
#ifndef SYS_fsmount
#define SYS_fsmount 432
#endif
#ifndef SYS_fspick
#define SYS_fspick 433
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_landlock_add_rule
#define SYS_landlock_add_rule 445
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef OPEN_TREE_CLOEXEC
#define OPEN_TREE_CLOEXEC O_CLOEXEC
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH 0x00000004
#endif
#ifndef MOVE_MOUNT_T_EMPTY_PATH
#define MOVE_MOUNT_T_EMPTY_PATH 0x00000040
#endif
#ifndef MOUNT_ATTR_RDONLY
#define MOUNT_ATTR_RDONLY 0x00000001
#endif
#ifndef MOUNT_ATTR_NOSUID
#define MOUNT_ATTR_NOSUID 0x00000002
#endif
#ifndef MOUNT_ATTR_NODEV
#define MOUNT_ATTR_NODEV 0x00000004
#endif
#ifndef MOUNT_ATTR_NOEXEC
#define MOUNT_ATTR_NOEXEC 0x00000008
#endif
#ifndef MOUNT_ATTR_IDMAP
#define MOUNT_ATTR_IDMAP 0x00100000
#endif
#ifndef MOUNT_ATTR_SIZE_VER0
#define MOUNT_ATTR_SIZE_VER0 32
struct mount_attr {
    uint64_t attr_set;
    uint64_t attr_clr;
    uint64_t propagation;
    uint64_t userns_fd;
};
#endif

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

/* glibc's P_PIDFD is an enumerator, so the preprocessor cannot see its absence: cast this one. */
enum { KERNEL_P_PIDFD = 3 };

/*
 * Landlock's newest attributes (ABI 6). Older kernels accept the larger struct as long as what they
 * do not know is zero.
 */
struct kernel_landlock_ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net; /* ABI 4 */
    uint64_t scoped;             /* ABI 6 */
};

struct kernel_landlock_path_beneath_attr {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

struct kernel_landlock_net_port_attr {
    uint64_t allowed_access;
    uint64_t port;
};

enum { KERNEL_LANDLOCK_RULE_PATH_BENEATH = 1, KERNEL_LANDLOCK_RULE_NET_PORT = 2 };
enum { KERNEL_LANDLOCK_CREATE_RULESET_VERSION = 1 };

/* Rights by the ABI that brought them. */
#define KERNEL_LANDLOCK_FS_ABI_1   ((UINT64_C(1) << 13) - 1) /* execute … make_sym */
#define KERNEL_LANDLOCK_FS_REFER   (UINT64_C(1) << 13)       /* ABI 2 */
#define KERNEL_LANDLOCK_FS_TRUNC   (UINT64_C(1) << 14)       /* ABI 3 */
#define KERNEL_LANDLOCK_FS_IOCTL   (UINT64_C(1) << 15)       /* ABI 5: ioctl on devices */
#define KERNEL_LANDLOCK_NET_BIND   (UINT64_C(1) << 0)        /* ABI 4: TCP */
#define KERNEL_LANDLOCK_NET_CONN   (UINT64_C(1) << 1)        /* ABI 4: TCP */
#define KERNEL_LANDLOCK_SCOPE_UNIX (UINT64_C(1) << 0)        /* ABI 6: abstract Unix sockets */
#define KERNEL_LANDLOCK_SCOPE_SIG  (UINT64_C(1) << 1)        /* ABI 6: signals */

static inline int kernel_open_tree(int dir, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, dir, path, flags);
}

static inline int kernel_move_mount(int from_dir, const char *from, int to_dir, const char *to,
                                    unsigned flags)
{
    return (int)syscall(SYS_move_mount, from_dir, from, to_dir, to, flags);
}

static inline int kernel_fsopen(const char *type, unsigned flags)
{
    return (int)syscall(SYS_fsopen, type, flags);
}

static inline int kernel_fspick(int dir, const char *path, unsigned flags)
{
    return (int)syscall(SYS_fspick, dir, path, flags);
}

static inline int kernel_fsconfig(int fs, unsigned command, const char *key, const void *value,
                                  int aux)
{
    return (int)syscall(SYS_fsconfig, fs, command, key, value, aux);
}

static inline int kernel_fsmount(int fs, unsigned flags, unsigned attributes)
{
    return (int)syscall(SYS_fsmount, fs, flags, attributes);
}

static inline int kernel_mount_setattr(int dir, const char *path, unsigned flags,
                                       const struct mount_attr *attributes)
{
    return (int)syscall(SYS_mount_setattr, dir, path, flags, attributes, sizeof *attributes);
}

static inline int kernel_pivot_root(const char *new_root, const char *put_old)
{
    return (int)syscall(SYS_pivot_root, new_root, put_old);
}

static inline int kernel_pidfd_open(pid_t pid, unsigned flags)
{
    return (int)syscall(SYS_pidfd_open, pid, flags);
}

static inline int kernel_pidfd_send_signal(int pidfd, int signal_number, siginfo_t *info,
                                           unsigned flags)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal_number, info, flags);
}

/* musl takes an int, into which the numbers of calls that read an answer do not fit. */
static inline int kernel_ioctl(int fd, unsigned long request, void *argument)
{
    return (int)syscall(SYS_ioctl, fd, request, argument);
}

static inline int kernel_close_range(unsigned first, unsigned last, unsigned flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}

static inline int kernel_openat2(int dir, const char *path, const struct open_how *how)
{
    return (int)syscall(SYS_openat2, dir, path, how, sizeof *how);
}

static inline int kernel_seccomp(unsigned operation, unsigned flags, void *arguments)
{
    return (int)syscall(SYS_seccomp, operation, flags, arguments);
}

static inline int kernel_landlock_create_ruleset(const struct kernel_landlock_ruleset_attr *rules,
                                                 size_t size, uint32_t flags)
{
    return (int)syscall(SYS_landlock_create_ruleset, rules, size, flags);
}

/* The highest ABI that the kernel offers, or -1: ENOSYS when not built, EOPNOTSUPP when off. */
static inline int kernel_landlock_abi(void)
{
    return kernel_landlock_create_ruleset(NULL, 0, KERNEL_LANDLOCK_CREATE_RULESET_VERSION);
}

static inline int kernel_landlock_add_rule(int ruleset, int type, const void *rule, uint32_t flags)
{
    return (int)syscall(SYS_landlock_add_rule, ruleset, type, rule, flags);
}

static inline int kernel_landlock_restrict_self(int ruleset, uint32_t flags)
{
    return (int)syscall(SYS_landlock_restrict_self, ruleset, flags);
}

#endif
