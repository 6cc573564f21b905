/* Probes for system calls that one process uses on itself or on its children. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/kernel_calls.h"
#include "sandbox/probe_rows.h"

/* --- Landlock ------------------------------------------------------------------------------- */

static int attempt_landlock(struct probe_report *report)
{
    const struct kernel_landlock_ruleset_attr everything = {.handled_access_fs =
                                                                KERNEL_LANDLOCK_FS_ABI_1};
    int r = probe_step(report, "landlock_create_ruleset", kernel_landlock_abi());
    report->value = r;
    if (r < 0)
        return r;
    int rules = r = probe_step(report, "landlock_create_ruleset",
                               kernel_landlock_create_ruleset(&everything, sizeof(everything), 0));
    if (r >= 0)
        r = probe_step(report, "no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (r >= 0)
        r = probe_step(report, "landlock_restrict_self", kernel_landlock_restrict_self(rules, 0));
    if (r >= 0 && (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 || errno != EACCES))
        r = probe_wrong(report, "a forbidden directory could still be opened");
    return r;
}

void probe_landlock(struct probe_result *r)
{
    static const char *const lacks[] = {
        "moves between directories, truncation, network, devices, signals",
        "truncation, network, devices, signals",
        "network, devices, signals",
        "devices, signals",
        "signals",
    };
    struct probe_report report;
    if (probe_try(0, attempt_landlock, &report) == 0) {
        if (report.value >= 1 && report.value <= (long)(sizeof(lacks) / sizeof(lacks[0])))
            probe_found(r, "ABI %ld (later ones also cover: %s)", report.value,
                        lacks[report.value - 1]);
        else
            probe_found(r, "ABI %ld", report.value);
        return;
    }
    probe_failed(r, &report);
    char active[128];
    if (report.code != -EOPNOTSUPP)
        probe_remedy_refused(r, &report,
                             "boot Linux 5.13 or later, built with CONFIG_SECURITY_LANDLOCK=y");
    else if (probe_read("/sys/kernel/security/lsm", active, sizeof(active)) > 0)
        probe_remedy(r, "switch it on: add lsm=landlock,%.*s to the kernel's command line and boot",
                     (int)strcspn(active, "\n"), active);
    else
        probe_remedy(r, "switch it on: put landlock first in lsm= on the kernel's command line");
}

/* --- seccomp -------------------------------------------------------------------------------- */

/* What the filters below decide about; harmless, and nothing here needs it. */
#define FILTERED SYS_getppid

/* Returns what the call returned: a listener with SECCOMP_FILTER_FLAG_NEW_LISTENER. */
static int install_filter(struct probe_report *report, unsigned action, unsigned flags)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FILTERED, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    int r = probe_step(report, "no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (r >= 0)
        r = probe_step(report, "seccomp", kernel_seccomp(SECCOMP_SET_MODE_FILTER, flags, &program));
    return r;
}

static int attempt_filter(struct probe_report *report)
{
    int r = install_filter(report, SECCOMP_RET_ERRNO | EDOM, 0);
    if (r >= 0 && (syscall(FILTERED) != -1 || errno != EDOM))
        r = probe_wrong(report, "the filter had no effect");
    return r;
}

void probe_seccomp_filter(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(0, attempt_filter, &report) == 0) {
        probe_found(r, "a filter refuses a call");
        return;
    }
    probe_failed(r, &report);
    probe_remedy_refused(r, &report, "boot a kernel that is built with CONFIG_SECCOMP_FILTER=y");
}

static int answer(struct probe_report *report, int listener, int value)
{
    /* Newer kernels may have larger structs than these headers. */
    union {
        struct seccomp_notif request;
        char room[512];
    } in = {.room = {0}};
    union {
        struct seccomp_notif_resp response;
        char room[512];
    } out = {.room = {0}};
    struct seccomp_notif_sizes sizes;
    struct pollfd asked = {.fd = listener, .events = POLLIN};

    int r = probe_step(report, "notification sizes",
                       kernel_seccomp(SECCOMP_GET_NOTIF_SIZES, 0, &sizes));
    if (r >= 0 && (sizes.seccomp_notif > sizeof(in) || sizes.seccomp_notif_resp > sizeof(out)))
        r = probe_wrong(report, "the kernel's notifications are larger than expected");
    if (r < 0)
        return r;
    r = probe_step(report, "poll", poll(&asked, 1, 1000));
    if (r == 0)
        r = probe_wrong(report, "the notification did not arrive");
    if (r >= 0)
        r = probe_step(report, "receive", ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in.request));
    if (r < 0)
        return r;
    out.response.id = in.request.id;
    out.response.val = value;
    return probe_step(report, "send", ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out.response));
}

static int attempt_notify(struct probe_report *report)
{
    enum { ANSWER = 42 };
    int listener = install_filter(report, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
    if (listener < 0)
        return listener;
    pid_t asking = probe_fork(0);
    if (asking == 0)
        _exit(syscall(FILTERED) == ANSWER ? 0 : 1);
    int r = probe_step(report, "clone", asking);
    if (r < 0)
        return r;

    int status = -1;
    r = answer(report, listener, ANSWER);
    if (r < 0)
        kill(asking, SIGKILL);
    waitpid(asking, &status, 0);
    if (r >= 0 && status != 0)
        r = probe_wrong(report, "the answer did not arrive");
    return r;
}

void probe_seccomp_notify(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(0, attempt_notify, &report) == 0) {
        probe_found(r, "a call is answered by another process");
        return;
    }
    probe_failed(r, &report);
    if (report.code == -EBUSY)
        probe_remedy(r, "start nacre outside the supervisor that already listens to its calls (the "
                        "kernel allows one)");
    else
        probe_remedy_refused(r, &report,
                             "boot Linux 5.13 or later, built with CONFIG_SECCOMP_FILTER=y");
}

