/* Probes for what the sandbox is built of: namespaces, mounts, an own network. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/kernel_calls.h"
#include "sandbox/probe_rows.h"

/* Any directory that is always there; what is mounted on it is seen by the child alone. */
#define PLACE "/tmp"

void probe_user_namespace(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(CLONE_NEWUSER, NULL, &report) == 0) {
        probe_found(r, "made and usable as %s", geteuid() == 0 ? "root" : "an ordinary user");
        return;
    }
    probe_failed(r, &report);
    probe_explain_userns(report.code, r->remedy, sizeof(r->remedy));
}

static int attempt_nothing(struct probe_report *report)
{
    (void)report;
    return 0;
}

static const struct kind {
    const char *name;
    unsigned long flag;
    const char *sysctl; /* user.max_…_namespaces */
    const char *config;
} kinds[] = {
    {"mount", CLONE_NEWNS, "mnt", "NAMESPACES"}, {"pid", CLONE_NEWPID, "pid", "PID_NS"},
    {"network", CLONE_NEWNET, "net", "NET_NS"},  {"ipc", CLONE_NEWIPC, "ipc", "IPC_NS"},
    {"uts", CLONE_NEWUTS, "uts", "UTS_NS"},      {"cgroup", CLONE_NEWCGROUP, "cgroup", "CGROUPS"},
};

void probe_namespaces(struct probe_result *r)
{
    const struct kind *failed = NULL;
    struct probe_report report, first = {0};
    char names[64] = ""; /* room for all of them */
    size_t len = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (probe_try(CLONE_NEWUSER | kinds[i].flag, attempt_nothing, &report) == 0)
            continue;
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", failed ? ", " : "",
                                kinds[i].name);
        if (!failed) {
            failed = &kinds[i];
            first = report;
        }
    }
    if (!failed) {
        probe_found(r, "mount, pid, network, ipc, uts, cgroup");
        return;
    }
    snprintf(r->detail, sizeof(r->detail), "%s: %s", names, strerror(-first.code));
    if (first.first && strcmp(first.first, PROBE_NAMESPACES) == 0)
        first.first = NULL; /* this row itself */
    char otherwise[160];
    if (first.code == -ENOSPC)
        snprintf(otherwise, sizeof(otherwise),
                 "allow %s namespaces: sudo sysctl -w user.max_%s_namespaces=15000", failed->name,
                 failed->sysctl);
    else
        snprintf(otherwise, sizeof(otherwise), "boot a kernel that is built with CONFIG_%s=y",
                 failed->config);
    probe_remedy_refused(r, &first, otherwise);
}

