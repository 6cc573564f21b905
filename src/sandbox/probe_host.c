/* Probes for how this machine is set up: release, control groups, subordinate ids, bash. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/group.h"
#include "sandbox/probe_rows.h"

/* --- release -------------------------------------------------------------------------------- */

/* "MAJOR.MINOR…" at least the given one. */
static bool at_least(const char *version, unsigned long major, unsigned long minor)
{
    char *end;
    unsigned long has_major = strtoul(version, &end, 10);
    unsigned long has_minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    return has_major > major || (has_major == major && has_minor >= minor);
}

void probe_kernel(struct probe_result *r)
{
    struct utsname system;
    uname(&system);
    if (strcmp(system.sysname, "Linux") == 0 && at_least(system.release, 5, 13)) {
        probe_found(r, "%s %s", system.sysname, system.release);
        return;
    }
    snprintf(r->detail, sizeof(r->detail), "%s %s is older than 5.13", system.sysname,
             system.release);
    probe_remedy(r,
                 "install and boot Linux 5.13 or later (Ubuntu 20.04: sudo apt install "
                 "linux-generic-hwe-20.04; Debian 11: linux-image-amd64 from bullseye-backports)");
}

/* --- control groups ------------------------------------------------------------------------- */

/* The next line of `*at` with its newline cut off, or NULL. */
static char *next_line(char **at)
{
    if (!*at || !**at)
        return NULL;
    char *line = *at, *end = strchr(line, '\n');
    if (end)
        *end++ = '\0';
    *at = end;
    return line;
}

static int make_group(struct probe_report *report, int parent)
{
    char name[64];
    snprintf(name, sizeof(name), "nacre-probe-%d", (int)getpid());
    int r = probe_step(report, "mkdir of a control group", mkdirat(parent, name, 0755));
    if (r >= 0)
        r = probe_step(report, "rmdir of a control group", unlinkat(parent, name, AT_REMOVEDIR));
    return r;
}

static int attempt_group_v2(struct probe_report *report)
{
    uint64_t threads = UINT64_MAX;
    FD_CLEANUP int parent = group_open_parent_v2(&threads);
    if (parent < 0)
        return probe_wrong(report, "no group above this one may be divided, with memory in its "
                                   "cgroup.subtree_control");
    return make_group(report, parent);
}

static int attempt_group_v1(struct probe_report *report)
{
    static const char *const controllers[] = {"memory", "pids"};
    for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
        FD_CLEANUP int parent = group_open_parent_v1(controllers[i]);
        if (parent < 0)
            return probe_wrong(report, "no writable group of version 1 with memory and pids");
        int r = make_group(report, parent);
        if (r < 0)
            return r;
    }
    return 0;
}

#define UNTIL_THEN "; until then memory is watched, not bounded by the kernel"