/* --- descriptors and processes -------------------------------------------------------------- */

static int attempt_pidfd(struct probe_report *report)
{
    enum { STATUS = 7 };
    siginfo_t info = {0};
    pid_t child = probe_fork(0);
    if (child == 0)
        _exit(STATUS);
    int r = probe_step(report, "clone", child);
    if (r < 0)
        return r;
    int pidfd = r = probe_step(report, "pidfd_open", kernel_pidfd_open(child, 0));
    if (r >= 0)
        r = probe_step(report, "waitid",
                       waitid((idtype_t)KERNEL_P_PIDFD, (id_t)pidfd, &info, WEXITED));
    if (r < 0)
        waitpid(child, NULL, 0);
    else if (info.si_status != STATUS)
        r = probe_wrong(report, "waitid gave another status");
    return r;
}

void probe_pidfd(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(0, attempt_pidfd, &report) == 0) {
        probe_found(r, "pidfd_open, waitid on a pidfd");
        return;
    }
    probe_failed(r, &report);
    probe_remedy_refused(r, &report, "boot Linux 5.13 or later (this came with 5.4)");
}

static int attempt_close_range(struct probe_report *report)
{
    int r = probe_step(report, "dup", fcntl(STDERR_FILENO, F_DUPFD, 3));
    if (r < 0) /* no standard error to copy: any descriptor will do */
        r = probe_step(report, "open", open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int copy = r;
    if (r >= 0)
        r = probe_step(report, "close_range with CLOEXEC",
                       kernel_close_range((unsigned)copy, (unsigned)copy, CLOSE_RANGE_CLOEXEC));
    if (r >= 0 && fcntl(copy, F_GETFD) != FD_CLOEXEC)
        r = probe_wrong(report, "close_range does not set close-on-exec");
    if (r >= 0)
        r = probe_step(report, "close_range",
                       kernel_close_range((unsigned)copy, (unsigned)copy, 0));
    if (r >= 0 && fcntl(copy, F_GETFD) != -1)
        r = probe_wrong(report, "close_range closes nothing");
    return r;
}

void probe_close_range(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(0, attempt_close_range, &report) == 0) {
        probe_found(r, "closes, and sets close-on-exec");
        return;
    }
    probe_failed(r, &report);
    probe_remedy_refused(r, &report, "boot Linux 5.13 or later (this came with 5.9 and 5.11)");
}

static int attempt_openat2(struct probe_report *report)
{
    const struct open_how beneath = {.flags = O_PATH | O_CLOEXEC,
                                     .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                                RESOLVE_NO_MAGICLINKS};
    int base = probe_step(report, "open", open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (base < 0)
        return base;
    int r = probe_step(report, "openat2", kernel_openat2(base, ".", &beneath));
    if (r >= 0 && (kernel_openat2(base, "..", &beneath) >= 0 || errno != EXDEV))
        r = probe_wrong(report, "openat2 follows '..' out of its directory");
    return r;
}

void probe_openat2(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(0, attempt_openat2, &report) == 0) {
        probe_found(r, "resolves beneath a directory");
        return;
    }
    probe_failed(r, &report);
    probe_remedy_refused(r, &report, "boot Linux 5.13 or later (this came with 5.6)");
}

static int attempt_ptrace(struct probe_report *report)
{
    int status = 0;
    pid_t traced = probe_fork(0);
    if (traced == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(errno);
        raise(SIGSTOP);
        _exit(0);
    }
    int r = probe_step(report, "clone", traced);
    if (r < 0)
        return r;
    r = probe_step(report, "waitpid", waitpid(traced, &status, 0));
    if (r >= 0 && WIFEXITED(status)) {
        errno = WEXITSTATUS(status);
        return probe_step(report, "PTRACE_TRACEME", -1);
    }
    if (r >= 0 && !WIFSTOPPED(status))
        return probe_wrong(report, "the traced child did not stop");
    if (r >= 0)
        r = probe_step(report, "PTRACE_SETOPTIONS",
                       (int)ptrace(PTRACE_SETOPTIONS, traced, NULL,
                                   (void *)(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC)));
    kill(traced, SIGKILL);
    waitpid(traced, NULL, 0);
    return r;
}

void probe_ptrace(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(0, attempt_ptrace, &report) == 0) {
        probe_found(r, "a child can be traced");
        return;
    }
    probe_failed(r, &report);
    long scope = probe_read_number("/proc/sys/kernel/yama/ptrace_scope", 0);
    if (scope >= 3)
        probe_remedy(r,
                     "boot with kernel.yama.ptrace_scope=1 in /etc/sysctl.d: it is %ld, which "
                     "cannot be lowered while the system runs",
                     scope);
    else if (scope == 2)
        probe_remedy(r, "let parents trace their children: sudo sysctl -w "
                        "kernel.yama.ptrace_scope=1");
    else
        probe_remedy_refused(
            r, &report,
            "find the policy that refused and let nacre pass: sudo dmesg | grep -i "
            "-e apparmor -e avc");
}