static int mount_tmpfs(struct probe_report *report)
{
    int r = probe_step(report, "private mounts", mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
    if (r < 0)
        return r;
    return probe_step(
        report, "mount tmpfs",
        mount("tmpfs", PLACE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m,nr_inodes=64"));
}

static int attempt_tmpfs_root(struct probe_report *report)
{
    int r = mount_tmpfs(report);
    if (r >= 0)
        r = probe_step(report, "chdir", chdir(PLACE));
    if (r >= 0)
        r = probe_step(report, "mkdir", mkdir("old", 0755));
    if (r >= 0)
        r = probe_step(report, "pivot_root", kernel_pivot_root(".", "old"));
    if (r >= 0)
        r = probe_step(report, "detach the old root", umount2("/old", MNT_DETACH));
    if (r >= 0 && access("/usr", F_OK) == 0)
        r = probe_wrong(report, "the old root is still there after pivot_root");
    return r;
}

void probe_tmpfs_root(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(CLONE_NEWUSER | CLONE_NEWNS, attempt_tmpfs_root, &report) == 0) {
        probe_found(r, "mounted, and made the root");
        return;
    }
    probe_failed(r, &report);
    probe_remedy_refused(r, &report,
                         "start nacre on a system whose root is a disk, an overlay or a tmpfs "
                         "mount: pivot_root does not work from an initramfs");
}

static int attempt_mount_api(struct probe_report *report)
{
    const struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
    struct statvfs seen;
    int tree, fs, made, r;
    tree = r = probe_step(
        report, "open_tree",
        kernel_open_tree(AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
    if (r >= 0)
        r = probe_step(report, "mount_setattr",
                       kernel_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &read_only));
    if (r < 0)
        return r;

    fs = r = probe_step(report, "fsopen", kernel_fsopen("tmpfs", FSOPEN_CLOEXEC));
    if (r >= 0)
        r = probe_step(report, "fsconfig",
                       kernel_fsconfig(fs, FSCONFIG_SET_STRING, "size", "1m", 0));
    if (r >= 0)
        r = probe_step(report, "fsconfig create",
                       kernel_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
    if (r < 0)
        return r;
    made = r = probe_step(report, "fsmount", kernel_fsmount(fs, FSMOUNT_CLOEXEC, 0));
    if (r >= 0)
        r = probe_step(report, "mkdir", mkdirat(made, "usr", 0755));
    if (r >= 0)
        r = probe_step(report, "move_mount",
                       kernel_move_mount(made, "", AT_FDCWD, PLACE, MOVE_MOUNT_F_EMPTY_PATH));
    if (r >= 0)
        r = probe_step(report, "move_mount",
                       kernel_move_mount(tree, "", made, "usr", MOVE_MOUNT_F_EMPTY_PATH));
    if (r >= 0)
        r = probe_step(report, "statvfs", statvfs(PLACE "/usr", &seen));
    if (r >= 0 && !(seen.f_flag & ST_RDONLY))
        r = probe_wrong(report, "mount_setattr does not make a mount read-only");
    return r;
}

void probe_mount_api(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(CLONE_NEWUSER | CLONE_NEWNS, attempt_mount_api, &report) == 0) {
        probe_found(r, "open_tree, move_mount, fsopen, fsmount, mount_setattr");
        return;
    }
    probe_failed(r, &report);
    probe_remedy_refused(r, &report, "boot Linux 5.13 or later (mount_setattr came with 5.12)");
}

static int attempt_proc(struct probe_report *report)
{
    char self[16] = "";
    int r = probe_step(report, "mount proc",
                       mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
    if (r >= 0)
        r = probe_step(report, "readlink", (int)readlink("/proc/self", self, sizeof(self) - 1));
    if (r >= 0 && strcmp(self, "1") != 0)
        r = probe_wrong(report, "the fresh /proc shows another pid namespace");
    return r;
}

void probe_proc(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, attempt_proc, &report) == 0) {
        probe_found(r, "fresh in an own pid namespace");
        return;
    }
    probe_failed(r, &report);
    /* The kernel refuses a fresh one while parts of the one outside are covered. */
    probe_remedy_refused(r, &report,
                         "uncover /proc: umount what lies on top of its files and directories "
                         "(grep ' /proc/' /proc/self/mountinfo lists it)");
}

static int attempt_devpts(struct probe_report *report)
{
    int terminal = -1, unlock = 0, number;
    int r = mount_tmpfs(report);
    if (r >= 0)
        r = probe_step(report, "mkdir", mkdir(PLACE "/pts", 0755));
    if (r >= 0)
        r = probe_step(report, "mount devpts",
                       mount("devpts", PLACE "/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                             "newinstance,ptmxmode=0666,mode=600"));
    if (r >= 0)
        r = terminal =
            probe_step(report, "open ptmx", open(PLACE "/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (r >= 0)
        r = probe_step(report, "unlock", ioctl(terminal, TIOCSPTLCK, &unlock));
    if (r >= 0)
        r = probe_step(report, "number", ioctl(terminal, TIOCGPTN, &number));
    return r;
}

void probe_devpts(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(CLONE_NEWUSER | CLONE_NEWNS, attempt_devpts, &report) == 0) {
        probe_found(r, "own terminals");
        return;
    }
    probe_failed(r, &report);
    probe_remedy_refused(r, &report, "boot a kernel that is built with CONFIG_UNIX98_PTYS=y");
}

static int attempt_overlay(struct probe_report *report)
{
    static const char *const directories[] = {PLACE "/lower", PLACE "/upper", PLACE "/work",
                                              PLACE "/all"};
    int r = mount_tmpfs(report);
    for (size_t i = 0; r >= 0 && i < sizeof(directories) / sizeof(directories[0]); i++)
        r = probe_step(report, "mkdir", mkdir(directories[i], 0755));
    if (r >= 0)
        r = probe_step(report, "create",
                       open(PLACE "/lower/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (r >= 0)
        r = probe_step(report, "mount overlay",
                       mount("overlay", PLACE "/all", "overlay", 0,
                             "lowerdir=" PLACE "/lower,upperdir=" PLACE "/upper,workdir=" PLACE
                             "/work,userxattr"));
    if (r >= 0)
        r = probe_step(report, "copy up", open(PLACE "/all/file", O_WRONLY | O_CLOEXEC));
    if (r >= 0)
        r = probe_step(report, "look into the upper layer", access(PLACE "/upper/file", F_OK));
    return r;
}

void probe_overlay(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(CLONE_NEWUSER | CLONE_NEWNS, attempt_overlay, &report) == 0) {
        probe_found(r, "userxattr, upper layer on tmpfs");
        return;
    }
    probe_failed(r, &report);
    probe_remedy_refused(r, &report,
                         report.code == -ENODEV
                             ? "load the module: sudo modprobe overlay, and for every start: echo "
                               "overlay | sudo tee /etc/modules-load.d/overlay.conf"
                             : "boot Linux 5.13 or later with CONFIG_OVERLAY_FS");
}

/* A user namespace to map to: held by a process that exists only for it. */
static int open_map(struct probe_report *report)
{
    pid_t holder;
    int r = probe_hold_userns(report, &holder);
    if (r < 0)
        return r;

    static const char *const maps[] = {"uid_map", "gid_map"};
    char path[64];
    for (size_t i = 0; r >= 0 && i < sizeof(maps) / sizeof(maps[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)holder, maps[i]);
        int map = r = probe_step(report, "open map", open(path, O_WRONLY | O_CLOEXEC));
        if (r >= 0)
            r = probe_step(report, "write map", (int)write(map, "1000 0 1", 8));
    }
    snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)holder);
    if (r >= 0)
        r = probe_step(report, "open namespace", open(path, O_RDONLY | O_CLOEXEC));
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    return r;
}

static int attempt_idmap(struct probe_report *report)
{
    int map = open_map(report);
    if (map < 0)
        return map;
    int tree = probe_step(report, "open_tree",
                          kernel_open_tree(AT_FDCWD, ".", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    if (tree < 0)
        return tree;
    const struct mount_attr mapped = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (unsigned)map};
    return probe_step(report, "mount_setattr",
                      kernel_mount_setattr(tree, "", AT_EMPTY_PATH, &mapped));
}

void probe_idmap(struct probe_result *r)
{
    struct probe_report report;
    if (geteuid() != 0) {
        probe_found(r, "not needed: only root maps the owners of files this way");
        return;
    }
    if (probe_try(0, attempt_idmap, &report) == 0) {
        probe_found(r, "on the file system of the current directory");
        return;
    }
    probe_failed(r, &report);
    if (report.first)
        probe_remedy(r, "first fix '%s', which this needs", report.first);
    else if (report.code == -EINVAL)
        probe_remedy(r, "keep workspaces on a file system that has idmapped mounts (ext4, xfs, "
                        "btrfs; tmpfs and overlay in newer kernels), or run nacre as their owner");
    else
        probe_remedy(r, "run nacre as the owner of the workspace instead of as root, or give root "
                        "CAP_SYS_ADMIN outside (docker run --cap-add SYS_ADMIN)");
}

static int attempt_loopback(struct probe_report *report)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int listener = probe_step(report, "socket", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int client = probe_step(report, "socket", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int r = listener < 0 ? listener : client;
    if (r >= 0)
        r = probe_step(report, "set lo up", ioctl(client, SIOCSIFFLAGS, &request));
    if (r >= 0)
        r = probe_step(report, "bind", bind(listener, (struct sockaddr *)&address, len));
    if (r >= 0)
        r = probe_step(report, "listen", listen(listener, 1));
    if (r >= 0)
        r = probe_step(report, "getsockname",
                       getsockname(listener, (struct sockaddr *)&address, &len));
    if (r >= 0)
        r = probe_step(report, "connect", connect(client, (struct sockaddr *)&address, len));
    return r;
}

void probe_loopback(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(CLONE_NEWUSER | CLONE_NEWNET, attempt_loopback, &report) == 0) {
        probe_found(r, "127.0.0.1 answers in an own network namespace");
        return;
    }
    probe_failed(r, &report);
    probe_remedy_refused(r, &report, "boot a kernel that is built with CONFIG_NET_NS=y and IPv4");
}