static bool is_v2(void)
{
    struct statfs fs;
    return statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

void probe_cgroup(struct probe_result *r)
{
    struct probe_report second, first;
    if (probe_try(0, attempt_group_v2, &second) == 0) {
        probe_found(r, "version 2, memory is handed on to groups of ours");
        return;
    }
    if (probe_try(0, attempt_group_v1, &first) == 0) {
        probe_found(r, "version 1, memory and pids writable");
        return;
    }
    probe_failed(r, &second);
    if (geteuid() != 0 && access("/run/systemd/system", F_OK) == 0)
        probe_remedy(r, "start nacre in a delegated group: systemd-run --user --scope -p "
                        "Delegate=yes nacre …" UNTIL_THEN);
    else if (probe_in_container())
        probe_remedy(r, "start the container with a writable /sys/fs/cgroup (docker run "
                        "--privileged, or podman run --security-opt unmask=/sys/fs/cgroup), and "
                        "nacre in a group below one that hands memory on" UNTIL_THEN);
    else if (geteuid() != 0)
        probe_remedy(r, "have root make a group that you own with '+memory +pids' in its "
                        "cgroup.subtree_control, and start nacre in a group below it" UNTIL_THEN);
    else if (is_v2())
        probe_remedy(r, "hand memory on: echo '+memory +pids' > "
                        "/sys/fs/cgroup/cgroup.subtree_control" UNTIL_THEN);
    else
        probe_remedy(r,
                     "mount a writable hierarchy: mount -t cgroup2 none /sys/fs/cgroup" UNTIL_THEN);
}

/* --- subordinate ids ------------------------------------------------------------------------ */

static const char *find_program(const char *const *places)
{
    for (; *places; places++)
        if (access(*places, X_OK) == 0)
            return *places;
    return NULL;
}

/* The first field of the line in /etc/passwd: getpwuid does not work in a static program. */
static bool own_name(char *ret, size_t size)
{
    char text[64 * 1024], *at = text;
    if (probe_read("/etc/passwd", text, sizeof(text)) <= 0)
        return false;
    for (char *line; (line = next_line(&at));) {
        unsigned uid;
        char name[64];
        if (sscanf(line, "%63[^:]:%*[^:]:%u:", name, &uid) == 2 && uid == geteuid())
            return (size_t)snprintf(ret, size, "%s", name) < size;
    }
    return false;
}

/* The first range of this user in /etc/subuid or /etc/subgid. */
static bool own_range(const char *file, unsigned long *ret_first, unsigned long *ret_count)
{
    char text[64 * 1024], *at = text, name[64] = "", number[16];
    if (probe_read(file, text, sizeof(text)) <= 0)
        return false;
    own_name(name, sizeof(name));
    snprintf(number, sizeof(number), "%u", (unsigned)geteuid());
    for (char *line; (line = next_line(&at));) {
        char whose[64];
        if (sscanf(line, "%63[^:]:%lu:%lu", whose, ret_first, ret_count) == 3 && *ret_count > 0 &&
            (strcmp(whose, number) == 0 || strcmp(whose, name) == 0))
            return true;
    }
    return false;
}

static const char *const newuidmap[] = {"/usr/bin/newuidmap", "/bin/newuidmap",
                                        "/usr/local/bin/newuidmap", NULL};
static const char *const newgidmap[] = {"/usr/bin/newgidmap", "/bin/newgidmap",
                                        "/usr/local/bin/newgidmap", NULL};

/* Runs `program HOLDER 0 OWN 1 1 FIRST COUNT`, which maps the range into the holder's namespace. */
static int map_range(struct probe_report *report, const char *step, const char *program,
                     pid_t holder, unsigned own, unsigned long first, unsigned long count)
{
    char arguments[4][24];
    snprintf(arguments[0], sizeof(arguments[0]), "%d", (int)holder);
    snprintf(arguments[1], sizeof(arguments[1]), "%u", own);
    snprintf(arguments[2], sizeof(arguments[2]), "%lu", first);
    snprintf(arguments[3], sizeof(arguments[3]), "%lu", count);
    char zero[] = "0", one[] = "1", name[] = "nacre-probe";
    char *argv[] = {name, arguments[0], zero,         arguments[1], one,
                    one,  arguments[2], arguments[3], NULL};
    char *environment[] = {NULL};

    pid_t child = probe_fork(0);
    if (child == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = 0; fd < 3; fd++)
            dup2(null, fd);
        execve(program, argv, environment);
        _exit(127);
    }
    int status = -1, r = probe_step(report, step, child);
    if (r >= 0)
        r = probe_step(report, step, waitpid(child, &status, 0));
    return r >= 0 && status != 0 ? probe_wrong(report, step) : r;
}

static int attempt_subordinate_ids(struct probe_report *report)
{
    unsigned long uids, uid_count, gids, gid_count;
    const char *uid_program = find_program(newuidmap), *gid_program = find_program(newgidmap);
    if (!uid_program || !gid_program)
        return probe_wrong(report, "newuidmap or newgidmap is not installed");
    if (!own_range("/etc/subuid", &uids, &uid_count) ||
        !own_range("/etc/subgid", &gids, &gid_count))
        return probe_wrong(report, "no range for this user in /etc/subuid and /etc/subgid");

    pid_t holder;
    int r = probe_hold_userns(report, &holder);
    if (r < 0)
        return r;
    r = map_range(report, "newuidmap failed to map the range", uid_program, holder, geteuid(), uids,
                  uid_count);
    if (r >= 0)
        r = map_range(report, "newgidmap failed to map the range", gid_program, holder, getegid(),
                      gids, gid_count);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    snprintf(report->text, sizeof(report->text), "%lu uids from %lu, %lu gids from %lu", uid_count,
             uids, gid_count, gids);
    return r;
}

