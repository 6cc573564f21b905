/* Reasons and remedies; see probe.h and probe_rows.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/probe_rows.h"

ssize_t probe_read(const char *path, char *ret, size_t size)
{
    FD_CLEANUP int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t len = 0;
    while (len < size - 1) {
        ssize_t n = read(fd, ret + len, size - 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    ret[len] = '\0';
    return (ssize_t)len;
}

long probe_read_number(const char *path, long fallback)
{
    char text[32];
    if (probe_read(path, text, sizeof(text)) <= 0)
        return fallback;
    char *end;
    long value = strtol(text, &end, 10);
    return end == text ? fallback : value;
}

bool probe_in_container(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

/* All options at once: whoever fixes one meets the next. The last is for a fresh /proc. */
static void explain_container(char *ret_remedy, size_t size)
{
    bool podman = access("/run/.containerenv", F_OK) == 0;
    snprintf(ret_remedy, size,
             "start the container with --security-opt seccomp=unconfined --security-opt "
             "apparmor=unconfined --security-opt %s",
             podman ? "unmask=ALL" : "systempaths=unconfined");
}

bool probe_is_filtered(void)
{
    char status[4096];
    if (probe_read("/proc/self/status", status, sizeof(status)) <= 0)
        return false;
    const char *line = strstr(status, "\nSeccomp:");
    return line && strtol(line + strlen("\nSeccomp:"), NULL, 10) == 2;
}

/* Whether a policy said no, as far as can be seen: filters also answer ENOSYS, kill or hold. */
static bool is_refusal(const struct probe_report *report)
{
    return report->code == -EPERM || report->code == -EACCES ||
           (probe_is_filtered() &&
            (report->code == -ENOSYS || report->code == -ETIMEDOUT || report->signal));
}

/* Under a profile of AppArmor, as containers mostly are. */
static bool is_profiled(void)
{
    char label[256];
    ssize_t len = probe_read("/proc/self/attr/current", label, sizeof(label));
    return len > 0 && label[0] && strncmp(label, "unconfined", strlen("unconfined")) != 0;
}

/* The directory of this program when it can stand in a shell line and a profile as it is. */
static bool program_directory(char *ret, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", ret, size - 1);
    if (len <= 0 || (size_t)len >= size - 1)
        return false;
    ret[len] = '\0';
    if (ret[strspn(ret, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-")])
        return false;
    char *slash = strrchr(ret, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

static void explain_apparmor(char *ret_remedy, size_t size)
{
    char directory[64];
    if (!program_directory(directory, sizeof(directory))) {
        snprintf(ret_remedy, size,
                 "lift Ubuntu's restriction: sudo sysctl -w "
                 "kernel.apparmor_restrict_unprivileged_userns=0, or load an AppArmor profile for "
                 "nacre's path that has 'userns,'");
        return;
    }
    /* Installed, the launcher lies in libexec; in a build directory, beside us. */
    size_t len = strlen(directory);
    bool installed = len > 4 && strcmp(directory + len - 4, "/bin") == 0;
    if (installed)
        directory[len - 4] = '\0';
    snprintf(ret_remedy, size,
             "echo 'abi <abi/4.0>, profile nacre %s/%s flags=(unconfined) { userns, }' | sudo tee "
             "/etc/apparmor.d/nacre && sudo apparmor_parser -r /etc/apparmor.d/nacre, or, for all "
             "programs: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
             directory, installed ? "{bin/nacre,libexec/nacre/nacre-launch}" : "nacre{,-launch}");
}

/* False only when the kernel lists its kinds of namespaces and this is not among them. */
static bool has_user_namespaces(void)
{
    return access("/proc/self/ns/mnt", F_OK) != 0 || access("/proc/self/ns/user", F_OK) == 0;
}

void probe_explain_userns(int code, char *ret_remedy, size_t size)
{
    bool user = geteuid() != 0;
    long most = probe_read_number("/proc/sys/user/max_user_namespaces", -1);
    if (most == 0)
        snprintf(ret_remedy, size,
                 "allow user namespaces: sudo sysctl -w user.max_user_namespaces=15000");
    else if (code == -ENOSPC && most > 0)
        snprintf(
            ret_remedy, size,
            "raise the number of user namespaces: sudo sysctl -w user.max_user_namespaces=%ld "
            "(or start nacre outside some of the namespaces around it: 32 levels are the most)",
            most > 50000 ? most * 2 : 100000);
    else if (user && probe_read_number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
        snprintf(ret_remedy, size,
                 "allow user namespaces to ordinary users: sudo sysctl -w "
                 "kernel.unprivileged_userns_clone=1");
    else if (probe_in_container() && (probe_is_filtered() || is_profiled()))
        explain_container(ret_remedy, size);
    else if (user &&
             probe_read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) > 0)
        explain_apparmor(ret_remedy, size);
    else if (code == -ENOSYS || code == -EINVAL || !has_user_namespaces())
        snprintf(ret_remedy, size, "boot a kernel that is built with CONFIG_USER_NS=y");
    else if (probe_is_filtered())
        snprintf(ret_remedy, size,
                 "let the seccomp filter around nacre pass clone and unshare (for a systemd "
                 "service: RestrictNamespaces=no)");
    else
        snprintf(
            ret_remedy, size,
            "find the policy that refused and let nacre pass: sudo dmesg | grep -i -e apparmor "
            "-e avc -e seccomp (inside a chroot the kernel always refuses: leave it)");
}

void probe_found(struct probe_result *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->detail, sizeof(r->detail), format, args);
    va_end(args);
    r->state = PROBE_PRESENT;
}

void probe_failed(struct probe_result *r, const struct probe_report *report)
{
    const char *step = report->step ? report->step : "attempt";
    if (report->signal)
        snprintf(r->detail, sizeof(r->detail), "the attempt was killed by signal %d (%s)",
                 report->signal, strsignal(report->signal));
    else if (report->code == -ETIMEDOUT)
        snprintf(r->detail, sizeof(r->detail), "the attempt hung");
    else if (report->code == -EPROTO)
        snprintf(r->detail, sizeof(r->detail), "%s", step);
    else
        snprintf(r->detail, sizeof(r->detail), "%s: %s", step, strerror(-report->code));
}

void probe_remedy(struct probe_result *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->remedy, sizeof(r->remedy), format, args);
    va_end(args);
}

void probe_remedy_refused(struct probe_result *r, const struct probe_report *report,
                          const char *otherwise)
{
    if (report->first)
        probe_remedy(r, "first fix '%s', which this needs", report->first);
    else if (probe_in_container() && is_refusal(report))
        explain_container(r->remedy, sizeof(r->remedy));
    else if (probe_is_filtered() && is_refusal(report))
        probe_remedy(r,
                     "let the seccomp filter around nacre pass this call (for a systemd service: "
                     "SystemCallFilter=)");
    else
        probe_remedy(r, "%s", otherwise);
}
