/*
 * The calls that nacre's filter allows, as a program of libseccomp's: what a user of bubblewrap
 * would give it. Written to standard output.
 */
#include <errno.h>
#include <seccomp.h>
#include <unistd.h>

#include "sandbox/launch/filter.h"

int main(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int r = filter ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < filter_allowed_count; i++)
        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, filter_allowed[i], 0);
    for (size_t i = 0; r == 0 && i < filter_forbidden_count; i++)
        r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), filter_forbidden[i], 0);
    if (r == 0)
        r = seccomp_export_bpf(filter, STDOUT_FILENO);
    seccomp_release(filter);
    return r == 0 ? 0 : 1;
}