void probe_subordinate_ids(struct probe_result *r)
{
    struct probe_report report;
    if (geteuid() == 0) {
        probe_found(r, "not needed: root maps ids itself");
        return;
    }
    if (probe_try(0, attempt_subordinate_ids, &report) == 0) {
        probe_found(r, "%s", report.text);
        return;
    }
    probe_failed(r, &report);
    char name[64] = "";
    if (!own_name(name, sizeof(name)))
        snprintf(name, sizeof(name), "%u", (unsigned)geteuid());
    if (report.first)
        probe_remedy(r, "first fix '%s', which this needs", report.first);
    else if (!find_program(newuidmap) || !find_program(newgidmap))
        probe_remedy(r,
                     "install newuidmap (Debian, Ubuntu: sudo apt install uidmap; Fedora: sudo dnf "
                     "install shadow-utils; Arch: in shadow) to work on files of other owners");
    else if (strstr(report.step, "failed"))
        probe_remedy(r, "give newuidmap and newgidmap their privilege back: sudo chmod u+s "
                        "/usr/bin/newuidmap /usr/bin/newgidmap (a no_new_privs process, as in some "
                        "containers, cannot use them at all)");
    else
        probe_remedy(r, "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s",
                     name);
}

/* --- bash ----------------------------------------------------------------------------------- */

static const char *const bash_places[] = {"/bin/bash", "/usr/bin/bash", NULL};

/* Puts the version into the report. */
static int attempt_bash(struct probe_report *report)
{
    const char *bash = find_program(bash_places);
    if (!bash)
        return probe_wrong(report, "neither /bin/bash nor /usr/bin/bash is there");
    int ends[2];
    int r = probe_step(report, "pipe", pipe2(ends, O_CLOEXEC));
    if (r < 0)
        return r;
    pid_t child = probe_fork(0);
    if (child == 0) {
        char name[] = "bash", version[] = "--version";
        char *argv[] = {name, version, NULL}, *environment[] = {NULL};
        /* Above the three, or a pipe that was born there would be overwritten. */
        int output = fd_copy_above(ends[1], 3), null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, 0);
        dup2(output, 1);
        dup2(null, 2);
        execve(bash, argv, environment);
        _exit(127);
    }
    r = probe_step(report, "clone", child);
    if (r < 0)
        return r;
    fd_close(&ends[1]);

    char text[1024];
    size_t len = 0;
    for (ssize_t n; len < sizeof(text) - 1; len += (size_t)n)
        if ((n = read(ends[0], text + len, sizeof(text) - 1 - len)) <= 0)
            break;
    text[len] = '\0';
    fd_close(&ends[0]);
    waitpid(child, NULL, 0);

    static const char before[] = ", version ";
    char *version = strstr(text, before);
    if (!version)
        return probe_wrong(report, "bash --version does not say its version");
    version += sizeof(before) - 1;
    version[strcspn(version, " \n")] = '\0';
    snprintf(report->text, sizeof(report->text), "%.32s", version);
    return at_least(version, 5, 2) ? 0 : probe_wrong(report, "bash is older than 5.2");
}

void probe_bash(struct probe_result *r)
{
    struct probe_report report;
    if (probe_try(0, attempt_bash, &report) == 0) {
        probe_found(r, "%s, version %s", find_program(bash_places), report.text);
        return;
    }
    probe_failed(r, &report);
    if (report.text[0])
        snprintf(r->detail, sizeof(r->detail), "%s, version %s is older than 5.2",
                 find_program(bash_places), report.text);
    probe_remedy(r, "install bash 5.2 or later as /bin/bash or /usr/bin/bash (it is in Debian 12, "
                    "Ubuntu 24.04, Fedora 37 and later; sudo apt install bash)");
}
