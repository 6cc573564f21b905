/* The table of probes; see probe.h. */
#include "sandbox/probe.h"

#include "sandbox/probe_rows.h"

/* What others build on comes first, so that the first missing row is the one to fix. */
static const struct probe {
    const char *name;
    enum probe_need need;
    void (*look)(struct probe_result *r);
} probes[] = {
    {"kernel", PROBE_REQUIRED, probe_kernel},
    {PROBE_USER_NAMESPACE, PROBE_REQUIRED, probe_user_namespace},
    {PROBE_NAMESPACES, PROBE_REQUIRED, probe_namespaces},
    {"tmpfs root", PROBE_REQUIRED, probe_tmpfs_root},
    {"mount api", PROBE_REQUIRED, probe_mount_api},
    {"proc", PROBE_REQUIRED, probe_proc},
    {"devpts", PROBE_REQUIRED, probe_devpts},
    {"overlay", PROBE_WANTED, probe_overlay},
    {"idmapped mounts", PROBE_REQUIRED, probe_idmap},
    {"loopback", PROBE_REQUIRED, probe_loopback},
    {"landlock", PROBE_WANTED, probe_landlock},
    {"seccomp filter", PROBE_REQUIRED, probe_seccomp_filter},
    {"seccomp notification", PROBE_REQUIRED, probe_seccomp_notify},
    {"pidfd", PROBE_REQUIRED, probe_pidfd},
    {"close_range", PROBE_REQUIRED, probe_close_range},
    {"openat2", PROBE_REQUIRED, probe_openat2},
    {"ptrace", PROBE_REQUIRED, probe_ptrace},
    {"cgroup", PROBE_WANTED, probe_cgroup},
    {"subordinate ids", PROBE_WANTED, probe_subordinate_ids},
    {"bash", PROBE_REQUIRED, probe_bash},
};

#define PROBES (sizeof(probes) / sizeof(probes[0]))
_Static_assert(PROBES <= PROBE_MAX, "an array of PROBE_MAX rows has room for the table");

size_t probe_all(struct probe_result *ret, size_t max)
{
    size_t count = max < PROBES ? max : PROBES;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (struct probe_result){.name = probes[i].name, .need = probes[i].need};
        probes[i].look(&ret[i]);
    }
    return count;
}
