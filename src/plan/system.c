/* What of the system is shown, and what of it can be a workspace; see plan.h. */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "plan/plan.h"

const char *const plan_system_paths[] = {
    /* programs and libraries */
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    /* the public part of /etc: what programs need to find libraries, names, time, certificates */
    "/etc/alternatives",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/java-11-openjdk",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/maven/logging",
    "/etc/maven/m2.conf",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/perl",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/python3",
    "/etc/python3.10",
    "/etc/python3.11",
    "/etc/python3.12",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
    "/etc/xattr.conf",
    "/etc/xml",
    NULL,
};

/* Directories that cannot themselves be a workspace. */
static const char *const not_a_workspace[] = {
    "/",      "/bin",   "/boot",   "/dev", "/etc",     "/home",      "/lib",
    "/lib32", "/lib64", "/libx32", "/opt", "/proc",    "/run",       "/sbin",
    "/sys",   "/tmp",   "/usr",    "/var", "/var/tmp", "/usr/local", "/var/lib",
};

/* Nor can these, or anything below them: the system itself, or what the sandbox has of its own. */
static const char *const no_workspace_below[] = {
    "/boot",           "/dev",           "/etc",
    "/proc",           "/sys",           "/usr/bin",
    "/usr/sbin",       "/usr/lib",       "/usr/lib32",
    "/usr/lib64",      "/usr/libx32",    "/usr/libexec",
    "/usr/share",      "/usr/include",   "/usr/local/bin",
    "/usr/local/sbin", "/usr/local/lib", "/usr/local/libexec",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int plan_check_workspace(const char *path, struct err *e)
{
    for (size_t i = 0; i < COUNT(not_a_workspace); i++) {
        if (strcmp(path, not_a_workspace[i]) == 0)
            return err_set(e, -EINVAL,
                           "workspace '%s': a system directory cannot be a workspace; give a "
                           "directory in it with --workspace",
                           path);
    }
    for (size_t i = 0; i < COUNT(no_workspace_below); i++) {
        /* /dev/shm is ordinary space. */
        if (path_is_below(path, no_workspace_below[i]) && strncmp(path, "/dev/shm/", 9) != 0)
            return err_set(e, -EINVAL,
                           "workspace '%s': neither %s nor anything below it can be a workspace",
                           path, no_workspace_below[i]);
    }
    return 0;
}
