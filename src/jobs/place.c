/* The directory of jobs and the way to a socket in it; see jobs.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "changes/store.h"
#include "jobs/jobs.h"

int job_open_dir(const char *state, bool make, struct err *e)
{
    return store_open_private(state, "jobs", make, e);
}

bool job_is_id(const char *name)
{
    return strlen(name) == UUID_TEXT && strspn(name, "0123456789abcdef-") == UUID_TEXT;
}

int job_connect_at(int dir, const char *id)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    FD_CLEANUP int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    /* A state directory may lie deeper than an address has room for. */
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir, id);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    return fd_steal(&fd);
}
